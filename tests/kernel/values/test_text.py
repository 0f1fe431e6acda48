"""Normal forms, titles, snippets and chunks hold for any Unicode, and cost linear time."""

from __future__ import annotations

import hashlib
import unicodedata
from itertools import accumulate

import pytest
from doubles import grows_with_length
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemesh_memory.text.text import (
    beginning,
    chunks,
    content_hash,
    duplicate_key,
    estimate_tokens,
    estimate_wordpieces,
    marks,
    normalise,
    snippet,
    title_of,
)
from mnemesh_memory.values.limits import (
    CHUNK_TOKENS_MAX,
    CONTENT_BYTES_MAX,
    SNIPPET_CHARS_MAX,
    TITLE_BYTES_MAX,
    TITLE_CHARS_MAX,
)

FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
FLAG = "\U0001f1e9\U0001f1ea"
ACCENT = "e\u0301"
JOINED = [FAMILY, FLAG, ACCENT, "\N{THUMBS UP SIGN}\U0001f3fd", "\u1100\u1161\u11a8", "\r\n", "\ud83d\ude00", "क\u094d"]
# Pieces that a cut must not fall into, next to ordinary text and everything else that Unicode has.
ANY_TEXT = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(JOINED),
        st.sampled_from(["word ", "Ende. ", "\n\n", "決定した。", "a" * 300, "!" * 90, "7" * 120, "\ud800", " "]),
    ),
    max_size=60,
).map("".join)


# --- normal form and hashes -----------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(ANY_TEXT)
def test_composition_and_white_space_around_a_text_do_not_make_another_memory(text: str) -> None:
    key = duplicate_key(text)
    assert duplicate_key(f"\n \n{text}\t\t\n") == key
    assert duplicate_key(unicodedata.normalize("NFD", text)) == key


@given(ANY_TEXT)
def test_indentation_that_all_lines_share_does_not_make_another_memory(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert duplicate_key("\n".join("  " + line for line in lines)) == duplicate_key(text)


@given(st.text(alphabet="ab \t\n\r", max_size=30))
def test_equal_normal_forms_have_the_same_words_in_the_same_lines(text: str) -> None:
    lines = [line.split() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    assert [line.split() for line in normalise(text).split("\n") if line] == [line for line in lines if line]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use  postgres.\n", "Use postgres."),
        ("one\r\n  two", "one\n  two  \t"),
        ("    if x:\n        y()", "if x:\n    y()"),
        ("one\n\n\n\ntwo", "\none\n \ntwo\n\n"),
        ("Straße", "Straße\u00a0"),
        ("é", "e\u0301"),
    ],
)
def test_texts_that_read_the_same_share_a_duplicate_key(one: str, other: str) -> None:
    assert duplicate_key(one) == duplicate_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "ab"),
        ("1.0", "10"),
        ("no", "not"),
        ("", "."),
        ("e", "é"),
        ("services:\n  web:\n    image: x\n  env: y", "services:\n  web:\n    image: x\n    env: y"),
        ("if a:\n    return 1\nx = 2", "if a:\n    return 1\n    x = 2"),
        ("  - a\n  - b", "- a\n  - b"),
        ("\tx:\n  y", "  x:\n  y"),
        ("# a\nb = 1", "# a b = 1"),
        ("one\n\ntwo", "one\ntwo"),
        ("The column is called Name", "The column is called name"),
        ("Use True for this key", "Use true for this key"),
        ("Set DEBUG", "Set debug"),
        ("Name: x", "name: x"),
        ("gives 5 MW", "gives 5 mW"),
        ("a path of 5 Mm", "a path of 5 mm"),
        ("10² Pa", "102 Pa"),
        ("grep -i", "grep -I"),
        ("use API v2", "use api v2"),
        ("option X", "option x"),
        ("call getName", "call getname"),
        ("read MAX_SIZE", "read max_size"),
        ("sha256:ABCDEF0", "sha256:abcdef0"),
        ("open /Users/Anna", "open /users/anna"),
        ("set `True`", "set `true`"),
        ("see x.Name", "see x.name"),
        ('the value is "None"', 'the value is "none"'),
        ("\uff21\uff22", "AB"),
    ],
)
def test_texts_that_say_something_else_do_not(one: str, other: str) -> None:
    assert duplicate_key(one) != duplicate_key(other)


