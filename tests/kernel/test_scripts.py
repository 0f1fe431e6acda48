"""Words are counted alike in every script, and English ones as they were before other scripts were."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_edge import Bm25, Bm25Config

from mnemesh_actors.index.bm25 import AVERAGE_TERMS, LENGTH_B, SATURATION_K, Bm25Encoder
from mnemesh_actors.recall.words import scored
from mnemesh_memory.ranking.fusion import Fused, coverage
from mnemesh_memory.text.identifiers import spellings
from mnemesh_memory.text.scripts import spaced, unaccented
from mnemesh_memory.text.text import marks, snippet
from mnemesh_memory.values.model import Memory

ENCODER = Bm25Encoder()
WITHOUT_MEANING = Fused("1", 0.5)
ENGLISH = Bm25(Bm25Config(language="english", k=SATURATION_K, b=LENGTH_B, avg_len=AVERAGE_TERMS))
# Punctuation and signs that English texts hold beside ASCII.
SIGNS = (
    "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u2192\u21d2\u2212\u00a0\u00a7\u00b0\u00b1\u00b2\u00bd\u20ac"
    "\u200b\u2122\u2264\u25cf\u2502\ufe0f"
)
PROSE = (
    "We\u2019re moving the on-call rota to Mondays \u2014 see docs/rota.md (v2.14.0), \u201cbefore 9:00\u201d.",
    "Ana: I did buy the figurines yesterday \u2013 for 12 \u20ac \u2026 they\u2019re lovely!",
    "parse_config() in src/auth/tokens.py raises HTTPServerError \u2192 retried 3\u00d7, then ORA-00942 4f2a9c17d0",
    "\u2022 The migration\n\u2022 dropped orders.legacy_id\n\u2022 and took \u2248 40 \u00b5s a row (\u00b1 2 %)",
    "Nightly exports, nightly exporting, and what was exported: the same sums, summed thrice.",
)  # fmt: skip

BESIDE = ("Zürich", "支付", "🎉")


def english(text: str, *, asked: bool = False) -> tuple[list[int], list[float]]:
    """The terms that Edge's English encoder alone makes of a text, with other spellings of identifiers."""
    more = spellings(text)
    whole = f"{text}\n{' '.join(more)}" if more else text
    made = ENGLISH.embed_query(whole) if asked else ENGLISH.embed_document(whole)
    return list(made.indices), list(made.values)


def memory(id_: str, text: str) -> Memory:
    return Memory(
        id=id_, space="team/x", kind="note", title="", content=text, state="active", by="a", created_at=0, updated_at=0,
        heads=("r",),
    )  # fmt: skip


def same_as_english(text: str) -> bool:
    memory, question = ENCODER.document(text), ENCODER.query(text)
    return english(text) == (list(memory.indices), list(memory.values)) and english(text, asked=True) == (
        list(question.indices),
        list(question.values),
    )


@pytest.mark.parametrize("text", PROSE)
def test_english_prose_keeps_its_terms_and_their_weights(text: str) -> None:
    assert english(text)[0]
    assert same_as_english(text)


@given(st.text(st.sampled_from([*map(chr, range(128)), *SIGNS]), max_size=80))
def test_any_text_of_english_letters_and_signs_keeps_its_terms_and_their_weights(text: str) -> None:
    assert same_as_english(text)


@given(st.lists(st.sampled_from([*" ".join(PROSE).split(), *BESIDE]), max_size=30))
def test_what_stands_beside_english_words_takes_none_of_their_terms(words: list[str]) -> None:
    plain = " ".join(word for word in words if word not in BESIDE)
    assert set(english(plain)[0]) <= set(ENCODER.document(" ".join(words)).indices)


FOUND = {
    "chinese": ("支付服务每天凌晨三点重启", "支付"),
    "japanese": ("会議室は三階にあります", "会議室はどこ"),
    "thai": ("การชำระเงินล้มเหลว", "ชำระเงิน"),
    "thai with tone marks": ("ที่นี่นั่งได้", "ที่"),
    "korean with a particle": ("결제 서비스를 멈췄다", "서비스"),
    "english in japanese": ("Qdrantの設定をAPIで変える", "qdrant"),
    "japanese beside english": ("Qdrantの設定をAPIで変える", "設定"),
    "half and full width": ("\uff21\uff30\uff29の\uff83\uff9e\uff70\uff80", "API データ"),
    "without accents": ("Prüfsummen im Café in Łódź", "prufsummen lodz"),
    "with accents": ("Prufsummen im Cafe", "Prüfsummen"),
    "accents as marks": ("Pru\u0308fsummen im Cafe\u0301", "Prüfsummen"),
    "strokes": ("die Straße am Øresund", "strasse oresund"),
    "cyrillic": ("ёлка перед домом", "елка"),
    "greek": ("το τιμολόγιο", "τιμολογιο"),
    "a common word but for its accent": ("du thé vert", "thé"),
    "an emoji": ("release 2.14 is out 🎉", "🎉"),
    "an emoji in another skin": ("approved 👍🏽", "👍"),
    "a part of an emoji": ("a trip 👨\u200d👩\u200d👧", "👧"),
    "a flag": ("the office in 🇩🇪", "🇩🇪"),
    "hindi": ("भुगतान सेवा", "भुगतान"),
}


@pytest.mark.parametrize(("text", "question"), FOUND.values(), ids=FOUND)
def test_what_is_asked_in_any_script_is_found_and_covered(text: str, question: str) -> None:
    asked = set(ENCODER.query(question).indices)
    assert asked & set(ENCODER.document(text).indices)
    assert coverage(question, [(WITHOUT_MEANING, text)]) > 0.3
    by_words, *others = scored(question, [memory("1", text), memory("2", "something else 日本 ñ 🚀")])[1]
    assert (by_words.id, others) == ("1", [])


@pytest.mark.parametrize(
    ("text", "question"),
    [("支付服务", "支服"), ("🎉", "🚀"), ("🇩🇪 🇫🇷", "🇪🇫"), ("ที่", "ทน"), ("カ", "ガ"), ("ユーザー・データ", "ーデ")],
)
def test_what_only_looks_alike_is_not_found(text: str, question: str) -> None:
    assert not set(ENCODER.query(question).indices) & set(ENCODER.document(text).indices)


@given(st.text())
def test_writing_out_loses_no_letter_of_ascii(text: str) -> None:
    kept = [char for char in text if char.isascii() and char.isalnum()]
    written = iter(spaced(text))
    assert all(char in written for char in kept)


@given(st.text())
def test_terms_do_not_depend_on_how_accents_are_composed(text: str) -> None:
    assert unaccented(unaccented(text)) == unaccented(text)
    composed, apart = (ENCODER.query(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert list(composed.indices) == list(apart.indices)


@pytest.mark.parametrize("char", ["支", "🎉", "é", "\u0301", "ั", "🇩", "\ud83c", "ß"])
def test_a_long_run_takes_linear_time(char: str) -> None:
    def seconds(length: int) -> float:
        begun = time.process_time()
        spaced(char * length)
        return time.process_time() - begun

    short = min(seconds(2_000) for _ in range(5))
    assert min(seconds(20_000) for _ in range(3)) < 60 * short + 0.01


def test_marks_and_snippets_show_what_was_asked_in_other_scripts() -> None:
    assert marks("Qdrantの設定", "qdrant") == ((0, 6),)
    assert marks("결제 서비스를", "서비스") == ((3, 6),)
    assert marks("Prüfsummen im Café", "prufsummen cafe") == ((0, 10), (14, 18))
    assert "Café" in snippet("x " * 200 + "im Café " + "y " * 200, "cafe", 60)
