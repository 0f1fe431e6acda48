"""A memory damaged in the log and in the view: left out and told, restored from a peer, and in nobody's way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from ledger_builders import OTHER_SPACE, SPACE, Home, Pen, all_done, done
from peer_builders import EVERYTHING, ID, NOW, OTHER, Node, all_entries, hand_over, outcome, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import Incoming
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_memory.values.model import ListQuery, Memory, Query

MEMORIES = 5


@pytest.fixture
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Ledger]]:
    home = Home.at(tmp_path_factory.mktemp("peer"))
    with home.opened() as ledger:
        yield home, ledger


def harm(home: Home, id_: str, *sql: str) -> None:
    with closing(sqlite3.connect(home.file)) as db:
        for one in sql:
            db.execute(one, (id_,))
        db.commit()


IN_VIEW = "UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?"
UNREADABLE_IN_VIEW = "UPDATE memory SET detail = '{no json' WHERE id = ?"
IN_LOG = "UPDATE entry SET raw = x'00' WHERE doc = ?"


def several(ledger: Ledger, pen: Pen) -> list[Memory]:
    return [one.memory for one in all_done(ledger, *(pen.create(f"Memory {n}") for n in range(MEMORIES)))]


def listed(ledger: Ledger) -> set[str]:
    return {one.id for one in ledger.page(ListQuery(spaces=(SPACE,), limit=50)).memories}


def scrubbed(ledger: Ledger) -> None:
    assert ledger.scrub("", 1_000) == ""


@pytest.mark.parametrize("view", [IN_VIEW, UNREADABLE_IN_VIEW])
def test_a_lost_memory_is_left_out_of_lists_and_named(home: Home, ledger: Ledger, pen: Pen, view: str) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, view, IN_LOG)
    page = ledger.page(ListQuery(spaces=(SPACE,), limit=50))
    assert {one.id for one in page.memories} == {one.id for one in others}
    assert (page.total, page.lost) == (len(others), (lost.id,))
    assert ledger.page(ListQuery(spaces=(OTHER_SPACE,), limit=50)).lost == ()
    assert lost.id in ledger.status().alarms[0]


@pytest.mark.parametrize("view", [IN_VIEW, UNREADABLE_IN_VIEW])
def test_a_lost_memory_fails_no_read_of_others_and_is_an_error_by_its_id(
    home: Home, ledger: Ledger, pen: Pen, view: str
) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, view, IN_LOG)
    ids = [lost.id, *(one.id for one in others)]
    assert set(ledger.read(ids)) == set(ids[1:])
    assert ledger.lost(ids, [SPACE]) == [lost.id]
    error, *found = ledger.find(ids, [SPACE])
    assert isinstance(error, RowDamaged)
    assert "sync now" in str(error)
    assert found == others
    assert lost.id in ledger.matching(Query(text="", spaces=(SPACE,)), NOW)[0], "so that a recall tells of it"


def test_that_a_memory_is_lost_is_told_to_none_who_may_not_see_its_space(home: Home, ledger: Ledger, pen: Pen) -> None:
    lost, *_ = several(ledger, pen)
    harm(home, lost.id, IN_VIEW, IN_LOG)
    assert ledger.lost([lost.id], ["team/elsewhere"]) == []
    (error,) = ledger.find([lost.id], [], ["team/elsewhere"])
    assert not isinstance(error, RowDamaged)


def test_the_damaged_row_is_kept_aside_and_an_erasure_takes_it_along(home: Home, ledger: Ledger, node: Node) -> None:
    taken(ledger, node, node.says("what nobody may read any more"))
    harm(home, ID, IN_VIEW, IN_LOG)
    assert listed(ledger) == set()
    count = "SELECT count(*) FROM damaged_memory"
    assert ledger._db.execute(count).fetchone() == (1,)
    assert outcome(taken(ledger, node, node.erases())) == {"erased": 1}
    assert ledger._db.execute(count).fetchone() == (0,)
    assert ledger.lost([ID], ["*"]) == []


def test_a_memory_with_a_damaged_log_alone_is_still_served(home: Home, ledger: Ledger, pen: Pen) -> None:
    lost, *_ = several(ledger, pen)
    harm(home, lost.id, IN_LOG)
    scrubbed(ledger)
    assert ledger.read([lost.id]) == {lost.id: lost}
    assert ledger.page(ListQuery(spaces=(SPACE,))).lost == ()


def test_the_past_of_a_memory_with_a_damaged_log_is_left_out_and_fails_no_other(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    lost, *others = several(ledger, pen)
    harm(home, lost.id, IN_LOG)
    ids = [lost.id, *(one.id for one in others)]
    assert set(ledger.read_as_of(ids, NOW)) == set(ids[1:])
    assert ledger.lost(ids, [SPACE], True) == [lost.id]
    assert ledger.lost(ids, [OTHER_SPACE], True) == []


# ---- restored -------------------------------------------------------------------------------------------------------


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.mark.parametrize("view", [(), (IN_VIEW,)])
def test_a_damaged_entry_comes_back_from_a_peer_by_a_comparison(
    home: Home, ledger: Ledger, pen: Pen, peer: tuple[Home, Ledger], view: tuple[str, ...]
) -> None:
    _, other = peer
    lost, *_ = several(ledger, pen)
    done(ledger, pen.revise(lost, content="Said anew"))
    hand_over(ledger, other, home)
    before, entries, kept = ledger.digest(SPACE), all_entries(ledger), ledger.read([lost.id])
    assert other.digest(SPACE) == before
    harm(home, lost.id, *view, IN_LOG)
    scrubbed(ledger)

    differing = [bucket for bucket, value in other.digest(SPACE).items() if ledger.digest(SPACE).get(bucket) != value]
    assert len(differing) == 1, "a comparison asks for this memory alone"
    page = other.resend(SPACE, differing, 0, 256, 1 << 20)
    batch = Incoming(peer="p", origin="o", grant=EVERYTHING, entries=page.entries, keys=page.keys)
    assert ledger.take_in(batch, NOW).quarantined == 0

    assert ledger.digest(SPACE) == before
    assert all_entries(ledger) == entries
    assert ledger.read([lost.id]) == kept
    assert ledger.page(ListQuery(spaces=(SPACE,))).lost == ()
    assert "restored from what a peer sent" in ledger.status().alarms[-1]
    done(ledger, pen.revise(kept[lost.id], content="And written on"))


def test_a_forged_copy_restores_nothing(home: Home, ledger: Ledger, node: Node) -> None:
    good = node.says("what was said")
    taken(ledger, node, good)
    harm(home, ID, IN_LOG)
    scrubbed(ledger)
    other = Node("forger").says("what nobody said")
    taken(ledger, node, replace(good, raw=other.raw))
    assert ledger._db.execute("SELECT raw FROM entry").fetchone() == (b"\x00",)
    taken(ledger, node, good)
    assert ledger._db.execute("SELECT raw FROM entry").fetchone() == (good.raw,)


@pytest.mark.parametrize("known", [True, False])
def test_what_builds_on_a_damaged_entry_waits_for_it_and_holds_up_nobody(
    home: Home, ledger: Ledger, node: Node, known: bool
) -> None:
    first = node.says("what was said")
    taken(ledger, node, first)
    harm(home, ID, IN_LOG)
    if known:
        scrubbed(ledger)
    later, other = node.says("what is said now"), node.says("of another memory", id=OTHER)
    assert outcome(taken(ledger, node, later, other)) == {"held": 1, "accepted": 1}
    assert ledger.read([OTHER])[OTHER].content == "of another memory"
    restored = taken(ledger, node, first)
    assert ledger.read([ID])[ID].content == "what is said now"
    assert restored.last == ledger.status().seq, "so that the index hears of it"
    assert ledger.backlog().pending == 0