def test_the_content_hash_is_the_hash_of_the_exact_text() -> None:
    assert content_hash("Ärger ") == hashlib.sha256("Ärger ".encode()).hexdigest()
    assert content_hash("a") != content_hash("A")
    assert len(content_hash("\ud800")) == 64


# --- estimates ------------------------------------------------------------------------------------------------


def test_token_estimates_follow_the_documented_ratio() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcd" * 10) == 10
    assert estimate_tokens("a") == 1
    assert estimate_tokens("決定") == 2


@given(ANY_TEXT, ANY_TEXT)
def test_parts_never_cost_fewer_wordpieces_than_the_whole(left: str, right: str) -> None:
    assert estimate_wordpieces(left + right) <= estimate_wordpieces(left) + estimate_wordpieces(right)


@given(ANY_TEXT, st.integers(0, 60))
def test_a_beginning_is_one_and_costs_no_more_than_it_may(text: str, wordpieces: int) -> None:
    kept = beginning(text, wordpieces)
    assert text.startswith(kept)
    assert estimate_wordpieces(kept) <= wordpieces
    assert kept == text or estimate_wordpieces(text) > wordpieces


def test_a_beginning_ends_with_a_word_where_there_are_words() -> None:
    assert beginning("one two three four", 3) == "one two three"
    assert beginning("支払いデータ", 4) == "支払いデ"


# --- chunks ---------------------------------------------------------------------------------------------------


@given(ANY_TEXT)
@settings(max_examples=200)
@example("")
@example(FAMILY * 400)
@example(FLAG * 400)
@example("x" + "\u0301" * 2000)
def test_chunks_keep_every_character_in_order_and_stay_within_the_bound(text: str) -> None:
    made = chunks(text)
    assert "".join(made) == text
    assert all(estimate_wordpieces(piece) <= CHUNK_TOKENS_MAX for piece in made)
    assert made == [text] or all(made)


@given(ANY_TEXT)
@settings(max_examples=200)
def test_no_chunk_begins_inside_a_character_that_people_see(text: str) -> None:
    starts = set(accumulate(map(len, chunks(text)[:-1])))
    for joined in JOINED:
        if joined != FLAG:  # which of two neighbouring letters begin a flag depends on all before them
            ends = {
                at + inner for at in range(len(text)) if text.startswith(joined, at) for inner in range(1, len(joined))
            }
            assert not starts & ends


def test_a_run_of_flags_is_cut_between_flags() -> None:
    made = chunks(FLAG * 500)
    assert len(made) > 1
    assert all(len(piece) % 2 == 0 for piece in made)


def test_one_endless_character_is_cut_rather_than_kept_beyond_the_bound() -> None:
    made = chunks((FAMILY + "\u200d") * 300)
    assert len(made) > 1
    assert all(estimate_wordpieces(piece) <= CHUNK_TOKENS_MAX for piece in made)


def test_a_text_that_fits_is_one_chunk_of_itself() -> None:
    assert chunks("  Use Postgres for payments.\n") == ["  Use Postgres for payments.\n"]
    text = "We decided to use Postgres. " * 20
    assert chunks(text) == [text]


def test_chunks_end_at_sentences_when_they_can() -> None:
    text = "The gateway translates and decides nothing at all. " * 60
    made = chunks(text)
    assert len(made) > 1
    assert all(piece.endswith("all. ") for piece in made)


def test_chunks_end_at_paragraphs_before_sentences() -> None:
    paragraph = "One sentence about locks. Another one about queues and waits. " * 8
    made = chunks(f"{paragraph}\n\n{paragraph}\n\n{paragraph}")
    assert [piece.strip() for piece in made] == [paragraph.strip()] * 3


