"""The write guard: what a new text is to the memories that it may concern. Pure; the ledger carries the verdict out.

Similarity alone never refuses and never replaces a text: two sentences that differ in one number are near and not the
same. A duplicate is a text that says the same word for word, but for case, spacing, articles, contractions and the
order of clauses or list items. An older memory steps back when its slot has another value on strong evidence and the
writer may replace it. Otherwise both stand, and a link tells that they contradict. Nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mnemesh_memory.policy.judge import doubts
from mnemesh_memory.policy.judge.contest import Contest
from mnemesh_memory.policy.judge.evidence import Evidence, evidence_of, with_reading
from mnemesh_memory.policy.judge.reading import SURE_REPEAT_MIN, Reading, limits
from mnemesh_memory.policy.judge.sameness import almost_identical, says_the_same
from mnemesh_memory.policy.judge.slots import is_decision
from mnemesh_memory.policy.judge.vetoes import may_be_one, speaks
from mnemesh_memory.values.model import Checked, Related

RELATED_MAX = 5
# Below this cosine similarity two texts of the same language mostly have nothing in common.
NEAR_MIN = 0.5
# From here on two texts are mostly about one thing, and the newer one may replace the older.
REPLACES_MIN = 0.6
# Texts that differ in case, spacing and a final stop only are nearer than this; others need no comparison.
ALIKE_MIN = 0.8
# A model reads some 125 tokens, and a reading of a part of two texts is no evidence.
READ_CHARS_MAX: Final = 800
# Records of what happened: a later one never makes an earlier one untrue.
RECORDS: Final = frozenset(("episode", "run", "summary", "prompt"))
CONTRADICTS_MAX: Final = 2
# Of so many memories a writer is asked at once.
ASKED_MAX: Final = 2
# So many memories are compared sentence by sentence, the nearest first.
CONTESTED_MAX: Final = 6
# Below this cosine a contest of words alone is chance.
COSINE_MIN: Final = 0.35
QUOTED_CHARS: Final = 80

_BUG: Final = re.compile(r"\W{0,3}bug\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderText:
    """A text that a judged one may concern: of a memory of the space, or of an earlier draft of the same batch."""

    id: str
    text: str
    kind: str
    cosine: float  # Between the two texts, in [-1, 1].
    replaceable: bool  # The writer wrote it, or was granted to replace it.
    later: bool = False  # It holds from a later moment than the judged text.
    settled: bool = False  # Somebody decided that it holds beside another memory.
    heads: tuple[str, ...] = ()  # As they were read. A memory with other heads by the commit stays.
    session: str = ""
    read: Reading | None = None  # None when no model has read the two texts.


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The fate of a new text. Each memory of `supersedes` steps back; a `contradicts` link leads to the others."""

    action: str  # ADD, NOOP or SUPERSEDE.
    reason: str
    novelty: float  # 1 - the best cosine similarity, in [0, 1].
    target_id: str = ""
    similarity: float = 0.0
    supersedes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()  # Its writer is asked about these.
    marked: tuple[str, ...] = ()  # A link `may-replace` leads to these, which it likely replaces.
    apart: tuple[str, ...] = ()  # Memories with an open link that hold beside it, as the model at rest is sure.
    hint: str = ""
    heads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # Of the memories that are named here.


def is_told_again(kind: str, session: str, known_kind: str, known_session: str) -> bool:
    """Whether a record beside a known one of equal words tells what happened another time: in another session."""
    return bool(kind in RECORDS and known_kind in RECORDS and session and known_session) and session != known_session


Replaced = tuple[OlderText, Contest]
# By text and cosine of a memory.
Seen = dict[tuple[str, float], Evidence]
Opposed = tuple[OlderText, Contest, str]  # With the obstacle to a replacement.
Contests = tuple[list[Replaced], list[Opposed], list[Replaced]]


