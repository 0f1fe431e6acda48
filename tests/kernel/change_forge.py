"""Writes changes in Automerge's binary format without Automerge: what a peer could send that means harm.

Written from the format's specification and independent of the reader under test: `encode(read_operations(raw))` gives
back the bytes of `raw` only if both agree on the one way to write it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from crdt_scenarios import ID, OTHER, SPACE, actor, document, put
from hypothesis import strategies as st

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, Entry
from mnemesh_crdt.changes.operations import ChangeContent, ChangeOperation, OpId
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.values.model import Link, Source

NODE = "0123456789abcdef" * 2
AGENT = "owner/test"


class Raw(NamedTuple):
    """A value of any type, right or wrong."""

    kind: int
    data: bytes


@dataclass(frozen=True)
class Forged:
    """A change to be written; `columns` replaces the bytes of columns by id, `others` the actors that it names."""

    deps: tuple[str, ...]
    actor: str
    first: int
    operations: tuple[ChangeOperation, ...]
    seq: int = 1
    time: int = 0
    message: str = ""
    extra: bytes = b""
    inserts: bool = False
    columns: dict[int, bytes] = field(default_factory=dict)
    others: tuple[str, ...] | None = None

    @staticmethod
    def of(change: ChangeContent) -> Forged:
        head = change.head
        return Forged(
            head.deps, head.actor, change.first, change.operations, head.seq, change.time, change.message, change.extra
        )

    def with_operation(self, at: int, **changes: Any) -> Forged:
        operations = list(self.operations)
        operations[at] = operations[at]._replace(**changes)
        return replace(self, operations=tuple(operations))

    def plus(self, *operations: ChangeOperation) -> Forged:
        return replace(self, operations=(*self.operations, *operations))


def renamed(forged: Forged, other: str) -> Forged:
    """The same change by another actor; its number of a revision keeps with it."""
    old = forged.actor

    def fresh(one: OpId) -> OpId:
        return (one[0], other) if one[1] == old else one

    operations = tuple(
        op._replace(object=op.object and fresh(op.object), key=op.key.replace(old, other)) for op in forged.operations
    )
    return replace(forged, actor=other, operations=operations)


def encode(forged: Forged) -> bytes:
    """The change as Automerge would write it, apart from the forged parts."""
    named = [one[1] for op in forged.operations for one in (op.object, *op.replaced) if one is not None]
    others = tuple(sorted({*named} - {forged.actor})) if forged.others is None else forged.others
    columns = dict(columns_of(forged.operations, (forged.actor, *others), forged.inserts))
    columns |= forged.columns
    present = [(name, columns[name]) for name in columns if columns[name] or name in forged.columns]
    body = uleb(len(forged.deps)) + b"".join(map(bytes.fromhex, forged.deps))
    body += sized(bytes.fromhex(forged.actor)) + uleb(forged.seq) + uleb(forged.first) + sleb(forged.time)
    body += sized(forged.message.encode()) + uleb(len(others)) + b"".join(sized(bytes.fromhex(one)) for one in others)
    body += uleb(len(present)) + b"".join(uleb(name) + uleb(len(data)) for name, data in present)
    body += b"".join(data for _, data in present) + forged.extra
    return sealed(body)


def sealed(body: bytes) -> bytes:
    """A chunk around the body, with a checksum that fits."""
    chunk = b"\x01" + uleb(len(body)) + body
    return b"\x85\x6f\x4a\x83" + hashlib.sha256(chunk).digest()[:4] + chunk


def body_of(raw: bytes) -> bytes:
    """The content of `sealed`, inflated."""
    at = 9
    while raw[at] & 0x80:
        at += 1
    return zlib.decompress(raw[at + 1 :], -15) if raw[8] == 2 else raw[at + 1 :]


def inflated(raw: bytes) -> bytes:
    return sealed(body_of(raw))


def columns_of(
    operations: Sequence[ChangeOperation], actors: tuple[str, ...], inserts: bool
) -> Iterable[tuple[int, bytes]]:
    index = {one: position for position, one in enumerate(actors)}
    values = [_value(op.value) for op in operations]
    replaced: list[OpId] = [one for op in operations for one in op.replaced]
    count = len(operations)
    deltas = [one[0] - before[0] for one, before in zip(replaced, [(0, ""), *replaced], strict=False)]
    yield 1, runs([None if op.object is None else index[op.object[1]] for op in operations], uleb)
    yield 2, runs([None if op.object is None else op.object[0] for op in operations], uleb)
    yield 21, runs([op.key for op in operations], lambda key: sized(key.encode()))
    yield 52, b"\0" + uleb(count) if inserts else uleb(count)
    yield 66, runs([op.action for op in operations], uleb)
    yield 86, runs([len(data) << 4 | kind for kind, data in values], uleb)
    yield 87, b"".join(data for _, data in values)
    yield 112, runs([len(op.replaced) for op in operations], uleb)
    yield 113, runs([index[one[1]] for one in replaced], uleb)
    yield 115, runs(deltas, sleb)


def _value(value: Any) -> Raw:
    if value is None:
        return Raw(0, b"")
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return Raw(6, value.encode())
    return Raw(4, sleb(value)) if isinstance(value, int) else Raw(5, struct.pack("<d", value))


def runs(values: Sequence[Any], write: Callable[[Any], bytes]) -> bytes:
    """Run-length encoding: n > 0 and a value, n < 0 and -n different values, 0 and a number of times none."""
    if all(value is None for value in values):
        return b""
    groups: list[list[Any]] = []
    for value in values:
        if groups and groups[-1][0] == value:
            groups[-1].append(value)
        else:
            groups.append([value])
    out, singles = b"", b""
    count = 0
    for group in [*groups, None]:
        if group is not None and len(group) == 1 and group[0] is not None:
            singles += write(group[0])
            count += 1
            continue
        if count:
            out += sleb(-count) + singles
            singles, count = b"", 0
        if group is not None:
            out += b"\0" + uleb(len(group)) if group[0] is None else sleb(len(group)) + write(group[0])
    return out


def uleb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def sleb(value: int) -> bytes:
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value & 0x7F])


def sized(data: bytes) -> bytes:
    return uleb(len(data)) + data


def entry_of(raw: bytes, **changes: Any) -> Entry:
    """The entry for `raw` as the node of its owner sends it."""
    fields: dict[str, Any] = {
        "doc": ID, "space": SPACE, "type": CHANGE, "hash": "", "raw": raw, "agent": AGENT, "node": NODE,
        "signature": b"", "at": 0,
    }  # fmt: skip
    if "hash" not in changes:
        fields["hash"] = read_head(raw).hash
    return Entry(**(fields | changes))


def earlier_of(log: Iterable[bytes]) -> dict[str, bytes]:
    return {read_head(raw).hash: raw for raw in log}


VERBS = ("edit", "edit one head", "forget", "restore", "supersede", "tag", "untag", "link", "unlink", "rate",
         "everything", "say again")  # fmt: skip
Steps = list[tuple[int, str, str]]
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from((*VERBS, "meet")), st.sampled_from(("a", "\u00e9", "\U0001f980"))),
    min_size=4, max_size=25,
)  # fmt: skip


class Writers:
    """Three writers of one memory write offline until they meet. `log` holds all their changes in order, after the
    ones known to all."""

    def __init__(self, known: Sequence[bytes] = ()) -> None:
        self.log: list[bytes] = list(known)
        self._known: list[list[bytes]] = [list(known), list(known), list(known)]

    @staticmethod
    def after(steps: Steps) -> Writers:
        writers = Writers()
        for who, verb, word in steps:
            writers.do(who, verb, word)
        return writers

    def do(self, who: int, verb: str, word: str) -> None:
        known = self._known[who]
        if verb == "meet":
            self._known = [list(self.log), list(self.log), list(self.log)]
            return
        doc = document(*known)
        edit = self._edit(doc.state(), verb if known else "everything", word)
        change = doc.write(edit, actor(100 + len(self.log))) if edit else None
        if change is not None:
            known.append(change.raw)
            self.log.append(change.raw)

    def _edit(self, state: DocumentState, verb: str, word: str) -> Edit | None:
        heads, at = revisions.heads(state), 1000 + len(self.log) % 3
        link = Link("see-also", OTHER)
        match verb:
            case "forget":
                return revisions.forget(state, AGENT, at)
            case "restore":
                return revisions.restore(state, AGENT, at)
            case "supersede":
                return revisions.supersede(state, OTHER, AGENT, at)
            case "tag":
                return Edit(tags_put=(word,), at=at)
            case "untag":
                return Edit(tags_remove=(word,), at=at)
            case "link":
                return Edit(links_put=(link,), at=at)
            case "unlink":
                return Edit(links_remove=(link,), at=at)
            case "rate":
                return Edit(vote=(f"{AGENT}@{NODE}", word == "a"), at=at)
            case "everything":
                fields = put(
                    "all", heads, at, attrs={"k": word, "empty": ""}, importance=0.5, valid_from=-1, valid_to=2,
                    keywords=(word, "k"), refs=("/a",), source=Source("s", "/d", 7), tier="pinned",
                )  # fmt: skip
                return Edit(revision=fields, tags_put=(word, "t"), links_put=(link,), at=at)
            case "say again":
                first = revisions.history(state)[0]
                return Edit(revision=replace(revisions.fields_of(first), at=at, parents=heads), at=at)
            case "edit one head":
                return Edit(revision=put(word, heads[:1], at), at=at)
            case _:
                return Edit(revision=put(word, heads, at), tags_put=(word,), tags_remove=("t",), at=at)
