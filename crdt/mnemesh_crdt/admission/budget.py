"""The choice of a document's changes that are read, when all of them together would be too much.

Every allowed change enters the log, goes on to peers and counts in the digest. If a total decided admission, the order
of arrival would decide, and replicas would differ. The document is made of the changes chosen here. The choice depends
on their set alone, so it is the same on every replica. Each chosen change comes with all its ancestors.

A change weighs as many bytes as it has inflated, and at least DOCUMENT_BYTES_MAX / DOCUMENT_CHANGES_MAX. So one limit
bounds bytes and number. The principal who began the memory chooses first. The others follow, and the lightest of them
goes first. The more the others wrote so far, the less of the limit they may fill. So a flood gives way to the changes
of all others, before and after. Changes without a revision (tags, links, votes) form one group: another signature could
replace the name of their writer.

The principal who began the memory can always forget it. A change that forgets builds on all changes that its writer
read. So beyond the limit it needs no more than its own weight. That room is kept for such changes alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mnemesh_crdt.admission.ancestry import REVISIONS
from mnemesh_crdt.changes.chunk import inflated_size_max, read_head
from mnemesh_crdt.changes.operations import MAKE_MAP, ChangeContent, OpId, read_operations
from mnemesh_crdt.document.document import UnreadChanges, genesis_hash
from mnemesh_crdt.document.shape import FORGET
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.values import limits

_KEPT: Final = 65_536  # of all memories; others are weighed anew each time
_DEPS_KEPT: Final = 64  # of one change; a change with more is read again


class WeighedChange(NamedTuple):
    """The properties that decide. `size` is in bytes, inflated; `writer` is the principal of its revision, "" when it
    makes none."""

    deps: tuple[str, ...]
    size: int
    writer: str
    forgets: bool = False  # its revision forgets the memory


# By hash. A hash never changes its meaning, so one table serves all documents.
_WEIGHED: Final[OrderedDict[str, WeighedChange]] = OrderedDict()


def weigh(hash: str, raw: bytes, of: int = 1) -> WeighedChange:
    """The weight of one change of a log, inflated once. Raises DataLoss for a damaged change. `of`: the number of
    changes weighed together. Of more than the table takes, the table keeps the same part each time."""
    known = _WEIGHED.get(hash)
    if known is None:
        change = read_operations(raw)
        said = statement(change)
        writer = principal_of(str(said.get("by", "")))
        known = WeighedChange(change.head.deps, change.size, writer, said.get("op") == FORGET)
        if len(known.deps) <= _DEPS_KEPT and int(hash[:8], 16) * of < _KEPT * 3 << 30:  # 3/4 of the table
            _WEIGHED[hash] = known
            if len(_WEIGHED) > _KEPT:
                _WEIGHED.popitem(last=False)
    return known


def may_be_too_much(raws: Collection[bytes]) -> bool:
    """Whether these changes have to be weighed at all; asks only how many and how long they are."""
    if len(raws) * heaviest() <= limits.DOCUMENT_BYTES_MAX:
        return False
    room, least = limits.DOCUMENT_BYTES_MAX, least_weight()
    for raw in raws:
        room -= max(inflated_size_max(raw), least)
        if room < 0:
            return True
    return False


def least_weight() -> int:
    """The weight of the smallest change, in bytes."""
    return limits.DOCUMENT_BYTES_MAX // limits.DOCUMENT_CHANGES_MAX


def spare_to_forget() -> int:
    """The room beyond the limit, in bytes, for changes by which the owner forgets a memory: the largest fits once,
    usual changes fit a hundred times."""
    return heaviest()


def heaviest() -> int:
    """The weight of the largest change, in bytes."""
    return max(limits.CHANGE_INFLATED_BYTES_MAX, least_weight())


def within(id: str, space: str, log: Mapping[str, bytes], spare: int = 0) -> tuple[list[bytes], UnreadChanges | None]:
    """The changes to read of the memory `id` in `space`, and the rest. `log` has all changes by hash, parents first.
    `spare` is room to leave for a change to come, in bytes."""
    if not spare and not may_be_too_much(log.values()):
        return list(log.values()), None
    weighed = {hash: weigh(hash, raw, len(log)) for hash, raw in log.items()}
    chosen = choose(weighed, genesis_hash(id, space), spare)
    return [raw for hash, raw in log.items() if hash in chosen], unread(weighed, len(chosen))


def unread(weighed: Mapping[str, WeighedChange], chosen: int) -> UnreadChanges | None:
    """The rest of a log of which so many changes were chosen; None when there is none."""
    if chosen == len(weighed):
        return None
    built_on = {dep for change in weighed.values() for dep in change.deps}
    return UnreadChanges(len(weighed) - chosen, frozenset(hash for hash in weighed if hash not in built_on))


def choose(weighed: Mapping[str, WeighedChange], genesis: str, spare: int = 0) -> set[str]:
    """The hashes of the changes to read, of a log with parents first."""
    most, least = limits.DOCUMENT_BYTES_MAX - spare, least_weight()
    weights = {hash: max(change.size, least) for hash, change in weighed.items()}
    if sum(weights.values()) <= most:
        return set(weighed)
    wrote: dict[str, int] = {}
    depths: dict[str, int] = {genesis: 0}
    owners = set()
    for hash, change in weighed.items():
        wrote[change.writer] = wrote.get(change.writer, 0) + weights[hash]
        depths[hash] = 1 + max(depths[dep] for dep in change.deps)
        if depths[hash] == 1:
            owners.add(change.writer)
    choice = _Choice(weighed, weights, {genesis})
    groups: dict[str, list[str]] = {
        who: [] for who in sorted(wrote, key=lambda who: (who not in owners, wrote[who], who))
    }
    for hash in sorted(weighed, key=lambda hash: (depths[hash], hash)):
        groups[weighed[hash].writer].append(hash)
    others = 0
    for who, hashes in groups.items():
        others += 0 if who in owners else wrote[who]
        for hash in hashes:
            kept_free = spare_to_forget() if who in owners and weighed[hash].forgets else 0
            choice.take(hash, most - min(others, most * 3 // 4) + kept_free)
    return choice.chosen - {genesis}


@dataclass(slots=True)
class _Choice:
    """The changes chosen so far, and their weight. A refusal is final: the choice only grows, and no group has more
    room than the one before it."""

    weighed: Mapping[str, WeighedChange]
    weights: Mapping[str, int]
    chosen: set[str]
    refused: set[str] = field(default_factory=set)
    weight: int = 0

    def take(self, hash: str, room: int) -> None:
        """Choose a change with all its ancestors, if the whole choice then fits into `room`."""
        if hash in self.chosen:
            return
        more, weight, todo = {hash}, self.weight, [hash]
        while todo:
            name = todo.pop()
            weight += self.weights[name]
            deps = self.weighed[name].deps
            if weight > room or not self.refused.isdisjoint(deps):
                self.refused.add(hash)
                return
            fresh = [dep for dep in deps if dep not in self.chosen and dep not in more]
            more.update(fresh)
            todo += fresh
        self.chosen |= more
        self.weight = weight


def statement(change: ChangeContent) -> dict[str, object]:
    """The texts and numbers of the revision that a change makes, by field; empty when it makes none."""
    made: set[OpId | None] = set()
    fields: dict[str, object] = {}
    for counter, operation in enumerate(change.operations, change.first):
        if operation.object == REVISIONS and operation.action == MAKE_MAP:
            made.add((counter, change.head.actor))
        elif operation.object in made:
            fields[operation.key] = operation.value
    return fields


def deps_of(log: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """The parents of each change of a log, by hash. A large log is not inflated a second time for that."""
    if may_be_too_much(log.values()):
        return {hash: weigh(hash, raw, len(log)).deps for hash, raw in log.items()}
    return {hash: read_head(raw).deps for hash, raw in log.items()}
