"""Memories that a person may want to tidy up. Values in, values out: nothing here reads or removes a memory.

Similar texts are not the same statement: two facts that differ in one number are near. So a pair gets its verdict from
the write guard, and similarity only says which pairs to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.policy.dynamics.heat import HALF_LIFE_DAYS, HalfLives, heat
from mnemesh_memory.policy.dynamics.valence import valence
from mnemesh_memory.policy.judge.guard import OlderText, judge
from mnemesh_memory.policy.judge.sameness import says_the_same
from mnemesh_memory.policy.precedence import age, pairs
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.ranking.scores import liking
from mnemesh_memory.text.text import snippet, title_of
from mnemesh_memory.values.heat_channels import Heat
from mnemesh_memory.values.memory_links import BOTH_HOLD
from mnemesh_memory.values.model import Memory
from mnemesh_memory.values.past import BOTH

IDLE, ORPHANED, STALE, DUPLICATE, CONTRADICTION, SUPERSEDED = TYPES = (
    "idle", "orphaned", "stale", "duplicate", "contradiction", "superseded",
)  # fmt: skip
SAME, CONTESTED, NEAR = "same", "contested", "near"
DECIDED: Final = "both hold, as somebody has decided"
THRESHOLD: Final = 0.92
STALE_DAYS: Final = 90
LIMIT: Final = 20
# An idle memory has at most this share of its strength left, as after one half-life.
COLD_SHARE: Final = 0.5
# Two memories whose heat differs by less are equally warm.
HEAT_DECIMALS: Final = 2
# From so many superseded memories behind one statement, the chain is worth a look.
CHAIN_MIN: Final = 3
# Rows of the matrix of similarities in memory at once.
BLOCK_ROWS: Final = 512
# Rounding of float32 must not hide two equal vectors from a threshold of 1.
COSINE_SLACK: Final = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidy:
    """A memory in a report, with its heat."""

    memory: Memory
    heat: Heat

    @property
    def title(self) -> str:
        """Its title, or its first words."""
        return self.memory.title or title_of(self.memory.content)

    @property
    def snippet(self) -> str:
        """Its beginning."""
        return snippet(self.memory.content, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two active memories of one space with similar texts."""

    older: Tidy
    newer: Tidy
    similarity: float
    verdict: str  # SAME, CONTESTED or NEAR.
    reason: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """The most similar pairs, of `total`. `examined` memories were compared, and `unexamined` were not."""

    pairs: tuple[Pair, ...]
    total: int
    examined: int
    unexamined: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to tidy up: `others` are the ids of the other memories."""

    type: str  # One of TYPES.
    subject: Tidy
    others: tuple[str, ...]
    verdict: str
    command: str
    choices: tuple[str, ...] = ()  # Of a contradiction: a command for each way to end it, with what stays.


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Findings by type, and how many there are of each. Otherwise as Duplicates."""

    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    examined: int
    unexamined: int
    degraded: tuple[str, ...] = ()


def tidy(
    memory: Memory,
    used: Mapping[str, tuple[int, int]],
    now: int,
    half_lives: HalfLives = HALF_LIFE_DAYS,
) -> Tidy:
    """`memory` with its heat; `used` has by id how often and when last it was shown. Before its arrival at this node
    nobody could use it, so an old note that is imported does not count as idle at once."""
    accesses, last = used.get(memory.id, (0, memory.updated_at))
    liked = liking(memory.useful, memory.not_useful)
    at = max(last, memory.updated_at, memory.arrived_at)
    felt = valence(memory.content, memory.kind)
    return Tidy(
        memory=memory,
        heat=heat(memory.kind, memory.tier, memory.importance, at, accesses, now, liked, felt, half_lives),
    )


def is_idle(item: Tidy, stale_days: int) -> bool:
    """Whether a memory was never used, is old and cold. A kind that does not cool, a pinned memory and a trigger that
    waits never are."""
    heat, tags = item.heat, item.memory.tags
    if triggers.TAG in tags and triggers.FIRED_TAG not in tags:
        return False
    cold = bool(heat.half_life_days) and heat.value <= COLD_SHARE * heat.strength
    return cold and heat.uses == 0 and heat.age_days >= stale_days


