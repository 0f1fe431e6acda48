"""Ids of promoted facts: a function of the group, so peers with the same group write the same change.

Everything in the change follows from the group: id, author of the change, time and text. Two nodes of one principal
with the same episodes write equal bytes, and equal bytes are one change. Groups that differ in a member give two facts,
and the next run merges these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from mnemesh_memory.consolidation.steps import CLIENT, Promotion
from mnemesh_memory.values.ids import derived_id, hashed

NAMESPACE: Final = "mnemesh promotion"


def sleep_agent(principal: str) -> str:
    """The name that consolidation writes under."""
    return f"{principal}/{CLIENT}"


def is_sleep(agent: str) -> bool:
    """Whether consolidation wrote under this name, here or on a peer."""
    return agent.endswith(f"/{CLIENT}")


def promotion(
    space: str,
    principal: str,
    *,
    content: str,
    kind: str,
    tags: Sequence[str],
    sources: Sequence[str],
    at: int,
    trust: str = "",
) -> Promotion:
    """The fact of these sources. `at` (ms) is the time of the latest source, `trust` the least class of the sources."""
    ordered = tuple(sorted(sources))
    mark = hashed(NAMESPACE, "mark", space, trust, *ordered)[:16].hex()
    canonical = json.dumps([space, principal, content, kind, sorted(tags), ordered, at, trust], ensure_ascii=False)
    return Promotion(
        id=derived_id(space, principal, mark),
        mark=mark,
        actor=hashed(NAMESPACE, "actor", canonical)[:16],
        at=at,
        content=content,
        kind=kind,
        tags=tuple(sorted(tags)),
        sources=ordered,
        trust=trust,
    )


def step_actor(run: str, number: int) -> bytes:
    """The author of the change of step `number` of a run: a step that is carried out twice is one change."""
    return hashed(NAMESPACE, "step", run, number)[:16]
