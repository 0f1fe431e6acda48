"""The options of programs that read their words without typer, for docs/cli.md: taken from the parser behind --help."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib import import_module
from typing import Any
from unittest import mock

PROGRAMS = {
    "mcp": "mnemesh.stdio.program",
    "doctor": "mnemesh_gateway.doctor.report",
    "bench": "bench.__main__",
    "backup load": "mnemesh_gateway.programs.backup_program",
    "backup verify": "mnemesh_gateway.programs.backup_program",
    "model install": "mnemesh_gateway.programs.model_program",
    "node new-identity": "mnemesh_gateway.programs.node_program",
    "node salvage": "mnemesh_gateway.programs.node_program",
}
WITHOUT_ENVIRONMENT = ("mcp", "bench")


def program_options(command: str) -> str:
    """Arguments and options of a program in Markdown, "" for a command that is none."""
    if command == "up":
        return "\nTakes every [setting](settings.md) as a flag, and `--config FILE`.\n"
    if command not in PROGRAMS:
        return ""
    parser = _parser(command)
    actions = [
        (action, " ".join(parser._get_formatter()._expand_help(action).replace("|", "\\|").split()))
        for action in parser._actions
        if action.help and action.help != argparse.SUPPRESS and "--help" not in action.option_strings
    ]
    arguments = "".join(f"- `{_value(action)}`: {text}\n" for action, text in actions if not action.option_strings)
    rows = "".join(f"| {_flags(action)} | {text} |\n" for action, text in actions if action.option_strings)
    return (f"\n{arguments}" if arguments else "") + (f"\n| option | meaning |\n|---|---|\n{rows}" if rows else "")


def _parser(command: str) -> argparse.ArgumentParser:
    """The parser that prints the help of a program."""
    shown: list[argparse.ArgumentParser] = []

    def keep(parser: argparse.ArgumentParser, file: Any = None) -> None:
        shown.append(parser)

    words = [*command.split()[1:], "--help"]
    with mock.patch.object(argparse.ArgumentParser, "print_help", keep), suppress(SystemExit):
        import_module(PROGRAMS[command]).main(words, *([] if command in WITHOUT_ENVIRONMENT else [{}]))
    return shown[0]


def _value(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    return value if isinstance(value, str) else " ".join(value)


def _flags(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)
