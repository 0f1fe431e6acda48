"""BM25 over a handful of memories in this process, for texts that the index cannot be asked about.

The same terms, weights and statistics as the index has; only fewer memories are looked at, and each by itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from mnemesh_memory.ranking.candidates import Candidate
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.traits import traits_of
from mnemesh_memory.values.model import Memory

# About 50 ms of encoding, which nothing interrupts.
CHARS_MAX = 400_000


def scored(text: str, memories: Sequence[Memory]) -> tuple[int, list[Candidate]]:
    """How many of the memories were counted (the first ones, up to CHARS_MAX). Then the ones that share a term with
    `text`, each with the BM25 score of its best passage."""
    from mnemesh_actors.index.bm25 import Bm25Encoder  # loads Edge, which a node on Ray keeps elsewhere

    encoder = Bm25Encoder()
    asked = set(encoder.query(text).indices)
    passages: list[tuple[str, dict[int, float]]] = []
    holders: Counter[int] = Counter()
    chars = counted = 0
    for memory in memories:
        chars += len(memory.content)
        if chars > CHARS_MAX and counted:
            break
        counted += 1
        for _, words in index_texts(memory):
            terms = encoder.document(words)
            wanted = {term: weight for term, weight in zip(terms.indices, terms.values, strict=True) if term in asked}
            passages.append((memory.id, wanted))
            holders.update(wanted.keys())
    # Robertson and Zaragoza 2009 in Lucene's form, as Qdrant has it.
    rarity = {term: math.log(1 + (len(passages) - number + 0.5) / (number + 0.5)) for term, number in holders.items()}
    best: dict[str, float] = {}
    for id_, wanted in passages:
        if wanted:
            best[id_] = max(best.get(id_, 0.0), sum(weight * rarity[term] for term, weight in wanted.items()))
    traits = {memory.id: traits_of(memory) for memory in memories[:counted] if memory.id in best}
    return counted, [Candidate(id_, None, score, None, traits[id_]) for id_, score in sorted(best.items())]
