"""Erasing: the text is nowhere any more, late copies are dropped, and every node that hears of it does the same."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ledger_builders import AGENT, GENERATION, OTHER_SPACE, SPACE, Home, Pen, done
from peer_builders import ANA, ANAS, BOB, EVERYTHING, ID, NOW, Node, all_entries, contents, hand_over, outcome, taken

from mnemesh_actors.ledger.commands import KeptVectors
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Gone
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_actors.ledger.store.replica_cursors import cursor_name
from mnemesh_actors.ledger.store.vectors import FIRST
from mnemesh_crdt.changes.envelope import RETRACT, Entry, verify
from mnemesh_memory.access.grants import EVERY_SPACE
from mnemesh_memory.text.text import chunks as chunks_of
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.errors import FailedPrecondition, MnemeshError, NotFound, PermissionDenied

SECRET = "the cook's middle name is Hieronymus"
# Over 4,096 bytes a change is deflated, so its text is nowhere in plain form.
LONG = SECRET + "".join(f" and {number} more words of it" for number in range(400))


def erased(ledger: Ledger, pen: Pen, id: str, agent: str = AGENT, *, as_admin: bool = False) -> Gone:
    return ledger.erase(pen.erase(id, agent, as_admin=as_admin))


def inflated(data: bytes) -> Iterator[bytes]:
    """Every deflated body inside Automerge chunks anywhere in `data`, even without its head."""
    for start in range(len(data)):
        if data[start : start + 4] == b"\x85\x6f\x4a\x83":
            for body in range(start + 9, start + 14):
                try:
                    yield zlib.decompressobj(-15).decompress(data[body:])
                except zlib.error:
                    continue


def traces(path: Path, texts: tuple[str, ...] = (SECRET,)) -> list[str]:
    """Files below `path` in which a text is to be found: as it is, in another encoding, or deflated."""
    found = []
    for file in sorted(path.rglob("*")):
        if not file.is_file():
            continue
        data = file.read_bytes()
        kinds = [data, *inflated(data)]
        for text in texts:
            forms = [text.encode(), text.encode("utf-16-le"), bytes.fromhex(duplicate_key(text))]
            if any(form in kind for form in forms for kind in kinds):
                found.append(file.name)
                break
    return found


def chunks(home: Home) -> list[bytes]:
    """Every change in the file, inflated."""
    with home.looked_into() as db:
        raws = [
            raw for table in ("entry", "pending", "quarantine") for (raw,) in db.execute(f"SELECT raw FROM {table}")
        ]
    return [body for raw in raws for body in (raw, *inflated(raw))]


# ---- what is gone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [SECRET, LONG])
def test_after_an_erasure_the_text_is_nowhere_in_the_directory(home: Home, pen: Pen, text: str) -> None:
    hashes = [content_hash(chunk) for chunk in chunks_of(text)]
    vectors = KeptVectors(generation=GENERATION, items=tuple((digest, b"v" * 16) for digest in hashes))
    with home.opened() as ledger:
        for number in range(40):
            done(ledger, pen.create(f"another {number} " + "x" * 300 * (number % 7)))
        memory = done(ledger, pen.create(text, vectors=vectors)).memory
        done(ledger, pen.revise(memory, title=SECRET[:60]))
        done(ledger, pen.forget(memory))
        assert any(SECRET.encode() in body for body in chunks(home))
        assert traces(home.directory.path) != []
        gone = erased(ledger, pen, memory.id)
        assert (gone.changes, gone.folded, gone.space) == (3, True, SPACE)
        assert traces(home.directory.path, (SECRET, SECRET[:60])) == []
        assert not any(SECRET.encode() in body for body in chunks(home))
        assert ledger.vectors(hashes, GENERATION) == {}
        assert ledger.read([memory.id]) == {}
    assert traces(home.directory.path, (SECRET, SECRET[:60])) == []
    with home.looked_into() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_erasure_takes_what_waits_and_what_was_refused_too(home: Home, pen: Pen, node: Node, ledger: Ledger) -> None:
    one, two, three = node.says("harmless"), node.says("in between"), node.says(SECRET)
    far = Node("second", BOB)
    far.knows(one)
    bad = replace(far.says(LONG), signature=bytes(64))
    assert outcome(taken(ledger, node, one, three, bad)) == {"accepted": 1, "held": 1, "quarantined": 1}
    assert two.hash not in {entry.hash for entry in all_entries(ledger)}
    elsewhere = node.says(SECRET, space=OTHER_SPACE)
    assert outcome(taken(ledger, node, elsewhere)) == {"quarantined": 1}
    assert sum(SECRET.encode() in body for body in chunks(home)) >= 3
    assert traces(home.directory.path) != []
    erased(ledger, pen, ID, as_admin=True)
    assert traces(home.directory.path) == []
    assert (ledger.backlog().pending, ledger.backlog().quarantined, ledger.backlog().erased) == (0, 0, 1)


def test_a_memory_of_which_only_waiting_changes_are_here_can_be_erased(
    home: Home, pen: Pen, node: Node, ledger: Ledger
) -> None:
    node.says("not sent")
    taken(ledger, node, node.says(SECRET))
    with pytest.raises(NotFound):
        erased(ledger, pen, ID)
    assert erased(ledger, pen, ID, as_admin=True).changes == 0
    assert traces(home.directory.path) == []


@pytest.mark.parametrize("begun_here", [True, False])
@pytest.mark.parametrize("came", ["before it", "since"])
def test_an_erasure_takes_what_waits_under_its_id_in_another_space(
    home: Home, pen: Pen, node: Node, begun_here: bool, came: str, ledger: Ledger
) -> None:
    first, _, third = node.says("harmless"), node.says("not sent"), node.says("waits as well")
    node.says("not sent", space=OTHER_SPACE)
    elsewhere = node.says(SECRET, space=OTHER_SPACE)
    taken(ledger, node, *([first] if begun_here else []), third)
    if came == "since":
        erased(ledger, pen, ID, as_admin=True)
    assert outcome(taken(ledger, node, elsewhere)) == {"held": 1}
    assert traces(home.directory.path) != []
    erased(ledger, pen, ID, as_admin=True)
    assert traces(home.directory.path) == []
    assert (ledger.backlog().pending, ledger.backlog().erased) == (0, 1)


def test_what_a_peer_erases_in_one_space_takes_nothing_that_waits_in_another(node: Node, ledger: Ledger) -> None:
    first, second, third = node.says("one"), node.says("two"), node.says("three")
    assert outcome(taken(ledger, node, first, third)) == {"accepted": 1, "held": 1}
    taken(ledger, node, node.erases(ID, OTHER_SPACE))
    taken(ledger, node, second)
    assert contents(ledger) == ["three"]


@pytest.mark.parametrize("erased_before", [False, True])
@pytest.mark.parametrize(("by", "waiting"), [("the other ledger", 0), ("a former ledger", 0), ("a peer", 1)])
def test_what_another_ledger_of_the_node_erased_takes_what_waits_in_another_space_here_too(
    home: Home, node: Node, by: str, waiting: int, erased_before: bool, ledger: Ledger
) -> None:
    first = node.says("harmless")
    node.says("not sent", space=OTHER_SPACE)
    elsewhere = node.says(SECRET, space=OTHER_SPACE)
    nodes = {name: Node(name) for name in ("the other ledger", "a former ledger", "a peer")}

    def brought(ledger: Ledger, twin: Node, *entries: Entry) -> None:
        keys = {id: key for one in nodes.values() for id, key in one.keys.items()}
        grant = replace(EVERYTHING, write=(EVERY_SPACE,), principal="")
        batch = IncomingEntries(
            peer=cursor_name(twin.id), origin=twin.origin, grant=grant, entries=entries, keys=keys,
            feed=f"{twin.id}/feed", last_seq=1,
        )  # fmt: skip
        ledger.take_in(batch, NOW)

    assert outcome(taken(ledger, node, first, elsewhere)) == {"accepted": 1, "held": 1}
    brought(ledger, nodes["a former ledger"])
    if erased_before:  # by somebody else, of whom the other ledger had not heard
        taken(ledger, node, node.erases(ID))
    assert ledger.backlog().pending == 1
    brought(ledger, nodes["the other ledger"], nodes[by].erases(ID))
    assert (ledger.backlog().pending, ledger.backlog().erased) == (waiting, 1)
    assert (traces(home.directory.path) == []) == (waiting == 0)


def test_many_memories_can_be_erased_among_many_that_stay(home: Home, pen: Pen, ledger: Ledger) -> None:
    made = [
        done(ledger, pen.create(f"number {n:03} is {SECRET} " + "y" * (37 * n % 1500), title=f"number {n:03}")).memory
        for n in range(120)
    ]
    for memory in made[::2]:
        done(ledger, pen.revise(memory, content=f"changed {memory.content}"))
    away = [memory for n, memory in enumerate(made) if n % 3]
    for memory in away:
        erased(ledger, pen, memory.id)
    texts = tuple(f"number {n:03} is" for n in range(120) if n % 3)
    assert traces(home.directory.path, texts) == []
    assert len(ledger.read([memory.id for memory in made])) == 40


def test_only_hashes_stay_and_the_next_erasure_of_it_changes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("gone soon", idempotency_key="k")).memory
    entries = all_entries(ledger)
    first = erased(ledger, pen, memory.id)
    assert erased(ledger, pen, memory.id) == replace(first, changes=0)
    (entry,) = all_entries(ledger)
    assert (entry.type, entry.raw, entry.doc, entry.agent) == (RETRACT, b"", memory.id, AGENT)
    verify(entry, ledger.sync_page(0, ("*",), "", 10, 1000).keys[entry.node])
    with home.looked_into() as db:
        assert db.execute("SELECT doc, space, hashes FROM erased").fetchall() == [
            (memory.id, SPACE, bytes.fromhex(entries[0].hash))
        ]
        for table in ("memory", "text_hash", "vector", "activity"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        assert db.execute("SELECT key, fingerprint FROM idempotency").fetchall() == [("k", b"")]


def test_an_erased_text_can_be_remembered_again_as_a_new_memory(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("said twice", idempotency_key="k")).memory
    erased(ledger, pen, memory.id)
    again = done(ledger, pen.create("said twice", idempotency_key="another")).memory
    assert again.id != memory.id
    for command in (pen.revise(memory, content="x"), pen.forget(memory), pen.restore(memory)):
        with pytest.raises(NotFound):
            done(ledger, command)


def test_a_key_of_an_erased_memory_never_brings_it_back(ledger: Ledger, pen: Pen) -> None:
    command = pen.create("said once", idempotency_key="k")
    erased(ledger, pen, done(ledger, command).memory.id)
    with pytest.raises(FailedPrecondition, match="which was erased since; use a new key"):
        done(ledger, command)
    assert len(all_entries(ledger)) == 1


def test_a_write_sent_again_after_its_memory_was_erased_does_not_bring_it_back(ledger: Ledger, pen: Pen) -> None:
    command = pen.create("said once")
    memory = done(ledger, command).memory
    erased(ledger, pen, memory.id)
    with pytest.raises(FailedPrecondition, match="erased"):
        done(ledger, command)
    assert ledger.read([memory.id]) == {}


def test_what_is_unknown_cannot_be_erased(ledger: Ledger, pen: Pen) -> None:
    with pytest.raises(NotFound):
        erased(ledger, pen, ID, as_admin=True)


def test_only_who_began_a_memory_or_an_admin_erases_it(ledger: Ledger, pen: Pen, node: Node) -> None:
    mine = done(ledger, pen.create("ours")).memory
    with pytest.raises(PermissionDenied):
        erased(ledger, pen, mine.id, agent="ana/cli")
    assert contents(ledger, [mine.id]) == ["ours"]
    assert erased(ledger, pen, mine.id, agent="owner/other-client").changes == 1
    other = done(ledger, pen.create("ours too")).memory
    assert erased(ledger, pen, other.id, agent="boss", as_admin=True).changes == 1


def test_the_write_ahead_log_is_cut_as_soon_as_nobody_reads_it(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create(SECRET)).memory
    reader = sqlite3.connect(home.file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entry").fetchone()
    ledger._db.execute("PRAGMA busy_timeout = 0")
    assert not erased(ledger, pen, memory.id).folded
    assert traces(home.directory.path) != []
    reader.close()
    done(ledger, pen.create("something else"))
    assert traces(home.directory.path) == []


def test_an_erasure_before_a_kill_is_folded_at_the_next_start(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create(SECRET)).memory
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "_fold", lambda self: False)
            erased(ledger, pen, memory.id)
        assert traces(home.directory.path) != []
        files = {file: file.read_bytes() for file in home.file.parent.iterdir()}
    for file, data in files.items():
        file.write_bytes(data)
    with home.opened() as ledger:
        assert traces(home.directory.path) == []
        assert ledger.read([memory.id]) == {}


# ---- the index ------------------------------------------------------------------------------------------------------


def test_the_index_is_told_what_is_gone(ledger: Ledger, pen: Pen) -> None:
    one, two = (done(ledger, pen.create(text)).memory for text in ("one", "two"))
    done(ledger, pen.create("three"))
    gone = erased(ledger, pen, one.id)
    page = ledger.feed(0, 100, GENERATION)
    assert [memory.content for _, memory in page.memories] == ["two", "three"]
    assert (page.removed, page.seq) == ((one.id,), gone.seq)
    assert ledger.feed(gone.seq - 1, 100, GENERATION).removed == (one.id,)
    assert ledger.feed(gone.seq, 100, GENERATION).removed == ()
    assert two.id not in page.removed


def test_vectors_that_were_on_their_way_do_not_come_back(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    late = KeptVectors(generation=GENERATION, items=((content_hash("one"), b"v" * 16),))
    gone = erased(ledger, pen, memory.id)
    ledger.keep_vectors(late)
    assert ledger.vectors([content_hash("one")], GENERATION) == {}
    ledger.feed(gone.seq, 10, GENERATION)
    ledger.keep_vectors(late)
    assert ledger.vectors([content_hash("one")], GENERATION) != {}, "somebody says it again"


def test_vectors_on_their_way_to_one_of_two_indexes_do_not_come_back_either(ledger: Ledger, pen: Pen) -> None:
    done(ledger, pen.create("zero"))
    memory = done(ledger, pen.create("one")).memory
    ledger.feed(0, 1, "another-model")
    late = KeptVectors(generation="another-model", items=((content_hash("one"), b"v" * 16),))
    gone = erased(ledger, pen, memory.id)
    ledger.feed(gone.seq, 10, GENERATION)
    ledger.keep_vectors(late)
    assert ledger.vectors([content_hash("one")], "another-model") == {}
    assert ledger.sweep_vectors(FIRST, [GENERATION]) is None
    ledger.feed(gone.seq, 10, GENERATION)
    ledger.keep_vectors(late)
    assert ledger.vectors([content_hash("one")], "another-model") != {}, "that index is not waited for any more"


# ---- other nodes ----------------------------------------------------------------------------------------------------


def test_a_write_whose_id_is_retracted_elsewhere_gets_another_and_stays(home: Home, ledger: Ledger, node: Node) -> None:
    pen = Pen(agent=ANA)
    command = pen.create("said on two nodes", idempotency_key="daily")
    gone = node.retracts(command.id)
    assert outcome(taken(ledger, node, gone, grant=ANAS)) == {"held": 1}
    written = done(ledger, command)
    assert (written.action, written.memory.id) == ("ADD", command.spare_id), (
        "under its own it would go with the next word"
    )
    assert outcome(taken(ledger, node, gone, grant=EVERYTHING)) == {"erased": 1}
    assert contents(ledger, [command.id, written.memory.id]) == ["said on two nodes"]
    again = done(ledger, command)
    assert (again.memory.id, again.replayed) == (written.memory.id, True)
    with Home.for_one_example() as elsewhere, elsewhere.opened() as peer:
        hand_over(ledger, peer, home)
        assert contents(peer, [command.id, written.memory.id]) == ["said on two nodes"]
        assert peer.digest(SPACE) == ledger.digest(SPACE)


def test_a_retraction_goes_on_waiting_while_what_comes_is_refused(ledger: Ledger) -> None:
    bob = Node("bobs", BOB)
    bobs = replace(ANAS, principal="bob")
    said, gone = bob.says("bobs"), bob.retracts()
    assert outcome(taken(ledger, bob, gone, grant=bobs)) == {"held": 1}
    forged = replace(said, signature=bytes(64))
    assert outcome(taken(ledger, bob, forged, gone, grant=bobs)) == {"quarantined": 1, "duplicates": 1}
    assert ledger.backlog().pending == 1
    assert outcome(taken(ledger, bob, said, grant=bobs)) == {"accepted": 1, "erased": 1}


def test_an_erasure_has_the_type_of_the_right_by_which_it_was_made(ledger: Ledger, pen: Pen, node: Node) -> None:
    mine, own = done(ledger, pen.create("mine")).memory, done(ledger, pen.create("the admin's own")).memory
    taken(ledger, node, node.says("anas"))
    erased(ledger, pen, mine.id)
    erased(ledger, pen, own.id, as_admin=True)
    erased(ledger, pen, ID, as_admin=True)
    assert {entry.doc: entry.type for entry in all_entries(ledger)} == {
        mine.id: "retract",
        own.id: "retract",
        ID: "erase",
    }


def test_nobody_becomes_the_writer_of_anothers_memory_by_adding_to_it(ledger: Ledger, node: Node) -> None:
    bob = Node("bobs", BOB)
    taken(ledger, node, node.says("anas"))
    taken(ledger, bob, bob.says("a second beginning"))
    assert len(ledger.read([ID])[ID].heads) == 2
    assert outcome(taken(ledger, bob, bob.retracts(), grant=replace(ANAS, principal="bob"))) == {"quarantined": 1}
    assert len(ledger.read([ID])) == 1


def test_an_entry_of_an_erasure_that_was_altered_on_disk_is_found_at_the_start(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = done(ledger, pen.create("one")).memory
        erased(ledger, pen, memory.id)
    home.sql("UPDATE entry SET agent = 'somebody'")
    with pytest.raises(MnemeshError) as caught:
        home.open()
    assert caught.value.code == "DATA_LOSS"
