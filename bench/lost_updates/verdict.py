"""The final state of the nodes, read through their own doors, against the answers to the writers.

Heads are worked out anew here, from the parents in `history`. So the list of `conflicts` is compared with an
independent source.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

from bench.lost_updates.load import SPACE, Write

from mnemesh import Client
from mnemesh.api.values.history import Revision
from mnemesh.api.values.memories import Memory

PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on one node. Acknowledged writes `there`: `new` as memories, `changes` as revisions in `history`.
    Revisions stored `twice`, and revisions without a writer (`foreign`). Pairs of heads that nobody reconciled, with
    `unlisted` pairs missing from `conflicts` and `overlisted` pairs there without need. `state` hashes all texts and
    shared fields of the memories, `digest` is the ledger's own hash of the space."""

    there: int
    new: int
    changes: int
    twice: int
    foreign: int
    pairs: int
    unlisted: int
    overlisted: int
    quarantined: int
    waiting: int
    state: str
    digest: str

    @property
    def good(self) -> bool:
        """Nothing but the writes, and all of them, as far as one node can tell."""
        return not (self.twice or self.foreign or self.unlisted or self.overlisted or self.quarantined or self.waiting)


def judge(
    client: Client, acknowledged: Mapping[Write, str], shared: Mapping[str, str], node_ids: Sequence[str],
    digest: Mapping[int, str],
) -> Verdict:  # fmt: skip
    """`acknowledged` gives the memory that each write was told, `shared` the first text by id."""
    kept = {memory.id: memory for memory in _memories(client)}
    histories = {id_: _history(client, id_) for id_ in kept}
    said = Counter((id_, one.content, one.by, one.node) for id_, revisions in histories.items() for one in revisions)
    owed = {
        (id_, write.text, f"owner/writer-{write.writer}", node_ids[write.writer]): write
        for write, id_ in acknowledged.items()
    }
    first = {(id_, text, "owner/proof", node_ids[0]) for id_, text in shared.items()}
    found = [write for wording, write in owed.items() if said[wording]]
    pairs = {pair for id_, revisions in histories.items() for pair in _pairs(id_, _heads(revisions))}
    listed = {pair for id_, heads in _conflicts(client).items() for pair in _pairs(id_, heads)}
    status = client.sync_status()
    changes = sum(write.shared is not None for write in found)
    return Verdict(
        there=len(found),
        new=len(found) - changes,
        changes=changes,
        twice=sum(times - 1 for times in said.values()),
        foreign=len(set(said) - set(owed) - first),
        pairs=len(pairs),
        unlisted=len(pairs - listed),
        overlisted=len(listed - pairs),
        quarantined=status.quarantined,
        waiting=status.pending,
        state=state_of(kept, histories),
        digest=_hash(sorted(digest.items())),
    )


def state_of(kept: Mapping[str, Memory], histories: Mapping[str, Sequence[Revision]]) -> str:
    """A hash that nodes with the same memories and revisions share."""
    return _hash([_plain(memory, histories[id_]) for id_, memory in sorted(kept.items())])


def _memories(client: Client) -> list[Memory]:
    found: list[Memory] = []
    cursor = ""
    while True:
        page = client.list(space=SPACE, state="all", limit=PAGE, cursor=cursor)
        found += page.memories
        cursor = page.cursor
        if not cursor:
            return found


def _history(client: Client, id_: str) -> list[Revision]:
    found: list[Revision] = []
    cursor = ""
    while True:
        page = client.history(id_, limit=PAGE, cursor=cursor)
        found += page.revisions
        cursor = page.cursor
        if not cursor:
            return found


def _conflicts(client: Client) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    cursor = ""
    while True:
        page = client.conflicts(space=SPACE, limit=PAGE, cursor=cursor)
        found |= {one.id: {version.id for version in one.versions} for one in page.conflicts}
        cursor = page.cursor
        if not cursor:
            return found


def _heads(revisions: Sequence[Revision]) -> set[str]:
    return {one.id for one in revisions} - {parent for one in revisions for parent in one.parents}


def _pairs(id_: str, heads: set[str]) -> set[tuple[str, str, str]]:
    return {(id_, one, other) for one, other in combinations(sorted(heads), 2)}


def _plain(memory: Memory, revisions: Sequence[Revision]) -> object:
    """A memory and its revisions by id, as JSON can hold them.

    The trust class is left out: a writer of this node is a peer's writer on every other node.
    """
    past = sorted((asdict(one) for one in revisions), key=lambda one: str(one["id"]))
    return {"memory": asdict(replace(memory, trust="")), "revisions": past}


def _hash(value: object) -> str:
    """SHA-256 of a value's JSON, its beginning: enough to compare by eye."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