def near_pairs(
    vectors: NDArray[np.float32], groups: NDArray[np.int64], threshold: float, limit: int
) -> tuple[list[tuple[int, int, float]], int]:
    """The `limit` most similar pairs of unit `vectors` within one group each, (row, later row, cosine), and the count
    of all pairs from `threshold` on. Equal ones stand in the order of their rows."""
    nearest: list[tuple[int, int, float]] = []
    total = 0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        own = vectors[rows]
        for start in range(0, len(rows), BLOCK_ROWS):
            cosines = own[start : start + BLOCK_ROWS] @ own[start:].T
            one, other = np.nonzero(np.triu(cosines, 1) >= threshold - COSINE_SLACK)
            total += len(one)
            values = cosines[one, other]
            if len(values) > limit:
                kept = np.flatnonzero(values >= np.partition(values, -limit)[-limit])
                one, other, values = one[kept], other[kept], values[kept]
            best = np.argsort(-values, kind="stable")[:limit]
            nearest += [
                (int(rows[start + one[at]]), int(rows[start + other[at]]), min(1.0, float(values[at]))) for at in best
            ]
            nearest = sorted(nearest, key=lambda pair: (-pair[2], pair[0], pair[1]))[:limit]
    return nearest, total


def judged(one: Tidy, other: Tidy, similarity: float) -> Pair:
    """A pair with its verdict by the rules of the write guard, and the next command."""
    older, newer = sorted((one, other), key=lambda item: (item.memory.created_at, item.memory.id))
    before, after = older.memory, newer.memory
    candidate = OlderText(id=before.id, text=before.content, kind=before.kind, cosine=similarity, replaceable=True)
    if says_the_same(before.content, after.content):
        colder = round(older.heat.value, HEAT_DECIMALS) < round(newer.heat.value, HEAT_DECIMALS)
        kept, spare = (newer, older) if colder else (older, newer)
        return Pair(
            older=older, newer=newer, similarity=similarity, verdict=SAME,
            reason=f"they say the same; {kept.memory.id} is warmer, or as warm and older",
            command=f"mnemesh forget {spare.memory.id}",
        )  # fmt: skip
    agreed = pairs((before, after), BOTH_HOLD)
    verdict = judge(after.content, after.kind, [] if agreed else [candidate])
    if verdict.supersedes or verdict.contradicts:
        return Pair(
            older=older, newer=newer, similarity=similarity, verdict=CONTESTED,
            reason="the newer gives another value of what the older says: forget the wrong memory",
            command=_older_goes(before, after),
        )  # fmt: skip
    return Pair(
        older=older, newer=newer, similarity=similarity, verdict=NEAR,
        reason=DECIDED if agreed else "similar words, and both may hold: read both before you decide",
        command=_look(before, after),
    )  # fmt: skip


def _older_goes(older: Memory, newer: Memory) -> str:
    """The command that ends a contradiction. No report proposes to forget a pinned memory."""
    return _look(older, newer) if older.tier == "pinned" else f"mnemesh forget {older.id}"


def _newer_holds(older: Memory, newer: Memory) -> str:
    """The command that ends a contradiction of two linked memories. No report proposes to replace a pinned memory."""
    if older.tier == "pinned" or older.space != newer.space:
        return _look(older, newer)
    return f"mnemesh resolve {older.id} --other {newer.id} --keep {newer.id}"


def _choices(older: Tidy, newer: Tidy) -> tuple[str, ...]:
    """The ways to end a contradiction, each as a command with the beginning of what stays behind a #. None when no
    memory of the two may be replaced here."""
    one, other = older.memory, newer.memory
    if "pinned" in (one.tier, other.tier) or one.space != other.space:
        return ()
    stays = ((other.id, newer.title), (one.id, older.title), (BOTH, "both hold"))
    return tuple(f"mnemesh resolve {one.id} --other {other.id} --keep {keep}  # {text}" for keep, text in stays)


