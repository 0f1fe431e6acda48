"""The operations of one change, read without Automerge and only in the one form that Automerge writes.

Knows the rest of Automerge's "change chunk" (https://automerge.org/automerge-binary-format-spec), as far as maps of
texts and numbers need it. Everything decoded here has exactly one encoding. Numbers have their shortest form, and runs
are as long as possible. Actors and columns are in order and all in use. Sizes are bounded before anything is unfolded.

    first operation uleb, time sleb, message, other actors, columns (id uleb, length uleb), their bytes, extra bytes

    columns: object (1, 2), key (21), insert (52), action (66), value (86, 87), replaced operations (112, 113, 115)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from mnemesh_crdt.changes.chunk import ChangeHead, open_change, part_of, read_uleb, uleb_bytes, unreadable
from mnemesh_memory.values.limits import CHANGE_OPERATIONS_MAX

MAKE_MAP: Final = 0
PUT: Final = 1
DELETE: Final = 3
_ACTIONS: Final = {2: "makes a list", 4: "makes a text", 5: "counts up", 6: "makes a table", 7: "marks a text"}
_ACTOR_BYTES: Final = 16
_F64_BYTES: Final = 8

_OBJECT_ACTOR, _OBJECT_COUNTER, _KEY, _INSERT, _ACTION, _VALUE_TYPE, _VALUE = 1, 2, 21, 52, 66, 86, 87
_REPLACED_COUNT, _REPLACED_ACTOR, _REPLACED_COUNTER = 112, 113, 115
_COLUMNS: Final = (
    *(_OBJECT_ACTOR, _OBJECT_COUNTER, _KEY, _INSERT, _ACTION, _VALUE_TYPE, _VALUE),
    *(_REPLACED_COUNT, _REPLACED_ACTOR, _REPLACED_COUNTER),
)
_LIST_COLUMNS: Final = (17, 19)  # positions in a list or a text

_NULL, _INT, _F64, _STR = 0, 4, 5, 6
_VALUES: Final = {1: "false", 2: "true", 3: "an unsigned number", 7: "bytes", 8: "a counter", 9: "a timestamp"}

OpId: TypeAlias = tuple[int, str]  # counter and actor (hex): unique in a document, and the order of operations
Scalar: TypeAlias = "str | int | float"


class ChangeOperation(NamedTuple):
    """`action` (MAKE_MAP, PUT or DELETE) at `key` of the map that operation `object` made (None: the root map).
    `value` is None unless it puts. It takes the place of the operations `replaced`, which are sorted."""

    object: OpId | None
    key: str
    action: int
    value: Scalar | None
    replaced: tuple[OpId, ...]


@dataclass(frozen=True, slots=True)
class ChangeContent:
    """The content of a change. `first` is the counter of its first operation; the others follow one by one. `time` (s)
    and `message` are Automerge's, `extra` are bytes without a meaning to Automerge. `size` is the size of the inflated
    body, in bytes."""

    head: ChangeHead
    first: int
    time: int
    message: str
    operations: tuple[ChangeOperation, ...]
    extra: bytes
    size: int = field(compare=False)

    @property
    def last(self) -> int:
        """The counter of its last operation."""
        return self.first + len(self.operations) - 1


def read_operations(raw: bytes) -> ChangeContent:
    """The content of one change. Raises DataLoss for anything else, for another form than Automerge's own, for anything
    but maps, texts and numbers, and over a limit."""
    head, body, at = open_change(raw)
    try:
        first, at = read_uleb(body, at)
        time, at = _sleb(body, at)
        message, at = _text(body, at)
        actors, at = _actors(body, at, head.actor)
        columns, at = _columns(body, at)
        operations = _operations(columns, actors)
    except IndexError:
        raise unreadable("it ends too early") from None
    except UnicodeDecodeError:
        raise unreadable("a text is not UTF-8") from None
    return ChangeContent(head, first, time, message, operations, body[at:], len(body))


def _actors(body: bytes, at: int, own: str) -> tuple[list[str], int]:
    """The change's own actor and the others that it names: sorted, each once, each of the right length."""
    count, at = read_uleb(body, at)
    if count > CHANGE_OPERATIONS_MAX:
        raise unreadable(f"{count} actors, at most {CHANGE_OPERATIONS_MAX} are allowed")
    others = []
    for _ in range(count):
        if body[at] != _ACTOR_BYTES:
            raise unreadable(f"an actor of {body[at]} bytes; it has {_ACTOR_BYTES}")
        others.append(part_of(body, at + 1, at + 1 + _ACTOR_BYTES).hex())
        at += 1 + _ACTOR_BYTES
    if own in others or any(left >= right for left, right in pairwise(others)):
        raise unreadable("its actors are not in order")
    return [own, *others], at


def _columns(body: bytes, at: int) -> tuple[dict[int, bytes], int]:
    count, at = read_uleb(body, at)
    sizes: list[tuple[int, int]] = []
    for _ in range(count):
        name, at = read_uleb(body, at)
        size, at = read_uleb(body, at)
        if name in _LIST_COLUMNS:
            raise unreadable("it changes a list or a text; memories hold maps")
        if name not in _COLUMNS:
            raise unreadable(f"column {name} is unknown")
        if not size or (sizes and sizes[-1][0] >= name):
            raise unreadable(f"column {name} is empty, twice there, or not in order")
        sizes.append((name, size))
    columns = {}
    for name, size in sizes:
        columns[name] = part_of(body, at, at + size)
        at += size
    return columns, at


