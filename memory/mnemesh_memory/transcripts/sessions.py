"""Sessions as they were said, turn by turn: a corpus apart from the memories. The values and the checks of input.

A session belongs to one space, by default the private space of its first writer. Nobody but that principal adds to the
session. Turns have ids, so a repeated turn stores nothing. Knows nothing of files and of where sessions come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mnemesh_memory.access import grants
from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.spaces import space_path, well_formed

# The speaker of a turn: a person, the model, a tool of the model, the program around it, or an earlier summary.
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
    """Turns to add to a session, in their order. An empty field leaves the known value as it is."""

    session: str
    turns: tuple[TurnDraft, ...]
    space: str = ""
    part_of: str = ""  # The session around this one, as around that of a subagent.
    source: str = ""  # Name of the program.
    dir: str = ""  # Directory of the program.
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTurn:
    """A turn with masked credentials, and the types of these."""

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
    """A stored session. Times in ms."""

    session: str
    space: str
    part_of: str
    source: str
    dir: str
    title: str
    by: str
    turns: int
    bytes: int  # Of the texts in UTF-8.
    masked: int  # Count of turns with masked parts.
    started_at: int | None  # First known time of a turn.
    ended_at: int | None  # Last known time of a turn.
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
    """A turn that fits a query, and the turns around it."""

    turn: Turn
    score: float  # Relevance in [0, 1].
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptQuery:
    """A question to the transcripts."""

    text: str
    spaces: tuple[str, ...] = ()
    session: str = ""
    agent: str = ""  # The storing principal, or one of its clients.
    roles: tuple[str, ...] = ()
    since: int | None = None  # In ms, as `before`.
    before: int | None = None
    limit: int = 10
    context: int = 1  # Count of turns shown on each side.


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
    """The outcome of an erasure: the sessions gone, their count of turns, and when the first of them was stored (ms).
    `pending` names what is left to do, "" for nothing."""

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
    """A clean copy with its space resolved: the named space, else the private one. The client's default space is never
    taken, because it may be shared. Credentials in turns are masked later; elsewhere they are refused. Raises
    InvalidArgument, PermissionDenied, SecretRefused."""
    count = len(given.turns)
    if not 1 <= count <= limits.TRANSCRIPT_TURNS_MAX:
        raise InvalidArgument("turns", f"{count} items", f"1 to {limits.TRANSCRIPT_TURNS_MAX} turns a call")
    turns = tuple(_turn(f"turns[{i}].", turn) for i, turn in enumerate(given.turns))
    seen: set[str] = set()
    for i, turn in enumerate(turns):
        if turn.id in seen:
            raise InvalidArgument(f"turns[{i}].id", turn.id, "each id once")
        seen.add(turn.id)
    size = sum(len(turn.text.encode()) for turn in turns)
    if size > limits.TRANSCRIPT_CALL_BYTES_MAX:
        limit = f"at most {limits.TRANSCRIPT_CALL_BYTES_MAX} bytes of text in all"
        raise InvalidArgument("turns", f"{size} bytes", limit)
    clean = replace(
        given,
        session=session_id("session", given.session),
        turns=turns,
        space=write_space(given.space, caller),
        part_of=session_id("part_of", given.part_of) if given.part_of else "",
        source=field_checks.line("source", given.source, limits.TRANSCRIPT_LABEL_BYTES_MAX),
        dir=field_checks.line("dir", given.dir, limits.PATH_BYTES_MAX),
        title=field_checks.line("title", given.title, limits.TITLE_BYTES_MAX),
    )
    if clean.part_of == clean.session:
        raise InvalidArgument("part_of", clean.part_of, "another session than itself")
    request_checks.no_secrets(
        attrs={}, session=clean.session, part_of=clean.part_of, source=clean.source, dir=clean.dir, space=clean.space
    )
    return clean


def without_secrets(clean: TranscriptDraft) -> tuple[TranscriptDraft, tuple[MaskedTurn, ...]]:
    """The draft with the type of every credential in place of the credential, in texts and title, and the turns so
    masked. Takes up to a second for a full call of hostile text."""
    turns: list[TurnDraft] = []
    masked_turns: list[MaskedTurn] = []
    for turn in clean.turns:
        text, types = masked(turn.text)
        turns.append(replace(turn, text=text))
        if types:
            masked_turns.append(MaskedTurn(id=turn.id, types=types))
    # Two lines of a mask stand on one line as one.
    title = field_checks.line("title", " ".join(masked(clean.title)[0].split()), 2 * limits.TITLE_BYTES_MAX)
    return replace(clean, turns=tuple(turns), title=title), tuple(masked_turns)


def _turn(path: str, given: TurnDraft) -> TurnDraft:
    id_ = field_checks.line(path + "id", given.id, limits.TRANSCRIPT_TURN_ID_BYTES_MAX)
    if not id_:
        raise InvalidArgument(path + "id", given.id, f"1 to {limits.TRANSCRIPT_TURN_ID_BYTES_MAX} bytes")
    text = well_formed(path + "text", given.text)
    size = len(text.encode())
    if not text.strip() or size > limits.TRANSCRIPT_TURN_BYTES_MAX:
        shown = f"{size} bytes" if text.strip() else text[:80]
        limit = f"1 to {limits.TRANSCRIPT_TURN_BYTES_MAX} bytes of {NOTHING_BUT_BLANKS}"
        raise InvalidArgument(path + "text", shown, limit)
    request_checks.no_secrets(attrs={}, **{path + "id": id_})
    return TurnDraft(
        id=id_,
        role=field_checks.one_of(path + "role", given.role, ROLES),
        text=text,
        at=field_checks.moment(path + "at", given.at),
    )


def write_space(given: str, caller: Caller) -> str:
    """The space that is named, else the private one. Raises PermissionDenied for one that `caller` may not write to."""
    space = space_path("space", given or caller.private_space)
    grants.require_space(caller, grants.WRITE, space)
    return space


def session_id(field: str, value: str) -> str:
    """The name of a session, which is never empty, and which the path of a URL can hold."""
    clean = field_checks.line(field, value, limits.SESSION_BYTES_MAX)
    if not clean or "/" in clean:
        raise InvalidArgument(field, value, f"the id of a session: 1 to {limits.SESSION_BYTES_MAX} bytes without /")
    return clean


def query(given: TranscriptQuery, caller: Caller) -> TranscriptQuery:
    """A clean copy with its spaces resolved as of recall: the named spaces, else the client's default and the private
    one."""
    if not given.text.strip() or len(given.text) > limits.QUERY_CHARS_MAX:
        shown = f"{len(given.text)} characters" if given.text.strip() else given.text[:80]
        rule = f"1 to {limits.QUERY_CHARS_MAX} characters, not only blanks; transcript_list lists sessions"
        raise InvalidArgument("query", shown, rule)
    well_formed("query", given.text)
    field_checks.window("since", given.since, "before", given.before)
    return replace(
        given,
        spaces=request_checks.read_spaces(given.spaces, caller),
        session=field_checks.line("session", given.session, limits.SESSION_BYTES_MAX),
        agent=field_checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        roles=_roles(given.roles),
        limit=field_checks.whole("limit", given.limit, 1, limits.RECALL_LIMIT_MAX),
        context=field_checks.whole("context", given.context, 0, limits.TRANSCRIPT_CONTEXT_MAX),
    )


def session_query(given: SessionQuery, caller: Caller) -> SessionQuery:
    """A clean copy with its spaces resolved."""
    field_checks.window("since", given.since, "before", given.before)
    field_checks.whole("limit", given.limit, 1, limits.LIST_LIMIT_MAX)
    return replace(
        given,
        spaces=request_checks.read_spaces(given.spaces, caller),
        agent=field_checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        cursor=field_checks.line("cursor", given.cursor, limits.CURSOR_CHARS_MAX),
    )


def _roles(given: Iterable[str]) -> tuple[str, ...]:
    named: Sequence[str] = field_checks.at_most("roles", tuple(dict.fromkeys(given)), len(ROLES))
    return tuple(field_checks.one_of(f"roles[{i}]", role, ROLES) for i, role in enumerate(named))