def judge(
    text: str, kind: str, candidates: Sequence[OlderText], session: str = "", seen: Seen | None = None
) -> Verdict:
    """The verdict on a new text of a kind that was written in a session. `seen` saves the next judgement work."""
    fresh = min(1.0, max(0.0, 1.0 - max((item.cosine for item in candidates), default=0.0)))
    ordered = nearest_first(candidates)
    twin = twin_of(ordered, text, kind, session)
    if twin is not None:
        return repeated(twin, "says the same")
    if kind in RECORDS:
        return Verdict(action="ADD", reason="a record of what happened replaces nothing", novelty=fresh)
    twin = next((item for item in ordered if _is_read_as_one(item, text)), None)
    if twin is not None:
        return repeated(twin, "says the same in other words")
    replaced, opposed, likely = _contests(ordered, text, {} if seen is None else seen)
    contradicts = tuple(item.id for item, _, _ in opposed)[:CONTRADICTS_MAX]
    named = (*(item for item, _ in replaced), *(item for item, _, _ in opposed), *(item for item, _ in likely))
    heads = {item.id: item.heads for item in named}
    marked = tuple(item.id for item, contest in likely[:ASKED_MAX] if contest.marked)
    if replaced:
        target, evidence = replaced[0]
        return Verdict(
            action="SUPERSEDE",
            reason=f"replaces {target.id} \u201c{_quoted(target.text)}\u201d: {evidence.reason}",
            novelty=fresh,
            target_id=target.id,
            similarity=target.cosine,
            supersedes=tuple(item.id for item, _ in replaced),
            contradicts=contradicts,
            marked=marked,
            heads=heads,
            hint=f'if both hold, call restore(id="{target.id}")',
        )
    if opposed:
        target, evidence, obstacle = opposed[0]
        return Verdict(
            action="ADD",
            reason=f"contradicts {target.id} \u201c{_quoted(target.text)}\u201d: {evidence.reason}; {obstacle}",
            novelty=fresh,
            target_id=target.id,
            similarity=target.cosine,
            contradicts=contradicts,
            marked=marked,
            heads=heads,
            hint=_replacing(target),
        )
    return _asked(likely, marked, fresh, heads)


def repeated(twin: OlderText, how: str) -> Verdict:
    """The verdict on a text that a memory already holds. `how` tells in what way."""
    return Verdict(
        action="NOOP",
        reason=f"{twin.id} {how}",
        novelty=0.0,
        target_id=twin.id,
        similarity=twin.cosine,
        heads={twin.id: twin.heads},
        hint="to store this text all the same, call remember(content=<this text>, force=true)",
    )


def _is_read_as_one(item: OlderText, text: str) -> bool:
    """Whether the model has read both texts whole and is sure that they say the same, and nothing that it reads over
    differs."""
    if item.read is None or not item.read.whole or item.read.repeats < limits().repeat:
        return False
    surely = item.read.repeats >= SURE_REPEAT_MIN
    return item.replaceable and item.kind not in RECORDS and may_be_one(item.text, text, surely=surely)


def read_apart(text: str, candidates: Iterable[OlderText], seen: Seen) -> tuple[str, ...]:
    """The memories that the model has read and is sure to hold beside a new text."""
    read = (item for item in candidates if item.read is not None)
    return tuple(
        item.id for item in read if with_reading(word_evidence(item, text, seen), item.read, item.text, text).apart
    )


def may_be_read(one: str, other: str) -> bool:
    """Whether a model may read both: they are short, and speak."""
    return len(one) + len(other) <= READ_CHARS_MAX and speaks(one) and speaks(other)


def nearest_first(candidates: Iterable[OlderText]) -> list[OlderText]:
    """The candidates by cosine."""
    return sorted(candidates, key=lambda item: (-item.cosine, item.id))


def twin_of(ordered: Iterable[OlderText], text: str, kind: str, session: str) -> OlderText | None:
    """The nearest memory that says the same in the same words."""
    twins = (
        item
        for item in ordered
        if (item.replaceable or almost_identical(item.text, text))
        and not is_told_again(kind, session, item.kind, item.session)
    )
    return next((item for item in twins if says_the_same(item.text, text)), None)


def word_evidence(item: OlderText, text: str, seen: Seen) -> Evidence:
    """The evidence of words that a text contests a memory, worked out once."""
    if (item.text, item.cosine) not in seen:
        seen[item.text, item.cosine] = evidence_of(item.text, text, item.cosine)
    return seen[item.text, item.cosine]


def _asked(
    likely: Sequence[Replaced], marked: tuple[str, ...], fresh: float, heads: Mapping[str, tuple[str, ...]]
) -> Verdict:
    """The verdict on a text that is added, with a question to its writer when it may replace a memory."""
    if not likely:
        return Verdict(action="ADD", reason="no memory has another value of the same slot", novelty=fresh)
    target, evidence = likely[0]
    return Verdict(
        action="ADD",
        reason=f"may replace {target.id} \u201c{_quoted(target.text)}\u201d: {evidence.reason}; its writer decides",
        novelty=fresh,
        target_id=target.id,
        similarity=target.cosine,
        asked=tuple(item.id for item, _ in likely[:ASKED_MAX]),
        marked=marked,
        heads=heads,
        hint="; ".join(_replacing(item) for item, _ in likely[:ASKED_MAX]),
    )


def _replacing(target: OlderText) -> str:
    return f'if this replaces {target.id}, call supersede(id="{target.id}", content=<this text>)'


