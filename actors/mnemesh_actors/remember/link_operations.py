"""The operations link, unlink and rate, and the readers' view of links: both ends, and the memories attached to a
result.

Unreadable memories do not exist for a caller: no link gives away their text or id. Links and ratings change a memory's
document and none of its revisions; reading changes neither.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mnemesh_actors.ledger.commands import Rate, Tie
from mnemesh_actors.ledger.store.link_table import other_end
from mnemesh_actors.memory_lookup import find_many, find_one, granted, hidden
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.remember.deadlines import answered, committed, find
from mnemesh_actors.remember.writes import Writing
from mnemesh_actors.rows.row_source import RowSource, rows_of
from mnemesh_memory.access import grants
from mnemesh_memory.ranking.answers import Recalled, hit_with
from mnemesh_memory.text.text import estimate_tokens, snippet
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import ATTACHED_MAX, ATTACHED_TYPES, Rated
from mnemesh_memory.values.model import Caller, Link, Memory, Query, Written

_ID: Final = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])", re.IGNORECASE)
# (type, direction, id of the other end) of links that recall follows.
Ties = list[tuple[str, str, str]]


class LinkOperations:
    """`writing` tells the outcome of a write, as it does for its own."""

    def __init__(self, parts: NodePorts, writing: Writing) -> None:
        self._parts = parts
        self._writing = writing
        self.cited: Callable[[Caller, Sequence[Memory]], None] = _nobody  # Told of what an answer names.

    # ---- writing ----------------------------------------------------------------------------------------------

    async def link(self, caller: Caller, key: str, type_: str, to: str, wait: str = "indexed") -> Written:
        """Link the memory `key` to the memory `to`. NOOP when it is linked already. Raises NotFound, InvalidArgument,
        FailedPrecondition (a forgotten end, a circle of part-of, too many links), PermissionDenied."""
        type_ = field_checks.link_type("type", type_)
        memory = await find(self._parts, caller, key)
        async with answered(self._parts, "ledger"):
            target = await self._other_end(caller, to)
        return await self._tie(caller, memory, Link(type_, target.id), put=True, wait=wait)

    async def unlink(self, caller: Caller, key: str, type_: str, to: str, wait: str = "indexed") -> Written:
        """Take a link away. NOOP when there is none; `to` may be gone, and is then named by its whole id. Raises
        NotFound, InvalidArgument, FailedPrecondition, PermissionDenied."""
        type_ = field_checks.link_type("type", type_)
        memory = await find(self._parts, caller, key)
        if _ID.fullmatch(to.strip()):
            id_ = to.strip().lower()
            if await hidden(self._parts, caller, (id_,)):
                raise NotFound("memory", to).named("to")  # as `link` says: it may not be known to be there
        else:
            async with answered(self._parts, "ledger"):
                id_ = (await self._other_end(caller, to, forgotten=True)).id
        return await self._tie(caller, memory, Link(type_, id_), put=False, wait=wait)

    async def _other_end(self, caller: Caller, to: str, *, forgotten: bool = False) -> Memory:
        try:
            return await find_one(self._parts, caller, to, forgotten=forgotten)
        except (NotFound, InvalidArgument) as error:
            raise error.named("to") from None

    async def _tie(self, caller: Caller, memory: Memory, link: Link, *, put: bool, wait: str) -> Written:
        command = Tie(**self._parts.stamp(caller), id=memory.id, link=link, put=put)
        return await self._writing.commit(caller, command, wait)

    async def rate(self, caller: Caller, key: str = "", useful: bool | None = None, answer: str = "") -> list[Rated]:
        """Say whether the memory `key` was useful: the caller's one vote, in place of the one before. Or hand in an
        `answer`: each memory whose id stands there counts as useful, unless the caller has voted otherwise. Ids not
        found, forgotten or not the caller's to change are passed over. Raises InvalidArgument, NotFound,
        FailedPrecondition, PermissionDenied."""
        if bool(key) == bool(answer):
            said = "both id and answer" if key else "neither id nor answer"
            raise InvalidArgument("id", said, "one of id and answer", missing=not key)
        if (useful is None) != bool(answer):
            limit = "true or false with an id; an answer tells by what it names"
            raise InvalidArgument("useful", "nothing" if useful is None else useful, limit, missing=useful is None)
        if answer:
            return await self._cited(caller, answer)
        return [await self._rate(caller, await find(self._parts, caller, key), useful is True, cited=False)]

    async def _cited(self, caller: Caller, answer: str) -> list[Rated]:
        field_checks.bounded_text("answer", answer, limits.ANSWER_BYTES_MAX, empty=False)
        ids = list(dict.fromkeys(id_.lower() for id_ in _ID.findall(answer)))
        if len(ids) > limits.CITATIONS_MAX:
            raise InvalidArgument("answer", f"{len(ids)} ids", f"at most {limits.CITATIONS_MAX} memories in one answer")
        if not ids:
            return []
        async with answered(self._parts, "ledger"):
            items = await find_many(self._parts, caller, ids)
        named = [item for item in items if isinstance(item, Memory) and grants.may_write(caller, item.space)]
        self.cited(caller, named)
        rates = (self._rate(caller, memory, useful=True, cited=True) for memory in named)
        return [rated for rated in await asyncio.gather(*map(_unless_refused, rates)) if rated is not None]

    async def _rate(self, caller: Caller, memory: Memory, useful: bool, *, cited: bool) -> Rated:
        command = Rate(**self._parts.stamp(caller), id=memory.id, useful=useful, cited=cited)
        done = await committed(self._parts, command)
        if useful:
            await self._parts.ledger.touch([memory.id], command.at)
        return Rated(memory.id, done.memory.useful, done.memory.not_useful, changed=done.action != "NOOP")

    # ---- reading ----------------------------------------------------------------------------------------------

    async def with_ends(self, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
        """`memories` with what stands at both ends of their links."""
        linked = await self._parts.ledger.linked([memory.id for memory in memories], grants.readable(caller))
        return [
            replace(memory, linked=linked[memory.id][0], linked_more=linked[memory.id][1])
            if memory.id in linked
            else memory
            for memory in memories
        ]

    async def attached(self, caller: Caller, query: Query, answer: Recalled, by: float) -> Recalled:
        """`answer` with the memories that resolve or contradict its results: of each type the latest ATTACHED_MAX of a
        result. Beyond the token budget, and for memories that are results themselves, the text is left out. Of the past
        nothing is read after `by`, in the event loop's time."""
        if not any(hit.memory.tied for hit in answer.results):
            return answer
        rows = rows_of(self._parts, query.spaces, query.as_of, by)
        ties: dict[str, Ties] = {}
        followed = await rows.ties([hit.memory for hit in answer.results])
        for id_, type_, direction, other in followed:
            if type_ in ATTACHED_TYPES:
                ties.setdefault(id_, []).append((type_, direction, other))
        memories = await granted(self._parts, caller, [hit.memory for hit in answer.results], rows, followed)
        shown = {memory.id: hit_with(hit, memory=memory) for hit, memory in zip(answer.results, memories, strict=True)}
        ends = await self._ends(caller, rows, {id_ for group in ties.values() for _, _, id_ in group})
        left = None if query.token_budget is None else query.token_budget - answer.tokens_used
        used = 0
        hits = []
        for hit in shown.values():
            attached = []
            for type_, direction, end in _latest(ties.get(hit.memory.id, []), ends, hit.memory.id):
                text = "" if end.id in shown else snippet(end.content, query.text)
                cost = estimate_tokens(text)
                if left is not None and used + cost > left:
                    text, cost = "", 0
                used += cost
                attached.append(other_end(type_, direction, end, text))
            hits.append(hit_with(hit, attached=tuple(attached)) if attached else hit)
        degraded = tuple(dict.fromkeys((*answer.degraded, *rows.left_out)))
        return replace(answer, results=tuple(hits), tokens_used=answer.tokens_used + used, degraded=degraded)

    async def _ends(self, caller: Caller, rows: RowSource, ids: Iterable[str]) -> dict[str, Memory]:
        """The readable memories at the ends of links, by id, of now or of then: active ones, and for a superseded one
        its successor."""
        memories = await rows.view(sorted(ids))
        memories |= await rows.ends([memory for memory in memories.values() if memory.state == "superseded"])
        return {
            id_: memory
            for id_, memory in memories.items()
            if memory.state == "active" and grants.may_read(caller, memory.space)
        }


async def _unless_refused(rated: Awaitable[Rated]) -> Rated | None:
    try:
        return await rated
    except (NotFound, FailedPrecondition, DataLoss):
        # It went meanwhile, takes no more ratings or is damaged. The others count all the same.
        return None


def _latest(ties: Ties, ends: Mapping[str, Memory], own: str) -> list[tuple[str, str, Memory]]:
    """The newest ends of each type, in the order of the types; each memory once a type."""
    known = {
        (type_, ends[id_].id): (type_, direction, ends[id_])
        for type_, direction, id_ in sorted(ties)  # of both directions the later one stays: out
        if id_ in ends and ends[id_].id != own
    }
    ordered = sorted(known.values(), key=lambda tie: (ATTACHED_TYPES.index(tie[0]), -tie[2].created_at, tie[2].id))
    counted: Counter[str] = Counter()
    taken = []
    for tie in ordered:
        counted[tie[0]] += 1
        if counted[tie[0]] <= ATTACHED_MAX:
            taken.append(tie)
    return taken


def _nobody(caller: Caller, memories: Sequence[Memory]) -> None:
    pass
