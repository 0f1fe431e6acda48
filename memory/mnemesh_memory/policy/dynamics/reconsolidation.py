"""Reconsolidation: a recalled memory is labile for a while, and new evidence by its reader may then change it.

Recall makes a stored memory open to change (Nader, Schafe and LeDoux 2000). The prediction error decides the fate of
the memory: a moderate error updates it, a large error begins another (Sevenster et al. 2013; Fernandez, Boccia and
Pedreira 2016). Here the error is the contested share of a memory,

    mismatch = content words of contested sentences / content words of all sentences, in [0, 1].

| mismatch | without the window | in the window |
|---|---|---|
| 0, and each sentence was said | ADD | NOOP, the memory is reinforced |
| above 0, below 1 | ADD with a link `contradicts` | UPDATE: a revision with the contested sentence replaced |
| 1: nothing of it is left | ADD with a link `contradicts` | SUPERSEDE: the memory is archived and replaced |

The write guard judges first, and its NOOP and SUPERSEDE stand. The window only decides cases that the guard leaves
open. An uncontested sentence always stays. So do memories of other principals, pinned ones, records of events, and
decisions without a stated change. History keeps both texts. Reading opens a window in the node's own memory and writes
nothing.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mnemesh_memory.policy.judge import doubts
from mnemesh_memory.policy.judge.contest import Contest, contest, restates
from mnemesh_memory.policy.judge.evidence import evidence_of
from mnemesh_memory.policy.judge.guard import RECORDS, OlderText, Verdict, repeated, stands_unstated
from mnemesh_memory.policy.judge.sameness import says_the_same
from mnemesh_memory.policy.judge.slots import LOOKED_AT_CHARS, SENTENCES_MAX, statement
from mnemesh_memory.text.text import sentences
from mnemesh_memory.values.limits import LABILE_MINUTES
from mnemesh_memory.values.model import Memory

# Evidence that the guard calls weak replaces a recalled memory from this cosine and this likelihood on.
WEAK_COSINE_MIN: Final = 0.7
WEAK_LIKELIHOOD_MIN: Final = 0.7
# A sentence of a memory is replaced from this likelihood on.
UPDATE_LIKELIHOOD_MIN: Final = 0.9
_LIST_MARK: Final = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
# Code is never rewritten by a sentence.
_CODE: Final = re.compile(r"```|~~~|^(?: {4}|\t)\S", re.MULTILINE)
# Open windows of a node, over all principals. The one that was opened first closes when there are more.
LABILE_MAX: Final = 4096
MINUTE_MS: Final = 60_000
# The attribute of an updated memory that names the session of the evidence.
PROVENANCE: Final = "reconsolidated"


class LabileWindow:
    """The memories that recall showed to a principal a short while ago, with the heads that were shown."""

    def __init__(self) -> None:
        # By principal and memory: when the window ends and began (ms), and the heads.
        self._open: OrderedDict[tuple[str, str], tuple[float, int, tuple[str, ...]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, principal: str, memories: Iterable[Memory], now: int, minutes: float = LABILE_MINUTES) -> None:
        """Open a window for each memory at `now` (ms)."""
        if minutes <= 0:
            return
        for memory in memories:
            self._open.pop((principal, memory.id), None)
            self._open[principal, memory.id] = now + minutes * MINUTE_MS, now, memory.heads
        while len(self._open) > LABILE_MAX:
            self._open.popitem(last=False)

    def age_of(self, principal: str, id_: str, heads: tuple[str, ...], now: int) -> int | None:
        """How long ago (ms) the memory was shown as it is now; None when its window is closed. A clock that went back
        closes it."""
        end, opened, seen = self._open.get((principal, id_), (0, 0, ()))
        return now - opened if seen and seen == heads and opened <= now <= end else None


class Labile(NamedTuple):
    """A candidate of the guard with an open window."""

    candidate: OlderText
    age_ms: int


class Outcome(NamedTuple):
    """The verdict after reconsolidation, and the new text of the memory for UPDATE."""

    verdict: Verdict
    content: str = ""


def mismatch(older: str, newer: str, cosine: float) -> tuple[float, list[int], list[Contest]]:
    """The contested share of a text, the places of its contested sentences, and the evidence against each. A new
    sentence contests only the old sentence with most words in common. A sentence that says an old statement again
    contests none."""
    olds = [statement(part) for part in sentences(older)]
    weights = [len(old.content) for old in olds]
    contests: dict[int, Contest] = {}
    for part in sentences(newer):
        fresh = statement(part)
        if any(old.verb >= 0 and restates(fresh, old) for old in olds):
            continue
        common = [len(old.keys & fresh.keys) for old in olds]
        for place, old in enumerate(olds):
            evidence = contest(old, fresh, cosine) if common[place] == max(common) else None
            if evidence is not None and (place not in contests or _rank(evidence) > _rank(contests[place])):
                contests[place] = evidence
    places = sorted(contests)
    share = sum(weights[place] for place in places) / sum(weights) if any(weights) else 0.0
    return share, places, [contests[place] for place in places]


def _rank(evidence: Contest) -> tuple[bool, float]:
    return evidence.strong, evidence.likelihood


def reconsolidated(text: str, kind: str, verdict: Verdict, labile: Sequence[Labile]) -> Outcome:
    """The fate of a text that its writer remembers beside memories with open windows, the nearest first."""
    if verdict.action != "ADD" or kind in RECORDS:
        return Outcome(verdict)
    for item in labile:
        older = item.candidate
        if not older.replaceable or older.later or older.kind in RECORDS or not _short_enough(older.text, text):
            continue
        if older.id in verdict.contradicts or _is_contested_by_words(older, text):
            if changed := _changed(text, verdict, item):
                return changed
        elif not verdict.contradicts and _says_already(older.text, text):
            how = f"says this already; recalled {item.age_ms // MINUTE_MS} min ago, reinforced"
            return Outcome(repeated(older, how))
    return Outcome(verdict)


def _is_contested_by_words(older: OlderText, text: str) -> bool:
    """Whether words contest a memory, also one of which a model that reads whole texts says otherwise."""
    evidence = evidence_of(older.text, text, older.cosine).contest
    if evidence is None or doubts.is_of_other_things(older.text, text, stated=evidence.stated):
        return False
    return evidence.linked


def _short_enough(*texts: str) -> bool:
    return all(len(text) <= LOOKED_AT_CHARS and len(sentences(text)) <= SENTENCES_MAX for text in texts)


def _changed(text: str, verdict: Verdict, item: Labile) -> Outcome | None:
    """UPDATE or SUPERSEDE of a contested memory; None when the evidence does not suffice for either."""
    older = item.candidate
    share, places, evidence = mismatch(older.text, text, older.cosine)
    if not places or any(piece.doubtful for piece in evidence):
        return None
    if stands_unstated(older) and not all(piece.stated for piece in evidence):
        return None
    said = f"recalled {item.age_ms // MINUTE_MS} min ago, mismatch {share:.2f}: {evidence[0].reason}"
    least = min(piece.likelihood for piece in evidence)
    weak = older.cosine >= WEAK_COSINE_MIN and least >= WEAK_LIKELIHOOD_MIN
    if share == 1.0 and (weak or all(piece.strong for piece in evidence)):
        return Outcome(
            replace(
                verdict,
                action="SUPERSEDE",
                reason=f"replaces {older.id}; {said}",
                target_id=older.id,
                similarity=older.cosine,
                supersedes=(older.id,),
                contradicts=tuple(id_ for id_ in verdict.contradicts if id_ != older.id),
                heads={**verdict.heads, older.id: older.heads},  # the model may have kept the two apart
                hint=f'if both hold, call restore(id="{older.id}")',
            )
        )
    single = len(places) == 1 and sum(1 for part in sentences(text) if part.strip()) == 1
    sure = evidence[0].strong and least >= UPDATE_LIKELIHOOD_MIN
    if share == 1.0 or not single or not sure or _CODE.search(f"{older.text}\n{text}"):
        return None  # it is not clear which words take which place
    head = older.heads[0] if older.heads else ""
    return Outcome(
        replace(
            verdict,
            action="UPDATE",
            reason=f"updates {older.id}; {said}",
            target_id=older.id,
            similarity=older.cosine,
            contradicts=(),
            hint=f'to undo, call rollback(id="{older.id}", to="{head}")',
        ),
        _with_sentence(older.text, places[0], text),
    )


def _says_already(older: str, text: str) -> bool:
    """Whether each sentence of a text is a sentence of an older one."""
    said = [part.strip() for part in sentences(older) if part.strip()]
    asked = [part.strip() for part in sentences(text) if part.strip()]
    return bool(asked) and all(any(says_the_same(part, old) for old in said) for part in asked)


def _with_sentence(text: str, place: int, sentence: str) -> str:
    """The text with another sentence in the place of one, between the list mark and the white space of the former."""
    parts = sentences(text)
    former = parts[place]
    mark, tail = _LIST_MARK.match(former), former[len(former.rstrip()) :]
    parts[place] = (mark.group() if mark else "") + sentence.strip() + tail
    return "".join(parts)
