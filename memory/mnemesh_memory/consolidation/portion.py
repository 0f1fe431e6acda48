"""The plan for a portion of a space: merges, promotions, links and gaps. The whole work of an astrocyte."""

from __future__ import annotations

from mnemesh_memory.consolidation.domains import domain_table
from mnemesh_memory.consolidation.gaps import uses
from mnemesh_memory.consolidation.merging import merges
from mnemesh_memory.consolidation.promotion import promotions
from mnemesh_memory.consolidation.replay import links
from mnemesh_memory.consolidation.steps import MERGE, Portion, Proposal, Step


def plan(portion: Portion) -> Proposal:
    """The steps for a portion, in the order in which they are carried out. The same portion gives the same plan."""
    domain = domain_table.named(portion.domain)
    steps: list[Step] = list(merges(portion, domain))
    hidden = {id_ for step in steps if step.action == MERGE for id_ in step.others}
    made = []
    for step, promoted in promotions(portion):
        steps.append(step)
        if promoted is not None:
            made.append(promoted)
    steps += links(portion, domain, hidden)
    fresh = [portion.memories[id_] for id_ in portion.fresh if id_ in portion.memories]
    used, explained = uses(fresh, domain)
    return Proposal(steps=tuple(steps), promotions=tuple(made), uses=used, explained=explained)
