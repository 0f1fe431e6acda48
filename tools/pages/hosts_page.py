"""The text of docs/hosts.md, and the files of the plugin, from the table of hosts that `mnemesh install` works with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from tools.pages.markdown_table import table_text

from mnemesh.hooks import context, events, injection, prompt_gate
from mnemesh.hooks.installation.host_table import HOSTS, NAME, HostFile
from mnemesh.hooks.installation.registration import installed
from mnemesh.hooks.kept import captures, citations, notes, text_marks, transcript_tail
from mnemesh.hooks.shim import TIMEOUT_S

BUNDLE_SCHEMA: Final = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
HOSTS_PAGE = """# Mnemesh in agent hosts

Generated from `client/mnemesh/hooks/installation/host_table.py` by `make docs`; do not edit.

```text
mnemesh install claude-code              # for you, in every project
mnemesh install cursor --project DIR     # for one project
mnemesh install --dry-run                # the difference for all hosts that are found, and no change
mnemesh uninstall                        # out of every file
```

`install` registers the MCP server, and hooks where the host has them. A second `install` repairs the path of a moved
program. `uninstall` gives a file its old bytes back. When somebody has changed the file since, `uninstall` takes out
the members of Mnemesh alone. The old bytes lie beside a register in the data directory, in `hosts/`.

- `--instructions` also keeps a block about the memory at the end of CLAUDE.md or AGENTS.md. Nothing else writes there.
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

The same folder is a bundle of Agent Plugins 1.0.0 (`plugin.json`, `mcp.json`, `skills/`), with the server and the skill
but without hooks. VS Code, Copilot, Cursor, Codex and others read such a bundle.

`mnemesh statusline` prints one line about the project's memory: space, memories, entries to sync, and the share of
context that the host says is used. It asks the node for at most 50 ms, and prints nothing without a node. In Claude
Code's settings:

```json
{{"statusLine": {{"type": "command", "command": "mnemesh statusline"}}}}
```

## Hooks

{hooks}
A hook is the command `mnemesh hook HOST EVENT`. It asks the running node over HTTP for at most {timeout:g} s. Without a
node or an answer in time the hook prints nothing and ends with status 0. An unknown event does the same.

`MNEMESH_HOOK_DEBUG=1` lets a hook say on standard error why it was silent.

A hook signs as the tools of its host do: in Codex as `codex-mcp-client`, in Copilot CLI as `copilot-cli`, elsewhere
with the host's word. [The proofs](proof.md#what-the-model-of-a-host-receives) name the real hosts that fired hooks.

Memories come as data in one `<{tag}>` block, which no memory can close. A session gets up to {session:,}
characters at the start: the groups of `mnemesh context` ([sessions.md](sessions.md)). A session that goes on, also
after a compaction, gets its checkpoint before them. A prompt gets up to {prompt:,} characters, only of memories that
answer the prompt, and none for greetings and commands. A
session never gets the same memory twice, until the host clears or compacts the context. The ids that were shown lie in
`hosts/sessions/` in the data directory, for 14 days.

## What hooks keep of a session

These events get no answer, and the host waits for none of them longer than for the program.

| event | what is kept |
|---|---|
| before compaction, session end | a checkpoint from the end of the transcript and the capture buffer |
| after compaction | the host's summary, in the checkpoint |
| file changed, command failed | a line of the capture buffer; after {every} lines, a checkpoint |
| turn end | a vote "useful" for each memory that the agent's last words name or quote |
| turn end, subagent end, session end | a note for the miner |

A checkpoint has the task, changed files, failed tools, open to-dos, open questions and last words of the last {tail}
KiB of the transcript. It is added to the session's last one, with credentials masked by the node. A command is kept up
to its first word that is no plain word. The buffer lies in `hosts/captures/`, for this user alone, for 14 days.

Only memories that the hooks showed in this session get such a vote, each once, at most {cited} by one answer. An id
counts whole or by a part that fits one of them alone. A quotation is known by numbers of runs of {run} words, which lie
beside the ids: half of a memory's runs, at least {marks_min}, and {marks_enough} of a longer one. A memory of less than
{shortest} words counts by id alone. Runs in the person's words at the end of the transcript do not count. A vote
that the agent gave by `rate` stays.

Without a node, notes in `hosts/spool/` take the place of a checkpoint and of votes. A later hook that finds a node
hands them over. A note names the transcript and says how far it was written, or it names memories. So a note holds no
text of a session, and a summary that the host gave meanwhile is lost. A note older than the session's checkpoint is
dropped: the newer checkpoint stays. So is a note whose transcript can't be read. A note that the node does not take now
waits behind the others.

Notes for the miner ([mining.md](mining.md)) lie in `hosts/mining/`, one a transcript, at most {notes_max} in each
folder. Each is a JSON object:

```json
{{"version": 1, "host": "claude-code", "event": "turn end", "session": "ID", "agent": "",
 "transcript": "/path/to.jsonl", "bytes": 48213, "cwd": "/path/to/project", "at": 1795654800}}
```

`agent` is the id of a subagent, `bytes` the size of the transcript and `at` the second of the event.

## Permissions and choices

Where the host asks for permission, a tool of Mnemesh that only reads is approved. Any other tool is left to you. So is
every tool when the project's own settings give the name `mnemesh` to another program.

