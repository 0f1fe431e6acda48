"""The text of the reports on what may be tidied up, beside answer_text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mnemesh_gateway.doors.mcp.data_elements import data_block, defused, element

Json = Mapping[str, Any]


def _tidy(memory: Json, **facts: Any) -> str:
    return element(
        memory["snippet"], id=memory["id"], title=memory["title"], kind=memory["kind"], space=memory["space"],
        heat=f"{memory['heat']['value']:.2f}", **facts,
    )  # fmt: skip


def duplicates(answer: Json) -> str:
    """Pairs, and how many there are."""
    elements = (
        _tidy(pair[side], similarity=f"{pair['similarity']:.2f}", verdict=pair["verdict"], next=pair["command"])
        for pair in answer["pairs"]
        for side in ("older", "newer")
    )
    block = data_block(elements) if answer["pairs"] else "No pairs."
    return f"{block}\n{len(answer['pairs'])} of {answer['total']} pairs.{_scope(answer)}"


def hygiene(answer: Json) -> str:
    """Findings, and how many there are of each type."""
    elements = (
        _tidy(found["memory"], finding=found["type"], verdict=found["verdict"], next=found["command"])
        for found in answer["findings"]
    )
    block = data_block(elements) if answer["findings"] else "Nothing to tidy up."
    counts = ", ".join(f"{count} {type_}" for type_, count in sorted(answer["counts"].items()) if count)
    return f"{block}\nIn all: {counts or 'no findings'}.{_scope(answer)}"


def _scope(answer: Json) -> str:
    """What a report has looked at."""
    more = f" {answer['unexamined']} older memories were not: name one space." if answer["unexamined"] else ""
    incomplete = f" May be incomplete: {'; '.join(answer['degraded_reasons'])}." if answer["degraded"] else ""
    return f" {answer['examined']} memories were looked at.{more}{incomplete}"


def consolidated(answer: Json) -> str:
    """Steps and gaps of a run, and the counts."""
    lines = [_step(step) for step in answer["steps"]]
    lines += [f"{gap['type']}: {defused(gap['text'])} ({gap['count']} times)" for gap in answer["gaps"]]
    done = f"{answer['proposed']} steps would be done" if answer["dry_run"] else f"{answer['applied']} steps applied"
    way = f' Undo with undo_run(run="{answer["run"]}").' if answer["run"] else ""
    incomplete = f" May be incomplete: {'; '.join(answer['degraded_reasons'])}." if answer["degraded"] else ""
    return "\n".join([*lines, f"{answer['read']} new memories of {answer['space']} read, {done}.{way}{incomplete}"])


def runs(answer: Json) -> str:
    """Runs with their steps."""
    return "\n".join(map(_run, answer["runs"])) or "No runs."


def undone(answer: Json) -> str:
    """A run that was taken back."""
    return f"{_run(answer['run'])}\n{answer['undone']} steps undone."


def _run(run: Json) -> str:
    head = f"Run {run['id']} of {run['space']}: {run['state']}, {run['applied']} steps stand."
    return "\n".join([head, *(f"  {_step(step)}" for step in run["steps"])])


def _step(step: Json) -> str:
    return f"{step['action']} {step['id']} <- {', '.join(step['others'])}: {step['why']} ({step['state']})"


FORMS: Final[Mapping[str, Callable[[Json], str]]] = {
    "duplicates": duplicates,
    "hygiene": hygiene,
    "consolidate": consolidated,
    "list_runs": runs,
    "undo_run": undone,
}
