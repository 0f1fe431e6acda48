"""Altered changes with fitting checksums. Every admitted change is read, leaves room for the next edit, and has only
one encoding. The seed is printed; an example is replayed with its seed and number.

Alterations touch the meaning of a change (operations, ids, values, parents), its encoding (a column, the body), or
both. A panic of the library would fail the test, an abort would end it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from change_forge import (
    AGENT,
    NODE,
    VERBS,
    Forged,
    Raw,
    Writers,
    body_of,
    columns_of,
    earlier_of,
    encode,
    entry_of,
    inflated,
    renamed,
    sealed,
)
from crdt_scenarios import KEY, actor, document, foreign, put, written
from test_crdt_admission import deleting, putting, root, within

from mnemesh_crdt.admission.admission import Refused, admit
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.operations import DELETE, MAKE_MAP, PUT, ChangeOperation, OpId, read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.values.model import Revision

OWN = f"{AGENT}@{NODE}"
GENESIS = "00" * 16
ADMITTED_SHARE_MIN = 0.02  # of fewer, the test would say little


class Corpus:
    """A memory with everything a change may do, and the material of alterations."""

    def __init__(self) -> None:
        writers = Writers()
        chance = random.Random(5)
        for number in range(40):
            writers.do(number % 3, (*VERBS, "meet")[number % 11], chance.choice("ab\u00e9"))
        self.log = list(writers.log)
        for number, write in enumerate(
            [
                putting(within("pins"), OWN, 5),
                putting(within("feedback"), OWN, {"useful": 1}),
                putting(within("feedback", OWN), "useful", 2),
                putting(root, "x/m", {"a": {"b": "c"}}),
                putting(within("x/m", "a"), "b", 1.5),
                deleting(within("x/m"), "a"),
                deleting(within("pins"), OWN),
            ],
            500,
        ):
            self.log.append(foreign(self.log, number, write))
        self.changes = [read_operations(raw) for raw in self.log]
        self.bodies = [body_of(raw) for raw in self.log]
        operations = [op for change in self.changes for op in change.operations]
        self.keys = [*{op.key for op in operations}, "", "x/new", "v", "id", "space", OWN, "someone@" + NODE]
        self.ids: list[OpId] = [
            *((counter, GENESIS) for counter in range(1, 10)),
            *((change.first + i, change.head.actor) for change in self.changes for i in range(len(change.operations))),
        ]
        self.actors = [GENESIS, *(change.head.actor for change in self.changes), actor(900).hex(), "ab" * 8]
        self.values: list[Any] = [
            *{op.value for op in operations if op.value is not None},
            "", "a\0b", "x" * 40_000, 0, -1, 2**63 - 1, -(2**63), 2**63, 0.0, -0.0, 0.25, float("nan"), float("inf"),
            Raw(1, b""), Raw(2, b""), Raw(3, b"\1"), Raw(4, b"\x81\0"), Raw(5, b"\0"), Raw(6, b"\xff"), Raw(7, b"a"),
            Raw(8, b"\1"), Raw(9, b"\1"), Raw(10, b""), Raw(15, b"\1\2"), None,
        ]  # fmt: skip
        self.hashes = [change.head.hash for change in self.changes] + ["ab" * 32]


CORPUS = Corpus()


def altered(chance: random.Random, position: int) -> bytes:
    """Change `position` of the corpus, altered in one to three ways."""
    if chance.random() < 0.25:
        return sealed(scrambled(chance, CORPUS.bodies[position]))
    forged = Forged.of(CORPUS.changes[position])
    if chance.random() < 0.5:
        forged = renamed(forged, chance.randbytes(16).hex())
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        forged = chance.choice(ALTERATIONS)(chance, forged)
    if chance.random() < 0.1:
        names = sorted({one[1] for op in forged.operations for one in (op.object, *op.replaced) if one})
        columns = dict(
            columns_of(forged.operations, (forged.actor, *(one for one in names if one != forged.actor)), False)
        )
        name = chance.choice(list(columns))
        forged = replace(forged, columns={name: scrambled(chance, columns[name] or b"\0")})
    return encode(forged)


def scrambled(chance: random.Random, data: bytes) -> bytes:
    bad = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(bad) + 1)
        match chance.randrange(5):
            case 0:
                bad[at : at + 1] = chance.randbytes(1)
            case 1:
                bad[at : at + 1] = bytes([(bad[at] if at < len(bad) else 0) ^ 1 << chance.randrange(8)])
            case 2:
                del bad[at : at + 1]
            case 3:
                bad.insert(at, chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))))
            case _:
                source = chance.randrange(len(bad) + 1)
                bad[at : at + 4] = bad[source : source + 4]
    return bytes(bad)


def some(chance: random.Random, forged: Forged) -> int:
    return chance.randrange(max(1, len(forged.operations)))


def touch(chance: random.Random, forged: Forged) -> Forged:
    """One field of one operation is another's."""
    if not forged.operations:
        return forged
    at = some(chance, forged)
    match chance.randrange(8):
        case 0:
            return forged.with_operation(at, key=chance.choice(CORPUS.keys))
        case 1:
            return forged.with_operation(at, object=chance.choice((None, *CORPUS.ids, (forged.first, forged.actor))))
        case 2:
            return forged.with_operation(at, action=chance.choice((0, 1, 3, chance.randrange(9))))
        case 3:
            return forged.with_operation(at, action=DELETE, value=None)
        case 4:
            ids = {chance.choice(CORPUS.ids) for _ in range(chance.randrange(3))}
            return forged.with_operation(at, replaced=tuple(sorted(ids)))
        case _:
            return forged.with_operation(at, value=chance.choice(CORPUS.values))


