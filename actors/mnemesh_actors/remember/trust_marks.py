"""The trust class of memories: recorded at a write, told when they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemesh_actors.memory_lookup import find_many
from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy import trust
from mnemesh_memory.values.marks import TRUST_ATTR
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch
from mnemesh_memory.values.quick_copy import memory_with


async def trusted(parts: NodePorts, caller: Caller, draft: Draft) -> Draft:
    """A checked draft that records the least trusted of its sources, as far as they are there to be read."""
    named = trust.sources(draft)
    items = await find_many(parts, caller, named, forgotten=True, spaces=(draft.space,)) if named else []
    memories = [item for item in items if isinstance(item, Memory)]
    classes = await classes_of(parts, caller, memories)
    attrs = trust.recording(draft.attrs, classes.values())
    return draft if attrs == draft.attrs else replace(draft, attrs=attrs)


def keeping(patch: Patch, caller: Caller, memory: Memory) -> Patch:
    """A checked patch that keeps the recorded class. New words of another principal than the first writer count as
    granted ones."""
    other = patch.content is not None and principal_of(memory.by) != caller.principal
    stated = memory.attrs if patch.attrs is None else patch.attrs
    recorded = (memory.attrs.get(TRUST_ATTR, ""), trust.GRANTED if other else "")
    attrs = trust.recording(stated, recorded)
    return patch if attrs == stated else replace(patch, attrs=attrs)


async def classes_of(parts: NodePorts, caller: Caller, memories: Sequence[Memory]) -> dict[str, str]:
    """The class of each memory for the caller, by id."""
    ids = [memory.id for memory in memories]
    brought = set(await parts.ledger.from_peers(ids, parts.node_id)) if ids else set()
    return {memory.id: trust.of(memory, memory.id in brought, caller.principal) for memory in memories}


async def with_trust(parts: NodePorts, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
    """The memories, each with its class."""
    classes = await classes_of(parts, caller, memories)
    return [memory_with(memory, trust=classes[memory.id]) for memory in memories]
