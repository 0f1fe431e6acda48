"""A ledger that starts with a damaged change in its log: it serves the rest, says so, and is mended by a peer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bit_rot import flip_change
from ledger_builders import SPACE, Home, all_done, done
from peer_builders import EVERYTHING, ID, NOW, Node, all_entries, hand_over, outcome, taken

from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.integrity.scrub import LOG_DAMAGED
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_crdt.changes.envelope import ERASE
from mnemesh_gateway.doctor.deep import view
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.node.settings import Settings
from mnemesh_memory.policy.judge.guard import Verdict
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Memory
from mnemesh_memory.watch.watch_values import ADDED, UPDATED

MEMORIES = 5
DAMAGED = 3  # the number of the damaged entry


@pytest.fixture
def kept(home: Home) -> dict[str, Memory]:
    """The content of a closed ledger, one entry of which is damaged."""
    kept = {memory.id: memory for memory in home.filled(MEMORIES)}
    flip_change(home.file, DAMAGED)
    return kept


def hurt(kept: dict[str, Memory]) -> Memory:
    return list(kept.values())[DAMAGED - 1]


def brought(giver: Ledger, taker: Ledger) -> None:
    """All that `giver` sends for the buckets that differ, as a comparison asks for it."""
    ours, theirs = taker.digest(SPACE), giver.digest(SPACE)
    differing = [bucket for bucket, value in theirs.items() if ours.get(bucket) != value]
    page = giver.resend(SPACE, differing, 0, 256, 1 << 20)
    batch = IncomingEntries(peer="p", origin="o", grant=EVERYTHING, entries=page.entries, keys=page.keys)
    assert taker.take_in(batch, NOW).quarantined == 0


def test_a_ledger_with_a_damaged_change_starts_serves_everything_and_takes_writes(
    home: Home, kept: dict[str, Memory]
) -> None:
    with home.opened() as ledger:
        assert ledger.read(list(kept)) == kept
        added = done(ledger, home.pen.create("written beside the damage")).memory
        assert ledger.read([added.id]) == {added.id: added}
        (notice,) = ledger.status().alarms
        assert ledger.status().state == LOG_DAMAGED
        for part in (hurt(kept).id, f"entry {DAMAGED}: ", "`mnemesh sync now`", f"--data {home.directory.path}`"):
            assert part in notice
        assert "mnemesh node salvage" in notice


def test_the_notice_stands_as_long_as_the_damage_whatever_is_acknowledged(home: Home, kept: dict[str, Memory]) -> None:
    for _ in range(2):
        with home.opened() as ledger:
            assert alarms.acknowledge(home.file.parent) == 0
            assert hurt(kept).id in ledger.status().alarms[0]


def test_a_write_to_the_damaged_memory_is_refused_and_holds_up_no_other(home: Home, kept: dict[str, Memory]) -> None:
    with home.opened() as ledger:
        refused, added = ledger.commit([home.pen.revise(hurt(kept), content="anew"), home.pen.create("another")])
        assert isinstance(refused, DataLoss)
        assert not isinstance(added, Exception)
        assert ledger.read(list(kept)) == kept


def test_a_new_memory_that_would_replace_the_damaged_one_is_stored(home: Home, kept: dict[str, Memory]) -> None:
    old = hurt(kept)
    verdict = Verdict(action="SUPERSEDE", reason="newer", novelty=0.1, supersedes=(old.id,), heads={old.id: old.heads})
    with home.opened() as ledger:
        added = done(ledger, replace(home.pen.create("what holds by now"), verdict=verdict))
        assert (added.action, added.superseded) == ("ADD", ())
        assert ledger.read([old.id]) == {old.id: old}


def test_a_damaged_change_is_sent_to_nobody(home: Home, kept: dict[str, Memory], tmp_path: Path) -> None:
    with home.opened() as ledger, Home.at(tmp_path / "peer").opened() as peer:
        assert [entry.doc for entry in all_entries(ledger)] == [id_ for id_ in kept if id_ != hurt(kept).id]
        assert [outcome(result) for result in hand_over(ledger, peer, home)] == [{"accepted": MEMORIES - 1}]
        again = ledger.resend(SPACE, range(4096), 0, 256, 1 << 20)
        assert len(again.entries) == MEMORIES - 1


def test_a_change_that_is_damaged_while_the_ledger_runs_is_sent_to_nobody_either(home: Home) -> None:
    home.filled(MEMORIES)
    with home.opened() as ledger:
        home.sql("UPDATE entry SET raw = x'00' WHERE seq = ?", DAMAGED)
        assert len(all_entries(ledger)) == MEMORIES - 1


@pytest.mark.parametrize("part", ["change", "hash"])
@pytest.mark.parametrize("served", [True, False])
def test_a_peer_mends_the_entry_and_the_notice_goes(home: Home, tmp_path: Path, served: bool, part: str) -> None:
    memory = home.filled(MEMORIES)[DAMAGED - 1]
    with Home.at(tmp_path / "peer").opened() as peer:
        with home.opened() as ledger:
            hand_over(ledger, peer, home)
            whole, digest = all_entries(ledger), ledger.digest(SPACE)
        if part == "change":
            flip_change(home.file, DAMAGED)
        else:
            home.sql("UPDATE entry SET hash = zeroblob(32) WHERE seq = ?", DAMAGED)
        if not served:
            home.sql("UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?", memory.id)
        with home.opened() as again:
            assert bool(again.read([memory.id])) is served
            brought(peer, again)
            assert again.status().state == "ok"
            (alarm,) = again.status().alarms
            assert alarm.startswith("damaged on disk, and restored from what a peer sent")
            assert (all_entries(again), again.digest(SPACE)) == (whole, digest)
            assert again.read([memory.id]) == {memory.id: memory}
    alarms.acknowledge(home.file.parent)
    with home.opened() as ledger:
        assert ledger.status().alarms == ()


def test_an_admin_purges_the_damaged_memory_and_the_notice_goes(home: Home, kept: dict[str, Memory]) -> None:
    with home.opened() as ledger:
        with pytest.raises(DataLoss):
            ledger.erase(home.pen.erase(hurt(kept).id))
        assert list(ledger.not_to_erase([hurt(kept).id], home.pen.agent)) == [hurt(kept).id]
        assert ledger.erase(home.pen.erase(hurt(kept).id, as_admin=True)).type == ERASE
        assert (ledger.status().state, ledger.status().alarms) == ("ok", ())


def test_a_peer_erases_the_damaged_memory_and_the_notice_goes(home: Home, node: Node) -> None:
    said = node.says("first")
    with home.opened() as ledger:
        taken(ledger, node, said)
    home.sql("UPDATE entry SET raw = x'00'")
    with home.opened() as ledger:
        assert ledger.status().state == LOG_DAMAGED
        assert outcome(taken(ledger, node, node.erases())) == {"erased": 1}
        assert (ledger.status().state, ledger.status().alarms) == ("ok", ())


def test_what_waits_for_one_of_two_damaged_changes_comes_with_the_last_across_starts(home: Home, node: Node) -> None:
    first = node.says("first")
    second = node.says("second")
    with home.opened() as ledger:
        taken(ledger, node, first, second)
    home.sql("UPDATE entry SET raw = x'00'")
    third = node.says("third")
    with home.opened() as ledger:
        assert outcome(taken(ledger, node, third)) == {"held": 1}
        taken(ledger, node, first)
    with home.opened() as ledger:
        assert ledger.status().state == LOG_DAMAGED
        taken(ledger, node, second)
        assert ledger.read([ID])[ID].content == "third"
        assert ledger.backlog().pending == 0


def test_a_view_of_another_version_is_made_anew_around_the_damage(home: Home, kept: dict[str, Memory]) -> None:
    home.sql("UPDATE meta SET value = '0' WHERE key = 'view_version'")
    home.sql("UPDATE memory SET title = 'old view' WHERE id <> ?", hurt(kept).id)
    with home.opened() as ledger:
        assert ledger.read(list(kept)) == kept
        assert ledger.rebuild_view() == MEMORIES


def test_a_watcher_hears_of_every_change_and_of_the_damaged_one_without_its_text(
    home: Home, kept: dict[str, Memory]
) -> None:
    with home.opened() as ledger:
        page = ledger.changes(0, [SPACE], 50)
    told = [(change.id, change.type, bool(change.content)) for change in page.changes]
    damaged = hurt(kept).id
    assert told == [(id_, UPDATED, False) if id_ == damaged else (id_, ADDED, True) for id_ in kept]


def test_the_deep_check_names_every_way_out(home: Home, kept: dict[str, Memory]) -> None:
    (finding,) = view(ExaminedNode(data_dir=home.directory.path, settings=Settings(), now_ms=0))
    assert hurt(kept).id in finding.problem
    assert "`mnemesh sync now`" in finding.fix
    assert f"mnemesh node salvage NEW_DIR --data {home.directory.path}" in finding.fix


def test_many_damaged_changes_are_counted_in_one_notice(home: Home) -> None:
    home.filled(20)
    home.sql("UPDATE entry SET raw = x'00'")
    with home.opened() as ledger:
        (notice,) = ledger.status().alarms
        assert "and 12 more" in notice
        assert len(all_done(ledger, home.pen.create("one"), home.pen.create("two"))) == 2
