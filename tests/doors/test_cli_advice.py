"""The commands that the command line advises next, and the words that it takes for values."""

from __future__ import annotations

from typing import Any

import pytest
from client_support import RecordingNode, value
from test_cli import Run
from test_cli import bare as bare
from test_cli import cli as cli
from test_cli import node as node

from mnemesh import Client
from mnemesh.api import values, wire
from mnemesh.cli import app
from mnemesh.cli.people import knowledge as people_maps
from mnemesh.cli.people import memories as people
from mnemesh.cli.report import advised
from mnemesh.errors import from_node
from mnemesh.short_id import short_id
from mnemesh_proto.v1 import memory_pb2

MEMORY = memory_pb2.Memory(id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", content="by day", space="team")


def test_a_paraphrase_that_was_not_stored_names_the_command_that_stores_it() -> None:
    hint = "to store this text all the same, call remember(content=<this text>, force=true)"
    done = memory_pb2.RememberResponse(action="NOOP", reason="says the same", hint=hint)
    done.memory.CopyFrom(MEMORY)
    check = memory_pb2.CheckResponse(action="NOOP", target_id=MEMORY.id, reason="says the same", hint=hint)
    for lines in (
        people.remembered(wire.to_value(done, values.Remembered), " --data d"),
        people.checked(wire.to_value(check, values.Checked), " --data d"),
    ):
        assert list(lines)[-1] == "to store it all the same: mnemesh remember --force --data d TEXT"


def test_a_writer_who_is_asked_is_told_in_one_line_what_keeps_both() -> None:
    older = "018f6f0e-0000-7000-8000-1f1f8d2f6a11"
    hint = f'if this replaces {older}, call supersede(id="{older}", content=<this text>)'
    done = memory_pb2.RememberResponse(action="ADD", reason=f"may replace {older}", hint=hint)
    done.memory.CopyFrom(MEMORY)
    assert not any("both" in line for line in people.remembered(wire.to_value(done, values.Remembered)))
    done.memory.links.add(type="may-replace", id=older)
    new = short_id(MEMORY.id)
    assert list(people.remembered(wire.to_value(done, values.Remembered), " --data d"))[-2:] == [
        f"if this replaces {short_id(older)}: mnemesh supersede --data d {short_id(older)} 'by day'",
        f"if both hold: mnemesh resolve --data d {short_id(older)} --other {new} --keep both",
    ]


def test_a_number_below_zero_is_a_value(bare: Run, node: RecordingNode, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def add_rule(client: Client, condition: str, effect: str, **fields: str) -> values.AddedRule:
        asked.append((condition, effect, fields["directory"]))
        return value(values.AddedRule, rule=value(values.Rule, id="r", condition=condition, effect=effect))

    monkeypatch.setattr(Client, "add_rule", add_rule)
    where = ("--endpoint", node.endpoint)
    words = ("rule", "add", 'content contains "staging host"', "-0.5", "--directory", "/srv/old", *where)
    assert bare(*words).status == 0
    assert asked == [('content contains "staging host"', "-0.5", "/srv/old")]


def test_the_command_after_topics_leads_to_the_same_spaces(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = value(values.Cluster, id="t1-a", label="kiln", size=1)
    found = value(values.Clusters, clusters=(topic,), total=1, examined=1)
    monkeypatch.setattr(Client, "recall_hierarchical", lambda *_, **__: found)
    out = cli("recall-hierarchical", "--space", "team/a b", "--space", "team/c").out
    assert "mnemesh drill-down t1-a" in out
    assert out.splitlines()[-1].endswith(" --token ... --space 'team/a b' --space team/c")


def test_a_topic_that_is_gone_is_called_a_topic() -> None:
    error = from_node("NOT_FOUND", "cluster 't1' not found; recall_hierarchical lists the present ones", {})
    assert advised(error, ["drill-down", "t1"]) == (
        "topic 't1' not found; `mnemesh recall-hierarchical` lists the present ones"
    )


def test_coverage_says_what_its_number_is() -> None:
    assert list(people_maps.coverage(value(values.Coverage, coverage=0.91))) == ["covered: 0.91"]


@pytest.mark.parametrize("command", ["hook", "statusline"])
def test_a_program_for_hosts_shows_its_own_help(bare: Run, command: str) -> None:
    ended = bare(command, "--help")
    assert ended.status == 0
    assert f"mnemesh {command}" in ended.out
    assert app.PROGRAMS[command].split()[0] in ended.out


def test_a_session_without_a_checkpoint_names_the_latest_one(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    last = value(values.Checkpoint, id="c", space="s", session="s1", number=1)

    def resume(client: Client, session: str = "", **fields: Any) -> values.Resumed:
        return value(values.Resumed, checkpoint=None if session else last)

    monkeypatch.setattr(Client, "resume", resume)
    told = "no checkpoint of this session; the latest one: mnemesh resume --session s1"
    assert cli("resume", "--session", "nosuch").out.splitlines() == [told]


def test_what_is_tidied_is_told_by_space_and_title_and_can_be_undone(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = cli("remember", "--json", "Deploys run from CI", "--space", "team/a").json["memory"]["id"]

    def tidy(client: Client, *words: str, dry_run: bool, **fields: Any) -> values.Tidied:
        return value(values.Tidied, matched=1, ids=(id_,), dry_run=dry_run)

    monkeypatch.setattr(Client, "tidy", tidy)
    assert cli("tidy", "idle").out.splitlines()[1:] == [f"{short_id(id_)}  team/a  Deploys run from CI"]
    assert cli("tidy", "idle", "--apply").out.splitlines()[-1] == "undo: mnemesh restore ID"
    assert cli("tidy", "idle", "--apply", "--archive").out.splitlines()[-1] == "undo: mnemesh update ID --tier normal"
