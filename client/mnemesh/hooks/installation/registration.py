"""The changes of an installation in one settings file: from text to text, with foreign members left alone. Pure."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator
from typing import Any, Final

from mnemesh.hooks.events import EVENTS, ON_DEMAND
from mnemesh.hooks.installation import managed_block, settings_json, settings_toml
from mnemesh.hooks.installation.host_table import HANDED_ON, HOOKS, INSTRUCTIONS, JSON, NAME, Host, HostFile
from mnemesh.hooks.installation.settings_json import BadSettings
from mnemesh.hooks.installation.settings_json import Path as JsonPath

# Files of hooks of these hosts begin with a version.
VERSION: Final = ("version",)
VERSIONED: Final = ("cursor", "copilot")


class ForeignSettings(Exception):
    """A member of our name that is not ours. The message says which."""


def installed(text: str, host: Host, host_file: HostFile, program: str, data: str = "", reads: bool = False) -> str:
    """`text` with our server or hooks, those of an earlier installation replaced. `program` is the path of `mnemesh`,
    `data` a data directory other than the default. `reads`: with the hook of files that are read. Raises
    ForeignSettings, BadSettings."""
    options = ("--data", data) if data else ()
    if host_file.kind == INSTRUCTIONS:
        return managed_block.put(managed_block.take(text))
    if host_file.kind == HOOKS:
        assert host.hook_shape is not None
        changed = uninstalled(text, host, host_file, text)
        if host.name in VERSIONED and VERSION[0] not in settings_json.read(changed):
            changed = settings_json.put(changed, VERSION, 1)
        for event in events_of(host.name, reads=reads):
            shown = shlex.join((program, "hook", host.name, event, *options))
            changed = settings_json.put(changed, (*host_file.key, event, -1), host.hook_shape(event, shown))
        return text if settings_json.read(changed) == settings_json.read(text) else changed
    entry = server_entry(text, host_file)
    wanted = host.shape((program, "mcp", *options))
    if entry == wanted:
        return text
    if entry is not None and not is_ours(entry):
        raise ForeignSettings(f"{'.'.join(host_file.key)} is there already and was not written by `mnemesh install`")
    without = text if entry is None else _without_server(text, host_file)
    if host_file.format == JSON:
        return settings_json.put(without, host_file.key, wanted)
    return settings_toml.put(without, host_file.key, wanted)


def uninstalled(text: str, host: Host, host_file: HostFile, original: str = "") -> str:
    """`text` without our server or hooks, and without the containers that `original` did not have. Raises
    BadSettings."""
    if host_file.kind == INSTRUCTIONS:
        return managed_block.take(text)
    before = _value(text, host_file)
    if host_file.kind == HOOKS:
        while (path := next(_our_hooks(settings_json.read(text)), None)) is not None:
            text = settings_json.take(text, path)
    elif is_ours(server_entry(text, host_file)):
        text = _without_server(text, host_file)
    if host_file.format != JSON or _value(text, host_file) == before:
        return text
    kept = set(settings_json.empty_paths(_value(original, host_file)))
    while True:
        empty = [
            path for path in settings_json.empty_paths(settings_json.read(text))
            if path and path not in kept and _held_ours(path, host_file, host)
        ]  # fmt: skip
        if not empty:
            return text
        text = settings_json.take(text, empty[-1])


def events_of(host: str, *, reads: bool = False) -> list[str]:
    """The events of a host that a hook is written for."""
    return [event for event in EVENTS[host] if reads or event not in ON_DEMAND]


def has_reads(text: str, host_file: HostFile) -> bool:
    """Whether our hook of files that are read stands in `text`. Raises BadSettings."""
    return host_file.kind == HOOKS and any(path[1] in ON_DEMAND for path in _our_hooks(settings_json.read(text)))


def _held_ours(path: JsonPath, host_file: HostFile, host: Host) -> bool:
    """Whether an empty container is one that an installation fills: above a server, or of one of our events."""
    above = host_file.key if host_file.kind == HOOKS else host_file.key[:-1]
    if tuple(path) == above[: len(path)]:
        return True
    return host_file.kind == HOOKS and len(path) == len(above) + 1 and path[-1] in EVENTS[host.name]


def has_ours(text: str, host_file: HostFile) -> bool:
    """Whether our server, one of our hooks or our block stands in `text`. Raises BadSettings."""
    if host_file.kind == INSTRUCTIONS:
        return managed_block.has(text)
    if host_file.kind == HOOKS:
        return next(_our_hooks(settings_json.read(text)), None) is not None
    return is_ours(server_entry(text, host_file))


def is_bare(text: str, host_file: HostFile) -> bool:
    """Whether nothing is left in `text` but our version number and empty containers: no value and no comment."""
    if host_file.kind == INSTRUCTIONS:
        return not text.strip("\ufeff \t\r\n")
    left = [value for key, value in _value(text, host_file).items() if (key,) != VERSION]
    commented = any(mark in text for mark in (("//", "/*") if host_file.format == JSON else ("#",)))
    return not commented and all(isinstance(value, dict | list) and not value for value in left)


def server_entry(text: str, host_file: HostFile) -> Any:
    """The server of our name in `text`, or None. Raises BadSettings."""
    value: Any = _value(text, host_file)
    for step in host_file.key:
        if not isinstance(value, dict):
            raise BadSettings(f"an object was expected at {'.'.join(host_file.key[:-1])}")
        value = value.get(step)
        if value is None:
            return None
    return value


def is_ours(entry: object) -> bool:
    """Whether a server's entry is what an installation writes: the program mnemesh, mcp, and perhaps --data DIR.
    An earlier installation named no variables to hand on."""
    if not isinstance(entry, dict) or set(entry) - {"type", "command", "args", "tools", "enabled", "env_vars"}:
        return False
    handed_on = entry.get("env_vars", [])
    if not isinstance(handed_on, list) or not all(name in HANDED_ON for name in handed_on):
        return False
    command, args = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *args] if isinstance(args, list) else []
    if not all(isinstance(word, str) for word in words) or len(words) not in (2, 4):
        return False
    return posixpath.basename(words[0]) == NAME and words[1] == "mcp" and words[2:3] in ([], ["--data"])


def is_foreign(text: str, host_file: HostFile, program: str) -> bool:
    """Whether the server of our name in `text` is another program than `program`, or no program at all."""
    try:
        entry = server_entry(text, host_file)
    except BadSettings:
        return True
    if entry is None:
        return False
    command = entry.get("command") if isinstance(entry, dict) else None
    words = command if isinstance(command, list) else [command]
    return not is_ours(entry) or words[0] not in (NAME, program)


def _value(text: str, host_file: HostFile) -> dict[str, Any]:
    value: dict[str, Any] = settings_json.read(text) if host_file.format == JSON else settings_toml.read(text)
    return value


def _without_server(text: str, host_file: HostFile) -> str:
    return (
        settings_json.take(text, host_file.key) if host_file.format == JSON else settings_toml.take(text, host_file.key)
    )


def _our_hooks(value: dict[str, Any]) -> Iterator[JsonPath]:
    """The place of each of our hooks: the whole group where nothing else stands in it."""
    events = value.get("hooks", {})
    if not isinstance(events, dict):
        raise BadSettings("an object was expected at hooks")
    for event, groups in events.items():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            handlers = inner if isinstance(inner, list) else [group]
            ours = [index for index, handler in enumerate(handlers) if _is_hook(handler)]
            if ours and len(ours) == len(handlers):
                yield ("hooks", event, number)
            elif ours:
                yield ("hooks", event, number, "hooks", ours[0])


def _is_hook(handler: object) -> bool:
    """Whether a command is exactly what an installation writes; a longer one is somebody's own."""
    command = handler.get("command") if isinstance(handler, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # an open quotation mark
        return False
    if len(words) not in (4, 6) or words[4:5] not in ([], ["--data"]):
        return False
    program, hook, host, event = words[:4]
    return posixpath.basename(program) == NAME and hook == "hook" and event in EVENTS.get(host, {})
