"""Which memories a model reads beside a new text before the guard decides. Pure.

A write waits, so a model reads two at most, those that likeness and trees point to. At rest nobody waits. There it
reads the nearest whatever the trees say, for far words hide most facts that recall still gives as current.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mnemesh_memory.policy.judge import doubts
from mnemesh_memory.policy.judge.guard import (
    CONTESTED_MAX,
    COSINE_MIN,
    RECORDS,
    OlderText,
    Seen,
    Verdict,
    may_be_read,
    nearest_first,
    twin_of,
    word_evidence,
)
from mnemesh_memory.policy.judge.reading import READINGS_MAX

# A model reads two texts side by side that are so near, or less near with so high a likelihood of the trees.
READ_MIN: Final = 0.75
READ_CONTESTED_MIN: Final = 0.6
READ_LIKELIHOOD_MIN: Final = 0.2
# At rest it reads up to so many, the nearest first, from this cosine on.
AT_REST_MAX: Final = 4
AT_REST_MIN: Final = 0.25


def to_read(
    text: str, kind: str, candidates: Sequence[OlderText], session: str, seen: Seen, *, widely: bool = False
) -> tuple[OlderText, ...]:
    """The candidates that a model should read beside a new text before `judge` decides: those that words link, then the
    others, the nearest first. `seen` keeps the evidence for the verdict. Where nobody waits, the model reads `widely`,
    and each that words link."""
    ordered = nearest_first(candidates)
    if kind in RECORDS or twin_of(ordered, text, kind, session) is not None:
        return ()
    unread = [item for item in _worth_reading(text, ordered, seen, widely=widely) if item.read is None]
    linked = sum(_is_linked(item, text, seen) for item in unread) if widely else 0
    return tuple(unread[: max(AT_REST_MAX if widely else READINGS_MAX, linked)])


def is_left_unread(text: str, kind: str, candidates: Iterable[OlderText], verdict: Verdict, seen: Seen) -> bool:
    """Whether the model has not read a pair that it would read at rest. A pair that the verdict links `contradicts`
    needs no other verdict, and a text that is not added has its fate. A mark is only a question."""
    if kind in RECORDS or verdict.action != "ADD":
        return False
    worth = _worth_reading(text, nearest_first(candidates), seen, widely=True)
    worth = [item for item in worth if item.id not in verdict.contradicts]
    first = worth[: max(AT_REST_MAX, sum(_is_linked(item, text, seen) for item in worth))]
    return any(item.read is None for item in first)


def _worth_reading(text: str, ordered: Sequence[OlderText], seen: Seen, *, widely: bool) -> list[OlderText]:
    others = (item for item in ordered[:CONTESTED_MAX] if item.kind not in RECORDS and may_be_read(item.text, text))
    worth = [item for item in others if _is_worth_reading(text, item, seen, widely=widely)]
    return sorted(worth, key=lambda item: not _is_linked(item, text, seen))


def _is_linked(item: OlderText, text: str, seen: Seen) -> bool:
    """Whether words link the two, and no rule of grammar is sure of it."""
    contest = word_evidence(item, text, seen).contest
    return contest is not None and contest.linked and not contest.ruled


def _is_worth_reading(text: str, candidate: OlderText, seen: Seen, *, widely: bool = False) -> bool:
    """Whether a new text may repeat or replace a memory, as far as likeness and trees tell. A memory is never replaced
    or contradicted by words that are not rules, unread."""
    if candidate.cosine >= READ_MIN:
        return True
    if candidate.cosine < (AT_REST_MIN if widely else COSINE_MIN):
        return False
    if candidate.cosine >= COSINE_MIN and _is_linked(candidate, text, seen):
        return True
    if not widely:
        likely = word_evidence(candidate, text, seen).likelihood >= READ_LIKELIHOOD_MIN
        if candidate.cosine < READ_CONTESTED_MIN or not likely:
            return False
    return not doubts.is_of_other_things(candidate.text, text, stated=False)
