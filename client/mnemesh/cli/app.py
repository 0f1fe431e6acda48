"""The commands of `mnemesh` put together, and the one place that turns an error into an exit status.

0 done; 2 bad usage, which a value that is not allowed is too, whether client or node says so; 3 no node answers; 4 the
node refused. Other words for remember and recall work as those two do, unlisted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mnemesh.cli import (
    agents,
    backups,
    embedding,
    exporting,
    history,
    importing,
    linking,
    peers,
    reading,
    recalling,
    transcript_import,
    transcripts,
    watching,
    writing,
)
from mnemesh.cli.options import expanded, flowing
from mnemesh.cli.shell import print_json, printable
from mnemesh.connection import default_project, local_data_dir
from mnemesh.entry import EXIT_INTERRUPTED, EXIT_NOT_REACHABLE, EXIT_OK, EXIT_REFUSED, EXIT_USAGE, run_program
from mnemesh.errors import (
    DeadlineExceeded,
    InvalidArgument,
    MnemeshError,
    NotFound,
    NotReachable,
    PermissionDenied,
    Unauthenticated,
    shorten,
)

ALIASES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("save", "store", "write", "retain", "add_memory", "add-memory"), "remember"),
    **dict.fromkeys(("find", "query", "search", "lookup", "retrieve"), "recall"),
}
# How the node says that a token comes, in the words of HTTP and gRPC.
BEARER: Final = "send `Authorization: Bearer <token>`"
# Whose --token is that of the peer.
PEERS_OWN: Final = (("peer", "add"), ("peer", "token"))
SPACE_OPTIONS: Final = ("--space", "-s")
SECRET_REFUSED: Final = "SECRET_REFUSED"
HELP: Final = """One memory for all your agents.

The node of this machine is found through its data directory; MNEMESH_ENDPOINT, MNEMESH_TOKEN and MNEMESH_DATA_DIR
name another; MNEMESH_SPACE and MNEMESH_AGENT say where and as whom you write. With --json a command prints exactly one
JSON object (watch one a line), for errors {"error": {"code", "message", ...}}. `mnemesh --version` prints the version.

Exit status: 0 done, 2 bad usage, 3 no node answers, 4 refused, 130 interrupted, 141 output pipe closed."""
# Programs of their own, dispatched by mnemesh.entry before this module is loaded; listed here for --help.
PROGRAMS: Final[Mapping[str, str]] = {
    "up": "Start a node in the foreground.",
    "mcp": "Speak MCP on standard input and output; starts the local node when none runs.",
    "doctor": "Look for what is wrong with a node, its data and its settings.",
    "bench": "Measure a node on this machine, speed and quality; needs the source tree.",
}
# Commands of two words: the first says what they are about.
GROUPS: Final[Mapping[str, tuple[str, Sequence[tuple[str, Callable[..., None]]]]]] = {
    "agent": (agents.HELP, agents.COMMANDS),
    "peer": (peers.PEER_HELP, peers.PEER_COMMANDS),
    "sync": (peers.SYNC_HELP, peers.SYNC_COMMANDS),
    "transcript": (transcripts.HELP, transcripts.COMMANDS),
    "backup": (backups.HELP, backups.COMMANDS),
    "node": ("Work on a data directory while no node runs on it.", ()),
    "model": ("Get the embedding model.", ()),
}
GROUP_PROGRAMS: Final[Mapping[str, Mapping[str, str]]] = {
    "backup": backups.PROGRAMS,
    "node": {
        "new-identity": "Give a copied data directory a node id of its own; what was written in it stays.",
        "salvage": "Copy what is sound of a damaged data directory into a new one, and list the rest.",
    },
    "model": {"install": "Fetch the weights of the default embedding model into the user's cache."},
}


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit status. KeyboardInterrupt and BrokenPipeError are the caller's."""
    as_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
    command = typer.main.get_command(_app())
    try:
        with command.make_context("mnemesh", list(argv)) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return EXIT_INTERRUPTED
    except typer.TyperException as error:
        return _refuse_usage(error, as_json)
    except MnemeshError as error:
        body = error_body(error)
        _report({**body, "message": advised(error, argv)}, as_json)
        return exit_status(error)
    except KeyboardInterrupt:
        if as_json:
            _report({"code": "CANCELLED", "message": "interrupted"}, as_json)
        raise
    return EXIT_OK


def exit_status(error: MnemeshError) -> int:
    """The exit status that `error` means. What names a field was refused by a node that answers: a model that it can't
    have is UNAVAILABLE too."""
    if isinstance(error, NotReachable | DeadlineExceeded) and not (error.refused and error.field):
        return EXIT_NOT_REACHABLE
    # Who found that a value is not allowed makes no difference; what the node will not store is its refusal.
    unusable = isinstance(error, InvalidArgument) and error.details.get("reason") != SECRET_REFUSED
    return EXIT_USAGE if unusable else EXIT_REFUSED


