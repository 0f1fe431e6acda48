"""`mnemesh reconcile`: duplicates and contradictions of a space, judged by a language model of the user's choice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.cli.model_options import ENV_HELP, TIMEOUT_HELP, key_of
from mnemesh.cli.options import Space
from mnemesh.cli.people.memories import DIM, GREEN, YELLOW, paint
from mnemesh.cli.shell import NODE_OPTIONS, Shell, count_of, one_line
from mnemesh.errors import InvalidArgument
from mnemesh.reconciling.run import AGENT, DONE, PROPOSED, Reconciled
from mnemesh.reconciling.run import reconcile as run_of
from mnemesh.short_id import short_id
from mnemesh.transport.chat_endpoint import TIMEOUT_S, ChatEndpoint

URL_HELP = "Base address of an OpenAI-compatible endpoint. Without one there is no reconciling. [MNEMESH_RECONCILE_URL]"
MODEL_HELP = "Name of the model. [MNEMESH_RECONCILE_MODEL]"
FILE_HELP = (
    "File with the key of the endpoint. It is read for each run and stored nowhere. [MNEMESH_RECONCILE_KEY_FILE]"
)
APPLY_HELP = "Do it; without, only tell what the model proposes."


def reconcile(
    shell: Shell,
    url: Annotated[str | None, typer.Option("--url", help=URL_HELP)] = None,
    model: Annotated[str | None, typer.Option("--model", help=MODEL_HELP)] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help=FILE_HELP)] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", metavar="NAME", help=ENV_HELP)] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help=TIMEOUT_HELP)] = TIMEOUT_S,
    apply: Annotated[bool, typer.Option("--apply", help=APPLY_HELP)] = False,
    space: Space = None,
) -> None:
    """Ask a language model which duplicates and contradictions of a space to merge, supersede or forget. The texts of
    these memories go to its endpoint. At most 5 memories a run are touched, and `restore` takes each back."""
    address = url or os.environ.get("MNEMESH_RECONCILE_URL", "")
    if not address:
        raise InvalidArgument("url", "nothing", "--url or MNEMESH_RECONCILE_URL; it has no default", missing=True)
    name = model or os.environ.get("MNEMESH_RECONCILE_MODEL", "")
    endpoint = ChatEndpoint(address, name, key_of(key_file, key_env, "MNEMESH_RECONCILE_KEY_FILE"), timeout)
    named = shell if shell.agent or os.environ.get("MNEMESH_AGENT") else replace(shell, agent=AGENT)
    with named.client(space) as client:
        done = run_of(client, endpoint, client.whoami().default_space, apply=apply)
    shell.answer(done, lambda: _report(done))


def _report(done: Reconciled) -> Iterator[str]:
    for operation in done.operations:
        state = paint(one_line(operation.state), GREEN if operation.state in (DONE, PROPOSED) else YELLOW)
        id_, other = (short_id(one_line(named)) for named in (operation.id, operation.other))
        yield f"{one_line(operation.op) or '?'}  {id_}  beside {other}: {state}"
        if operation.reason:
            yield paint(f"    {one_line(operation.reason)}", DIM)
        if operation.content:
            yield paint(f"    {one_line(operation.content)}", DIM)
        if operation.state == DONE:
            yield paint(f"    undo with: mnemesh restore{NODE_OPTIONS} {id_}", DIM)
    if done.fault:
        yield paint(f"nothing was changed: {one_line(done.fault)}", YELLOW)
    elif not done.pairs:
        yield "no duplicates and no contradictions"
    elif not done.applied and any(operation.state == PROPOSED for operation in done.operations):
        yield f"{count_of(done.pairs, 'pair')} looked at; --apply does what is proposed"
    if done.record:
        yield paint(f"what was done stands in {done.record}", DIM)


COMMANDS: Final = (("reconcile", reconcile),)
