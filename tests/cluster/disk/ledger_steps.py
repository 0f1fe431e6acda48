"""A ledger's whole life in some thirty steps: every kind of write, in groups and alone, ours and a peer's.

A step is one call of the ledger, and so one acknowledgement. Steps are values and nothing in them is random, so what a
step leaves behind is known from another run. Imports the ledger alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ledger_builders import GENERATION, Pen
from peer_builders import ANAS, EVERYTHING, FEED, NOW, OTHER, Node

from mnemesh_actors.ledger.commands import Command, Forget, KeptVectors, Resolve, Restore, Revise, Rollback
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.ledger.peers.exchange import IncomingEntries
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.ids import fingerprint
from mnemesh_memory.values.model import Patch

Rows = list[tuple[Any, ...]]
FAR_IDS = [f"018f6f0e-7c1a-7000-8000-{number:012x}" for number in range(24)]
# Long enough to be deflated in the change, and to fill several pages of the file.
LONG = " ".join(f"Step {number} of the long runbook drains host {number * 7919:x}." for number in range(200))


@dataclass(frozen=True)
class Step:
    """One call, and so one acknowledgement. `way` is the operation of the ledger."""

    way: str
    take: Callable[[Ledger], None]


def steps() -> list[Step]:
    """Every kind of write, in groups and alone, ours and a peer's."""
    return [*_own_writes(), *_foreign_entries(), *_ends()]


def _own_writes() -> list[Step]:
    pen = Pen()
    first = pen.create("The gate opens at eight.", title="Gate", tags=("gate",))
    long = pen.create(LONG, vectors=_vectors(LONG))
    group = [pen.create(f"Lighthouse {number} stands on cliff {number}.") for number in range(12)]
    keyed = pen.create("Deploys run from CI only.", idempotency_key="step-1")
    heir = pen.create("Lighthouse 0 has moved.", supersedes=(group[0].id,))
    change = _revise(pen, first.id, "The gate opens at nine.")
    again = _revise(pen, first.id, "The gate opens at ten.")
    common = pen._next()
    back = Rollback(**common, id=first.id, to=f"1@{first.actor.hex()}", expected_heads=(f"3@{again.actor.hex()}",))
    return [
        _commit(first),
        _commit(long),
        _commit(*group),
        _commit(keyed),
        _commit(heir),
        _commit(change),
        _commit(again),
        _commit(back),
        _commit(Forget(**pen._next(), id=group[1].id)),
        _commit(Restore(**pen._next(), id=group[1].id), Forget(**pen._next(), id=group[2].id)),
        Step("keep_vectors", lambda ledger: ledger.keep_vectors(_vectors("Deploys run from CI only."))),
        _erase(long.id),
    ]


def _foreign_entries() -> list[Step]:
    far, other = Node(), Node("other", agent="bob/cli")
    new = [far.says(f"Far away, tower {id_[-2:]} is painted white.", id_) for id_ in FAR_IDS]
    long = far.says(LONG, OTHER)
    once, twice = far.says("Tower 0 is red now.", FAR_IDS[0]), far.says("Tower 0 is blue now.", FAR_IDS[0])
    other.knows(*(entry for entry in new if entry.doc == FAR_IDS[1]))
    mine, theirs = far.says("Tower 1 is high.", FAR_IDS[1]), other.says("Tower 1 is low.", FAR_IDS[1])
    stranger = other.says("Bob speaks for himself.", FAR_IDS[23][:-2] + "ff")
    pen = Pen(agent="owner/resolve")
    heads = tuple(sorted(f"2@{read_head(entry.raw).actor}" for entry in (mine, theirs)))
    end = Resolve(
        **pen._next(), id=FAR_IDS[1], keep=heads[0], content="Tower 1 is as high as the other.", expected_heads=heads
    )
    return [
        _take(far, 8, *new[:8]),
        _take(far, 24, *new[8:]),
        _take(far, 25, long),
        _take(far, 26, twice),  # waits for what it builds on
        _take(far, 27, once),
        _take(far, 28, mine, theirs, keys=other.keys),
        _commit(end),
        _take(far, 29, stranger, grant=ANAS, keys=other.keys),  # into quarantine
        _take(far, 30),
        _take(far, 31, far.erases(OTHER)),
        _commit(_revise(pen, FAR_IDS[2], "Tower 2 is ours to paint.")),
        _erase(FAR_IDS[3]),
    ]


def _ends() -> list[Step]:
    pen = Pen(agent="owner/last", now=Pen().now + 1000)
    return [_commit(*(pen.create(f"Last words {number} of round {turn}.") for number in range(3))) for turn in range(4)]


def _erase(id_: str) -> Step:
    command = Erase(**Pen(agent=f"owner/erase-{id_}")._next(), id=id_, as_admin=True)

    def take(ledger: Ledger) -> None:
        ledger.erase(command)

    return Step("erase", take)


def _commit(*commands: Command) -> Step:
    def take(ledger: Ledger) -> None:
        for result in ledger.commit(commands):
            if isinstance(result, Exception):
                raise result

    return Step("commit", take)


def _take(
    node: Node, last_seq: int, *entries: Entry, grant: PeerGrant = EVERYTHING, keys: dict[str, bytes] | None = None
) -> Step:
    batch = IncomingEntries(
        peer=node.id, origin=node.origin, grant=grant, entries=entries, keys={**node.keys, **(keys or {})},
        feed=FEED, last_seq=last_seq,
    )  # fmt: skip

    def take(ledger: Ledger) -> None:
        done = ledger.take_in(batch, NOW)
        assert done.seq == last_seq, done

    return Step("take_in", take)


def _revise(pen: Pen, id_: str, content: str) -> Revise:
    patch = Patch(content=content)
    common = pen._next()
    return Revise(
        **common, id=id_, patch=patch, duplicate_key=duplicate_key(content), fingerprint=fingerprint(patch, id_)
    )


def _vectors(text: str) -> KeptVectors:
    return KeptVectors(generation=GENERATION, items=((content_hash(text), bytes(1536)),))


def state_of(ledger: Ledger) -> dict[str, Any]:
    """Everything that a step can change, without the random ids of the changes that close a superseded memory."""
    db = ledger._db
    counted = ("text_hash", "erased", "pending", "quarantine", "idempotency", "vector", "node_key", "document")
    return {
        "memories": db.execute("SELECT id, content, state, tier, tags, conflicted FROM memory ORDER BY id").fetchall(),
        "entries": db.execute("SELECT doc, type, count(*) FROM entry GROUP BY doc, type ORDER BY doc, type").fetchall(),
        "cursors": ledger.cursors(Node().id),
        **{table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in counted},
    }


def view_of(ledger: Ledger) -> dict[str, Rows]:
    """The view, which follows from the log, row by row."""
    tables = ("memory", "text_hash", "document", "digest")
    return {table: sorted(ledger._db.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}
