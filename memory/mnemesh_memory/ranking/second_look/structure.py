"""Structure: likeness of the properties that a question names to those of a memory (hyperdimensional.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mnemesh_memory.ranking.second_look.optional_signal import OptionalSignal, Sight
from mnemesh_memory.text.counted_words import spellings
from mnemesh_memory.text.traits import LOOKED_AT_CHARS, Question, month_of, question_of, traits_of
from mnemesh_memory.values.model import Memory

Pair = tuple[str, str]  # role and filler


def pairs_of(memory: Memory) -> frozenset[Pair]:
    """The known properties of a memory, as role and filler: kind, agent, tags, month, year, speakers, identifiers."""
    traits = traits_of(memory)
    year, month = month_of(traits.at)
    text = memory.content[:LOOKED_AT_CHARS]
    return frozenset(
        (
            ("kind", memory.kind), ("agent", memory.by.casefold()), ("month", str(month)), ("year", str(year)),
            *(("tag", tag.casefold()) for tag in memory.tags),
            *(("speaker", str(speaker)) for speaker in traits.speakers),
            *(("identifier", word.casefold()) for word in spellings(text)),
        )
    )  # fmt: skip


def pairs_asked(text: str, question: Question, known: Iterable[frozenset[Pair]]) -> frozenset[Pair]:
    """Of the pairs known of some memories those that a question names: a month or year as such, the rest by name."""
    words = frozenset(re.findall(r"\w+", text.casefold())) | {word.casefold() for word in spellings(text)}

    def names(pair: Pair) -> bool:
        role, filler = pair
        if role in ("month", "year", "speaker"):
            return int(filler) in {"month": question.months, "year": question.years, "speaker": question.words}[role]
        return filler in words

    return frozenset(pair for pairs in known for pair in pairs if names(pair))


def _gain(sight: Sight) -> dict[str, float]:
    from mnemesh_memory.ranking.second_look.hyperdimensional import bundled, likeness  # loads numpy

    known = {id_: pairs_of(memory) for id_, memory in sight.memories.items()}
    asked = pairs_asked(sight.query.text, question_of(sight.query.text), known.values())
    if not asked:
        return {}
    alike = likeness(bundled(asked), [bundled(pairs) for pairs in known.values()])
    return dict(zip(known, alike.clip(0.0, 1.0).tolist(), strict=True))


ROW: Final = OptionalSignal(
    "structure", 0.0, "Gain by likeness of kind, tag, speaker, date and identifier.", gain=_gain
)
