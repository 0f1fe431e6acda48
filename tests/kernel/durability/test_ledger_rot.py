"""Bit rot of a ledger, the scrub, and the doctor's deep check."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from ledger_builders import FULL, SPACE, Home, Pen, all_done, done

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.scrub import ViewComparison
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import rows
from mnemesh_actors.ledger.store.schema import read_only
from mnemesh_actors.replication.scrubber import Scrubber
from mnemesh_gateway.doctor.deep import view
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, Unavailable
from mnemesh_memory.values.model import ListQuery, Memory

SEED = 20_261_123
MEMORIES = 60
FLIPS = 150


@pytest.fixture
def kept(home: Home, pen: Pen) -> dict[str, Memory]:
    """The content of a closed ledger."""
    with home.opened() as ledger:
        drafts = [pen.create(f"Memory {number} says something of its own. " * 9, **FULL) for number in range(MEMORIES)]
        written = [result.memory for result in all_done(ledger, *drafts)]
        return ledger.read([memory.id for memory in written])


WRONG = "UPDATE memory SET content = 'Something that nobody wrote.' WHERE id = ?"


@contextmanager
def harmed(home: Home, id_: str, *statements: str) -> Iterator[Ledger]:
    """A ledger whose rows of a memory are changed after it was opened."""
    with home.opened() as ledger:
        for statement in statements:
            home.sql(statement, id_)
        yield ledger


def one_of(kept: dict[str, Memory]) -> Memory:
    return kept[sorted(kept)[MEMORIES // 2]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("content", "Something that nobody wrote."),
        ("content", b"\xff\xfe no text"),
        ("title", "Another title"),
        ("space", "team/others"),
        ("state", "forgotten"),
        ("tags", "[no json"),
        ("detail", "{no json"),
        ("detail", "{}"),
        ("created_at", 1),
        ("checksum", 0),
    ],
)
def test_a_damaged_row_is_mended_from_the_log(home: Home, kept: dict[str, Memory], column: str, value: object) -> None:
    memory = one_of(kept)
    with home.opened() as ledger:
        home.sql(f"UPDATE memory SET {column} = ? WHERE id = ?", value, memory.id)
        assert ledger.read([memory.id]) == {memory.id: memory}
        listed = ledger.page(ListQuery(spaces=(SPACE,), limit=MEMORIES))
        assert {one.id: one.content for one in listed.memories} == {one.id: one.content for one in kept.values()}
        (alarm,) = ledger.status().alarms
        assert memory.id in alarm
        assert "made anew from the log" in alarm


def test_a_write_to_a_damaged_memory_builds_on_what_the_log_says(home: Home, pen: Pen, kept: dict[str, Memory]) -> None:
    memory = one_of(kept)
    with harmed(home, memory.id, WRONG) as ledger:
        changed = done(ledger, pen.revise(memory, title="New title")).memory
        assert (changed.title, changed.content) == ("New title", memory.content)


def test_an_alarm_that_can_not_be_written_fails_no_write_of_the_batch(
    home: Home, pen: Pen, kept: dict[str, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = one_of(kept)

    def full(folder: object, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(alarms, "add", full)
    with harmed(home, memory.id, WRONG) as ledger:
        sound, damaged = all_done(ledger, pen.create("A sound one"), pen.revise(memory, content="Said anew"))
        assert (sound.action, damaged.action) == ("ADD", "UPDATE")
        assert ledger.read([memory.id])[memory.id].content == "Said anew"


def test_the_text_at_the_end_of_a_link_is_mended_too(home: Home, pen: Pen, kept: dict[str, Memory]) -> None:
    memory, other = one_of(kept), kept[sorted(kept)[0]]
    with home.opened() as ledger:
        done(ledger, pen.link(other, "contradicts", memory))
        home.sql(WRONG, memory.id)
        ends, _ = ledger.linked([other.id], ["*"])[other.id]
        told = {end.id: end.snippet for end in ends}
        assert told[memory.id].removesuffix("…") in memory.content


def test_a_row_that_is_gone_is_found_by_its_id_again(home: Home, kept: dict[str, Memory]) -> None:
    memory = one_of(kept)
    with harmed(home, memory.id, "DELETE FROM memory WHERE id = ?") as ledger:
        assert ledger.find([memory.id], [SPACE]) == [memory]


def test_the_scrub_finds_what_nobody_reads(home: Home, kept: dict[str, Memory]) -> None:
    memory = one_of(kept)
    with home.opened() as ledger:
        with closing(sqlite3.connect(home.file)) as db:
            db.execute("DELETE FROM memory WHERE id = ?", (memory.id,))
            changed = sorted(kept)[3]
            row = db.execute(f"SELECT {rows.COLUMNS} FROM memory WHERE id = ?", (changed,)).fetchone()
            wrong = (*row[:4], "Wrong, with a sound checksum.", *row[5:-1])
            db.execute(f"REPLACE INTO memory VALUES ({rows.PLACES})", (*wrong, rows.checksum(wrong)))
            db.commit()
        after, steps = ledger.scrub("", 7), 1
        while after:
            after, steps = ledger.scrub(after, 7), steps + 1
        assert steps == MEMORIES // 7 + 1
        assert ledger.read(list(kept)) == kept
        assert len(ledger.status().alarms) == 2


def test_a_scrub_of_a_sound_ledger_raises_no_alarm(home: Home, pen: Pen, kept: dict[str, Memory]) -> None:
    with home.opened() as ledger:
        memory = one_of(kept)
        done(ledger, pen.revise(memory, content="Changed since."))
        done(ledger, pen.forget(kept[sorted(kept)[0]]))
        done(ledger, pen.link(memory, "see-also", kept[sorted(kept)[1]]))
        assert ledger.scrub("", 1_000) == ""
        assert ledger.status().alarms == ()


def test_a_memory_whose_entries_are_damaged_too_is_named_and_not_served(home: Home, kept: dict[str, Memory]) -> None:
    memory = one_of(kept)
    with harmed(home, memory.id, WRONG, "UPDATE entry SET raw = x'00' WHERE doc = ?") as ledger:
        for _ in range(2):
            (error,) = ledger.find([memory.id], [SPACE])
            assert isinstance(error, DataLoss)
            assert memory.id in str(error)
            assert ledger.read([memory.id]) == {}
        assert "left out" in ledger.status().alarms[0]
        others = [id_ for id_ in kept if id_ != memory.id]
        assert list(ledger.read(others)) == [id_ for id_ in others if id_ in kept]


# ---- single bits, anywhere in the file ------------------------------------------------------------------------------


def flips(size: int) -> Iterator[tuple[int, int]]:
    chance = random.Random(SEED)
    for _ in range(FLIPS):
        yield chance.randrange(size), 1 << chance.randrange(8)


def outcome(home: Home, kept: dict[str, Memory]) -> str:
    """The experience of a reader: "served", or the error that refuses. Anything but what was written is a failure."""
    try:
        ledger = home.open()
    except (DataLoss, FailedPrecondition):
        return "refused"
    try:
        return read_all(ledger, kept)
    finally:
        with suppress(DataLoss):
            ledger.close()


def read_all(ledger: Ledger, kept: dict[str, Memory]) -> str:
    try:
        listed = {one.id: one for one in ledger.page(ListQuery(spaces=(SPACE,), limit=MEMORIES)).memories}
        found = {id_: ledger.read([id_])[id_] for id_ in kept}
    except DataLoss:
        return "refused"
    assert found == kept
    assert {id_: one.content for id_, one in listed.items()} == {id_: one.content for id_, one in kept.items()}
    return "served"


def test_no_single_flipped_bit_changes_what_is_served(home: Home, kept: dict[str, Memory]) -> None:
    print("seed", SEED)
    sound = {path: path.read_bytes() for path in home.file.parent.iterdir()}
    counts: dict[str, int] = {}
    for place, bit in flips(home.file.stat().st_size):
        for path in home.file.parent.iterdir():
            path.unlink()
        for path, data in sound.items():
            path.write_bytes(data)
        with open(home.file, "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ bit]))
        print("flipped", place, bit)
        told = outcome(home, kept)
        counts[told] = counts.get(told, 0) + 1
    print(counts)
    assert counts["served"] > 0


# ---- the doctor's comparison ----------------------------------------------------------------------------------------


def test_the_deep_check_names_what_differs_and_changes_nothing(home: Home, kept: dict[str, Memory]) -> None:
    gone, changed, lost, *_ = sorted(kept)
    with closing(sqlite3.connect(home.file)) as db:
        assert list(ViewComparison(db).damaged()) == []
        db.execute("DELETE FROM memory WHERE id = ?", (gone,))
        db.execute("UPDATE memory SET title = 'wrong' WHERE id = ?", (changed,))
        db.execute("UPDATE entry SET raw = x'00' WHERE doc = ?", (lost,))
        db.commit()
    before = home.file.read_bytes()
    with closing(read_only(home.file)) as db:
        told = dict(ViewComparison(db).damaged())
    assert sorted(told) == [gone, changed, lost]
    assert told[gone] == told[changed] == "the view differs from the log"
    assert "its log is damaged" in told[lost]
    assert home.file.read_bytes() == before


# ---- scrubber --------------------------------------------------------------------------------------------------------
# The scrub in the background: it reaches every memory, and a failing ledger does not end it with a bug.


WAIT_S = 10.0


class ScrubbedLedger:
    """Holds ids; notes which were looked at, and fails at `fails_at`."""

    def __init__(self, ids: list[str], fails_at: str = "") -> None:
        self.ids = ids
        self.fails_at = fails_at
        self.seen: list[str] = []

    async def scrub(self, after: str, limit: int) -> str:
        found = [id_ for id_ in self.ids if id_ > after][:limit]
        if self.fails_at in found:
            raise Unavailable("the disk failed", part="ledger")
        self.seen += found
        return found[-1] if len(found) == limit else ""


async def one_pass(ledger: ScrubbedLedger) -> None:
    scrubber = Scrubber(ledger, first_after_s=0, step_every_s=0).start()  # type: ignore[arg-type]
    try:
        await asyncio.wait_for(scrubber.passes.acquire(), WAIT_S)
    finally:
        await scrubber.close()


def test_one_pass_looks_at_every_memory_once() -> None:
    ledger = ScrubbedLedger([f"{number:03}" for number in range(30)])
    asyncio.run(one_pass(ledger))
    assert ledger.seen == ledger.ids


def test_a_pass_that_meets_a_failing_disk_ends_and_is_tried_again_later() -> None:
    ledger = ScrubbedLedger([f"{number:03}" for number in range(30)], fails_at="013")
    asyncio.run(one_pass(ledger))
    assert ledger.seen == ledger.ids[:12]


# ---- doctor deep -----------------------------------------------------------------------------------------------------
# `mnemesh doctor --deep` names the comparison it made, and the directory in the command that ends an alarm.


def test_a_sound_ledger_is_said_to_be_compared_with_how_many_entries_and_rows(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        first, _ = all_done(ledger, pen.create("one"), pen.create("two"))
        all_done(ledger, pen.revise(first.memory, content="one, changed"))
    (remark,) = view(ExaminedNode(data_dir=home.directory.path, settings=Settings(), now_ms=0))
    assert remark.remark
    assert "3 entries of the log and 2 rows of the view were compared" in remark.problem


def test_an_alarm_of_damage_names_the_directory_to_acknowledge_it_in(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        (written,) = all_done(ledger, pen.create("one"))
        home.sql("UPDATE memory SET content = 'wrong' WHERE id = ?", written.memory.id)
        assert ledger.read([written.memory.id])
        (alarm,) = ledger.status().alarms
    assert f"mnemesh doctor --acknowledge --data {home.directory.path}" in alarm