def test_scripts_without_spaces_are_cut_after_their_full_stop() -> None:
    made = chunks("支払いにはデータベースを使うことに決めた。" * 40)
    assert len(made) > 1
    assert all(piece.endswith("。") for piece in made)


def test_the_largest_content_gives_a_bounded_number_of_chunks() -> None:
    assert len(chunks("." * CONTENT_BYTES_MAX)) <= 200
    assert len(chunks("가" * (CONTENT_BYTES_MAX // 3))) <= 400


# --- titles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("---\n```python\n# Use Postgres\n", "Use Postgres"),
        ("- [x] 1. *done* and `dusted`", "done and dusted"),
        ("> ## **Decision**: see [ADR-12](docs/adr.md)!", "Decision: see ADR-12!"),
        ("![logo](a.png) first ~~words~~", "logo first words"),
        ("**kwargs, test_* and __init__.py", "**kwargs, test_* and __init__.py"),
        ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
        ("zero\x00width\x1bcontrol", "zero width control"),
        ("first line\nsecond line", "first line"),
    ],
)
def test_a_title_is_the_first_words_without_markup(content: str, title: str) -> None:
    assert title_of(content) == title


@given(ANY_TEXT)
@example("決定" * 100)
@example("\U0001f600" * 100)
@example("x" * 79 + FAMILY + " tail")
@example("\U0001f600" * 40 + "y" * 30 + " z" * 20)
def test_a_title_is_one_printable_line_within_its_limits(text: str) -> None:
    title = title_of(text)
    assert len(title) <= TITLE_CHARS_MAX
    assert len(title.encode("utf-8", "surrogatepass")) <= TITLE_BYTES_MAX
    assert title == title.strip()
    assert len(title.splitlines()) <= 1
    assert bool(title) >= any(ch.isalnum() for ch in text)


def test_a_long_title_ends_with_a_whole_word() -> None:
    assert title_of("considerably longer words follow here " * 5).endswith("longer words follow here…")
    assert title_of("y" * 300) == "y" * (TITLE_CHARS_MAX - 1) + "…"


# --- snippets -------------------------------------------------------------------------------------------------

STORY = (
    "The team met on Monday. " * 20
    + "We decided to use Postgres for payments because of row locking. "
    + "Lunch was late again. " * 20
)


def test_a_snippet_shows_the_passage_that_answers() -> None:
    shown = snippet(STORY, "which database did we decide on for payments?")
    assert "We decided to use Postgres for payments because of row locking." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_a_short_text_is_its_own_snippet_with_white_space_folded() -> None:
    assert snippet(" a\n\n b ", "anything") == "a b"


def test_without_a_match_the_snippet_is_the_beginning() -> None:
    assert snippet(STORY, "zebra").startswith("The team met on Monday.")
    assert snippet(STORY, "").startswith("The team met on Monday.")


def test_rare_long_words_outweigh_common_short_ones() -> None:
    text = "it is as it is and so it is. " * 20 + "reconciliation runs at night. " + "it is what it is. " * 20
    assert "reconciliation" in snippet(text, "as it is, when is reconciliation?", 80)


def test_a_snippet_finds_words_of_scripts_without_spaces_and_of_other_case() -> None:
    text = "天気がいいですね。" * 40 + "支払いにはPostgresを使うことに決めた。" + "昼ごはんは遅かった。" * 40
    assert "決めた" in snippet(text, "支払いを決めた", 60)
    assert "POSTGRES" in snippet("padding words " * 40 + "POSTGRES it is" + " more words" * 40, "postgres", 60)


def test_an_identifier_draws_the_snippet_to_itself_and_not_to_one_that_begins_alike() -> None:
    rows = [
        f"| `recall_{name}` | a number that is said in the table |" for name in ("timeout_s", "limit", "weight_phrases")
    ]
    passage = snippet("\n".join(rows), "recall_weight_phrases", 60)
    assert [passage[a:b] for a, b in marks(passage, "recall_weight_phrases")] == ["recall_weight_phrases"]
    assert [passage[a:b] for a, b in marks(passage, "the phrases' weight")] == ["weight_phrases"]


@pytest.mark.parametrize(
    ("passage", "question"), [("it is parse_config() now", "parseConfig"), ("it is parseConfig() now", "parse_config")]
)
def test_an_identifier_is_marked_however_it_is_spelled(passage: str, question: str) -> None:
    ((start, end),) = marks(passage, question)
    assert passage[start:end].lower().replace("_", "") == "parseconfig"
    assert "onfig" in snippet("padding words " * 40 + passage + " more words" * 40, question, 60)


def test_words_that_say_nothing_draw_no_snippet() -> None:
    text = "What is it that you have in the end? " * 10 + "Ships wait for the tide. " + "That is what it is. " * 20
    assert "Ships wait" in snippet(text, "what is it that the ship does", 80)
    # Alone they are all there is to go by.
    assert snippet("Ships wait for tides. " * 20 + "To be or not to be.", "to be or not", 60).endswith("not to be.")


@pytest.mark.parametrize(
    ("passage", "query", "marked"),
    [
        ("Ships wait for the tide.", "does the ship wait?", ["Ships", "wait"]),
        ("Nothing of the kind", "zebra", []),
        ("支払いを決めた", "支払い", ["支払い"]),
        ("A café, CAFÉ!", "café", ["café", "CAFÉ"]),
        ("", "anything", []),
    ],
)
def test_the_words_of_the_query_are_marked_in_a_passage(passage: str, query: str, marked: list[str]) -> None:
    assert [passage[start:end] for start, end in marks(passage, query)] == marked


@given(st.text("abs _1.\u00e9\u00c9\u00df\u03b9\u0345", max_size=40), st.text("aAbBsS _1\u00e9\u03b9", max_size=20))
@settings(max_examples=300)
@example("\u0345\u03b9", "\u03b9")
def test_marks_of_a_passage_are_the_same_beside_a_script_without_spaces(passage: str, query: str) -> None:
    # There every word is looked at; without it, where the stems of the query are found.
    assert marks(passage, query) == marks(passage + " \u6c7a", query)


@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=100)
def test_marks_lie_in_the_passage_in_order_and_apart(passage: str, query: str) -> None:
    bounds = [place for mark in marks(passage, query) for place in mark]
    assert bounds == sorted(bounds)
    assert all(0 <= start < end <= len(passage) for start, end in marks(passage, query))


