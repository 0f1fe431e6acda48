"""Records of sessions: prompts, files, errors, figures and outcome as the text of a memory, and back. Pure.

A record is a memory of kind run with the tag `session-run`. Its text is for people and for recall. Its figures are
attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.text.text import title_of
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Draft, Memory
from mnemesh_memory.values.rules import IS, Rule, RuleComparison

TAG: Final = "session-run"
KIND: Final = "run"
DONE, FAILED, INTERRUPTED, RUNNING = STATUSES = ("done", "failed", "interrupted", "running")
HEADINGS: Final = (("prompts", "Prompts:"), ("errors", "Errors:"), ("files", "Files:"))
ITEM: Final = "- "
ATTR: Final = "run."
COUNT_MAX: Final = 2**53
COST_MAX: Final = 1e9
# A record tells of work, and holds the words of every question asked there. So it would stand before their answers.
APART: Final = Rule(
    (RuleComparison("kind", IS, KIND), RuleComparison("tag", IS, TAG)), None, text=f"kind={KIND} tag={TAG} hide"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a session. Times are milliseconds since the epoch."""

    status: str = DONE
    model: str = ""
    prompt_id: str = ""  # Of the saved prompt that the session followed.
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    cost_usd: float = 0.0
    started_at: int | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport(Figures):
    """The content of a session as somebody tells it."""

    session: str = ""
    prompts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRun(Figures):
    """The record of a session, with the memory that holds it."""

    id: str
    session: str
    space: str
    by: str
    at: int
    content: str


def checked(given: SessionReport, *, mask: bool) -> SessionReport:
    """A clean copy of `given`, its credentials masked if asked. Raises InvalidArgument, also for a session without a
    name and for one of which nothing is told."""
    session = field_checks.line("session", given.session, limits.SESSION_BYTES_MAX)
    if not session:
        raise InvalidArgument("session", "nothing", "the id of the session", missing=True)
    for name in ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written"):
        field_checks.whole(name, getattr(given, name), 0, COUNT_MAX)
    if not 0.0 <= given.cost_usd <= COST_MAX:
        raise InvalidArgument("cost_usd", str(given.cost_usd), f"a number from 0 to {COST_MAX:g}")
    field_checks.times_in_order(given.started_at, given.ended_at)
    outcome = field_checks.kept_text("outcome", given.outcome, limits.CHECKPOINT_TASK_BYTES_MAX, empty=True).strip()
    lists: dict[str, Any] = {name: _items(name, getattr(given, name), mask=mask) for name, _ in HEADINGS}
    clean = replace(
        given,
        session=session,
        status=field_checks.one_of("status", given.status or DONE, STATUSES),
        model=field_checks.line("model", given.model, limits.TAG_BYTES_MAX),
        prompt_id=field_checks.line("prompt_id", given.prompt_id, limits.TITLE_BYTES_MAX),
        outcome=masked(outcome)[0] if mask else outcome,
        **lists,
    )
    if not (clean.outcome or any(getattr(clean, name) for name, _ in HEADINGS)):
        raise InvalidArgument("prompts", "nothing", "prompts, files, errors or an outcome", missing=True)
    return clean


def _items(name: str, items: tuple[str, ...], *, mask: bool) -> tuple[str, ...]:
    items = tuple(masked(item)[0] for item in items) if mask else items
    return field_checks.lines(name, items, limits.CHECKPOINT_ITEMS_MAX, limits.CHECKPOINT_ITEM_BYTES_MAX)


def text_of(record: SessionReport) -> str:
    """The text of a record within CONTENT_BYTES_MAX. The oldest items of its longest list give way."""
    while len((text := _text(record)).encode()) > limits.CONTENT_BYTES_MAX:
        longest = max((name for name, _ in HEADINGS), key=lambda name: sum(map(len, getattr(record, name))))
        shorter: dict[str, Any] = {longest: getattr(record, longest)[1:]}
        record = replace(record, **shorter)
    return text


def _text(record: SessionReport) -> str:
    parts = [record.outcome] if record.outcome else []
    for name, heading in HEADINGS:
        if items := getattr(record, name):
            parts.append("\n".join((heading, *(ITEM + item for item in items))))
    return "\n\n".join(parts)


def title(record: SessionReport) -> str:
    """The title of the memory: the first prompt."""
    return title_of(f"Session: {next(iter((*record.prompts, record.outcome, *record.errors, *record.files)))}")


def attrs_of(record: SessionReport) -> dict[str, str]:
    """The attributes of a record: its figures that are not zero."""
    figures = {field.name: getattr(record, field.name) for field in fields(Figures)}
    return {ATTR + name: str(value) for name, value in figures.items() if value}


def with_prompt(attrs: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a record with the prompt of its version before, if that has one."""
    name = f"{ATTR}prompt_id"
    return dict(attrs) | ({name: before[name]} if name in before else {})


def is_record(memory: Draft | Memory) -> bool:
    """Whether a memory is the record of a session."""
    return memory.kind == KIND and TAG in memory.tags


def key_of(space: str, session: str, after: str) -> str:
    """The idempotency key of the record that a session begins, `after` an earlier one with that id."""
    return f"{TAG} {sha256(chr(0).join((space, session, after)).encode()).hexdigest()[:32]}"


def run_of(memory: Memory) -> SessionRun:
    """The record that a memory is. A figure that no door would take counts as unknown: any writer may have sent it."""
    return SessionRun(
        **_figures(memory.attrs),
        id=memory.id,
        session=memory.source.session,
        space=memory.space,
        by=memory.by,
        at=memory.updated_at,
        content=memory.content,
    )


def _figures(attrs: Mapping[str, str]) -> dict[str, Any]:
    read: dict[str, Callable[[str], object]] = {"status": _status, "model": _model, "cost_usd": _cost, "prompt_id": _id}
    read |= dict.fromkeys(("started_at", "ended_at"), _moment)
    figures = {}
    for name in (field.name for field in fields(Figures)):
        if text := attrs.get(ATTR + name, ""):
            try:
                figures[name] = read.get(name, _count)(text)
            except (ValueError, InvalidArgument):
                continue
    return figures


def _status(text: str) -> str:
    return field_checks.one_of("status", text, STATUSES)


def _model(text: str) -> str:
    return field_checks.line("model", text, limits.TAG_BYTES_MAX)


def _id(text: str) -> str:
    return str(UUID(text))


def _cost(text: str) -> float:
    cost = float(text)
    if not 0.0 <= cost <= COST_MAX:
        raise ValueError(text)
    return cost


def _moment(text: str) -> int | None:
    return field_checks.moment("time", int(text))


def _count(text: str) -> int:
    return field_checks.whole("count", int(text), 0, COUNT_MAX)
