"""The hosts that Mnemesh can be installed in: one row each, for the installer and for docs/hosts.md. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

JSON: Final = "JSON"
TOML: Final = "TOML"
SERVER: Final = "server"
HOOKS: Final = "hooks"
INSTRUCTIONS: Final = "instructions"
MARKDOWN: Final = "Markdown"
NAME: Final = "mnemesh"
# Seconds. The shim itself gives up earlier.
HOOK_TIMEOUT_S: Final = 5
# Codex hands a server only the variables that the entry names. Without them server and hooks would differ in the space.
HANDED_ON: Final = ("MNEMESH_SPACE", "MNEMESH_AGENT", "MNEMESH_DATA_DIR", "XDG_DATA_HOME")
# From the words of a command to the entry of a server.
Shape = Callable[[Sequence[str]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """A settings file of a user: a folder, which a variable may move, and possible names of the file. The first name
    that exists is taken, else the first of all."""

    folder: str
    names: tuple[str, ...]
    variable: str = ""
    # The folder on a Mac, where that is another.
    mac_folder: str = ""


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file that gets our server, our hooks or, when asked, our instructions. `key` is the path of the member that the
    host reads."""

    kind: str
    format: str
    key: tuple[str, ...]
    user: SettingsPlace
    # File names in a project, "" for none.
    project: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """A host of agents. `programs` and the folders of its files show that it is there."""

    name: str
    title: str
    programs: tuple[str, ...]
    server: HostFile
    shape: Shape
    hooks: HostFile | None = None
    # The entry of an event for a shell command.
    hook_shape: Callable[[str, str], dict[str, Any]] | None = None
    instructions: HostFile | None = None
    # A sentence of what the host wants done after an installation.
    confirm: str = ""
    # Whether only an installation in a project wants it.
    confirms_projects: bool = False
    # A peculiarity for the page about hosts.
    remark: str = ""

    @property
    def files(self) -> tuple[HostFile, ...]:
        """The server's file, then the file of the hooks."""
        return (self.server, self.hooks) if self.hooks else (self.server,)

    @property
    def all_files(self) -> tuple[HostFile, ...]:
        """The same, and the file that gets instructions when a person asks for them."""
        return (*self.files, self.instructions) if self.instructions else self.files


def _plain(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(words)}


def _copilot(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", **_plain(words), "tools": ["*"]}


def _codex(words: Sequence[str]) -> dict[str, Any]:
    return {**_plain(words), "env_vars": list(HANDED_ON)}


def _opencode(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", "command": list(words), "enabled": True}


# The tools at whose calls an event fires.
MATCHERS: Final[Mapping[str, str]] = {
    "PermissionRequest": f"mcp__{NAME}__.*", "PostToolUse": "Edit|Write|MultiEdit|NotebookEdit",
    "PostToolUseFailure": "Bash", "PreToolUse": "Read",
}  # fmt: skip
# Claude Code does not wait for these, and kills them when it ends: nothing is lost that a transcript does not tell.
ASYNC_EVENTS: Final = ("PostToolUse", "PostToolUseFailure")


def _claude_hook(event: str, command: str) -> dict[str, Any]:
    hook = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}
    return _matched(event, {**hook, "async": True} if event in ASYNC_EVENTS else hook, MATCHERS)


def _codex_hook(event: str, command: str) -> dict[str, Any]:
    hook = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}
    return _matched(event, hook, {**MATCHERS, "PostToolUse": "apply_patch|Edit|Write"})


def _matched(event: str, hook: dict[str, Any], matchers: Mapping[str, str]) -> dict[str, Any]:
    return ({"matcher": matchers[event]} if event in matchers else {}) | {"hooks": [hook]}


def _cursor_hook(event: str, command: str) -> dict[str, Any]:
    return {"command": command, "timeout": HOOK_TIMEOUT_S}


def _copilot_hook(event: str, command: str) -> dict[str, Any]:
    return {"type": "command", **_cursor_hook(event, command)}


def _servers(place: SettingsPlace, *project: str, key: str = "mcpServers") -> HostFile:
    return HostFile(SERVER, JSON, (key, NAME), place, project)


