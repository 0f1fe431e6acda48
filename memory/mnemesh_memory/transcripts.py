"""Sessions as they were said, turn by turn: a corpus apart from the memories. What they are, and what is valid input.

A session belongs to one space, by default the private one of who stores it, and to the principal that stored it first:
nobody else adds to it. Its turns have ids of their own, so that bringing a turn again stores nothing. Knows nothing of
files and of where sessions come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mnemesh_memory import checks, grants, limits, validate
from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.masking import masked
from mnemesh_memory.model import Caller
from mnemesh_memory.spaces import space_path, well_formed

# Who spoke: a person, the model, a tool that it used, the program around it, or a summary of what was said before.
ROLES: Final = ("user", "assistant", "tool", "system", "summary")
NOTHING_BUT_BLANKS: Final = "text, not only blanks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """A turn as somebody brings it. `at` in ms since the epoch, None when nobody knows."""

    id: str
    role: str
    text: str
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptDraft:
    """Turns to be added to a session, in their order. `part_of` is the session in which this one was held, as that of
    a subagent; `source` names the program, `dir` is where it ran. What is "" leaves what is known as it is."""

    session: str
    turns: tuple[TurnDraft, ...]
    space: str = ""
    part_of: str = ""
    source: str = ""
    dir: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTurn:
    """A turn of which parts were not stored, with the types of the credentials that they held."""

    id: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What adding did: `stored` turns are new, `known` ones were there; `turns` counts all of the session."""

    session: str
    space: str
    stored: int
    known: int
    turns: int
    masked: tuple[MaskedTurn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stored session. Times in ms; `started_at` and `ended_at` are the first and last known times of its turns,
    `bytes` counts their texts in UTF-8, `masked` the turns of which something was not stored."""

    session: str
    space: str
    part_of: str
    source: str
    dir: str
    title: str
    by: str
    turns: int
    bytes: int
    masked: int
    started_at: int | None
    ended_at: int | None
    stored_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored turn; `position` counts from 1 in its session. In what a search gives, `text` is the passage that
    fits."""

    session: str
    space: str
    position: int
    id: str
    role: str
    text: str
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that was found, its relevance in [0, 1], and the turns around it."""

    turn: Turn
    score: float
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptQuery:
    """What a search asks. `agent` is who stored, a principal or a client of one; `context` counts the turns shown on
    each side; `since` and `before` in ms."""

    text: str
    spaces: tuple[str, ...] = ()
    session: str = ""
    agent: str = ""
    roles: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None
    limit: int = 10
    context: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Which sessions a listing shows, those with the latest turns first; `cursor` is where the page before ended."""

    spaces: tuple[str, ...] = ()
    agent: str = ""
    since: int | None = None
    before: int | None = None
    limit: int = 20
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """One page of sessions; `cursor` is "" on the last, `total` counts all."""

    sessions: tuple[Session, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedSession:
    """What erasing did: the sessions that are gone, how many turns they had, and when the first of them was stored
    (ms). `pending` says what is left to be done, "" for nothing."""

    sessions: tuple[Session, ...]
    turns: int
    stored_at: int
    pending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptStatus:
    """How much is stored: `bytes` is the size of the file. `state` is ok or what is wrong with it."""

    sessions: int
    turns: int
    bytes: int
    state: str = "ok"


# ---- what is valid --------------------------------------------------------------------------------------------------


def draft(given: TranscriptDraft, caller: Caller) -> TranscriptDraft:
    """A clean copy with its space resolved: the one that is named, else the private one, and never the client's default
    space, which may be shared. Credentials in turns are masked later; elsewhere they are refused. Raises
    InvalidArgument, PermissionDenied, SecretRefused."""
    count = len(given.turns)
    if not 1 <= count <= limits.TRANSCRIPT_TURNS_MAX:
        raise InvalidArgument("turns", f"{count} items", f"1 to {limits.TRANSCRIPT_TURNS_MAX} turns a call")
    turns = tuple(_turn(f"turns[{i}].", one) for i, one in enumerate(given.turns))
    seen: set[str] = set()
    for i, one in enumerate(turns):
        if one.id in seen:
            raise InvalidArgument(f"turns[{i}].id", one.id, "each id once")
        seen.add(one.id)
    size = sum(len(one.text.encode()) for one in turns)
    if size > limits.TRANSCRIPT_CALL_BYTES_MAX:
        limit = f"at most {limits.TRANSCRIPT_CALL_BYTES_MAX} bytes of text in all"
        raise InvalidArgument("turns", f"{size} bytes", limit)
    clean = replace(
        given,
        session=session_id("session", given.session),
        turns=turns,
        space=write_space(given.space, caller),
        part_of=session_id("part_of", given.part_of) if given.part_of else "",
        source=checks.line("source", given.source, limits.TRANSCRIPT_LABEL_BYTES_MAX),
        dir=checks.line("dir", given.dir, limits.PATH_BYTES_MAX),
        title=checks.line("title", given.title, limits.TITLE_BYTES_MAX),
    )
    if clean.part_of == clean.session:
        raise InvalidArgument("part_of", clean.part_of, "another session than itself")
    validate.no_secrets(
        attrs={}, session=clean.session, part_of=clean.part_of, source=clean.source, dir=clean.dir, space=clean.space
    )
    return clean


def without_secrets(clean: TranscriptDraft) -> tuple[TranscriptDraft, tuple[MaskedTurn, ...]]:
    """The draft with every credential in a text or the title replaced by its type, and of which turns that is so. Takes
    up to a second for a full call of hostile text."""
    turns: list[TurnDraft] = []
    found: list[MaskedTurn] = []
    for one in clean.turns:
        text, types = masked(one.text)
        turns.append(replace(one, text=text))
        if types:
            found.append(MaskedTurn(id=one.id, types=types))
    # Two lines of a mask stand on one line as one.
    title = checks.line("title", " ".join(masked(clean.title)[0].split()), 2 * limits.TITLE_BYTES_MAX)
    return replace(clean, turns=tuple(turns), title=title), tuple(found)


def _turn(path: str, given: TurnDraft) -> TurnDraft:
    id_ = checks.line(path + "id", given.id, limits.TRANSCRIPT_TURN_ID_BYTES_MAX)
    if not id_:
        raise InvalidArgument(path + "id", given.id, f"1 to {limits.TRANSCRIPT_TURN_ID_BYTES_MAX} bytes")
    text = well_formed(path + "text", given.text)
    size = len(text.encode())
    if not text.strip() or size > limits.TRANSCRIPT_TURN_BYTES_MAX:
        shown = f"{size} bytes" if text.strip() else text[:80]
        limit = f"1 to {limits.TRANSCRIPT_TURN_BYTES_MAX} bytes of {NOTHING_BUT_BLANKS}"
        raise InvalidArgument(path + "text", shown, limit)
    validate.no_secrets(attrs={}, **{path + "id": id_})
    return TurnDraft(
        id=id_,
        role=checks.one_of(path + "role", given.role, ROLES),
        text=text,
        at=checks.moment(path + "at", given.at),
    )


def write_space(given: str, caller: Caller) -> str:
    """The space that is named, else the private one. Raises PermissionDenied for one that `caller` may not write to."""
    space = space_path("space", given or caller.private_space)
    grants.require_space(caller, grants.WRITE, space)
    return space


def session_id(field: str, value: str) -> str:
    """The name of a session, which is never empty, and which the path of a URL can hold."""
    clean = checks.line(field, value, limits.SESSION_BYTES_MAX)
    if not clean or "/" in clean:
        raise InvalidArgument(field, value, f"the id of a session: 1 to {limits.SESSION_BYTES_MAX} bytes without /")
    return clean


def query(given: TranscriptQuery, caller: Caller) -> TranscriptQuery:
    """A clean copy with its spaces resolved, as of recall: those named, else the client's default and the private
    one."""
    if not given.text.strip() or len(given.text) > limits.QUERY_CHARS_MAX:
        shown = f"{len(given.text)} characters" if given.text.strip() else given.text[:80]
        rule = f"1 to {limits.QUERY_CHARS_MAX} characters, not only blanks; transcript_list lists sessions"
        raise InvalidArgument("query", shown, rule)
    well_formed("query", given.text)
    checks.window("since", given.since, "before", given.before)
    return replace(
        given,
        spaces=validate.read_spaces(given.spaces, caller),
        session=checks.line("session", given.session, limits.SESSION_BYTES_MAX),
        agent=checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        roles=_roles(given.roles),
        limit=checks.whole("limit", given.limit, 1, limits.RECALL_LIMIT_MAX),
        context=checks.whole("context", given.context, 0, limits.TRANSCRIPT_CONTEXT_MAX),
    )


def session_query(given: SessionQuery, caller: Caller) -> SessionQuery:
    """A clean copy with its spaces resolved."""
    checks.window("since", given.since, "before", given.before)
    checks.whole("limit", given.limit, 1, limits.LIST_LIMIT_MAX)
    return replace(
        given,
        spaces=validate.read_spaces(given.spaces, caller),
        agent=checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        cursor=checks.line("cursor", given.cursor, limits.CURSOR_CHARS_MAX),
    )


def _roles(given: Iterable[str]) -> tuple[str, ...]:
    named: Sequence[str] = checks.at_most("roles", tuple(dict.fromkeys(given)), len(ROLES))
    return tuple(checks.one_of(f"roles[{i}]", role, ROLES) for i, role in enumerate(named))