def test_a_match_at_the_very_end_is_shown_to_the_end() -> None:
    shown = snippet("filler text here " * 40 + "the answer is reconciliation", "reconciliation", 60)
    assert shown.endswith("the answer is reconciliation")


@given(ANY_TEXT, ANY_TEXT, st.integers(min_value=-1, max_value=300))
@settings(max_examples=200)
@example("x" * 500, "x" * 500, 40)
@example("a" + "\u0301" * 500, "a", 40)
def test_a_snippet_of_anything_stays_within_its_length(text: str, query: str, chars: int) -> None:
    shown = snippet(text, query, chars)
    assert len(shown) <= max(chars, 0)


# --- cost -----------------------------------------------------------------------------------------------------

HOSTILE = [
    ".", " ", "\n", "a", "é", "가", "。", "\u0301", "_", "*", "**a", "- ", "#", "[", "[a](", "`", "~~", "(", '."',
    "\n ", ". ", "> ", "1. ", FAMILY, FLAG, "word ", "a.", "\u2026", "\r", "*_", "---", "- - ",
]  # fmt: skip


def _all_of_a_write(text: str) -> None:
    chunks(text)
    title_of(text)
    snippet(text, text[:1000])
    duplicate_key(text)


@pytest.mark.parametrize("unit", HOSTILE)
def test_cost_grows_with_the_length_of_a_hostile_text_and_not_with_its_square(unit: str) -> None:
    whole = unit * (CONTENT_BYTES_MAX // len(unit.encode()))
    assert grows_with_length(_all_of_a_write, whole[: len(whole) // 4], whole, least_s=0.002)


def test_a_snippet_has_its_default_length() -> None:
    assert len(snippet("word " * 1000, "word")) <= SNIPPET_CHARS_MAX
