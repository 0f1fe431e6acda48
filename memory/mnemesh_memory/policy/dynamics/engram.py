"""Engram allocation: memories of one stretch of time share a slot, and those of one slot are neighbours in time.

A memory goes to the cells that are most excitable when it is made. A cell that won stays excitable for hours, so that
memories of that time share cells, and cells compete by inhibition (Josselyn and Frankland 2018; Cai et al. 2016; Rashid
et al. 2016). Here, for a memory of an agent at time t and slots i of its space:

    excitability  e_i(t) = 2^(-(t - t_i) / H)        t_i: when the slot won last, moved back by inhibition
    drive         d_i    = e_i(t) * (1 - n_i / K) * (1 if the agent wrote there, else B)
    allocation    the slot with the largest d_i, if that is DRIVE_MIN or more; else a fresh slot
    winner        t_w = t, n_w = n_w + 1
    inhibition    t_j = t_j - H * log2(1 / (1 - L))  for the other slots that were excitable

A full slot (n = K) takes nothing more, so neighbours are bounded. Excitable slots are few, because each falls below
DRIVE_MIN after H * log2(1 / DRIVE_MIN). They are found by bisection: O(log n) for n memories. Everything follows from
the log of the ledger, and is rebuilt from the log.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

# `bench.living` compares the values below, on simulated days.
MINUTE_MS: Final = 60_000
HALF_LIFE_MS: Final = 15 * MINUTE_MS
CAPACITY: Final = 48
STRANGER: Final = 0.35  # B: the drive of a slot for an agent that has not written there.
DRIVE_MIN: Final = 0.4
INHIBITION: Final = 0.02
EXCITABLE_MAX: Final = 16  # Slots that compete for a memory, the most excitable.
REACH_MS: Final = int(HALF_LIFE_MS * math.log2(1.0 / DRIVE_MIN))
INHIBITED_MS: Final = HALF_LIFE_MS * math.log2(1.0 / (1.0 - INHIBITION))
NEIGHBOURS_MAX: Final = 5
# Memories whose place is known; the ones written first are forgotten beyond.
MEMORIES_MAX: Final = 100_000


class Neighbour(NamedTuple):
    """A memory that was written near another one in time."""

    id: str
    apart_ms: int  # Below 0: before.


@dataclass(slots=True, eq=False)
class _Slot:
    number: int
    phase: float  # t_i
    agents: set[str] = field(default_factory=set)
    members: dict[str, int] = field(default_factory=dict)  # time (ms) by id

    @property
    def order(self) -> tuple[float, int]:
        return self.phase, self.number


class EngramTable:
    """Slots of each space, in the order of their phases."""

    def __init__(self) -> None:
        self.position = ("", 0)  # incarnation and number of the last known entry of the log
        self._slots: dict[str, list[_Slot]] = {}
        self._place: OrderedDict[str, tuple[str, _Slot]] = OrderedDict()
        self._made = 0

    def take(self, id_: str, space: str, agent: str, at: int) -> None:
        """A memory was begun. A known memory stays where it is."""
        if id_ in self._place:
            return
        slots = self._slots.setdefault(space, [])
        # A phase after the time comes from a clock ahead, or the entry came late.
        first = bisect_left(slots, (float(at - REACH_MS), 0), key=_order_of)
        last = bisect_left(slots, (float(at + REACH_MS), 0), key=_order_of)
        rivals = slots[max(first, last - EXCITABLE_MAX) : last]
        winner = max(rivals, key=lambda slot: (_drive(slot, agent, at), slot.number), default=None)
        if winner is None or _drive(winner, agent, at) < DRIVE_MIN:
            winner = self._fresh(slots, at)
        for slot in rivals:
            self._turn(slots, slot, float(at) if slot is winner else slot.phase - INHIBITED_MS)
        winner.agents.add(agent)
        winner.members[id_] = at
        self._place[id_] = space, winner
        if len(self._place) > MEMORIES_MAX:
            self.end(next(iter(self._place)))

    def _fresh(self, slots: list[_Slot], at: int) -> _Slot:
        self._made += 1
        slot = _Slot(number=self._made, phase=at)
        insort(slots, slot, key=_order_of)
        return slot

    def _turn(self, slots: list[_Slot], slot: _Slot, phase: float) -> None:
        del slots[bisect_left(slots, slot.order, key=_order_of)]
        slot.phase = phase
        insort(slots, slot, key=_order_of)

    def end(self, id_: str) -> None:
        """A memory was erased."""
        space, slot = self._place.pop(id_, ("", None))
        if slot is None:
            return
        del slot.members[id_]
        if not slot.members:
            slots = self._slots[space]
            del slots[bisect_left(slots, slot.order, key=_order_of)]

    def clear(self) -> None:
        """Another log begins."""
        self.position = ("", 0)
        self._slots.clear()
        self._place.clear()

    def neighbours(self, id_: str) -> list[Neighbour]:
        """Up to NEIGHBOURS_MAX others of its slot, the nearest in time first."""
        _, slot = self._place.get(id_, ("", None))
        return nearest(id_, slot.members) if slot else []


def _order_of(slot: _Slot) -> tuple[float, int]:
    return slot.order


def _drive(slot: _Slot, agent: str, at: int) -> float:
    excitability = math.exp2(-abs(at - slot.phase) / HALF_LIFE_MS)
    return excitability * (1.0 - len(slot.members) / CAPACITY) * (1.0 if agent in slot.agents else STRANGER)


def nearest(id_: str, times: dict[str, int]) -> list[Neighbour]:
    here = times[id_]
    others = (Neighbour(other, at - here) for other, at in times.items() if other != id_)
    return sorted(others, key=lambda neighbour: (abs(neighbour.apart_ms), neighbour.id))[:NEIGHBOURS_MAX]


def in_words(neighbour: Neighbour) -> str:
    """Why a memory is a neighbour in time."""
    minutes = abs(neighbour.apart_ms) // MINUTE_MS
    return f"temporal: written {minutes} min {'before' if neighbour.apart_ms < 0 else 'after'}"