def kindly(chance: random.Random, forged: Forged) -> Forged:
    """Another text or time of the same kind takes its place. Most of these changes are as good as before."""
    at = [i for i, op in enumerate(forged.operations) if op.value is not None]
    if not at:
        return forged
    position = chance.choice(at)
    old = forged.operations[position].value
    value: Any = chance.random()
    if isinstance(old, str):
        value = "".join(chance.choice("ab \u00e9\U0001f980\n") for _ in range(chance.randrange(200)))
    elif isinstance(old, int):
        value = chance.choice((old + 1, old - 1, chance.randrange(-(2**40), 2**40), chance.randrange(2**63)))
    return forged.with_operation(position, value=value)


def arrange(chance: random.Random, forged: Forged) -> Forged:
    """Operations are dropped, doubled, swapped, or come from another change."""
    operations = list(forged.operations)
    if not operations:
        return forged
    at, other = some(chance, forged), some(chance, forged)
    match chance.randrange(5):
        case 0:
            del operations[at]
        case 1:
            operations.insert(other, operations[at])
        case 2:
            operations[at], operations[other] = operations[other], operations[at]
        case 3:
            del operations[-1 - at % 3 :]
        case _:
            operations.insert(other, chance.choice(chance.choice(CORPUS.changes).operations))
    return replace(forged, operations=tuple(operations))


def add(chance: random.Random, forged: Forged) -> Forged:
    """An operation more, which may well be allowed."""
    value = chance.choice(("text", 5, 0.5, chance.randrange(2**50)))
    key = chance.choice(("x/new", "new", OWN, "see-also:018f6f0e-7c1a-7000-8000-3f1f8d2f6a77", "x/" + "y" * 90))
    home = chance.choice((None, (5, GENESIS), (6, GENESIS), (7, GENESIS), (8, GENESIS), (forged.first, forged.actor)))
    if chance.random() < 0.2:
        return forged.plus(ChangeOperation(home, key, MAKE_MAP, None, ()))
    return forged.plus(ChangeOperation(home, key, PUT, value, ()))


