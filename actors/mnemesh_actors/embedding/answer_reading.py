"""The packaged reader of a question and a text, in the place of a cross-encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mnemesh_actors.embedding.embedder import Embedder
from mnemesh_actors.models.embedding_model import PAIRS_READY
from mnemesh_memory.text.text import snippet
from mnemesh_memory.values.errors import InvalidArgument

PACKAGED: Final = "packaged"  # as `reranker_model`
# A reading has room for some 120 tokens of both texts.
PASSAGE_CHARS: Final = 400


def passage_of(text: str, question: str) -> str:
    """The passage of a text that is read beside the question: that with most of its words."""
    return snippet(text, question, PASSAGE_CHARS)


class PackagedReranker:
    """Reads with the embedder that answers now. Raises InvalidArgument when the model of the node has no reader."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        if (why := embedder().answers) != PAIRS_READY:
            raise InvalidArgument("reranker_model", PACKAGED, f"another one, or empty: {why}")
        self._embedder = embedder

    async def relevance(self, question: str, texts: Sequence[str]) -> list[float]:
        """How likely each text answers, in [0, 1], in their order. Raises Unavailable."""
        passages = [passage_of(text, question) for text in texts]
        return await self._embedder().read_answers(question, passages)
