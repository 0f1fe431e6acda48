"""Which points a query may see. The space filter is put in here and nowhere else, and cannot be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemesh_actors.index.points import SHOWN, SPACE, VIEWS
from mnemesh_actors.index.port import Condition, Filter, Match, MatchAny, Range
from mnemesh_memory.errors import InvalidArgument

if TYPE_CHECKING:
    from mnemesh_actors.index.port import DenseVector


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """One question to the index. Empty filters let everything through; `spaces` may not be empty.

    `vector` (dimensions,) float32 is the embedded question, None for a search by words alone. `since` (inclusive)
    and `before` (exclusive) bound `created_at` in ms. `tags_any` and `kinds` want one of theirs, `tags_all`
    every one, `tags_none` no one. Forgotten, superseded and archived memories are left out unless asked for. `limit`
    counts memories in each list.
    """

    text: str
    vector: DenseVector | None
    spaces: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None
    agent: str = ""
    session: str = ""
    include_superseded: bool = False
    include_archive: bool = False
    include_forgotten: bool = False
    limit: int = 100
    bm25: bool = True
    dense: bool = True


def in_spaces(
    spaces: Sequence[str], must: Sequence[Condition] = (), must_not: Sequence[Condition] = (), view: str = SPACE
) -> Filter:
    """The given conditions within these spaces, as one of VIEWS shows them. Raises InvalidArgument without a space."""
    if isinstance(spaces, str) or not spaces or not all(spaces):
        raise InvalidArgument("spaces", spaces, "at least one space, none empty")
    if view not in VIEWS:
        raise InvalidArgument("view", view, "one of " + ", ".join(VIEWS))
    return Filter(must=(_one_of(view, tuple(spaces)), *must), must_not=tuple(must_not))


def filter_of(search: Search) -> Filter:
    """Everything that a search filters by, as one filter."""
    view, must = _lifecycle(search)
    must += [Match(name, text) for name, text in (("agent", search.agent), ("session", search.session)) if text]
    must += [_one_of(name, texts) for name, texts in (("kind", search.kinds), ("tags", search.tags_any)) if texts]
    must += [Match("tags", tag) for tag in search.tags_all]
    if search.since is not None or search.before is not None:
        must.append(Range("created_at", gte=search.since, lt=search.before))
    must_not = (_one_of("tags", search.tags_none),) if search.tags_none else ()
    return in_spaces(search.spaces, must, must_not, view)


def _one_of(name: str, values: tuple[str, ...]) -> Condition:
    """One value is matched faster than a set of one."""
    return Match(name, values[0]) if len(values) == 1 else MatchAny(name, values)


def _lifecycle(search: Search) -> tuple[str, list[Condition]]:
    """The view, and what it does not say by itself."""
    left_out = {
        "forgotten": not search.include_forgotten,
        "superseded": not search.include_superseded,
        "archive": not search.include_archive,
    }
    view = SHOWN if left_out["forgotten"] and left_out["archive"] else SPACE
    said = ("forgotten", "archive") if view == SHOWN else ()
    return view, [Match(name, 0) for name, out in left_out.items() if out and name not in said]
