"""Checkpoints: where the work of a session stands, as the text of a memory and back. Pure.

A checkpoint is a memory of kind summary with the tag `checkpoint`. People read its text, and the fields are read out of
the text again. A text that somebody has reworded freely becomes the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final

from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.text.text import estimate_tokens, snippet, title_of
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Memory

TAG: Final = "checkpoint"
KIND: Final = "summary"
TASK: Final = "Task: "
CUSTOM: Final = "Else:"
ITEM: Final = "- "
TEXT_CHARS_MIN: Final = 80
# The heading of each list in the text, in the order of the text: a reader with little room reads the beginning.
HEADINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "questions": "Open questions:",
        "next_steps": "Next steps:",
        "decisions": "Decisions:",
        "errors": "Errors:",
        "files": "Files:",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkState:
    """Where work stands. Lists are lines, texts may be empty."""

    task: str = ""
    files: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    custom: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(WorkState):
    """Where work stands, with the memory that holds it. `number` counts the versions of the memory."""

    id: str
    session: str
    space: str
    by: str
    at: int
    number: int


def checked(given: WorkState, *, mask: bool) -> WorkState:
    """A clean copy of `given`, its credentials masked if asked. Raises InvalidArgument, also for an empty one."""
    if mask:
        given = _masked(given)
    lists = {
        name: field_checks.lines(
            name, getattr(given, name), limits.CHECKPOINT_ITEMS_MAX, limits.CHECKPOINT_ITEM_BYTES_MAX
        )
        for name in HEADINGS
    }
    task = field_checks.line("task", given.task, limits.CHECKPOINT_TASK_BYTES_MAX)
    custom = field_checks.kept_text("custom", given.custom, limits.CONTENT_BYTES_MAX, empty=True).strip()
    if not task and not custom and not any(lists.values()):
        raise InvalidArgument("task", "nothing", "a task, or one of the other fields", missing=True)
    return WorkState(task=task, custom=custom, **lists)


def _masked(given: WorkState) -> WorkState:
    lists = {name: tuple(masked(item)[0] for item in getattr(given, name)) for name in HEADINGS}
    return WorkState(task=masked(given.task)[0], custom=masked(given.custom)[0], **lists)


def merged(before: WorkState, after: WorkState) -> WorkState:
    """`before` with `after` added: newer items come last, and the oldest give way. Texts that are not given stay."""
    lists = {name: _last(getattr(before, name), getattr(after, name), limits.CHECKPOINT_ITEMS_MAX) for name in HEADINGS}
    return WorkState(task=after.task or before.task, custom=after.custom or before.custom, **lists)


def _last(before: Iterable[str], after: Iterable[str], most: int) -> tuple[str, ...]:
    newer = tuple(dict.fromkeys(after))
    return (*(item for item in before if item not in newer), *newer)[-most:]


def text_of(state: WorkState) -> str:
    """The text of a checkpoint, within CONTENT_BYTES_MAX for every state that `fitting` gives."""
    parts = [TASK + state.task] if state.task else []
    for name, heading in HEADINGS.items():
        if items := getattr(state, name):
            parts.append("\n".join((heading, *(ITEM + item for item in items))))
    if state.custom:
        parts.append(f"{CUSTOM}\n{state.custom}")
    return "\n\n".join(parts)


def fitting(state: WorkState) -> WorkState:
    """`state` as a memory may hold it. The oldest items of its longest list give way. Raises InvalidArgument when
    its other texts alone are too long."""
    return _cut(state, limits.CONTENT_BYTES_MAX, lambda text: len(text.encode()))


def shortened(state: WorkState, tokens: int) -> WorkState:
    """`state` in at most so many tokens. `custom` is cut to half of them, then the oldest items give way."""
    most = max(TEXT_CHARS_MIN, 2 * tokens)
    custom = state.custom if len(state.custom) <= most else snippet(state.custom, "", most)
    task = snippet(state.task, "", max(TEXT_CHARS_MIN, tokens))
    return _cut(replace(state, custom=custom, task=task), tokens, estimate_tokens)


def _cut(state: WorkState, most: int, size: Callable[[str], int]) -> WorkState:
    while size(text_of(state)) > most:
        longest = max(HEADINGS, key=lambda name: sum(len(item) for item in getattr(state, name)))
        items = getattr(state, longest)
        if not items:
            if size is estimate_tokens:
                return state
            raise InvalidArgument("custom", f"{len(state.custom.encode())} bytes", f"at most {most} bytes in all")
        state = replace(state, **{longest: items[1:]})
    return state


def read(text: str) -> WorkState:
    """The state that `text_of` gave the text of."""
    rest, task, custom = text, "", ""
    lists: dict[str, tuple[str, ...]] = {}
    names = {heading: name for name, heading in HEADINGS.items()}
    free: list[str] = []
    while rest:
        part, _, following = rest.partition("\n\n")
        heading, _, body = part.partition("\n")
        items = body.split("\n")
        if part.startswith(TASK) and "\n" not in part and not task and not lists and not free:
            task = part.removeprefix(TASK)
        elif heading == CUSTOM:
            custom = rest.partition("\n")[2]
            break
        elif heading in names and names[heading] not in lists and all(item.startswith(ITEM) for item in items):
            lists[names[heading]] = tuple(item.removeprefix(ITEM) for item in items)
        else:
            free.append(part)
        rest = following
    return WorkState(task=" ".join(filter(None, (task, *free))), custom=custom, **lists)


def checkpoint_of(memory: Memory) -> Checkpoint:
    """The checkpoint that a memory is."""
    state = read(memory.content)
    return Checkpoint(
        **{field.name: getattr(state, field.name) for field in fields(WorkState)},
        id=memory.id,
        session=memory.source.session,
        space=memory.space,
        by=memory.by,
        at=memory.updated_at,
        number=memory.version,
    )


def title(state: WorkState) -> str:
    """The title of the memory."""
    first = state.task or next((item for name in HEADINGS for item in getattr(state, name)), state.custom)
    return title_of(f"Checkpoint: {first}")
