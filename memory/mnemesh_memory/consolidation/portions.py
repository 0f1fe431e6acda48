"""The memories that are new in a space, split by domain: the work that goes to the astrocytes.

The plan for a portion of a space: merges, promotions, links and gaps. The whole work of an astrocyte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemesh_memory.consolidation import domains
from mnemesh_memory.consolidation.domains import domain_of
from mnemesh_memory.consolidation.gaps import uses
from mnemesh_memory.consolidation.merging import merges
from mnemesh_memory.consolidation.promotion import EPISODE, TOPIC_COSINE, promotions
from mnemesh_memory.consolidation.replay import links
from mnemesh_memory.consolidation.steps import MERGE, PROMOTE, Portion, Promotion, Proposal, Step
from mnemesh_memory.values.model import Memory

Near = Mapping[str, tuple[tuple[str, float], ...]]


def portions(
    space: str,
    principal: str,
    fresh: Sequence[str],
    memories: Mapping[str, Memory],
    near: Near,
    derived: Mapping[str, tuple[str, ...]],
    trust: Mapping[str, str],
) -> list[Portion]:
    """A portion for each domain that has new memories. Episodes about one event go to one domain."""
    members: dict[str, list[str]] = {}
    for id_ in fresh:
        if id_ in memories:
            members.setdefault(_domain(id_, memories, near), []).append(id_)
    made = []
    for domain, ids in sorted(members.items()):
        own = dict.fromkeys([*ids, *(other for id_ in ids for other, _ in near.get(id_, ()))])
        sources = [link.id for id_ in own if id_ in memories for link in memories[id_].links]
        facts = [fact for source in (*own, *sources) for fact in derived.get(source, ())]
        made.append(
            Portion(
                space=space,
                principal=principal,
                domain=domain,
                fresh=tuple(ids),
                memories={id_: memories[id_] for id_ in (*own, *facts) if id_ in memories},
                near={id_: near[id_] for id_ in own if id_ in near},
                trust={id_: trust[id_] for id_ in own if id_ in trust},
                derived={source: derived[source] for source in (*own, *sources) if source in derived},
            )
        )
    return made


def joined(proposals: Sequence[Proposal]) -> tuple[list[Step], dict[str, Promotion]]:
    """The steps of several astrocytes, each once. Of two facts from one source the first stays."""
    steps: list[Step] = []
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    sources: set[str] = set()
    facts = {made.id: made for proposal in proposals for made in proposal.promotions}
    for step in (step for proposal in proposals for step in proposal.steps):
        key = step.action, step.id, step.others
        if key in seen or (step.action == PROMOTE and not sources.isdisjoint(step.others)):
            continue
        seen.add(key)
        if step.action == PROMOTE:
            sources.update(step.others)
        steps.append(step)
    return steps, facts


def _domain(id_: str, memories: Mapping[str, Memory], near: Near) -> str:
    memory = memories[id_]
    if memory.kind != EPISODE:
        return domain_of(memory).name
    group = [
        other
        for other, cosine in near.get(id_, ())
        if cosine >= TOPIC_COSINE and other in memories and memories[other].kind == EPISODE
    ]
    return domain_of(memories[min((id_, *group))]).name


def plan(portion: Portion) -> Proposal:
    """The steps for a portion, in the order in which they are carried out. The same portion gives the same plan."""
    domain = domains.named(portion.domain)
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
