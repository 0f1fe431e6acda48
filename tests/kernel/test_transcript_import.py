"""Session files are read from where they ended, whole lines only, and what is refused or malformed is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemesh.api.batch import BATCH_ITEMS_MAX
from mnemesh.api.values.transcripts import AddedTurns, MaskedTurn
from mnemesh.cli.imports import sources, transcript_state
from mnemesh.cli.imports import transcripts as transcript_import
from mnemesh.cli.imports.report import Bar
from mnemesh.cli.imports.transcript_state import Offsets
from mnemesh.cli.imports.transcripts import Report, _File
from mnemesh.errors import FailedPrecondition, InvalidArgument


def record(n: int, text: str = "", **fields: Any) -> str:
    base = {"type": "user", "uuid": f"u{n}", "sessionId": "S", "cwd": "/w", "message": {"content": text or f"say {n}"}}
    return json.dumps({**base, **fields}) + "\n"


class Node:
    """Keeps what it is given, once an id; refuses sessions called `refused`."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.turns: dict[str, dict[str, str]] = {}
        self.given: dict[str, Any] = {}

    def add_transcript(self, session: str, turns: list[Any], **given: Any) -> AddedTurns:
        if session == "refused":
            raise FailedPrecondition("session: stored by ana", refused=True)
        held = self.turns.setdefault(session, {})
        fresh = [one for one in turns if one["id"] not in held]
        held.update((one["id"], one["text"]) for one in fresh)
        self.calls.append([one["id"] for one in turns])
        self.given[session] = given
        masked = tuple(MaskedTurn(id=one["id"], types=("password",)) for one in turns if "hunter" in one["text"])
        return AddedTurns(
            session=session, space="@owner", stored=len(fresh), known=len(turns) - len(fresh), turns=len(held),
            masked=masked,
        )  # fmt: skip


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "S.jsonl"


def imported(node: Node, path: Path, state: Path | None = None, space: str = "") -> Report:
    report = Report()
    with Bar(0, shown=False) as bar:
        for one in sources.find(path).files:
            _File(node, Offsets(state), report, bar, one, space).run()  # type: ignore[arg-type]
    return report


def test_a_file_that_grew_is_read_from_where_it_ended(node: Node, file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2) + record(3)[:20])
    first = imported(node, file, state)
    assert (first.stored, first.skipped["unfinished last line"], first.malformed) == (2, 1, [])
    file.write_text(record(1) + record(2) + record(3) + "no json\n")
    second = imported(node, file, state)
    assert (second.turns, second.stored, second.known) == (1, 1, 0)
    assert [(place["line"], place["message"]) for place in second.malformed] == [
        (4, "is no JSON: a value is missing (column 1)")
    ]
    assert node.calls == [["u1", "u2"], ["u3"]]


def test_a_file_that_became_another_is_read_from_its_beginning(node: Node, file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2))
    imported(node, file, state)
    file.write_text(record(7) + record(8) + record(9))
    assert imported(node, file, state).stored == 3
    file.write_text(record(7))
    assert imported(node, file, state).known == 1


def test_without_a_state_all_is_sent_again_and_nothing_is_stored_twice(node: Node, file: Path) -> None:
    file.write_text(record(1) + record(2) + record(1))
    assert (imported(node, file).stored, imported(node, file).known) == (2, 2)


def test_a_session_travels_with_its_title_directory_and_space_in_calls_of_a_bounded_size(
    node: Node, file: Path
) -> None:
    lines = [record(n) for n in range(BATCH_ITEMS_MAX + 1)]
    title = json.dumps({"type": "ai-title", "aiTitle": "Switch to pnpm", "sessionId": "S"}) + "\n"
    file.write_text("".join(lines) + title + record(1, isSidechain=True, agentId="a"))
    report = imported(node, file, space="team/app")
    assert (report.stored, len(report.sessions)) == (BATCH_ITEMS_MAX + 2, 2)
    assert [len(call) for call in node.calls] == [BATCH_ITEMS_MAX, 1, 1]
    assert node.given["S"] == {
        "space": "team/app", "part_of": "", "source": "claude-code", "dir": "/w", "title": "Switch to pnpm",
    }  # fmt: skip
    assert node.given["S:a"]["part_of"] == "S"


