"""The words by which the detector judges: the entries of each section of vocabulary.txt, in order."""

from __future__ import annotations

from typing import Final

from mnemesh_memory.wordlists import sections

VOCABULARY: Final = sections("secrets/vocabulary.txt")


def alternatives(section: str) -> str:
    """The entries of a section as alternatives of a regular expression."""
    return "|".join(VOCABULARY[section])
