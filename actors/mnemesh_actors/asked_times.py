"""Words of time in a question: what is asked of recall because of them, and what the answer says of it.

Nothing that they mean is ever a silent empty answer: what lies in the stretch is raised, or alone let through, and when
nothing does, all times are searched or the answer says why it is empty.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from mnemesh_actors.parts import Parts
from mnemesh_actors.zones import zone_named
from mnemesh_memory.answers import Recalled
from mnemesh_memory.asked_time import BY_EVENT, TimeRead, Window, told
from mnemesh_memory.fusion import terms
from mnemesh_memory.model import Memory, Query
from mnemesh_memory.rules import narrowed
from mnemesh_memory.time_words import Event, TimeWords, read
from mnemesh_memory.traits import happened_at

ANYTHING: Final = terms("anything done everything going happen happened happening new news")
Find = Callable[[Query], Awaitable[Recalled]]


async def asked_in_time(parts: Parts, query: Query, find: Find) -> Recalled:
    """What `find` gives for `query`, with the stretch of time that its words mean. Raises InvalidArgument for a zone
    that is none."""
    zone = zone_named("time_zone", query.time_zone) if query.time_zone else parts.config.zone
    if query.time_words == "off":
        return await find(query)
    found = read(query.text, parts.clock() if query.as_of is None else query.as_of, zone)
    if found is None:
        return await find(query)
    event = await _event(parts, found.event, query, find) if found.event else None
    window = _window(query, found, event)
    answer, widened = await find(query if window is None else _narrowed(query, found, window)), False
    inside = 0 if window is None else sum(window.holds(happened_at(hit.memory)) for hit in answer.results)
    if window is not None and not inside and not await _anything(query, found, window, find):
        if query.time_words == "prefer":
            answer, widened = await find(query), True
    elif window is not None and answer.abstain and not window.only:
        # Whether there is an answer does not hang on its time: it is there when one is without the raise.
        plain = await find(query)
        answer = replace(answer, coverage=max(answer.coverage, plain.coverage), abstain=plain.abstain)
    elif inside and not _subject(found):
        answer = replace(answer, coverage=1.0, abstain=False)  # only a time was asked for, and this is what lies in it
    bounds = window or Window(None, None)
    said = TimeRead(
        words=(*found.words, *((found.event_words,) if event else ())),
        zone=str(zone),
        since=bounds.since,
        before=bounds.before,
        event_id=event.id if event else "",
        inside=inside,
    )
    lost = found.event.text if found.event and not event else ""
    return replace(answer, time=replace(said, told=told(said, zone, len(answer.results), lost=lost, widened=widened)))


async def _event(parts: Parts, event: Event, query: Query, find: Find) -> Memory | None:
    """The memory that tells of it best, if it is sure enough."""
    asked = Query(text=event.text, spaces=query.spaces, limit=1, as_of=query.as_of)
    best = await find(narrowed(asked, parts.config.rules))
    return None if best.abstain else best.results[0].memory


def _window(query: Query, found: TimeWords, event: Memory | None) -> Window | None:
    since, before = found.since, found.before
    if event is not None and found.event is not None:
        at = happened_at(event)
        if found.event.side == "after":
            since = at if since is None else max(since, at)
        else:
            before = at if before is None else min(before, at)
    if since is None and before is None:
        return None
    # A question of nothing but a time asks for what lies in it.
    only = query.time_words == "only" or not _subject(found)
    return Window(since, before, only=only, surety=1.0 if event is None else BY_EVENT)


async def _anything(query: Query, found: TimeWords, window: Window, find: Find) -> bool:
    """Whether something that fits lies in it, though nothing that is shown does."""
    inside = _narrowed(query, found, window._replace(only=True))
    return bool((await find(replace(inside, limit=1, sort="relevance", token_budget=None))).results)


def _narrowed(query: Query, found: TimeWords, window: Window) -> Query:
    """Without a subject what lies in the stretch is listed, the newest first: nothing is there to be matched."""
    return replace(query, text=found.rest if _subject(found) else "", window=window)


def _subject(found: TimeWords) -> frozenset[str]:
    """What is asked about beside the time; nothing in "what happened yesterday"."""
    return terms(found.rest) - ANYTHING
