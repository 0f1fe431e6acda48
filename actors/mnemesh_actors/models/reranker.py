"""The actor that reads a question and a text together: a cross-encoder, through fastembed. Optional, and off.

R. Nogueira, K. Cho, "Passage Re-ranking with BERT", arXiv:1901.04085. One model, one call at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mnemesh_actors.models.embedding_model import ModelConfig
from mnemesh_memory.values.errors import Unavailable

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

BATCH_TEXTS: Final = 8
LOGIT_MAX: Final = 700.0  # beyond, exp overflows


class Reranker:
    """Synchronous and serial; arguments, results and errors survive pickle. Call `load` first. `config.name` is in
    fastembed's list; the model is kept in `config.cache_dir`, "" for fastembed's own."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._model: TextCrossEncoder | None = None

    def load(self) -> None:
        """Load the model; a second call changes nothing. Raises InvalidArgument for a name that fastembed does not
        know, Unavailable when the model can't be had."""
        if self._model is None:
            # Imported here: it costs half a second and 40 MB.
            from mnemesh_actors.models.embedding_engine import cross_encoder

            config = self._config
            cache = Path(config.cache_dir).expanduser() if config.cache_dir else None
            self._model = cross_encoder(config.name, cache, config.threads, fetch=config.download)

    def relevance(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in [0, 1], in their order: the logistic function of what the model says. Raises
        Unavailable before `load`."""
        if self._model is None:
            raise Unavailable("the cross-encoder is not loaded yet", part="reranker")
        logits = self._model.rerank(question, list(texts), batch_size=BATCH_TEXTS)
        return [1.0 / (1.0 + math.exp(min(LOGIT_MAX, -float(logit)))) for logit in logits]

    def close(self) -> None:
        """Let go of the model; `relevance` raises Unavailable afterwards."""
        self._model = None
