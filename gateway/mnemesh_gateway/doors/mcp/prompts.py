"""The prompts that a person picks in a host: `remember`, `recall` and `mnemesh`. One row each. Pure.

A prompt says which tool to call with a person's own words. It calls nothing by itself. Knows nothing of the protocol
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """A prompt with one argument. `text` has a place for the argument."""

    name: str
    title: str
    description: str
    argument: str
    argument_help: str
    text: str
    # Texts of their own for words of the argument. None: any words are welcome.
    choices: Mapping[str, str] | None = None


ROWS: Final = (
    PromptRow(
        name="remember",
        title="Remember",
        description="Store something in the long-term memory.",
        argument="text",
        argument_help="The text to remember.",
        text="Store this in the long-term memory with the tool `remember`: one clear statement of a fitting kind. "
        "When the answer names a near memory, do what its hint says if it fits. Then say what was stored.\n\n{given}",
    ),
    PromptRow(
        name="recall",
        title="Recall",
        description="Ask the long-term memory.",
        argument="query",
        argument_help="A question or words.",
        text="Answer this from the long-term memory with the tool `recall`. Name the memories that you used by their "
        "ids. Say so when the memory does not know.\n\n{given}",
    ),
    PromptRow(
        name="mnemesh",
        title="Mnemesh",
        description="Look after the memory itself: status, context, resume, checkpoint, mine, mine-history or doctor.",
        argument="task",
        argument_help="status (default), context, resume, checkpoint, mine, mine-history or doctor.",
        text="",
        choices={
            "status": "Say how the long-term memory stands. Run `mnemesh status` and `mnemesh stats` in a shell if you "
            "have one, else call the tool `stats`. Sum up in a few lines: state, memories of this project, peers.",
            "context": "Call the tool `context` with what this session is about, and sum up what is known.",
            "resume": "Call the tool `resume`. Say where the work stands and what comes next. Wait for a go-ahead.",
            "checkpoint": "Call the tool `checkpoint` with the task, files, decisions, open questions, next steps and "
            "errors of this session, so that another agent could go on.",
            "mine": "Run `mnemesh mine now --dry-run` in a shell and sum up what it would store. Ask before you run "
            "`mnemesh mine now`. When mining is off, say that `mnemesh mine on` lets it read session files.",
            "mine-history": "Run `mnemesh mine history` in a shell and say which sessions taught what.",
            "doctor": "Run `mnemesh doctor` in a shell and explain each finding with its next step.",
        },
    ),
)
BY_NAME: Final = {row.name: row for row in ROWS}
DEFAULT_TASK: Final = "status"


def prompt_text(name: str, arguments: Mapping[str, str]) -> str:
    """The text of the prompt `name`. Raises NotFound, InvalidArgument."""
    row = BY_NAME.get(name)
    if row is None:
        raise NotFound("prompt", name, f"prompts are {', '.join(BY_NAME)}")
    if unknown := sorted(set(arguments) - {row.argument}):
        raise InvalidArgument(unknown[0], arguments[unknown[0]], f"the one argument is {row.argument}")
    given = arguments.get(row.argument, "").strip()
    if len(given) > limits.QUERY_CHARS_MAX:
        raise InvalidArgument(row.argument, f"{len(given)} characters", f"at most {limits.QUERY_CHARS_MAX} characters")
    if row.choices is None:
        if not given:
            raise InvalidArgument(row.argument, "nothing", row.argument_help, missing=True)
        return row.text.replace("{given}", given)
    chosen = row.choices.get(given or DEFAULT_TASK)
    if chosen is None:
        raise InvalidArgument(row.argument, given, f"one of {', '.join(row.choices)}")
    return chosen


def completions(name: str, argument: str, begun: str) -> tuple[str, ...]:
    """The words that an argument of the prompt `name` may have, of those that begin so. Raises NotFound,
    InvalidArgument."""
    row = BY_NAME.get(name)
    if row is None:
        raise NotFound("prompt", name, f"prompts are {', '.join(BY_NAME)}")
    if argument != row.argument:
        raise InvalidArgument("argument", argument, f"the one argument is {row.argument}")
    return tuple(word for word in row.choices or () if word.startswith(begun.strip().lower()))
