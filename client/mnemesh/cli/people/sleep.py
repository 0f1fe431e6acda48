"""Runs of consolidation as lines for people, by the rules of `people`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh.api import values
from mnemesh.cli.people.memories import BOLD, CYAN, DIM, YELLOW, lacks, paint
from mnemesh.cli.shell import count_of, one_line
from mnemesh.short_id import short_id, with_short_ids

CARRIED_OUT: Final = ("applied", "undone")


def consolidated(done: values.Consolidation) -> Iterator[str]:
    """Each step and each gap, then the counts."""
    yield from _steps(done.steps)
    for gap in done.gaps:
        yield f"{paint(one_line(gap.type), YELLOW)}  {one_line(gap.text)}  {paint(count_of(gap.count, 'time'), DIM)}"
    what = "would be done" if done.dry_run else "applied"
    count = done.proposed if done.dry_run else done.applied
    counted = ", ".join(f"{number} {one_line(action)}" for action, number in sorted(done.counts.items()) if number)
    told = f"{count_of(done.read, 'memory')} looked at, {count_of(count, 'step')} {what}"
    yield paint(f"{told} in {one_line(done.space)}{f': {counted}' if counted else ''}", DIM)
    if done.run:
        yield paint(f"undo with: mnemesh consolidate --undo {one_line(done.run)}", CYAN)
    yield from lacks(done.degraded_reasons)


def runs(found: values.Runs) -> Iterator[str]:
    """Each run with its steps."""
    for run in found.runs:
        yield from _run(run)
    if not found.runs:
        yield "no run has changed anything yet; `mnemesh consolidate` begins one"


def undone(done: values.UndoneRun) -> Iterator[str]:
    """The run, and how much of it was taken back."""
    yield from _run(done.run)
    yield paint(f"{count_of(done.undone, 'step')} undone", DIM)


def _run(run: values.SleepRun) -> Iterator[str]:
    when = run.started_at.isoformat(timespec="seconds") if run.started_at else ""
    # Of an undone run no step stands any more, so those that it had count too.
    steps = sum(step.state in CARRIED_OUT for step in run.steps)
    told = f"{one_line(run.space)}  {one_line(run.state)}  {count_of(steps, 'step')}"
    yield f"{paint(one_line(run.id), BOLD)}  {when}  {told}"
    yield from _steps(run.steps)


def _steps(steps: Sequence[values.SleepStep]) -> Iterator[str]:
    for step in steps:
        state = "" if step.state == "applied" else f"  ({one_line(step.state)})"
        why = with_short_ids(one_line(step.why))
        yield f"{paint(one_line(step.action), YELLOW)}  {short_id(step.id)}  {why}{state}"
        yield paint(f"      {' '.join(map(short_id, step.others))}", DIM)
