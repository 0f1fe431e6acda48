"""`mnemesh mine`: what agents' sessions taught, out of their session files. Opt in; nothing is read before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mnemesh.cli.model_options import ENV_HELP, TIMEOUT_HELP, key_of
from mnemesh.cli.options import Number
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, paint
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.errors import FailedPrecondition
from mnemesh.exit_status import EXIT_REFUSED
from mnemesh.hooks.kept.notes import MINING, NOTES_MAX, Notes
from mnemesh.mining.miner_state import MiningState, only_miner
from mnemesh.mining.run import Miner, Model, summary_of
from mnemesh.mining.session_files import further_folders, host_files, is_of_repository, named_files
from mnemesh.transport.chat_endpoint import TIMEOUT_S, ChatEndpoint
from mnemesh.transport.connection import local_data_dir
from mnemesh.transport.model_command import ModelCommand

HELP: Final = "Learn decisions, fixes, rules and commands from agents' sessions."
AGENT: Final = "miner"
URL_HELP: Final = "Base address of an OpenAI-compatible endpoint that reads along. [MNEMESH_MINE_URL]"
MODEL_HELP: Final = "Name of the model. [MNEMESH_MINE_MODEL]"
COMMAND_HELP: Final = (
    "Instead of an address: a command that reads messages as JSON and prints the answer. [MNEMESH_MINE_COMMAND]"
)
FILE_HELP: Final = "File with the key of the endpoint, read for each run. [MNEMESH_MINE_KEY_FILE]"
HISTORY_SHOWN: Final = 20
Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="A session file of Claude Code or Codex, or a folder with such files."),
]


def on(shell: Shell) -> None:
    """Let the miner read the session files of Claude Code and Codex on this machine, also after each session that ends
    with a hook of `mnemesh install`."""
    _switch(shell, on=True)


def off(shell: Shell) -> None:
    """Read no session files any more. Memories that were mined stay."""
    _switch(shell, on=False)


def now(
    shell: Shell,
    paths: Paths = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be stored; store nothing.")] = False,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Only sessions in this folder or below.")
    ] = None,
    model_url: Annotated[str | None, typer.Option("--model-url", metavar="URL", help=URL_HELP)] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help=MODEL_HELP)] = None,
    model_command: Annotated[str | None, typer.Option("--model-command", metavar="COMMAND", help=COMMAND_HELP)] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help=FILE_HELP)] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", metavar="NAME", help=ENV_HELP)] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help=TIMEOUT_HELP)] = TIMEOUT_S,
) -> None:
    """Mine what is new: first what hooks left notes of, then every other session file. With PATH only these files, and
    those in these folders. A language model reads along only where --model-url, --model-command or a variable names
    one. Exit status 4 when a file failed."""
    asked_model = _model(model_url, model, model_command, key_file, key_env, timeout)
    data_dir = local_data_dir(shell.data)
    named = [Path(path) for path in paths or ()]
    if not named and not MiningState(data_dir).on:
        raise FailedPrecondition("mining is off; `mnemesh mine on` lets it read your agents' session files")
    folder = None if project is None else Path(os.path.abspath(project))
    with only_miner(data_dir) as state:
        if dry_run:
            miner = _run(Miner(state, data_dir, None, folder, asked_model), named)
        else:
            asked = shell if shell.agent or os.environ.get("MNEMESH_AGENT") else replace(shell, agent=AGENT)
            with asked.client("") as client:
                client.whoami()  # a node that does not answer is no file's fault
                miner = _run(Miner(state, data_dir, client, folder, asked_model), named)
    body = {"dry_run": dry_run, **{name: getattr(miner.mined, name) for name in miner.mined.__slots__}}
    if dry_run:
        body["findings"] = [{"class": finding.class_, "text": finding.text} for finding in miner.shown]
    shell.answer(body, lambda: _report(miner, dry_run))
    if miner.mined.failed:
        raise typer.Exit(EXIT_REFUSED)


def history(
    shell: Shell, limit: Annotated[Number, typer.Option("--limit", "-n", help="Readings, newest first.")] = None
) -> None:
    """Show the readings that found something, newest first."""
    readings = MiningState(local_data_dir(shell.data)).history()[::-1][
        : HISTORY_SHOWN if limit is None else max(0, limit)
    ]
    shell.answer({"readings": readings}, lambda: _readings(readings))


def status(shell: Shell) -> None:
    """Show whether mining is on, what waits, and which files failed."""
    data_dir = local_data_dir(shell.data)
    state = MiningState(data_dir)
    body = {
        "on": state.on,
        "queued": sum(1 for _ in Notes(data_dir, MINING).oldest(NOTES_MAX)),
        "files": len(state.files),
        "stored": sum(entry.stored for entry in state.files.values()),
        "missing_folders": _missing(Path.home()),
        "failing": {path: summary_of(entry) for path, entry in state.files.items() if entry.failures},
    }
    shell.answer(body, lambda: _status(body))


def retry(shell: Shell, paths: Paths = None) -> None:
    """Let files that failed three times be read again by the next `mine now`: those of PATH, or all."""
    named = {os.path.abspath(path) for path in paths or ()}
    freed = []
    with only_miner(local_data_dir(shell.data)) as state:
        for path, entry in state.files.items():
            if entry.failures and (not named or path in named):
                entry.failures = 0
                freed.append(path)
        state.save()
    shell.answer({"retried": freed}, lambda: [f"{count_of(len(freed), 'file')} will be read again"])


def _model(
    url: str | None,
    name: str | None,
    command: str | None,
    key_file: Path | None,
    key_env: str | None,
    timeout_s: float,
) -> Model | None:
    """The language model that is named, None for none. Raises InvalidArgument."""
    address = url or os.environ.get("MNEMESH_MINE_URL", "")
    if words := command or ("" if address else os.environ.get("MNEMESH_MINE_COMMAND", "")):
        return ModelCommand(words, timeout_s)
    if not address:
        return None
    key = key_of(key_file, key_env, "MNEMESH_MINE_KEY_FILE")
    return ChatEndpoint(address, name or os.environ.get("MNEMESH_MINE_MODEL", ""), key, timeout_s)


def _switch(shell: Shell, *, on: bool) -> None:
    MiningState(local_data_dir(shell.data)).switch(on)
    text = "mining is on; `mnemesh mine now` reads the session files" if on else "mining is off"
    shell.answer({"on": on}, lambda: [text])


def _run(miner: Miner, named: list[Path]) -> Miner:
    home = Path.home()
    if not named and not miner.is_narrowed:  # else notes of other projects would go unread
        miner.drain()
    failed = miner.mined.failed
    files = list(named_files(named, failed) if named else host_files(home, os.environ, failed))
    miner.mined.missing_folders = [] if named else _missing(home)
    own = [path for path in files if not is_of_repository(path, home, os.environ)]
    miner.mined.of_repositories = len(files) - len(own)
    miner.mine(own)
    return miner


def _missing(home: Path) -> list[str]:
    return [str(folder) for folder in further_folders(home, os.environ) if not folder.is_dir()]


def _report(miner: Miner, dry_run: bool) -> Iterator[str]:
    mined = miner.mined
    if dry_run:
        for finding in miner.shown:
            yield f"{paint(finding.class_, BOLD)}  {one_line(finding.text)}"
    for path, reason in mined.failed.items():
        yield paint(f"failed  {one_line(path)}: {one_line(reason)}", YELLOW)
    yield from (paint(f"no such folder  {one_line(path)}", YELLOW) for path in mined.missing_folders)
    if mined.given_up:
        yield f"{count_of(mined.given_up, 'file')} failed three times; `mnemesh mine retry` tries again"
    if mined.of_repositories:
        left_out = count_of(mined.of_repositories, "file")
        yield paint(
            f"{left_out} inside of a repository left out: no host wrote it; copy out what is your session", YELLOW
        )
    if mined.suspicious:
        yield paint(f"{count_of(mined.suspicious, 'finding')} with a pattern of prompt injection, tagged", YELLOW)
    if mined.model_fault:
        yield paint(f"the language model was of no use: {one_line(mined.model_fault)}", YELLOW)
    classes = ", ".join(f"{count} {name}" for name, count in mined.found.most_common()) or "nothing new"
    done = "would be stored" if dry_run else f"{mined.stored} stored, {mined.known} known, {mined.refused} refused"
    records = f"; {count_of(mined.sessions, 'session')} recorded" if mined.sessions else ""
    yield f"{count_of(mined.files, 'file')}: {classes}; {done}{records}"


def _readings(readings: list[dict[str, Any]]) -> Iterator[str]:
    for reading in readings:
        counts = ", ".join(f"{count} {name}" for name, count in reading.get("found", {}).items())
        yield f"{one_line(str(reading.get('session', '')))}  {counts}; {reading.get('stored', 0)} stored"
    if not readings:
        yield "nothing was mined yet"


def _status(body: dict[str, Any]) -> Iterator[str]:
    switched = "on" if body["on"] else "off (`mnemesh mine on`)"
    files = count_of(body["files"], "file")
    yield f"mining is {switched}; {body['queued']} queued, {files} read, {body['stored']} stored"
    yield from (paint(f"no such folder  {one_line(path)}", YELLOW) for path in body["missing_folders"])
    for path, entry in body["failing"].items():
        rest = "given up: `mnemesh mine retry`" if entry["given_up"] else "tried again by the next run"
        yield paint(f"failed {entry['failures']} x  {one_line(path)}: {one_line(entry['error'])}; {rest}", DIM)


COMMANDS: Final = (
    ("on", on), ("off", off), ("now", now), ("history", history), ("status", status), ("retry", retry),
)  # fmt: skip
