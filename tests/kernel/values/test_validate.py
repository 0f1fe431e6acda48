"""Validation of every field of a draft, a patch and a batch.

A refusal names the field, shows the value safely and says the limit. Texts at the limit pass unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, PermissionDenied, SecretRefused
from mnemesh_memory.values.kinds import KIND_FOLD, KINDS, LEDGER_LINK_TYPES, TIERS, WAITS, WRITABLE_LINK_TYPES
from mnemesh_memory.values.model import Caller, Draft, Link, Patch, Source
from mnemesh_memory.values.spaces import space_path

ALICE = Caller(agent="owner/test", principal="alice")
IN_PROJECT = replace(ALICE, default_space="team/payments")
ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
FINE = Draft(content="The ledger commits before it answers.", space="team/payments")
PATCHED = {field.name for field in fields(Patch)}
SURROGATE = "broken \ud800 text"


def clean(**changes: Any) -> Draft:
    return request_checks.draft(replace(FINE, **changes), ALICE)


def clean_patch(**changes: Any) -> Patch:
    return request_checks.patch(Patch(**changes))


def refusal(judge: Callable[..., object], *args: Any, **changes: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        judge(*args, **changes)
    error = caught.value
    error.message.encode()  # can be sent
    for part in ("field", "value", "limit"):
        assert error.fields[part], part
        # The value of what is missing was typed by nobody, so the message leaves it out.
        assert error.fields[part] in error.message or (part == "value" and ": missing; " in error.message)
    assert len(error.message) < 700
    return error


# ---- any field -------------------------------------------------------------------------------------------------------

# Every field of one line: its name in an error, its limit in bytes, and a draft's fields with a text inside.
ONE_LINE: list[tuple[str, int, Callable[[str], dict[str, Any]]]] = [
    ("title", limits.TITLE_BYTES_MAX, lambda text: {"title": text}),
    ("idempotency_key", limits.IDEMPOTENCY_KEY_BYTES_MAX, lambda text: {"idempotency_key": text}),
    ("source.session", limits.SESSION_BYTES_MAX, lambda text: {"source": Source(session=text)}),
    ("source.dir", limits.PATH_BYTES_MAX, lambda text: {"source": Source(dir=text)}),
    ("tags[0]", limits.TAG_BYTES_MAX, lambda text: {"tags": (text,)}),
    ("keywords[0]", limits.KEYWORD_BYTES_MAX, lambda text: {"keywords": (text,)}),
    ("paths[0]", limits.PATH_BYTES_MAX, lambda text: {"paths": (text,)}),
    ("supersedes[0]", limits.TITLE_BYTES_MAX, lambda text: {"supersedes": (text,)}),
    ("attrs key", limits.ATTR_KEY_BYTES_MAX, lambda text: {"attrs": {text: "value"}}),
]
LISTS = [("tags", limits.TAGS_MAX), ("keywords", limits.KEYWORDS_MAX), ("paths", limits.PATHS_MAX)]
LINKS = tuple(Link("see-also", f"018f6f0e-7c1a-7000-8000-{number:012x}") for number in range(65))
NO_IDS = ("", "x", ID[:-1], ID + "0", ID.replace("-", ""), ID.replace("8", "g"), "../" + ID, SURROGATE)
NAN, INF = float("nan"), float("inf")
TIMES = [limits.TIME_MS_MIN - 1, limits.TIME_MS_MAX + 1, 2**63, -(2**63)]

# The field that a refusal names, a part of its message, and the wrong fields of a draft. A patch with them is refused
# alike.
REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    *(("content", "32768", {"content": blank}) for blank in ("", " ", "\n\t ", "\u3000\u2003")),
    *(
        ("content", f"{len(text.encode())} bytes", {"content": text})
        for text in ("x" * 32769, "é" * 16385, "x" * 32766 + "記", "\U0001f9e0" * 8193)
    ),
    ("content", "mnemesh import", {"content": "x" * 32769}),
    ("content", "U+0000 at character 3", {"content": "ab\0c"}), ("content", "", {"content": SURROGATE}),
    *(("kind", ", ".join(KINDS), {"kind": kind}) for kind in ("nope", "fact fact", "факт", "x" * 1000)),
    ("kind", "", {"kind": SURROGATE}), ("space", "", {"space": SURROGATE}),
    *(
        (field, ", ".join(allowed), {field: word})
        for field, allowed in (("tier", TIERS), ("wait", WAITS))
        for word in ("hot", allowed[0].upper(), allowed[0] + " ", SURROGATE)
    ),
    *(
        (field, f"{most} bytes", made(text))
        for field, most, made in ONE_LINE
        for text in ("x" * (most + 1), "é" * (most // 2 + 1), "記" * (most // 3 + 1), "x" * 10**6)
    ),
    *(
        (field, "control characters", made(bad))
        for field, _, made in ONE_LINE
        for bad in ("a\nb", "a\x00b", "a\x1b[31mb", "a\x7fb", "a\x85b", "a\tb")
    ),
    *((field, "", made(bad)) for field, _, made in ONE_LINE for bad in ("\ud800", "a\udfffb", "\udc00\ud800")),
    *(
        (field, f"{most + 1}", {field: tuple(f"item-{number:03}" for number in range(most + 1))})
        for field, most in (*LISTS, ("supersedes", limits.SUPERSEDES_MAX))
    ),
    *((f"{field}[1]", "", {field: ("fine", " ")}) for field in ("tags", "keywords", "paths", "supersedes")),
    ("tags[0]", "", {"tags": ("\u0958" * 26,)}),  # 78 bytes, of which the normal form makes 156
    ("attrs", "", {"attrs": {f"k{number}": "v" for number in range(limits.ATTRS_MAX + 1)}}),
    ("attrs.size", "1026 bytes", {"attrs": {"size": "é" * 513}}), ("attrs.k", "", {"attrs": {"k": SURROGATE}}),
    ("attrs.key", "NUL", {"attrs": {"key": "a\0b"}}), ("attrs key", "", {"attrs": {" ": "v"}}),
    ("attrs key", "each key once", {"attrs": {"k": "1", " k": "2"}}),
    *(("links[0].id", "", {"links": (Link("see-also", bad),)}) for bad in NO_IDS),
    *(
        ("links[0].type", WRITABLE_LINK_TYPES[0], {"links": (Link(bad, ID),)})
        for bad in ("", "related", "SEE-ALSO", "see-also:", SURROGATE)
    ),
    *(
        ("links[0].type", named, {"links": (Link(reserved, ID),)})
        for reserved in LEDGER_LINK_TYPES
        for named in ("`supersedes`", "`supersede`")
    ),
    ("links", "", {"links": LINKS}),
    *(("importance", "a number from 0 to 1", {"importance": bad}) for bad in (NAN, INF, -INF, -0.0001, 1.0001, 2, -1)),
    *((field, "0001-01-01", {field: moment}) for field in ("valid_from", "valid_to") for moment in TIMES),
    ("valid_to", "not before valid_from", {"valid_from": 2, "valid_to": 1}),
    *(("source.seq", "", {"source": Source("s", "", seq)}) for seq in (-1, 2**32, 2**63)),
]  # fmt: skip


@pytest.mark.parametrize(("field", "said", "changes"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_a_bad_field_is_refused_by_its_name_with_its_limit(field: str, said: str, changes: dict[str, Any]) -> None:
    judges = [clean, clean_patch] if changes.keys() <= PATCHED else [clean]
    for judge in judges:
        error = refusal(judge, **{"title": "t", **changes})
        assert error.fields["field"] == field
        assert said in error.message
        assert not any(ord(char) < 32 for char in error.message), "the message must be safe to print"


@pytest.mark.parametrize(
    "content",
    ["x" * 32768, "é" * 16384, "x" + "é" * 16383 + "x", "\U0001f9e0" * 8192, "記" * 10922 + "ab", "a\x01b",
     "tabs\tand\r\nlines", "\x1b[31mred", "  kept  ", "x\u200b", "\u202eabc"],
)  # fmt: skip
def test_content_of_any_character_but_nul_up_to_32768_bytes_is_stored_as_it_is(content: str) -> None:
    assert clean(content=content).content == clean_patch(content=content).content == content


def test_only_a_text_too_long_is_to_be_split() -> None:
    assert "mnemesh import" not in refusal(clean, attrs={"note": "x" * 1025}).message


def test_a_missing_kind_is_a_fact_and_an_alias_is_folded() -> None:
    assert (clean().kind, clean(kind="Gotcha").kind, clean_patch(kind="note").kind) == ("fact", "error", "fact")
    assert (clean(tier="").tier, clean(wait="").wait) == ("normal", "indexed")


@pytest.mark.parametrize(("field", "most", "made"), ONE_LINE, ids=[row[0] for row in ONE_LINE])
def test_a_line_of_its_limit_is_taken_without_blanks_around(field: str, most: int, made: Callable[[str], Any]) -> None:
    for text in ("x" * most, "é" * (most // 2), "記" * (most // 3)):
        assert text in repr(clean(**made(text)))
    assert clean(**made("  word\n")) == clean(**made("word"))


def test_lists_of_their_limit_are_taken_and_tags_alone_are_sorted_unique_and_in_normal_form() -> None:
    for field, most in (*LISTS, ("supersedes", limits.SUPERSEDES_MAX)):
        values = tuple(f"item-{number:03}" for number in range(most))
        assert getattr(clean(**{field: values}), field) == values
    assert clean(tags=("b", "e\u0301", "a", "b ", "\u00e9")).tags == ("a", "b", "é")
    assert clean(tags=("e\u0301" * 40,)).tags == ("é" * 40,), "120 bytes, of which the normal form makes 80"
    assert clean_patch(tags=("b", "a", "b")).tags == ("a", "b")
    assert clean(keywords=("b", "a", "b")).keywords == ("b", "a")
    assert clean(paths=("z.py", "a.py")).paths == ("z.py", "a.py")


def test_attributes_links_and_numbers_at_their_limits_are_taken() -> None:
    most = {f"k{number:02}": "v" * limits.ATTR_VALUE_BYTES_MAX for number in range(limits.ATTRS_MAX)}
    assert clean(attrs=most).attrs == most
    assert clean(attrs={"k": ""}).attrs == {"k": ""}
    one, two = Link("see-also", ID), Link("depends-on", ID)
    assert clean(links=(one, two, Link("see-also", f" {ID.upper()} "))).links == (two, one)
    assert len(clean(links=LINKS[:64]).links) == 64
    for importance in (None, 0.0, 0.5, 1.0):
        assert clean(importance=importance).importance == importance
    for start, end in ((limits.TIME_MS_MIN, limits.TIME_MS_MAX), (2, 2)):
        made = clean(valid_from=start, valid_to=end)
        assert (made.valid_from, made.valid_to) == (start, end)
    assert clean(source=Source("s", "", 2**32 - 1)).source.seq == 2**32 - 1


# ---- patches and batches ---------------------------------------------------------------------------------------------


def test_what_an_update_clears_is_empty_or_named() -> None:
    made = clean_patch(clear=("valid_to", "tags", "importance", "title", "attrs", "tags"))
    assert made.clear == ("importance", "valid_to")
    assert clean_patch(clear=("tags", "importance") * 9).clear == ("importance",)
    assert (made.title, made.tags, made.attrs) == ("", (), {})
    assert (made.paths, made.keywords, made.content) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "limit", "changes"),
    [
        ("clear[1]", "one of importance, valid_from, valid_to, title", {"clear": ("tags", "content")}),
        ("clear[0]", "one of importance", {"clear": ("",)}),
        ("clear[0]", "does not set", {"clear": ("importance",), "importance": 0.0}),
        ("clear[0]", "does not set", {"clear": ("tags",), "tags": ()}),
        ("clear", "at most 8", {"clear": tuple("abcdefghi")}),
        *((f"{field}[0]", "", {"importance": 0.5, field: (SURROGATE,)}) for field in ("tags", "expected_heads")),
        ("expected_heads[0]", "", {"importance": 0.5, "expected_heads": ("x" * 44,)}),
        ("expected_heads", "", {"importance": 0.5, "expected_heads": tuple(map(str, range(65)))}),
        *(("patch", "at least one field", nothing) for nothing in (
            {}, {"force": True}, {"wait": "durable"}, {"expected_heads": ("1@" + "a" * 32,)},
        )),
    ],
)  # fmt: skip
def test_a_patch_that_clears_what_it_can_not_or_changes_nothing_is_refused(
    field: str, limit: str, changes: dict[str, Any]
) -> None:
    error = refusal(clean_patch, **changes)
    assert (error.fields["field"] == field or field == "patch", limit in error.message) == (True, True)


@pytest.mark.parametrize("changes", [{"tags": ()}, {"title": ""}, {"attrs": {}}, {"importance": 0.0}, {"valid_to": 0}])
def test_emptying_a_field_is_a_change_and_what_is_not_named_stays_unnamed(changes: dict[str, Any]) -> None:
    assert clean_patch(**changes) == Patch(**changes)
    assert clean_patch(title=" New ") == Patch(title="New")


def test_a_batch_has_1_to_256_items_and_a_mebibyte_of_content_and_no_look_at_each_item() -> None:
    large = [replace(FINE, content="é" * 16384)] * 32
    for items in ([FINE], [FINE] * 256, large, [replace(FINE, content=SURROGATE), replace(FINE, content="")]):
        request_checks.batch(items)
    for items, value in (
        ([], "0 items"), ([FINE] * 257, "257 items"), ([*large, replace(FINE, content="x")], "1048577 bytes"),
    ):  # fmt: skip
        error = refusal(request_checks.batch, items)
        assert (error.fields["field"], value in error.fields["value"]) == ("items", True)


# ---- properties -----------------------------------------------------------------------------------------------------


ODD_CHARACTERS = st.sampled_from("ab @/\n\u0958\u212be\u0301\ud800 ")
ANY_TEXT = st.text(st.characters(), max_size=40) | st.text(ODD_CHARACTERS, max_size=8)
LETTERS = st.text(st.characters(categories=["L"]), min_size=1, max_size=9)
WORDS = st.lists(ANY_TEXT, max_size=4).map(tuple)
DRAFTS = st.builds(
    Draft,
    content=ANY_TEXT,
    kind=ANY_TEXT | st.sampled_from(["", *KINDS, *KIND_FOLD]),
    title=ANY_TEXT,
    space=st.sampled_from(["", "team/payments", "cafe\u0301"]) | ANY_TEXT,
    tags=WORDS,
    importance=st.none() | st.floats(),
    paths=WORDS,
    source=st.builds(Source, ANY_TEXT, ANY_TEXT, st.none() | st.integers()),
    valid_from=st.none() | st.integers(),
    valid_to=st.none() | st.integers(),
    keywords=WORDS,
    attrs=st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
    links=st.lists(st.builds(Link, st.sampled_from(WRITABLE_LINK_TYPES), st.uuids().map(str)), max_size=3).map(tuple),
    tier=st.sampled_from(["", *TIERS]),
    supersedes=WORDS,
    idempotency_key=ANY_TEXT,
    wait=st.sampled_from(["", *WAITS]),
)
PASSING = st.builds(
    Draft,
    content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60),
    title=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    space=st.sampled_from(["", "team/payments", "cafe\u0301", "@alice"]),
    tags=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)).map(tuple),
    importance=st.none() | st.floats(0, 1),
    attrs=st.dictionaries(LETTERS, ANY_TEXT.filter(str.isprintable)),
    valid_from=st.none() | st.integers(0, 9),
    valid_to=st.none() | st.integers(9, 99),
)  # fmt: skip


@settings(max_examples=300, derandomize=True, database=None)
@given(DRAFTS | PASSING)
def test_a_draft_passes_unchanged_once_it_has_passed_and_nothing_but_a_refusal_is_raised(given_draft: Draft) -> None:
    try:
        once = request_checks.draft(given_draft, IN_PROJECT)
    except (InvalidArgument, PermissionDenied, SecretRefused) as refused:
        refused.message.encode()
        return
    assert request_checks.draft(once, IN_PROJECT) == once
    assert once.content == given_draft.content


@settings(max_examples=200, derandomize=True, database=None)
@given(PASSING)
def test_most_of_the_drafts_that_look_right_are_right(given_draft: Draft) -> None:
    """Without this the property above could pass by refusing everything."""
    if given_draft.content.strip():
        request_checks.draft(given_draft, IN_PROJECT)


# ---- spaces ----------------------------------------------------------------------------------------------------------

BAD_SPACES = [
    "../etc", "team/../x", "team/..", ".", "./a", "/team", "team/", "team//x", "@", "@/x", "team/@alice", "a@b", "@a@b",
    "@alice/@bob", "team\x00", "team\n", "te\x1bam", "team/\u200b", "team\u2028x", "\u202eteam", " team", "team ",
    "team/ x", "team\\x", "team*", "what?", '"team"', "<team>", "a|b", "a/b/c/d/e/f/g/h/i", "x" * 201, "é" * 101,
    "team\u00a0x", SURROGATE,
]  # fmt: skip


@pytest.mark.parametrize("space", BAD_SPACES)
def test_a_bad_space_path_is_refused_and_shown_safely(space: str) -> None:
    for error in (
        refusal(clean, space=space),
        refusal(request_checks.draft, replace(FINE, space=""), replace(ALICE, default_space=space)),
    ):
        assert error.fields["field"] == "space"
        assert all(ch.isprintable() for ch in error.message)


@pytest.mark.parametrize(
    "space",
    ["team/payments", "@alice", "@alice/notes", "a", "x" * 200, "é" * 100, "Team 1/Ängström", "記憶/決定",
     "a/b/c/d/e/f/g/h", "...", "a.b-c_d", "owner:x"],
)  # fmt: skip
def test_a_good_space_path_is_kept(space: str) -> None:
    assert clean(space=space).space == space


def test_spaces_are_compared_and_measured_in_their_normal_form() -> None:
    assert clean(space="cafe\u0301").space == clean(space="caf\u00e9").space == "caf\u00e9"
    assert refusal(clean, space="\u0958" * 66).fields["field"] == "space"
    with pytest.raises(InvalidArgument, match="such as team/payments or @alice"):
        space_path("space", "")


def test_a_write_goes_to_the_named_space_else_the_clients_default_else_the_private_one() -> None:
    for named, caller, space in (
        ("team/payments", IN_PROJECT, "team/payments"), ("team/ops", IN_PROJECT, "team/ops"),
        ("", IN_PROJECT, "team/payments"), ("", ALICE, "@alice"),
    ):  # fmt: skip
        assert request_checks.draft(replace(FINE, space=named), caller).space == space
