"""The log is the truth: every entry is signed by its node, and the view is what the entries say and no more."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_builders import FULL, OTHER_SPACE, SPACE, Home, Pen, all_done, done

from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import rows
from mnemesh_actors.storage.data_directory import load_key
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import signing_bytes
from mnemesh_crdt.document.document import MemoryDocument
from mnemesh_crdt.document.revisions import materialise
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import ListQuery, Memory, Revision, Source

ENTRY = "seq, space, doc, type, hash, actor, raw, agent, node, signature, at"


def written_history(home: Home, ledger: Ledger) -> None:
    """One of everything that writes."""
    pen = home.pen
    one, two = (result.memory for result in all_done(ledger, pen.create("one"), pen.create("two", space=OTHER_SPACE)))
    done(ledger, pen.revise(one, content="one again", tags=("x",)))
    done(ledger, pen.forget(two))
    done(ledger, pen.restore(two))
    done(ledger, Pen(agent="owner/other", now=pen.now).create("three", supersedes=(one.id,)))


def entries(db: sqlite3.Connection) -> list[Any]:
    return db.execute(f"SELECT {ENTRY} FROM entry ORDER BY seq").fetchall()


# ---- entries ------------------------------------------------------------------------------------------------------


def test_every_entry_is_signed_by_the_nodes_key_over_what_it_says(home: Home, ledger: Ledger) -> None:
    written_history(home, ledger)
    key = load_key(home.directory.key_file).public_key()
    with home.looked_into() as db:
        found = entries(db)
    assert len(found) == 7
    for _, space, doc, type_, digest, _, _, agent, node, signature, _ in found:
        assert (type_, node) == ("change", home.directory.node_id)
        key.verify(signature, signing_bytes(doc, space, type_, digest.hex(), agent, node))
        for forged in (
            signing_bytes(doc, space + "x", type_, digest.hex(), agent, node),
            signing_bytes(doc, space, type_, digest.hex(), "owner/somebody", node),
            signing_bytes(doc, space, type_, digest.hex(), agent, "0" * 32),
        ):
            with pytest.raises(InvalidSignature):
                key.verify(signature, forged)


def test_an_entry_names_its_writer_and_carries_the_change_that_it_names(home: Home, ledger: Ledger) -> None:
    written_history(home, ledger)
    with home.looked_into() as db:
        found = entries(db)
    assert [row[0] for row in found] == list(range(1, 8))
    assert Counter(row[7] for row in found) == {"owner/test": 5, "owner/other": 2}
    for _, _, _, _, digest, actor, raw, _, _, _, at in found:
        head = read_head(raw)
        assert (head.hash, head.actor, head.seq) == (digest.hex(), actor.hex(), 1)
        assert at > 0
    assert len({row[5] for row in found}) == 7, "every change has an Automerge actor of its own"


def test_the_documents_of_the_log_say_what_the_view_says(home: Home, ledger: Ledger) -> None:
    written_history(home, ledger)
    with home.looked_into() as db:
        found = entries(db)
    shown = {memory.id: memory for memory in ledger.export_page((), ("active", "forgotten", "superseded"), (0, ""), 99)}
    assert len(shown) == 3
    for id_, memory in shown.items():
        document = MemoryDocument(id_, memory.space, [row[6] for row in found if row[2] == id_])
        assert materialise(document.state()) == memory


def test_nothing_of_a_text_that_was_refused_reaches_the_file(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        refused = pen.create("a text that must not be kept", supersedes=("ffffffff",))
        (result,) = ledger.commit([refused])
        assert isinstance(result, MnemeshError)
    for path in home.directory.path.rglob("*"):
        if path.is_file():
            assert b"must not be kept" not in path.read_bytes(), path


# ---- the view -----------------------------------------------------------------------------------------------------

# The ingredients of a random history: (operation, which memory or text, which detail).
OPERATIONS = (
    "create", "revise", "tag", "forget", "restore", "supersede", "repeat", "nonsense", "link", "unlink", "rate",
)  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 7), st.integers(0, 3)), max_size=30)
VIEW_TABLES = ("memory", "text_hash", "link")


def command_of(pen: Pen, known: list[Memory], past: list[Command], step: tuple[str, int, int]) -> Command:
    """The command that `step` stands for among the memories that are known."""
    operation, which, detail = step
    if operation == "repeat" and past:
        return past[which % len(past)]
    if operation == "create" or not known:
        space, key = (SPACE, OTHER_SPACE)[detail % 2], f"key {which}" if detail == 3 else ""
        return pen.create(f"text {which}", space=space, title=f"title {detail}", idempotency_key=key)
    memory = known[which % len(known)]
    if operation == "revise":
        said = f"text {which + detail}" + (f" [[title {which % 4}]]" if detail == 3 else "")
        return pen.revise(memory, content=said, importance=detail / 4, attrs={"n": str(detail)})
    if operation == "tag":
        return pen.revise(memory, tags=tuple(f"tag {number}" for number in range(detail)))
    if operation == "forget":
        return pen.forget(memory)
    if operation == "restore":
        return pen.restore(memory)
    if operation in ("link", "unlink"):
        type_, to = ("see-also", "part-of", "part-of", "supports")[detail], known[(which + detail) % len(known)]
        return pen.link(memory, type_, to, put=operation == "link")
    if operation == "rate":
        return pen.rate(memory, detail > 1)
    if operation == "supersede":
        source = Source(f"session {detail}", "", which)
        return pen.create(f"new {which}", space=memory.space, supersedes=(memory.id,), source=source)
    return pen.create("never", supersedes=("ffffffff",))


def live(home: Home, ledger: Ledger, steps: list[tuple[str, int, int]], group: int) -> Counter[str]:
    """Carry out `steps` in group commits of `group`; how often each outcome came."""
    known: list[Memory] = []
    past: list[Command] = []
    outcomes: Counter[str] = Counter()
    for start in range(0, len(steps), group):
        commands = [command_of(home.pen, known, past, step) for step in steps[start : start + group]]
        past += commands
        for result in ledger.commit(commands):
            outcomes[result.action if isinstance(result, Committed) else type(result).__name__] += 1
            assert isinstance(result, Committed | MnemeshError)
            if isinstance(result, Committed) and result.memory.id not in {memory.id for memory in known}:
                known.append(result.memory)
    return outcomes


def view(home: Home) -> dict[str, list[Any]]:
    with home.looked_into() as db:
        return {table: sorted(db.execute(f"SELECT * FROM {table}").fetchall()) for table in VIEW_TABLES}


@settings(max_examples=50, derandomize=True, database=None)
@given(STEPS, st.integers(1, 8))
def test_a_view_made_anew_from_the_log_is_the_view_that_was_kept(steps: list[tuple[str, int, int]], group: int) -> None:
    with Home.for_one_example() as home:
        with home.opened() as ledger:
            live(home, ledger, steps, group)
            kept = view(home)
            count = ledger.rebuild_view()
            assert view(home) == kept
            assert count == len(kept["memory"])
        with home.opened() as ledger:
            assert view(home) == kept


def test_nothing_that_does_not_follow_from_the_log_survives_a_new_view(home: Home, ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("one"))
    kept = view(home)
    with home.looked_into() as db:
        db.execute("INSERT INTO text_hash VALUES (?, x'00', 'a ghost')", (SPACE,))
        db.execute("INSERT INTO memory SELECT 'a ghost', space, kind, title, content, state, tier, by, created_at, "
                   "updated_at, seq, session, session_seq, conflicted, tags, detail, checksum FROM memory")  # fmt: skip
    assert view(home) != kept
    ledger.rebuild_view()
    assert view(home) == kept


def test_random_histories_reach_every_outcome() -> None:
    """Without this the property above could pass on histories in which nothing happens."""
    seed = 7
    chance = random.Random(seed)
    steps = [(chance.choice(OPERATIONS), chance.randrange(8), chance.randrange(4)) for _ in range(400)]
    with Home.for_one_example() as home, home.opened() as ledger:
        outcomes = live(home, ledger, steps, 4)
        kept = view(home)
        ledger.rebuild_view()
        assert view(home) == kept
    expected = {"ADD", "UPDATE", "NOOP", "SUPERSEDE", "FORGET", "RESTORE", "LINK", "UNLINK", "RATE"}
    expected |= {"NotFound", "FailedPrecondition", "InvalidArgument"}
    assert expected <= set(outcomes), (seed, outcomes)


def test_a_row_of_the_view_carries_both_sides_of_a_conflict_whole(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", **FULL)).memory
    other = Revision(
        id="2@" + "b" * 32, op="put", kind="error", title="Another", content="the other side", by="owner/bob", at=7,
        parents=memory.heads, attrs=MappingProxyType({"k": "v"}), valid_from=0, valid_to=9, importance=0.0,
        tier="archive", source=Source("s", "/d", 0), keywords=("a", "b"), refs=("p.py",),
    )  # fmt: skip
    conflicted = replace(memory, heads=("2@" + "a" * 32, other.id), conflicts=(other,), superseded_by="x")
    assert rows.from_row(rows.to_row(conflicted, 5)) == conflicted
    assert rows.from_row(rows.to_row(memory, 1)) == memory


def test_a_view_that_cannot_be_made_anew_stays_as_it_was(home: Home, ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("one"))
    done(ledger, pen.create("two"))
    kept = view(home)
    home.sql("UPDATE entry SET raw = x'00' WHERE seq = 2")
    with pytest.raises(MnemeshError) as caught:
        ledger.rebuild_view()
    assert caught.value.code == "DATA_LOSS"
    assert view(home) == kept
    assert [memory.content for memory in ledger.page(ListQuery(spaces=(SPACE,))).memories] == ["two", "one"]