def _instructions(place: SettingsPlace, *project: str) -> HostFile:
    return HostFile(INSTRUCTIONS, MARKDOWN, (), place, project)


def _hooks(place: SettingsPlace, *project: str) -> HostFile:
    return HostFile(HOOKS, JSON, ("hooks",), place, project)


_ROWS: Final = (
    Host(
        "claude-code", "Claude Code", ("claude",),
        _servers(SettingsPlace("~", (".claude.json",), "CLAUDE_CONFIG_DIR"), ".mcp.json"), _typed,
        _hooks(SettingsPlace("~/.claude", ("settings.json",), "CLAUDE_CONFIG_DIR"), ".claude/settings.json"),
        _claude_hook,
        instructions=_instructions(SettingsPlace("~/.claude", ("CLAUDE.md",), "CLAUDE_CONFIG_DIR"), "CLAUDE.md"),
        confirm="Claude Code asks once whether to trust a server of a project's .mcp.json.", confirms_projects=True,
        remark="Hooks of type `http` would need the token in the settings, and `mcp_tool` can't choose what to show. "
        "The hooks are therefore commands. `claude -p` asks for no permission and so fires no `PermissionRequest`.",
    ),
    Host(
        "codex", "Codex", ("codex",),
        HostFile(SERVER, TOML, ("mcp_servers", NAME), SettingsPlace("~/.codex", ("config.toml",), "CODEX_HOME"),
             (".codex/config.toml",)), _codex,
        _hooks(SettingsPlace("~/.codex", ("hooks.json",), "CODEX_HOME"), ".codex/hooks.json"), _codex_hook,
        instructions=_instructions(SettingsPlace("~/.codex", ("AGENTS.md",), "CODEX_HOME"), "AGENTS.md"),
        confirm="Codex runs no hook until you trust its hash: open /hooks in Codex. A project's files count only in a "
        "trusted project.",
        remark="Early versions also want `codex_hooks = true` under `[features]`.",
    ),
    Host(
        "cursor", "Cursor", ("cursor", "cursor-agent"),
        _servers(SettingsPlace("~/.cursor", ("mcp.json",)), ".cursor/mcp.json"), _plain,
        _hooks(SettingsPlace("~/.cursor", ("hooks.json",)), ".cursor/hooks.json"), _cursor_hook,
        confirm="Cursor asks to enable a new server: Settings, MCP.",
    ),
    Host(
        "vscode", "VS Code", ("code",),
        _servers(
            SettingsPlace("~/.config", ("Code/User/mcp.json",), "XDG_CONFIG_HOME", "~/Library/Application Support"),
            ".vscode/mcp.json", key="servers",
        ), _typed,
        confirm="VS Code asks whether to trust a new server when it starts.",
    ),
    Host(
        "copilot", "Copilot CLI", ("copilot",),
        _servers(SettingsPlace("~/.copilot", ("mcp-config.json",), "COPILOT_HOME")), _copilot,
        _hooks(SettingsPlace("~/.copilot", ("hooks/mnemesh.json",), "COPILOT_HOME")), _copilot_hook,
        remark="Copilot also runs the hooks in `.claude/settings.json` of a trusted project. Those of Mnemesh are "
        "silent there, so that none answers twice.",
    ),
    Host(
        "opencode", "OpenCode", ("opencode",),
        _servers(SettingsPlace("~/.config", ("opencode/opencode.json", "opencode/opencode.jsonc"), "XDG_CONFIG_HOME"),
                 "opencode.json", "opencode.jsonc", key="mcp"), _opencode,
        instructions=_instructions(SettingsPlace("~/.config", ("opencode/AGENTS.md",), "XDG_CONFIG_HOME"), "AGENTS.md"),
    ),
    Host(
        "antigravity", "Antigravity", ("agy", "antigravity"),
        _servers(SettingsPlace("~/.gemini", ("config/mcp_config.json", "antigravity/mcp_config.json"))), _plain,
        remark="Versions differ in the path of the file. An existing one is taken.",
    ),
)  # fmt: skip
HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in _ROWS}
