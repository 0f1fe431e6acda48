"""One run: pairs from the node's reports, the model's proposals, and their effect.

A memory that changed meanwhile is left as it is.

The writer is a client of its own name, so the history tells its writes. A memory of kind run says what was done and
why, and how to take it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mnemesh.api.json_form import rfc3339
from mnemesh.errors import MnemeshError
from mnemesh.reconciling.proposals import (
    FORGET,
    MERGE,
    PAIRS_MAX,
    AskedPair,
    ProposedOperation,
    ShownMemory,
    messages,
    proposals,
)
from mnemesh.transport.chat_endpoint import ChatEndpoint

if TYPE_CHECKING:
    from mnemesh.api import values
    from mnemesh.api.client import Client

AGENT: Final = "reconcile"
PROPOSED, DONE = "proposed", "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """The proposals of a run, and their fate. `record` is the id of the memory that tells of it, "" without one."""

    pairs: int
    operations: tuple[ProposedOperation, ...]
    applied: bool
    fault: str = ""  # Why the answer of the model was of no use.
    record: str = ""


def reconcile(client: Client, model: ChatEndpoint, space: str, *, apply: bool) -> Reconciled:
    """Ask the model about the duplicates and contradictions of a space, and with `apply` do what passes the rails.
    Raises what the client and the endpoint raise."""
    pairs = pairs_of(client, space)
    if not pairs:
        return Reconciled(pairs=0, operations=(), applied=False)
    reply = model.answer(messages(pairs))
    try:
        proposed = proposals(reply, pairs)
    except ValueError as error:
        return Reconciled(pairs=len(pairs), operations=(), applied=False, fault=f"the answer is not usable: {error}")
    if not apply:
        return Reconciled(pairs=len(pairs), operations=tuple(proposed), applied=False)
    seen = {memory.id: memory for pair in pairs for memory in (pair.older, pair.newer)}
    done = [_done(client, proposal, seen) if proposal.state == PROPOSED else proposal for proposal in proposed]
    return Reconciled(pairs=len(pairs), operations=tuple(done), applied=True, record=_record(client, space, done))


def pairs_of(client: Client, space: str) -> list[AskedPair]:
    """The duplicates and contradictions of a space, with their whole texts."""
    named = [(pair.older.id, pair.newer.id, pair.reason) for pair in client.duplicates(space=space).pairs]
    named += [
        (finding.memory.id, other, finding.verdict)
        for finding in client.hygiene(space=space).findings
        if finding.type == "contradiction"
        for other in finding.others
    ]
    unique = {frozenset(row[:2]): row for row in named}
    chosen = list(unique.values())[:PAIRS_MAX]
    ids = list(dict.fromkeys(id_ for row in chosen for id_ in row[:2]))
    memories = {memory.id: memory for memory in client.get_many(ids).memories} if ids else {}
    both = ((memories.get(one), memories.get(other), why) for one, other, why in chosen)
    return [_pair(one, other, why) for one, other, why in both if one and other and one.space == other.space == space]


def _pair(one: values.Memory, other: values.Memory, why: str) -> AskedPair:
    older, newer = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    return AskedPair(_shown(older), _shown(newer), why)


def _shown(memory: values.Memory) -> ShownMemory:
    kept = memory.tier == "pinned" or bool(memory.conflicts) or not {"trigger", "rule"}.isdisjoint(memory.tags)
    return ShownMemory(
        memory.id, memory.content, rfc3339(memory.created_at) if memory.created_at else "", kept, tuple(memory.heads)
    )


def _done(client: Client, proposal: ProposedOperation, seen: dict[str, ShownMemory]) -> ProposedOperation:
    """Carry out a proposal, if both memories still are what the model saw."""
    try:
        for memory in client.get_many([proposal.id, proposal.other]).memories:
            if tuple(memory.heads) != seen[memory.id].heads or memory.state != "active":
                return replace(proposal, state="not done: a memory changed meanwhile")
        if proposal.op == FORGET:
            client.forget(proposal.id)
        elif proposal.op == MERGE:
            attrs = {"reconcile.reason": proposal.reason}
            client.supersede(proposal.other, proposal.content, supersedes=[proposal.id], attrs=attrs)
        else:
            client.link(proposal.other, "contradicts", proposal.id)
            client.resolve(proposal.id, other=proposal.other, keep=proposal.other)
    except MnemeshError as error:
        return replace(proposal, state=f"not done: {error.message}")
    return replace(proposal, state=DONE)


def _record(client: Client, space: str, done: Sequence[ProposedOperation]) -> str:
    lines = [
        f"{act.op} {act.id} ({act.reason}); undo with `mnemesh restore {act.id}`" for act in done if act.state == DONE
    ]
    if not lines:
        return ""
    text = "\n".join(("Reconciled with a language model:", *lines))
    return client.remember(text, kind="run", tier="archive", space=space, force=True).memory.id
