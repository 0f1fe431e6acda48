"""The operations of a change are read as Automerge wrote them, and from no other encoding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from automerge.core import ROOT, Document, ObjType, ScalarType
from change_forge import (
    STEPS,
    Forged,
    Raw,
    Steps,
    Writers,
    body_of,
    columns_of,
    encode,
    inflated,
    runs,
    sealed,
    sized,
    sleb,
    uleb,
)
from crdt_scenarios import actor, created, document, edited, foreign, genesis, put, written
from hypothesis import given, settings

from mnemesh_crdt.changes.operations import DELETE, MAKE_MAP, PUT, Operation, read_operations
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Source

GENESIS = "00" * 16
ME = actor(9).hex()
HONEST = Forged(
    deps=("ab" * 32,),
    actor=ME,
    first=35,
    operations=(
        Operation((5, GENESIS), "t", PUT, 1001, ((32, actor(1).hex()), (33, actor(1).hex()))),
        Operation((5, GENESIS), "u", DELETE, None, ((34, actor(1).hex()),)),
        Operation(None, "x/m", MAKE_MAP, None, ()),
        Operation((37, ME), "f", PUT, 0.5, ()),
        Operation((37, ME), "g", PUT, "text", ()),
    ),
)


def test_a_change_reads_as_what_was_written() -> None:
    fields = put("hello", attrs={"a": "b"}, importance=0.5, valid_from=-5, source=Source("", "", 3), keywords=("k",))
    change = read_operations(written(document(), Edit(revision=fields, tags_put=("t",), at=1000), 1))
    me = actor(1).hex()
    rev = (9, me)
    text = [(rev, key, PUT, value, ()) for key, value in (
        ("op", "put"), ("kind", "fact"), ("title", ""), ("content", "hello"), ("by", "owner/test"), ("at", 1000),
        ("tier", "normal"),
    )]  # fmt: skip
    assert change.operations == (
        ((4, GENESIS), f"1@{me}", MAKE_MAP, None, ()),
        *text,
        (rev, "attrs", MAKE_MAP, None, ()),
        ((17, me), "a", PUT, "b", ()),
        (rev, "valid_from", PUT, -5, ()),
        (rev, "importance", PUT, 0.5, ()),
        (rev, "source", MAKE_MAP, None, ()),
        ((21, me), "seq", PUT, 3, ()),
        (rev, "keywords", MAKE_MAP, None, ()),
        ((23, me), "k", PUT, 0, ()),
        ((5, GENESIS), "t", PUT, 1000, ()),
    )
    assert (change.first, change.last, change.time, change.message, change.extra) == (9, 25, 0, "", b"")
    assert change.head.actor == me


def test_what_a_put_and_a_removal_replace_is_read() -> None:
    first = written(document(), Edit(revision=put("a"), tags_put=("t", "u"), at=1), 1)
    left = written(document(first), Edit(tags_put=("t",), at=5), 2)
    right = written(document(first), Edit(tags_put=("t",), at=6), 3)
    both = document(first, left, right)
    change = read_operations(written(both, Edit(tags_put=("t",), tags_remove=("u",), at=7), 4))
    removal, renewal = change.operations
    assert removal == ((5, GENESIS), "u", DELETE, None, ((18, actor(1).hex()),))
    assert renewal.replaced == tuple(sorted([(19, actor(2).hex()), (19, actor(3).hex())]))


@settings(max_examples=60, derandomize=True, database=None)
@given(STEPS)
def test_every_change_of_ours_has_the_numbers_that_the_library_gives_and_no_other_encoding(steps: Steps) -> None:
    log = Writers.after(steps).log
    loaded = Document.load(b"".join([bytes(genesis().get_changes([])[0].raw_bytes), *log]))
    by_hash = {bytes(one.hash).hex(): one for one in loaded.get_changes([])}
    for raw in log:
        change = read_operations(raw)
        theirs = by_hash[change.head.hash]
        assert (change.first, change.last) == (theirs.start_op, theirs.max_op)
        assert encode(Forged.of(change)) == inflated(raw)


def test_a_deflated_change_reads_as_the_same_change_inflated() -> None:
    raw = created("long " * 5000)
    assert raw[8] == 2
    assert read_operations(raw) == read_operations(inflated(raw))


def test_the_forge_writes_what_it_is_told() -> None:
    change = read_operations(encode(HONEST))
    assert change.operations == HONEST.operations
    assert read_operations(encode(replace(HONEST, time=-77, message="hi", extra=b"\0x"))) == replace(
        change,
        head=read_operations(encode(replace(HONEST, time=-77, message="hi", extra=b"\0x"))).head,
        time=-77,
        message="hi",
        extra=b"\0x",
    )


def column(name: int) -> bytes:
    actors = (ME, *sorted({GENESIS, actor(1).hex()}))
    return dict(columns_of(HONEST.operations, actors, False))[name]


def columns(**changes: bytes) -> Forged:
    return replace(HONEST, columns={int(name[1:]): data for name, data in changes.items()})


SPLIT_RUN = sleb(-1) + uleb(1) + sleb(-4) + uleb(3) + uleb(0) + uleb(1) + uleb(1)


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (HONEST.with_operation(0, action=2), "makes a list"),
        (HONEST.with_operation(0, action=4), "makes a text"),
        (HONEST.with_operation(0, action=5), "counts up"),
        (HONEST.with_operation(0, action=6), "makes a table"),
        (HONEST.with_operation(0, action=7), "marks a text"),
        (HONEST.with_operation(0, action=8), "does something unknown"),
        (HONEST.with_operation(0, value=Raw(1, b"")), "a value is false"),
        (HONEST.with_operation(0, value=Raw(2, b"")), "a value is true"),
        (HONEST.with_operation(0, value=Raw(3, b"\1")), "an unsigned number"),
        (HONEST.with_operation(0, value=Raw(7, b"\1")), "a value is bytes"),
        (HONEST.with_operation(0, value=Raw(8, b"\1")), "a counter"),
        (HONEST.with_operation(0, value=Raw(9, b"\1")), "a timestamp"),
        (HONEST.with_operation(0, value=Raw(10, b"\1")), "of an unknown kind"),
        (HONEST.with_operation(0, value=Raw(4, b"\1\1")), "wrong length"),
        (HONEST.with_operation(0, value=Raw(4, b"")), "too early"),
        (HONEST.with_operation(0, value=Raw(4, b"\x80")), "too early"),
        (HONEST.with_operation(0, value=Raw(4, b"\x80\0")), "shortest form"),
        (HONEST.with_operation(0, value=Raw(4, b"\xff\x7f")), "shortest form"),
        (HONEST.with_operation(0, value=Raw(4, sleb(1 << 63))), "over 64 bits"),
        (HONEST.with_operation(0, value=Raw(4, b"\x80" * 10 + b"\1")), "too long"),
        (HONEST.with_operation(0, value=Raw(5, bytes(7))), "wrong length"),
        (HONEST.with_operation(0, value=Raw(0, b"\1")), "wrong length"),
        (HONEST.with_operation(0, value=Raw(6, b"\xff")), "not UTF-8"),
        (HONEST.with_operation(0, value=Raw(6, b"\xed\xa0\x80")), "not UTF-8"),
        (HONEST.with_operation(0, value=None), "no value"),
        (HONEST.with_operation(1, value=5), "no value, or one"),
        (HONEST.with_operation(2, value="map"), "no value, or one"),
        (HONEST.with_operation(0, key=""), "no key"),
        (HONEST.with_operation(0, replaced=HONEST.operations[0].replaced[::-1]), "not in order"),
        (HONEST.with_operation(0, replaced=HONEST.operations[0].replaced[:1] * 2), "not in order"),
        (replace(HONEST, operations=()), "does nothing"),
        (replace(HONEST, inserts=True), "inserts into a list"),
        (columns(c52=b""), "empty"),
        (columns(c52=uleb(4)), "inserts into a list"),
        (columns(c52=b"\x85\0"), "inserts into a list"),
        (columns(c19=b"\x05\1"), "a list or a text"),
        (columns(c17=b"\x05\1"), "a list or a text"),
        (columns(c165=b"\1"), "column 165 is unknown"),
        (columns(c74=b"\1"), "column 74 is unknown"),  # 66 deflated
        (columns(c87=column(87) + b"\0"), "longer than announced"),
        (columns(c87=column(87)[:-1]), "too early"),
        (columns(c86=b"\0\5"), "for 5, or none at all"),
        (columns(c86=b"\0\1" + column(86)), "for 5|too long"),
        (columns(c86=runs([None, 0, 0, 0x85, 0x46], uleb)), "what its value is"),
        (columns(c66=b"\0\5"), "does something unknown"),
        (columns(c66=runs([PUT, DELETE, MAKE_MAP, PUT], uleb)), "inserts into"),
        (columns(c66=SPLIT_RUN), "could be one"),
        (columns(c66=sleb(-5) + bytes([1, 3, 0, 1, 1])), "equal ones"),
        (columns(c66=b"\1\1" + sleb(-3) + bytes([3, 0, 1])), "a run is empty, too long, or of one"),
        (columns(c66=b"\0\0" + column(66)), "a run is empty"),
        (columns(c66=sleb(limits.CHANGE_OPERATIONS_MAX + 1) + b"\1"), "too long"),
        (columns(c66=sleb(1 << 62) + b"\1"), "too long"),
        (columns(c66=sleb(-(1 << 62)) + b"\1"), "too long"),
        (columns(c66=b"\0" + uleb(1 << 62)), "too long"),
        (columns(c66=column(66) + b"\7"), "too early"),
        (columns(c66=b"\2\1\2\1" + b"\x7f\0"), "two runs are equal"),
        (columns(c21=b"\0\1" + sleb(-4) + b"".join(sized(key) for key in (b"a", b"b", b"c", b"d"))), "no key"),
        (columns(c21=b"\0\2\0\3"), "two runs could be one"),
        (columns(c21=column(21)[:-1]), "too early"),
        (columns(c1=b"\0\5"), "none at all"),
        (columns(c1=runs([1, 1, 0, 0, 0], uleb)), "no place|uses one"),
        (columns(c1=runs([9, 9, None, 0, 0], uleb)), "uses one"),
        (columns(c2=runs([5, 5, None, None, 37], uleb)), "no place"),
        (columns(c112=runs([2, None, 0, 0, 0], uleb)), "what it replaces"),
        (columns(c112=runs([2, 1 << 40, 0, 0, 0], uleb)), "too much"),
        (columns(c112=runs([3, 1, 0, 0, 0], uleb)), "for 4"),
        (columns(c113=b"\0\1\x7f\2\x7f\2"), "could be one|what it replaces"),
        (columns(c113=runs([None, 2, 2], uleb)), "what it replaces"),
        (columns(c115=runs([32, None, 1], sleb)), "what it replaces"),
        (replace(HONEST, others=(GENESIS, actor(1).hex(), "ff" * 16)), "without use"),
        (replace(HONEST, others=tuple(sorted((GENESIS, actor(1).hex()), reverse=True))), "actors are not in order"),
        (replace(HONEST, others=(GENESIS, GENESIS, actor(1).hex())), "actors are not in order"),
        (replace(HONEST, others=tuple(sorted((GENESIS, actor(1).hex(), ME)))), "actors are not in order"),
        (replace(HONEST, others=("00" * 8, GENESIS, actor(1).hex())), "an actor of 8 bytes"),
    ],
)  # fmt: skip
def test_what_automerge_would_not_write_or_memories_do_not_hold_is_refused(forged: Forged, why: str) -> None:
    with pytest.raises(DataLoss, match=why):
        read_operations(encode(forged))


def test_columns_stand_in_order_and_once() -> None:
    raw = encode(HONEST)
    table = b"".join(uleb(name) + uleb(len(column(name))) for name in (1, 2))
    swapped = b"".join(uleb(name) + uleb(len(column(name))) for name in (2, 1))
    assert raw.count(table) == 1
    for other in (swapped, table[:2] * 2):
        with pytest.raises(DataLoss, match="not in order"):
            read_operations(sealed(body_of(raw.replace(table, other))))


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_change_that_ends_early_is_refused_wherever_it_ends(cut: int) -> None:
    body = body_of(encode(HONEST))
    with pytest.raises(DataLoss):
        read_operations(sealed(body[: -cut * len(body) // 60]))


def test_a_change_that_names_too_many_actors_is_refused_before_they_are_read() -> None:
    body = body_of(encode(HONEST))
    start = body.index(b"\0\x02\x10" + bytes(16)) + 1
    with pytest.raises(DataLoss, match="5000 actors"):
        read_operations(sealed(body[:start] + uleb(5000) + body[start + 1 :]))


def test_numbers_have_one_form_in_the_head_too() -> None:
    body = body_of(encode(HONEST))
    with pytest.raises(DataLoss, match="shortest form"):
        read_operations(sealed(b"\x81\0" + body[1:]))
    raw = encode(HONEST)
    with pytest.raises(DataLoss, match="shortest form"):
        read_operations(raw[:9] + bytes([raw[9], raw[10] | 0x80, 0]) + raw[11:] if raw[9] & 0x80 else raw)


@pytest.mark.parametrize(
    "write",
    [
        lambda tx, of: tx.insert(tx.put_object(ROOT, "x/l", ObjType.List), 0, ScalarType.Int, 1),
        lambda tx, of: tx.insert(tx.put_object(ROOT, "x/t", ObjType.Text), 0, ScalarType.Str, "a"),
        lambda tx, of: tx.put(ROOT, "x/b", ScalarType.Boolean, True),
        lambda tx, of: tx.put(ROOT, "x/b", ScalarType.Bytes, b"\1"),
        lambda tx, of: tx.put(ROOT, "x/b", ScalarType.Null, None),
        lambda tx, of: tx.put(ROOT, "x/b", ScalarType.Uint, 1),
    ],
)
def test_what_the_library_can_write_and_memories_do_not_hold_is_refused(write: Any) -> None:
    with pytest.raises(DataLoss, match="can not be read"):
        read_operations(foreign([created()], 2, write))


def test_a_change_of_any_size_that_is_allowed_is_read() -> None:
    first = created("a" * limits.CONTENT_BYTES_MAX)
    second = edited([first], "".join(chr(0x4E00 + i % 5000) for i in range(limits.CONTENT_BYTES_MAX // 3)), 2)
    assert len(read_operations(second).operations) == 10
