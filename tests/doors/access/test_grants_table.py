"""Every operation on every door asks one table about its caller. A new operation without a decision fails here."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from door_clients import REQUESTS, TOKEN, Doors, GrpcClient, open_grpc, open_http, refusal
from fake_mesh import FakeGate, FakeMesh
from mcp_support import Node, connect
from set_clock import Clock

from mnemesh_gateway.doors.http.openapi import FIXED_PATHS
from mnemesh_gateway.doors.mcp.tools.operation_tools import build_tools
from mnemesh_gateway.doors.mcp.tools.tool_forms import FORMS
from mnemesh_gateway.doors.mcp.tools.toolsets import TOOLSETS
from mnemesh_gateway.operations.gate import Quotas
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation, by_name
from mnemesh_gateway.security.access import Access
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.access import grants
from mnemesh_memory.values.model import Caller, Draft, Memory
from mnemesh_memory.values.quotas import Quota

# The decision for each operation, made here a second time and by hand.
DECISIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("recall", "recall_batch", "related", "get", "list", "timeline", "stats", "export"), "read"),
    **dict.fromkeys(("history", "blame", "conflicts", "watch", "duplicates", "hygiene"), "read"),
    **dict.fromkeys(("remember", "remember_batch", "check", "update", "supersede", "forget", "restore"), "write"),
    **dict.fromkeys(
        ("rollback", "resolve", "purge", "bulk_forget", "link", "unlink", "rate", "anchor", "tidy"), "write"
    ),
    **dict.fromkeys(("peer_add", "peer_token", "peer_remove", "sync_status", "sync_now", "sync_quarantine"), "own"),
    **dict.fromkeys(("sync_retry", "sync_discard", "sync_pending", "sync_pending_discard"), "own"),
    **dict.fromkeys(("status", "agent_add", "agent_list", "agent_revoke", "agent_quota"), "administer"),
    **dict.fromkeys(("backup_create", "backup_list", "reembed"), "own"),
    **dict.fromkeys(("transcript_search", "transcript_read", "transcript_list", "list_triggers"), "read"),
    **dict.fromkeys(("context", "resume", "get_rules", "validate", "session_runs", "requirements"), "read"),
    **dict.fromkeys(("checkpoint", "record_run", "settle"), "write"),
    "seed_project": "own",
    **dict.fromkeys(("add_rule", "delete_rule"), "write"),
    **dict.fromkeys(("graph", "graph_audit", "causal_chain"), "read"),
    "graph_rebuild": "administer",
    **dict.fromkeys(("story", "gaps", "coverage", "recall_hierarchical", "drill_down", "navigate"), "read"),
    **dict.fromkeys(("transcript_add", "transcript_erase", "create_trigger", "delete_trigger"), "write"),
    "list_runs": "read",
    **dict.fromkeys(("consolidate", "undo_run"), "write"),
    "whoami": "identify",
}
MAY: Final[Mapping[str, frozenset[str]]] = {
    "reader": frozenset({"identify", "read"}),
    "writer": frozenset({"identify", "read", "write"}),
    "admin": frozenset({"identify", "read", "write", "administer"}),
}
NOW = 1_800_000_000_000
OWNER = Caller(agent="owner", principal="owner")
ROWS = pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
REFUSED = ("PERMISSION_DENIED", "UNAUTHENTICATED")
UNANSWERED = (*REFUSED, "INTERNAL", "UNIMPLEMENTED")  # the last two also tell of an operation that the fake lacks


class Scene:
    """Doors over a fake mesh with a real store of tokens: one agent a role, each with `team/*`."""

    def __init__(self, path: Path) -> None:
        self.clock = Clock(NOW)
        self.access = Access(path, self.clock)
        self.tokens = {
            role: self.access.add(OWNER, name=role, role=role, spaces=("team/*",), expires="1d")[1] for role in MAY
        }
        self.tokens["core"] = self.access.add(OWNER, name="core", role="writer", toolsets=("core",))[1]
        self.doors = Doors(authenticator=Authenticator(TOKEN, self.access))
        self.seconds = 0.0
        gate = self.doors.gate
        gate.quotas = Quotas(self.access, gate.mesh.usage, lambda: self.seconds)

    def metadata(self, role: str, **more: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.tokens[role]}"), *more.items())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "access.sqlite")
    yield made
    made.access.close()


def test_every_operation_has_the_decision_that_was_made_for_it() -> None:
    assert {row.name: row.needs for row in OPERATIONS} == dict(DECISIONS)
    assert set(DECISIONS.values()) <= set(grants.NEEDS)


def test_an_operation_that_writes_does_not_pass_for_a_read() -> None:
    assert all(not row.read_only for row in OPERATIONS if row.needs == "write" and row.name != "check")
    assert all(row.read_only for row in OPERATIONS if row.needs in ("read", "identify"))


def test_a_path_that_is_no_operation_is_open_or_wants_a_token() -> None:
    assert {path.path: path.token for path in FIXED_PATHS} == {
        "/v1/openapi.json": True, "/health/live": False, "/health/ready": False, "/metrics": True,
    }  # fmt: skip


async def code_of(client: GrpcClient, row: Operation, metadata: object) -> str:
    """How the call ends; OK when it succeeds."""
    try:
        await client.send(row, row.read_json(REQUESTS[row.name]), metadata)
    except grpc.aio.AioRpcError as error:
        return refusal(error).code
    return "OK"


@pytest.mark.parametrize("role", list(MAY))
@ROWS
async def test_grpc_lets_a_role_do_what_the_table_says(scene: Scene, row: Operation, role: str) -> None:
    async with open_grpc(scene.doors) as client:
        code = await code_of(client, row, scene.metadata(role))
    if row.needs in MAY[role]:
        assert code not in UNANSWERED
    else:
        assert code == "PERMISSION_DENIED"


@pytest.mark.parametrize("role", list(MAY))
@ROWS
async def test_http_lets_a_role_do_what_the_table_says_by_every_route(scene: Scene, row: Operation, role: str) -> None:
    async with open_http(scene.doors, token=scene.tokens[role]) as client:
        for form in row.forms:
            fields: dict[str, Any] = dict(REQUESTS[row.name])
            key = fields.pop(form.key, "") if form.key else ""
            path = form.path.replace("{id}", key[0] if isinstance(key, list) else key)
            if form.method in ("GET", "DELETE"):
                # Nested fields have no form in a query string; what is asked does not matter to who may ask.
                answer = await client.request(form.method, path, params={"query": "x"} if row.name == "recall" else {})
            else:
                answer = await client.request(form.method, path, json=fields)
            if row.needs in MAY[role]:
                assert answer.status_code not in (401, 403), answer.text
            else:
                assert answer.status_code == 403
                assert answer.json()["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize("role", list(MAY))
async def test_mcp_shows_and_runs_the_tools_that_the_table_grants(scene: Scene, role: str) -> None:
    node = Node(FakeGate(FakeMesh()), TOOLSETS, authenticator=scene.doors.authenticator)
    fields = {"authorization": f"Bearer {scene.tokens[role]}"}
    connector = {"search": ("recall", {"query": "x"}), "fetch": ("get", {"id": "first"})}
    forms = {
        form.name: (form.of, {name: value for name, value in REQUESTS[form.of].items() if name in form.shown.split()})
        for form in FORMS
    }
    rows = {row.mcp_name: (row.name, REQUESTS[row.name]) for row in OPERATIONS if row.mcp_name} | forms | connector
    assert set(rows) == set(build_tools())
    granted = {tool for tool, (name, _) in rows.items() if by_name(name).needs in MAY[role]}
    async with connect(node, "in-process", fields=fields) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == granted
        for tool, (_, arguments) in rows.items():
            result = await client.call_tool(tool, arguments)
            text = result.content[0].text
            assert (result.is_error and text.startswith("PERMISSION_DENIED")) == (tool not in granted), (tool, text)


@ROWS
async def test_a_token_of_one_toolset_opens_no_other(scene: Scene, row: Operation) -> None:
    async with open_grpc(scene.doors) as client:
        code = await code_of(client, row, scene.metadata("core"))
    granted = row.needs == "identify" or (row.toolset == "core" and row.needs in MAY["writer"])
    assert (code == "PERMISSION_DENIED") != granted


@pytest.mark.parametrize("ending", ["revoked", "expired"])
@ROWS
async def test_a_token_that_has_ended_opens_nothing_on_a_connection_that_is_open(
    scene: Scene, row: Operation, ending: str
) -> None:
    async with open_grpc(scene.doors) as grpc_client, open_http(scene.doors, token=scene.tokens["admin"]) as http:
        whoami = await http.get("/v1/whoami")
        assert whoami.json()["role"] == "admin"
        assert await code_of(grpc_client, by_name("whoami"), scene.metadata("admin")) == "OK"
        if ending == "revoked":
            scene.access.revoke(OWNER, "admin")
        else:
            scene.clock.now += 86_400_000
        assert await code_of(grpc_client, row, scene.metadata("admin")) == "UNAUTHENTICATED"
        path = row.routes[0].path.replace("{id}", "first")
        answer = await http.request(row.routes[0].method, path)
        assert answer.status_code == 401
        assert ending in answer.json()["error"]["message"]
        assert scene.tokens["admin"] not in answer.text


@ROWS
async def test_no_operation_is_done_under_anothers_name(scene: Scene, row: Operation) -> None:
    async with open_grpc(scene.doors) as client:
        metadata = (*scene.metadata("admin"), ("x-mnemesh-agent", "reader/cli"))
        assert await code_of(client, row, metadata) == "PERMISSION_DENIED"
    async with open_http(scene.doors, token=scene.tokens["admin"]) as http:
        path = row.routes[0].path.replace("{id}", "first")
        answer = await http.request(row.routes[0].method, path, headers={"x-mnemesh-agent": "owner"})
        assert answer.status_code == 403


async def test_a_denial_says_on_grpc_and_http_who_asked_for_what_and_what_is_granted(scene: Scene) -> None:
    async with open_grpc(scene.doors) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.call("remember", scene.metadata("writer"), content="x", space="ops")
    found = refusal(caught.value)
    assert found.info is not None
    assert dict(found.info.metadata) == {
        "principal": "writer", "action": "write", "space": "ops", "granted": "writer of team/*, @writer",
    }  # fmt: skip
    async with open_http(scene.doors, token=scene.tokens["writer"]) as http:
        error = (await http.post("/v1/memories", json={"content": "x", "space": "ops"})).json()["error"]
    assert {name: error[name] for name in ("code", "reason", "principal", "action", "space", "granted")} == {
        "code": "PERMISSION_DENIED", "reason": "PERMISSION_DENIED", **dict(found.info.metadata),
    }  # fmt: skip


@pytest.mark.parametrize("address", ["0.0.0.0:7434", "127.0.0.1:7434"])
async def test_metrics_are_for_those_who_administer_every_space(scene: Scene, address: str) -> None:
    scene.doors.gate.facts.http = address
    scene.tokens["whole"] = scene.access.add(OWNER, name="whole", role="admin", spaces=("*",))[1]
    for role, status in (("reader", 403), ("writer", 403), ("admin", 403), ("whole", 200)):
        async with open_http(scene.doors, token=scene.tokens[role]) as http:
            assert (await http.get("/metrics")).status_code == status


async def test_an_export_that_is_under_way_ends_when_its_token_does(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        scene.doors.mesh.store(Draft(content=text, space="team/a"), OWNER) for text in ("the first", "the second")
    )

    async def export(*_: object, **__: object) -> AsyncIterator[Memory]:
        yield first
        scene.access.revoke(OWNER, role)
        yield second

    monkeypatch.setattr(scene.doors.mesh, "export", export)
    role = "reader"
    got = []
    async with open_grpc(scene.doors) as client:
        row = by_name("export")
        stream = client.channel.unary_stream(row.method, response_deserializer=row.response.FromString)
        answers = stream(b"", metadata=scene.metadata(role), timeout=60)
        got.append((await answers.read()).memory.content)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answers.read()
    assert (refusal(caught.value).code, got) == ("UNAUTHENTICATED", ["the first"])
    role = "writer"
    async with open_http(scene.doors, token=scene.tokens[role]) as http:
        lines = (await http.get("/v1/export")).text.splitlines()
    assert [json.loads(line).get("error", {}).get("code") for line in lines] == [None, "UNAUTHENTICATED"]
    assert "the second" not in str(lines)


# ---- quotas: which operations a full one refuses, decided here a second time and by hand -----------------------------

FREES: Final = frozenset(
    {"forget", "purge", "bulk_forget", "unlink", "transcript_erase", "delete_trigger", "delete_rule", "tidy"}
)
BEGINS: Final = frozenset(
    {"remember", "remember_batch", "supersede", "create_trigger", "checkpoint", "add_rule", "record_run"}
)
WRITES: Final = frozenset(name for name, needs in DECISIONS.items() if needs == "write") - {"check"}


def test_every_operation_that_writes_has_a_decision_on_quotas() -> None:
    assert {row.name for row in OPERATIONS if row.needs == "write" and not row.read_only} == set(WRITES)
    assert {row.name for row in OPERATIONS if row.frees} == FREES
    assert {row.name for row in OPERATIONS if row.begins} == BEGINS


FULL: Final[Mapping[str, tuple[Quota, frozenset[str]]]] = {
    "max_memories": (Quota(max_memories=1), BEGINS),
    "max_bytes": (Quota(max_bytes=1), WRITES - FREES),
    "writes_per_second": (Quota(writes_per_second=0.01), WRITES),
}


async def filled(scene: Scene, which: str, role: str) -> None:
    """The agent of that role has used up its quota."""
    caller = grants.caller_of(next(agent for agent in scene.access.list(OWNER) if agent.name == role))
    scene.doors.mesh.store(Draft(content="the last that fits", space=f"@{role}"), caller)
    scene.access.set_quota(OWNER, role, FULL[which][0])
    if which == "writes_per_second":
        async with open_grpc(scene.doors) as client:
            assert await code_of(client, by_name("unlink"), scene.metadata(role)) not in ("RESOURCE_EXHAUSTED",)


@pytest.mark.parametrize("role", ["writer", "admin"])
@pytest.mark.parametrize("which", list(FULL))
@ROWS
async def test_a_full_quota_refuses_what_needs_room_and_nothing_else(
    scene: Scene, row: Operation, which: str, role: str
) -> None:
    await filled(scene, which, role)
    async with open_grpc(scene.doors) as client:
        refused = await code_of(client, row, scene.metadata(role)) == "RESOURCE_EXHAUSTED"
        assert refused == (row.name in FULL[which][1])
        owner = (("authorization", f"Bearer {TOKEN}"),)
        assert await code_of(client, row, owner) != "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize("which", list(FULL))
async def test_each_door_says_which_quota_is_reached_and_when_to_come_back(scene: Scene, which: str) -> None:
    await filled(scene, which, "writer")
    async with open_grpc(scene.doors) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.call("remember", scene.metadata("writer"), content="one too many", space="team/a")
    found = refusal(caught.value)
    assert found.code == "RESOURCE_EXHAUSTED"
    assert found.info is not None
    assert found.info.metadata["field"] == which
    assert found.retry_s
    async with open_http(scene.doors, token=scene.tokens["writer"]) as http:
        answer = await http.post("/v1/memories", json={"content": "one too many", "space": "team/a"})
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json()["error"]["field"] == which
    node = Node(scene.doors.gate, TOOLSETS, authenticator=scene.doors.authenticator)
    async with connect(node, "in-process", fields={"authorization": f"Bearer {scene.tokens['writer']}"}) as mcp:
        result = await mcp.call_tool("remember", {"content": "one too many", "space": "team/a"})
    assert result.is_error
    assert result.content[0].text.startswith("RESOURCE_EXHAUSTED: writer ")


async def test_a_rate_lets_the_writer_in_again_when_its_debt_is_paid(scene: Scene) -> None:
    scene.access.set_quota(OWNER, "writer", Quota(writes_per_second=2))
    async with open_grpc(scene.doors) as client:

        async def codes(number: int) -> list[str]:
            row = by_name("remember")
            return [await code_of(client, row, scene.metadata("writer")) for _ in range(number)]

        burst = await codes(70)
        assert burst.count("RESOURCE_EXHAUSTED") == 70 - 61  # half a minute's, and the one that empties the bucket
        scene.seconds += 5
        assert (await codes(20)).count("RESOURCE_EXHAUSTED") == 20 - 10


def test_the_page_on_access_names_each_operation_in_the_row_of_its_right() -> None:
    page = (Path(__file__).parents[3] / "docs" / "access.md").read_text().splitlines()
    for right in ("read", "write", "own", "administer"):
        (row,) = (line for line in page if line.startswith(f"| {right}: "))
        named = set(re.findall(r"`(\w+)`", row.split(" | ")[0]))
        assert named == {operation.name for operation in OPERATIONS if operation.needs == right}, right
