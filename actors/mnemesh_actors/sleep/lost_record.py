"""Runs of consolidation out of the log, for a lost record: the steps that stand, so that a run can be undone.

The log tells writer, time and change, and no run. Writes of consolidation in one space without a pause of
RUN_PAUSE_MS are taken for one run. A step that was undone before has left nothing, except a forgotten promotion.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.sleep.plan_input import log_pages
from mnemesh_crdt.document.blame import blamed
from mnemesh_crdt.document.revisions import shown
from mnemesh_crdt.document.shape import FORGET
from mnemesh_memory.consolidation.derived_id import is_sleep
from mnemesh_memory.consolidation.steps import (
    APPLIED,
    DONE,
    EXTEND,
    LINK,
    MERGE,
    PROMOTE,
    PROMOTED,
    UNDONE,
    Run,
    Step,
)
from mnemesh_memory.policy.validity import SUPERSEDES
from mnemesh_memory.values.memory_links import DERIVED_FROM, SEE_ALSO
from mnemesh_memory.values.model import Memory
from mnemesh_memory.values.past import BlamedField

RUN_PAUSE_MS: Final = 60_000
ID_CHARS: Final = 16
WHY: Final = "read from the log, because the record was lost"
_ACTIONS: Final = {SUPERSEDES: MERGE, SEE_ALSO: LINK, DERIVED_FROM: EXTEND}
Timed = tuple[int, Step]


async def runs_of_log(parts: NodePorts) -> list[Run]:
    """The runs of this node with their steps, the oldest first."""
    written: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)  # by space and agent: first write of each
    async for page in log_pages(parts, 0):
        for entry in page.entries:
            if is_sleep(entry.agent) and not entry.origin and not entry.erased:
                written[entry.space, entry.agent].setdefault(entry.id, entry.at)
    runs: list[Run] = []
    for (space, agent), ids in written.items():
        memories = await parts.ledger.read(list(ids))
        steps: list[Timed] = []
        for id_, memory in memories.items():
            state, origins = await parts.ledger.past(id_)
            revision = shown(state)
            fields = () if revision.op == FORGET else blamed(state, revision.id, origins)[1]
            steps += _steps(memory, [field for field in fields if field.by == agent], ids[id_], agent)
        runs += _runs(space, agent, sorted(steps, key=lambda timed: timed[0]))
    return sorted(runs, key=lambda run: run.started_at)


def _steps(memory: Memory, put: list[BlamedField], at: int, agent: str) -> Iterator[Timed]:
    """The steps that left `put` on a memory, whose first write by consolidation was `at`."""
    links: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for field in put:
        type_, _, target = field.value.partition(":")
        if field.field.startswith("links.") and type_ in _ACTIONS:
            links[field.at, type_].append(target)
    if memory.by == agent and PROMOTED in memory.attrs:
        first = min((when for when, type_ in links if type_ == DERIVED_FROM), default=at)
        state = UNDONE if memory.state == "forgotten" else APPLIED
        sources = tuple(links.pop((first, DERIVED_FROM), ()))
        yield at, Step(action=PROMOTE, id=memory.id, others=sources, why=WHY, state=state)
    for (when, type_), targets in links.items():
        tags = tuple(part.value for part in put if part.field.startswith("tags.") and part.at == when)
        own = tags if type_ == SUPERSEDES else ()
        yield when, Step(action=_ACTIONS[type_], id=memory.id, others=tuple(targets), why=WHY, tags=own, state=APPLIED)


def _runs(space: str, agent: str, steps: list[Timed]) -> Iterator[Run]:
    begun = [place for place, (at, _) in enumerate(steps) if not place or at - steps[place - 1][0] > RUN_PAUSE_MS]
    for first, end in zip(begun, [*begun[1:], len(steps)], strict=True):
        started = steps[first][0]
        own = tuple(step for _, step in steps[first:end])
        yield Run(
            id=f"{started:011x}{hashlib.sha256(f'{space}|{started}'.encode()).hexdigest()[:ID_CHARS]}",
            space=space,
            by=agent,
            state=DONE if any(step.state == APPLIED for step in own) else UNDONE,
            started_at=started,
            ended_at=steps[end - 1][0],
            steps=own,
        )
