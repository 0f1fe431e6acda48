"""The comparison of orders over several corpora: baseline, figures, intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench.carry import FIGURES, PRODUCT, Asked, compared, judged, sampled, significant
from bench.recall.window_sum import WindowSum
from bench.texts import corpora
from bench.texts.corpora import Collection, Question
from bench.texts.documents import Document
from bench.texts.embedding_cache import EmbeddingCache
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemesh_memory.ranking.candidates import Candidates

WORDS = ("key", "rota", "deploy", "dog", "rain")


class Letters(EmbeddingCache):
    """A vector of a text: how often each word stands in it. Whole numbers, so that equal texts have equal cosines."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere.npz"))

    def of(self, texts: list[str]) -> NDArray[np.float32]:  # type: ignore[override]
        return np.array([list(map(text.count, WORDS)) for text in texts], np.float32)


def units(*texts: str, session: str = "one") -> list[Document]:
    return [Document(f"{session}/{number}", text, session, number) for number, text in enumerate(texts)]


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), st.lists(texts, min_size=1, max_size=8), texts)
def test_the_baseline_ranks_by_nothing_that_comes_after_the_question(
    before: list[str], after: list[str], question: str
) -> None:
    vector = Letters().of([question])[0]
    alone = WindowSum(units(*before), Letters()).order(question, vector, None)
    inside = WindowSum(units(*before, *after), Letters()).order(question, vector, len(before))
    assert alone.tolist() == inside.tolist()


def test_the_baseline_finds_the_unit_that_says_the_words_of_the_question() -> None:
    told = [*units("rain"), *units("deploy key", session="two"), *units("rota", "the dog", session="three")]
    vector = Letters().of(["deploy key"])[0]
    assert WindowSum(told, Letters()).order("deploy key", vector, None)[0] == 1


def test_figures_count_the_first_ten_without_what_was_replaced() -> None:
    told = units(*["x"] * 12)
    question = Question("q", "answerable", frozenset({"one/2", "one/11"}), frozenset({"one/0"}), several=True)
    nothing = Candidates.of(())
    one = Asked(Collection("talk", told, [question]), question, np.zeros(1, np.float32), lambda *_: nothing)
    assert judged(one, told) == (1.0, 0.5, 0.5, 0.5, 1.0)
    assert judged(one, told[3:5]) == (0.0, 0.0, 0.0, 0.0, 1.0)


def test_an_interval_is_of_paired_differences_from_the_product() -> None:
    chance = np.random.default_rng(1)
    whole = chance.integers(0, 2, (300, len(FIGURES))).astype(float)
    rows = compared({PRODUCT: whole, "a little less": np.maximum(0.0, whole - 0.1), "the same": whole.copy()})
    assert rows[PRODUCT]["MRR"][1:] == [0.0, 0.0, 0.0]
    assert all(significant(cell) and cell[1] < 0 for cell in rows["a little less"].values())
    assert not any(significant(cell) for cell in rows["the same"].values())


@pytest.mark.parametrize("most", [None, 0, 7, 1_000])
def test_a_sample_is_the_same_in_every_run_and_of_all_histories(most: int | None) -> None:
    histories = corpora.team("given")
    number = sum(len(one.questions) for one in histories)
    drawn = sampled(histories, most)
    assert drawn == sampled(histories, most)
    assert sum(len(one.questions) for one in drawn) == min(number, number if most is None else most)