A file that an agent reads can bring facts about the file. This is off, because a hook at each read costs the start of
a program. `mnemesh install claude-code --reads` writes the hook, `--no-reads` takes the hook out, and an `install`
without either changes nothing there. A read then brings up to {read_results} facts of up to {read_memory} characters,
together at most {read:,} characters. Only memories with the file in `paths` count, each once in a session. The path may
begin at the project's folder or at the session's. No memory is shown after a change of a file that the text names, or
beside a newer memory that contradicts or may replace the older. `reads = false` in
`.mnemesh.toml`, or `MNEMESH_READS=off`, turns these facts off.

`banner = true` in `.mnemesh.toml`, or `MNEMESH_BANNER=on`, lets Claude Code and Codex show the person a line such as
`Mnemesh: 3 memories` with each block. This is off by default.

A project chooses in `.mnemesh.toml`. `hooks = false`, in that file or in one above, ends all hooks of the project. For
the flags `hooks`, `reads` and `banner`, `on`, `true`, `yes` and `1` say yes, and any other word says no.
`inject = "WORD"`, or the variable `MNEMESH_INJECT`, says how much is put before the model:

{modes}
An unknown word for `inject` or `hooks`, a misspelt key and a file that can't be read turn the hooks off. Each hook
names the fault on its standard error, and so do `mnemesh doctor`, `mnemesh install` and `mnemesh space`.

A memory with less than a third of the best score stays out. [The score](recall.md#a-useful-min_score) has the figures.

In the mode `gated`, the first prompt of a topic asks the memory. The {pause} prompts after an answer ask nothing. After
{streak} questions without an answer, one prompt in {few} asks. Few words in common with the
topic begin another topic.
"""


def hosts_page() -> str:
    """The text of docs/hosts.md."""
    places = [
        (host.title, file.kind, _place(file), " or ".join(f"`{name}`" for name in file.project), _key(file))
        for host in HOSTS.values()
        for file in host.all_files
    ]
    entries = [
        (f"{host.title}: `{host.name}`", f"`{json.dumps(host.shape(('/path/to/mnemesh', 'mcp')))}`")
        for host in HOSTS.values()
    ]
    told = [f"- {host.title}: {note}\n" for host in HOSTS.values() if (note := f"{host.confirm} {host.remark}".strip())]
    modes = [(f"`{mode}`", text) for mode, text in injection.MODES.items()]
    fired = [(meaning, *(_fired(known, meaning) for known in events.EVENTS.values())) for meaning in events.MEANINGS]
    return HOSTS_PAGE.format(
        places=table_text(("host", "part", "the user's file", "a project's file", "form and key"), places, "---"),
        entries=table_text(("host and its word", "entry of the server"), entries, "---"),
        notes="".join(told),
        hooks=table_text(("event", *(HOSTS[name].title for name in events.EVENTS)), fired, "---"),
        modes=table_text(("inject", "the model is given"), modes, "---"),
        timeout=TIMEOUT_S, tag=context.TAG, session=context.SESSION_CHARS_MAX, read=context.READ_CHARS_MAX,
        prompt=context.PROMPT_CHARS_MAX, read_results=context.READ_RESULTS_MAX,
        read_memory=context.READ_MEMORY_CHARS_MAX,
        tail=transcript_tail.TAIL_BYTES // 1024, every=captures.CHECKPOINT_EVERY, notes_max=notes.NOTES_MAX,
        cited=citations.CITED_MAX, run=text_marks.RUN_WORDS, marks_min=citations.MARKS_MIN,
        marks_enough=citations.MARKS_ENOUGH, shortest=text_marks.RUN_WORDS + citations.MARKS_MIN - 1,
        pause=prompt_gate.PAUSE, streak=prompt_gate.EMPTY_STREAK, few=prompt_gate.EMPTY_EVERY,
    )  # fmt: skip


def plugin_server() -> str:
    """The text of plugin/.mcp.json. The program is found on the path."""
    host = HOSTS["claude-code"]
    return installed("", host, host.server, NAME)


def bundle_server() -> str:
    """The text of plugin/mcp.json, the servers of the bundle in the form of Agent Plugins."""
    server = HOSTS["claude-code"].shape((NAME, "mcp"))
    return json.dumps({"$schema": BUNDLE_SCHEMA, "mcpServers": {NAME: server}}, indent=2) + "\n"


def plugin_hooks() -> str:
    """The text of plugin/hooks/hooks.json. Tools of a plugin's server have names of their own."""
    host = HOSTS["claude-code"]
    assert host.hooks is not None
    text = installed("", host, host.hooks, NAME)
    return text.replace(f"mcp__{NAME}__", events.TOOL_PREFIXES[1])


def _place(host_file: HostFile) -> str:
    files = " or ".join(f"`{host_file.user.folder}/{name}`" for name in host_file.user.names)
    return files + (f"; `{host_file.user.variable}` moves the folder" if host_file.user.variable else "")


def _key(host_file: HostFile) -> str:
    return (
        f"{host_file.format} `{'.'.join(host_file.key)}`"
        if host_file.key
        else f"{host_file.format}, with `--instructions`"
    )


def _fired(known: Mapping[str, str], meaning: str) -> str:
    return ", ".join(f"`{event}`" for event, told in known.items() if told == meaning)
