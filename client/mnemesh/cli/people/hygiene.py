"""Reports on what may be tidied up, and runs of consolidation, as lines for people, by the rules of `people`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh.api import values
from mnemesh.cli.people.explanations import heat_parts
from mnemesh.cli.people.memories import BOLD, CYAN, DIM, GREEN, YELLOW, clip, lacks, paint
from mnemesh.cli.shell import NODE_OPTIONS, count_of, of_this_node, one_line
from mnemesh.short_id import short_id, shortened, with_short_ids


def duplicates(answer: values.Duplicates) -> Iterator[str]:
    """Each pair with its similarity, verdict and next command."""
    ids = [memory.id for pair in answer.pairs for memory in (pair.older, pair.newer)]
    yield from shortened(_pairs(answer), ids)
    yield paint(f"{len(answer.pairs)} of {count_of(answer.total, 'pair')}", DIM)
    yield from _scope(answer.examined, answer.unexamined, answer.degraded_reasons)


def _pairs(answer: values.Duplicates) -> Iterator[str]:
    for pair in answer.pairs:
        similarity, verdict = paint(f"{pair.similarity:.2f}", GREEN), paint(one_line(pair.verdict), YELLOW)
        yield f"{similarity}  {verdict}  {one_line(pair.reason)}"
        yield from (_memory(memory) for memory in (pair.older, pair.newer))
        yield f"      {paint(of_this_node(pair.command), CYAN)}"


def hygiene(answer: values.Hygiene) -> Iterator[str]:
    """Each finding with its verdict and next command, then the counts."""
    ids = [id_ for finding in answer.findings for id_ in (finding.memory.id, *finding.others)]
    yield from shortened(_findings(answer), ids)
    counted = ", ".join(f"{count} {one_line(type_)}" for type_, count in sorted(answer.counts.items()) if count)
    yield paint(counted or "nothing to tidy up", DIM)
    yield from _scope(answer.examined, answer.unexamined, answer.degraded_reasons)


def _findings(answer: values.Hygiene) -> Iterator[str]:
    for finding in answer.findings:
        yield f"{paint(one_line(finding.type), YELLOW)}  {one_line(finding.verdict)}"
        yield _memory(finding.memory)
        for command in finding.choices or (finding.command,):
            yield f"      {paint(of_this_node(command), CYAN)}"


def _memory(memory: values.TidyMemory) -> str:
    heat = memory.heat
    warm = f"heat {heat.value:.2f} ({heat_parts(heat)})"
    where = paint(f"{memory.id}  {one_line(memory.space)}  {memory.kind}  {warm}", DIM)
    return f"      {paint(clip(one_line(memory.title)), BOLD)}\n      {where}"


def _scope(examined: int, unexamined: int, reasons: Sequence[str]) -> Iterator[str]:
    older = f"; {unexamined} older ones were not, name one space with --space" if unexamined else ""
    yield paint(f"{examined} memories were looked at{older}", DIM)
    yield from lacks(reasons)


CARRIED_OUT: Final = ("applied", "undone")


def consolidated(done: values.Consolidation) -> Iterator[str]:
    """Each step and each gap, then the counts."""
    yield from _steps(done.steps)
    for gap in done.gaps:
        yield f"{paint(one_line(gap.type), YELLOW)}  {one_line(gap.text)}  {paint(count_of(gap.count, 'time'), DIM)}"
    what = "would be done" if done.dry_run else "applied"
    count = done.proposed if done.dry_run else done.applied
    counted = ", ".join(f"{number} {one_line(action)}" for action, number in sorted(done.counts.items()) if number)
    summary = f"{count_of(done.read, 'memory')} looked at, {count_of(count, 'step')} {what}"
    yield paint(f"{summary} in {one_line(done.space)}{f': {counted}' if counted else ''}", DIM)
    if done.run:
        yield paint(f"undo with: mnemesh consolidate{NODE_OPTIONS} --undo {one_line(done.run)}", CYAN)
    yield from lacks(done.degraded_reasons)


def runs(answer: values.Runs) -> Iterator[str]:
    """Each run with its steps."""
    for run in answer.runs:
        yield from _run(run)
    if not answer.runs:
        yield "no run has changed anything yet; `mnemesh consolidate` begins one"


def undone(done: values.UndoneRun) -> Iterator[str]:
    """The run, and how much of it was taken back."""
    yield from _run(done.run)
    yield paint(f"{count_of(done.undone, 'step')} undone", DIM)


def _run(run: values.SleepRun) -> Iterator[str]:
    when = run.started_at.isoformat(timespec="seconds") if run.started_at else ""
    # Of an undone run no step stands any more, so those that it had count too.
    steps = sum(step.state in CARRIED_OUT for step in run.steps)
    about = f"{one_line(run.space)}  {one_line(run.state)}  {count_of(steps, 'step')}"
    yield f"{paint(one_line(run.id), BOLD)}  {when}  {about}"
    yield from _steps(run.steps)


def _steps(steps: Sequence[values.SleepStep]) -> Iterator[str]:
    for step in steps:
        state = "" if step.state == "applied" else f"  ({one_line(step.state)})"
        why = with_short_ids(one_line(step.why))
        yield f"{paint(one_line(step.action), YELLOW)}  {short_id(step.id)}  {why}{state}"
        yield paint(f"      {' '.join(map(short_id, step.others))}", DIM)