def _operations(columns: dict[int, bytes], actors: list[str]) -> tuple[ChangeOperation, ...]:
    actions = _runs(columns.get(_ACTION, b""), read_uleb, CHANGE_OPERATIONS_MAX)
    count = len(actions)
    if not count:
        raise unreadable("it does nothing")
    if columns.get(_INSERT) != uleb_bytes(count):
        raise unreadable("it inserts into a list, or does not say whether")
    counters = _column(columns, _OBJECT_COUNTER, read_uleb, count)
    positions = _column(columns, _OBJECT_ACTOR, read_uleb, count)
    keys = _column(columns, _KEY, _text, count)
    values = _values(columns, count)
    numbers = _column(columns, _REPLACED_COUNT, read_uleb, count)
    if None in keys or None in numbers or sum(numbers) > CHANGE_OPERATIONS_MAX:
        raise unreadable("an operation has no key, or does not say what it replaces, or replaces too much")
    replaced_deltas = _column(columns, _REPLACED_COUNTER, _sleb, sum(numbers))
    replaced_positions = _column(columns, _REPLACED_ACTOR, read_uleb, sum(numbers))
    if None in replaced_deltas or None in replaced_positions:
        raise unreadable("an operation does not say what it replaces")
    if {0, *positions, *replaced_positions} - {None} != set(range(len(actors))):
        raise unreadable("it names an actor without use, or uses one that it does not name")
    replaced = [
        (counter, actors[i]) for counter, i in zip(accumulate(replaced_deltas), replaced_positions, strict=True)
    ]
    operations = []
    at = 0
    for counter, position, key, action, value, number in zip(
        counters, positions, keys, actions, values, numbers, strict=True
    ):
        if action not in (MAKE_MAP, PUT, DELETE):
            what = _ACTIONS.get(action, "does something unknown")
            raise unreadable(f"it {what}; only maps, texts and numbers are allowed")
        if not key or (value is None) == (action == PUT) or (counter is None) != (position is None):
            raise unreadable("an operation has no key, no place, no value, or one that it should not have")
        ids = tuple(replaced[at : at + number])
        at += number
        if number > 1 and any(left >= right for left, right in pairwise(ids)):
            raise unreadable("what an operation replaces is not in order")
        operations.append(
            ChangeOperation(None if counter is None else (counter, actors[position]), key, action, value, ids)
        )
    return tuple(operations)


def _values(columns: dict[int, bytes], count: int) -> list[Scalar | None]:
    data = columns.get(_VALUE, b"")
    values: list[Scalar | None] = []
    at = 0
    for meta in _column(columns, _VALUE_TYPE, read_uleb, count):
        if meta is None:
            raise unreadable("an operation does not say what its value is")
        ends = at + (meta >> 4)
        values.append(_value(meta & 15, part_of(data, at, ends)))
        at = ends
    if at != len(data):
        raise unreadable("its values are longer than announced")
    return values


def _value(kind: int, data: bytes) -> Scalar | None:
    if kind == _STR:
        return data.decode()
    if kind == _INT:
        number, ends = _sleb(data, 0)
        if ends == len(data):
            return number
    elif kind == _F64:
        if len(data) == _F64_BYTES:
            return float(struct.unpack("<d", data)[0])
    elif kind == _NULL:
        if not data:
            return None
    else:
        raise unreadable(f"a value is {_VALUES.get(kind, 'of an unknown kind')}; only texts and numbers are allowed")
    raise unreadable("a number has the wrong length")


def _column(
    columns: dict[int, bytes], name: int, read: Callable[[bytes, int], tuple[Any, int]], count: int
) -> list[Any]:
    """The `count` values of a column, None where there is none; a column that is not there has none at all."""
    if name not in columns:
        return [None] * count
    values = _runs(columns[name], read, count)
    if len(values) != count or values.count(None) == count:
        raise unreadable(f"column {name} has {len(values)} values for {count}, or none at all")
    return values


def _runs(data: bytes, read: Callable[[bytes, int], tuple[Any, int]], limit: int) -> list[Any]:
    """The values of a run-length encoded column, at most `limit`. A run is a number of equal values, or, negative, of
    values that differ from their neighbours, or a zero and a number of absent values. The fewest possible runs are the
    only valid form."""
    values: list[Any] = []
    last: Any = _runs  # equal to no value
    separate, at, end = False, 0, len(data)
    while at < end:
        run, at = _sleb(data, at)
        if run > 1:
            value, at = read(data, at)
            if value == last or len(values) + run > limit:
                raise unreadable("a run is too long, or two runs are equal")
            values += [value] * run
            last, separate = value, False
        elif run < 0:
            if separate or len(values) - run > limit:
                raise unreadable("a run is too long, or two runs could be one")
            for _ in range(-run):
                value, at = read(data, at)
                if value == last:
                    raise unreadable("a run of different values holds equal ones")
                values.append(value)
                last = value
            separate = True
        else:
            absent, at = read_uleb(data, at)
            if run or not absent or last is None or len(values) + absent > limit:
                raise unreadable("a run is empty, too long, or of one, or two runs could be one")
            values += [None] * absent
            last, separate = None, False
    return values


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    """The signed LEB128 number that begins at `at`, and where it ends."""
    byte = data[at]
    if byte < 0x80:
        return (byte - 0x80 if byte & 0x40 else byte), at + 1
    value, shift, before = 0, 0, 0
    while byte & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise unreadable("a number is too long")
        before, byte = byte, data[at]
    value |= byte << shift
    if byte & 0x40:
        value -= 1 << (shift + 7)
    if byte == (0x7F if before & 0x40 else 0x00) or not -(1 << 63) <= value < 1 << 63:
        raise unreadable("a number is not in its shortest form, or over 64 bits")
    return value, at + 1


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read_uleb(data, at)
    return part_of(data, at, at + size).decode(), at + size
