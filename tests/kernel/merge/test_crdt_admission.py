"""Every change of our own writers enters a document anywhere. A change of the past, or in another's name, enters
nowhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from automerge.core import ROOT, ObjType, ScalarType
from change_forge import (
    AGENT,
    NODE,
    STEPS,
    Forged,
    Raw,
    Steps,
    Writers,
    body_of,
    earlier_of,
    encode,
    entry_of,
    inflated,
    renamed,
    sealed,
)
from crdt_scenarios import ID, KEY, OTHER, SPACE, actor, created, document, edited, foreign, put, with_checksum, written
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_crdt.admission.admission import Refused, admit
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import ERASE, Entry, Key
from mnemesh_crdt.changes.operations import DELETE, PUT, ChangeOperation, read_operations
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields, genesis_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.kinds import KINDS, LINK_TYPES, TIERS
from mnemesh_memory.values.model import Link, Source

GENESIS = "00" * 16
OWN = f"{AGENT}@{NODE}"
FIRST = created(tags_put=("t", "u"), links_put=(Link("see-also", OTHER),))
SECOND = edited([FIRST], "second", 2)
CONCURRENT = edited([FIRST], "meanwhile", 3)
LOG = [FIRST, SECOND]
ME = actor(9)
HEAD = f"2@{actor(2).hex()}"
NEXT = f"3@{ME.hex()}"
AWS_KEY = "AKIA" + "Q3EGRIHWM6ZPLKJT"
PASSWORD = "Tr0ub4" + "dor&3xy"
PASSWORD_ALONE = f"password = {PASSWORD}x"
Write = Callable[[Any, Callable[[str], bytes]], None]


def admitted(raw: bytes, *log: bytes, **entry: Any) -> str:
    """The hash of the change, after it was admitted."""
    return admit(KEY, entry_of(raw, **entry), earlier_of(log)).hash


def refusal(raw: bytes, *log: bytes, **entry: Any) -> str:
    with pytest.raises(Refused) as refused:
        admitted(raw, *log, **entry)
    assert str(refused.value) == refused.value.reason
    return refused.value.reason


def fill(tx: Any, home: bytes, tree: Mapping[str, Any]) -> None:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            fill(tx, tx.put_object(home, key, ObjType.Map), value)
        else:
            kind = {str: ScalarType.Str, int: ScalarType.Int, float: ScalarType.F64}[type(value)]
            tx.put(home, key, kind, value)


def revision(**changes: Any) -> dict[str, Any]:
    """A revision that follows the head of LOG; None leaves a field out."""
    tree: dict[str, Any] = {
        "op": "put", "kind": "fact", "title": "", "content": "third", "by": AGENT, "at": 3000, "tier": "normal",
        "parents": {HEAD: 0},
    }  # fmt: skip
    return {key: value for key, value in (tree | changes).items() if value is not None}


def stating(name: str = NEXT, **changes: Any) -> Write:
    return lambda tx, of: fill(tx, of("rev"), {name: revision(**changes)})


def within(*path: str) -> Callable[[Any, Callable[[str], bytes]], bytes]:
    """The map at `path`."""

    def find(tx: Any, of: Callable[[str], bytes]) -> bytes:
        home = of(path[0])
        for key in path[1:]:
            home = tx.get(home, key)[1]
        return home

    return find


def putting(home: Any, key: str, value: Any) -> Write:
    return lambda tx, of: fill(tx, home(tx, of), {key: value})


def deleting(home: Any, key: str) -> Write:
    return lambda tx, of: tx.delete(home(tx, of), key)


def root(tx: Any, of: Any) -> bytes:
    return bytes(ROOT)


def both(*writes: Write) -> Write:
    def write(tx: Any, of: Callable[[str], bytes]) -> None:
        for one in writes:
            one(tx, of)

    return write


# ---- everything that is ours enters ------------------------------------------------------------------------------


@settings(max_examples=120, derandomize=True, database=None)
@given(STEPS)
def test_all_that_writers_write_offline_and_online_enters_in_any_order_that_they_could_have_sent(steps: Steps) -> None:
    earlier: dict[str, bytes] = {}
    for raw in Writers.after(steps).log:
        entry = entry_of(raw)
        assert admit(KEY, entry, earlier) == admit(KEY, entry) == read_head(raw)
        earlier[entry.hash] = raw


# An earlier detector let these in, and the present detector takes them for credentials. Every field that an edit
# repeats holds one.
KNOWN: dict[str, Any] = {
    "title": AWS_KEY, "content": f"pwd for jenkins = {PASSWORD}", "attrs": {"password": PASSWORD},
    "keywords": (AWS_KEY,), "refs": (f"/{AWS_KEY}",), "source": Source(AWS_KEY, "/d", 7),
}  # fmt: skip


@settings(max_examples=60, derandomize=True, database=None)
@given(STEPS)
def test_everything_that_writers_write_about_a_memory_that_an_earlier_detector_let_in_enters(steps: Steps) -> None:
    old = replace(put("all"), **KNOWN)
    first = written(document(), Edit(revision=old, tags_put=(AWS_KEY,), at=1), 1)
    assert "holds a credential" in refusal(first)
    writers = Writers([first])
    for who, verb, word in steps:
        writers.do(who, verb, word)
    earlier = earlier_of([first])
    for raw in writers.log[1:]:
        admit(KEY, entry_of(raw), earlier)
        earlier[read_head(raw).hash] = raw


@pytest.mark.parametrize("verb", ["supersede", "restore", "rollback", "other tags"])
def test_an_edit_may_say_again_what_it_builds_on_and_no_other_credential(verb: str) -> None:
    log = [written(document(), Edit(revision=replace(put("all"), **KNOWN), tags_put=(AWS_KEY,), at=1), 1)]
    then = document(*log).state()
    (first,) = revisions.heads(then)
    if verb == "restore":
        log.append(written(document(*log), revisions.forget(then, AGENT, 5), 2))
    elif verb == "rollback":
        fields = put("clean", (first,), 5)
        log.append(written(document(*log), Edit(revision=fields, tags_remove=(AWS_KEY,), at=5), 2))
    state = document(*log).state()
    edit = {
        "supersede": lambda: revisions.supersede(state, OTHER, AGENT, 6),
        "restore": lambda: revisions.restore(state, AGENT, 6),
        "rollback": lambda: revisions.rollback(state, then, first, AGENT, 6),
        "other tags": lambda: Edit(revision=replace(put("all", (first,)), **KNOWN), tags_put=("t",), at=6),
    }[verb]()
    admitted(written(document(*log), edit, 3), *log)
    for field, more in (
        ("title", f"{AWS_KEY[:-1]}A"),
        ("content", PASSWORD_ALONE),
        ("keywords", (AWS_KEY[:-1] + "B",)),
    ):
        other = replace(edit, revision=replace(edit.revision, **{field: more}))
        assert f"its {field} holds a credential" in refusal(written(document(*log), other, 3), *log)


def test_what_a_change_says_without_building_on_it_is_no_leave_to_say_it() -> None:
    raw = foreign(LOG, 9, stating(content=AWS_KEY))
    beside = foreign([FIRST], 8, stating(f"2@{actor(8).hex()}", content=AWS_KEY, parents={f"1@{actor(1).hex()}": 0}))
    assert "its content holds a credential" in refusal(raw, *LOG, beside)


LINES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(
    lambda text: text == text.strip()
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=200)
TIMES = st.integers(limits.TIME_MS_MIN, limits.TIME_MS_MAX)


def lines(count: int, size: int) -> st.SearchStrategy[tuple[str, ...]]:
    """Lists of lines; some are as long as they may be."""
    fitting = LINES.map(lambda text: text.encode()[:size].decode(errors="ignore") or "a")
    longest = st.integers(0, 9).map(lambda n: f"{n}".ljust(size, "x"))
    return st.lists(fitting | longest, max_size=count, unique=True).map(tuple)


FIELDS = st.builds(
    RevisionFields,
    op=st.just("put"),
    kind=st.sampled_from(KINDS),
    title=st.just("t" * limits.TITLE_BYTES_MAX) | LINES.map(lambda text: text.encode()[:200].decode(errors="ignore")),
    content=TEXTS.filter(str.strip)
    | st.sampled_from(["\x1b[31m", "x" * limits.CONTENT_BYTES_MAX, "\U0001f980" * 8192]),
    by=st.just(AGENT),
    at=TIMES,
    attrs=st.dictionaries(LINES.map(lambda text: text[:20]), TEXTS, max_size=5),
    valid_from=st.none() | TIMES,
    valid_to=st.none() | TIMES,
    importance=st.none() | st.floats(0, 1),
    tier=st.sampled_from(TIERS),
    source=st.builds(Source, LINES, LINES, st.none() | st.sampled_from([0, 2**32 - 1])),
    keywords=lines(8, limits.KEYWORD_BYTES_MAX),
    refs=lines(8, limits.PATH_BYTES_MAX),
)
EDITS = st.builds(
    Edit,
    revision=FIELDS,
    tags_put=lines(8, limits.TAG_BYTES_MAX),
    links_put=st.lists(st.builds(Link, st.sampled_from(LINK_TYPES), st.uuids().map(str)), max_size=5).map(tuple),
    at=TIMES,
)


@settings(max_examples=200, derandomize=True, database=None)
@given(EDITS, EDITS)
def test_every_field_that_our_writers_may_write_enters(first: Edit, second: Edit) -> None:
    doc = document()
    raw = written(doc, first, 1)
    admitted(raw)
    follows = replace(second.revision, parents=revisions.heads(doc.state()))
    removed = (*first.tags_put, *second.tags_put)
    second = replace(second, revision=follows, tags_remove=removed, links_remove=first.links_put)
    admitted(written(doc, second, 2), raw)


def test_a_memory_with_everything_at_its_limit_enters() -> None:
    def many(count: int, size: int) -> tuple[str, ...]:
        return tuple(f"{n}".ljust(size, "x") for n in range(count))

    fields = put(
        "\u4e00" * (limits.CONTENT_BYTES_MAX // 3),
        attrs=dict.fromkeys(many(limits.ATTRS_MAX, limits.ATTR_KEY_BYTES_MAX), "\x01" * limits.ATTR_VALUE_BYTES_MAX),
        keywords=many(limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        refs=many(limits.PATHS_MAX, limits.PATH_BYTES_MAX),
    )
    links = tuple(
        Link("supersedes", OTHER[:-4] + f"ff{n:02x}") for n in range(limits.LINKS_MAX + limits.SUPERSEDES_MAX)
    )
    edit = Edit(revision=fields, tags_put=many(limits.TAGS_MAX, limits.TAG_BYTES_MAX), links_put=links, at=1)
    raw = written(document(), edit, 1)
    assert raw[8] == 2, "it is deflated"
    admitted(raw)


def test_a_put_that_goes_past_a_clock_at_the_end_of_time_enters() -> None:
    late = written(document(*LOG), Edit(tags_put=("t",), at=limits.TIME_MS_MAX), 4)
    admitted(late, *LOG)
    later = written(document(*LOG, late), Edit(tags_put=("t",), at=1), 5)
    admitted(later, *LOG, late)
    with_gap = encode(Forged.of(read_operations(later)).with_operation(0, value=limits.TIME_MS_MAX + 2))
    assert "which no clock says" in refusal(with_gap, *LOG, late)


@pytest.mark.parametrize(
    "write",
    [
        stating(),
        stating(op="forget", content="", title=""),
        stating(**{"x/force": 1}),
        stating(**{"x/tone": "dry", "x/map": {"deep": {"er": 1.5}}}),
        putting(within("pins"), OWN, 5),
        putting(within("feedback"), OWN, {"useful": 1, "not": 0}),
        putting(within("feedback"), OWN, {}),
        putting(root, "x/mood", "calm"),
        putting(root, "x/mood", {"a": {"b": {"c": 1}}}),
    ],
)
def test_what_a_newer_version_or_a_later_one_of_ours_writes_enters(write: Write) -> None:
    raw = foreign(LOG, 9, write)
    admitted(raw, *LOG)
    assert document(*LOG, raw).state().id == ID


def test_pins_feedback_and_keys_of_newer_versions_can_be_changed_and_removed_later() -> None:
    log = list(LOG)
    for number, write in enumerate(
        [
            putting(within("pins"), OWN, 5),
            putting(within("pins"), OWN, 6),
            putting(within("feedback"), OWN, {"useful": 1}),
            putting(within("feedback", OWN), "useful", 2),
            putting(within("feedback", OWN), "not", 1),
            putting(root, "x/m", {"a": {"b": "c"}}),
            putting(within("x/m", "a"), "b", "d"),
            deleting(within("x/m"), "a"),
            putting(within("x/m"), "n", {}),
            both(deleting(root, "x/m"), deleting(within("pins"), OWN), deleting(within("feedback"), OWN)),
        ],
        50,
    ):
        raw = foreign(log, number, write)
        admitted(raw, *log)
        log.append(raw)
    state = document(*log).state()
    assert (state.pins, state.votes) == ((), {})


# ---- attacks ------------------------------------------------------------------------------------------------------

STRANGER = f"stranger@{NODE}"
ATTACKS: dict[str, tuple[Write, str]] = {
    "overwrite a field": (putting(within("rev", HEAD), "content", "lies"), "revisions are never changed"),
    "overwrite by": (putting(within("rev", HEAD), "by", "someone"), "revisions are never changed"),
    "delete a field": (deleting(within("rev", HEAD), "content"), "revisions are never changed"),
    "delete parents": (deleting(within("rev", HEAD), "parents"), "revisions are never changed"),
    "add a parent": (putting(within("rev", HEAD, "parents"), NEXT, 1), "revisions are never changed"),
    "add a field": (putting(within("rev", HEAD), "x/late", 1), "revisions are never changed"),
    "delete a revision": (deleting(within("rev"), HEAD), "revisions are never changed"),
    "replace a revision": (stating(HEAD), "revisions are never changed"),
    "a scalar as revision": (putting(within("rev"), NEXT, "no"), "is no map"),
    "two revisions": (both(stating(), stating(f"4@{ME.hex()}", parents={NEXT: 0})), "more than one|does not build on"),
    "two heads at once": (both(stating(), stating(f"1@{ME.hex()}", parents=None)), "more than one revision"),
    **{
        f"delete {name}": (deleting(root, name), "of the document itself")
        for name in ("v", "id", "space", "rev", "tags", "links", "pins", "feedback")
    },
    **{
        f"replace {name}": (putting(root, name, {}), "of the document itself")
        for name in ("rev", "tags", "links", "pins", "feedback")
    },
    "overwrite rev": (putting(root, "rev", 1), "of the document itself"),
    "another id": (putting(root, "id", OTHER), "of the document itself"),
    "another space": (putting(root, "space", "team/other"), "of the document itself"),
    "a newer format": (putting(root, "v", 2), "of the document itself"),
    "an unknown key": (putting(root, "extra", 1), "of the document itself"),
    "almost a newer key": (putting(root, "x", 1), "of the document itself"),
    "another's by": (stating(by="someone/else"), "its revision is by 'someone/else', the entry by"),
    "no by": (stating(by=None), "has no by"),
    "another's pin": (putting(within("pins"), STRANGER, 5), "belongs to another"),
    "another node's pin": (putting(within("pins"), f"{AGENT}@{'f' * 32}", 5), "belongs to another"),
    "a pin that is no time": (putting(within("pins"), OWN, "yes"), "a put is a time"),
    "another's feedback": (putting(within("feedback"), STRANGER, {"useful": 9}), "belongs to another"),
    "feedback that is no map": (putting(within("feedback"), OWN, 5), "feedback is a map"),
    "unknown feedback": (putting(within("feedback"), OWN, {"great": 5}), "feedback is a map"),
    "feedback below 0": (putting(within("feedback"), OWN, {"useful": -1}), "whole number from 0"),
    "endless feedback": (putting(within("feedback"), OWN, {"useful": 2**32}), "whole number from 0"),
    "fractional feedback": (putting(within("feedback"), OWN, {"useful": 0.5}), "whole number from 0"),
    "a map as feedback": (putting(within("feedback"), OWN, {"useful": {}}), "whole number from 0"),
    "n too large": (stating(f"4@{ME.hex()}"), "not the next after its parents"),
    "n too small": (stating(f"2@{ME.hex()}"), "not the next after its parents"),
    "n without parents": (stating(f"2@{ME.hex()}", parents=None), "not the next after its parents"),
    "n of 11 digits": (stating(f"10000000000@{ME.hex()}", parents={f"9999999999@{actor(1).hex()}": 0}), "not the next"),
    "no revision id": (stating("latest"), "not the next after its parents"),
    "another's actor": (stating(f"3@{actor(2).hex()}"), "by the actor of its change"),
    "it names itself": (stating(parents={NEXT: 0}), "not the next after its parents"),
    "it names its own next": (stating(parents={f"2@{ME.hex()}": 0}), "names 2@.*does not build on"),
    "an unknown parent": (stating(parents={f"2@{actor(77).hex()}": 0}), "does not build on"),
    "a parent with another n": (stating(f"4@{ME.hex()}", parents={f"3@{actor(2).hex()}": 0}), "does not build on"),
    "a parent that is none": (stating(parents={"first": 0}), "not the next"),
    "parents that are no map": (stating(parents=HEAD), "parents is not a map"),
    "no parents at all": (stating(parents={}), "parents has 0 items"),
    "a parent's wrong position": (stating(parents={HEAD: 1}), "not at its position"),
    "a parent's position in words": (stating(parents={HEAD: "0"}), "not at its position"),
    "an unknown field": (stating(colour="red"), "a revision has no 'colour'"),
    "an unknown op": (stating(op="erase"), "op 'erase' is not one of put, forget"),
    "op that is no text": (stating(op=1), "op 1 is not one of"),
    "an unknown kind": (stating(kind="rumour"), "kind 'rumour' is not one of"),
    "an unknown tier": (stating(tier="top"), "tier 'top' is not one of"),
    "a map as kind": (stating(kind={}), "kind .* is not one of"),
    "no content": (stating(content=""), "a revision that puts has content"),
    "a forgotten text": (stating(op="forget"), "one that forgets has neither"),
    "a forgotten title": (stating(op="forget", content="", title="t"), "one that forgets has neither"),
    "content that is no text": (stating(content=5), "content is not a text"),
    "a map as content": (stating(content={"a": 1}), "content is not a text"),
    "a time in words": (stating(at="now"), "at: 'now' is not a whole number"),
    "a time out of time": (stating(at=limits.TIME_MS_MAX + 1), "is not a whole number from"),
    "validity out of time": (stating(valid_to=limits.TIME_MS_MIN - 1), "is not a whole number from"),
    "importance above 1": (stating(importance=1.5), "fraction from 0 to 1"),
    "importance not a number": (stating(importance=float("nan")), "fraction from 0 to 1"),
    "a whole importance": (stating(importance=1), "fraction from 0 to 1"),
    "long content": (stating(content="x" * (limits.CONTENT_BYTES_MAX + 1)), "content has 32769 bytes, at most 32768"),
    "content of long characters": (stating(content="\u4e00" * 11_000), "content has 33000 bytes"),
    "a long title": (stating(title="x" * (limits.TITLE_BYTES_MAX + 1)), "title has 201 bytes"),
    "a title that moves the cursor": (stating(title="a\x1b[2J"), "title holds a control character"),
    "a long attribute": (stating(attrs={"a": "x" * 1025}), "has 1025 bytes"),
    "a long attribute's name": (stating(attrs={"x" * 81: "a"}), "has 81 bytes"),
    "an attribute that is no text": (stating(attrs={"a": 1}), "is not a text"),
    "too many attributes": (stating(attrs={f"{n}": "" for n in range(65)}), "attrs has 65 items"),
    "a long keyword": (stating(keywords={"x" * 81: 0}), "keywords has 81 bytes"),
    "too many keywords": (stating(keywords={f"{n}": n for n in range(65)}), "keywords has 65 items"),
    "a long path": (stating(refs={"x" * 513: 0}), "refs has 513 bytes"),
    "too many paths": (stating(refs={f"{n}": n for n in range(65)}), "refs has 65 items"),
    "a long session": (stating(source={"session": "x" * 201}), "source.session.* has 201 bytes"),
    "a long directory": (stating(source={"dir": "x" * 513}), "source.dir.* has 513 bytes"),
    "a negative position": (stating(source={"seq": -1}), "source.seq: -1 is not a whole number"),
    "an unknown source": (stating(source={"host": "a"}), "source has no 'host'"),
    "a source that is no map": (stating(source="here"), "source is not a map"),
    "a long tag": (putting(within("tags"), "x" * 81, 5), "tag.* has 81 bytes"),
    "a tag of two lines": (putting(within("tags"), "a\nb", 5), "holds a control character"),
    "a tag that is no time": (putting(within("tags"), "a", "b"), "a put is a time"),
    "a map as tag": (putting(within("tags"), "a", {}), "a put is a time"),
    "a fractional tag": (putting(within("tags"), "a", 1.0), "a put is a time"),
    "a tag past the end of numbers": (putting(within("tags"), "t", 2**63 - 1), "which no clock says"),
    "a tag before all numbers": (putting(within("tags"), "a", -(2**63)), "which no clock says"),
    "an unknown link": (putting(within("links"), f"likes:{OTHER}", 5), "is not of a known type"),
    "a link to no memory": (putting(within("links"), "see-also:home", 5), "a memory id such as"),
    "a link in capitals": (putting(within("links"), f"see-also:{OTHER.upper()}", 5), "is not of a known type"),
    "a link that is no link": (putting(within("links"), "see-also", 5), "a memory id such as"),
    "a long newer key": (putting(root, "x/" + "x" * 80, 5), "has 82 bytes"),
    "a long newer text": (putting(root, "x/a", "x" * 32769), "has 32769 bytes"),
    "a newer value that is no number": (putting(root, "x/a", float("inf")), "is not a number"),
    "newer maps without end": (
        putting(root, "x/a", {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}),
        "over 8 deep",
    ),
    "newer texts that are too much": (
        putting(root, "x/a", {f"{n}": "x" * 30_000 for n in range(3)}), "4 keys and 90006 bytes below x/",
    ),
    "newer texts of a revision that are too much": (
        stating(**{f"x/{n}": "x" * 30_000 for n in range(3)}), "at most 1024 keys and 65536 bytes",
    ),
    "too many newer keys": (putting(root, "x/a", {f"{n}": 1 for n in range(limits.NEWER_KEYS_MAX)}), "has 1025 keys"),
    "a NUL in its content": (stating(content="a\0b"), "content holds a NUL"),
    "a NUL in an attribute": (stating(attrs={"a": "\0"}), "attrs 'a' holds a NUL"),
    "a NUL in a newer text": (putting(root, "x/a", "\0"), "holds a NUL"),
    "blank content": (stating(content=" \u2003\n"), "a revision that puts has content"),
    "a forgotten blank": (stating(op="forget", content=" "), "one that forgets has neither"),
    "a blank keyword": (stating(keywords={"\u3000": 0}), "keywords is blank"),
    "a blank attribute's name": (stating(attrs={" ": "a"}), "attrs key is blank"),
    "a blank tag": (putting(within("tags"), " ", 5), "tag is blank"),
    "too many tags": (
        both(*(putting(within("tags"), f"{n}", 5) for n in range(limits.CHANGE_TAGS_MAX + 1))), "it puts 129 tags",
    ),
    "too many links": (
        both(*(putting(within("links"), f"see-also:{OTHER[:-4]}ff{n:02x}", 5) for n in range(81))),
        "it puts 81 links, at most 80",
    ),
    "a link to itself": (putting(within("links"), f"superseded-by:{ID}", 5), "links the memory to itself"),
    "a thousand votes": (putting(within("feedback"), OWN, {"useful": 1001}), "whole number from 0 to 1000"),
    "a credential in its content": (stating(content=f"the key is {AWS_KEY}"), r"its content holds a credential \(AWS"),
    "a credential in its title": (stating(title=AWS_KEY), "its title holds a credential"),
    "a credential in a path": (stating(refs={AWS_KEY: 0}), "its refs holds a credential"),
    "a credential in a keyword": (stating(keywords={AWS_KEY: 0}), "its keywords holds a credential"),
    "a credential in a session": (stating(source={"session": AWS_KEY}), "its source holds a credential"),
    "a credential in an attribute": (stating(attrs={"password": PASSWORD}), r"its attrs holds a credential \(password"),
    "a credential in a newer map": (stating(**{"x/a": {"b": {"password": PASSWORD}}}), "its x/a holds a credential"),
    "a credential below a newer key": (putting(root, "x/a", {"b": AWS_KEY}), "its x/ holds a credential"),
    "a credential as a newer key": (putting(root, "x/a", {AWS_KEY: 1}), "its x/ holds a credential"),
    "a credential in a tag": (putting(within("tags"), AWS_KEY, 5), "its tag holds a credential"),
    "an endless map in a revision": (stating(**{"x/a": {str(n): {} for n in range(3)} | {"\n": 1}}), "control"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_with_its_reason(attack: str) -> None:
    write, why = ATTACKS[attack]
    reason = refusal(foreign(LOG, 9, write), *LOG)
    assert re.search(why, reason), reason
    assert AWS_KEY not in reason
    assert PASSWORD not in reason


def test_a_change_takes_away_no_more_keys_than_one_call_does() -> None:
    log = list(LOG)
    names = [f"{n}" for n in range(limits.CHANGE_REMOVALS_MAX + 1)]
    for start in range(0, len(names), limits.CHANGE_TAGS_MAX):
        tags = tuple(names[start : start + limits.CHANGE_TAGS_MAX])
        log.append(written(document(*log), Edit(tags_put=tags, at=9), 100 + start))
        admitted(log[-1], *log[:-1])
    admitted(written(document(*log), Edit(tags_remove=tuple(names[1:]), at=9), 9), *log)
    raw = written(document(*log), Edit(tags_remove=tuple(names), at=9), 9)
    assert "it removes 1025 keys, at most 1024" in refusal(raw, *log)


@pytest.mark.parametrize(
    "agent",
    ["owner/\u202etest", "owner test", "Owner/test", "owner/", "/test", "owner/a/b", "owner/tést", "-owner", "o" * 41],
)
def test_an_agent_that_no_door_would_name_is_refused(agent: str) -> None:
    assert f"agent {agent!r} is not a token's name" in refusal(foreign(LOG, 9, stating(by=agent)), *LOG, agent=agent)


@pytest.mark.parametrize("agent", ["owner", "ana/claude-code", "0._-/._-", "a" * 40 + "/" + "b" * 39])
def test_an_agent_as_the_doors_name_it_enters(agent: str) -> None:
    admitted(foreign(LOG, 9, stating(by=agent)), *LOG, agent=agent)


def test_what_waits_is_searched_for_credentials_when_it_waits_no_more() -> None:
    raw = foreign(LOG, 9, stating(content=AWS_KEY))
    assert admit(KEY, entry_of(raw)).hash == read_head(raw).hash
    assert "holds a credential" in refusal(raw, *LOG)


def test_what_is_there_of_of_others_is_not_changed() -> None:
    log = [*LOG, foreign(LOG, 8, both(
        putting(within("pins"), STRANGER, 5), putting(within("feedback"), STRANGER, {"useful": 1}),
    ))]  # fmt: skip
    admitted(log[-1], *LOG, agent="stranger")
    for write in (
        deleting(within("pins"), STRANGER),
        putting(within("pins"), STRANGER, 6),
        deleting(within("feedback"), STRANGER),
        putting(within("feedback", STRANGER), "useful", 7),
        deleting(within("feedback", STRANGER), "useful"),
    ):
        assert "belongs to another" in refusal(foreign(log, 9, write), *log)
    assert "feedback is a map" in refusal(
        foreign(log, 9, deleting(within("feedback", STRANGER), "useful")), *log, agent="stranger"
    )


def test_nested_newer_maps_are_bounded_across_changes() -> None:
    log, path = [*LOG, foreign(LOG, 20, putting(root, "x/a", {}))], ["x/a"]
    for depth in range(2, limits.NEWER_KEYS_DEPTH_MAX + 1):
        raw = foreign(log, 20 + depth, putting(within(*path), f"{depth}", {}))
        admitted(raw, *log)
        log.append(raw)
        path.append(f"{depth}")
    assert "over 8 deep" in refusal(foreign(log, 41, putting(within(*path), "9", {})), *log)


# ---- the change as such ------------------------------------------------------------------------------------------

HONEST = Forged.of(read_operations(edited(LOG, "third", 9)))
RETAGGED = Forged.of(read_operations(written(document(*LOG), Edit(tags_put=("t",), tags_remove=("u",), at=9), 9)))
CREATING = Forged.of(read_operations(FIRST))


OWN_MAP, OWN_KIND = (HONEST.first, HONEST.actor), (HONEST.first + 2, HONEST.actor)
TAG = ChangeOperation((5, GENESIS), "new", PUT, 5, ())


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (replace(HONEST, seq=2), "change 2 of its actor"),
        (replace(HONEST, seq=0), "change 0 of its actor"),
        (renamed(HONEST, GENESIS), "not 16 random bytes"),
        (renamed(HONEST, "ab" * 8), "not 16 random bytes"),
        (renamed(HONEST, actor(1).hex()), "an actor wrote twice in what it builds on"),
        (renamed(HONEST, actor(2).hex()), "an actor wrote twice in what it builds on"),
        (replace(HONEST, message="hidden"), "carries a message"),
        (replace(HONEST, time=1), "a time"),
        (replace(HONEST, extra=b"hidden"), "other bytes"),
        (replace(HONEST, deps=()), "missing, named twice or not in order"),
        (replace(HONEST, deps=HONEST.deps * 2), "missing, named twice or not in order"),
        (replace(HONEST, deps=tuple(sorted((*HONEST.deps, genesis_hash(ID, SPACE)), reverse=True))), "not in order"),
        (replace(HONEST, deps=("ab" * 32,)), "builds on abababababababab, which is not here"),
        (replace(HONEST, first=HONEST.first + 1), "its operations begin at"),
        (replace(HONEST, first=HONEST.first - 1), "its operations begin at"),
        (replace(HONEST, first=2**32 - 1), "its operations begin at 4294967295"),
        (replace(HONEST, first=2**64 - 1), "its operations begin at"),
        (replace(HONEST, first=0), "every document's first change"),
        (replace(CREATING, first=8), "every document's first change"),
        (HONEST.plus(TAG, TAG), "it writes 'new' twice"),
        (HONEST.plus(HONEST.operations[4]), "it writes 'content' twice"),
        (HONEST.plus(HONEST.operations[0]), "twice"),
        (HONEST.plus(ChangeOperation(OWN_MAP, "kind", DELETE, None, (OWN_KIND,))), "it writes 'kind' twice"),
        (HONEST.plus(ChangeOperation(OWN_MAP, "x/a", PUT, 1, (OWN_KIND,))), "in a map of its own"),
        (HONEST.plus(ChangeOperation(OWN_MAP, "x/a", DELETE, None, (OWN_KIND,))), "in a map of its own"),
        (HONEST.plus(TAG._replace(action=DELETE, value=None)), "removes 'new', which is not there"),
        (HONEST.plus(TAG._replace(object=(99, HONEST.actor))), "a map that is not there"),
        (HONEST.plus(TAG._replace(object=(1, GENESIS))), "a map that is not there"),
        (HONEST.plus(TAG._replace(object=(9, GENESIS))), "a map that is not there"),
        (HONEST.plus(TAG._replace(object=(9, "ab" * 16))), "a map that is not there"),
        (HONEST.plus(TAG._replace(object=(10, actor(1).hex()))), "a map that is not there"),
        (HONEST.plus(TAG._replace(object=(10**9, actor(1).hex()))), "a map that is not there"),
        (HONEST.plus(TAG._replace(replaced=((17, actor(1).hex()),))), "which is not at 'new'"),
        (HONEST.plus(TAG._replace(replaced=((9, actor(1).hex()),))), "which is not at 'new'"),
        (HONEST.plus(TAG._replace(replaced=((HONEST.first, HONEST.actor),))), "which is not at 'new'"),
        (HONEST.plus(TAG._replace(replaced=((5, GENESIS),))), "which is not at 'new'"),
        (HONEST.plus(TAG._replace(replaced=((17, "ab" * 16),))), "which is not at 'new'"),
        (HONEST.plus(TAG._replace(value=Raw(8, b"\1"))), "a counter"),
        (HONEST.plus(TAG._replace(value=Raw(9, b"\1"))), "a timestamp"),
        (HONEST.plus(TAG._replace(value=Raw(7, b"\1"))), "bytes"),
        (HONEST.plus(TAG._replace(action=5)), "counts up"),
        (HONEST.plus(TAG._replace(action=2)), "a list"),
        (HONEST.plus(TAG._replace(action=4)), "a text"),
        (replace(HONEST, inserts=True), "inserts into a list"),
        (replace(HONEST, columns={19: b"\x0b\1"}), "changes a list or a text"),
        (replace(HONEST, columns={165: b"\x0b\1"}), "column 165 is unknown"),
        (RETAGGED.with_operation(0, replaced=((99, "ab" * 16),)), "which is not at 'u'"),
        (RETAGGED.with_operation(0, replaced=RETAGGED.operations[1].replaced), "which is not at 'u'"),
        (RETAGGED.with_operation(0, key="rev", object=None, replaced=((4, GENESIS),)), "of the document itself"),
    ],
)  # fmt: skip
def test_a_change_that_is_built_wrongly_is_refused(forged: Forged, why: str) -> None:
    reason = refusal(encode(forged), *LOG)
    assert re.search(why, reason), reason


def test_what_the_forge_starts_from_enters() -> None:
    for forged in (HONEST, RETAGGED, renamed(HONEST, actor(30).hex())):
        admitted(encode(forged), *LOG)
    admitted(encode(CREATING))
    admitted(encode(HONEST.plus(TAG)), *LOG)


def test_a_tag_that_was_removed_can_not_be_replaced_again_by_naming_its_removal() -> None:
    removal = written(document(*LOG), Edit(tags_remove=("t",), at=9), 4)
    change = read_operations(removal)
    after = Forged.of(read_operations(edited([*LOG, removal], "x", 9)))
    renewal = TAG._replace(key="t", replaced=((change.first, change.head.actor),))
    assert "which is not at 't'" in refusal(encode(after.plus(renewal)), *LOG, removal)


def test_a_revision_names_only_what_its_change_builds_on() -> None:
    theirs = f"2@{actor(3).hex()}"
    settled = Forged.of(read_operations(written(
        document(*LOG, CONCURRENT), Edit(revision=put("one", (HEAD, theirs)), at=9), 9
    )))  # fmt: skip
    admitted(encode(settled), *LOG, CONCURRENT)
    assert "does not build on" in refusal(encode(replace(settled, deps=(read_head(SECOND).hash,))), *LOG, CONCURRENT), (
        "the other side is here, but another replica may not have it"
    )


def test_a_deep_past_is_searched_as_far_as_it_is_needed() -> None:
    log = [FIRST]
    for number in range(60, 80):
        log.append(edited(log, f"{number}" * 3000 * (number % 2) + "x", number))
    removal = written(document(*log), Edit(tags_remove=("u",), at=9), 9)
    admitted(removal, *log)
    settled = edited(log, "end", 9)
    forged = Forged.of(read_operations(settled))
    early = renamed(forged, actor(61).hex())
    assert "an actor wrote twice in what it builds on" in refusal(encode(early), *log)


def test_the_first_change_of_a_memory_says_something() -> None:
    only_tags = replace(CREATING, operations=(TAG,))
    assert "nothing was there before it" in refusal(encode(only_tags))
    forgets = foreign([], 9, stating(f"1@{ME.hex()}", op="forget", content="", parents=None))
    assert "forgets what was never there" in refusal(forgets)


def test_a_change_enters_the_document_of_its_entry_alone() -> None:
    entry = entry_of(FIRST)
    for other in (Key(SPACE, OTHER), Key("team/other", ID)):
        with pytest.raises(Refused, match="not of this memory"):
            admit(other, entry, {})
        moved = replace(entry, doc=other.id, space=other.space)
        with pytest.raises(Refused, match="which is not here"):
            admit(other, moved, {})
    for id, space in ((ID.upper(), SPACE), ("home", SPACE), (ID, "team//payments"), (ID, "te\nam")):
        raw = written(MemoryDocument(id, space), Edit(revision=put("first"), at=1), 1)
        with pytest.raises(Refused):
            admit(Key(space, id), entry_of(raw, doc=id, space=space), {})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"type": ERASE}, "is no change"),
        ({"hash": "ab" * 32}, "the entry says"),
        ({"agent": "someone/else"}, "the entry by 'someone/else'"),
        ({"agent": "x" * 81}, "agent has 81 bytes"),
        ({"agent": "a\n"}, "control character"),
        ({"node": "home"}, "is no id of a node"),
        ({"node": "A" * 32}, "is no id of a node"),
    ],
)
def test_an_entry_that_does_not_fit_its_change_is_refused(changes: dict[str, str], why: str) -> None:
    assert why in refusal(FIRST, **changes)


def test_a_change_that_has_to_wait_is_judged_as_far_as_it_can_be() -> None:
    pinned = foreign(LOG, 8, putting(within("feedback"), OWN, {"useful": 1}))
    voted = foreign([*LOG, pinned], 9, putting(within("feedback", OWN), "useful", 2))
    for raw in (SECOND, pinned, voted, encode(RETAGGED)):
        assert admit(KEY, entry_of(raw)).hash == read_head(raw).hash
    for write in (stating(by="someone"), putting(root, "rev", 1), putting(within("pins"), STRANGER, 1)):
        with pytest.raises(Refused):
            admit(KEY, entry_of(foreign(LOG, 9, write)))
    with pytest.raises(Refused, match="revisions are never changed"):
        admit(KEY, entry_of(foreign(LOG, 9, deleting(within("rev"), HEAD))))


def test_bytes_that_are_no_change_and_bombs_are_refused() -> None:
    for raw in (b"", b"garbage", FIRST[:-1], FIRST + b"\0", FIRST + FIRST):
        with pytest.raises(Refused):
            admit(KEY, entry_of(raw, hash="ab" * 32), {})
    bomb = with_checksum(FIRST[:8] + b"\x02" + b"\x80\x10" + bytes(2048))
    with pytest.raises(Refused, match="inflated"):
        admit(KEY, entry_of(bomb, hash="ab" * 32), {})


def test_other_bytes_for_the_same_change_are_refused() -> None:
    raw = inflated(FIRST)
    body = body_of(raw)
    assert raw[9] & 0x80, "a length of two bytes"
    padded = raw[:10] + bytes([raw[10] | 0x80, 0]) + raw[11:]
    assert "shortest form" in refusal(padded, hash=read_head(raw).hash)
    assert "shortest form" in refusal(sealed(b"\x81\0" + body[1:]), hash=read_head(raw).hash)


def test_what_can_not_be_judged_is_refused() -> None:
    class Broken(dict[str, bytes]):
        def __contains__(self, hash: object) -> bool:
            raise RuntimeError("a fault of ours")

    with pytest.raises(Refused, match=r"can not be judged \(RuntimeError\)"):
        admit(KEY, entry_of(FIRST), Broken())


def test_texts_are_judged_alike_by_every_version_of_unicode() -> None:
    decomposed = unicodedata.normalize("NFD", "\u00e9")
    raw = written(document(), Edit(revision=put(" blank "), tags_put=(decomposed, "\u0378"), at=1), 1)
    admitted(raw)


def test_signatures_and_times_of_entries_are_for_others_to_judge() -> None:
    entry: Entry = entry_of(FIRST, signature=b"wrong", at=-1)
    assert admit(KEY, entry, {}).actor == actor(1).hex()
