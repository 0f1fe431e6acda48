"""Two agents, an owner and an admin on a real node, through every door: shared and private memories.

No answer tells of anything outside a grant.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from node_process import Nodes, NodeUnderTest, stop_node
from scenario_doors import NETWORKED_DOORS, CliDoor, Door, open_door, refusal

import mnemesh
from mnemesh import errors as client_errors
from mnemesh.cli.people.node import status as status_lines
from mnemesh_actors.storage.data_directory import keep_owner, open_directory
from mnemesh_gateway.node.node import Node
from mnemesh_gateway.node.settings import load
from mnemesh_memory.values.errors import FailedPrecondition

pytestmark = pytest.mark.asyncio(loop_scope="module")

NO_SUCH_ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
AGENTS = {
    "ana": {"role": "writer", "spaces": ["team/*"]},
    "bob": {"role": "writer", "spaces": ["team/*"]},
    "adm": {"role": "admin", "spaces": ["team/*"]},
}


@dataclass(frozen=True)
class Team:
    """A node and the tokens that its owner issued."""

    node: NodeUnderTest
    tokens: dict[str, str]

    def as_agent(self, name: str) -> NodeUnderTest:
        return replace(self.node, token=self.tokens[name])

    def client(self, name: str, **options: str) -> mnemesh.Client:
        return mnemesh.Client(self.node.grpc, self.tokens[name], space="", **options)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Team]:
    async with Nodes() as nodes:
        node = await nodes.start(tmp_path_factory.mktemp("team"))
        with mnemesh.Client(node.grpc, node.token) as owner:
            tokens = {name: owner.add_agent(name, **asked).token for name, asked in AGENTS.items()}
        yield Team(node, {**tokens, "owner": node.token})


def opened(team: Team, door: str, name: str) -> Door:
    """The way of `name` into the node."""
    return open_door(door, team.as_agent(name), team.tokens[name])


@dataclass(frozen=True)
class Scene:
    """Ana and Bob at the same door, and a word that stands in this scene's texts alone."""

    team: Team
    name: str
    ana: Door
    bob: Door
    word: str


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=NETWORKED_DOORS)
async def scene(request: pytest.FixtureRequest, team: Team) -> AsyncIterator[Scene]:
    async with opened(team, request.param, "ana") as ana, opened(team, request.param, "bob") as bob:
        yield Scene(team, request.param, ana, bob, secrets.token_hex(6))


async def test_what_one_writes_to_a_shared_space_the_other_finds_and_may_change(scene: Scene) -> None:
    text = f"deploys of {scene.word} run from the pipeline only"
    memory = (await scene.ana.call("remember", content=text, space="team/payments"))["memory"]
    assert memory["by"].partition("/")[0] == "ana"
    found = await scene.bob.call("recall", query=f"how does {scene.word} deploy", spaces=["team/payments"])
    assert memory["id"] in [hit["id"] for hit in found["results"]]
    changed = (await scene.bob.call("update", id=memory["id"], title=f"deploys {scene.word}"))["memory"]
    assert changed["title"] == f"deploys {scene.word}"


async def test_a_text_without_a_space_is_its_writers_own(scene: Scene) -> None:
    written = await scene.ana.call("remember", content=f"my own note {scene.word}", title=f"own {scene.word}")
    assert written["memory"]["space"] == "@ana"
    found = await scene.bob.call("recall", query=f"my own note {scene.word}")
    assert found["spaces"] == ["@bob"]
    assert scene.word not in str(found["results"])


async def _private(scene: Scene) -> dict[str, str]:
    """A memory of Ana's that Bob knows everything of but may not see."""
    content = f"a private matter {scene.word} {secrets.token_hex(4)}"
    title = f"private {scene.word} {secrets.token_hex(4)}"
    memory: dict[str, str] = (await scene.ana.call("remember", content=content, title=title))["memory"]
    return memory


async def test_who_knows_the_id_of_a_private_memory_is_told_what_is_told_of_none(scene: Scene) -> None:
    memory = await _private(scene)
    asked = (
        ("get", "ids", {}), ("timeline", "id", {}), ("related", "id", {}),
        ("update", "id", {"title": "mine now"}),
        ("supersede", "id", {"content": "what replaces it"}), ("forget", "id", {}), ("restore", "id", {}),
        ("rate", "id", {"useful": True}), ("link", "id", {"type": "see-also", "to": NO_SUCH_ID}),
    )  # fmt: skip
    for operation, field, more in asked:
        # A process a call takes its time, so not every pair comes through every door.
        keys = (memory["id"],) if scene.name == "cli" else (memory["id"], memory["id"][:13], memory["title"])
        for key in keys:
            unknown = NO_SUCH_ID[: len(key)] if key != memory["title"] else "no such title at all"
            told = [
                await refusal(
                    scene.bob.call(operation, **{field: [one] if field == "ids" else one}, **more), "NOT_FOUND"
                )
                for one in (key, unknown)
            ]
            assert told[0].message.replace(key, unknown) == told[1].message
    kept = (await scene.ana.call("get", ids=[memory["id"]]))["memory"]
    assert (kept["title"], kept["state"], kept["version"]) == (memory["title"], "active", 1)


