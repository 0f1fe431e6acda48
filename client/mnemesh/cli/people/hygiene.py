"""Reports on what may be tidied up as lines for people, by the rules of `people`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemesh.api import values
from mnemesh.cli.people.explanations import heat_parts
from mnemesh.cli.people.memories import BOLD, CYAN, DIM, GREEN, YELLOW, clip, lacks, paint
from mnemesh.cli.shell import count_of, one_line
from mnemesh.short_id import shortened


def duplicates(found: values.Duplicates) -> Iterator[str]:
    """Each pair with its similarity, verdict and next command."""
    ids = [memory.id for pair in found.pairs for memory in (pair.older, pair.newer)]
    yield from shortened(_pairs(found), ids)
    yield paint(f"{len(found.pairs)} of {count_of(found.total, 'pair')}", DIM)
    yield from _scope(found.examined, found.unexamined, found.degraded_reasons)


def _pairs(found: values.Duplicates) -> Iterator[str]:
    for pair in found.pairs:
        similarity, verdict = paint(f"{pair.similarity:.2f}", GREEN), paint(one_line(pair.verdict), YELLOW)
        yield f"{similarity}  {verdict}  {one_line(pair.reason)}"
        yield from (_memory(memory) for memory in (pair.older, pair.newer))
        yield f"      {paint(one_line(pair.command), CYAN)}"


def hygiene(found: values.Hygiene) -> Iterator[str]:
    """Each finding with its verdict and next command, then the counts."""
    ids = [id_ for finding in found.findings for id_ in (finding.memory.id, *finding.others)]
    yield from shortened(_findings(found), ids)
    counted = ", ".join(f"{count} {one_line(type_)}" for type_, count in sorted(found.counts.items()) if count)
    yield paint(counted or "nothing to tidy up", DIM)
    yield from _scope(found.examined, found.unexamined, found.degraded_reasons)


def _findings(found: values.Hygiene) -> Iterator[str]:
    for finding in found.findings:
        yield f"{paint(one_line(finding.type), YELLOW)}  {one_line(finding.verdict)}"
        yield _memory(finding.memory)
        for command in finding.choices or (finding.command,):
            yield f"      {paint(one_line(command), CYAN)}"


def _memory(memory: values.TidyMemory) -> str:
    heat = memory.heat
    warm = f"heat {heat.value:.2f} ({heat_parts(heat)})"
    where = paint(f"{memory.id}  {one_line(memory.space)}  {memory.kind}  {warm}", DIM)
    return f"      {paint(clip(one_line(memory.title)), BOLD)}\n      {where}"


def _scope(examined: int, unexamined: int, reasons: Sequence[str]) -> Iterator[str]:
    older = f"; {unexamined} older ones were not, name one space with --space" if unexamined else ""
    yield paint(f"{examined} memories were looked at{older}", DIM)
    yield from lacks(reasons)
