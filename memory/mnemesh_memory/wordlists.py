"""Words that say nothing by themselves (English), and which scripts put no space between words."""

from __future__ import annotations

import re
from typing import Final

COMMON_WORDS: Final = frozenset(
    (
        "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
        "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its", "me", "my",
        "of", "on", "or", "our", "s", "she", "should", "so", "t", "than", "that", "the", "their", "them", "then",
        "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which",
        "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
    )
)  # fmt: skip
# Scripts written without spaces: Thai to Lao, Burmese, Khmer, kana, Han. A term is a pair of neighbours.
UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
