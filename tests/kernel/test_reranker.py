"""The optional cross-encoder: the real path through fastembed up to the model itself, for which a double stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastembed.rerank.cross_encoder import TextCrossEncoder

from mnemesh_actors.models import engine
from mnemesh_actors.models.reranker import Reranker, RerankerConfig
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

NAME = "Xenova/ms-marco-MiniLM-L-6-v2"


class Overlap:
    """Says as a logit how many words question and text share; beyond any float for "forever"."""

    list_supported_models = TextCrossEncoder.list_supported_models

    def __init__(self, model_name: str, **given: Any) -> None:
        assert (model_name, given["local_files_only"]) == (NAME, True)

    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterator[float]:
        assert batch_size > 0
        for text in documents:
            shared = len(set(query.split()) & set(text.split()))
            yield 1e9 if "forever" in text else shared - 1e9 * ("never" in text)


def test_a_model_that_is_not_there_and_may_not_be_fetched_is_named_with_its_remedy(tmp_path: Path) -> None:
    reranker = Reranker(RerankerConfig(model=NAME, cache_dir=str(tmp_path), download=False))
    with pytest.raises(Unavailable, match=f"{NAME} can't be had .*{tmp_path}.* reranker_model to empty"):
        reranker.load()
    with pytest.raises(Unavailable, match="not loaded"):
        reranker.relevance("question", ["text"])


def test_a_model_that_nobody_knows_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=f"reranker_model.*{NAME}"):
        Reranker(RerankerConfig(model="nobody/knows-it", cache_dir=str(tmp_path))).load()


def test_relevance_is_in_the_unit_interval_in_the_order_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TextCrossEncoder", Overlap)
    reranker = Reranker(RerankerConfig(model=NAME, download=False))
    reranker.load()
    reranker.load()
    told = reranker.relevance("when does it close", ["it will close", "lamp", "forever", "never"])
    assert told == [pytest.approx(0.881, abs=1e-3), 0.5, 1.0, pytest.approx(0.0)]
    assert reranker.relevance("question", []) == []
    reranker.close()
    with pytest.raises(Unavailable, match="not loaded"):
        reranker.relevance("question", ["text"])
