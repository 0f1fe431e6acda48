"""The text of docs/hosts.md, and the files of the plugin, from the table of hosts that `mnemesh install` works with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tools.markdown_table import table_text

from mnemesh.hooks import context, events, injection
from mnemesh.hooks.host_table import HOSTS, NAME, Part
from mnemesh.hooks.registration import installed
from mnemesh.hooks.shim import TIMEOUT_S

HOSTS_PAGE = """# Mnemesh in agent hosts

Generated from `client/mnemesh/hooks/host_table.py` by `make docs`; do not edit.

```text
mnemesh install claude-code              # for you, in every project
mnemesh install cursor --project DIR     # for one project
mnemesh install --dry-run                # the difference for all hosts that are found, and no change
mnemesh uninstall                        # out of every file
```

`install` registers the MCP server, and hooks where the host has them. A second `install` repairs the path of a moved
program. `uninstall` gives a file its old bytes back. When somebody has changed the file since, `uninstall` takes out
the members of Mnemesh alone. The old bytes lie beside a register in the data directory, in `hosts/`.

- A settings file never holds a token: server and hooks find the node through the data directory.
- Comments, line ends, a byte order mark and the form of all other members stay. Symbolic links are written through.
- A file that can't be read, is read-only or belongs to another user is refused. So is a server named `mnemesh` that
  has other settings. Then no file is changed.
- A data directory other than the default (`--data`, `MNEMESH_DATA_DIR`) is written into the commands.
- Hooks in the user's settings fire in every project. An installation in a project adds none beside these.

{places}
{entries}
{notes}
Claude Code can have the plugin in `plugin/` in place of `mnemesh install claude-code`, with `mnemesh` on the path. With
both, hooks fire twice:

```text
claude plugin marketplace add /path/to/clone
claude plugin install mnemesh@mnemesh
```

## Hooks

{hooks}
A hook is the command `mnemesh hook HOST EVENT`. It asks the running node over HTTP for at most {timeout:g} s. Without a
node or an answer in time the hook prints nothing and ends with status 0. An unknown event does the same.

Memories come as data in one `<{tag}>` block, which no memory can close. A session gets up to {session:,}
characters at the start: pinned memories, preferences, decisions and recent memories of the project's space. A prompt
gets up to {prompt:,} characters, only of memories that answer the prompt, and none for greetings and commands. A
session never gets the same memory twice, until the host clears or compacts the context. The ids that were shown lie in
`hosts/sessions/` in the data directory, for 14 days.

Where the host asks for permission, a tool of Mnemesh that only reads is approved. Any other tool is left to you.

A project chooses in `.mnemesh.toml`. `hooks = false` ends all hooks of the project. `inject = "WORD"`, or the variable
`MNEMESH_INJECT`, says how much is put before the model:

{modes}"""


def hosts_page() -> str:
    """The text of docs/hosts.md."""
    places = [
        (host.title, part.kind, _place(part), " or ".join(f"`{name}`" for name in part.project), _key(part))
        for host in HOSTS.values()
        for part in host.parts
    ]
    entries = [
        (f"{host.title}: `{host.name}`", f"`{json.dumps(host.shape(('/path/to/mnemesh', 'mcp')))}`")
        for host in HOSTS.values()
    ]
    notes = [
        f"- {host.title}: {note}\n" for host in HOSTS.values() if (note := f"{host.confirm} {host.remark}".strip())
    ]
    modes = [(f"`{mode}`", text) for mode, text in injection.MODES.items()]
    fired = [(HOSTS[name].title, *_fired(known)) for name, known in events.EVENTS.items()]
    return HOSTS_PAGE.format(
        places=table_text(("host", "part", "the user's file", "a project's file", "form and key"), places, "---"),
        entries=table_text(("host and its word", "entry of the server"), entries, "---"),
        notes="".join(notes),
        hooks=table_text(("host", events.SESSION_START, events.PROMPT, events.PERMISSION), fired, "---"),
        modes=table_text(("inject", "the model is given"), modes, "---"),
        timeout=TIMEOUT_S, tag=context.TAG, session=context.SESSION_CHARS_MAX, prompt=context.PROMPT_CHARS_MAX,
    )  # fmt: skip


def plugin_server() -> str:
    """The text of plugin/.mcp.json. The program is found on the path."""
    host = HOSTS["claude-code"]
    return installed("", host, host.server, NAME)


def plugin_hooks() -> str:
    """The text of plugin/hooks/hooks.json. Tools of a plugin's server have names of their own."""
    host = HOSTS["claude-code"]
    assert host.hooks is not None
    text = installed("", host, host.hooks, NAME)
    return text.replace(f"mcp__{NAME}__", events.TOOL_PREFIXES[1])


def _place(part: Part) -> str:
    files = " or ".join(f"`{part.user.folder}/{name}`" for name in part.user.names)
    return files + (f"; `{part.user.variable}` moves the folder" if part.user.variable else "")


def _key(part: Part) -> str:
    return f"{part.format} `{'.'.join(part.key)}`"


def _fired(known: Mapping[str, str]) -> Iterator[str]:
    names = {meaning: f"`{event}`" for event, meaning in known.items()}
    return (names.get(meaning, "") for meaning in (events.SESSION_START, events.PROMPT, events.PERMISSION))
