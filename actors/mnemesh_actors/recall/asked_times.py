"""Words of time in a question: their effect on the search, and the note about them in the answer.

Words of time never empty an answer silently. Memories of the stretch are raised, or alone let through. With none there,
all times are searched or the answer says why nothing is shown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import tzinfo
from typing import Final

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.recall.results import cost_of
from mnemesh_actors.runtime.zones import name_of, zone_named
from mnemesh_memory.policy.recall_rules import narrowed
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.explanation import Share
from mnemesh_memory.ranking.fusion import terms
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.named_events import Event
from mnemesh_memory.times.question_time import TimeWords, read
from mnemesh_memory.times.window import BY_EVENT, TimeRead, Window, told
from mnemesh_memory.values.model import Memory, Query

# A question of these words alone asks for everything of a time: "give me a summary of yesterday".
ANYTHING: Final = terms(
    "activity all any anything changed discuss doing done event every everything get give going got happened latest"
    " list memories memory new news now occurred overview recall recap recent recorded remember said say show something"
    " stuff summarize summary talk tell thing told update work worked working write written wrote"
)
# A question about things to do asks for no list of the past: "what to do before the release".
_TO_BE_DONE: Final = re.compile(
    r"\b(?:to (?:do|get|give|happen|say|show|tell|update|work|write)|should|must|needs?|ought|has to|have to|having to"
    r"|(?:do|does|can|could|shall|will|would) (?:i|we|you|one|they))\b",
    re.IGNORECASE,
)
# A kind that is asked for by such words, as most people use it: "what did we decide last week", "what broke in March".
# Narrower words ("outage", "incident") find their memories better than a list of all errors, where these may stand
# last.
KIND_WORDS: Final = {
    kind: terms(words)
    for kind, words in {
        "decision": "agree agreed agreement agreements decide decided deciding decision decisions",
        "error": "break breaks broke broken bug bugs error errors fail failed failing fails failure failures"
        " problem problems wrong",
        "requirement": "requirement requirements",
    }.items()
}
_BESIDE_KIND: Final = terms(
    "come came fix fixed fixes fixing go goes going gone have made make making saw see seen take taken took up went"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
Find = Callable[[Query], Awaitable[Recalled]]


def zone_of(parts: NodePorts, query: Query) -> tzinfo:
    """The zone in which the query's words of time are meant. Raises InvalidArgument for one that is none."""
    return zone_named("time_zone", query.time_zone) if query.time_zone else parts.config.zone


async def asked_in_time(parts: NodePorts, query: Query, find: Find) -> Recalled:
    """The answer of `find` to `query`, with the stretch of time that its words mean. Raises InvalidArgument for a zone
    that is none."""
    zone = zone_of(parts, query)
    if query.time_words == "off":
        return await find(query)
    found = read(query.text, parts.clock() if query.as_of is None else query.as_of, zone)
    if found is None:
        return await find(query)
    event = await _event(parts, found.event, query, find) if found.event else None
    asked, window = _asked(query, found, event)
    answer = await find(asked)
    inside, widened = _inside(answer, window), False
    if window is not None and not inside and not await _anything(asked, window, find):
        if query.time_words == "prefer":
            asked, answer = query, await find(query)
            # With other words another memory may match well enough.
            inside = _inside(answer, window)
            widened = not inside
    elif window is not None and answer.abstain and not window.only:
        # Time alone makes no answer: the question has one only when the search without the raise finds one.
        plain = await find(replace(query, about=asked.about))
        answer = replace(answer, coverage=max(answer.coverage, plain.coverage), abstain=plain.abstain)
    elif inside and not asked.text:
        answer = _whole(answer, explain=query.explain)
    if window is not None and (kind := _kind(query, found, event)):
        listing = replace(query, text="", kinds=(kind,), min_score=0.0, window=window._replace(only=True))
        answer = await _kind_first(listing, asked, answer, find)
        inside = _inside(answer, window)
        widened = widened and not inside
    bounds = window or Window(None, None)
    said = TimeRead(
        words=(*found.words, *((found.event_words,) if event else ())),
        zone=name_of(zone),
        since=bounds.since,
        before=bounds.before,
        event_id=event.id if event else "",
        inside=inside,
    )
    lost = found.event.text if found.event and not event else ""
    return replace(answer, time=replace(said, told=told(said, zone, len(answer.results), lost=lost, widened=widened)))


