"""Why a recall came back empty: filters in contradiction, or a filter without a match.

Knows nothing of where memories are kept: it names the listings whose size answers the question. Looked at only when an
answer is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mnemesh_memory.policy.rules.stored_rules import hiding
from mnemesh_memory.policy.sessions.session_runs import APART
from mnemesh_memory.values.errors import shorten, shown_time
from mnemesh_memory.values.model import ListQuery, Memory, Query
from mnemesh_memory.values.rules import Rule


def contradictions(query: Query) -> tuple[str, ...]:
    """Pairs of filters that no memory can pass at once, whatever there is."""
    causes = []
    if query.since is not None and query.before is not None and query.since >= query.before:
        causes.append(f"before: {shown_time(query.before)} is not after since, which is {shown_time(query.since)}")
    if query.as_of is not None and query.since is not None and query.since > query.as_of:
        causes.append(f"since: {shown_time(query.since)} is after as_of, which is {shown_time(query.as_of)}")
    both = [tag for tag in query.tags_all if tag in query.tags_none]
    causes += [f"tags_none: {shorten(tag)} stands in tags_all, too" for tag in both]
    if query.tags_any and set(query.tags_any) <= set(query.tags_none):
        causes.append(f"tags_none: holds every tag of tags_any, {_words(query.tags_any)}")
    return tuple(causes)


def without_words(query: Query) -> str:
    """The reason when the index counts none of the query's words."""
    what = "only stop words, which the index leaves out" if any(map(str.isalnum, query.text)) else "no word"
    return f"query: {shorten(query.text)} has {what}; mode keyword goes by words, hybrid and semantic by meaning"


def unread(query: Query) -> str:
    """The reason when the embedding model knows none of the query's words, and no memory holds one."""
    what = f"query: the embedding model knows no word of {shorten(query.text)}"
    if query.mode == "semantic":
        return f"{what}; mode keyword and hybrid look for the words themselves"
    return f"{what}, and nothing that passes the filters holds one"


def steps(query: Query, stretch: str = "") -> Iterator[tuple[str, ListQuery]]:
    """Listings to count in order: the first without a memory gives the reason beside it. Each filter alone comes before
    all of them together, because it says more. `stretch` tells of the query's window."""
    where = ("the space " if len(query.spaces) == 1 else "the spaces ") + _words(query.spaces)
    state = "all" if query.include_superseded or query.as_of is not None else "active"
    whole = ListQuery(spaces=query.spaces, state=state, limit=1)
    yield f"spaces: there is no memory in {where}", replace(whole, state="all")
    if state == "active" and query.valid_at is None:
        yield f"spaces: what is in {where} is forgotten or superseded, and so left out", whole
    alone = list(_filters(query, stretch))
    # A memory superseded since may have held then; with the other filters, valid_at counts such memories.
    loose = whole if query.valid_at is None else replace(whole, state="all")
    for name, reason, fields in alone:
        yield f"{name}: {reason} in {where}", replace(whole if name == "valid_at" else loose, **fields)
    if len(alone) > 1:
        names = " and ".join(dict.fromkeys(name for name, _, _ in alone))
        together: dict[str, Any] = {}
        for _, _, fields in alone:
            for field, value in fields.items():
                # Of two bounds of `before` the earlier one holds; each tag of tags_all stands by itself.
                earlier = min(value, together[field]) if field == "before" and field in together else value
                together[field] = together.get(field, ()) + value if field == "tags_all" else earlier
        yield f"{names}: nothing in {where} passes all of them", replace(whole, **together)


def _filters(query: Query, stretch: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each filter shared by listings and the query: its name, the message when nothing passes, the field and value."""
    past = query.as_of is not None
    if query.as_of is not None:
        yield "as_of", f"nothing was recorded at {shown_time(query.as_of)}", {"before": query.as_of + 1}
    if query.since is not None:
        yield "since", f"nothing is from {shown_time(query.since)} or later", {"since": query.since}
    if query.before is not None:
        yield "before", f"nothing is from before {shown_time(query.before)}", {"before": query.before}
    if query.valid_at is not None and not past:  # it may have been said to hold at other times then
        yield "valid_at", f"nothing held at {shown_time(query.valid_at)}", {"valid_at": query.valid_at}
    if query.agent:
        whole = "" if "/" in query.agent else " (whole, as in owner/claude-code)"
        yield "agent", f"{shorten(query.agent)}{whole} has written nothing", {"agent": query.agent}
    if query.session:
        yield "session", f"{shorten(query.session)} has no memory", {"session": query.session}
    if query.kinds and not past:  # kinds and tags may have been others then
        yield "kinds", f"there is no {_words(query.kinds)}", {"kinds": query.kinds}
    if query.tags_any and not past:
        yield "tags_any", f"nothing bears any of {_words(query.tags_any)}", {"tags_any": query.tags_any}
    for tag in () if past else query.tags_all:
        yield "tags_all", f"nothing bears {shorten(tag)}", {"tags_all": (tag,)}
    if query.tags_none and not past:
        yield "tags_none", f"everything bears one of {_words(query.tags_none)}", {"tags_none": query.tags_none}
    if query.trusted is not None and not past:
        yield "trust", f"nothing is {_words(query.trust)}", {"trusted": query.trusted}
    if query.window is not None and not past:
        yield "time_words", f"nothing lies in {stretch}", {"window": query.window}


def left_out(query: Query, kept_back: Iterable[Memory], rules: Sequence[Rule]) -> tuple[str, ...]:
    """Why what matches without the rules of the node, and with the archive, is not in the answer."""
    memories = list(kept_back)
    open_query = replace(query, include_archive=True, window=None)
    causes = []
    hides = hiding(open_query, memories, rules)
    if APART in hides:
        causes.append("session-run: the match is the record of a session; name that tag or the kind run to see records")
    if names := [rule.text for rule in hides if not rule.id and rule is not APART]:
        causes.append(
            f"recall_rules: this node hides the matches by {'; '.join(names)}; name that kind or tag to see them"
        )
    if names := [f"{rule.text} (rule {rule.id})" for rule in hides if rule.id]:
        causes.append(f"rules: the matches are hidden by {'; '.join(names)}; name that kind or tag to see them")
    if not query.include_archive and any(memory.tier == "archive" for memory in memories):
        causes.append("include_archive: the matches are in the archive tier, which needs include_archive")
    return tuple(causes)


def leftovers(query: Query, stretch: str = "") -> tuple[str, ...]:
    """Reasons that remain when memories pass every filter of a listing: the filters of recall alone, or the words."""
    causes = []
    if query.window is not None:
        causes.append(f"time_words: nothing that matches lies in {stretch}")
    given = (
        ("valid_at", query.valid_at is not None), ("paths", query.paths), ("source_dir", query.source_dir),
        ("min_heat", query.min_heat > 0), ("min_score", query.min_score > 0),
    )  # fmt: skip
    if names := [name for name, there in given if there]:
        causes.append(f"{' and '.join(names)}: each match is left out")
    if query.mode == "keyword" and query.text.strip():
        causes.append("mode: keyword finds only what holds a word of the query; hybrid and semantic go by meaning, too")
    return tuple(causes)


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(map(shorten, names))
