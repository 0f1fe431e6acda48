"""Derived knowledge as lines for people, by the rules of `people`."""

from __future__ import annotations

from collections.abc import Iterator

from mnemesh.api import values
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, clip, lacks, paint
from mnemesh.cli.shell import count_of, one_line
from mnemesh.short_id import short_id

DATE_CHARS = 10


def graph(found: values.Graph) -> Iterator[str]:
    """Each relation with its time and sources, then near entities and memories."""
    kind = f"  {one_line(found.kind)}" if found.kind else ""
    yield paint(one_line(found.name), BOLD) + paint(kind, DIM)
    for relation in found.relations:
        yield from _relation(relation)
    yield paint(f"{len(found.relations)} of {count_of(found.relations_total, 'relation')}", DIM)
    if found.entities:
        near = (f"{one_line(entity.name)} {entity.score:.3f}" for entity in found.entities)
        yield f"near: {', '.join(near)}"
    if found.community is not None:
        size = f"{found.community.entities_total} names, {count_of(found.community.memories_total, 'memory')}"
        yield f"community {found.community.id}, {size}: {', '.join(map(one_line, found.community.entities))}"
    if found.memories:
        yield paint(f"read with: mnemesh get {' '.join(found.memories[:3])}", DIM)
    yield from lacks(found.degraded_reasons)


def graph_audit(found: values.GraphAudit) -> Iterator[str]:
    """Each finding, then the counts."""
    for finding in found.findings:
        sources = " ".join(short_id(id_) for id_ in finding.memories)
        name, detail = clip(one_line(finding.name)), clip(one_line(finding.detail))
        yield f"{paint(one_line(finding.type), YELLOW)}  {name}  {detail}"
        if finding.memories and finding.memories != (finding.name,):
            yield paint(f"    {sources}", DIM)
    counted = ", ".join(f"{count} {one_line(type_)}" for type_, count in sorted(found.counts.items()) if count)
    yield paint(counted or "nothing found", DIM)
    yield paint(_size(found.memories, found.entities, found.relations), DIM)
    if found.made:
        yield paint(f"the graph was made anew: {one_line(found.made)}", YELLOW)
    yield from lacks(found.degraded_reasons)


def causal_chain(found: values.CausalChain) -> Iterator[str]:
    """Causes, effects and open connections with their figures."""
    yield paint(one_line(found.name), BOLD)
    for title, links, arrow in (
        ("caused by", found.causes, "->"),
        ("causes", found.effects, "->"),
        ("connected, direction open", found.linked, "--"),
    ):
        for link in links:
            yield f"  {title}: {one_line(link.cause)} {arrow} {one_line(link.effect)}"
            figures = f"distance {link.distance}, p {link.p_value:.2g}, lift {link.lift:.1f}"
            sources = " ".join(short_id(id_) for id_ in link.memories[:3])
            yield paint(f"      {figures}, {count_of(link.windows, 'window')}: {sources}", DIM)
    if not (found.causes or found.effects or found.linked):
        yield "no causes or effects stand out"
    size = f"{found.windows} windows of {found.window_hours} h, {found.events} events, {found.names} names"
    yield paint(f"{size}; order and frequency are evidence, no proof", DIM)
    yield from lacks(found.degraded_reasons)


def graph_rebuilt(done: values.GraphRebuilt) -> Iterator[str]:
    """The size of the new graph."""
    yield f"made anew: {_size(done.memories, done.entities, done.relations)}"
    yield from lacks(done.degraded_reasons)


def _relation(relation: values.GraphRelation) -> Iterator[str]:
    until = f" until {relation.valid_to.isoformat()[:DATE_CHARS]}" if relation.valid_to else ""
    since = f"since {relation.valid_from.isoformat()[:DATE_CHARS]}" if relation.valid_from else ""
    sources = " ".join(short_id(id_) for id_ in relation.memories[:3])
    yield f"  {clip(one_line(relation.subject))}  {paint(relation.type, YELLOW)}  {clip(one_line(relation.object))}"
    yield paint(f"      {since}{until}  {count_of(relation.memories_total, 'source')}: {sources}", DIM)


def _size(memories: int, entities: int, relations: int) -> str:
    return f"{memories} memories, {entities} entities, {relations} relations"
