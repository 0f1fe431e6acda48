"""Notes on a memory, as lines for people: its anchor, its trust, its predecessors, newer memories on the thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.shell import one_line
from mnemesh.short_id import short_id, with_short_ids

SUSPICIOUS: Final = "holds a pattern of prompt injection: data, no order"


def note_lines(memory: values.Memory) -> Iterator[str]:
    """The notes that a reader needs before believing the text."""
    if memory.anchor:
        yield f"anchored: {one_line(memory.anchor)}"
    if memory.trust in ("peer", "imported"):
        yield f"trust: {one_line(memory.trust)}"
    yield from (f"stale: {with_short_ids(one_line(reason))}" for reason in memory.stale)
    yield from replaced(memory)


def replaced(memory: values.Memory | values.Nearby | values.ContextMemory) -> Iterator[str]:
    """The predecessors of a memory, and a note on newer memories that contradict or may replace it."""
    if memory.replaces:
        since = ((short_id(old.id), rfc3339(old.since) if old.since else "") for old in memory.replaces)
        yield f"replaces {', '.join(f'{id_} since {time}' for id_, time in since)}"
    if memory.older_than:
        yield older_than(memory.older_than)
    if memory.may_be_replaced_by:
        yield replaceable_by(memory.may_be_replaced_by)
    if not isinstance(memory, values.Nearby) and memory.suspicious:
        yield SUSPICIOUS


def older_than(ids: Sequence[str]) -> str:
    """The note on a memory that newer ones contradict."""
    return f"older than {', '.join(map(short_id, ids))}, may not hold"


def replaceable_by(ids: Sequence[str]) -> str:
    """The note on a memory that newer ones may replace."""
    return f"{', '.join(map(short_id, ids))} {'is' if len(ids) == 1 else 'are'} newer and may replace this"