def advised(error: MnemeshError, argv: Sequence[str]) -> str:
    """What the node says, in the words of the command line: an option, where a token is given, where a space came
    from."""
    if isinstance(error, NotFound):
        return error.message.replace(" include_forgotten shows", " --include-forgotten shows")
    if isinstance(error, Unauthenticated):
        how = "MNEMESH_TOKEN" if tuple(argv[:2]) in PEERS_OWN else "--token or MNEMESH_TOKEN"
        return error.message.replace(BEARER, f"give {how}")
    if isinstance(error, PermissionDenied) and argv[0] in GROUPS and not error.details.get("space"):
        # A group's command may ask for an operation of another name: `peer list` for sync_status.
        return error.message.replace(f" may not {error.details.get('action')};", f" may not {' '.join(argv[:2])};")
    named = any(word.startswith(SPACE_OPTIONS) for word in argv)
    if not isinstance(error, PermissionDenied) or named or "MNEMESH_SPACE" in os.environ:
        return error.message
    here = default_project(local_data_dir(None)).space
    if not here or error.details.get("space") != shorten(here):
        return error.message
    return f"{error.message}. That space is the one of this directory (.mnemesh.toml or git); --space names another"


def error_body(error: MnemeshError) -> dict[str, str]:
    """What --json prints under "error": code, message and what the node said besides."""
    return {"code": error.code, "message": error.message, **error.details}


def _refuse_usage(error: typer.TyperException, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    message = error.format_message() + _dash_hint(error, context)
    if not message and context is not None:  # the command alone, without any word: its help is printed already
        return EXIT_USAGE
    _report({"code": InvalidArgument.code, "message": message}, as_json)
    if context is not None and not as_json:
        print(f"Try `{context.command_path} --help`.", file=sys.stderr)
    return EXIT_USAGE


def _dash_hint(error: typer.TyperException, context: typer.Context | None) -> str:
    """What to do when a text was taken for an option."""
    if context is None or not hasattr(error, "possibilities"):  # which only an option that does not exist has
        return ""
    if all(param.param_type_name != "argument" for param in context.command.params):
        return ""
    return f'. A text that begins with - comes after --, as in: {context.command_path} -- "- a text"'


def _report(body: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json({"error": body})
    else:
        print(f"mnemesh: {printable(body['message'])}", file=sys.stderr)


def _app() -> typer.Typer:
    commands = typer.Typer(
        cls=_Commands, help=flowing(HELP), add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip
    for name, function in (
        *writing.COMMANDS,
        *reading.COMMANDS,
        *recalling.COMMANDS,
        *watching.COMMANDS,
        *history.COMMANDS,
        *linking.COMMANDS,
        *importing.COMMANDS,
        *transcript_import.COMMANDS,
        *exporting.COMMANDS,
        *embedding.COMMANDS,
    ):
        command = expanded(function)
        commands.command(name, cls=_command_of(command))(command)
    for name, (help_text, members) in GROUPS.items():
        group = typer.Typer(cls=_Commands, help=help_text, no_args_is_help=True)
        for member, function in members:
            command = expanded(function)
            group.command(member, cls=_command_of(command))(command)
        _list_programs(group, GROUP_PROGRAMS.get(name, {}))
        commands.add_typer(group, name=name)
    _list_programs(commands, PROGRAMS)
    return commands


def _list_programs(commands: typer.Typer, programs: Mapping[str, str]) -> None:
    for name, help_text in programs.items():
        commands.command(
            name, help=help_text, add_help_option=False,
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

    class Command(TyperCommand):
        def get_params(self, ctx: Any) -> Any:
            return _quick(super().get_params(ctx), types)

    return Command


def _type_of(hint: Any) -> type:
    """float, int, Path or else str: what one word of an option with that annotation becomes."""
    words = {hint, *get_args(hint)}
    return next((one for one in (float, int, Path) if one in words), str)


def _quick(params: Any, types: Mapping[str, type]) -> Any:
    """`params`, each read by `_read` and not in typer's own way, which loads pydantic and takes 0.1 s at every start.
    Flags stand in no `types`."""
    for param in params:
        # Not of click's documented interface, but typer makes the parameters itself and takes no class for them.
        param.process_value = partial(_read, param, types.get(param.name))
        if param.param_type_name == "argument":
            param.display_type_rich = _no_type  # its name says what it is
        elif getattr(param, "is_flag", False):
            param.metavar = ""  # else help shows <bool>, as if a value had to follow
        elif param.metavar is None:
            param.metavar = _value_name(param, types.get(param.name, str))
    return params


def _no_type(ctx: Any) -> None:
    """What help shows of the type of an argument."""


def _value_name(param: Any, kind: type) -> str:
    """What help calls the value of an option: NUMBER, or the word of its first long name, such as SPACE."""
    return "NUMBER" if kind in (int, float) else str(param.opts[0]).lstrip("-").upper()


def _read(param: Any, kind: type | None, ctx: Any, value: Any) -> Any:
    """`value` is None, a text, a sequence of texts when the option may be repeated, or a default of its own type."""
    missing = value in (None, (), [])
    if param.name in ("space", "spaces") and (value == "" or (isinstance(value, list | tuple) and "" in value)):
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
        raise typer.BadParameter(f"{value!r} is not {rule}", ctx=ctx, param=param) from None
