"""Every field of a write has a limit, and a refusal names the field, the value and the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory import limits, validate
from mnemesh_memory.errors import InvalidArgument, SecretRefused
from mnemesh_memory.kinds import KIND_FOLD, KINDS, LINK_TYPES, TIERS, WAITS
from mnemesh_memory.model import Caller, Draft, Link, Patch, Source

ALICE = Caller(agent="owner/test", principal="alice")
IN_PROJECT = replace(ALICE, default_space="team/payments")
ID = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
FINE = Draft(content="The ledger commits before it answers.", space="team/payments")
NAN, INF = float("nan"), float("inf")
SURROGATE = "broken \ud800 text"


def clean(**changes: Any) -> Draft:
    return validate.draft(replace(FINE, **changes), ALICE)


def clean_patch(**changes: Any) -> Patch:
    return validate.patch(Patch(**changes))


def refusal(call: Callable[[], object]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        call()
    error = caught.value
    error.message.encode()  # can be sent
    for part in ("field", "value", "limit"):
        assert error.fields[part], part
        assert error.fields[part] in error.message
    assert len(error.message) < 700
    return error


# ---- content ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", " ", "\n\t ", "\u3000\u2003"])
def test_empty_content_is_refused(content: str) -> None:
    error = refusal(lambda: clean(content=content))
    assert error.fields["field"] == "content"
    assert str(limits.CONTENT_BYTES_MAX) in error.fields["limit"]


@pytest.mark.parametrize(
    "content",
    ["x" * 32768, "é" * 16384, "x" + "é" * 16383 + "x", "\U0001f9e0" * 8192, "記" * 10922 + "ab"],
    ids=["ascii", "two bytes", "mixed", "four bytes", "three bytes"],
)
def test_content_of_exactly_32768_bytes_is_stored_as_it_is(content: str) -> None:
    assert len(content.encode()) == 32768 == limits.CONTENT_BYTES_MAX
    assert clean(content=content).content == content
    assert clean_patch(content=content).content == content


@pytest.mark.parametrize(
    ("content", "size"),
    [("x" * 32769, 32769), ("é" * 16385, 32770), ("x" * 32766 + "記", 32769), ("\U0001f9e0" * 8193, 32772)],
    ids=["ascii", "two bytes", "three bytes", "four bytes"],
)
def test_longer_content_is_refused_with_its_size_and_what_to_do(content: str, size: int) -> None:
    for call in (lambda: clean(content=content), lambda: clean_patch(content=content)):
        error = refusal(call)
        assert error.fields["field"] == "content"
        assert f"{size} bytes" in error.fields["value"]
        assert "32768 bytes" in error.fields["limit"]
        assert "mnemesh import" in error.fields["limit"]


@pytest.mark.parametrize("content", ["a\x00b", "tabs\tand\r\nlines", "\x1b[31mred", "  kept  ", "x\u200b", "\u202eabc"])
def test_content_may_hold_any_character_and_is_never_changed(content: str) -> None:
    assert clean(content=content).content == content


# ---- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["facts", "nope", "fact fact", "факт", "x" * 1000, " "])
def test_an_unknown_kind_is_refused_with_the_list(kind: str) -> None:
    if kind in KIND_FOLD:
        assert clean(kind=kind).kind == KIND_FOLD[kind]
        return
    error = refusal(lambda: clean(kind=kind))
    assert error.fields["field"] == "kind"
    assert all(known in error.message for known in KINDS)


def test_a_missing_kind_is_a_fact_and_an_alias_is_folded() -> None:
    assert clean().kind == "fact"
    assert clean(kind="Gotcha").kind == "error"
    assert clean_patch(kind="note").kind == "fact"


@pytest.mark.parametrize(("field", "allowed"), [("tier", TIERS), ("wait", WAITS)], ids=["tier", "wait"])
def test_a_word_outside_its_list_is_refused_with_the_list(field: str, allowed: tuple[str, ...]) -> None:
    for word in ("hot", allowed[0].upper(), allowed[0] + " ", SURROGATE):
        for judge in (clean, clean_patch):
            error = refusal(lambda judge=judge, word=word: judge(**{"title": "t", field: word}))
            assert error.fields["field"] == field
            assert all(known in error.fields["limit"] for known in allowed)


def test_an_empty_tier_and_wait_of_a_draft_mean_the_default() -> None:
    assert (clean(tier="").tier, clean(wait="").wait) == ("normal", "indexed")


# ---- lines --------------------------------------------------------------------------------------------------------

ONE_LINE = [
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
in_each_line = pytest.mark.parametrize(("field", "most", "made"), ONE_LINE, ids=[row[0] for row in ONE_LINE])


@in_each_line
def test_a_line_of_exactly_its_limit_in_bytes_is_taken(field: str, most: int, made: Callable[[str], Any]) -> None:
    for text in ("x" * most, "é" * (most // 2), "記" * (most // 3)):
        assert len(text.encode()) <= most
        assert text in repr(clean(**made(text)))


@in_each_line
def test_a_longer_line_is_refused(field: str, most: int, made: Callable[[str], Any]) -> None:
    for text in ("x" * (most + 1), "é" * (most // 2 + 1), "記" * (most // 3 + 1), "x" * 10**6):
        error = refusal(lambda text=text: clean(**made(text)))
        assert error.fields["field"] == field
        assert f"{most} bytes" in error.fields["limit"]


@in_each_line
@pytest.mark.parametrize("bad", ["a\nb", "a\x00b", "a\x1b[31mb", "a\x7fb", "a\x85b", "a\tb"])
def test_a_line_holds_no_control_characters(field: str, most: int, made: Callable[[str], Any], bad: str) -> None:
    error = refusal(lambda: clean(**made(bad)))
    assert error.fields["field"] == field
    assert "control characters" in error.fields["limit"]
    assert bad not in error.message, "the message must be safe to print"


@in_each_line
def test_blanks_around_a_line_are_dropped(field: str, most: int, made: Callable[[str], Any]) -> None:
    assert clean(**made("  word\n")) == clean(**made("word"))


LISTS = [
    ("tags", limits.TAGS_MAX),
    ("keywords", limits.KEYWORDS_MAX),
    ("paths", limits.PATHS_MAX),
    ("supersedes", limits.SUPERSEDES_MAX),
]


@pytest.mark.parametrize(("field", "most"), LISTS)
def test_a_list_has_at_most_its_limit_of_items(field: str, most: int) -> None:
    values = tuple(f"item-{number:03}" for number in range(most))
    assert getattr(clean(**{field: values}), field) == values
    error = refusal(lambda: clean(**{field: (*values, "one more")}))
    assert error.fields["field"] == field
    assert str(most + 1) in error.fields["value"]
    assert str(most) in error.fields["limit"]


@pytest.mark.parametrize(("field", "most"), LISTS)
def test_an_empty_item_is_refused_by_its_position(field: str, most: int) -> None:
    assert refusal(lambda: clean(**{field: ("fine", " ")})).fields["field"] == f"{field}[1]"


def test_tags_are_sorted_unique_and_in_normal_form() -> None:
    assert clean(tags=("b", "e\u0301", "a", "b ", "\u00e9")).tags == ("a", "b", "é")
    assert clean_patch(tags=("b", "a", "b")).tags == ("a", "b")


def test_the_limit_of_a_tag_is_that_of_its_normal_form() -> None:
    grows = "\u0958" * 26  # 78 bytes, of which the normal form makes 156
    assert refusal(lambda: clean(tags=(grows,))).fields["field"] == "tags[0]"
    shrinks = "e\u0301" * 40  # 120 bytes, of which the normal form makes 80
    assert clean(tags=(shrinks,)).tags == ("é" * 40,)


def test_keywords_and_paths_keep_their_order() -> None:
    assert clean(keywords=("b", "a", "b")).keywords == ("b", "a")
    assert clean(paths=("z.py", "a.py")).paths == ("z.py", "a.py")


# ---- attributes and links -----------------------------------------------------------------------------------------


def test_attributes_are_bounded_in_number_and_size() -> None:
    most = {f"k{number:02}": "v" * limits.ATTR_VALUE_BYTES_MAX for number in range(limits.ATTRS_MAX)}
    assert clean(attrs=most).attrs == most
    assert refusal(lambda: clean(attrs={**most, "k99": "v"})).fields["field"] == "attrs"
    error = refusal(lambda: clean(attrs={"size": "é" * 513}))
    assert error.fields["field"] == "attrs.size"
    assert "1026 bytes" in error.fields["value"]
    assert "1024" in error.fields["limit"]


def test_an_attribute_may_be_empty_but_its_key_may_not() -> None:
    assert clean(attrs={"k": ""}).attrs == {"k": ""}
    assert refusal(lambda: clean(attrs={" ": "v"})).fields["field"] == "attrs key"


def test_two_keys_that_are_the_same_without_blanks_are_refused_and_not_merged() -> None:
    assert "each key once" in refusal(lambda: clean(attrs={"k": "1", " k": "2"})).message


def test_links_are_typed_sorted_and_unique() -> None:
    one, two = Link("see-also", ID), Link("depends-on", ID)
    assert clean(links=(one, two, Link("see-also", f" {ID.upper()} "))).links == (two, one)


@pytest.mark.parametrize(
    "bad", ["", "x", ID[:-1], ID + "0", ID.replace("-", ""), ID.replace("8", "g"), "../" + ID, SURROGATE]
)
def test_a_link_to_no_id_is_refused(bad: str) -> None:
    assert refusal(lambda: clean(links=(Link("see-also", bad),))).fields["field"] == "links.id"


@pytest.mark.parametrize("bad", ["", "related", "SEE-ALSO", "see-also:", SURROGATE])
def test_a_link_of_unknown_type_is_refused_with_the_list(bad: str) -> None:
    error = refusal(lambda: clean(links=(Link(bad, ID),)))
    assert error.fields["field"] == "links.type"
    assert all(known in error.message for known in LINK_TYPES)


def test_there_are_at_most_64_links() -> None:
    links = tuple(Link("see-also", f"018f6f0e-7c1a-7000-8000-{number:012x}") for number in range(65))
    assert len(clean(links=links[:64]).links) == 64
    assert refusal(lambda: clean(links=links)).fields["field"] == "links"


# ---- numbers and times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("importance", [NAN, INF, -INF, -0.0001, 1.0001, 2, -1])
def test_importance_is_a_number_from_0_to_1(importance: float) -> None:
    for call in (lambda: clean(importance=importance), lambda: clean_patch(importance=importance)):
        error = refusal(call)
        assert error.fields["field"] == "importance"
        assert error.fields["limit"] == "a number from 0 to 1"


@pytest.mark.parametrize("importance", [None, 0.0, 0.5, 1.0])
def test_the_ends_of_importance_belong_to_it(importance: float | None) -> None:
    assert clean(importance=importance).importance == importance


@pytest.mark.parametrize("field", ["valid_from", "valid_to"])
@pytest.mark.parametrize("moment", [-1, limits.TIME_MS_MAX + 1, 2**63, -(2**63)])
def test_a_time_outside_1970_to_9999_is_refused(field: str, moment: int) -> None:
    for call in (lambda: clean(**{field: moment}), lambda: clean_patch(**{field: moment})):
        error = refusal(call)
        assert error.fields["field"] == field
        assert "1970" in error.fields["limit"]
        assert "9999" in error.fields["limit"]


def test_the_first_and_the_last_moment_are_times() -> None:
    made = clean(valid_from=0, valid_to=limits.TIME_MS_MAX)
    assert (made.valid_from, made.valid_to) == (0, limits.TIME_MS_MAX)


def test_valid_to_is_not_before_valid_from() -> None:
    for call in (lambda: clean(valid_from=2, valid_to=1), lambda: clean_patch(valid_from=2, valid_to=1)):
        error = refusal(call)
        assert (error.fields["field"], error.fields["limit"]) == ("valid_to", "not before valid_from")
    assert clean(valid_from=2, valid_to=2).valid_to == 2


@pytest.mark.parametrize("seq", [-1, 2**32, 2**63])
def test_the_position_in_a_session_is_a_small_whole_number(seq: int) -> None:
    assert refusal(lambda: clean(source=Source("s", "", seq))).fields["field"] == "source.seq"
    assert clean(source=Source("s", "", 2**32 - 1)).source.seq == 2**32 - 1


# ---- spaces -------------------------------------------------------------------------------------------------------

BAD_SPACES = [
    "../etc", "team/../x", "team/..", ".", "./a", "/team", "team/", "team//x", "@", "@/x", "team/@alice", "a@b", "@a@b",
    "@alice/@bob", "team\x00", "team\n", "te\x1bam", "team/\u200b", "team\u2028x", "\u202eteam", " team", "team ",
    "team/ x", "team\\x", "team*", "what?", '"team"', "<team>", "a|b", "a/b/c/d/e/f/g/h/i", "x" * 201, "é" * 101,
    "team\u00a0x", SURROGATE,
]  # fmt: skip


@pytest.mark.parametrize("space", BAD_SPACES)
def test_a_bad_space_path_is_refused_and_shown_safely(space: str) -> None:
    error = refusal(lambda: clean(space=space))
    assert error.fields["field"] == "space"
    assert all(ch.isprintable() for ch in error.message)


@pytest.mark.parametrize(
    "space",
    [
        "team/payments",
        "@alice",
        "@alice/notes",
        "a",
        "x" * 200,
        "é" * 100,
        "Team 1/Ängström",
        "記憶/決定",
        "a/b/c/d/e/f/g/h",
        "...",
        "a.b-c_d",
        "owner:x",
    ],
)
def test_a_good_space_path_is_kept(space: str) -> None:
    assert clean(space=space).space == space


def test_two_spellings_of_a_space_are_one_space() -> None:
    assert clean(space="cafe\u0301").space == clean(space="caf\u00e9").space == "caf\u00e9"


def test_the_limit_of_a_space_is_that_of_its_normal_form() -> None:
    assert refusal(lambda: clean(space="\u0958" * 66)).fields["field"] == "space"


def test_a_write_goes_to_the_named_space_else_the_clients_default_else_the_private_one() -> None:
    unnamed = replace(FINE, space="")
    assert validate.draft(FINE, IN_PROJECT).space == "team/payments"
    assert validate.draft(replace(FINE, space="team/ops"), IN_PROJECT).space == "team/ops"
    assert validate.draft(unnamed, IN_PROJECT).space == "team/payments"
    assert validate.draft(unnamed, ALICE).space == "@alice"


def test_a_space_without_a_name_says_what_a_space_looks_like() -> None:
    with pytest.raises(InvalidArgument, match="such as team/payments or @alice"):
        validate.space_path("space", "")


def test_a_bad_default_space_is_refused_like_a_named_one() -> None:
    error = refusal(lambda: validate.draft(replace(FINE, space=""), replace(ALICE, default_space="../x")))
    assert error.fields["field"] == "space"


# ---- lone surrogates ----------------------------------------------------------------------------------------------

TEXT_FIELDS: list[tuple[str, Callable[[str], Any]]] = [
    ("content", lambda text: {"content": text}),
    ("kind", lambda text: {"kind": text}),
    ("space", lambda text: {"space": text}),
    ("attrs.k", lambda text: {"attrs": {"k": text}}),
    *((field, made) for field, _, made in ONE_LINE),
]


@pytest.mark.parametrize(("field", "made"), TEXT_FIELDS, ids=[row[0] for row in TEXT_FIELDS])
@pytest.mark.parametrize("bad", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_a_lone_surrogate_is_refused_in_every_text_field(field: str, made: Callable[[str], Any], bad: str) -> None:
    assert refusal(lambda: clean(**made(bad))).fields["field"] == field


@pytest.mark.parametrize("field", ["content", "kind", "title", "tier", "idempotency_key", "wait"])
def test_a_lone_surrogate_is_refused_in_every_text_of_a_patch(field: str) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: SURROGATE}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"] == field


@pytest.mark.parametrize("field", ["tags", "paths", "keywords", "expected_heads"])
def test_a_lone_surrogate_is_refused_in_every_list_of_a_patch(field: str) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: (SURROGATE,)}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"] == f"{field}[0]"


# ---- patches ------------------------------------------------------------------------------------------------------


def test_a_patch_that_changes_nothing_is_refused() -> None:
    for empty in ({}, {"force": True}, {"wait": "durable"}, {"expected_heads": ("1@" + "a" * 32,)}):
        assert "at least one field" in refusal(lambda empty=empty: clean_patch(**empty)).message


@pytest.mark.parametrize("changes", [{"tags": ()}, {"title": ""}, {"attrs": {}}, {"importance": 0.0}, {"valid_to": 0}])
def test_emptying_a_field_is_a_change(changes: dict[str, Any]) -> None:
    assert clean_patch(**changes) == Patch(**changes)


def test_a_field_that_a_patch_does_not_name_stays_unnamed() -> None:
    assert clean_patch(title=" New ") == Patch(title="New")


def test_a_patch_does_not_empty_the_content() -> None:
    assert refusal(lambda: clean_patch(content=" ")).fields["field"] == "content"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tags", ("x" * 81,)), ("paths", ("x" * 513,)), ("keywords", ("x" * 81,)), ("title", "x" * 201),
        ("tags", tuple(map(str, range(65)))), ("attrs", {"k": "x" * 1025}), ("kind", "nope"), ("tier", "hot"),
        ("idempotency_key", "x" * 201), ("expected_heads", ("x" * 44,)), ("expected_heads", tuple(map(str, range(65)))),
    ],
)  # fmt: skip
def test_a_patch_has_the_limits_of_a_draft(field: str, value: Any) -> None:
    given_fields: dict[str, Any] = {"importance": 0.5, field: value}
    assert refusal(lambda: clean_patch(**given_fields)).fields["field"].startswith(field)


# ---- batches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 257])
def test_a_batch_has_1_to_256_items(count: int) -> None:
    error = refusal(lambda: validate.batch([FINE] * count))
    assert error.fields["field"] == "items"
    assert f"{count} items" in error.fields["value"]
    assert "256" in error.fields["limit"]


def test_a_batch_of_1_and_of_256_items_is_taken() -> None:
    validate.batch([FINE])
    validate.batch([FINE] * 256)


def test_a_batch_holds_at_most_a_mebibyte_of_content() -> None:
    one = replace(FINE, content="é" * 16384)
    validate.batch([one] * 32)
    error = refusal(lambda: validate.batch([*[one] * 32, replace(FINE, content="x")]))
    assert error.fields["field"] == "items"
    assert "1048577 bytes" in error.fields["value"]


def test_a_broken_item_is_left_to_its_own_judgement() -> None:
    validate.batch([replace(FINE, content=SURROGATE), replace(FINE, content="")])


# ---- properties ---------------------------------------------------------------------------------------------------

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
    links=st.lists(st.builds(Link, st.sampled_from(LINK_TYPES), st.uuids().map(str)), max_size=3).map(tuple),
    tier=st.sampled_from(["", *TIERS]),
    supersedes=WORDS,
    idempotency_key=ANY_TEXT,
    wait=st.sampled_from(["", *WAITS]),
)
PASSING = st.builds(
    Draft,
    content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60),
    title=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    space=st.sampled_from(["", "team/payments", "cafe\u0301", "@bob"]),
    tags=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)).map(tuple),
    importance=st.none() | st.floats(0, 1),
    attrs=st.dictionaries(LETTERS, ANY_TEXT.filter(str.isprintable)),
    valid_from=st.none() | st.integers(0, 9),
    valid_to=st.none() | st.integers(9, 99),
)  # fmt: skip


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(DRAFTS | PASSING)
def test_a_draft_passes_unchanged_once_it_has_passed_and_nothing_but_a_refusal_is_raised(given_draft: Draft) -> None:
    try:
        once = validate.draft(given_draft, IN_PROJECT)
    except (InvalidArgument, SecretRefused) as refused:
        refused.message.encode()
        return
    assert validate.draft(once, IN_PROJECT) == once
    assert once.content == given_draft.content


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(PASSING)
def test_most_of_the_drafts_that_look_right_are_right(given_draft: Draft) -> None:
    """Without this the property above could pass by refusing everything."""
    if given_draft.content.strip():
        validate.draft(given_draft, IN_PROJECT)
