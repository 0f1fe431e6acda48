"""Messages to a watcher and the watcher's place: changes of memories as values, and cursors as opaque tokens.

A cursor is a map from a ledger's incarnation to the last sequence number seen there. A new incarnation starts at 0,
because repeating is harmless and skipping is not.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, OutOfRange
from mnemesh_memory.values.model import Caller

ADDED: Final = "added"
UPDATED: Final = "updated"
FORGOTTEN: Final = "forgotten"
RESTORED: Final = "restored"
SUPERSEDED: Final = "superseded"
CONFLICTED: Final = "conflicted"
RESOLVED: Final = "resolved"
ERASED: Final = "erased"
# Messages of a stream about itself: where it begins, and how far it has come without a wanted change.
OPENED: Final = "opened"
POSITION: Final = "position"
_SEQ_MAX: Final = 2**63 - 1
_CHECK_BYTES: Final = 4
_CURSOR_RULE: Final = "a cursor that a watch gave, unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchQuery:
    """Which changes to see. Without `cursor` and `from_start`, only those to come."""

    spaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    not_agent: str = ""  # Leaves out the changes of this agent.
    cursor: str = ""  # The place after which changes are sent.
    from_start: bool = False  # All changes of the ledger.
    include_content: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of a ledger as a change of a memory. Texts are as visible then."""

    seq: int
    type: str
    id: str
    space: str
    agent: str
    node: str
    at: int  # Clock of the origin node (ms).
    revision: str = ""
    kind: str = ""  # "" for an erased memory, as `title` and `content` are.
    title: str = ""
    content: str = ""  # "" for a forgotten memory, too.


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """Changes of one ledger in its order. Everything up to `seq` has been looked at; `head` is the last number."""

    changes: tuple[Change, ...]
    seq: int
    head: int
    incarnation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One message to a watcher."""

    type: str
    cursor: str  # A watch may resume after this message.
    change: Change | None = None
    merged: bool = False  # Another node accepted the change first.
    spaces: tuple[str, ...] = ()  # With OPENED, as `reason`.
    reason: str = ""  # Why the stream begins elsewhere than asked.


def checked(given: WatchQuery, caller: Caller) -> WatchQuery:
    """A clean copy of `given` with its spaces resolved for `caller`. Raises InvalidArgument."""
    if given.cursor and given.from_start:
        raise InvalidArgument("from_start", given.from_start, "either from_start or a cursor")
    return replace(
        given,
        spaces=request_checks.read_spaces(given.spaces, caller),
        kinds=field_checks.kinds("kinds", given.kinds),
        not_agent=field_checks.line("not_agent", given.not_agent, limits.AGENT_BYTES_MAX),
    )


def wanted(change: Change, query: WatchQuery) -> bool:
    """Whether the filters let `change` through. An erasure passes every kind: whoever holds a copy has to drop it."""
    if query.not_agent and change.agent == query.not_agent:
        return False
    return not query.kinds or change.type == ERASED or change.kind in query.kinds


def write_cursor(positions: Mapping[str, int]) -> str:
    """The token of `positions`, incarnation to sequence number."""
    data = json.dumps(dict(sorted(positions.items())), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(zlib.crc32(data).to_bytes(_CHECK_BYTES, "big") + data).decode().rstrip("=")


def read_cursor(token: str) -> dict[str, int]:
    """The positions of a token. Raises InvalidArgument unless `write_cursor` made it."""
    try:
        if len(token) > limits.WATCH_CURSOR_CHARS_MAX:
            raise ValueError("too long")
        data = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        if zlib.crc32(data[_CHECK_BYTES:]) != int.from_bytes(data[:_CHECK_BYTES], "big"):
            raise ValueError("damaged")
        positions = json.loads(data[_CHECK_BYTES:])
        if not isinstance(positions, dict) or not all(_is_position(seq) for seq in positions.values()):
            raise ValueError("no positions")
        return positions
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidArgument("cursor", token, _CURSOR_RULE) from None


def is_cursor(token: str) -> bool:
    """Whether `write_cursor` made it."""
    try:
        read_cursor(token)
    except InvalidArgument:
        return False
    return True


def _is_position(seq: object) -> bool:
    return isinstance(seq, int) and not isinstance(seq, bool) and 0 <= seq <= _SEQ_MAX


def begin(query: WatchQuery, heads: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """Where to begin in each ledger of `heads` (incarnation to last number), and why that is not where the cursor
    asked, or "". Raises InvalidArgument, and OutOfRange for a cursor beyond the end of a log."""
    if not query.cursor:
        return (dict.fromkeys(heads, 0) if query.from_start else dict(heads)), ""
    asked = read_cursor(query.cursor)
    for incarnation, head in heads.items():
        if asked.get(incarnation, 0) > head:
            # Without numbers: they would tell how much others write.
            raise OutOfRange(
                "cursor: it lies beyond the end of this log, as after a restore of an older log; watch again without "
                "it, or from_start",
                field="cursor",
                limit="the end of this log",
            )
    reason = ""
    if unknown := [incarnation for incarnation in heads if incarnation not in asked]:
        reason = told_anew(*unknown)
    return {incarnation: asked.get(incarnation, 0) for incarnation in heads}, reason


def told_anew(*incarnations: str) -> str:
    """Why a watcher hears of a ledger from its beginning."""
    return (
        f"the cursor does not know this ledger (incarnation {', '.join(incarnations)}), as after a restore or a copy; "
        "it is told from its beginning, so changes may come again"
    )
