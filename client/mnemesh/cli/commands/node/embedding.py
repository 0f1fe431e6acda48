"""`mnemesh reembed`: another embedding model takes over. The command begins, shows and ends the node's work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.api.client import Client
from mnemesh.api.values.embedding import ModelStatus, Reembedding
from mnemesh.cli.imports.import_report import Bar
from mnemesh.cli.options import option
from mnemesh.cli.people.memories import model_name
from mnemesh.cli.shell import Shell, count_of, one_line, printable
from mnemesh.errors import FailedPrecondition

ASK_S: Final = 0.3
# Asked so often in a row, a fault is one that does not pass by itself.
STALLED_ASKED_MAX: Final = 20


def reembed(
    shell: Shell,
    model: Annotated[str, option("ReembedRequest.model", "--model", metavar="PATH|NAME")] = "",
    precision: str = "",
    detach: Annotated[bool, typer.Option("--detach", help="Return once it has begun; the node goes on.")] = False,
    cancel: bool = False,
) -> None:
    """Embed every memory with another model while the node serves, and wait. Without a model, show the progress. Ctrl-C
    ends the waiting, not the work.
    """
    folder = Path(model).expanduser()
    with shell.client() as client:
        reply = client.reembed(
            str(folder.absolute()) if model and folder.is_dir() else model, precision=precision, cancel=cancel
        )
        if (model or precision) and not detach:
            reply = _followed(client, reply)
    shell.answer(reply, lambda: lines(reply))


def _followed(client: Client, reply: Reembedding) -> Reembedding:
    """The line for a node that embeds nothing any more. Raises FailedPrecondition when it does not go on."""
    wanted, stalled = reply.reembed.model or reply.model, 0
    with Bar(reply.reembed.total, shown=True, what="embedding") as bar:
        done = 0
        while reply.reembed.state != "idle":
            stalled = stalled + 1 if reply.reembed.state == "stalled" else 0
            if stalled == STALLED_ASKED_MAX:
                raise FailedPrecondition(
                    f"it does not go on: {reply.reembed.fault}; the node goes on with the model in use. Ask again when "
                    "that is mended, or give it up with `mnemesh reembed --cancel`"
                )
            bar.advance(max(0, reply.reembed.done - done))
            done = max(done, reply.reembed.done)
            time.sleep(ASK_S)
            reply = client.reembed()
    if wanted and reply.model and reply.model.generation != wanted.generation:
        raise FailedPrecondition(f"it was given up meanwhile; the memories are embedded with {model_name(reply.model)}")
    return reply


def lines(reply: Reembedding) -> Iterator[str]:
    """The model in use, and the one that takes over."""
    if reply.model:
        yield f"the memories are embedded with {_shown(reply.model)}"
    other = reply.reembed
    if other.model:
        done = f"{other.done} of {count_of(other.total, 'entry')}"
        share = done if other.state != "loading" else "its model is being loaded"
        yield f"{other.state}: {_shown(other.model)}, {share}"
    if other.fault:
        yield f"  {one_line(other.fault)}"


def _shown(model: ModelStatus) -> str:
    text = f"{model_name(model)}, {model.dimensions} dimensions, generation {model.generation}"
    put = [
        f"{printable(json.dumps(prefix, ensure_ascii=False))} before {what}"
        for prefix, what in ((model.query_prefix, "questions"), (model.passage_prefix, "texts"))
        if prefix
    ]
    return f"{text}, {' and '.join(put)}" if put else text


COMMANDS: Final = (("reembed", reembed),)
