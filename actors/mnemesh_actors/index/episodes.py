"""Knowledge of the index about each memory beside its vectors: traits, place in the episode, neighbours there.

An episode is one session in one space, in the order of the ledger's timeline. Held in memory, some 400 bytes a memory,
and read back from the index when opened: fetching payloads doubles the cost of a query.

The values that every recall needs of each candidate stand in columns, a row a memory. Looking up some hundred in
several dictionaries, mostly outside the processor's cache, takes twice as long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.index.engine_port import Filter, IndexBackend, Record
from mnemesh_actors.index.index_item import IndexItem
from mnemesh_actors.index.points import episode_of
from mnemesh_actors.index.ranked import records_of
from mnemesh_actors.ledger.feeds.index_feed import WINDOW_BEFORE
from mnemesh_memory.ranking.candidates import NOT_ASKED, TRAITS, Candidates, Column, Context, traits_row
from mnemesh_memory.text.traits import SUBSTANCE_WORDS, TIME_WORDS_MAX, Traits
from mnemesh_memory.values.errors import DataLoss

NOTHING: Final[Mapping[str, float]] = MappingProxyType({})
NOBODY: Final = 0  # the row of who is not here
ROWS_MIN: Final = 256
# Of a memory: the number of its episode, 0 for none; the rows of its neighbours before and after there.
ROW: Final = np.dtype([("episode", np.intc), ("before", np.intc), ("after", np.intc), ("traits", TRAITS)])

Rows: TypeAlias = NDArray[np.intc]
Episode: TypeAlias = tuple[str, str]  # space and session
Place: TypeAlias = tuple[int, int, str]  # the writer's count, when it was made, id: as in the ledger's timeline


@dataclass(slots=True)
class _Members:
    """The members of an episode, in order. No other episode ever has its number."""

    episode: Episode
    number: int
    places: list[Place] = field(default_factory=list)


class Listed(NamedTuple):
    """The memories of the lists of a search, (n,) each. The scores are NaN for none. `rows` and `known` are what
    Episodes has of them. `asking` are the places of those that follow a question, `before` the ids of the questions.
    `meant` is the list by meaning."""

    ids: list[str]
    dense: Column
    bm25: Column
    window: Column
    rows: Rows
    known: NDArray[np.void]
    asking: NDArray[np.intp]
    before: list[str]
    meant: Mapping[str, float]

    def uncompared(self) -> list[str]:
        """The memories outside of the list by meaning whose cosine counts: those that only words have found, and
        questions just before a memory."""
        return list({id_: None for id_ in (*self.ids, *self.before) if id_ not in self.meant})


class Episodes:
    """The memories of one index."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._ids = [""]  # by row, also of those that are gone
        self._free: list[int] = []  # rows of those that are gone
        self._used = NOBODY  # the highest row that was ever used
        self._columns = np.zeros(ROWS_MIN, ROW)
        self._speakers: dict[int, tuple[int, ...]] = {}  # of rows that have any
        self._places: dict[str, tuple[_Members, Place]] = {}
        self._episodes: dict[Episode, _Members] = {}
        self._numbered = 0  # the highest number that was ever given

    def __bool__(self) -> bool:
        return bool(self._episodes)

    def read(self, backend: IndexBackend) -> None:
        """Learn what the index holds. Raises DataLoss when a point does not say what it should."""
        for record in records_of(backend, Filter()):
            if "passage" not in record.payload:
                try:
                    traits, episode, place = _read(record)
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DataLoss(f"the index has lost what it knew of the point {record.id}: {error!r}") from error
                self._add(record.id, traits, episode, place)

    def note(self, item: IndexItem) -> None:
        """The memory is as `item` says now."""
        self.drop(item.id)
        self._add(item.id, item.traits, episode_of(item), (item.place, item.created_at, item.id))

    def _add(self, id_: str, traits: Traits | None, episode: Episode | None, place: Place) -> None:
        """One that has no row."""
        if self._free:
            row = self._free.pop()
            self._ids[row] = id_
        else:
            row = self._used = self._used + 1
            self._ids.append(id_)
            if row == len(self._columns):
                self._columns = np.concatenate((self._columns, np.zeros_like(self._columns)))
        self._rows[id_] = row
        self._columns[row] = (0, NOBODY, NOBODY, traits_row(traits))
        if traits is not None and traits.speakers:
            self._speakers[row] = traits.speakers
        if episode is not None:
            self._put(id_, row, episode, place)

    def _put(self, id_: str, row: int, episode: Episode, place: Place) -> None:
        members = self._episodes.get(episode)
        if members is None:
            self._numbered += 1
            members = self._episodes[episode] = _Members(episode, self._numbered)
        self._places[id_] = (members, place)
        self._columns["episode"][row] = members.number
        at = bisect_left(members.places, place)
        members.places.insert(at, place)
        self._link(members.places, range(at - 1, at + 2))

    def drop(self, id_: str) -> None:
        """The memory is gone; nothing changes when it was not here."""
        row = self._rows.pop(id_, NOBODY)
        if row == NOBODY:
            return
        if id_ in self._places:
            members, place = self._places.pop(id_)
            at = bisect_left(members.places, place)
            del members.places[at]
            self._link(members.places, range(at - 1, at + 1))
            if not members.places:
                del self._episodes[members.episode]
        self._speakers.pop(row, None)
        self._free.append(row)

    def _link(self, places: Sequence[Place], changed: Iterable[int]) -> None:
        """Those at these places of an episode have other neighbours than before."""
        for at in changed:
            if 0 <= at < len(places):
                row = self._rows[places[at][-1]]
                self._columns["before"][row] = self._rows[places[at - 1][-1]] if at else NOBODY
                self._columns["after"][row] = self._rows[places[at + 1][-1]] if at + 1 < len(places) else NOBODY

    def after(self, ids: Iterable[str], items: Iterable[tuple[Episode, Place]] = ()) -> list[str]:
        """The memories whose windows hold these, or held them: for `ids` that are here, and for the places of new
        `items`."""
        there = [self._places[id_] for id_ in ids if id_ in self._places]
        new = [(self._episodes[episode], place) for episode, place in items if episode in self._episodes]
        beside: dict[str, None] = {}
        for members, place in (*there, *new):
            at = bisect_left(members.places, place)
            following = members.places[at : at + WINDOW_BEFORE + 1]
            beside |= dict.fromkeys(id_ for *_, id_ in following if id_ != place[-1])
        return list(beside)

    def listed(self, dense: Mapping[str, float], bm25: Mapping[str, float], window: Mapping[str, float]) -> Listed:
        """All memories of the lists, in the order of ids."""
        ids = sorted(dense.keys() | bm25.keys() | window.keys())
        place = {id_: at for at, id_ in enumerate(ids)}
        rows = np.array([self._rows.get(id_, NOBODY) for id_ in ids], np.intc)
        known = self._columns[rows]
        asking = np.flatnonzero(self._columns["traits"]["asks"][known["before"]])
        before = [self._ids[row] for row in known["before"][asking].tolist()]
        columns = (_column(place, dense), _column(place, bm25), _column(place, window))
        return Listed(ids, *columns, rows, known, asking, before, dense)

    def _speakers_of(self, rows: list[int]) -> list[tuple[int, ...]]:
        return [self._speakers.get(row, ()) for row in rows] if self._speakers else [()] * len(rows)

    def candidates(self, listed: Listed, compared: Mapping[str, float] = NOTHING) -> Candidates:
        """The same with their context. `compared` are the cosines of `listed.uncompared()`, as far as known."""
        dense = listed.dense.copy()
        asked = np.full(len(dense), NOT_ASKED)
        if compared:
            missing = np.flatnonzero(np.isnan(dense)).tolist()
            dense[missing] = [compared.get(listed.ids[at], nan) for at in missing]
        if compared or listed.meant:
            known = {**listed.meant, **compared}
            asked[listed.asking] = [known.get(id_, NOT_ASKED) for id_ in listed.before]
        return Candidates(
            ids=listed.ids,
            dense=dense,
            bm25=listed.bm25,
            around=_around(listed, asked) if self._episodes else None,
            traits=listed.known["traits"],
            speakers=self._speakers_of(listed.rows.tolist()),
            episodes=listed.known["episode"],
        )


