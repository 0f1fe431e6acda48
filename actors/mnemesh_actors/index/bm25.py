"""Text to BM25 term weights: Qdrant's own encoder, the same for every backend, so that term ids agree everywhere.

Lower-cases, splits on anything that is not a letter or digit, drops English stop words and stems (Snowball). The
inverse document frequency is the index's part, counted over the space that a query asks in. Other scripts, accents and
emoji come in the form of `scripts.spaced`, and identifiers in their other spellings as well, so that `parse_config`
finds `parseConfig`. Stored points depend on this encoding: with a change, count up `FORMAT` in index_state.py.
"""

from __future__ import annotations

from functools import cached_property

from qdrant_edge import Bm25, Bm25Config

from mnemesh_actors.index.engine_port import SparseVector
from mnemesh_memory.text.akin import akin_words
from mnemesh_memory.text.counted_words import spaced, spellings, stated

# Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009. The average length is fixed
# beforehand, because document weights are computed once: a memory has some thirty terms.
SATURATION_K = 1.2
LENGTH_B = 0.75
AVERAGE_TERMS = 30.0


class Bm25Encoder:
    """Encodes documents and queries. Text without a term (punctuation, stop words) gives an empty vector."""

    def __init__(self) -> None:
        config = Bm25Config(language="english", k=SATURATION_K, b=LENGTH_B, avg_len=AVERAGE_TERMS)
        self._model = Bm25(config)

    def document(self, text: str) -> SparseVector:
        encoded = self._model.embed_document(_sound(text))
        return SparseVector(encoded.indices, encoded.values)

    def query(self, text: str, *, as_stated: bool = False) -> SparseVector:
        """`as_stated`: with the verbs that a memory would have."""
        encoded = self._model.embed_query(_sound(stated(text) if as_stated else text))
        return SparseVector(encoded.indices, encoded.values)

    def with_akin(self, query: SparseVector, weight: float) -> SparseVector:
        """The same with akin words, of so much weight."""
        asked = dict(zip(query.indices, query.values, strict=True))
        more: dict[int, float] = {}
        for term in asked if weight else ():
            for other, part in self._akin.get(term, ()):
                if other not in asked:
                    more[other] = max(more.get(other, 0.0), weight * part * asked[term])
        terms = asked | more
        return SparseVector(list(terms), list(terms.values()))

    @cached_property
    def _akin(self) -> dict[int, list[tuple[int, float]]]:
        """By term: the terms of akin words with their weights."""
        return {
            self._term(word): [(self._term(other), weight) for other, weight in others]
            for word, others in akin_words().items()
        }

    def _term(self, word: str) -> int:
        return self._model.embed_query(word).indices[0]


def _sound(text: str) -> str:
    """With a space around each term, and identifiers' other spellings; without lone surrogates, which have no UTF-8
    form; JSON can spell them."""
    plain = spaced(text)
    more = spellings(plain)
    return (f"{plain}\n{' '.join(more)}" if more else plain).encode("utf-8", "replace").decode("utf-8")
