"""English words that say nothing by themselves."""

from __future__ import annotations

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
