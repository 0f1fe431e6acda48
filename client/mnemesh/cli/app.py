"""The commands of `mnemesh` put together. A command imports only the module that carries it out.

Other words for some commands (`ALIASES`) work as these do, unlisted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mnemesh.cli.error_report import GROUPS, carried_out, report, wants_json
from mnemesh.cli.options import expanded, flowing
from mnemesh.cli.plain import ALIASES
from mnemesh.errors import InvalidArgument
from mnemesh.exit_status import EXIT_INTERRUPTED, EXIT_USAGE
from mnemesh.programs import run_program

HELP: Final = """One memory for all your agents.

The node of this machine is found through its data directory. MNEMESH_ENDPOINT, MNEMESH_TOKEN and MNEMESH_DATA_DIR
name another. MNEMESH_SPACE is the default space, MNEMESH_AGENT the author of writes. With --json a command prints
exactly one JSON object, for errors {"error": {"code", "message", ...}}. `watch` prints one a line. `up`, `mcp`,
`bench`, `hook` and `statusline` have no --json. `mnemesh --version` prints the version.

Exit status: 0 done, 1 a finding or a no, 2 bad usage, 3 no node answers, 4 refused, 130 interrupted,
141 output pipe closed."""
# The headings of `mnemesh --help` with their commands. The value is the module that has the command, ""
# for a program.
PANELS: Final[Mapping[str, Mapping[str, str]]] = {
    "Start here": {"up": "", "mcp": "", "remember": "memories.write", "recall": "memories.recall"},
    "Sessions": {
        "context": "sessions.sessions", "checkpoint": "sessions.sessions", "resume": "sessions.sessions",
        "runs": "sessions.sessions",
        "record-run": "sessions.sessions", "requirements": "sessions.sessions", "settle": "sessions.sessions",
        "seed": "sessions.seed",
    },
    "Memories": {
        "get": "memories.read", "list": "memories.read", "related": "memories.related", "timeline": "memories.read",
        "stats": "memories.read", "check": "memories.write",
        "duplicates": "memories.upkeep", "hygiene": "memories.upkeep", "consolidate": "memories.upkeep",
        "update": "memories.write", "supersede": "memories.write", "forget": "memories.write",
        "restore": "memories.write", "bulk-forget": "memories.write",
        "purge": "memories.write", "link": "memories.write", "unlink": "memories.write", "rate": "memories.write",
        "anchor": "memories.upkeep", "validate": "memories.upkeep",
        "tidy": "memories.upkeep", "reconcile": "memories.reconcile",
        "recall-batch": "memories.related",
    },
    "The past": {
        "history": "memories.history", "blame": "memories.history", "rollback": "memories.history",
        "conflicts": "memories.history", "resolve": "memories.history",
        "watch": "memories.watch",
    },
    "Knowledge": {
        "graph": "memories.knowledge", "graph-audit": "memories.knowledge", "graph-rebuild": "memories.knowledge",
        "causal-chain": "memories.knowledge",
        "story": "memories.knowledge", "gaps": "memories.knowledge", "coverage": "memories.knowledge",
        "recall-hierarchical": "memories.knowledge",
        "drill-down": "memories.knowledge", "navigate": "memories.knowledge",
    },
    "Files and sessions": {
        "import": "imports.memories", "export": "memories.export", "vault": "imports.vault",
        "import-transcript": "imports.transcripts", "transcript": "sessions.transcripts",
        "trigger": "memories.triggers",
        "rule": "memories.rules", "mine": "sessions.mine",
    },
    "Agent hosts": {"install": "node.hosts", "uninstall": "node.hosts", "hook": "", "statusline": ""},
    "Agents and other nodes": {
        "whoami": "node.this_node", "agent": "node.agents", "peer": "node.peers", "sync": "node.peers",
    },
    "The node": {
        "status": "node.this_node", "down": "node.this_node", "doctor": "", "backup": "node.backups",
        "reembed": "node.embedding", "model": "",
        "service": "node.service", "node": "", "space": "node.this_node", "bench": "", "version": "node.this_node",
    },
}  # fmt: skip
# Programs of their own, dispatched by mnemesh.entry before this module is loaded; listed here for --help.
PROGRAMS: Final[Mapping[str, str]] = {
    "up": "Start a node in the foreground.",
    "mcp": "Speak MCP on standard input and output; starts the local node when none runs.",
    "hook": "Answer one event of an agent host: HOST EVENT, with the host's JSON on standard input. Hosts call this.",
    "statusline": "Print one line about this project's memory, for a host's status line. Empty without a node.",
    "doctor": "Look for faults of a node, its data and its settings.",
    "bench": "Measure a node on this machine, speed and quality; needs the source tree.",
}
HOST_PROGRAMS: Final = ("hook", "statusline")  # which have no help of their own
# Commands of two words without a module of their own.
GROUP_HELP: Final[Mapping[str, str]] = {
    "node": "Work on a data directory while no node runs on it.",
    "model": "Get the embedding model.",
}
GROUP_PROGRAMS: Final[Mapping[str, Mapping[str, str]]] = {
    "backup": {
        "load": "Make a data directory of a backup, while no node runs.",
        "verify": "Check every byte of a backup, while no node runs.",
    },
    "node": {
        "new-identity": "Give a copied data directory a new node id. Its memories stay.",
        "salvage": "Copy what is sound of a damaged data directory into a new one, and list the rest.",
    },
    "model": {"install": "Fetch the weights of the default embedding model into the user's cache."},
}


# A number below zero is a value, as in: mnemesh rule add CONDITION -0.5. No option is called so. The mark keeps the
# word from being read as options, and no argument of a process can hold one.
BELOW_ZERO: Final = re.compile(r"-\d*\.?\d+")
MARK: Final = "\0"


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit status. KeyboardInterrupt and BrokenPipeError are the caller's."""
    command = typer.main.get_group(_app(argv))

    def carry_out() -> None:
        with command.make_context("mnemesh", list(argv)) as context:
            command.invoke(context)

    try:
        return carried_out(carry_out, argv)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return EXIT_INTERRUPTED
    except typer.TyperException as error:
        return _refuse_usage(error, wants_json(argv))