def _contests(ordered: Sequence[OlderText], text: str, seen: Seen) -> Contests:
    """Three lists of candidates. The text replaces at most one. It contradicts those of the second list, the nearest
    first. The writer is asked about those of the third, the likeliest first."""
    replaced: list[Replaced] = []
    opposed: list[Opposed] = []
    likely: list[Replaced] = []
    modelled = any(item.read is not None for item in ordered)
    for item in ordered[:CONTESTED_MAX]:
        if item.kind in RECORDS or (item.read is None and item.cosine < COSINE_MIN):
            continue
        contest, whole, *_ = with_reading(word_evidence(item, text, seen), item.read, item.text, text)
        if contest is None or doubts.is_of_other_things(item.text, text, stated=contest.stated):
            continue
        if modelled and item.read is None and not contest.ruled and may_be_read(item.text, text):
            if contest.firm:  # the writer is asked at most about one that the model did not come to read
                likely.append((item, replace(contest, marked=False)))
            continue
        if not contest.linked:
            likely.append((item, contest))
            continue
        obstacle = _obstacle(item, contest, whole=whole)
        if obstacle:
            opposed.append((item, contest, obstacle))
        elif not replaced:
            replaced.append((item, contest))  # the nearest alone: a wrong replacement hides a fact
    return replaced, opposed, sorted(likely, key=lambda pair: -pair[1].likelihood)


def _obstacle(item: OlderText, contest: Contest, *, whole: bool) -> str:
    """Why a contested memory stays; "" when it steps back."""
    if not item.replaceable:
        return "it stands until a writer with the right names it: another's, pinned, a trigger, or in conflict"
    if item.later:
        return "the memory holds from a later time than this text"
    if not whole:
        return "the memory says more than this text replaces"
    if not contest.stated and (unmoved := stands_unstated(item)):
        return unmoved
    return "" if contest.strong else "the evidence does not decide which holds"


def stands_unstated(item: OlderText) -> str:
    """Why a memory stands until a change is stated; "" when a mere other value may replace it."""
    if is_decision(item.text, item.kind):
        return "a decision stands until a change is stated"
    if item.settled:
        return "somebody decided that the memory holds beside another one"
    return "one error stands beside another" if item.kind == "error" or _BUG.match(item.text) else ""


def _quoted(text: str) -> str:
    line = " ".join(text[: 2 * QUOTED_CHARS].split())
    return line if len(line) <= QUOTED_CHARS else f"{line[: QUOTED_CHARS - 1].rstrip()}\u2026"


def novelty(related: Sequence[Related]) -> float:
    """1 - the best neighbour's cosine similarity, in [0, 1]; 1 in an empty space."""
    best = max((item.similarity for item in related), default=0.0)
    return min(1.0, max(0.0, 1.0 - best))


def near(neighbours: Iterable[Related]) -> tuple[Related, ...]:
    """The neighbours that are worth a reader's look: those of NEAR_MIN or more."""
    return tuple(item for item in neighbours if item.similarity >= NEAR_MIN)


def alike(related: Iterable[Related]) -> str:
    """Which of `related` is almost identical to the draft, in words; "" for none."""
    twin = next((item.id for item in related if item.alike), "")
    return f"{twin} says the same but for case, spacing or a final stop" if twin else ""


def advice(related: Sequence[Related], stored: str = "", apart: Sequence[str] = ()) -> str:
    """The next step of a writer about the nearest of `related`, as the call of a tool; "" when none is near enough. A
    model has read those of `apart` and found them to hold beside the new text. `stored` is the id under which the new
    text stands, "" while nothing is written."""
    if alike(related):
        return f'if one of the two is enough, call forget(id="{stored}")' if stored else "nothing needs to be added"
    nearest = max((item for item in related if item.id not in apart), key=lambda item: item.similarity, default=None)
    if nearest is None or nearest.similarity < REPLACES_MIN:
        return ""
    return f'if this replaces {nearest.id}, call supersede(id="{nearest.id}", content=<this text>)'


def although(twin: str, *, forgotten: bool) -> str:
    """The remark on a text that `force` stores beside the memory `twin` of equal text."""
    return f"stored although {twin}{', which was forgotten,' if forgotten else ''} says the same"


def answer(related: Sequence[Related], supersedes: Sequence[str], apart: Sequence[str] = ()) -> Checked:
    """The answer of `remember` to a draft that is no exact duplicate, beside the neighbours of its space; `apart` as in
    `advice`."""
    fresh, shown = novelty(related), near(related)
    nearest = max(shown, key=lambda item: item.similarity, default=None)
    if supersedes:
        return Checked(
            action="SUPERSEDE",
            target_id=supersedes[0],
            reason=f"replaces {', '.join(supersedes)}",
            novelty=fresh,
            related=shown,
        )
    if nearest is None:
        return Checked(action="ADD", reason="the space holds nothing near it", novelty=fresh)
    beside = alike(shown) or f"nearest is {nearest.id} at similarity {nearest.similarity:.2f}"
    return Checked(
        action="ADD",
        target_id=nearest.id,
        similarity=nearest.similarity,
        novelty=fresh,
        related=shown,
        hint=advice(shown, apart=apart),
        reason=f"no identical text; {beside}",
    )
