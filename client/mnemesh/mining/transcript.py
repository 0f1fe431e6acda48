"""Lines of a session file, of Claude Code or Codex, as events. Values in, values out.

Words are those of the person and of the agent. A host's own lines, summaries of a compaction, words of sub-agents,
blocks of memories that Mnemesh put there, and output of tools are no words. A damaged or unknown line gives nothing.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from mnemesh.hooks.kept.transcript_tail import own_words
from mnemesh.importing.claude_code import sound

_read: Final = json.JSONDecoder().raw_decode  # json.loads looks for an encoding and for blanks, which takes long
USER: Final = "user"
ASSISTANT: Final = "assistant"
TEXT_CHARS_MAX: Final = 20_000  # of one message
NAME_CHARS_MAX: Final = 1_000  # of a path or a command
MODEL_MARK: Final = "<mnemesh-mining>"  # begins a question of the miner
TIME_CHARS: Final = 40
COUNT_MAX: Final = 10**12  # of tokens
EDITING_TOOLS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
SHELL_TOOLS: Final = frozenset({"Bash", "exec_command", "shell", "shell_command", "local_shell"})
# Beginnings of texts in the role of a user that the host wrote.
_HOST_TEXT: Final = re.compile(
    r"\s*(?:<(?:mnemesh-mining|command-|local-command-|bash-|task-notification|environment_context|user_instructions|INSTRUCTIONS"
    r"|turn_aborted|permissions|skill\b|user_shell_command|subagent_notification)|\[Request interrupted"
    r"|# AGENTS\.md instructions|This session is being continued from a previous)"
)
_BY_HAND: Final = re.compile(
    r"<bash-input>(.+?)</bash-input>|<user_shell_command>\s*<command>(.+?)</command>", re.DOTALL
)
_OF_MESSAGE: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OF_SESSION: Final = ("input_tokens", "output_tokens", "cached_input_tokens", "")
_TURNED_DOWN: Final = "The user doesn't want to"
# Blocks of memories of earlier versions and of tools. own_words knows the present one.
_OWN_BLOCK: Final = re.compile(r"<(?:memories note=|memory-mesh\b).*?(?:</(?:memories|memory-mesh)>|\Z)", re.DOTALL)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_EXIT_CUES: Final = ("Process exited with code", "Exit code", '"exit_code":')
_EXIT: Final = re.compile(r"(?:Process exited with code|Exit code:?|\"exit_code\":) ?(-?\d+)")


class LineContext(NamedTuple):
    """The session of the following events, its working directory and the time of the line, "" for unknown."""

    session: str
    cwd: str
    at: str = ""


class Words(NamedTuple):
    """A message of the person or the agent."""

    role: str
    text: str


class ToolCall(NamedTuple):
    """A call of a tool: a command of a shell, or files that are edited."""

    id: str
    command: str = ""
    edited: tuple[str, ...] = ()


class ToolResult(NamedTuple):
    """The end of a call."""

    id: str
    failed: bool
    turned_down: bool = False  # by the person


class TokenUsage(NamedTuple):
    """The tokens of a message so far: input, output, from a cache, into a cache."""

    message: str
    model: str
    tokens: tuple[int, int, int, int]


class Chosen(NamedTuple):
    """A command that the person ran by hand."""

    command: str


class Interrupted(NamedTuple):
    """The person stopped the agent."""


class Own(NamedTuple):
    """The session is a question of the miner itself to a model."""


Event = LineContext | Words | ToolCall | ToolResult | TokenUsage | Chosen | Interrupted | Own


def events_of(line: bytes) -> Iterable[Event]:
    """The events of a line."""
    try:
        text = (line[len(BOM_UTF8) :] if line.startswith(BOM_UTF8) else line).decode().strip()
        record, end = _read(text)
    except (ValueError, RecursionError):
        return ()
    if end != len(text):
        return ()
    if not isinstance(record, dict):
        return ()
    payload = record.get("payload")
    if isinstance(payload, dict):
        return _of_codex(record, payload)
    return _of_claude(record) if record.get("type") in (USER, ASSISTANT) else ()


def _of_claude(record: Mapping[str, Any]) -> Iterator[Event]:
    if record.get("isMeta") or record.get("isCompactSummary") or record.get("isVisibleInTranscriptOnly"):
        return
    message = record.get("message")
    if not isinstance(message, dict):
        return
    yield LineContext(
        _text(record.get("sessionId"), 200), _text(record.get("cwd"), 512), _text(record.get("timestamp"), TIME_CHARS)
    )
    usage = message.get("usage")
    if isinstance(usage, dict):
        yield TokenUsage(_text(message.get("id"), 200), _text(message.get("model"), 80), _counts(usage, _OF_MESSAGE))
    content = message.get("content")
    if isinstance(content, str):
        if record.get("isSidechain") is not True:
            yield from _words(record["type"], content)
        return
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text" and record.get("isSidechain") is not True:
            yield from _words(record["type"], block.get("text"))
        elif kind == "tool_use":
            yield from _call(block.get("id"), block.get("name"), block.get("input"))
        elif kind == "tool_result":
            yield ToolResult(
                _text(block.get("tool_use_id"), 200),
                failed=bool(block.get("is_error")),
                turned_down=_turned_down(block),
            )


def _turned_down(block: Mapping[str, Any]) -> bool:
    content = block.get("content")
    return block.get("is_error") is True and isinstance(content, str) and content.startswith(_TURNED_DOWN)


def _of_codex(record: Mapping[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    record_type = record.get("type")
    if record_type == "session_meta":
        moment = _text(payload.get("timestamp"), TIME_CHARS)
        yield LineContext(_text(payload.get("id"), 200), _text(payload.get("cwd"), 512), moment)
    elif record_type == "turn_context":
        yield LineContext("", _text(payload.get("cwd"), 512), _text(record.get("timestamp"), TIME_CHARS))
    elif record_type == "event_msg" and payload.get("type") == "token_count":
        yield from _spent(payload.get("info"), _text(record.get("timestamp"), TIME_CHARS))
    if record_type != "response_item":
        return
    kind, call = payload.get("type"), payload.get("call_id")
    if kind == "message" and payload.get("role") in (USER, ASSISTANT):
        for block in _dicts(payload.get("content")):
            if block.get("type") in ("input_text", "output_text", "text"):
                yield from _words(str(payload["role"]), block.get("text"))
    elif kind == "function_call":
        yield from _call(call, payload.get("name"), _json(payload.get("arguments")))
    elif kind == "local_shell_call":
        yield from _call(call, "local_shell", payload.get("action"))
    elif kind == "custom_tool_call":
        yield from _call(call, payload.get("name"), {"patch": payload.get("input")})
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield ToolResult(_text(call, 200), failed=_failed(payload.get("output")))


def _spent(info: object, moment: str) -> Iterator[Event]:
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    if isinstance(total, dict):  # of the session so far
        given, out, cached, written = _counts(total, _OF_SESSION)
        yield LineContext("", "", moment)
        yield TokenUsage("", "", (max(0, given - cached), out, cached, written))


def _counts(usage: Mapping[str, Any], names: tuple[str, str, str, str]) -> tuple[int, int, int, int]:
    first, second, third, fourth = names
    return _count(usage.get(first)), _count(usage.get(second)), _count(usage.get(third)), _count(usage.get(fourth))


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < COUNT_MAX else 0


def _of_host(text: str) -> Iterator[Event]:
    if text.startswith("[Request interrupted"):
        yield Interrupted()
    elif text.startswith(MODEL_MARK):
        yield Own()
    elif by_hand := _BY_HAND.match(text, 0, NAME_CHARS_MAX):
        yield Chosen(sound((by_hand[1] or by_hand[2]).strip()))


def _words(role: str, text: object) -> Iterator[Event]:
    if not isinstance(text, str):
        return
    if role == USER and _HOST_TEXT.match(text):
        yield from _of_host(text)
        return
    said = text[:TEXT_CHARS_MAX]
    if not said.isascii():
        said = sound(said).replace("\u2019", "'")  # as phones and word processors write it
    if "<" in said:
        said = own_words(_OWN_BLOCK.sub("", said))
    if said.strip():
        yield Words(role, said)


def _call(id_: object, name: object, given: object) -> Iterator[Event]:
    if not isinstance(given, dict):
        return
    call = _text(id_, 200)
    if name in SHELL_TOOLS:
        command = _command(given)
        edited = _PATCHED.findall(command) if "apply_patch" in command else []
        yield ToolCall(call, "" if edited else command[:NAME_CHARS_MAX], _paths(edited))
    elif name in EDITING_TOOLS:
        yield ToolCall(call, edited=_paths([given.get("file_path") or given.get("notebook_path")]))
    elif name == "apply_patch":
        patch = given.get("patch") or given.get("input")
        yield ToolCall(call, edited=_paths(_PATCHED.findall(patch) if isinstance(patch, str) else []))


def _command(given: Mapping[str, Any]) -> str:
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list):  # a shell, an option of it, and the words for it
        command = command[-1] if command else ""
    return sound(command[:TEXT_CHARS_MAX]) if isinstance(command, str) else ""


def _failed(output: object) -> bool:
    if isinstance(output, dict):
        return output.get("success") is False or _failed(output.get("content"))
    if not isinstance(output, str):
        return False
    code = _exit_in(output, 0, TEXT_CHARS_MAX) or _exit_in(output, max(0, len(output) - NAME_CHARS_MAX), len(output))
    return code is not None and code[1] != "0"


def _exit_in(output: str, first: int, end: int) -> re.Match[str] | None:
    places = [place for cue in _EXIT_CUES if (place := output.find(cue, first, end)) >= 0]
    return _EXIT.search(output, min(places), end) if places else None


def _json(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _paths(paths: list[Any]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(sound(path.strip())[:NAME_CHARS_MAX] for path in paths if isinstance(path, str) and path)
    )


def _dicts(content: object) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(value: object, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        return ""
    if value.isascii():
        return value
    return sound(value) if len(value.encode("utf-8", "replace")) <= most else ""