async def test_a_private_memory_is_superseded_by_nobody_elses(scene: Scene) -> None:
    memory = await _private(scene)
    told = []
    for key in (memory["id"], NO_SUCH_ID):
        fields = {"content": f"replaces {key} {scene.word}", "space": "team/payments", "supersedes": [key]}
        told.append(await refusal(scene.bob.call("remember", **fields), "NOT_FOUND"))
    assert told[0].message.replace(memory["id"], NO_SUCH_ID) == told[1].message
    assert (await scene.ana.call("get", ids=[memory["id"]]))["memory"]["state"] == "active"


async def test_a_space_that_was_not_granted_is_refused_by_its_name_be_it_there_or_not(scene: Scene) -> None:
    await _private(scene)
    for operation, fields in (("recall", {"query": "x"}), ("list", {}), ("stats", {})):
        for space in ("@ana", "@nobody", "@owner", "elsewhere"):
            told = await refusal(scene.bob.call(operation, spaces=[space], **fields), "PERMISSION_DENIED")
            assert told.message == f"bob may not read in space '{space}'; its token grants: writer of team/*, @bob"
    for space in ("@ana", "elsewhere", "team"):
        writing = scene.bob.call("remember", content=f"left here {scene.word}", space=space)
        told = await refusal(writing, "PERMISSION_DENIED")
        assert told.message == f"bob may not write in space '{space}'; its token grants: writer of team/*, @bob"


async def test_counts_and_lists_hold_nothing_of_what_is_private(scene: Scene) -> None:
    before = await scene.bob.call("stats")
    await _private(scene)
    after = await scene.bob.call("stats")
    assert after == before
    assert {count["name"] for count in after["spaces"]} <= {"team/payments", "@bob"}
    listed = await scene.bob.call("list", limit=200)
    assert {memory["space"] for memory in listed["memories"]} <= {"@bob"}


async def test_what_is_said_of_neighbours_tells_nothing_of_a_private_text(scene: Scene) -> None:
    memory = await _private(scene)
    done = await scene.bob.call("remember", content=memory["content"], space="team/payments")
    assert done["action"] in ("ADD", "SUPERSEDE"), "the text is stored, be it in place of another one of bob's"
    assert memory["id"] not in str(done)
    checked = await scene.bob.call("check", content=memory["content"])
    assert memory["id"] not in str(checked)


@pytest.mark.parametrize("name", ["owner", "adm"])
async def test_neither_owner_nor_admin_reads_an_agents_private_space_through_a_door(team: Team, name: str) -> None:
    with team.client("ana") as ana, team.client(name) as other:
        memory = ana.remember(f"nobody else reads this {secrets.token_hex(4)}").memory
        with pytest.raises(client_errors.NotFound):
            other.get(memory.id)
        with pytest.raises(client_errors.PermissionDenied, match=f"{name} may not read in space '@ana'"):
            other.recall("nobody else", space="@ana")
        assert memory.id not in [one.id for one in other.export()]
        assert "@ana" not in [count.name for count in other.stats().spaces]


@pytest.mark.parametrize("door", ["grpc", "http", "cli", "python"])
async def test_a_token_is_issued_listed_and_revoked_and_then_opens_no_door(team: Team, door: str) -> None:
    name = f"temp-{door}"
    if door == "python":
        with team.client("owner") as owner:
            token = owner.add_agent(name, role="writer", spaces=["team/*"], expires="30d").token
    else:
        async with opened(team, door, "owner") as way:
            issued = await way.call("agent_add", name=name, role="writer", spaces=["team/*"], expires="30d")
            assert issued["agent"]["state"] == "active"
            await refusal(way.call("agent_add", name=name, role="reader"), "ALREADY_EXISTS")
        token = issued["token"]
    temp = Team(team.node, {"temp": token})
    doors = {one: opened(temp, one, "temp") for one in NETWORKED_DOORS}
    for one in doors.values():
        assert (await one.call("whoami"))["principal"] == name
    with team.client("owner") as owner:
        (shown,) = (agent for agent in owner.list_agents().agents if agent.name == name)
        assert shown.calls >= len(NETWORKED_DOORS)
        assert shown.expires_at is not None
        assert token not in str(shown)
        if door == "python":
            assert owner.revoke_agent(name).agent.state == "revoked"
        else:
            async with opened(team, door, "owner") as way:
                assert (await way.call("agent_revoke", name=name))["agent"]["state"] == "revoked"
    for one in ("grpc", "http", "cli"):
        told = await refusal(doors[one].call("whoami"), "UNAUTHENTICATED")
        assert f"the token of {name} is revoked" in told.message
    for one in ("mcp-http", "mcp-stdio"):
        # The client's library has words of its own for an HTTP status. Nothing is answered.
        await refusal(doors[one].call("whoami"))
    for one in doors.values():
        await one.close()


