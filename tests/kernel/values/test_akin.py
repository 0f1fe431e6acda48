"""Akin words: a table from the packaged model, read without it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemesh_actors.index.bm25 import Bm25Encoder
from mnemesh_memory.text.akin import akin_words

ENCODER = Bm25Encoder()


def test_an_akin_word_counts_less_than_the_word_itself() -> None:
    for word, others in akin_words().items():
        assert others, word
        assert all(0 < weight <= 1 for _, weight in others), word


def test_akin_words_have_stems_of_their_own() -> None:
    (dog,) = ENCODER.query("dogs").indices
    asked = ENCODER.with_akin(ENCODER.query("dogs"), 0.8)
    found = dict(zip(asked.indices, asked.values, strict=True))
    assert found.pop(dog) == 1
    assert set(ENCODER.query("puppy pet animal").indices) <= found.keys()
    assert max(found.values()) < 0.8


@given(st.text())
def test_a_question_keeps_its_own_terms_and_their_weights(text: str) -> None:
    plain = ENCODER.query(text)
    wide = ENCODER.with_akin(plain, 0.8)
    own = dict(zip(plain.indices, plain.values, strict=True))
    found = dict(zip(wide.indices, wide.values, strict=True))
    assert own.items() <= found.items()
    assert all(found[term] < 1 for term in found.keys() - own.keys())
    assert bool(found) == bool(own)