def _refuse_usage(error: typer.TyperException, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    message = error.format_message() + _dash_hint(error, context)
    if not message and context is not None:  # the command alone, without any word: its help is printed already
        return EXIT_USAGE
    param = getattr(error, "param", None)
    report({"code": InvalidArgument.code, "message": message} | ({"field": param.name} if param else {}), as_json)
    if context is not None and not as_json:
        print(f"Try `{context.command_path} --help`.", file=sys.stderr)
    return EXIT_USAGE


def _dash_hint(error: typer.TyperException, context: typer.Context | None) -> str:
    """The advice for a text that was taken for an option."""
    if context is None or not hasattr(error, "possibilities"):  # which only an option that does not exist has
        return ""
    if all(param.param_type_name != "argument" for param in context.command.params):
        return ""
    return f'. A text that begins with - comes after --, as in: {context.command_path} -- "- a text"'


def _app(argv: Sequence[str] = ()) -> typer.Typer:
    """All commands, or the first command of `argv`: a command imports only its own module."""
    commands = typer.Typer(
        cls=_Commands, help=flowing(HELP), add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip
    rows = {name: (panel, module) for panel, members in PANELS.items() for name, module in members.items()}
    asked = ALIASES.get(argv[0], argv[0]) if argv else ""
    for name in (asked,) if asked in rows else rows:
        panel, module = rows[name]
        if name in GROUPS:
            commands.add_typer(_group(name, module), name=name, rich_help_panel=panel)
        elif not module:
            _list_programs(commands, {name: PROGRAMS[name]}, panel)
        else:
            _add(commands, name, dict(_module(module).COMMANDS)[name], panel)
    return commands


def _group(name: str, module: str) -> typer.Typer:
    """The commands whose first word is `name`."""
    help_text: str = GROUP_HELP.get(name, "")
    members: Sequence[tuple[str, Callable[..., None]]] = ()
    if module:
        source = vars(_module(module))
        prefix = f"{name.upper()}_" if module == "node.peers" else ""
        help_text, members = source[f"{prefix}HELP"], source[f"{prefix}COMMANDS"]
    group = typer.Typer(cls=_Commands, help=help_text, no_args_is_help=True)
    for member, function in members:
        _add(group, member, function)
    _list_programs(group, GROUP_PROGRAMS.get(name, {}))
    return group


def _module(name: str) -> ModuleType:
    return import_module(f"mnemesh.cli.{name}" if name.startswith("imports.") else f"mnemesh.cli.commands.{name}")


def _add(commands: typer.Typer, name: str, function: Callable[..., None], panel: str | None = None) -> None:
    command = expanded(function)
    commands.command(name, cls=_command_of(command), rich_help_panel=panel)(command)


def _list_programs(commands: typer.Typer, programs: Mapping[str, str], panel: str | None = None) -> None:
    for name, help_text in programs.items():
        commands.command(
            name, help=help_text, add_help_option=name in HOST_PROGRAMS, rich_help_panel=panel,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )(_program)  # fmt: skip


def _program(context: typer.Context) -> None:
    raise typer.Exit(run_program([*context.command_path.split()[1:], *context.args]))


class _Commands(TyperGroup):
    """All commands, also under their aliases."""

    def get_params(self, ctx: Any) -> Any:
        """The options before the command."""
        return _quick(super().get_params(ctx), {})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name or alias."""
        known = super().get_command(ctx, cmd_name)
        return known or super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


def _command_of(function: Callable[..., None]) -> type[TyperCommand]:
    """The class of the command that `function` carries out."""
    types = {name: _type_of(hint) for name, hint in get_type_hints(function).items() if hint is not bool}

    class QuickCommand(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            marked = [MARK + word if BELOW_ZERO.fullmatch(word) else word for word in args]
            return super().parse_args(ctx, marked)

        def get_params(self, ctx: Any) -> Any:
            return _quick(super().get_params(ctx), types)

    return QuickCommand


def _type_of(hint: Any) -> type:
    """The type of one word of an option with that annotation: float, int, Path or else str."""
    words = {hint, *get_args(hint)}
    return next((type_ for type_ in (float, int, Path) if type_ in words), str)


def _quick(params: Any, types: Mapping[str, type]) -> Any:
    """`params`, each read by `_read` and not in typer's own way, which loads pydantic and takes 0.1 s at every start.
    Flags stand in no `types`."""
    for param in params:
        # Not of click's documented interface, but typer makes the parameters itself and takes no class for them.
        param.process_value = partial(_read, param, types.get(param.name))
        if param.param_type_name == "argument":
            param.display_type_rich = _no_type  # the option's name says enough
        elif getattr(param, "is_flag", False):
            param.metavar = ""  # else help shows <bool>, as if a value had to follow
        elif param.metavar is None:
            param.metavar = _value_name(param, types.get(param.name, str))
    return params


def _no_type(ctx: Any) -> None:
    """The type of an argument in help: none."""


def _value_name(param: Any, kind: type) -> str:
    """The name of an option's value in help: NUMBER, or the word of its first long name, such as SPACE."""
    return "NUMBER" if kind in (int, float) else str(param.opts[0]).lstrip("-").upper()


def _read(param: Any, kind: type | None, ctx: Any, value: Any) -> Any:
    """`value` is None, a text, a sequence of texts when the option may be repeated, or a default of its own type."""
    if isinstance(value, str):
        value = value.removeprefix(MARK)
    elif isinstance(value, list | tuple):
        value = type(value)(item.removeprefix(MARK) if isinstance(item, str) else item for item in value)
    missing = value in (None, (), [])
    source = ctx.get_parameter_source(param.name)
    empty = value == "" or (isinstance(value, list | tuple) and "" in value)
    if param.name in ("space", "spaces") and empty and (source is None or source.name != "DEFAULT"):
        # Mostly an empty variable of a script: neither the private space nor the default is meant by it for sure.
        rule = "give a pattern such as team/*" if param.required else "leave the option out for the default"
        raise typer.BadParameter(f"'' is no space; {rule}", ctx=ctx, param=param)
    if (kind is None and not missing) or (param.required and missing):
        return type(param).process_value(param, ctx, value)  # a flag, or a refusal in typer's own words
    if isinstance(value, list | tuple):
        return list(value)
    if kind is None or not isinstance(value, str):
        return value
    try:
        return kind(value)
    except ValueError:
        rule = "a number" if kind is float else "a whole number"
        raise InvalidArgument(param.name, value, rule) from None
