"""Shown memories in the last words of an agent."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mnemesh.hooks.kept.citations import CITED_MAX, cited
from mnemesh.hooks.kept.shown_memories import ShownMemories
from mnemesh.hooks.kept.text_marks import MARKS_MAX, marks_of, with_marks
from mnemesh.short_id import short_id

FIRST = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
TWIN = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"
OTHER = "018f7000-1111-7000-8000-3f1f8d2f6a11"
TEXT = "Deploys of the payment service run from CI only, because the keys of the registry never leave its machines."
SHOWN: dict[str, tuple[str, ...]] = {FIRST: marks_of(TEXT), OTHER: ()}


def test_an_id_counts_whole_or_by_a_part_that_fits_one_memory_alone() -> None:
    assert cited(f"As {FIRST} says, CI only.", SHOWN) == [FIRST]
    assert cited("By memory [018F6F0E-7C1A]: CI only.", SHOWN) == [FIRST]
    assert cited("By memory 018f6f0e-7c1a.", {**SHOWN, TWIN: ()}) == []
    assert cited(f"By memory {TWIN}.", {**SHOWN, TWIN: ()}) == [TWIN]
    assert cited("018f6f0e and 12345678-1234 and 018f9999-0000-7000-8000-3f1f8d2f6a11", SHOWN) == []


def test_a_quotation_counts_and_a_phrase_in_common_does_not() -> None:
    assert cited(f'You noted: "{TEXT.upper()}"', SHOWN) == [FIRST]
    assert cited("Deploys of the payment service are my task today.", SHOWN) == []
    assert cited("", SHOWN) == []
    short = "Never restart the cache before the nightly export has ended."
    shown = {FIRST: marks_of(short)}
    assert cited("I know: never restart the cache before the nightly export has ended, so I wait.", shown) == [FIRST]
    assert cited("They restart the cache before the nightly backup of the house.", shown) == []


def test_words_of_the_person_are_no_quotation() -> None:
    said = f"You say: {TEXT}"
    assert cited(said, SHOWN, "Which port is it?") == [FIRST]
    assert cited(said, SHOWN, f"Is it true? {TEXT}") == []
    assert cited(f"{said} As {FIRST} says.", SHOWN, TEXT) == [FIRST]


def test_a_shown_block_leaves_ids_and_numbers_and_no_word(tmp_path: Path) -> None:
    lines = ("<x>", f"- [{short_id(FIRST)} decision] Rule: {TEXT}", f"- [{short_id(OTHER)} fact] Short.", "</x>")
    block = "\n".join(lines)
    shown = ShownMemories(tmp_path, "claude-code", "s1")
    shown.add([FIRST, OTHER], block)
    assert shown.ids() == {FIRST, OTHER}
    kept = next((tmp_path / "hosts" / "sessions").iterdir()).read_text()
    assert "payment" not in kept.lower()
    assert cited(f"I read that {TEXT}", shown.marked()) == [FIRST]


def test_a_file_of_an_earlier_version_has_ids_alone(tmp_path: Path) -> None:
    ShownMemories(tmp_path, "claude-code", "s1").append([FIRST])
    assert ShownMemories(tmp_path, "claude-code", "s1").marked() == {FIRST: frozenset()}


@given(st.text(max_size=400), st.lists(st.uuids().map(str), max_size=50, unique=True))
def test_whatever_is_said_only_shown_memories_count_in_bounds(words: str, ids: list[str]) -> None:
    lines = with_marks(ids, words)
    assert [line.partition(":")[0] for line in lines] == ids
    assert all(line.count(",") < MARKS_MAX for line in lines)
    found = cited(" ".join([words, *ids]), dict.fromkeys(ids, marks_of(words)))
    assert set(found) <= set(ids)
    assert len(found) <= CITED_MAX