def test_what_was_acknowledged_is_noted_before_a_file_is_read_to_its_end(
    node: Node, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_import, "PENDING_BYTES_MAX", 5)
    state = tmp_path / "state.json"
    file.write_text(record(1) + record(2) + record(3, sessionId="refused"))
    assert [place["message"] for place in imported(node, file, state).refused] == ["session: stored by ana"]
    again = imported(node, file, state)
    assert (again.turns, again.stored, again.known) == (1, 0, 0)


def test_a_refused_file_and_one_of_another_kind_are_named_and_the_rest_goes_on(node: Node, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(record(1, sessionId="refused"))
    (tmp_path / "b.jsonl").write_text('{"content": "an exported memory", "type": "memory"}\n')
    (tmp_path / "c.jsonl").write_text(record(1, "the password is hunter2!x"))
    (tmp_path / "d.jsonl").write_text("")
    report = imported(node, tmp_path)
    assert [(place["file"], place["message"]) for place in report.refused] == [
        ("a.jsonl", "session: stored by ana"), ("b.jsonl", "holds no record of a Claude Code session"),
    ]  # fmt: skip
    assert (report.stored, dict(report.masked), report.files) == (1, {"password": 1}, 4)
    assert "masked  1 password" in list(report.lines(dry_run=False))


def test_a_dry_run_sends_nothing_and_counts(file: Path) -> None:
    file.write_text(record(1) + "x\n")
    report = Report()
    with Bar(0, shown=False) as bar:
        (found,) = sources.find(file).files
        _File(None, Offsets(None), report, bar, found, "").run()
    assert list(report.lines(dry_run=True))[-1] == (
        "1 file: 1 session, 1 turn would be sent; 0 shortened, 1 malformed line, 0 refused"
    )


def test_a_second_run_over_what_is_stored_says_that_nothing_is_new(node: Node, file: Path, tmp_path: Path) -> None:
    file.write_text(record(1))
    said = [list(imported(node, file, tmp_path / "state.json").lines(dry_run=False))[-1] for _ in range(2)]
    assert said == [
        "1 file: 1 session, 1 turn stored, 0 were there already; 0 shortened, 0 malformed lines, 0 refused",
        "1 file: no turn that is new; 0 shortened, 0 malformed lines, 0 refused",
    ]


def test_a_state_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with pytest.raises(InvalidArgument, match="--state"):
        Offsets(tmp_path / "state")
    notes = tmp_path / "notes.txt"
    notes.write_text("a shopping list\n")
    with pytest.raises(InvalidArgument, match=r"--state.*has written"):
        Offsets(notes)
    assert notes.read_text() == "a shopping list\n"


@pytest.mark.parametrize("text", ["", "\n", "\n[", '\n["half'])
def test_a_state_that_is_new_or_half_written_is_gone_on_with(node: Node, file: Path, tmp_path: Path, text: str) -> None:
    state = tmp_path / "state"
    state.write_text(text)
    file.write_text(record(1))
    assert imported(node, file, state).turns == 1
    assert imported(node, file, state).turns == 0


def test_a_state_stays_small_and_survives_a_half_written_line(
    node: Node, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_state, "STALE_LINES_MAX", 3)
    state = tmp_path / "state"
    for n in range(6):
        with file.open("a") as grown:
            grown.write(record(n))
        assert imported(node, file, state).turns == 1
    assert len(state.read_text().split()) < 6 * 4
    before = state.read_text()
    assert imported(node, file, state).turns == 0
    assert state.read_text() == before
    state.write_text(before + '\n["half')
    assert imported(node, file, state).turns == 0
