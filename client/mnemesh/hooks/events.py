"""The events of hosts that Mnemesh answers, and the shape of each answer. Pure: values in, values out.

Any other host or event has no answer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

    Reply = dict[str, Any]

SESSION_START: Final = "session start"
PROMPT: Final = "prompt"
PERMISSION: Final = "permission"
SUBAGENT_START: Final = "subagent start"
READ: Final = "file read"
# Events that get no answer; `session_record` keeps something of them.
BEFORE_COMPACTION: Final = "before compaction"
COMPACTED: Final = "after compaction"
TOOL_USE: Final = "file changed"
TOOL_FAILURE: Final = "command failed"
TURN_END: Final = "turn end"
SUBAGENT_END: Final = "subagent end"
SESSION_END: Final = "session end"
MEANINGS: Final = (
    SESSION_START, SUBAGENT_START, PROMPT, READ, PERMISSION, BEFORE_COMPACTION, COMPACTED, TOOL_USE, TOOL_FAILURE,
    TURN_END, SUBAGENT_END, SESSION_END,
)  # fmt: skip
ANSWERED: Final = (SESSION_START, SUBAGENT_START, PROMPT, READ, PERMISSION)
# Registered only where a person asks for them.
ON_DEMAND: Final = ("PreToolUse",)
CODEX_EVENTS: Final = {
    "SessionStart": SESSION_START, "UserPromptSubmit": PROMPT, "PermissionRequest": PERMISSION,
    "PreCompact": BEFORE_COMPACTION, "PostToolUse": TOOL_USE, "Stop": TURN_END,
}  # fmt: skip
CLAUDE_EVENTS: Final = {
    "SessionStart": SESSION_START, "UserPromptSubmit": PROMPT, "PermissionRequest": PERMISSION,
    "PreCompact": BEFORE_COMPACTION, "PostCompact": COMPACTED, "PostToolUse": TOOL_USE,
    "PostToolUseFailure": TOOL_FAILURE, "Stop": TURN_END, "SubagentStop": SUBAGENT_END, "SessionEnd": SESSION_END,
    "SubagentStart": SUBAGENT_START, "PreToolUse": READ,
}  # fmt: skip
CURSOR_EVENTS: Final = {
    "sessionStart": SESSION_START, "beforeSubmitPrompt": PROMPT, "preCompact": BEFORE_COMPACTION,
    "afterFileEdit": TOOL_USE, "stop": TURN_END, "subagentStop": SUBAGENT_END, "sessionEnd": SESSION_END,
}  # fmt: skip
# Copilot's transcripts have a form of their own, so no event that keeps something of a session is here.
COPILOT_EVENTS: Final = {"SessionStart": SESSION_START, "UserPromptSubmit": PROMPT}
# The meaning of each event, by host.
EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "claude-code": CLAUDE_EVENTS,
    "codex": CODEX_EVENTS,
    "cursor": CURSOR_EVENTS,
    "copilot": COPILOT_EVENTS,
}
# The name that a host gives itself as a client of MCP, where that is another than its own.
CLIENT_NAMES: Final[Mapping[str, str]] = {"codex": "codex-mcp-client", "copilot": "copilot-cli"}
# Of a host, then of a plugin.
TOOL_PREFIXES: Final = ("mcp__mnemesh__", "mcp__plugin_mnemesh_mnemesh__")
TELLING_HOSTS: Final = ("claude-code", "codex")
# After these the model has forgotten the context that it was given.
FORGETTING_SOURCES: Final = ("clear", "compact")
# After these the work goes on.
RESUMING_SOURCES: Final = ("resume", "compact")


def context_reply(host: str, event: str, text: str, banner: str = "") -> Reply:
    """The answer that puts `text` before the model, and a line before the person where the host has a place for it."""
    message = {"systemMessage": banner} if banner and host in TELLING_HOSTS else {}
    return {**REPLIES[host](event, text), **message}


def permission_reply(tool: object) -> Reply | None:
    """The approval of a tool of ours that only reads, None for any other."""
    from mnemesh.transport.reading_tools import READING_TOOLS  # no prompt comes here

    names = [tool.removeprefix(prefix) for prefix in TOOL_PREFIXES if isinstance(tool, str) and tool.startswith(prefix)]
    if not READING_TOOLS & set(names):
        return None
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


def is_anothers(host: str, given: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether Copilot runs a hook of Claude Code, out of a project's settings. It has hooks of its own. Claude Code
    inside a shell of Copilot has the variable too, but gives no `timestamp`."""
    return host == "claude-code" and "COPILOT_CLI" in environ and "timestamp" in given


def session_of(given: Mapping[str, Any]) -> str:
    """The id of the session by the host's JSON, or ""."""
    session = given.get("session_id") or given.get("conversation_id")
    return session if isinstance(session, str) else ""


def directory_of(given: Mapping[str, Any]) -> str:
    """The working directory by the host's JSON, or ""."""
    roots = given.get("workspace_roots")
    directory = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    return directory if isinstance(directory, str) else ""


def _claude(event: str, text: str) -> Reply:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _cursor(event: str, text: str) -> Reply:
    return {"additional_context": text}


def _copilot(event: str, text: str) -> Reply:
    return {"additionalContext": text}


REPLIES: Final[Mapping[str, Callable[[str, str], Reply]]] = {
    "claude-code": _claude,
    "codex": _claude,
    "cursor": _cursor,
    "copilot": _copilot,
}
