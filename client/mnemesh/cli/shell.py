"""The parts of every command: the common options, the client made from them, and one way to answer.

With --json exactly one JSON object goes to standard output, whatever happens (`watch` prints one a line). Without it,
lines for people. Texts of memories come from other agents, so control characters in them are shown, never sent to the
terminal.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mnemesh.api.json_form import as_json
from mnemesh.errors import InvalidArgument
from mnemesh_proto.json_text import NotJson, read_json

if TYPE_CHECKING:
    from typing import Annotated

    import typer

    from mnemesh.api.client import Client
    from mnemesh.cli.options import Data, Json, Text

# In a command that a line advises: the place of the options of `Shell.where`. `one_line` would show the character.
NODE_OPTIONS = "\0"
TOKEN_HELP = "Bearer token of the owner or an agent; default: the local owner's. [MNEMESH_TOKEN]"
AGENT_HELP = "Which client writes: owner/NAME, with a token of ana ana/NAME. [MNEMESH_AGENT]"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """The options of every command that talks to a node."""

    endpoint: Annotated[
        Text, typer.Option("--endpoint", metavar="HOST:PORT", help="gRPC address of the node. [MNEMESH_ENDPOINT]")
    ] = None
    token: Annotated[Text, typer.Option("--token", help=TOKEN_HELP)] = None
    data: Data = None
    json: Json = False
    agent: Annotated[Text, typer.Option("--agent", metavar="NAME", help=AGENT_HELP)] = None
    start: Annotated[bool, typer.Option("--start", help="Start a local node in the background if none runs.")] = False

    @property
    def where(self) -> str:
        """The options that lead another command to the same node, behind a blank each; a token is not shown."""
        given = {"--data": self.data, "--endpoint": self.endpoint}
        told = "".join(f" {name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None)
        return told + (" --token ..." if self.token else "")

    def client(self, space: str | None = None) -> Client:
        """A client with these options. `space` is its default space, None the one of the working directory."""
        # gRPC writes the comings and goings of connections to standard error; an error is said by us.
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
        from mnemesh.api.client import Client

        return Client(self.endpoint, self.token, data_dir=self.data, agent=self.agent, space=space, start=self.start)

    def ask(
        self, call: Callable[[Client], Answer], lines: Callable[[Answer], Iterable[str]], space: str | None = None
    ) -> Answer:
        """The answer of a node to `call`, printed as JSON or by `lines`. `space` as in `client`."""
        with self.client(space) as client:
            answer = call(client)
        self.answer(answer, lambda: lines(answer))
        return answer

    def check_can_ask(self) -> None:
        """Raises InvalidArgument where nobody can be asked."""
        if self.json or not sys.stdin.isatty():
            raise InvalidArgument("yes", "not given", "--yes where nobody can be asked", missing=True)

    def answer(self, value: object, lines: Callable[[], Iterable[str]]) -> None:
        """Print `value` as JSON, or `lines` for people."""
        if self.json:
            print_json(as_json(value))
        else:
            for line in lines():
                print(line.replace(NODE_OPTIONS, self.where))


def of_this_node(command: str) -> str:
    """One line with a command of the node, with the place of the options that lead to the same node."""
    return re.sub(r"\bmnemesh ([a-z-]+)", rf"mnemesh \1{NODE_OPTIONS}", one_line(command), count=1)


def print_json(value: object) -> None:
    """One JSON object on one line; plain ASCII where the terminal can't show more."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not utf8))


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """The JSON values of `text`, one a line, with the numbers of their lines. Raises InvalidArgument with the number of
    the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, read_json(line.rstrip())
            except NotJson as error:
                raise InvalidArgument(f"line {number}", line, f"JSON: {error}") from None


def count_of(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `2 memories`."""
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else several}"


def printable(text: str) -> str:
    """`text` with what would steer a terminal made visible: control characters and changes of direction."""
    return "".join(ch if ch in "\n\t" or not _steers(ch) else repr(ch)[1:-1] for ch in text)


def one_line(text: str) -> str:
    """`text` with every run of blanks as one blank, safe to print."""
    return printable(" ".join(text.split()))


def _steers(ch: str) -> bool:
    return unicodedata.category(ch) in ("Cc", "Cs") or "\u202a" <= ch <= "\u202e" or "\u2066" <= ch <= "\u2069"
