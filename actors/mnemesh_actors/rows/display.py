"""The shown form of memories by their heat: whole, gist or tags. The ledger keeps every text; a form is not stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mnemesh_actors.node_ports import NodePorts
from mnemesh_memory.policy.dynamics import forgetting
from mnemesh_memory.policy.dynamics.heat import HalfLives, heat_of
from mnemesh_memory.values.model import Memory

# So many characters of an id tell it from any other of a node, as in the command line.
ID_CHARS: Final = 13
# Longer texts are shortened in a thread, because a text of 32 kB takes some 15 ms.
HERE_CHARS_MAX: Final = 64_000


async def displayed(parts: NodePorts, memories: Sequence[Memory], question: str = "", *, but: str = "") -> list[Memory]:
    """The same memories in the form that their heat allows. The memory with the id `but` stays whole. The ledger is
    asked only about the uses of memories that would be shortened without them."""
    if not parts.config.shows_gists:
        return list(memories)
    now, half_lives = parts.clock(), parts.config.half_lives
    cold = [memory.id for memory in memories if memory.id != but and _is_cold(memory, now, half_lives)]
    if not cold:
        return list(memories)
    used = await parts.ledger.activity(cold)

    def forms() -> list[Memory]:
        return [
            shortened(memory, heat_of(memory, used, now, half_lives).value, question) if memory.id in cold else memory
            for memory in memories
        ]

    long = sum(len(memory.content) for memory in memories) > HERE_CHARS_MAX
    return await asyncio.to_thread(forms) if long else forms()


def _is_cold(memory: Memory, now: int, half_lives: HalfLives) -> bool:
    # Short texts are told first, because heat reads the whole text for words of good and bad outcomes.
    if (
        forgetting.is_short(memory)
        or forgetting.level_of(heat_of(memory, {}, now, half_lives).value) == forgetting.FULL
    ):
        return False
    return not forgetting.is_kept_whole(memory)


def shortened(memory: Memory, heat: float, question: str = "") -> Memory:
    """A memory in the form of its heat, with a note on the way to the whole text."""
    form = forgetting.shown(memory.content, heat, question)
    if form.level == forgetting.FULL:
        return memory
    note = f"{form.level}; full text: mnemesh get {memory.id[:ID_CHARS]}"
    return replace(memory, content=form.text, shown=form.level, notes=(*memory.notes, note))
