"""The output of the command line for people, where it was once too long, too short or wrong, and the commands that it
advises next."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from client_support import Failure, RecordingNode, value
from google.protobuf.json_format import MessageToDict
from test_cli import Run
from test_cli import bare as bare
from test_cli import cli as cli

from mnemesh import Client
from mnemesh.api import values, wire
from mnemesh.cli import app
from mnemesh.cli.commands.memories import watch as watching
from mnemesh.cli.error_report import advised
from mnemesh.cli.people import conflicts as people_conflicts
from mnemesh.cli.people import history as people_history
from mnemesh.cli.people import hygiene as people_sleep
from mnemesh.cli.people import knowledge as people_maps
from mnemesh.cli.people import links as people_links
from mnemesh.cli.people import memories as people
from mnemesh.cli.people import memory_notes
from mnemesh.cli.people import node as people_identity
from mnemesh.cli.people import node as people_node
from mnemesh.cli.shell import Shell, count_of
from mnemesh.errors import FailedPrecondition, MnemeshError, from_node
from mnemesh.short_id import short_id
from mnemesh_gateway.doors.mcp.answers.answer_text import render
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.errors import Unauthenticated
from mnemesh_proto.v1 import admin_pb2, history_pb2, memory_pb2, recall_pb2, sleep_pb2

MEMORY = memory_pb2.Memory(id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11")
ANSWER: values.Recalled = wire.to_value(
    recall_pb2.RecallResponse(
        results=[
            recall_pb2.RecallResult(
                id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", content="The rota", score=0.25, memory=MEMORY
            )
        ],
        abstain=True,
        coverage=0.25,
        answered=0.12,
    ),
    values.Recalled,
)


def test_an_answer_that_is_probably_none_says_so_but_a_listing_answers_no_question() -> None:
    first, *_, last = people.recalled(ANSWER)
    assert (first, last) == (" 1  0.25  The rota", "probably not the answer (probability of one 0.12)")
    first, *rest = people.recalled(ANSWER, asked=False)
    assert first == " 1     -  The rota"
    assert not [line for line in rest if "probably" in line]


def test_a_result_shows_the_day_on_which_it_happened_or_else_was_written() -> None:
    written, happened = datetime(2023, 11, 14, 22, tzinfo=UTC), datetime(2019, 5, 4, tzinfo=UTC)
    (result,) = ANSWER.results
    for valid_from, day in ((happened, "2019-05-04"), (None, "2023-11-14")):
        memory = replace(result.memory, created_at=written, valid_from=valid_from)
        _, where, *_ = people.recalled(replace(ANSWER, results=(replace(result, memory=memory),)))
        assert where.split()[:2] == [short_id(MEMORY.id), day]


def test_a_result_that_was_replaced_says_so(cli: Run) -> None:
    said = cli("remember", "The build takes 8 minutes", "--json").json
    new = cli("supersede", said["memory"]["id"], "The build takes 5 minutes", "--json").json["memory"]["id"]
    shown = cli("recall", "how long is the build", "--include-superseded").out.splitlines()
    assert [line.strip() for line in shown if "superseded" in line] == [f"superseded by {short_id(new)}"]


def test_recall_without_words_lists(cli: Run) -> None:
    cli("remember", "Deploys run from CI only")
    assert cli("recall").out.startswith(" 1     -  Deploys run from CI only\n")
    assert cli("recall", " ").out.startswith(" 1     -  ")
    assert " -  " not in cli("recall", "deploys").out.splitlines()[0]


def test_the_answers_to_a_file_of_queries_stand_apart(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Deploys run from CI only")
    (tmp_path / "asked.jsonl").write_text('"deploys"\n{"limit": 1}\n')
    first, second = cli("recall-batch", "asked.jsonl").out.split("\n\n")
    assert first.startswith("? deploys\n 1  ")
    assert second.startswith("?\n 1     -  Deploys")


@pytest.mark.parametrize(
    ("content", "told"), [(None, "a file that can be read (No such file or directory)"), (b'"\xff"', "a file in UTF-8")]
)
def test_a_file_of_queries_that_can_not_be_read_says_why_once(
    cli: Run, tmp_path: Path, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / "asked.jsonl").write_bytes(content)
    ended = cli("recall-batch", "asked.jsonl")
    assert ended.status == 2
    assert told in ended.err
    assert ended.err.count("asked.jsonl") == 1


def test_a_rating_says_what_each_number_counts() -> None:
    rated = values.Ratings(rated=(values.RatedMemory(id="m", useful=2, not_useful=1, changed=True),))
    assert list(people_links.rated(rated)) == ["m  useful to 2, not useful to 1"]


@pytest.mark.parametrize("group", ["agent", "peer", "sync", "transcript", "backup", "node"])
def test_a_group_of_commands_alone_shows_its_help_once(bare: Run, group: str) -> None:
    ended = bare(group)
    assert ended.status == 2
    assert (ended.out + ended.err).count("Usage:") == 1


def test_a_transcript_is_searched_by_words_as_they_come_or_in_quotes(
    bare: Run, node: RecordingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def search(client: Client, query: str, **options: Any) -> values.FoundTurns:
        asked.append(query)
        return values.FoundTurns(results=(), spaces=("@owner",))

    monkeypatch.setattr(Client, "search_transcripts", search)
    for words in (("package", "manager"), ("package manager",)):
        assert bare("transcript", "search", "--endpoint", node.endpoint, *words).status == 0
    assert asked == ["package manager"] * 2


def forgetting(monkeypatch: pytest.MonkeyPatch, ids: tuple[str, ...]) -> list[bool]:
    """Lets bulk_forget name `ids` once more than it is told to act; whether each call was a dry run."""
    dry: list[bool] = []

    def bulk_forget(client: Client, *, dry_run: bool, **options: Any) -> values.Bulk:
        found = () if False in dry else ids
        dry.append(dry_run)
        return value(values.Bulk, matched=len(found), ids=found, dry_run=dry_run)

    monkeypatch.setattr(Client, "bulk_forget", bulk_forget)
    return dry


@pytest.mark.parametrize("words", [(), ("--purge",), ("--purge", "--apply", "--yes")])
def test_many_are_not_forgotten_without_a_filter_unless_all_are_meant(
    cli: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    dry = forgetting(monkeypatch, ("018f6f0e-7c1a-7000-8000-3f1f8d2f6a11",))
    ended = cli("bulk-forget", *words)
    assert (ended.status, ended.out, dry) == (2, "", [])
    assert ended.err.startswith("mnemesh: filters: missing; at least one of --space, --kind")
    assert "--all" in ended.err
    assert cli("bulk-forget", "--all", *words).status == 0
    assert dry[0] is ("--apply" not in words)


def test_what_many_would_be_forgotten_is_told_by_space_and_title(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    titled = cli("remember", "--json", "text", "--title", "The rota", "--space", "team/b").json["memory"]["id"]
    bare_ = cli("remember", "--json", "Deploys run from CI", "--space", "team/a").json["memory"]["id"]
    forgetting(monkeypatch, (titled, bare_, "gone"))
    assert cli("bulk-forget", "--tag", "x").out.splitlines() == [
        "3 memories would be forgotten, in team/a, team/b; --apply does it",
        f"{short_id(titled)}  team/b  The rota",
        f"{short_id(bare_)}  team/a  Deploys run from CI",
        "gone",
    ]


@pytest.mark.parametrize(
    ("idle", "refused", "cursor", "told"),
    [
        (False, 0, "more", "9 memories"), (True, 0, "more", "up to 9 memories"), (False, 1, "more", "up to 8 memories"),
        (True, 0, "", "1 memory"), (False, 1, "", "1 memory"),
    ],
)  # fmt: skip
def test_what_comes_after_the_first_page_is_counted_as_far_as_it_is_known(
    idle: bool, refused: int, cursor: str, told: str
) -> None:
    left = tuple(values.Refused(id=f"r{number}", reason="no") for number in range(refused))
    done = value(values.Bulk, matched=9, ids=("a",), dry_run=True, refused=left, cursor=cursor)
    assert next(people.bulk(done, (), False, idle=idle)) == f"{told} would be forgotten; --apply does it"


def test_a_peer_that_does_not_erase_may_never_have_had_the_memory() -> None:
    gone = value(values.Bulk, matched=1, ids=("a",), not_told=("hub",))
    assert list(people.held(gone)) == ["hub: does not erase with this node, and keeps its copy of the memory, if any"]


def test_what_a_purge_leaves_behind_comes_with_the_command_that_erases_it() -> None:
    gone = value(values.Purged, behind=("m1",))
    assert list(people.kept_behind(gone)) == ["stepped back for it and stays, may hold the same text: mnemesh purge m1"]


def test_of_no_memory_it_is_not_said_how_it_would_be_forgotten(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    forgetting(monkeypatch, ())
    assert cli("bulk-forget", "--tag", "borne-by-none").out == "0 memories would be forgotten\n"


@pytest.mark.parametrize(("answer", "status"), [("n", 4), ("y", 0)])
def test_many_are_erased_only_after_a_yes(cli: Run, monkeypatch: pytest.MonkeyPatch, answer: str, status: int) -> None:
    id_ = cli("remember", "--json", "Deploys run from CI", "--space", "team/a").json["memory"]["id"]
    dry = forgetting(monkeypatch, (id_,))
    refused = cli("bulk-forget", "--space", "team/a", "--purge", "--apply")
    assert (refused.status, refused.err, dry) == (2, "mnemesh: yes: missing; --yes where nobody can be asked\n", [])
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "confirm", lambda text: asked.append(text) or answer == "y")
    ended = cli("bulk-forget", "--space", "team/a", "--purge", "--apply")
    assert (ended.status, len(asked), False in dry) == (status, 1, answer == "y")
    assert ended.out.startswith(f"1 memory would be purged, in team/a\n{short_id(id_)}  team/a  Deploys run from CI\n")
    assert cli("bulk-forget", "--space", "team/a", "--apply").status == 0
    assert len(asked) == 1, "what can be undone is not asked about"


WHO = value(
    values.Identity, agent="bob", principal="bob", role="reader", private_space="@bob", default_space="user1",
    spaces=("team/*",), toolsets=("core",), expires_at=datetime(2027, 1, 2, tzinfo=UTC),
)  # fmt: skip


def test_what_a_token_grants_is_shown_and_that_the_default_space_is_none_of_it() -> None:
    *_, grants, hint = people_identity.identity(WHO)
    assert grants == "grants team/*, @bob; toolsets core; until 2027-01-02T00:00:00Z"
    assert hint.startswith("the default space user1 is none of these: name another with --space")


@pytest.mark.parametrize(
    ("spaces", "default"),
    [
        (("team/*",), "team/x"), (("user1",), "user1"), (("*",), "user1"), ((), "@bob"), ((), ""), ((), "@bob/notes"),
    ],
)  # fmt: skip
def test_a_default_space_that_is_granted_is_not_complained_of(spaces: tuple[str, ...], default: str) -> None:
    shown = list(people_identity.identity(replace(WHO, spaces=spaces, default_space=default)))
    assert len(shown) == 3
    assert shown[-1].startswith("grants ")


HEADS = ("2@861e47aa11", "2@861e47aa22", "2@9f86d081884c")
ENDS = [
    f"  mnemesh resolve --data d {short_id(MEMORY.id)} --keep 2@861e47aa1",
    f"  mnemesh resolve --data d {short_id(MEMORY.id)} --keep 2@861e47aa2",
    f"  mnemesh resolve --data d {short_id(MEMORY.id)} --keep 2@9f86d081",
    f"  mnemesh resolve --data d {short_id(MEMORY.id)} --content TEXT",
]


def shown_on(lines: Iterable[str]) -> list[str]:
    """The lines as a command with `--data d` prints them."""
    with redirect_stdout(StringIO()) as out:
        Shell(data=Path("d")).answer(None, lambda: lines)
    return out.getvalue().splitlines()


def in_conflict() -> values.Memory:
    message = memory_pb2.Memory(id=MEMORY.id, content="by day", heads=HEADS, space="team")
    for head in HEADS[1:]:
        message.conflicts.add(revision=head, content="by night", by="ana")
    memory: values.Memory = wire.to_value(message, values.Memory)
    return memory


def test_who_reads_or_changes_a_memory_in_conflict_is_told_how_to_end_it() -> None:
    memory = in_conflict()
    shown = shown_on(people.whole_memories(values.Found(memory=memory, memories=(memory,), missing=())))
    assert shown[-4:] == ENDS
    done = values.Written(action="UPDATE", memory=memory, reason="new revision", indexed=True)
    _, _, hint, *lines = shown_on(people.written(done))
    assert hint == "the conflict with 2 other versions goes on; end it with one of:"
    assert lines == ENDS


def test_conflicts_are_listed_with_the_commands_that_end_them() -> None:
    versions = tuple(
        wire.to_value(history_pb2.Revision(id=head, content="x", by="ana"), values.Revision) for head in HEADS
    )
    conflict = values.Conflict(id=MEMORY.id, space="team", versions=versions, state="active")
    shown = shown_on(people_conflicts.conflicts(values.Conflicts(conflicts=(conflict,), cursor="", total=1)))
    assert shown[-4:] == ENDS


def test_a_revision_shows_the_fields_in_which_alone_it_may_differ_from_another() -> None:
    one = history_pb2.Revision(id=HEADS[0], op="put", kind="decision", title="Gate", content="x", by="ana")
    other = history_pb2.Revision(id=HEADS[2], op="put", kind="fact", title="Gate", content="x", by="bob")
    other.importance, other.tier, other.keywords[:] = 0.9, "pinned", ["door", "wing"]
    other.attrs["wing"] = "east"
    other.valid_to.FromJsonString("2026-05-01T00:00:00Z")
    versions = tuple(wire.to_value(version, values.Revision) for version in (one, other))
    conflict = values.Conflict(id=MEMORY.id, space="team", versions=versions, state="active")
    shown = list(people_conflicts.conflicts(values.Conflicts(conflicts=(conflict,), cursor="", total=1)))
    fields = "fact  valid to 2026-05-01T00:00:00Z  importance 0.9  tier pinned  keywords door, wing  attrs wing=east"
    assert [shown[at].strip() for at in (2, 6)] == ["decision", fields]


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
def test_every_time_is_shown_in_the_same_zone_and_with_it() -> None:
    at = datetime(2026, 5, 1, 20, 30, tzinfo=UTC)
    head = values.Head(revision=HEADS[1], content="by night", title="", by="ana", at=at)
    memory = replace(in_conflict(), created_at=at, updated_at=at, valid_from=datetime.min.replace(tzinfo=UTC))
    memory = replace(memory, conflicts=(head,))
    whole = "\n".join(people.whole_memories(values.Found(memory=memory, memories=(memory,), missing=())))
    assert "created 2026-05-01T20:30:00Z  valid from 0001-01-01T00:00:00Z" in whole
    assert f"in conflict with {HEADS[1]} by ana, 2026-05-01T20:30:00Z:" in whole
    assert "  2026-05-01  " in next(people.listed(values.Page(memories=(memory,), cursor="", total=1)))
    revision = wire.to_value(history_pb2.Revision(id=HEADS[0], by="ana"), values.Revision)
    page = value(values.History, id=MEMORY.id, revisions=(replace(revision, at=at),), total=1)
    assert next(people_history.history(page)).endswith("  ana  2026-05-01T20:30:00Z")
    change = values.Change(
        type="added", cursor="", id=MEMORY.id, space="team", kind="fact", title="", content="", revision="", agent="",
        node_id="", merged=False, at=at,
    )  # fmt: skip
    assert watching.line_of(change).startswith("2026-05-01T20:30:00Z  added")


def test_a_text_that_is_missing_is_not_quoted_as_if_it_had_been_typed(cli: Run) -> None:
    assert cli("remember").err.startswith("mnemesh: content: missing; a text (after -- ")
    error = cli("remember", "--json").json["error"]
    assert (error["field"], error["value"]) == ("content", "nothing")


def refuse(node: RecordingNode, space: str) -> None:
    fields = {"principal": "bob", "action": "write", "space": repr(space), "granted": "reader of team/*, @bob"}
    message = f"bob may not write in space {space!r}; its token grants: reader of team/*, @bob"
    node.fail["Remember"].append(Failure("PERMISSION_DENIED", message, fields))


def test_a_refused_space_that_came_from_the_directory_is_said_to(
    cli: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = ". That space is the one of this directory (.mnemesh.toml or git); --space names another\n"
    (tmp_path / ".git").mkdir()
    refuse(node, tmp_path.name)
    ended = cli("remember", "x")
    assert (ended.status, ended.err.endswith("@bob" + hint)) == (4, True)
    for words in (("--space", tmp_path.name), (f"--space={tmp_path.name}",), ("-s", tmp_path.name)):
        refuse(node, tmp_path.name)
        assert hint not in cli("remember", "x", *words).err
    refuse(node, "elsewhere")
    assert hint not in cli("remember", "x").err
    monkeypatch.setenv("MNEMESH_SPACE", tmp_path.name)
    refuse(node, tmp_path.name)
    assert hint not in cli("remember", "x").err


def test_who_may_not_is_told_what_was_typed_and_not_the_operation_behind_it() -> None:
    fields = {"principal": "ana", "action": "sync_status", "space": "", "granted": "writer of team/*"}
    message = "ana may not {}; its token grants: writer of team/*"
    error = from_node("PERMISSION_DENIED", message.format("sync_status"), fields)
    assert advised(error, ["peer", "list", "--json"]) == message.format("peer list")
    assert advised(error, ["sync", "status"]) == message.format("sync status")


def test_a_wrong_token_is_told_of_in_the_words_of_the_command_line(cli: Run, node: RecordingNode) -> None:
    with pytest.raises(Unauthenticated) as refused:
        Authenticator("the owner's").authenticate({})
    node.fail["Status"].append(Failure("UNAUTHENTICATED", refused.value.message, {}))
    told = "mnemesh: missing or wrong token; give --token or MNEMESH_TOKEN with one that `mnemesh agent add` issued"
    assert cli("status").err.startswith(told)
    assert "give --token or MNEMESH_TOKEN with" in advised(refused_by_node(refused.value.message), ["peer", "list"])
    for command in ("add", "token"):
        message = advised(refused_by_node(refused.value.message), ["peer", command, "hub:7433"])
        assert "; give MNEMESH_TOKEN with" in message, "--token is that of the peer there"


def refused_by_node(message: str) -> MnemeshError:
    return from_node("UNAUTHENTICATED", message, {})


def test_one_of_a_thing_is_not_called_by_its_plural(cli: Run) -> None:
    cli("remember", "Deploys run from CI")
    assert cli("stats").out.startswith("1 memory, 0 forgotten")
    assert [count_of(number, "memory") for number in (0, 1, 2)] == ["0 memories", "1 memory", "2 memories"]
    assert [count_of(number, "change") for number in (1, 2)] == ["1 change", "2 changes"]


def test_a_time_that_is_none_says_first_what_one_types(cli: Run) -> None:
    ended = cli("recall", "x", "--as-of", "yesterday")
    assert ended.status == 2
    assert "'yesterday' is not allowed; an RFC 3339 time with zone, such as" in ended.err


def test_a_check_of_a_replacement_names_the_old_memory_once_and_the_command_to_keep_both() -> None:
    answer = memory_pb2.CheckResponse(
        action="SUPERSEDE", target_id=MEMORY.id, reason=f"replaces {MEMORY.id}", hint=f'call restore(id="{MEMORY.id}")'
    )
    old = short_id(MEMORY.id)
    assert shown_on(people.checked(wire.to_value(answer, values.Checked))) == [
        f"would SUPERSEDE  replaces {old}",
        f"if both hold, after the write: mnemesh restore --data d {old}",
    ]


@pytest.mark.parametrize(("action", "named"), [("ADD", False), ("NOOP", True), ("SUPERSEDE", True)])
def test_a_check_names_the_memory_that_it_concerns_and_not_the_neighbour_of_what_would_be_added(
    action: str, named: bool
) -> None:
    answer = memory_pb2.CheckResponse(action=action, target_id=MEMORY.id, similarity=0.5, reason="so it is")
    (line,) = people.checked(wire.to_value(answer, values.Checked))
    assert line == f"would {action}{f'  {short_id(MEMORY.id)}' if named else ''}  so it is"
    told = render("check", MessageToDict(answer, preserving_proto_field_name=True) | {"related": []})
    assert told == f"Would {action}{f' {MEMORY.id} (similarity 0.50)' if named else ''}: so it is"


def test_what_a_refusal_names_as_a_field_of_get_is_its_option_here() -> None:
    said = "memory 'x' not found; it was forgotten; `restore` brings it back, {} shows it"
    error = from_node("NOT_FOUND", said.format("include_forgotten"), {})
    assert advised(error, ["get", "x"]) == said.format("--include-forgotten")


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("stats", "default all that the caller may see"),
        ("conflicts", "without a project all spaces that you may read, as with *"),
    ],
)
def test_the_help_of_a_command_says_where_it_looks(cli: Run, command: str, default: str) -> None:
    told = " ".join(cli(command, "--help").out.replace("│", " ").split())
    assert default in told
    assert ("project space" in told) == (command == "conflicts")


def test_a_node_that_starts_is_shown_without_what_it_does_not_tell_yet() -> None:
    starting = wire.to_value(admin_pb2.StatusResponse(state="starting", version="0.1.0", pid=7), values.Status)
    assert next(people_node.status(starting)).endswith("  Mnemesh 0.1.0, pid 7")


def test_status_shows_the_consumers_beside_the_index() -> None:
    consumers = [
        admin_pb2.ConsumerStatus(name="index", state="ok"),
        admin_pb2.ConsumerStatus(name="judge", seq=9, lag=2, state="the model is away"),
    ]
    told = wire.to_value(admin_pb2.StatusResponse(state="ready", pid=7, consumers=consumers), values.Status)
    assert [line for line in people_node.status(told) if "consumer" in line] == [
        "  consumer judge: 2 behind, the model is away"
    ]


def test_a_memory_says_what_it_replaced_and_which_newer_one_contradicts_it() -> None:
    message = memory_pb2.Memory(id=MEMORY.id, content="by day", older_than=["newer"], space="team")
    message.replaces.add(id="old").since.FromJsonString("2026-11-20T10:00:00Z")
    memory: values.Memory = wire.to_value(message, values.Memory)
    notes = ["replaces old since 2026-11-20T10:00:00Z", "older than newer, may not hold"]
    assert list(memory_notes.note_lines(memory)) == notes
    whole = "\n".join(people.whole_memories(values.Found(memory=memory, memories=(memory,), missing=())))
    for shown in (whole, people._line(memory)):
        assert all(note in shown for note in notes)


def test_an_update_by_evidence_names_the_command_that_undoes_it() -> None:
    hint = 'to undo, call rollback(id="018bcfe5-6805-85f2-962b-7e4968cb7b33", to="1@aa")'
    message = memory_pb2.RememberResponse(action="UPDATE", reason="updates it", hint=hint, indexed=True)
    message.memory.CopyFrom(memory_pb2.Memory(id=MEMORY.id, content="by day", heads=HEADS[:1], space="team"))
    lines = shown_on(people.remembered(wire.to_value(message, values.Remembered)))
    assert "to undo: mnemesh rollback --data d 018bcfe5-6805-85f2-962b --to 1@aa" in lines


def test_an_undone_run_counts_the_steps_that_it_had() -> None:
    run = sleep_pb2.SleepRun(id="r1", space="team", state="undone")
    run.steps.add(action="merge", id=MEMORY.id, state="undone", why="say the same")
    done = sleep_pb2.UndoRunResponse(run=run, undone=1)
    assert next(people_sleep.undone(wire.to_value(done, values.UndoneRun))).endswith("team  undone  1 step")


# ---- advice ----------------------------------------------------------------------------------------------------------


SAID = memory_pb2.Memory(id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", content="by day", space="team")


def test_a_paraphrase_that_was_not_stored_names_the_command_that_stores_it() -> None:
    hint = "to store this text all the same, call remember(content=<this text>, force=true)"
    done = memory_pb2.RememberResponse(action="NOOP", reason="says the same", hint=hint)
    done.memory.CopyFrom(SAID)
    check = memory_pb2.CheckResponse(action="NOOP", target_id=SAID.id, reason="says the same", hint=hint)
    for lines in (
        people.remembered(wire.to_value(done, values.Remembered)),
        people.checked(wire.to_value(check, values.Checked)),
    ):
        assert shown_on(lines)[-1] == "to store it all the same: mnemesh remember --force --data d TEXT"
    done.hint = f'if it says something else, call restore(id="{SAID.id}")'
    lines = people.remembered(wire.to_value(done, values.Remembered))
    assert shown_on(lines)[-1] == "if it says something else: mnemesh restore --data d 018f6f0e-7c1a-7000-8000"


def test_a_writer_who_is_asked_is_told_in_one_line_what_keeps_both() -> None:
    older = "018f6f0e-0000-7000-8000-1f1f8d2f6a11"
    hint = f'if this replaces {older}, call supersede(id="{older}", content=<this text>)'
    done = memory_pb2.RememberResponse(action="ADD", reason=f"may replace {older}", hint=hint)
    done.memory.CopyFrom(SAID)
    assert not any("both" in line for line in people.remembered(wire.to_value(done, values.Remembered)))
    done.memory.links.add(type="may-replace", id=older)
    new = short_id(SAID.id)
    assert shown_on(people.remembered(wire.to_value(done, values.Remembered)))[-2:] == [
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


def test_what_is_tidied_is_told_by_space_and_title_and_can_be_undone(
    cli: Run, node: RecordingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = cli("remember", "--json", "Deploys run from CI", "--space", "team/a").json["memory"]["id"]

    def tidy(client: Client, *words: str, dry_run: bool, **fields: Any) -> values.Tidied:
        return value(values.Tidied, matched=1, ids=(id_,), dry_run=dry_run)

    monkeypatch.setattr(Client, "tidy", tidy)
    assert cli("tidy", "idle").out.splitlines()[1:] == [f"{short_id(id_)}  team/a  Deploys run from CI"]
    where = Shell(endpoint=node.endpoint, token="x").where
    assert cli("tidy", "idle", "--apply").out.splitlines()[-1] == f"undo: mnemesh restore{where} ID"
    assert (
        cli("tidy", "idle", "--apply", "--archive").out.splitlines()[-1]
        == f"undo: mnemesh update{where} ID --tier normal"
    )


def test_a_causal_chain_out_of_too_little_data_names_the_option_for_shorter_windows() -> None:
    error = FailedPrecondition("too little data: 49 more windows are needed (window_hours sets their length)")
    assert (
        advised(error, ["causal-chain", "x"])
        == "too little data: 49 more windows are needed (--window-hours N sets their length)"
    )