def _look(older: Memory, newer: Memory) -> str:
    return f"mnemesh get {older.id} {newer.id}"


def idle(items: Iterable[Tidy], stale_days: int) -> list[Finding]:
    """Memories that are cold and were never used, the coldest first."""
    cold = sorted((item for item in items if is_idle(item, stale_days)), key=lambda i: (i.heat.value, i.memory.id))
    return [
        Finding(
            type=IDLE, subject=item, others=(),
            verdict=f"never shown by this node, unchanged for {math.floor(item.heat.age_days)} days",
            command=f"mnemesh forget {item.memory.id}",
        )
        for item in cold
    ]  # fmt: skip


def stale(item: Tidy) -> Finding:
    """A memory that names files which are no longer as they were."""
    return Finding(
        type=STALE, subject=item, others=(), verdict="; ".join(item.memory.stale),
        command=f"mnemesh validate {item.memory.id}",
    )  # fmt: skip


def orphaned(item: Tidy, type_: str, target: str, state: str) -> Finding:
    """A link of a memory that leads to a forgotten memory, or to none on this node (`state` missing)."""
    fate = "was forgotten" if state == "forgotten" else "is not on this node: it was erased or has not arrived"
    return Finding(
        type=ORPHANED, subject=item, others=(target,),
        verdict=f"its link {type_} leads to {target}, which {fate}",
        command=f"mnemesh unlink {item.memory.id} {type_} {target}",
    )  # fmt: skip


def duplicate(pair: Pair) -> Finding:
    """A pair as a finding about the memory that its command is about."""
    older_first = pair.verdict != SAME or pair.command.endswith(pair.older.memory.id)
    subject, other = (pair.older, pair.newer) if older_first else (pair.newer, pair.older)
    return Finding(
        type=DUPLICATE, subject=subject, others=(other.memory.id,),
        verdict=f"{pair.verdict}, similarity {pair.similarity:.2f}: {pair.reason}", command=pair.command,
    )  # fmt: skip


def contradiction(one: Tidy, other: Tidy) -> Finding:
    """Two active memories that contradict each other: the finding is about the older one."""
    older, newer = sorted((one, other), key=lambda item: age(item.memory))
    return Finding(
        type=CONTRADICTION, subject=older, others=(newer.memory.id,),
        verdict=f"{newer.memory.id} contradicts it and is newer: keep the one that holds, or both",
        command=_newer_holds(older.memory, newer.memory), choices=_choices(older, newer),
    )  # fmt: skip


def chains(
    superseded: Sequence[Tidy], ends: Mapping[str, Memory], unseen: Iterable[str], end_of: Mapping[str, Tidy]
) -> list[Finding]:
    """Superseded memories whose chain leads to no active memory, then long chains. `ends` has the end of each chain by
    id, `end_of` the active ends by theirs. A memory in `unseen` has a successor that the reader may not see."""
    hidden = set(unseen)
    broken: list[Finding] = []
    behind: dict[str, list[str]] = {}
    for item in superseded:
        id_ = item.memory.id
        end = ends.get(id_)
        if id_ in hidden:
            continue
        if end is not None and end.id in end_of:
            behind.setdefault(end.id, []).append(id_)
        elif end is None or end.state == "forgotten":
            fate = "is gone or leads back to it" if end is None else f"ends in {end.id}, which was forgotten"
            broken.append(Finding(
                type=SUPERSEDED, subject=item, others=() if end is None else (end.id,),
                verdict=f"superseded, and the chain of its successors {fate}: recall shows neither",
                command=f"mnemesh restore {id_}",
            ))  # fmt: skip
    long = sorted(
        ((ids, end) for end, ids in behind.items() if len(ids) >= CHAIN_MIN), key=lambda x: (-len(x[0]), x[1])
    )
    return broken + [
        Finding(
            type=SUPERSEDED, subject=end_of[end], others=tuple(ids),
            verdict=f"{len(ids)} superseded memories stand behind it, in no recall",
            command=f"mnemesh get {' '.join(ids[:3])}",
        )
        for ids, end in long
    ]  # fmt: skip
