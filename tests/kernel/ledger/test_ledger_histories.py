"""The ledger's memory of the past: the writer and node of each revision, conflicts, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from diverging import diverge, texts
from ledger_builders import DAY, GENERATION, OTHER_SPACE, SPACE, START, Home, done, read_back, read_then
from peer_builders import NOW, Node, all_entries, taken

from mnemesh_actors.ledger.commands import KeptVectors, Resolve, Rollback
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_crdt.document.blame import blamed
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.model import Link, Memory


def create(ledger: Ledger, home: Home, content: str, **fields: Any) -> Memory:
    return done(ledger, home.pen.create(content, **fields)).memory


def revise(ledger: Ledger, home: Home, memory: Memory, **changes: Any) -> Memory:
    return done(ledger, home.pen.revise(memory, **changes)).memory


def rollback(home: Home, memory: Memory, to: str, heads: tuple[str, ...] = ()) -> Rollback:
    return Rollback(**home.pen._next(), id=memory.id, to=to, expected_heads=heads or memory.heads)


def resolve(home: Home, memory: Memory, keep: str = "", content: str | None = None) -> Resolve:
    heads = memory.heads
    return Resolve(**home.pen._next(), id=memory.id, keep=keep or heads[0], content=content, expected_heads=heads)


def in_conflict(ledger: Ledger, home: Home, content: str = "first", **fields: Any) -> Memory:
    memory = create(ledger, home, content, **fields)
    edits = [(f"{name}/agent", f"{content}: {name}", START + 1000 + n) for n, name in enumerate(("ana", "bob"))]
    return diverge(ledger, memory, *edits)


def test_the_past_of_what_is_not_there_is_not_found(ledger: Ledger) -> None:
    unknown = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
    for ask in (lambda: ledger.history(unknown, 1, ""), lambda: ledger.past(unknown)):
        with pytest.raises(NotFound):
            ask()


def test_a_rollback_is_a_new_revision_and_the_way_there_stays_in_the_history(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first", title="One", tags=("old",))
    first = memory.heads[0]
    memory = revise(ledger, home, memory, content="second", title="Two", tags=("new",))
    result = done(ledger, rollback(home, memory, first))
    found = result.memory
    assert (result.action, found.content, found.title, found.tags) == ("ROLLBACK", "first", "One", ("old",))
    assert (found.version, len(found.heads), first in result.reason) == (3, 1, True)
    contents = [one.revision.content for one in ledger.history(memory.id, 10, "").revisions]
    assert contents == ["first", "second", "first"]
    again = done(ledger, rollback(home, found, first))
    assert (again.action, again.memory) == ("NOOP", found)
    assert home.entries() == 3


@pytest.mark.parametrize("write", ["rollback", "resolve"])
def test_an_edit_that_comes_between_is_told_with_the_heads_and_nothing_is_written(
    home: Home, ledger: Ledger, write: str
) -> None:
    memory = in_conflict(ledger, home)
    newer = revise(ledger, home, memory, content="came between")
    command = rollback(home, memory, "1") if write == "rollback" else resolve(home, memory)
    with pytest.raises(Aborted) as refused:
        done(ledger, command)
    assert set(refused.value.fields["limit"].split(", ")) == set(newer.heads)
    assert ledger.read([memory.id])[memory.id] == newer


@pytest.mark.parametrize("write", ["rollback", "resolve"])
def test_a_command_that_arrives_twice_writes_once(home: Home, ledger: Ledger, write: str) -> None:
    memory = in_conflict(ledger, home)
    command = rollback(home, memory, "1") if write == "rollback" else resolve(home, memory)
    first, again = done(ledger, command), done(ledger, command)
    assert (again.action, again.replayed, again.memory) == (first.action, True, first.memory)
    assert first.action == write.upper()


def test_a_rollback_to_no_revision_of_this_memory_is_refused(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first")
    other = create(ledger, home, "another")
    memory = done(ledger, home.pen.restore(done(ledger, home.pen.forget(memory)).memory)).memory
    forgotten = ledger.history(memory.id, 10, "").revisions[1].revision.id
    for to in (other.heads[0], "9", "1@" + "0" * 32):
        with pytest.raises(NotFound, match=memory.id):
            done(ledger, rollback(home, memory, to))
    with pytest.raises(InvalidArgument, match="forgotten"):
        done(ledger, rollback(home, memory, forgotten))


def test_what_is_forgotten_is_restored_first(home: Home, ledger: Ledger) -> None:
    memory = done(ledger, home.pen.forget(create(ledger, home, "first"))).memory
    for command in (rollback(home, memory, "1"), resolve(home, memory)):
        with pytest.raises(FailedPrecondition, match="`restore` it first"):
            done(ledger, command)


def test_no_way_back_makes_two_memories_say_the_same(home: Home, ledger: Ledger) -> None:
    changed = revise(ledger, home, create(ledger, home, "first"), content="second")
    twin = create(ledger, home, "first")
    with pytest.raises(AlreadyExists, match=twin.id):
        done(ledger, rollback(home, changed, "1"))
    conflicted = in_conflict(ledger, home, "third")
    with pytest.raises(AlreadyExists, match=twin.id):
        done(ledger, resolve(home, conflicted, content="first"))


def test_the_bound_on_revisions_holds_for_going_back(
    home: Home, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = revise(ledger, home, create(ledger, home, "first"), content="second")
    monkeypatch.setattr(limits, "REVISIONS_MAX", 2)
    with pytest.raises(FailedPrecondition, match="2 revisions"):
        done(ledger, rollback(home, memory, "1"))


def test_conflicts_are_paged_and_of_the_spaces_asked_for(home: Home, ledger: Ledger) -> None:
    made = [in_conflict(ledger, home, f"text {number}").id for number in range(5)]
    in_conflict(ledger, home, "elsewhere", space=OTHER_SPACE)
    seen: list[str] = []
    cursor = ""
    for expected in (2, 2, 1):
        page = ledger.conflicts((SPACE,), 2, cursor)
        assert (len(page.conflicts), page.total) == (expected, 5)
        seen += [one.memory.id for one in page.conflicts]
        cursor = page.cursor
    assert (seen, cursor) == (made, "")
    assert ledger.conflicts(("*",), 10, "").total == 6
    assert ledger.conflicts(("team/other",), 10, "").total == 0
    with pytest.raises(InvalidArgument, match="cursor"):
        ledger.conflicts((SPACE,), 2, "not a cursor")


def test_no_memory_that_is_not_in_conflict_is_read_to_find_those_that_are(home: Home, ledger: Ledger) -> None:
    plans: list[str] = []
    ledger._db.set_trace_callback(plans.append)
    ledger.conflicts((SPACE, "*", "team/*"), 10, "")
    ledger.stats(("*",))
    ledger._db.set_trace_callback(None)
    asked = [sql for sql in plans if "conflicted" in sql and "SELECT" in sql]
    assert len(asked) >= 3
    for sql in asked:
        steps = [row[3] for row in ledger._db.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert any("memory_conflicted" in step for step in steps), (sql, steps)


def test_a_conflict_that_a_peer_ends_leaves_no_vector_of_the_text_that_went(home: Home, ledger: Ledger) -> None:
    memory = in_conflict(ledger, home)
    hashes = [content_hash(dense) for dense, _ in index_texts(memory)]
    ledger.keep_vectors(KeptVectors(generation=GENERATION, items=tuple((one, b"1234") for one in hashes)))
    assert len(ledger.vectors(hashes, GENERATION)) == 2
    memory = diverge(ledger, memory, ("carla/agent", memory.content, START + 5000))
    assert memory.conflicts == ()
    assert list(ledger.vectors(hashes, GENERATION)) == hashes[:1]


def test_forgotten_conflicts_are_not_listed(home: Home, ledger: Ledger) -> None:
    done(ledger, home.pen.forget(in_conflict(ledger, home)))
    assert ledger.conflicts((SPACE,), 10, "").total == 0


def test_every_state_that_a_memory_was_in_can_be_read_as_of_its_time(home: Home, ledger: Ledger) -> None:
    states = [create(ledger, home, "first", tags=("old",))]
    times = [home.pen.now]

    def after(memory: Memory) -> None:
        states.append(memory)
        times.append(home.pen.now)

    after(revise(ledger, home, states[-1], content="second"))
    after(revise(ledger, home, states[-1], tags=("new", "old")))
    done(ledger, home.pen.create("its successor", supersedes=(states[0].id,)))
    after(read_back(ledger, states[0]))
    after(done(ledger, home.pen.forget(states[-1])).memory)
    after(done(ledger, home.pen.restore(states[-1])).memory)
    assert read_then(ledger, [states[0].id], times[0] - 1) == {}
    seen = [read_then(ledger, [states[0].id], at)[states[0].id] for at in times]
    assert seen == states
    assert [one.content for one in seen] == ["first", *["second"] * 5]
    assert [one.tags for one in seen[:3]] == [("old",), ("old",), ("new", "old")]
    assert [one.state for one in seen] == ["active"] * 3 + ["superseded", "forgotten", "superseded"]


def test_before_a_conflict_there_was_none(home: Home, ledger: Ledger) -> None:
    memory = in_conflict(ledger, home)
    assert texts(read_then(ledger, [memory.id], START + 1)[memory.id]) == {"first"}
    assert texts(read_then(ledger, [memory.id], START + 1000)[memory.id]) == {"first: ana"}
    assert texts(read_then(ledger, [memory.id], START + 1001)[memory.id]) == {"first: ana", "first: bob"}


def test_after_a_spell_two_years_ahead_as_of_now_shows_what_is_visible_now(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first")
    before = home.pen.now
    home.pen.now += 730 * DAY
    ahead = revise(ledger, home, memory, content="written two years ahead")
    home.pen.now = before + 60_000
    now = home.pen.now
    # Nothing was written since: what was written ahead is there, and was not before.
    assert read_then(ledger, [memory.id], now, now)[memory.id] == ahead
    assert read_then(ledger, [memory.id], before - 1, now) == {}
    corrected = revise(ledger, home, memory, content="corrected by a right clock")
    now = home.pen.now
    assert read_then(ledger, [memory.id], now, now)[memory.id] == corrected
    assert texts(read_then(ledger, [memory.id], now - 1, now)[memory.id]) == {"first"}


def test_a_peer_whose_clock_is_a_year_ahead_writes_no_later_than_it_was_heard(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first")
    heard = START + 60_000
    memory = diverge(ledger, memory, ("ana/agent", "from the future", START + 365 * DAY), received=heard)
    latest = heard + limits.CLOCK_AHEAD_MS_MAX
    assert ledger.history(memory.id, 1, "").revisions[0].revision.at == latest
    assert read_then(ledger, [memory.id], latest)[memory.id] == memory
    assert texts(read_then(ledger, [memory.id], latest - 1)[memory.id]) == {"first"}


def test_a_rating_from_a_clock_a_year_ahead_hides_nothing_that_was_said_after_it(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first")
    far = Node(now=START + 365 * DAY)
    far.knows(*all_entries(ledger))
    taken(ledger, far, far.edits(Edit(vote=(f"{far.agent}@{far.id}", True), at=far.now), memory.id))
    assert read_then(ledger, [memory.id], START + 1)[memory.id].useful == 0
    latest = NOW + limits.CLOCK_AHEAD_MS_MAX
    done(ledger, replace(home.pen.revise(memory, content="second"), at=latest + 1))
    known = read_then(ledger, [memory.id], latest)[memory.id]
    assert (known.useful, texts(known)) == (1, {"first"})
    assert texts(read_then(ledger, [memory.id], latest + 1)[memory.id]) == {"second"}


def test_blame_shows_a_tag_and_a_link_of_a_clock_a_year_ahead_no_later_than_they_were_heard(
    home: Home, ledger: Ledger
) -> None:
    memory = create(ledger, home, "first")
    far = Node(now=START + 365 * DAY)
    far.knows(*all_entries(ledger))
    link = Link("see-also", "018f6f0e-7c1a-7000-8000-000000000001")
    taken(ledger, far, far.edits(Edit(tags_put=("far",), links_put=(link,), at=far.now), memory.id))
    state, origins = ledger.past(memory.id)
    _, fields = blamed(state, memory.heads[0], origins)
    found = {one.field: one for one in fields if one.field.startswith(("tags.", "links."))}
    assert {one.at for one in found.values()} == {NOW + limits.CLOCK_AHEAD_MS_MAX}


def test_a_change_whose_clock_is_behind_what_it_builds_on_does_not_break_the_past(home: Home, ledger: Ledger) -> None:
    memory = create(ledger, home, "first")
    late = replace(home.pen.revise(memory, content="second"), at=START + 500)
    memory = done(ledger, late).memory
    early = replace(home.pen.revise(memory, content="third"), at=START + 400)
    done(ledger, early)
    assert texts(read_then(ledger, [memory.id], START + 450)[memory.id]) == {"first"}
    assert texts(read_then(ledger, [memory.id], START + 500)[memory.id]) == {"third"}