def _column(place: Mapping[str, int], scores: Mapping[str, float]) -> Column:
    """The scores at the places of their memories, NaN elsewhere."""
    column = np.full(len(place), nan)
    if scores:
        column[[place[id_] for id_ in scores]] = list(scores.values())
    return column


def _around(listed: Listed, asked: Column) -> Column | None:
    """The contexts, as Candidates has them. `asked` are the cosines of the questions before them."""
    rows, known = listed.rows, listed.known
    # The only memory of its session stands alone, like a memory without a session.
    here = (known["episode"] > 0) & ((known["before"] != NOBODY) | (known["after"] != NOBODY))
    if not here.any():
        return None
    rows, known = rows[here], known[here]
    dense, window = (np.where(np.isnan(scores), 0.0, scores)[here] for scores in (listed.dense, listed.window))
    _, number = np.unique(known["episode"], return_inverse=True)
    # The mean cosine of the two neighbours, 0 for a neighbour outside the list.
    near = (_values_at(rows, dense, known["before"]) + _values_at(rows, dense, known["after"])) / 2
    around = np.full((len(here), len(Context._fields)), nan)
    around[here] = np.column_stack(
        (window, near, _best(number, dense), _best(number, window), known["before"] == NOBODY, asked[here])
    )
    return around


def _values_at(rows: Rows, values: Column, wanted: Rows) -> Column:
    """The values of the `wanted` rows, 0 for a row outside `rows`, which are at least one."""
    order = np.argsort(rows)
    at = order[np.searchsorted(rows, wanted, sorter=order) % len(rows)]
    return np.where(rows[at] == wanted, values[at], 0.0)


def _best(number: NDArray[np.intp], values: Column) -> Column:
    """For each the best of those with its number, and at least 0."""
    best = np.zeros(len(number))
    np.maximum.at(best, number, values)
    return best[number]


def _read(record: Record) -> tuple[Traits | None, Episode | None, Place]:
    payload = record.payload
    traits = None
    if "traits" in payload:
        at, words, times, asks, *speakers = map(int, str(payload["traits"]).split())
        if not 0 <= words <= SUBSTANCE_WORDS or not 0 <= times <= TIME_WORDS_MAX or at.bit_length() >= 64:
            raise ValueError(f"{words} words, {times} of time, at {at}")
        traits = Traits(at, words, times, tuple(speakers), bool(asks))
    created = payload["created_at"]
    place = payload.get("place", 0)
    if not isinstance(created, int) or not isinstance(place, int):
        raise TypeError("a time or a place is no number")
    episode = None
    if "place" in payload:
        scopes = payload["scope"]
        episode = (str(scopes[0] if isinstance(scopes, tuple) else scopes).partition(":")[2], str(payload["session"]))
    return traits, episode, (place, created, record.id)
