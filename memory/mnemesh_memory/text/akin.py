"""Words that are akin to the words of a question: an answer about a puppy may never say "dog".

One table serves every node and needs no model. tools/gen_akin.py makes the table from the packaged model: pairs of
words with a cosine of .8 or more. English, like the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from mnemesh_memory.wordlists import rows

# By word: akin words with their weights. Several akin words of a word share a weight.
Akin: TypeAlias = Mapping[str, tuple[tuple[str, float], ...]]


@cache
def akin_words() -> Akin:
    """The table. All weights of a word lie in (0, 1]."""
    table = {}
    for line in rows("words/akin.txt"):
        word, *others = line.split()
        cosines = [(akin, float(cosine)) for akin, _, cosine in (other.partition(":") for other in others)]
        whole = max(1.0, sum(cosine for _, cosine in cosines))
        table[word] = tuple((akin, cosine / whole) for akin, cosine in cosines)
    return MappingProxyType(table)
