"""Write what follows from tables, so that it can't fall behind: docs/settings.md, docs/cli.md, the README's figures.

The settings and commands come from the programs, the figures from bench/results/published.json. --check only compares.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from mnemesh.cli import app
from mnemesh_gateway.settings import FILE_NAME, PREFIX, table

ROOT = Path(__file__).resolve().parent.parent
FIGURES_BEGIN, FIGURES_END = "<!-- figures: make docs -->\n", "<!-- end of figures -->"
SETTINGS_HEADER = f"""# Settings

Generated from `gateway/mnemesh_gateway/settings.py` by `make docs`; do not edit.

A value comes from, strongest first: a flag of `mnemesh up`, an environment variable, a TOML file, the default. The
file is `{FILE_NAME}` in the data directory, or the one that `mnemesh up --config FILE` names. An unknown key, a value
of the wrong kind or out of its range stops the start with the name of the key and what it may be. `mnemesh doctor`
prints every value and where it came from.

| setting | flag | variable | default | unit | meaning |
|---|---|---|---|---|---|
"""
SETTINGS_FOOTER = f"""
A file looks like this:

```toml
# {FILE_NAME}
http = "127.0.0.1:8434"
model_precision = "int8"
recall_timeout_s = 5.0
```

## Variables of the client

The command line, the Python client and `mnemesh mcp` read these; a node doesn't. An option or argument wins, and a data
directory that is given (`--data`, `data_dir=`) wins over the address and, but for `mnemesh mcp`, the token.

| variable | meaning |
|---|---|
| `MNEMESH_ENDPOINT` | HOST:PORT of a node's gRPC; without it the local node is found by its data directory. \
`mnemesh mcp` speaks HTTP: it finds the HTTP address of the data directory's own node by this one; for any other node \
it says that it needs the HTTP address, which `--endpoint` gives |
| `MNEMESH_TOKEN` | token for that node; without it the local data directory's owner token |
| `MNEMESH_DATA_DIR` | data directory of the local node |
| `MNEMESH_SPACE` | space of calls that name none, empty for the private one; without it that of the working directory |
| `MNEMESH_AGENT` | which client writes: `owner/NAME`, with a token of ana `ana/NAME` |
"""
CLI_HEADER = """# The command line

Generated from the commands themselves by `make docs`; do not edit. `mnemesh COMMAND --help` says the same.

"""


def settings_page() -> str:
    """The text of docs/settings.md."""
    rows = []
    for entry in table():
        flag = "--data" if entry.name == "data_dir" else "--" + entry.name.replace("_", "-")
        flag = "" if entry.metadata["secret"] else f"`{flag}`"
        default = str(entry.default).lower() if isinstance(entry.default, bool) else str(entry.default)
        shown = f"`{default}`" if default else ""
        cells = (f"`{entry.name}`", flag, f"`{PREFIX}{entry.name.upper()}`", shown, entry.metadata["unit"])
        rows.append("| " + " | ".join((*cells, entry.metadata["help"])) + " |\n")
    return SETTINGS_HEADER + "".join(rows) + SETTINGS_FOOTER


def cli_page() -> str:
    """The text of docs/cli.md."""
    root: Any = typer.main.get_command(app._app())
    commands = dict(_commands(root))
    shared = {_flags(option) for option in _options(commands["status"])}
    parts = [CLI_HEADER, " ".join(app.HELP.split("\n\n", 1)[1].split()) + "\n\n"]
    parts.append("Options of every command that talks to a node:\n\n")
    parts += _table(_options(commands["status"]))
    for name, command in commands.items():
        aliases = [alias for alias, target in app.ALIASES.items() if target == name]
        parts.append(f"\n## mnemesh {name}\n\n{_sentence(command.help)}\n")
        if aliases:
            parts.append(f"\nAlso: {', '.join(f'`{alias}`' for alias in aliases)}.\n")
        if arguments := [p for p in command.params if p.param_type_name == "argument"]:
            parts.append("\n" + "".join(f"- `{p.metavar or p.name.upper()}`: {_sentence(p.help)}\n" for p in arguments))
        own = [option for option in _options(command) if _flags(option) not in shared]
        parts += ["\n", *_table(own)] if own else []
    parts.append("\n`mnemesh up` takes every setting as a flag: [settings.md](settings.md). `mnemesh doctor` takes\n")
    parts.append("`--data DIR`, `--config FILE` and `--json`; `mnemesh mcp --help` lists the flags of the MCP proxy.\n")
    return "".join(parts)


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its whole name; those of two words behind their first."""
    for name in group.list_commands(None):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _options(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]


def _flags(option: Any) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(f"`{flag}{value}`" for flag in (*option.opts, *option.secondary_opts))


def _table(options: list[Any]) -> list[str]:
    rows = [f"| {_flags(option)} | {_sentence(option.help)} |\n" for option in options]
    return ["| option | meaning |\n|---|---|\n", *rows]


def _sentence(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())


def readme_page() -> str:
    """The README with the figures of bench/results/published.json between its two marks."""
    readme = (ROOT / "README.md").read_text("utf-8")
    before, _, rest = readme.partition(FIGURES_BEGIN)
    after = rest.partition(FIGURES_END)[2]
    return before + FIGURES_BEGIN + figures() + FIGURES_END + after


def figures() -> str:
    """The published benchmark as a table, with the machine that it ran on."""
    results = json.loads((ROOT / "bench" / "results" / "published.json").read_text("utf-8"))
    rows = [
        f"| {row['name']} | {row['value']:,.4g} {row['unit']} | {row['target']}{_missed(row)} | {row['floor']} |\n"
        for row in results["rows"]
    ]
    machine = results["machine"]
    where = f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    load = f"load {machine['load_before'][0]} before the run"
    head = "| what | median | promised | beside it |\n|---|---:|---:|---|\n"
    return f"{head}{''.join(rows)}\n{where}, {load}.\n"


def _missed(row: dict[str, Any]) -> str:
    """ " (missed)" when the value does not meet a target such as "<= 4 ms"; "" when it does or there is none."""
    match = re.match(r"(<=|>=) ([0-9.]+) ", row["target"])
    if match is None:
        return ""
    bound = float(match.group(2))
    met = row["value"] <= bound if match.group(1) == "<=" else row["value"] >= bound
    return "" if met else " (missed)"


PAGES = {"docs/settings.md": settings_page, "docs/cli.md": cli_page, "README.md": readme_page}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write what follows from tables.")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are current")
    check = parser.parse_args(argv).check
    stale = []
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if check and not (path.exists() and path.read_text("utf-8") == text):
            stale.append(name)
        elif not check:
            path.write_text(text, "utf-8")
    if stale:
        print(f"Not current: {', '.join(stale)}; run `make docs` and commit the result.")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
