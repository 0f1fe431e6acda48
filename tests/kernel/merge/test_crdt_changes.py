"""Bytes of a change and of a log entry: chunks, envelopes, operations and sizes."""

from __future__ import annotations

import random
import string
import zlib
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
from crdt_scenarios import actor, created, document, edited, foreign, genesis, put, with_checksum, written
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import ERASE, ERASURES, Entry, erase_hash, node_id_of, signing_bytes, verify
from mnemesh_crdt.changes.operations import DELETE, MAKE_MAP, PUT, ChangeOperation, read_operations
from mnemesh_crdt.document import document as document_module
from mnemesh_crdt.document.document import Edit, genesis_hash
from mnemesh_crdt.document.revisions import heads
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, InvalidArgument
from mnemesh_memory.values.model import Link, Source

GENESIS = "00" * 16
ME = actor(9).hex()
HONEST = Forged(
    deps=("ab" * 32,),
    actor=ME,
    first=35,
    operations=(
        ChangeOperation((5, GENESIS), "t", PUT, 1001, ((32, actor(1).hex()), (33, actor(1).hex()))),
        ChangeOperation((5, GENESIS), "u", DELETE, None, ((34, actor(1).hex()),)),
        ChangeOperation(None, "x/m", MAKE_MAP, None, ()),
        ChangeOperation((37, ME), "f", PUT, 0.5, ()),
        ChangeOperation((37, ME), "g", PUT, "text", ()),
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
    with pytest.raises(DataLoss, match="not a change that can be read"):
        read_operations(foreign([created()], 2, write))


def test_a_change_of_any_size_that_is_allowed_is_read() -> None:
    first = created("a" * limits.CONTENT_BYTES_MAX)
    second = edited([first], "".join(chr(0x4E00 + i % 5000) for i in range(limits.CONTENT_BYTES_MAX // 3)), 2)
    assert len(read_operations(second).operations) == 10


# ---- chunk -----------------------------------------------------------------------------------------------------------
# The head of a change is read as Automerge reads it, and from nothing but an undamaged change.


HEAD = b"\x85\x6f\x4a\x83\0\0\0\0"


def deflated(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(body) + packer.flush()
    return HEAD + b"\x02" + uleb(len(data)) + data


@pytest.mark.parametrize("content", ["short", "long " * 5000])
def test_hash_deps_actor_and_sequence_are_those_that_the_library_gives(content: str) -> None:
    first = created()
    log = [first, edited([first], content, 2), edited([first], "other", 3)]
    log.append(edited(log, content, 4))
    loaded = Document.load(b"".join([bytes(genesis().get_changes([])[0].raw_bytes), *log]))
    expected = {
        bytes(change.hash).hex(): (
            sorted(bytes(dep).hex() for dep in change.deps),
            bytes(change.actor_id).hex(),
            change.seq,
        )
        for change in loaded.get_changes([])
    }
    for raw in log:
        head = read_head(raw)
        assert (sorted(head.deps), head.actor, head.seq) == expected[head.hash]
    assert read_head(first).deps == (genesis_hash(document().id, document().space),)
    assert read_head(log[3]).actor == actor(4).hex()


@pytest.mark.parametrize("content", ["short", "long " * 5000])
@settings(max_examples=150, derandomize=True, database=None)
@given(position=st.integers(0, 100_000), flip=st.integers(1, 255), cut=st.booleans())
def test_any_single_damage_is_noticed(content: str, position: int, flip: int, cut: bool) -> None:
    change = document().write(Edit(revision=put(content), at=1), actor(1))
    raw = change.raw
    at = position % len(raw)
    with pytest.raises(DataLoss, match="not a change"):
        read_head(raw[:at] if cut else raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :])


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "start"),
        (bytes(limits.CHANGE_BYTES_MAX + 1), "at most"),
        (HEAD + b"\x00\x00", "start"),
        (HEAD + b"\x01", "too early"),
        (HEAD + b"\x01" + b"\xff" * 10, "too long"),
        (HEAD + b"\x02\x01\xff", "inflated"),
        (deflated(bytes(limits.CHANGE_INFLATED_BYTES_MAX + 1)), "when inflated"),
        (deflated(b"abc")[:-1].replace(b"\x02\x05", b"\x02\x04"), "end where it should"),
        (deflated(b"abc").replace(b"\x02\x05", b"\x02\x06") + b"x", "end where it should"),
        (with_checksum(HEAD + b"\x01\x00"), "too early"),
        (with_checksum(HEAD + b"\x01\x01\x02"), "too early"),
        (with_checksum(HEAD + b"\x01\x02\x00\x10"), "too early"),
        (with_checksum(HEAD + b"\x01\x01\x00") + b"\x00", "announced"),
    ],
)
def test_what_is_wrong_is_said(raw: bytes, why: str) -> None:
    with pytest.raises(DataLoss, match=why):
        read_head(raw)


def test_a_bomb_is_not_inflated_beyond_the_limit() -> None:
    bomb = deflated(bytes(50_000_000))
    assert len(bomb) < limits.CHANGE_BYTES_MAX
    with pytest.raises(DataLoss, match="when inflated"):
        read_head(bomb)


# ---- envelope --------------------------------------------------------------------------------------------------------
# The bytes under a signature are unambiguous and never change.


FIELDS = st.lists(st.text("a\0\u00e9", max_size=3), min_size=6, max_size=6)


@settings(max_examples=200, derandomize=True, database=None)
@given(FIELDS, FIELDS)
def test_different_entries_never_have_the_same_signing_bytes(left: list[str], right: list[str]) -> None:
    assert (signing_bytes(*left) == signing_bytes(*right)) == (left == right)


def test_signing_bytes_are_pinned() -> None:
    assert signing_bytes("d", "s", "change", "h", "\u00e9", "") == (
        b"\0\0\0\x0fmnemesh.entry.1\0\0\0\x01d\0\0\0\x01s\0\0\0\x06change\0\0\0\x01h\0\0\0\x02\xc3\xa9\0\0\0\0"
    )
    assert signing_bytes("ab", "c", "", "", "", "") != signing_bytes("a", "bc", "", "", "", "")


def entry_by(key: Ed25519PrivateKey, **fields: str) -> Entry:
    public = key.public_key().public_bytes_raw()
    signed = {"doc": "d", "space": "s", "type": "change", "hash": "ab", "agent": "ana/cli", "node": node_id_of(public)}
    signed |= fields
    return Entry(**signed, raw=b"raw", signature=key.sign(signing_bytes(**signed)), at=0)


def test_an_entry_is_genuine_with_its_own_nodes_key_alone() -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    entry = entry_by(key)
    verify(entry, key.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="not that of node"):
        verify(entry, other.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="not that of node"):
        verify(entry, b"short")
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry, signature=bytes(64)), key.public_key().public_bytes_raw())
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry, signature=b""), key.public_key().public_bytes_raw())


