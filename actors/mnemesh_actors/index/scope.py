"""Which points a query may see: the one place where the space filter is made. It cannot be left out.

A memory carries the word "needed:space" of the allowances (forgotten, superseded, archived) that it takes to see it,
and a word for each usual set of allowances that suffices. So space and lifecycle are one condition, of a single word in
a usual search. Any of two words, or four conditions, cost twice as much: 1.1 against .7 ms for a dense query at 10,000
points. With a word for each of the eight sets it costs twice as much in a large graph, where each visited point is
looked up.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

from mnemesh_actors.index.engine_port import Condition, Filter, Match, MatchAny, Range
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.rules import IS, Rule

if TYPE_CHECKING:
    from mnemesh_actors.index.engine_port import DenseVector
    from mnemesh_actors.index.index_item import IndexItem


SCOPE = "scope"
FORGOTTEN, SUPERSEDED, ARCHIVE = 1, 2, 4
SEARCH_LIMIT_MAX = 500
EVERYTHING = FORGOTTEN | SUPERSEDED | ARCHIVE
# The allowances of a recall, of a write, and of the statistics of words.
USUAL = (SUPERSEDED, ARCHIVE, EVERYTHING)
# The allowances that a memory needs: one state, and the archive or not.
NEEDS = tuple(state | tier for state in (0, FORGOTTEN, SUPERSEDED) for tier in (0, ARCHIVE))
Lists: TypeAlias = dict[str, dict[str, float]]  # by field, the scores of memories


@dataclass(frozen=True, slots=True)
class Search:
    """One question to the index; equal to another when it asks the same in words. Empty filters let everything
    through; `spaces` may not be empty.

    `vector` (dimensions,) float32 is the embedded question, None for a search by words alone. `generation` is the
    model's: an index of another generation refuses. `since` (inclusive) and `before` (exclusive) bound `created_at` in
    ms. `tags_any` and `kinds` want one of the given values, `tags_all` every value, `tags_none` none. `ids` are the
    memories among which alone is searched. Forgotten, superseded and archived memories are left out unless asked for.
    `limit` counts memories in each list, `words_limit` in those by words when they are to be shorter.
    `superseded_limit` asks for as many superseded memories in lists of their own, so that many versions crowd out
    nothing active. `window` bounds when a memory happened; without `only` its memories get extra places beside the
    others. Rules of `hidden` leave memories out. `windows`: what was said before a memory may count, too. `as_stated`:
    words are looked for in the form of a statement. `akin`: the weight of words akin to those of the text.
    """

    text: str
    vector: DenseVector | None = field(compare=False)
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
    ids: tuple[str, ...] | None = None
    limit: int = 100
    words_limit: int = SEARCH_LIMIT_MAX
    superseded_limit: int = 0
    window: Window | None = None
    hidden: tuple[Rule, ...] = ()
    bm25: bool = True
    windows: bool = True
    as_stated: bool = False
    akin: float = 0.0
    generation: str = ""


def scope_of(space: str, state: str, tier: str) -> tuple[str, ...]:
    """The words that a memory carries in SCOPE."""
    _check_spaces((space,))
    needed = {"forgotten": FORGOTTEN, "superseded": SUPERSEDED}.get(state, 0) | (ARCHIVE if tier == "archive" else 0)
    usual = (f"to {allowed}:{space}" for allowed in USUAL if needed & ~allowed == 0)
    return *usual, f"{needed}:{space}"


def in_spaces(
    spaces: Sequence[str], allowed: int, must: Sequence[Condition] = (), must_not: Sequence[Condition] = ()
) -> Filter:
    """The given conditions within these spaces, `allowed` being a sum of FORGOTTEN, SUPERSEDED and ARCHIVE.

    Raises InvalidArgument when there is no space.
    """
    _check_spaces(spaces)
    if not 0 <= allowed <= EVERYTHING:
        raise InvalidArgument("allowed", allowed, f"0 to {EVERYTHING}")
    return Filter(must=(_within(spaces, allowed), *must), must_not=tuple(must_not))


def _within(spaces: Sequence[str], allowed: int, having: int = 0) -> Condition:
    """The memories in these spaces that need all allowances of `having`, and none beyond `allowed`."""
    if allowed in USUAL and not having:
        return _one_of(SCOPE, tuple(f"to {allowed}:{space}" for space in spaces))
    needs = [needed for needed in NEEDS if needed & ~allowed == 0 and having & ~needed == 0]
    return _one_of(SCOPE, tuple(f"{needed}:{space}" for space in spaces for needed in needs))


def _check_spaces(spaces: Sequence[str]) -> None:
    if isinstance(spaces, str) or not spaces or not all(spaces):
        raise InvalidArgument("spaces", spaces, "at least one space, none empty")


def filter_of(search: Search, only: Sequence[Condition] = ()) -> Filter:
    """Everything that a search filters by but `ids`, as one filter; `only` are further conditions."""
    allowed = _allowed(search)
    must: list[Condition] = [*only]
    must += [Match(name, text) for name, text in (("agent", search.agent), ("session", search.session)) if text]
    must += [_one_of(name, texts) for name, texts in (("kind", search.kinds), ("tags", search.tags_any)) if texts]
    must += [Match("tags", tag) for tag in search.tags_all]
    if search.since is not None or search.before is not None:
        must.append(Range("created_at", gte=search.since, lt=search.before))
    if search.window is not None and search.window.only:
        must.append(Range("happened_at", gte=search.window.since, lt=search.window.before))
    must_not: list[Condition] = [_one_of("tags", search.tags_none)] if search.tags_none else []
    must_not += [_ruled(rule, allowed) for rule in search.hidden if rule.indexed]
    return in_spaces(search.spaces, allowed, must, must_not)


def _allowed(search: Search) -> int:
    allowed = FORGOTTEN * search.include_forgotten + SUPERSEDED * search.include_superseded
    return allowed + ARCHIVE * search.include_archive


def _ruled(rule: Rule, allowed: int) -> Condition:
    """The memories that a rule is about."""
    names = {"kind": "kind", "tag": "tags", "agent": "agent"}
    compared = [(condition.op == IS, Match(names[condition.field], condition.value)) for condition in rule.conditions]
    within = (_within((rule.space,), allowed),) if rule.space else ()
    having = tuple(match for positive, match in compared if positive)
    lacking = tuple(match for positive, match in compared if not positive)
    if rule.only:
        return Filter(must=within, must_not=(Filter(must=having, must_not=lacking),))
    return Filter(must=(*within, *having), must_not=lacking)


def filters_of(search: Search, only: Sequence[Condition] = ()) -> list[Filter]:
    """As `filter_of`, and beside it the same within a window that is preferred."""
    asked = [search]
    if search.window is not None and not search.window.only:
        asked.append(replace(search, window=search.window._replace(only=True)))
    return [filter_of(part, only) for part in asked]


def superseded_of(search: Search, only: Sequence[Condition] = ()) -> Filter:
    """As `filter_of`, but superseded memories alone: visible with that allowance and not without. The points of other
    words are not even looked at."""
    where = filter_of(replace(search, include_superseded=True), only)
    alone = _within(search.spaces, _allowed(search) | SUPERSEDED, SUPERSEDED)
    return replace(where, must=(alone, *where.must[1:]))


def _one_of(name: str, values: tuple[str, ...]) -> Condition:
    """One value is matched faster than a set of one."""
    return Match(name, values[0]) if len(values) == 1 else MatchAny(name, values)


# ---- keyed hashes ----------------------------------------------------------------------------------------------------
# Of the fields that an index only matches for equality: a memory's tags, agent and session.
# Edge keeps deleted points in its files, fields of erased memories too, so these fields must reveal nothing there. The
# key is made anew with each index and stands in its marks. With key and file one can try out words, with a piece of a
# file one cannot.

KEY_BYTES: Final = 32
HASH_BYTES: Final = 12
KEPT_MAX: Final = 10_000  # hashes in memory, some 2 MB


def new_key() -> str:
    """For the marks of an index that begins."""
    return secrets.token_hex(KEY_BYTES)


class Mask:
    """The hashes of one index: equal for equal words of a field. "" stays "", which means none. Each method raises
    InvalidArgument for a text with lone surrogates."""

    def __init__(self, key: str) -> None:
        secret = blake2b(key.encode(), digest_size=KEY_BYTES).digest()

        @lru_cache(maxsize=KEPT_MAX)
        def hashed(field: str, word: str) -> str:
            try:
                data = f"{field}:{word}".encode()
            except UnicodeEncodeError:
                raise InvalidArgument(field, word, "text without lone surrogates") from None
            return blake2b(data, digest_size=HASH_BYTES, key=secret).hexdigest()

        self._hashed = hashed

    def session(self, session: str) -> str:
        return self._hashed("session", session) if session else ""

    def _agent(self, agent: str) -> str:
        return self._hashed("agent", agent) if agent else ""

    def _tags(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._hashed("tags", tag) for tag in tags)

    def item(self, item: IndexItem) -> IndexItem:
        """As the index takes it in."""
        if not (item.tags or item.agent or item.session):
            return item
        agent, session = self._agent(item.agent), self.session(item.session)
        return replace(item, tags=self._tags(item.tags), agent=agent, session=session)

    def search(self, search: Search) -> Search:
        """As the index filters by it."""
        by_words = search.tags_any or search.tags_all or search.tags_none or search.agent or search.session
        if not (by_words or search.hidden):
            return search
        return replace(
            search,
            tags_any=self._tags(search.tags_any),
            tags_all=self._tags(search.tags_all),
            tags_none=self._tags(search.tags_none),
            agent=self._agent(search.agent),
            session=self.session(search.session),
            hidden=tuple(map(self._rule, search.hidden)),
        )

    def _rule(self, rule: Rule) -> Rule:
        names = {"tag": "tags", "agent": "agent"}
        compared = (
            replace(item, value=self._hashed(names[item.field], item.value)) if item.field in names else item
            for item in rule.conditions
        )
        return replace(rule, conditions=tuple(compared))
