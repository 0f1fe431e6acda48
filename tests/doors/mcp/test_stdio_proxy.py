"""`mnemesh mcp` as a child process against a real HTTP server: the messages of a host, and the answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from client_support import RecordingNode, serving
from fake_mesh import FakeMesh
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_support import TOKEN, Node
from mcp_support import node as node
from mcp_support import served as served
from starlette.applications import Starlette
from stdio_support import META_2026, Host, wait_until

from mnemesh.stdio.program import CALLS_IN_FLIGHT_MAX, KEYED_TOOLS
from mnemesh.stdio.rpc import LINE_BYTES_MAX, header_value
from mnemesh.transport.reading_tools import READING_TOOLS
from mnemesh_gateway.doors.mcp.tools.operation_tools import build_tools
from mnemesh_gateway.operations.operation_table import OPERATIONS
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Unavailable
from mnemesh_proto.rendezvous import NodeAddress, write_node

PROXY = (sys.executable, "-m", "mnemesh.stdio.program")

both_generations = pytest.mark.parametrize("modern", [False, True], ids=["session", "2026"])


def host(node: Node, *more: str, modern: bool = False) -> Host:
    """A host whose proxy knows the address of the node, after the handshake of a session."""
    opened = Host("--endpoint", node.address, "--token", TOKEN, "--space", "team/tests", *more)
    if not modern:
        opened.initialize()
    return opened


def publish(node: Node, directory: Path, pid: int = 1) -> None:
    (directory / "owner.token").write_text(TOKEN)
    write_node(directory, NodeAddress(pid=pid, grpc="127.0.0.1:1", http=node.address, version="0"))


@contextmanager
def own_node(directory: Path, *more: str) -> Iterator[tuple[Node, Host]]:
    """A node that may be stopped, published in a data directory, and a host that finds the node there."""
    with Node() as node:
        publish(node, directory)
        with Host("--data", str(directory), "--space", "@owner", "--no-start", *more) as ours:
            yield node, ours


@both_generations
def test_tools_resources_and_errors_pass_through(node: Node, modern: bool) -> None:
    with host(node, modern=modern) as ours:
        if modern:
            assert ours.result("server/discover", modern=True)["capabilities"]["tools"] is not None
        tools = ours.result("tools/list", modern=modern)["tools"]
        names = [tool["name"] for tool in tools]
        assert names == ["remember", "recall", "get", "timeline", "supersede", "forget", "rate", "anchor", "context"]
        memory = ours.call("remember", modern=modern, content="Zähler läuft 🦊")["structuredContent"]["memory"]
        assert (memory["space"], memory["by"]) == ("team/tests", "owner/host")
        found = ours.call("recall", modern=modern, query="läuft")
        assert found["structuredContent"]["results"][0]["content"] == "Zähler läuft 🦊"
        read = ours.result("resources/read", modern=modern, uri=f"memory://{memory['id']}")
        assert read["contents"][0]["uri"] == f"memory://{memory['id']}"
        refused = ours.call("remember", modern=modern, content="x", colour="red")
        assert refused["isError"]
        assert "colour" in refused["content"][0]["text"]
        unknown = ours.answer(ours.ask("tools/call", modern=modern, name="naïve tool", arguments={}))
        assert unknown["error"]["code"] == -32602
        assert ours.answer(ours.ask("no/such/method", modern=modern))["error"]["code"] == -32601
        assert ours.end() == 0
    assert ours.diagnostics == ""


@both_generations
def test_twenty_calls_run_side_by_side_and_each_gets_its_own_answer(node: Node, modern: bool) -> None:
    mesh = node.gate.mesh
    with host(node, modern=modern) as ours:
        for number in range(20):
            ours.call("remember", modern=modern, content=f"number-{number}")
        mesh.hold = asyncio.Event()
        asked = {
            n: ours.ask("tools/call", modern=modern, name="recall", arguments={"query": f"number-{n}"})
            for n in range(20)
        }
        quick = ours.call("get", modern=modern, ids=["018f6f0e"])
        assert not quick.get("isError"), "a call waited for the slow ones"
        node.call(mesh.hold.set)
        for number, identity in asked.items():
            results = ours.answer(identity)["result"]["structuredContent"]["results"]
            assert results[0]["content"] == f"number-{number}"


def test_toolsets_travel_in_the_url(node: Node) -> None:
    with host(node, "--toolsets", "core,curate") as ours:
        assert {"recall", "supersede"} <= {tool["name"] for tool in ours.result("tools/list")["tools"]}
    with Host("--endpoint", node.address, "--token", TOKEN, "--space", "@owner", "--toolsets", "all") as other:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        refused = other.answer(other.ask("initialize", **params))
        assert "core, curate, session, knowledge, admin, connector" in refused["error"]["message"]


def test_an_option_that_makes_no_sense_is_bad_usage() -> None:
    with Host("--endpoint", "nowhere") as ours:
        assert ours.process.wait(30) == 2
    assert "'nowhere' is not HOST:PORT" in ours.diagnostics


def test_the_proxy_knows_which_tools_only_read() -> None:
    assert {name for name, row in build_tools().items() if row.operation.read_only} == READING_TOOLS


def test_either_address_of_the_local_node_is_understood(node: Node, tmp_path: Path) -> None:
    publish(node, tmp_path, os.getpid())
    with Host("--endpoint", "127.0.0.1:1", "--data", str(tmp_path), "--space", "@owner") as ours:
        ours.initialize()
    environ = {"MNEMESH_ENDPOINT": "127.0.0.1:1", "MNEMESH_DATA_DIR": str(tmp_path)}
    with Host("--space", "@owner", "--no-start", env=environ) as ours:
        ours.initialize()


def test_a_grpc_address_of_another_node_is_refused_at_once_and_the_other_one_asked_for(tmp_path: Path) -> None:
    with serving(RecordingNode()) as other, Host("--endpoint", other.endpoint, "--data", str(tmp_path)) as ours:
        began = time.monotonic()
        refused = ours.answer(ours.ask("initialize"))["error"]
        print(f"refused after {time.monotonic() - began:.2f} s")
        assert refused["code"] == -32000
        assert all(words in refused["message"] for words in (other.endpoint, "gRPC", "HTTP one", "7434"))


@pytest.mark.parametrize("given", ["wrong", ""])
def test_a_wrong_token_is_a_clear_error_for_every_call(node: Node, given: str, tmp_path: Path) -> None:
    option = ("--token", given) if given else ()
    with Host("--endpoint", node.address, "--data", str(tmp_path), "--space", "@owner", *option) as ours:
        for method in ("initialize", "tools/list"):
            refused = ours.answer(ours.ask(method))
            assert refused["error"]["code"] == -32001
            assert "HTTP 401" in refused["error"]["message"]
            assert "token" in refused["error"]["message"]


def test_a_bad_space_is_refused_with_the_nodes_own_words(node: Node) -> None:
    with Host("--endpoint", node.address, "--token", TOKEN, "--space", "../up") as ours:
        assert "x-mnemesh-space" in ours.answer(ours.ask("tools/list"))["error"]["message"]


def test_a_space_of_any_letters_arrives(node: Node) -> None:
    with Host("--endpoint", node.address, "--token", TOKEN, "--space", "équipe/проект 100%") as ours:
        ours.initialize()
        written = ours.call("remember", content="x")
        assert written["structuredContent"]["memory"]["space"] == "équipe/проект 100%"


def test_the_project_directory_gives_the_space(node: Node, tmp_path: Path) -> None:
    (tmp_path / ".mnemesh.toml").write_text('space = "team/rivers"\n')
    below = tmp_path / "src"
    below.mkdir()
    with Host("--endpoint", node.address, "--token", TOKEN, cwd=below) as ours:
        ours.initialize()
        assert ours.call("remember", content="x")["structuredContent"]["memory"]["space"] == "team/rivers"
    with Host("--endpoint", node.address, "--token", TOKEN, cwd=below, env={"MNEMESH_SPACE": "lake"}) as ours:
        ours.initialize()
        assert ours.call("remember", content="x")["structuredContent"]["memory"]["space"] == "lake"
    (tmp_path / ".mnemesh.toml").write_text("space = [")
    with Host("--endpoint", node.address, "--token", TOKEN, cwd=below) as broken:
        assert broken.process.wait(30) == 2
    assert ".mnemesh.toml" in broken.diagnostics


def test_a_name_may_be_given_that_signs_writes_instead_of_the_hosts(node: Node) -> None:
    with Host("--endpoint", node.address, "--token", TOKEN, "--space", "@owner", "--agent", "Nightly Review") as ours:
        ours.initialize(name="codex")
        assert ours.call("remember", content="x")["structuredContent"]["memory"]["by"] == "owner/nightly-review"


def test_a_host_that_stops_reading_ends_the_proxy_quietly(node: Node) -> None:
    command = (*PROXY, "--endpoint", node.address, "--token", TOKEN, "--space", "@owner")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as proxy:
        proxy.stdin.write(b"{}\n")
        proxy.stdin.flush()
        assert json.loads(proxy.stdout.readline())["error"]["code"] == -32600
        proxy.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            while proxy.poll() is None:
                proxy.stdin.write(b"{}\n")
                proxy.stdin.flush()
        assert proxy.wait(30) == 0
        assert proxy.stderr.read() == b""
        with contextlib.suppress(BrokenPipeError):
            proxy.stdin.close()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{not json", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"42", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'"' + b"x" * (LINE_BYTES_MAX + 10) + b'"', -32600),
    ],
    ids=[
        *("not json", "not utf-8", "too deep", "batch", "number", "empty"),
        *("id an object", "id null", "id a truth value", "id a fraction", "too long"),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_works(node: Node, line: bytes, code: int) -> None:
    with host(node) as ours:
        ours.write(line)
        refused = ours.answer(None)
        assert refused["error"]["code"] == code
        assert "Expecting" not in refused["error"]["message"]
        assert line != b"\xff\xfe" or "not UTF-8: invalid start byte at byte 0" in refused["error"]["message"]
        ours.write(b"")
        assert ours.result("ping") == {}


@pytest.mark.parametrize(
    ("fault", "words"),
    [({"jsonrpc": "1.0"}, "jsonrpc"), ({"params": []}, "params"), ({"method": 7}, "method")],
    ids=["version", "params", "method"],
)
def test_a_request_of_another_form_is_refused_under_its_id_in_plain_words(
    node: Node, fault: dict[str, object], words: str
) -> None:
    with host(node) as ours:
        ours.send({"id": "mine", "method": "ping"} | fault)
        error = ours.answer("mine")["error"]
        assert (error["code"], words in error["message"], "pydantic" in error["message"]) == (-32600, True, False)


def test_the_longest_line_is_what_the_nodes_http_door_takes() -> None:
    assert LINE_BYTES_MAX == limits.HTTP_BODY_BYTES_MAX


@pytest.mark.parametrize("value", ["naïve", " edge", "=?base64?eA==?=", "line\nbreak", ""])
def test_what_no_header_can_hold_is_encoded_as_the_library_decodes_it(value: str) -> None:
    from mcp.shared.inbound import decode_header_value

    assert header_value(value).isascii()
    assert decode_header_value(header_value(value)) == value
    assert header_value("memory://018f") == "memory://018f"


@both_generations
def test_a_cancelled_call_stops_in_the_node_and_gets_no_answer(node: Node, modern: bool) -> None:
    mesh = node.gate.mesh
    with host(node, modern=modern) as ours:
        mesh.hold = asyncio.Event()
        identity = ours.ask("tools/call", modern=modern, name="recall", arguments={"query": "x"})
        wait_until(mesh.recalling.is_set)
        ours.notify("notifications/cancelled", requestId=identity)
        wait_until(mesh.cancelled.is_set)
        ours.notify("notifications/cancelled", requestId="never asked")
        mesh.hold = None
        assert not ours.call("recall", modern=modern, query="x").get("isError")
        assert ours.end() == 0
    assert json.dumps(identity) not in ours.answers


def test_an_id_in_use_is_refused_and_text_and_number_are_two_ids(node: Node) -> None:
    mesh = node.gate.mesh
    with host(node, modern=True) as ours:
        mesh.hold = asyncio.Event()
        params = {"name": "recall", "arguments": {"query": "x"}, "_meta": META_2026}
        recall = {"method": "tools/call", "params": params}
        ours.send({"id": 7} | recall)
        wait_until(mesh.recalling.is_set)
        ours.send({"id": "7"} | recall)
        ours.send({"id": 7} | recall)
        assert "in use" in ours.answer(7)["error"]["message"]
        node.call(mesh.hold.set)
        assert "result" in ours.answer(7)
        assert "result" in ours.answer("7")


@both_generations
def test_an_id_may_be_used_again_as_soon_as_its_answer_is_read(node: Node, modern: bool) -> None:
    with host(node, modern=modern) as ours:
        request = {"id": 1, "method": "ping"}
        if modern:
            request = {"id": 1, "method": "server/discover", "params": {"_meta": META_2026}}
        for _ in range(200):
            ours.send(request)
            assert "result" in ours.answer(1)
        assert ours.end() == 0


class ProgressNode(Node):
    """A server with a tool that tells of progress. Our own tools finish too soon."""

    def app(self) -> Starlette:
        server = MCPServer("progress")

        @server.tool()
        async def count(context: Context) -> str:
            """Count to three."""
            for number in range(3):
                await context.report_progress(number + 1, 3, f"at {number + 1}")
            return "done"

        return server.streamable_http_app()


@both_generations
def test_progress_reaches_the_host_before_the_answer(modern: bool) -> None:
    with ProgressNode() as node, host(node, modern=modern) as ours:
        meta = {"progressToken": "token"} | (META_2026 if modern else {})
        ours.send({"id": "p", "method": "tools/call", "params": {"name": "count", "arguments": {}, "_meta": meta}})
        assert ours.answer("p")["result"]["content"][0]["text"] == "done"
    told = [note["params"] for note in ours.notes if note["method"] == "notifications/progress"]
    assert [params["progress"] for params in told] == [1, 2, 3]
    assert {params["progressToken"] for params in told} == {"token"}


def test_more_calls_than_the_limit_are_refused_and_the_others_answered(node: Node) -> None:
    mesh = node.gate.mesh
    with host(node, modern=True) as ours:
        mesh.hold = asyncio.Event()
        asked = [
            ours.ask("tools/call", modern=True, name="recall", arguments={"query": "x"})
            for _ in range(CALLS_IN_FLIGHT_MAX + 2)
        ]
        for identity in asked[CALLS_IN_FLIGHT_MAX:]:
            assert ours.answer(identity)["error"]["code"] == -32003
        node.call(mesh.hold.set)
        assert all("result" in ours.answer(identity) for identity in asked[:CALLS_IN_FLIGHT_MAX])


def test_what_was_asked_before_the_input_ended_is_answered(node: Node) -> None:
    """`printf ... | mnemesh mcp`: the whole conversation is there before the proxy has read its first
    line."""
    info = {"name": "pipe", "version": "1"}
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "recall", "arguments": {}}},
    ]
    done = subprocess.run(
        (*PROXY, "--endpoint", node.address, "--token", TOKEN, "--space", "@owner"),
        input="\n".join(map(json.dumps, lines)), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    answers = {body["id"]: body for body in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == {1, 2, 3}
    assert all("result" in body for body in answers.values())
    assert done.stderr == ""


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys; import mnemesh.stdio.program; "
        "names = {name.partition('.')[0] for name in sys.modules}; "
        "print(*sorted(names - sys.stdlib_module_names))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=True)
    # Modules that site itself loads (editable installs, coverage) are no import of ours.
    bare = subprocess.run(
        (sys.executable, "-c", code.replace("import mnemesh.stdio.program; ", "")),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()) - set(bare.stdout.split()) == {"mnemesh", "mnemesh_proto"}


@both_generations
def test_a_restarted_node_is_found_again_and_the_session_is_opened_again(tmp_path: Path, modern: bool) -> None:
    with own_node(tmp_path) as (node, ours):
        if not modern:
            ours.initialize(name="survivor")
        ours.call("remember", modern=modern, content="before")
        node.stop()
        node.start()
        found = ours.call("recall", modern=modern, query="before")
        assert found["structuredContent"]["results"][0]["content"] == "before"
        written = ours.call("remember", modern=modern, content="after")["structuredContent"]["memory"]
        assert written["by"] == ("owner/host" if modern else "owner/survivor")


def test_twenty_calls_after_a_restart_open_one_session(tmp_path: Path) -> None:
    with own_node(tmp_path) as (node, ours):
        ours.initialize()
        node.stop()
        node.start()
        asked = [ours.ask("tools/call", name="recall", arguments={"query": "x"}) for _ in range(20)]
        assert all("result" in ours.answer(identity) for identity in asked)


def test_calls_wait_for_a_node_that_is_down_for_a_moment_also_at_another_port(tmp_path: Path) -> None:
    with own_node(tmp_path) as (node, ours):
        ours.initialize()
        node.stop()
        asked = [ours.ask("tools/call", name="recall", arguments={"query": "x"}) for _ in range(5)]
        node.port = 0
        node.start()
        publish(node, tmp_path)
        assert all("result" in ours.answer(identity) for identity in asked)


def test_a_call_that_a_stopping_node_refuses_is_answered_by_the_next_one(tmp_path: Path) -> None:
    with own_node(tmp_path) as (node, ours):
        ours.initialize()
        refusals: list[str] = []

        async def refuse() -> FakeMesh:
            refusals.append("refused")
            raise Unavailable("the node is stopping", part="node")

        ready, node.gate.ready = node.gate.ready, refuse
        written = ours.ask("tools/call", name="remember", arguments={"content": "once"})
        wait_until(lambda: len(refusals) > 1)
        node.stop()
        node.gate.ready = ready
        node.start()
        assert ours.answer(written)["result"]["structuredContent"]["action"] == "ADD"


def test_a_call_that_the_node_took_down_with_it_is_repeated_only_when_that_is_safe(tmp_path: Path) -> None:
    with own_node(tmp_path) as (node, ours):
        mesh = node.gate.mesh
        ours.initialize()  # and no tools/list: not every host asks for it
        whole, entered = (mesh.remember, mesh.forget), []

        async def lost(*arguments: object) -> object:
            entered.append(arguments)
            return await asyncio.Event().wait()

        mesh.remember = mesh.forget = lost
        mesh.hold = asyncio.Event()
        removing = ours.ask("tools/call", name="forget", arguments={"id": "x"})
        keyed = ours.ask("tools/call", name="remember", arguments={"content": "y", "idempotency_key": "k"})
        reading = ours.ask("tools/call", name="recall", arguments={"query": "x"})
        wait_until(lambda: len(entered) == 2 and mesh.recalling.is_set())
        node.crash()
        (mesh.remember, mesh.forget), mesh.hold = whole, None
        node.start()
        assert ours.answer(removing)["error"]["code"] == -32002
        assert ours.answer(keyed)["result"]["structuredContent"]["action"] == "ADD"
        assert "result" in ours.answer(reading)


@pytest.mark.parametrize("given", [{}, {"idempotency_key": None}, {"idempotency_key": ""}])
@pytest.mark.parametrize("tool", sorted(KEYED_TOOLS))
def test_a_write_without_a_key_gets_one_and_is_repeated_under_it(
    tmp_path: Path, tool: str, given: dict[str, Any]
) -> None:
    with own_node(tmp_path, "--toolsets", "core,curate") as (node, ours):
        mesh = node.gate.mesh
        ours.initialize()
        first = ours.call("remember", content="first")["structuredContent"]["memory"]["id"]
        whole, seen = getattr(mesh, tool), []

        async def lost(*arguments: Any) -> object:
            seen.append(arguments[-1])
            if len(seen) > 1:
                return await whole(*arguments)
            return await asyncio.Event().wait()

        setattr(mesh, tool, lost)
        arguments = given | {"content": "Zähler 🦊"} | ({} if tool == "remember" else {"id": first})
        asked = ours.ask("tools/call", name=tool, arguments=arguments)
        wait_until(lambda: len(seen) == 1)
        node.crash()
        node.start()
        written = ours.answer(asked)["result"]["structuredContent"]["memory"]["id"]
        assert mesh.memories[written].content == "Zähler 🦊"
        assert len(seen) == 2
        assert seen[0].idempotency_key
        assert seen[0] == seen[1]


def test_the_tools_that_get_a_key_are_those_that_write_and_take_one() -> None:
    rows = [row for row in OPERATIONS if row.mcp_name and not row.read_only]
    takes_one = {row.mcp_name for row in rows if "idempotency_key" in row.request_schema()["properties"]}
    assert takes_one == KEYED_TOOLS


def test_without_a_node_and_without_leave_to_start_one_the_error_says_what_to_do(tmp_path: Path) -> None:
    with Host("--data", str(tmp_path), "--space", "@owner", "--no-start") as ours:
        refused = ours.answer(ours.ask("tools/list"))
        assert refused["error"]["code"] == -32000
        assert f"mnemesh up --data {tmp_path}" in refused["error"]["message"]
        assert ours.end() == 0
