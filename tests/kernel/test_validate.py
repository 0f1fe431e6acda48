"""Every field of a write has a limit, and a refusal names the field, the value and the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from validate_builders import ID, INF, NAN, ONE_LINE, SURROGATE, clean, clean_patch, refusal

from mnemesh_memory.values import limits
from mnemesh_memory.values.kinds import KIND_FOLD, KINDS, LEDGER_LINK_TYPES, TIERS, WAITS, WRITABLE_LINK_TYPES
from mnemesh_memory.values.model import Link, Source

# ---- what to do about it ----


def test_only_a_text_too_long_is_to_be_split() -> None:
    assert "mnemesh import" in refusal(lambda: clean(content="x" * 32769)).message
    assert "mnemesh import" not in refusal(lambda: clean(attrs={"note": "x" * 1025})).message


# ---- content --------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("content", ["a\x01b", "tabs\tand\r\nlines", "\x1b[31mred", "  kept  ", "x\u200b", "\u202eabc"])
def test_content_may_hold_any_character_but_nul_and_is_never_changed(content: str) -> None:
    assert clean(content=content).content == content


def test_a_nul_is_refused_wherever_text_is_kept() -> None:
    for call in (lambda: clean(content="ab\0c"), lambda: clean_patch(content="ab\0c")):
        assert refusal(call).fields == {
            "field": "content", "value": "'U+0000 at character 3'", "limit": "text without NUL characters",
        }  # fmt: skip
    for field, given in (
        ("title", {"title": "a\0b"}), ("tags[0]", {"tags": ("a\0b",)}), ("keywords[0]", {"keywords": ("a\0b",)}),
        ("paths[0]", {"paths": ("a\0b",)}), ("attrs.key", {"attrs": {"key": "a\0b"}}),
        ("attrs key", {"attrs": {"a\0b": ""}}), ("source.dir", {"source": Source(dir="a\0b")}),
    ):  # fmt: skip
        assert refusal(lambda given=given: clean(**given)).fields["field"] == field


# ---- words ----------------------------------------------------------------------------------------------------------


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


# ---- lines ----------------------------------------------------------------------------------------------------------


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


# ---- attributes and links -------------------------------------------------------------------------------------------


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
    assert refusal(lambda: clean(links=(Link("see-also", bad),))).fields["field"] == "links[0].id"


@pytest.mark.parametrize("bad", ["", "related", "SEE-ALSO", "see-also:", SURROGATE])
def test_a_link_of_unknown_type_is_refused_with_the_list(bad: str) -> None:
    error = refusal(lambda: clean(links=(Link(bad, ID),)))
    assert error.fields["field"] == "links[0].type"
    assert all(known in error.message for known in WRITABLE_LINK_TYPES)


@pytest.mark.parametrize("reserved", LEDGER_LINK_TYPES)
def test_a_link_that_would_close_a_memory_is_refused_and_the_way_to_do_it_is_said(reserved: str) -> None:
    error = refusal(lambda: clean(links=(Link(reserved, ID),)))
    assert error.fields["field"] == "links[0].type"
    assert "`supersedes`" in error.message
    assert "`supersede`" in error.message


def test_there_are_at_most_64_links() -> None:
    links = tuple(Link("see-also", f"018f6f0e-7c1a-7000-8000-{number:012x}") for number in range(65))
    assert len(clean(links=links[:64]).links) == 64
    assert refusal(lambda: clean(links=links)).fields["field"] == "links"


# ---- numbers and times ----------------------------------------------------------------------------------------------


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
@pytest.mark.parametrize("moment", [limits.TIME_MS_MIN - 1, limits.TIME_MS_MAX + 1, 2**63, -(2**63)])
def test_a_time_outside_the_years_1_to_9999_is_refused(field: str, moment: int) -> None:
    for call in (lambda: clean(**{field: moment}), lambda: clean_patch(**{field: moment})):
        error = refusal(call)
        assert error.fields["field"] == field
        assert "0001-01-01" in error.fields["limit"]
        assert "9999" in error.fields["limit"]


def test_the_first_and_the_last_moment_are_times() -> None:
    made = clean(valid_from=limits.TIME_MS_MIN, valid_to=limits.TIME_MS_MAX)
    assert (made.valid_from, made.valid_to) == (limits.TIME_MS_MIN, limits.TIME_MS_MAX)


def test_what_an_update_clears_is_empty_or_named() -> None:
    made = clean_patch(clear=("valid_to", "tags", "importance", "title", "attrs", "tags"))
    assert made.clear == ("importance", "valid_to")
    assert clean_patch(clear=("tags", "importance") * 9).clear == ("importance",)
    assert (made.title, made.tags, made.attrs) == ("", (), {})
    assert (made.paths, made.keywords, made.content) == (None, None, None)


@pytest.mark.parametrize(
    ("given", "field", "limit"),
    [
        ({"clear": ("tags", "content")}, "clear[1]", "one of importance, valid_from, valid_to, title"),
        ({"clear": ("",)}, "clear[0]", "one of importance"),
        ({"clear": ("importance",), "importance": 0.0}, "clear[0]", "does not set"),
        ({"clear": ("tags",), "tags": ()}, "clear[0]", "does not set"),
        ({"clear": tuple("abcdefghi")}, "clear", "at most 8"),
    ],
)
def test_what_can_not_be_cleared_is_refused(given: dict[str, Any], field: str, limit: str) -> None:
    error = refusal(lambda: clean_patch(**given))
    assert error.fields["field"] == field
    assert limit in error.fields["limit"]


def test_valid_to_is_not_before_valid_from() -> None:
    for call in (lambda: clean(valid_from=2, valid_to=1), lambda: clean_patch(valid_from=2, valid_to=1)):
        error = refusal(call)
        assert (error.fields["field"], error.fields["limit"]) == ("valid_to", "not before valid_from")
    assert clean(valid_from=2, valid_to=2).valid_to == 2


@pytest.mark.parametrize("seq", [-1, 2**32, 2**63])
def test_the_position_in_a_session_is_a_small_whole_number(seq: int) -> None:
    assert refusal(lambda: clean(source=Source("s", "", seq))).fields["field"] == "source.seq"
    assert clean(source=Source("s", "", 2**32 - 1)).source.seq == 2**32 - 1