async def _event(parts: NodePorts, event: Event, query: Query, find: Find) -> Memory | None:
    """The memory that tells of the event best, if the match is sure enough."""
    asked = Query(text=event.text, spaces=query.spaces, limit=1, as_of=query.as_of)
    best = await find(narrowed(asked, parts.config.rules))
    return None if best.abstain else best.results[0].memory


def _asked(query: Query, found: TimeWords, event: Memory | None) -> tuple[Query, Window | None]:
    """The query that the words of time make of this one, and their stretch; None when they mean none.

    A question for nothing but a time lists its stretch, the newest first: nothing is there to be matched."""
    since, before = found.since, found.before
    if event is not None and found.event is not None:
        at = happened_at(event)
        if found.event.side == "after":
            since = at if since is None else max(since, at)
        else:
            before = at if before is None else min(before, at)
    if since is None and before is None:
        return query, None
    sure, own = (1.0, "") if event is None else (BY_EVENT, event.id)
    about = found.about(event=event is not None)
    listed = not terms(about) - ANYTHING and not _named(about, query.text)
    if event is not None and _TO_BE_DONE.search(about):
        listed = False
    window = Window(since, before, query.time_words == "only" or listed, sure, own)
    if listed:
        return replace(query, text="", min_score=0.0, window=window), window
    # The words of an event stay: a memory often tells of the event and of its results in the same words.
    return replace(query, text=found.searched(), about=found.about(event=False), window=window), window


def _kind(query: Query, found: TimeWords, event: Memory | None) -> str:
    """The kind that is asked for beside a time, and nothing else, "" for none: "what did we decide last week"."""
    about = found.about(event=event is not None)
    if query.sort != "relevance" or _named(about, query.text):
        return ""
    subject = terms(about) - ANYTHING - _BESIDE_KIND
    kinds = [kind for kind, words in KIND_WORDS.items() if subject and subject <= words]
    return next((kind for kind in kinds if not query.kinds or kind in query.kinds), "")


async def _kind_first(listing: Query, asked: Query, answer: Recalled, find: Find) -> Recalled:
    """The listing of the stretch, the newest first, followed by `answer` to `asked`. Not every memory of a decision
    says "decided", and not every memory with that word has the kind."""
    first = _whole(await find(listing), explain=listing.explain)
    if not first.results:
        return answer
    # The budget may have cut off of one list a result of the other, so both are counted in full.
    there = {hit.memory.id for hit in (await _in_full(listing, first, find)).results}
    behind = (await _in_full(asked, answer, find)).results
    others = [hit for hit in behind if hit.memory.id not in there][: listing.limit - len(there)]
    tokens, kept = first.tokens_used, []
    for hit in [] if first.truncated_by_budget else others:
        cost = cost_of(hit)
        if listing.token_budget is not None and tokens + cost > listing.token_budget:
            break
        tokens += cost
        kept.append(hit)
    return replace(
        first,
        results=(*first.results, *kept),
        tokens_used=tokens,
        truncated_by_budget=len(there) - len(first.results) + len(others) - len(kept),
        degraded=tuple(dict.fromkeys(first.degraded + answer.degraded)),
    )


async def _in_full(query: Query, answer: Recalled, find: Find) -> Recalled:
    """`answer` to `query` with what its token budget left out."""
    return await find(replace(query, token_budget=None)) if answer.truncated_by_budget else answer


def _named(about: str, text: str) -> bool:
    """Whether a common word is written as a name, as in "what did Will do last week". Such a word stands in the middle
    of a sentence, with a capital, beside words without."""
    words, first = _WORD.findall(about), _WORD.search(text)
    if first is not None and words[:1] == [first[0]]:
        words = words[1:]
    small = any(word[0].islower() for word in words)
    return small and any(len(word) > 1 and word[0].isupper() and not terms(word) for word in words)


def _inside(answer: Recalled, window: Window | None) -> int:
    return 0 if window is None else sum(window.holds(happened_at(hit.memory), hit.memory.id) for hit in answer.results)


async def _anything(asked: Query, window: Window, find: Find) -> bool:
    """Whether a match lies in the stretch, though no shown result does."""
    inside = replace(asked, window=window._replace(only=True), limit=1, sort="relevance", token_budget=None)
    return bool((await find(inside)).results)


def _whole(answer: Recalled, *, explain: bool) -> Recalled:
    """Only a time was asked for, and every result lies in it: each is wholly what was asked for."""
    signals = (Share("date", 1.0, 1.0, 1.0, 1.0),) if explain else ()
    results = tuple(replace(hit, score=1.0, signals=signals) for hit in answer.results)
    return replace(answer, results=results, coverage=1.0, abstain=False)
