"""The options that several commands share, in groups; their help is the contract's own.

A group is a dataclass with options as fields. `expanded` adds these to a command's own options. Words and numbers go to
the node as typed. The node judges kinds, times and ranges, so every door refuses alike.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from mnemesh.cli.given import given, given_in, pairs
from mnemesh_proto.v1.field_help import FIELD_HELP


def contract(field: str) -> str:
    """The contract's text for a field, such as RecallRequest.query."""
    return FIELD_HELP[f"mnemesh.v1.{field}"]


def option(field: str, *names: str, metavar: str | None = None, more: str = "") -> Any:
    """An option that says what the contract says of `field`."""
    return typer.Option(*names, metavar=metavar, help=contract(field) + more)


def argument(field: str, metavar: str, more: str = "") -> Any:
    """An argument that says what the contract says of `field`."""
    return typer.Argument(metavar=metavar, help=contract(field) + more)


def each(field: str, *names: str, metavar: str | None = None) -> Any:
    """An option that may be repeated."""
    return option(field, *names, metavar=metavar, more=REPEAT)


Text = str | None
Texts = list[str] | None
Number = int | None
REPEAT = " Repeatable."
COMMAS = " Commas separate several." + REPEAT
DASHES = " Comes after -- when it begins with -."
Words = Annotated[Texts, typer.Argument(metavar="TEXT", help="The text; - reads standard input." + DASHES)]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id, unique id prefix (6 characters or more) or title.")]
TextFile = Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help="Take the text from a file.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="The local node's data. [MNEMESH_DATA_DIR]")]
SPACE_HELP = "Space; default: MNEMESH_SPACE, else what `mnemesh space` says here."
Space = Annotated[Text, typer.Option("--space", "-s", help=SPACE_HELP)]
SPACES = ("--space", "-s", "--spaces")
Spaces = Annotated[Texts, each("RecallRequest.spaces", *SPACES)]
CountedSpaces = Annotated[Texts, each("StatsRequest.spaces", *SPACES)]
ConflictSpaces = Annotated[Texts, each("ConflictsRequest.spaces", *SPACES)]
Wait = Annotated[str, option("RememberRequest.wait", "--wait", metavar="WHEN")]
Superseded = Annotated[bool, option("RecallRequest.include_superseded", "--include-superseded")]
Forgotten = Annotated[bool, option("GetRequest.include_forgotten", "--include-forgotten")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The fields of a memory besides its text: options of remember, check and supersede."""

    kind: Annotated[Text, option("RememberRequest.kind", "--kind", "-k")] = None
    title: Annotated[Text, option("RememberRequest.title", "--title", "-t")] = None
    tag: Annotated[Texts, each("RememberRequest.tags", "--tag")] = None
    importance: Annotated[float | None, option("RememberRequest.importance", "--importance")] = None
    path: Annotated[Texts, each("RememberRequest.paths", "--path")] = None
    valid_from: Annotated[Text, option("RememberRequest.valid_from", "--valid-from", metavar="TIME")] = None
    valid_to: Annotated[Text, option("RememberRequest.valid_to", "--valid-to", metavar="TIME")] = None
    keyword: Annotated[Texts, each("RememberRequest.keywords", "--keyword", metavar="WORD")] = None
    attr: Annotated[Texts, each("RememberRequest.attrs", "--attr", metavar="KEY=VALUE")] = None
    tier: Annotated[Text, option("RememberRequest.tier", "--tier")] = None
    sensitive: Annotated[bool, option("RememberRequest.sensitive", "--sensitive")] = False
    force: Annotated[bool, option("RememberRequest.force", "--force")] = False
    idempotency_key: Annotated[Text, option("RememberRequest.idempotency_key", metavar="KEY")] = None
    wait: Wait = ""

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        fields = given_in(self, tag="tags", path="paths", keyword="keywords", attr="attrs")
        return fields | given(attrs=pairs("attrs", self.attr))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Described):
    """The same options for update: each help says what is replaced, and none has a default."""

    kind: Annotated[Text, option("UpdateRequest.kind", "--kind", "-k")] = None
    title: Annotated[Text, option("UpdateRequest.title", "--title", "-t")] = None
    tag: Annotated[Texts, each("UpdateRequest.tags", "--tag")] = None
    importance: Annotated[float | None, option("UpdateRequest.importance", "--importance")] = None
    path: Annotated[Texts, each("UpdateRequest.paths", "--path")] = None
    valid_from: Annotated[Text, option("UpdateRequest.valid_from", "--valid-from", metavar="TIME")] = None
    valid_to: Annotated[Text, option("UpdateRequest.valid_to", "--valid-to", metavar="TIME")] = None
    keyword: Annotated[Texts, each("UpdateRequest.keywords", "--keyword", metavar="WORD")] = None
    attr: Annotated[Texts, each("UpdateRequest.attrs", "--attr", metavar="KEY=VALUE")] = None
    tier: Annotated[Text, option("UpdateRequest.tier", "--tier")] = None
    force: Annotated[bool, option("UpdateRequest.force", "--force")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a new memory comes from and what it is tied to: options of remember, check and supersede."""

    session: Annotated[Text, option("Source.session", "--session")] = None
    dir: Annotated[Text, option("Source.dir", "--dir")] = None
    seq: Annotated[Number, option("Source.seq", "--seq")] = None
    link: Annotated[Texts, each("RememberRequest.links", "--link", metavar="TYPE:ID")] = None
    supersedes: Annotated[Texts, each("RememberRequest.supersedes", "--supersedes", metavar="ID")] = None
    created_at: Annotated[Text, option("RememberRequest.created_at", "--created-at", metavar="TIME")] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        source = given(session=self.session, dir=self.dir, seq=self.seq)
        return given(source=source, links=self.link, supersedes=self.supersedes, created_at=self.created_at)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """`command` as typer reads it: each parameter that is a group stands as the group's options."""
    groups: dict[str, tuple[type, tuple[str, ...]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(
        command, eval_str=True, globals={**globals(), **command.__globals__}
    ).parameters.values():
        if dataclasses.is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            options = _parameters(parameter.annotation)
            groups[parameter.name] = parameter.annotation, tuple(option.name for option in options)
            parameters += options
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**arguments: Any) -> None:
        made = {
            name: cls(**{option: arguments.pop(option) for option in names}) for name, (cls, names) in groups.items()
        }
        command(**made, **arguments)

    run.__name__, run.__doc__ = command.__name__, flowing(command.__doc__ or "")
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _parameters(group: type) -> list[inspect.Parameter]:
    names = dict(globals())
    for base in reversed(group.__mro__):
        names |= vars(sys.modules[base.__module__])
    hints = get_type_hints(group, names, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    ]


def flowing(text: str) -> str:
    """`text` with one line a paragraph. Help wraps lines itself, and would keep each line break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