def head(chance: random.Random, forged: Forged) -> Forged:
    """The change says something else of itself."""
    match chance.randrange(9):
        case 0:
            return replace(
                forged, first=chance.choice((0, 1, 8, 9, forged.first + 1, 2**32 - 1, 2**53, 2**63, 2**64 - 1))
            )
        case 1:
            return replace(forged, seq=chance.choice((0, 2, 2**64 - 1)))
        case 2:
            return renamed(forged, chance.choice(CORPUS.actors))
        case 3:
            return replace(forged, actor=chance.choice(CORPUS.actors))
        case 4:
            deps = {*forged.deps, *chance.sample(CORPUS.hashes, chance.randrange(3))}
            return replace(forged, deps=tuple(sorted(deps)))
        case 5:
            return replace(forged, deps=tuple(chance.sample(CORPUS.hashes, chance.randrange(3))))
        case 6:
            return replace(forged, message=chance.choice(("", "hidden")), time=chance.choice((0, 1, -1, 2**62)))
        case 7:
            return replace(forged, extra=chance.choice((b"", b"\0", b"hidden" * 50)))
        case _:
            return replace(forged, inserts=True)


ALTERATIONS = (touch, touch, kindly, kindly, arrange, add, head)


def called(key: str, names: Mapping[str, str]) -> str:
    number, _, actor = key.partition("@")
    return f"{number}@{names.get(actor, actor)}"


def named(one: Revision, names: Mapping[str, str]) -> Revision:
    return replace(one, id=called(one.id, names), parents=tuple(called(parent, names) for parent in one.parents))


def live_on(log: list[bytes], raw: bytes) -> None:
    """Old statements stand, and new statements are by their agent. The document can be edited and read again, and
    others admit the edit."""
    before, state = document(*log).state() if log else None, document(*log, raw).state()
    assert revisions.materialise(state) is not None
    # A change that repeats an actor makes one of the two changes known by its hash (equivocation.py).
    names = {head.actor: state.name_of(head.hash, head.actor) for head in map(read_head, log)}
    old = {called(key, names): named(one, names) for key, one in (before.revisions if before else {}).items()}
    assert old == {key: state.revisions[key] for key in old}
    assert {one.by for key, one in state.revisions.items() if key not in old} <= {AGENT}
    assert {*(before.pins if before else ())} ^ {*state.pins} <= {OWN}
    votes = {*(before.votes if before else {}).items()} ^ {*state.votes.items()}
    assert {writer for writer, _ in votes} <= {OWN}
    tags, links = state.tags, state.links
    for edit in (
        Edit(revision=put("next", revisions.heads(state)), tags_put=("next", *tags), links_put=links, at=7),
        Edit(tags_remove=tags, links_remove=links, at=8),
        Edit(vote=(OWN, not state.votes.get(OWN, False)), at=8),
        revisions.forget(state, AGENT, 9),
    ):
        if edit is None or not (edit.revision or edit.tags_remove or edit.links_remove or edit.vote):
            continue
        writer = document(*log, raw)
        own = written(writer, edit, 950)
        assert document(*log, raw, own).state() == writer.state()
        admit(KEY, entry_of(own), earlier_of([*log, raw]))


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        (1_500, 1),
        # `make proof` runs more, each time others.
        pytest.param(20_000, None, marks=[pytest.mark.proof, pytest.mark.timeout(900)]),
    ],
)
def test_no_altered_change_is_admitted_that_can_not_be_read_or_is_in_the_way_of_the_next_edit(
    count: int, seed: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        position = chance.choice((0, chance.randrange(len(CORPUS.log)), chance.randrange(len(CORPUS.log))))
        raw = altered(chance, position)
        log = CORPUS.log[:position]
        try:
            admit(KEY, entry_of(raw, hash=hashlib.sha256(raw[8:]).hexdigest()), earlier_of(log))
        except Refused as refused:
            outcomes["refused"] += 1
            reasons[refused.reason[:40]] += 1
            continue
        outcomes["as it was" if raw == inflated(CORPUS.log[position]) else "admitted"] += 1
        try:
            assert encode(Forged.of(read_operations(raw))) == raw, "two ways to write one change"
            live_on(log, raw)
        except BaseException as error:  # boundary: a panic of the library is one; told with its change
            raise AssertionError(f"seed {seed}, number {number}, after {position} changes: {raw.hex()}") from error
    with capsys.disabled():
        print(f"\nseed {seed}: {count} altered changes, {dict(outcomes)}, {len(reasons)} reasons")
    assert outcomes["admitted"] >= ADMITTED_SHARE_MIN * count, (seed, outcomes)
    assert not any("can not be judged" in reason for reason in reasons), (seed, reasons)