@pytest.mark.parametrize("field", ["doc", "space", "type", "hash", "agent"])
def test_no_signed_field_can_be_changed(field: str) -> None:
    key = Ed25519PrivateKey.generate()
    with pytest.raises(DataLoss, match="signature"):
        verify(replace(entry_by(key), **{field: "other"}), key.public_key().public_bytes_raw())


def test_an_erasure_has_a_hash_of_its_own_for_each_type_who_erases_it_and_where() -> None:
    hashes = {erase_hash(type, "d", "s", a, n) for type in ERASURES for a in ("a", "b") for n in ("n", "m")}
    assert len(hashes) == 8
    assert erase_hash(ERASE, "d", "s", "a", "n") == erase_hash(ERASE, "d", "s", "a", "n")
    assert erase_hash(ERASE, "d", "s", "a", "n") not in {
        erase_hash(ERASE, "ds", "", "a", "n"),
        erase_hash(ERASE, "d", "s", "an", ""),
    }


# ---- change size -----------------------------------------------------------------------------------------------------
# A memory at every maximum is one change; what does not fit is refused by name. Sizes are printed (seed 7).


def _fill(letters: str, *, paths: int) -> Edit:
    """A `remember` at every maximum, of incompressible text."""
    chance = random.Random(7)

    def text(size: int) -> str:
        return "".join(chance.choices(letters, k=size))

    def texts(count: int, size: int) -> tuple[str, ...]:
        return tuple(text(size) for _ in range(count))

    fields = put(
        text(limits.CONTENT_BYTES_MAX),
        attrs={text(limits.ATTR_KEY_BYTES_MAX): text(limits.ATTR_VALUE_BYTES_MAX) for _ in range(limits.ATTRS_MAX)},
        keywords=texts(limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        refs=texts(paths, limits.PATH_BYTES_MAX),
        importance=0.123456789,
        valid_from=1_770_000_000_000,
        valid_to=1_770_000_000_001,
        source=Source(text(limits.SESSION_BYTES_MAX), text(limits.PATH_BYTES_MAX), 2**32 - 1),
    )
    ids = [
        "018f6f0e-7c1a-7000-8000-" + "".join(chance.choices("0123456789abcdef", k=12)) for _ in range(limits.LINKS_MAX)
    ]
    return Edit(
        revision=replace(fields, title=text(limits.TITLE_BYTES_MAX), by=text(limits.AGENT_BYTES_MAX)),
        tags_put=texts(limits.TAGS_MAX, limits.TAG_BYTES_MAX),
        links_put=tuple(Link("superseded-by", one) for one in ids),
        at=1_770_000_000_000,
    )


PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "


@pytest.mark.parametrize(
    ("letters", "paths"),
    [
        pytest.param(PRINTABLE, 0, id="printable ASCII without paths"),
        pytest.param(PRINTABLE, limits.PATHS_MAX, id="printable ASCII"),
        pytest.param("".join(map(chr, range(1, 128))), limits.PATHS_MAX, id="all ASCII"),
    ],
)
def test_a_memory_at_every_maximum_fits_one_change(letters: str, paths: int) -> None:
    edit = _fill(letters, paths=paths)
    doc = document()
    change = doc.write(edit, actor(1))
    print(f"every maximum, {len(letters)} letters, {paths} paths: {len(change.raw)} of {limits.CHANGE_BYTES_MAX} bytes")
    assert len(change.raw) <= limits.CHANGE_BYTES_MAX
    assert document(change.raw).state() == doc.state()
    assert next(iter(doc.state().revisions.values())).content == edit.revision.content


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("x" * limits.CHANGE_INFLATED_BYTES_MAX, id="compressible"),
        pytest.param("".join(random.Random(7).choices(PRINTABLE, k=220_000)), id="incompressible"),
    ],
)
def test_a_change_over_its_limit_is_refused_by_name_and_changes_nothing(content: str) -> None:
    doc = document(created())
    before = doc.state()
    with pytest.raises(InvalidArgument) as caught:
        doc.write(Edit(revision=put(content, heads(before)), at=1), actor(2))
    assert caught.value.fields["field"] == "change"
    assert str(limits.CHANGE_BYTES_MAX) in caught.value.fields["limit"]
    assert doc.state() == before


def test_a_large_change_is_logged_deflated_and_keeps_its_hash() -> None:
    doc = document()
    change = doc.write(Edit(revision=put("word " * 2000), at=1), actor(1))
    assert len(change.raw) < document_module.DEFLATE_OVER_BYTES
    assert document(change.raw).heads() == doc.heads() == (change.hash,)
