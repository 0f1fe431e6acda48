"""Session files of Claude Code, one JSON object a line, as turns of a transcript. Values in, values out.

The format belongs to Claude Code and changes between versions. A record of an unknown kind is passed over and counted,
a line without a record is named, and neither ends the reading. Kept is what was said: by the person, by the model, and,
shortened, what tools were asked and answered. Left out are thoughts, what the program around said to itself, and
memories that Mnemesh itself put there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mnemesh.importing.items import clip_title, pieces
from mnemesh_proto.json_text import NotJson, read_json

if TYPE_CHECKING:
    from mnemesh.api.calls.options import TurnItem

SOURCE: Final = "claude-code"
TOOL_CHARS_MAX: Final = 4_000  # of what a tool was asked or answered
DIR_BYTES_MAX: Final = 512
ID_BYTES_MAX: Final = 150  # of an id, with room for the number of a part
# Known records without speech: records with a title, and others.
TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
KINDS: Final = frozenset(
    {
        "agent-name", "ai-title", "attachment", "custom-title", "file-history-snapshot", "last-prompt", "mode",
        "pr-link", "progress", "queue-operation", "summary", "system",
    }
)  # fmt: skip
# Beginnings of a user's record written by the program.
_ENVELOPE: Final = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-[a-z-]+|bash-[a-z-]+|task-notification)\b"
    r"|\[Request interrupted)"
)
_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_OWN: Final = re.compile(r"<memories note=.*?(?:</memories>|\Z)", re.DOTALL)
OWN_LEFT_OUT: Final = "[memories of Mnemesh left out]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn with its session, the enclosing session and the working directory. `clipped`: not all of it."""

    session: str
    part_of: str
    dir: str
    turn: TurnItem
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class Titled:
    """A title of a session."""

    session: str
    title: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record, or a part of a record, that is left out, and its kind. `known`: sessions have such records."""

    kind: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is no record of a session, and why."""

    reason: str


Read = Said | Titled | Skipped | Malformed


def read_line(line: bytes, stem: str) -> Iterator[Read]:
    """The content of one line of the file named `stem`.jsonl holds."""
    try:
        record = read_json(line)
    except UnicodeDecodeError:
        yield Malformed("is not UTF-8")
        return
    except NotJson as error:
        yield Malformed(f"is no JSON: {error}")
        return
    if not isinstance(record, dict):
        yield Malformed("is no JSON object")
        return
    kind = record.get("type")
    if not isinstance(kind, str):
        yield Malformed("has no type")
    elif kind in ("user", "assistant"):
        yield from _spoken(record, kind, line, stem)
    elif kind in TITLES and isinstance(title := record.get(TITLES[kind]), str) and title.strip():
        yield Titled(_session(record, stem)[0], clip_title((sound(title),)))
    else:
        yield Skipped(sound(kind[:40]), known=kind in KINDS)


def _spoken(record: Mapping[str, Any], kind: str, line: bytes, stem: str) -> Iterator[Read]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str | list):
        yield Malformed(f"is a record of type {kind} without content")
        return
    summary = record.get("isCompactSummary") is True
    if record.get("isMeta") is True or (record.get("isVisibleInTranscriptOnly") is True and not summary):
        yield Skipped("meta")
        return
    session, part_of = _session(record, stem)
    cwd = record.get("cwd")
    where = sound(cwd) if isinstance(cwd, str) and len(cwd.encode("utf-8", "replace")) <= DIR_BYTES_MAX else ""
    given = record.get("uuid")
    id_ = given if isinstance(given, str) and 0 < len(given.encode("utf-8", "replace")) <= ID_BYTES_MAX else _hash(line)
    at = time_of(record.get("timestamp"))
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for number, block in enumerate(blocks):
        role, text, clipped = _block(block, kind)
        if not role:
            yield Skipped(text)
            continue
        if role == "user":
            if _ENVELOPE.match(text):
                yield Skipped("command")
                continue
            role = "summary" if summary else role
        text = own_left_out(text).strip()
        for part, piece in enumerate(pieces(text) if text else [], 1):
            key = (f"{id_}#{number}" if number else id_) + (f"~{part}" if part > 1 else "")
            turn: TurnItem = {"id": sound(key), "role": role, "text": piece, "at": at}
            yield Said(session=session, part_of=part_of, dir=where, turn=turn, clipped=clipped)


def _block(block: object, kind: str) -> tuple[str, str, bool]:
    """Role and text of a block of content, and whether the text is shortened. For a block left out, "" and why."""
    type_ = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(type_, str):
        return "", "unknown block", False
    if type_ == "text" and isinstance(text := block.get("text"), str):
        return kind, sound(text), False
    if type_ == "tool_use" and isinstance(name := block.get("name"), str):
        asked = json.dumps(block.get("input"), ensure_ascii=False)
        return "tool", *_clipped(sound(f"{name} {asked}"))
    if type_ == "tool_result":
        return "tool", *_clipped(sound(_result(block.get("content"))))
    return "", sound(type_[:40]), False


def _result(content: object) -> str:
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _clipped(text: str) -> tuple[str, bool]:
    # A recalled block goes before the text is cut, else its block would have no end.
    text = own_left_out(text)
    if len(text) <= TOOL_CHARS_MAX:
        return text, False
    return f"{text[:TOOL_CHARS_MAX]}\n[{len(text) - TOOL_CHARS_MAX} more characters were not imported]", True


def _session(record: Mapping[str, Any], stem: str) -> tuple[str, str]:
    """The session of a record, and the enclosing session: a subagent speaks in a session of its own. No / is in their
    names, which stand in URLs.
    """
    given = record.get("sessionId")
    whole = sound(given if isinstance(given, str) and 0 < len(given) <= 100 else stem)[:100].replace("/", "-")
    if record.get("isSidechain") is not True:
        return whole, ""
    agent = record.get("agentId")
    named = sound(agent) if isinstance(agent, str) and 0 < len(agent) <= 90 else "sidechain"
    return f"{whole}:{named.replace('/', '-')}", whole


def time_of(value: object) -> datetime | None:
    """The time in a text with a zone, else None."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def own_left_out(text: str) -> str:
    """`text` without reminders of the program and without memories that Mnemesh itself put there."""
    return _OWN.sub(OWN_LEFT_OUT, _REMINDER.sub("", text))


def sound(text: str) -> str:
    """Without lone surrogates, which JSON can spell and no message can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _hash(line: bytes) -> str:
    return "line-" + hashlib.sha256(line).hexdigest()[:40]
