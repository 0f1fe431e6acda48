"""The text of contexts, checkpoints, records of sessions and requirements, beside answer_text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mnemesh_gateway.doors.mcp.answers.data_elements import data_block, element, standing, to_the_second
from mnemesh_gateway.doors.mcp.answers.history_text import more, named

Json = Mapping[str, Any]


def _context(answer: Json) -> str:
    lines = []
    elements = [
        element(
            memory["content"],
            group=group["name"],
            **named(memory, "id", "kind", "title"),
            updated=to_the_second(memory.get("updated_at", "")),
            **standing(memory),
        )
        for group in answer["groups"]
        for memory in group["memories"]
    ]
    if checkpoint := answer.get("checkpoint"):
        elements.insert(0, _checkpoint_element(checkpoint))
    lines.append(data_block(elements) if elements else "Nothing new." if answer.get("continued") else "Nothing yet.")
    if answer.get("degraded"):
        lines.append(f"May be incomplete: {'; '.join(answer['degraded'])}.")
    return "\n".join(lines)


def _checkpointed(answer: Json) -> str:
    return (
        f"Stored as number {answer['checkpoint']['number']}.\n{data_block([_checkpoint_element(answer['checkpoint'])])}"
    )


def _checkpoint_element(checkpoint: Json) -> str:
    parts = [checkpoint["task"]]
    parts += [
        f"{name}: {'; '.join(checkpoint[name])}"
        for name in ("questions", "next_steps", "decisions", "errors", "files")
        if checkpoint[name]
    ]
    text = "\n".join(filter(None, (*parts, checkpoint["custom"])))
    return element(text, "checkpoint", **named(checkpoint, "id", "session", "by"), at=to_the_second(checkpoint["at"]))


def _seeded(answer: Json) -> str:
    """The seeds, whose words are those of files. Then what was done."""
    elements = [
        element(seed["content"], "seed", **named(seed, "topic", "action", "id"), files=", ".join(seed["files"]))
        for seed in answer["seeds"]
    ]
    block = data_block(elements) if elements else "Nothing to say of this project."
    stored = "Nothing was stored" if answer["dry_run"] else f"Stored in {answer['space']}"
    return f"{block}\n{stored}; {answer['files_read']} files read in {answer['dir']}."


def _runs(answer: Json) -> str:
    shown = answer["runs"] if "runs" in answer else [answer["run"]]
    elements = (
        element(
            run["content"],
            **named(run, "id", "session", "status", "model", "prompt_id"),
            tokens=f"{run['tokens_in']} in, {run['tokens_cached']} cached, {run['tokens_out']} out",
            at=to_the_second(run["at"]),
        )
        for run in shown
    )
    return data_block(elements) + _count(answer, shown) if shown else "No sessions."


def _requirements(answer: Json) -> str:
    shown = answer["requirements"] if "requirements" in answer else [answer["requirement"]]
    elements = (element(requirement["content"], **named(requirement, "id", "status", "note")) for requirement in shown)
    return data_block(elements) + _count(answer, shown) if shown else "No requirements."


def _count(answer: Json, shown: Sequence[Json]) -> str:
    return f"\n{len(shown)} of {answer['total']}.{more(answer)}" if "total" in answer else ""


FORMS: Final[Mapping[str, Callable[[Json], str]]] = {
    "context": _context,
    "resume": _context,
    "checkpoint": _checkpointed,
    "seed_project": _seeded,
    **dict.fromkeys(("record_run", "session_runs"), _runs),
    **dict.fromkeys(("settle", "requirements"), _requirements),
}
