"""Derived knowledge as lines for people, by the rules of `people`.

Views of whole spaces as lines for people, by the rules of `people`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemesh.api import values
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, clip, lacks, paint, shown_time
from mnemesh.cli.shell import NODE_OPTIONS, count_of, one_line
from mnemesh.short_id import short_id, with_short_ids

DATE_CHARS = 10
NEAR_MIN = 0.0005  # less is shown as nothing


def graph(answer: values.Graph) -> Iterator[str]:
    """Each relation with its time and sources, then near entities and memories."""
    kind = f"  {one_line(answer.kind)}" if answer.kind else ""
    yield paint(one_line(answer.name), BOLD) + paint(kind, DIM)
    for relation in answer.relations:
        yield from _relation(relation)
    yield paint(f"{len(answer.relations)} of {count_of(answer.relations_total, 'relation')}", DIM)
    if answer.entities:
        near = [f"{one_line(entity.name)} {entity.score:.3f}" for entity in answer.entities if entity.score >= NEAR_MIN]
        yield f"near: {', '.join(near) or 'nothing'}"
    if answer.community is not None:
        size = f"{answer.community.entities_total} names, {count_of(answer.community.memories_total, 'memory')}"
        yield f"community {answer.community.id}, {size}: {', '.join(map(one_line, answer.community.entities))}"
    if answer.memories:
        yield paint(f"read with: mnemesh get{NODE_OPTIONS} {' '.join(answer.memories[:3])}", DIM)
    yield from lacks(answer.degraded_reasons)


def graph_audit(answer: values.GraphAudit) -> Iterator[str]:
    """Each finding, then the counts."""
    for finding in answer.findings:
        sources = " ".join(short_id(id_) for id_ in finding.memories)
        name = with_short_ids(clip(one_line(finding.name)))
        detail = clip(one_line(finding.detail))
        yield f"{paint(one_line(finding.type), YELLOW)}  {name}  {detail}"
        if finding.memories and finding.memories != (finding.name,):
            yield paint(f"    {sources}", DIM)
    counted = ", ".join(f"{count} {one_line(type_)}" for type_, count in sorted(answer.counts.items()) if count)
    yield paint(counted or "nothing found", DIM)
    yield paint(_size(answer.memories, answer.entities, answer.relations), DIM)
    if answer.made:
        yield paint(f"the graph was made anew: {one_line(answer.made)}", YELLOW)
    yield from lacks(answer.degraded_reasons)


def causal_chain(answer: values.CausalChain) -> Iterator[str]:
    """Causes, effects and open connections with their figures."""
    yield paint(one_line(answer.name), BOLD)
    for title, links, arrow in (
        ("caused by", answer.causes, "->"),
        ("causes", answer.effects, "->"),
        ("connected, direction open", answer.linked, "--"),
    ):
        for link in links:
            yield f"  {title}: {one_line(link.cause)} {arrow} {one_line(link.effect)}"
            figures = f"distance {link.distance}, p {link.p_value:.2g}, lift {link.lift:.1f}"
            sources = " ".join(short_id(id_) for id_ in link.memories[:3])
            yield paint(f"      {figures}, {count_of(link.windows, 'window')}: {sources}", DIM)
    if not (answer.causes or answer.effects or answer.linked):
        yield "no causes or effects stand out"
    size = f"{answer.windows} windows of {answer.window_hours} h, {answer.events} events, {answer.names} names"
    yield paint(f"{size}; order and frequency are evidence, no proof", DIM)
    yield from lacks(answer.degraded_reasons)


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


def story(tale: values.Story) -> Iterator[str]:
    """A line for each event. A blank line divides chapters."""
    for place, event in enumerate(tale.sentences):
        if place and place in tale.chapters:
            yield ""
        yield f"{shown_time(event.at)[:10]}  {one_line(event.text)}  {paint(_ids(event.ids), DIM)}"
    counted = f"{count_of(len(tale.sentences), 'sentence')} from {tale.examined} memories, {tale.left_out} not told"
    yield paint(counted, DIM)
    yield from lacks(tale.degraded_reasons)


def gaps(answer: values.Gaps) -> Iterator[str]:
    """A line for each open point."""
    for point in answer.gaps:
        count = f"in {count_of(point.count, 'memory')}" if point.type == "unexplained" else "without an answer"
        yield f"{paint(point.type, YELLOW)}  {clip(one_line(point.text))}  {count}  {paint(_ids(point.ids), DIM)}"
    counted = f"{len(answer.gaps)} of {count_of(answer.total, 'open point')}" if answer.total else "no open points"
    yield paint(f"{counted}; {answer.examined} memories looked at", DIM)
    yield from lacks(answer.degraded_reasons)


def coverage(answer: values.Coverage) -> Iterator[str]:
    """The share, the words that are missing, and what answers best."""
    unknown = f"  probably not known (probability of an answer {answer.answered:.2f})" if answer.abstain else ""
    yield f"covered: {answer.coverage:.2f}{unknown}"
    if answer.missing_terms:
        yield f"not in the best results: {', '.join(map(one_line, answer.missing_terms))}"
    if answer.ids:
        yield paint(f"read with: mnemesh get{NODE_OPTIONS} {' '.join(answer.ids[:3])}", DIM)
    yield from lacks(answer.degraded_reasons)


def clusters(page: values.Clusters, where: str = "") -> Iterator[str]:
    """Each topic with its most typical memories. `where` are the options that lead to the same topics."""
    for topic in page.clusters:
        yield from _cluster(topic)
    yield paint(f"{len(page.clusters)} of {count_of(page.total, 'topic')}; {page.examined} memories looked at", DIM)
    if page.clusters:
        yield paint(f"go on with: mnemesh drill-down {page.clusters[0].id}{where}", DIM)
    yield from lacks(page.degraded_reasons)


def drilled(answer: values.Drilled) -> Iterator[str]:
    """The topic, the topics within, its memories."""
    yield from _cluster(answer.cluster, examples=False)
    for topic in answer.children:
        yield from (f"  {line}" for line in _cluster(topic))
    for id_, example in zip(answer.memories, answer.examples, strict=False):
        yield f"{short_id(id_)}  {clip(one_line(example))}"
    yield from lacks(answer.degraded_reasons)


def room(answer: values.Room) -> Iterator[str]:
    """The start, then each memory with why it is near."""
    for point in answer.points:
        near = paint("start", YELLOW) if point.start else f"{point.score:.3f}"
        yield f"{near}  {short_id(point.id)}  {clip(one_line(point.text))}"
        for reason in point.reasons:
            yield paint(f"    {with_short_ids(reason)}", DIM)
    if all(point.start for point in answer.points):
        nothing = "no memory answers this, or none were used together yet"
        what = "nothing else was used together with this" if answer.points else nothing
        yield f"{what}; `mnemesh related{NODE_OPTIONS} ID` shows what is alike"
    yield paint(f"{count_of(answer.examined, 'pair')} of memories looked at", DIM)
    yield from lacks(answer.degraded_reasons)


def _cluster(topic: values.Cluster, *, examples: bool = True) -> Iterator[str]:
    score = f"{topic.score:.2f}  " if topic.score else ""
    head = f"{count_of(topic.size, 'memory')}  {paint(topic.id, DIM)}"
    yield f"{score}{paint(one_line(topic.label) or '(no words)', BOLD)}  {head}"
    for example in topic.examples if examples else ():
        yield f"    {clip(one_line(example))}"


def _ids(ids: Sequence[str]) -> str:
    return " ".join(short_id(id_) for id_ in ids[:3])
