"""A second look at the best of an answer, by what costs more than a score from the index. Pure.

Each signal gives a value in [0, 1]. What it is worth makes good a part of what the score lacks, in proportion for who
has little of it: no signal lifts what matches nothing. Which of them count, and how much, is fusion.OPTIONAL; an
ablation set its defaults (docs/decisions/score-fusion.md), and most are off. The part of a signal in the score is its
change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from mnemesh_memory.ranking.fusion import FULL_EVIDENCE, SCORE_DECIMALS, terms
from mnemesh_memory.text.identifiers import spellings
from mnemesh_memory.text.traits import LOOKED_AT_CHARS, Question, month_of, traits_of
from mnemesh_memory.values.model import Memory
from mnemesh_memory.wordlists import UNSPACED

# Of an answer so many are looked at again; a phrase is in one of the best by words.
LOOKED_AT: Final = 100
PHRASES_MAX: Final = 8
Pair = tuple[str, str]  # role and filler
_QUOTED: Final = re.compile(
    r'"([^"]{2,200})"|\u201c([^\u201d]{2,200})\u201d|\u00ab([^\u00bb]{2,200})\u00bb|`([^`]{2,200})`'
)


class Look(NamedTuple):
    """A memory with its score so far in [0, 1], and what each signal has changed of it."""

    id: str
    score: float
    parts: Mapping[str, float] = MappingProxyType({})


def phrases_of(question: str) -> tuple[str, ...]:
    """The phrases in quotation marks, folded, without repetition."""
    found = (_folded(next(filter(None, marks))) for marks in _QUOTED.findall(question))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))[:PHRASES_MAX]


def held(phrases: Sequence[str], text: str) -> float:
    """The share of the phrases that the text holds word for word, but for case and white space."""
    folded = _folded(text)
    return sum(_stands_in(phrase, folded) for phrase in phrases) / len(phrases) if phrases else 0.0


def _stands_in(phrase: str, text: str) -> bool:
    """Whether it is there as whole words; scripts without spaces have none."""
    if phrase not in text:
        return False
    before = "" if UNSPACED.match(phrase[0]) else r"(?<!\w)"
    after = "" if UNSPACED.match(phrase[-1]) else r"(?!\w)"
    return re.search(before + re.escape(phrase) + after, text) is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


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


def lifted(
    looks: Sequence[Look], values: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> list[Look]:
    """The same with what `values` (by signal and id, each in [0, 1]; 0 for who is not there) say, best first."""
    found = []
    for id_, score, parts in looks:
        worths = {name: worth for name, known in values.items() if (worth := weights[name] * known.get(id_, 0.0))}
        room = (1.0 - score) * min(1.0, score / FULL_EVIDENCE) / max(1.0, sum(worths.values()))
        gained = {name: room * worth for name, worth in worths.items()}
        found.append(Look(id_, _rounded(score + sum(gained.values())), {**parts, **gained}))
    return in_order(found)


def lowered(looks: Sequence[Look], shares: Mapping[str, float], name: str) -> list[Look]:
    """The same without a share in [0, 1] of each score, in the name of a signal, best first."""
    found = []
    for look in looks:
        lost = look.score * shares.get(look.id, 0.0)
        parts = {**look.parts, name: look.parts.get(name, 0.0) - lost} if lost else look.parts
        found.append(Look(look.id, _rounded(look.score - lost), parts))
    return in_order(found)


def mixed(looks: Sequence[Look], relevance: Mapping[str, float], weight: float) -> list[Look]:
    """The same, `weight` of each score being the relevance in [0, 1] that a model gives, best first. A memory without
    an own value gets the least value among the others."""
    least = min(relevance.values(), default=0.0)
    found = []
    for id_, score, parts in looks:
        change = weight * (relevance.get(id_, least) - score)
        found.append(Look(id_, _rounded(score + change), {**parts, "rerank": change}))
    return in_order(found)


def diverse(looks: Sequence[Look], texts: Mapping[str, str], weight: float, limit: int) -> list[Look]:
    """The same with what repeats an earlier one lowered by up to `weight` of its score, for the first `limit`: maximal
    marginal relevance (J. Carbonell, J. Goldstein, SIGIR 1998, doi:10.1145/290941.291025), likeness being the share of
    common words (Jaccard). Best first."""
    said = {look.id: terms(texts.get(look.id, "")) for look in looks}
    left, chosen = in_order(looks), list[Look]()
    alike = dict.fromkeys(said, 0.0)
    while left and len(chosen) < limit:
        best = max(left, key=lambda look: look.score * (1.0 - weight * alike[look.id]))
        left.remove(best)
        lost = best.score * weight * alike[best.id]
        parts = {**best.parts, "diversity": -lost} if lost else best.parts
        chosen.append(Look(best.id, _rounded(best.score - lost), parts))
        for look in left:
            alike[look.id] = max(alike[look.id], _common(said[look.id], said[best.id]))
    # Nobody who was passed over stands above who was chosen.
    floor = chosen[-1].score if chosen else 1.0
    rest = [look if look.score <= floor else _lowered(look, floor) for look in left]
    return [*chosen, *in_order(rest)]


def in_order(looks: Iterable[Look]) -> list[Look]:
    """Best first, equal ones by id."""
    return sorted(looks, key=lambda look: (-look.score, look.id))


def _lowered(look: Look, floor: float) -> Look:
    return Look(look.id, floor, {**look.parts, "diversity": floor - look.score})


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _rounded(score: float) -> float:
    return round(min(1.0, max(0.0, score)), SCORE_DECIMALS)