async def test_a_default_space_beyond_the_grant_stands_in_the_way_of_nothing_that_names_its_memory(team: Team) -> None:
    """A client takes its default space from its working directory. The token may not cover that space."""
    with team.client("ana") as ana:
        memory = ana.remember(f"named by its id {secrets.token_hex(4)}", space="team/a").memory
    with mnemesh.Client(team.node.grpc, team.tokens["ana"], space="some-repository") as away:
        assert away.get(memory.id).content == memory.content
        new = away.supersede(memory.id, f"its successor {secrets.token_hex(4)}").memory
        assert (new.space, away.update(new.id, title="x").memory.title) == ("team/a", "x")
        assert away.forget(new.id).action == "FORGET"
        with pytest.raises(client_errors.PermissionDenied, match="in space 'some-repository'"):
            away.recall("anything")
        with pytest.raises(client_errors.PermissionDenied, match="in space 'some-repository'"):
            away.remember("anything")


async def test_a_write_that_is_sent_again_tells_nothing_once_its_space_is_granted_no_more(team: Team) -> None:
    key, text = secrets.token_hex(8), f"written while it was granted {secrets.token_hex(4)}"
    with team.client("owner") as owner:
        token = owner.add_agent("moved", role="writer", spaces=["team/*"]).token
        with mnemesh.Client(team.node.grpc, token, space="") as moved:
            memory = moved.remember(text, space="team/a").memory
            changed = moved.update(memory.id, title="then", idempotency_key=key)
            assert moved.update(memory.id, title="then", idempotency_key=key).memory == changed.memory
        owner.revoke_agent("moved")
        token = owner.add_agent("moved", role="writer", spaces=["ops"]).token
    with mnemesh.Client(team.node.grpc, token, space="") as moved:
        with pytest.raises(client_errors.PermissionDenied) as caught:
            moved.update(memory.id, title="then", idempotency_key=key)
        assert text not in str(caught.value.details)
        with pytest.raises(client_errors.NotFound):
            moved.update(memory.id, title="then")


async def test_a_token_is_no_memory(team: Team) -> None:
    with team.client("ana") as ana, pytest.raises(client_errors.InvalidArgument, match="Mnemesh token"):
        ana.remember(f"the token of the build is {team.tokens['ana']}")


async def test_the_owner_keeps_the_name_that_a_start_gave_until_another_start_gives_another(tmp_path: Path) -> None:
    async with Nodes() as nodes:
        starts = ((("--owner", "carol"), "carol"), ((), "carol"), (("--owner", "owner"), "owner"), ((), "owner"))
        for number, (words, name) in enumerate(starts):
            node = await nodes.start(tmp_path, *words)
            with mnemesh.Client(node.grpc, node.token, space="") as owner:
                memory = owner.remember(f"this is start number {number}").memory
                assert (memory.space, memory.by) == (f"@{name}", name)
            await stop_node(node)


async def test_a_start_that_is_refused_leaves_the_owner_its_name(tmp_path: Path) -> None:
    keep_owner(open_directory(tmp_path), "ana")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {"owner": "anna", "grpc": f"127.0.0.1:{taken.getsockname()[1]}", "data_dir": str(tmp_path)}
        with pytest.raises(FailedPrecondition, match="grpc"):
            await Node(load(given, {}), lambda _: None).serve()
    assert load({"data_dir": str(tmp_path)}, {}).settings.owner == "ana"


@pytest.mark.parametrize("space", ["@carol", "@carol/notes"])
@pytest.mark.parametrize("left", ["a memory", "a session"])
async def test_no_admin_gives_away_a_private_space_that_a_renamed_owner_has_left(
    tmp_path: Path, left: str, space: str
) -> None:
    async with Nodes() as nodes:
        before = await nodes.start(tmp_path, "--owner", "carol")
        with mnemesh.Client(before.grpc, before.token, space="") as carol:
            if left == "a memory":
                assert carol.remember("my diary", space=space).memory.space == space
            else:
                turn = {"id": "u1", "role": "user", "text": "my diary"}
                assert carol.add_transcript("s1", [turn], space=space).stored == 1
        await stop_node(before)
        node = await nodes.start(tmp_path, "--owner", "dora")
        with mnemesh.Client(node.grpc, node.token, space="") as dora:
            boss = dora.add_agent("boss", role="admin", spaces=["other/*"]).token
        with mnemesh.Client(node.grpc, boss, space="") as admin:
            with pytest.raises(client_errors.PermissionDenied, match="owner alone"):
                admin.add_agent("carol", role="reader")
            assert admin.add_agent("erin", role="reader").agent.name == "erin"


