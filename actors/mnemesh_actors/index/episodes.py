"""What the index knows of each memory beside its vectors: its traits, its place in its episode, who stands beside it.

An episode is what one session said in one space, in the order that the ledger's timeline has. Held in memory, some 450
bytes a memory, and read back from the index when it is opened, because fetching payloads doubles the cost of a query.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Final, TypeAlias

import numpy as np

from mnemesh_actors.index.points import IndexItem, episode_of
from mnemesh_actors.index.port import Filter, IndexBackend, Record
from mnemesh_actors.ledger.feed import WINDOW_BEFORE
from mnemesh_memory.errors import DataLoss
from mnemesh_memory.fusion import Context
from mnemesh_memory.ranking import Candidates, Column
from mnemesh_memory.traits import SUBSTANCE_WORDS, Traits

SCROLL_PAGE_POINTS: Final = 1000

Episode: TypeAlias = tuple[str, str]  # space and session
Place: TypeAlias = tuple[int, int, str]  # the writer's count, when it was made, id: as in the ledger's timeline


class Episodes:
    """The memories of one index."""

    def __init__(self) -> None:
        self._traits: dict[str, Traits] = {}
        self._places: dict[str, tuple[Episode, Place]] = {}
        self._members: dict[Episode, list[Place]] = {}
        self._beside: dict[str, tuple[str, str]] = {}  # who stands before and after it in its episode; "" for nobody

    def __bool__(self) -> bool:
        return bool(self._members)

    def read(self, backend: IndexBackend) -> None:
        """Learn what the index holds. Raises DataLoss when a point does not say what it should."""
        offset = None
        while True:
            records, offset = backend.scroll(Filter(), SCROLL_PAGE_POINTS, offset)
            for record in records:
                if "passage" not in record.payload:
                    self._learn(record)
            if offset is None:
                return

    def _learn(self, record: Record) -> None:
        try:
            traits, episode, place = _read(record)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataLoss(f"the index has lost what it knew of the point {record.id}: {error!r}") from error
        if traits is not None:
            self._traits[record.id] = traits
        if episode is not None:
            self._put(record.id, episode, place)

    def note(self, item: IndexItem) -> None:
        """The memory is as `item` says now."""
        self.drop(item.id)
        if item.traits is not None:
            self._traits[item.id] = item.traits
        episode = episode_of(item)
        if episode is not None:
            self._put(item.id, episode, (item.place, item.created_at, item.id))

    def _put(self, id_: str, episode: Episode, place: Place) -> None:
        self._places[id_] = (episode, place)
        members = self._members.setdefault(episode, [])
        at = bisect_left(members, place)
        members.insert(at, place)
        self._link(members, range(at - 1, at + 2))

    def drop(self, id_: str) -> None:
        """The memory is gone, or has no place in an episode any more."""
        self._traits.pop(id_, None)
        episode, place = self._places.pop(id_, (None, None))
        if episode is not None and place is not None:
            members = self._members[episode]
            at = bisect_left(members, place)
            del members[at], self._beside[id_]
            self._link(members, range(at - 1, at + 1))
            if not members:
                del self._members[episode]

    def _link(self, members: Sequence[Place], changed: Iterable[int]) -> None:
        """Those at these places of an episode have other neighbours than before. Kept, because every recall asks for
        them of each candidate."""
        for at in changed:
            if 0 <= at < len(members):
                before = members[at - 1][-1] if at else ""
                after = members[at + 1][-1] if at + 1 < len(members) else ""
                self._beside[members[at][-1]] = (before, after)

    def after(self, ids: Iterable[str], items: Iterable[tuple[Episode, Place]] = ()) -> list[str]:
        """The memories in whose windows these stand, or stood: of those that are here, and of places that are new."""
        places = [self._places[id_] for id_ in ids if id_ in self._places]
        found: dict[str, None] = {}
        for episode, place in (*places, *items):
            members = self._members.get(episode, [])
            at = bisect_left(members, place)
            found |= dict.fromkeys(id_ for *_, id_ in members[at : at + WINDOW_BEFORE + 1] if id_ != place[-1])
        return list(found)

    def candidates(
        self, dense: Mapping[str, float], bm25: Mapping[str, float], window: Mapping[str, float]
    ) -> Candidates:
        """All that the lists hold, with what they stand in, in the order of their ids."""
        ids = sorted(dense.keys() | bm25.keys() | window.keys())
        columns = [np.array([scores.get(id_, nan) for id_ in ids], np.float64) for scores in (dense, bm25, window)]
        return Candidates(
            ids=ids,
            dense=columns[0],
            bm25=columns[1],
            around=self._around(ids, dense, columns[0], columns[2]) if self._places else None,
            traits=[self._traits.get(id_) for id_ in ids],
        )

    def _around(self, ids: Sequence[str], near: Mapping[str, float], dense: Column, window: Column) -> Column | None:
        """The contexts, as Candidates has them. `near` are the cosines of all that are in the list by meaning, `dense`
        and `window` the scores of these ids, NaN for none."""
        places = [self._places.get(id_) for id_ in ids]
        numbers: dict[Episode, int] = {}
        number = np.array([-1 if one is None else numbers.setdefault(one[0], len(numbers)) for one in places])
        here = number >= 0
        if not numbers:
            return None
        around = np.full((len(ids), len(Context._fields)), nan)
        around[here, 0] = np.nan_to_num(window[here])
        beside = [self._beside[id_] for id_, place in zip(ids, places, strict=True) if place is not None]
        # The mean cosine of the two that stand beside it, 0 for who is not in the list.
        around[here, 1] = [(near.get(before, 0.0) + near.get(after, 0.0)) / 2 for before, after in beside]
        for column, scores in ((2, dense), (3, window)):
            best = np.zeros(len(numbers))
            np.maximum.at(best, number[here], np.nan_to_num(scores[here]))
            around[here, column] = best[number[here]]
        return around


def _read(record: Record) -> tuple[Traits | None, Episode | None, Place]:
    payload = record.payload
    traits = None
    if "traits" in payload:
        at, words, times, asks, *speakers = map(int, str(payload["traits"]).split())
        if not 0 <= words <= SUBSTANCE_WORDS:
            raise ValueError(f"{words} words")
        traits = Traits(at, words, times, bool(asks), tuple(speakers))
    created = payload["created_at"]
    place = payload.get("place", 0)
    if not isinstance(created, int) or not isinstance(place, int):
        raise TypeError("a time or a place is no number")
    episode = None
    if "place" in payload:
        scopes = payload["scope"]
        episode = (str(scopes[0] if isinstance(scopes, tuple) else scopes).partition(":")[2], str(payload["session"]))
    return traits, episode, (place, created, record.id)
