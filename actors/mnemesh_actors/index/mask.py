"""Keyed hashes of the fields that an index only matches for equality: a memory's tags, agent and session.

Edge keeps deleted points in its files, fields of erased memories too, so these fields must reveal nothing there. The
key is made anew with each index and stands in its marks. With key and file one can try out words, with a piece of a
file one cannot.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.rules import Rule

if TYPE_CHECKING:
    from mnemesh_actors.index.points import IndexItem
    from mnemesh_actors.index.scope import Search

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
            replace(one, value=self._hashed(names[one.field], one.value)) if one.field in names else one
            for one in rule.conditions
        )
        return replace(rule, conditions=tuple(compared))