async def test_an_agent_writes_up_to_its_quota_which_is_shown_and_can_be_changed(team: Team) -> None:
    owner = CliDoor(team.node)
    made = await owner.call("agent_add", name="quentin", role="writer", max_memories=2)
    with mnemesh.Client(team.node.grpc, made["token"], space="") as quentin:
        kept = [quentin.remember(f"what fits, number {number}").memory for number in range(2)]
        with pytest.raises(client_errors.Overloaded, match="quentin has 2 memories of at most 2") as caught:
            quentin.remember("one too many")
        assert caught.value.retry_after_s > 0
        quentin.update(kept[0].id, content="what fits, and is corrected")
        quentin.purge(kept[1].id)
        quentin.remember("what fits in its place")
        listed = (await owner.call("agent_list"))["agents"]
        (shown,) = [agent["quota"] for agent in listed if agent["name"] == "quentin"]
        assert (shown["memories"], shown["max_memories"]) == (2, 2)
        assert 0 < shown["bytes"] < shown["max_bytes"]
        changed = await owner.call("agent_quota", name="quentin", max_memories=3)
        assert changed["agent"]["quota"]["max_memories"] == 3
        quentin.remember("what fits now")
        with pytest.raises(client_errors.Overloaded):
            quentin.remember_batch([{"content": f"too much, {number}"} for number in range(5)])


async def test_an_admin_gives_nobody_more_than_it_may_write_itself_and_itself_nothing(team: Team) -> None:
    with mnemesh.Client(team.node.grpc, team.node.token) as owner, team.client("adm") as admin:
        owner.set_agent_quota("adm", max_memories=100)
        assert admin.add_agent("under", role="writer", spaces=["team/u"]).agent.quota.max_memories == 100
        with pytest.raises(client_errors.PermissionDenied, match="larger max_memories than its own"):
            admin.set_agent_quota("under", max_memories=101)
        with pytest.raises(client_errors.PermissionDenied, match="larger max_memories than its own"):
            admin.add_agent("over", role="writer", spaces=["team/u"], max_memories=0)
        with pytest.raises(client_errors.PermissionDenied, match="change its own quota"):
            admin.set_agent_quota("adm", max_memories=1)
        assert admin.set_agent_quota("under", max_memories=7).agent.quota.max_memories == 7
        owner.set_agent_quota("adm", max_memories=0)


async def test_status_tells_an_admin_of_some_spaces_of_these_alone(team: Team) -> None:
    with team.client("owner") as owner, team.client("adm") as admin:
        owner.remember("what an admin of the team does not count", space="elsewhere/hidden")
        told, whole = admin.status(), owner.status()
        assert (told.data_dir, told.pid, told.actors, told.settings, told.notices) == ("", 0, (), (), ())
        assert told.ledger is not None
        assert whole.ledger is not None
        assert told.ledger.memories == admin.stats().memories < whole.ledger.memories
        assert (told.ledger.seq, told.ledger.bytes, told.grpc, told.http) == (0, 0, "", "")
        assert whole.ledger.seq > 0
    shown = "\n".join(status_lines(told))
    assert "in the spaces of this token" in shown
    assert str(team.node.data_dir) not in shown


async def test_the_rules_of_a_revoked_token_do_not_count(team: Team) -> None:
    with team.client("owner") as owner:
        token = owner.add_agent("passing", role="writer", spaces=["team/quay"]).token
        kept = owner.remember("The quay is swept on Monday.", kind="run", space="team/quay").memory.id
        with mnemesh.Client(team.node.grpc, token, space="team/quay") as passing:
            rule = passing.add_rule("kind = run", "hide").rule

        def swept() -> list[str]:
            return [hit.memory.id for hit in owner.recall("when is the quay swept", spaces=["team/quay"]).results]

        assert swept() == []
        owner.revoke_agent("passing")
        assert swept() == [kept]
        (told,) = owner.get_rules(spaces=["team/quay"]).rules
        assert (told.id, told.revoked) == (rule.id, True)
        owner.add_agent("passing", role="writer", spaces=["team/quay"])
        assert swept() == []
