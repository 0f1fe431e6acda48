"""Hooks that answer nothing: checkpoints before a compaction, notes for later, and work that goes on from them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from node_process import NodeUnderTest
from scenario_doors import McpDoor
from test_hook_shim import Host, remembered
from test_hook_shim import host as host

from mnemesh.hooks.kept.notes import MINING, SPOOL

pytestmark = pytest.mark.asyncio(loop_scope="session")
TASK = "Fix the login loop of the mobile app"
KEY = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"


@pytest.fixture
def down(host: Host, tmp_path: Path) -> Host:
    """The same host in the same session, without a node."""
    found = Host(host.project, tmp_path / "data", host.environ["MNEMESH_SPACE"])
    found.session = host.session
    return found


def transcript(host: Host, *more: dict[str, Any]) -> str:
    path = host.project / "transcript.jsonl"
    lines = [
        {"type": "user", "message": {"role": "user", "content": TASK}},
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": f"The key {KEY} is wrong. Shall I renew it?"},
        },
        *more,
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def told(host: Host, event: str, name: str = "claude-code", **more: Any) -> None:
    """An event that gets no answer."""
    given = {"session_id": host.session, "cwd": str(host.project), "hook_event_name": event, **more}
    assert host.raw(name, event, json.dumps(given).encode()) == ""


async def resumed(node: NodeUnderTest, host: Host) -> dict[str, Any]:
    door = McpDoor.over_http(node)
    found = await door.call("resume", spaces=[host.environ["MNEMESH_SPACE"]], session=host.session)
    await door.close()
    return dict(found.get("checkpoint") or {})


async def test_work_survives_a_compaction(shared_node: NodeUnderTest, host: Host) -> None:
    await remembered(shared_node, host, "Never push on Fridays", tier="pinned")
    told(host, "PostToolUse", tool_name="Edit", tool_input={"file_path": f"{host.project}/src/login.py"})
    told(host, "PostToolUseFailure", tool_name="Bash", tool_input={"command": "pytest tests -x"}, error="boom")
    assert host.fire("SessionStart", source="startup")
    told(host, "PreCompact", trigger="auto", transcript_path=transcript(host))
    checkpoint = await resumed(shared_node, host)
    assert (checkpoint["task"], checkpoint["files"]) == (TASK, ["src/login.py"])
    assert checkpoint["errors"] == ["failed: pytest tests"]
    assert checkpoint["questions"] == ["Shall I renew it?"]
    assert KEY not in json.dumps(checkpoint)
    assert checkpoint["by"] == "owner/claude-code"
    text = host.fire("SessionStart", source="compact")
    assert text.splitlines()[1].startswith("Checkpoint [")
    assert f"- Task: {TASK}" in text
    assert "Never push on Fridays" in text
    told(host, "PostCompact", trigger="auto", compact_summary="Half of the login is done.")
    assert (await resumed(shared_node, host))["custom"] == "Half of the login is done."


async def test_without_a_node_a_note_waits_and_a_later_hook_hands_it_over(
    shared_node: NodeUnderTest, host: Host, down: Host, tmp_path: Path
) -> None:
    told(down, "PreCompact", trigger="auto", transcript_path=transcript(host))
    (note,) = (tmp_path / "data" / SPOOL).iterdir()
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert KEY not in note.read_text()
    assert TASK not in note.read_text()
    later = {"type": "user", "message": {"role": "user", "content": "Now paint the crane"}}
    transcript(host, later)  # written after the compaction
    down.environ |= {"MNEMESH_ENDPOINT": shared_node.http, "MNEMESH_TOKEN": shared_node.token}
    told(down, "Stop", stop_hook_active=False)
    assert not list((tmp_path / "data" / SPOOL).iterdir())
    assert (await resumed(shared_node, host))["task"] == TASK


async def test_a_note_never_overwrites_a_newer_checkpoint_of_its_session(
    shared_node: NodeUnderTest, host: Host, down: Host, tmp_path: Path
) -> None:
    up = {"MNEMESH_ENDPOINT": shared_node.http, "MNEMESH_TOKEN": shared_node.token}
    spool = tmp_path / "data" / SPOOL
    told(down, "PreCompact", transcript_path=transcript(host))
    down.environ |= up
    path = transcript(host, {"type": "user", "message": {"role": "user", "content": "Tear the old shed down"}})
    told(down, "PreCompact", transcript_path=path)
    assert (await resumed(shared_node, host))["task"] == "Tear the old shed down"
    assert not list(spool.iterdir())
    down.environ.pop("MNEMESH_ENDPOINT")
    told(down, "PreCompact", transcript_path=path)
    assert list(spool.iterdir())
    door = McpDoor.over_http(shared_node)
    space = host.environ["MNEMESH_SPACE"]
    await door.call("checkpoint", task="Sweep the yard", session=host.session, space=space)
    await door.close()
    down.environ |= up
    told(down, "Stop")
    assert (await resumed(shared_node, host))["task"] == "Sweep the yard"
    assert not list(spool.iterdir())


async def test_a_note_of_a_transcript_that_is_gone_lets_later_checkpoints_through(
    shared_node: NodeUnderTest, host: Host, down: Host, tmp_path: Path
) -> None:
    down.session = uuid.uuid4().hex
    folder = tmp_path / "transcripts"
    folder.mkdir()
    path = folder / "t.jsonl"
    path.touch()
    told(down, "PreCompact", transcript_path=str(path))
    path.unlink()
    folder.rmdir()
    folder.touch()  # the path leads through a file now
    assert list((tmp_path / "data" / SPOOL).iterdir())
    down.environ |= {"MNEMESH_ENDPOINT": shared_node.http, "MNEMESH_TOKEN": shared_node.token}
    down.session = host.session
    told(down, "PreCompact", transcript_path=transcript(host))
    assert (await resumed(shared_node, host))["task"] == TASK
    assert not list((tmp_path / "data" / SPOOL).iterdir())


async def test_the_end_of_a_turn_a_subagent_and_a_session_are_noted_for_the_miner(
    shared_node: NodeUnderTest, host: Host
) -> None:
    path = transcript(host)
    host.session = uuid.uuid4().hex
    told(host, "Stop", transcript_path=path, last_assistant_message="done")
    told(host, "Stop", transcript_path=path)
    told(host, "SubagentStop", transcript_path=path, agent_id="a1", agent_transcript_path=path)
    told(host, "SessionEnd", transcript_path=path, reason="logout")
    found = [
        json.loads(file.read_bytes()) for file in (shared_node.data_dir / MINING).iterdir() if host.session in file.name
    ]
    by_agent = {note["agent"]: note for note in found}
    assert set(by_agent) == {"", "a1"}
    assert by_agent[""]["event"] == "session end"
    assert by_agent[""]["transcript"] == path
    assert by_agent[""]["bytes"] > 100
    assert by_agent[""]["cwd"] == str(host.project)
    assert (await resumed(shared_node, host))["task"] == TASK, "a session that ends leaves a checkpoint"


async def test_memories_that_the_last_words_name_or_quote_count_as_useful_once(
    shared_node: NodeUnderTest, host: Host
) -> None:
    space = host.environ["MNEMESH_SPACE"]
    rule = "Deploys of the payment service run from CI only, because the keys of the registry never leave its machines."
    door = McpDoor.over_http(shared_node)
    texts = (rule, "The kiln of pier seven fires pots at night.", "Never push on Fridays.")
    ids = [(await door.call("remember", content=text, space=space, tier="pinned"))["memory"]["id"] for text in texts]

    async def votes() -> list[int]:
        return [one["useful"] for one in (await door.call("get", ids=ids))["memories"]]

    told(host, "Stop", last_assistant_message=f"See {ids[1]}.")
    assert await votes() == [0, 0, 0], "nothing was shown yet"
    assert host.fire("SessionStart", source="startup")
    told(host, "Stop", last_assistant_message=f"As noted: {rule} See {ids[1]}.")
    assert await votes() == [1, 1, 0]
    await door.call("rate", id=ids[1], useful=False)
    told(host, "Stop", last_assistant_message=f"See {ids[1]} and {ids[0]}.")
    path = transcript(host, {"type": "assistant", "message": {"role": "assistant", "content": f"By {ids[2]}"}})
    told(host, "Stop", transcript_path=path)
    assert await votes() == [1, 1, 1]
    await door.close()


async def test_a_vote_without_a_node_waits_for_a_later_hook_and_counts_once(
    shared_node: NodeUnderTest, host: Host
) -> None:
    door = McpDoor.over_http(shared_node)
    space = host.environ["MNEMESH_SPACE"]
    stored = await door.call("remember", content="Never push on Fridays.", space=space, tier="pinned")
    id_ = stored["memory"]["id"]
    assert host.fire("SessionStart", source="startup")
    down = Host(host.project, shared_node.data_dir, space)
    down.session = host.session
    down.environ["MNEMESH_ENDPOINT"] = "http://127.0.0.1:1"  # nobody listens there
    told(down, "Stop", last_assistant_message=f"Tell nobody else, see {id_}.")
    (note,) = [file for file in (shared_node.data_dir / SPOOL).iterdir() if host.session in file.name]
    assert "nobody" not in note.read_text()
    assert (await door.call("get", ids=[id_]))["memories"][0]["useful"] == 0
    told(host, "Stop", last_assistant_message="Other words.")
    assert (await door.call("get", ids=[id_]))["memories"][0]["useful"] == 1
    assert not note.exists()
    told(host, "Stop", last_assistant_message=f"See {id_}.")
    assert (await door.call("get", ids=[id_]))["memories"][0]["useful"] == 1
    await door.close()


async def test_a_project_that_opts_out_is_not_recorded(shared_node: NodeUnderTest, host: Host) -> None:
    (host.project / ".mnemesh.toml").write_text("hooks = false\n")
    told(host, "PreCompact", transcript_path=transcript(host))
    told(host, "Stop", transcript_path=transcript(host))
    assert await resumed(shared_node, host) == {}
    mining = shared_node.data_dir / MINING
    assert not mining.exists() or not [file for file in mining.iterdir() if host.session in file.name]


@pytest.mark.parametrize("event", ["PreCompact", "PostCompact", "Stop", "SubagentStop", "PostToolUse", "SessionEnd"])
@pytest.mark.parametrize("given", [b"{}", b"[]", b'{"transcript_path": "/no/such", "session_id": "s"}', b"\xff"])
async def test_an_event_without_anything_to_keep_is_silence(tmp_path: Path, event: str, given: bytes) -> None:
    assert Host(tmp_path, tmp_path / "none", "test/x").raw("claude-code", event, given) == ""


def status_line(host: Host, given: bytes = b"") -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}
    ran = subprocess.run(
        [sys.executable, "-m", "mnemesh", "statusline"], input=given, cwd=host.project, env=clean | host.environ,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


async def test_the_status_line_says_where_writes_go_and_is_empty_without_a_node(
    shared_node: NodeUnderTest, host: Host, tmp_path: Path
) -> None:
    await remembered(shared_node, host, "Never push on Fridays")
    space = host.environ["MNEMESH_SPACE"]
    given = json.dumps({"cwd": str(host.project), "context_window": {"used_percentage": 41.6}}).encode()
    lines = {status_line(host, given) for _ in range(5)} - {""}  # empty when the machine is too slow for it
    assert lines <= {f"mnemesh {space} · 1 memory · context 42 %\n"}
    assert lines
    assert status_line(Host(tmp_path, tmp_path / "none", "x"), given) == ""
    for damaged in (b"\xff", b'{"cwd": "'):
        assert status_line(Host(tmp_path, tmp_path / "none", "x"), damaged) == ""
