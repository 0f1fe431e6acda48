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
from typing import Annotated, Any, get_type_hints

import typer

from mnemesh.cli.given import given, pairs
from mnemesh_proto.v1.field_help import FIELD_HELP


def contract(field: str) -> str:
    """The contract's text for a field, such as RecallRequest.query."""
    return FIELD_HELP[f"mnemesh.v1.{field}"]


def option(field: str, *names: str, metavar: str | None = None, more: str = "") -> Any:
    """An option that says what the contract says of `field`."""
    return typer.Option(*names, metavar=metavar, help=contract(field) + more)


REPEAT = " Repeatable."
DASHES = " Comes after -- when it begins with -."
Words = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="The text; - reads standard input." + DASHES)]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id, unique id prefix (6 characters or more) or title.")]
Space = Annotated[
    str | None,
    typer.Option("--space", "-s", help="Space; default: MNEMESH_SPACE, else what `mnemesh space` says here."),
]
SPACES = ("--space", "-s", "--spaces")
Spaces = Annotated[list[str] | None, option("RecallRequest.spaces", *SPACES, more=REPEAT)]
CountedSpaces = Annotated[list[str] | None, option("StatsRequest.spaces", *SPACES, more=REPEAT)]
ConflictSpaces = Annotated[list[str] | None, option("ConflictsRequest.spaces", *SPACES, more=REPEAT)]
Wait = Annotated[str | None, option("RememberRequest.wait", "--wait", metavar="WHEN")]
Superseded = Annotated[bool, option("RecallRequest.include_superseded", "--include-superseded")]
Forgotten = Annotated[bool, option("GetRequest.include_forgotten", "--include-forgotten")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The fields of a memory besides its text: options of remember, check and supersede."""

    kind: Annotated[str | None, option("RememberRequest.kind", "--kind", "-k")] = None
    title: Annotated[str | None, option("RememberRequest.title", "--title", "-t")] = None
    tag: Annotated[list[str] | None, option("RememberRequest.tags", "--tag", more=REPEAT)] = None
    importance: Annotated[float | None, option("RememberRequest.importance", "--importance")] = None
    path: Annotated[list[str] | None, option("RememberRequest.paths", "--path", more=REPEAT)] = None
    valid_from: Annotated[str | None, option("RememberRequest.valid_from", "--valid-from", metavar="TIME")] = None
    valid_to: Annotated[str | None, option("RememberRequest.valid_to", "--valid-to", metavar="TIME")] = None
    keyword: Annotated[
        list[str] | None, option("RememberRequest.keywords", "--keyword", metavar="WORD", more=REPEAT)
    ] = None
    attr: Annotated[list[str] | None, option("RememberRequest.attrs", "--attr", metavar="KEY=VALUE", more=REPEAT)] = (
        None
    )
    tier: Annotated[str | None, option("RememberRequest.tier", "--tier")] = None
    sensitive: Annotated[bool, option("RememberRequest.sensitive", "--sensitive")] = False
    force: Annotated[bool, option("RememberRequest.force", "--force")] = False
    idempotency_key: Annotated[
        str | None, option("RememberRequest.idempotency_key", "--idempotency-key", metavar="KEY")
    ] = None
    wait: Wait = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given(
            kind=self.kind, title=self.title, tags=self.tag, importance=self.importance, paths=self.path,
            valid_from=self.valid_from, valid_to=self.valid_to, keywords=self.keyword, attrs=pairs("attrs", self.attr),
            tier=self.tier, sensitive=self.sensitive, force=self.force, idempotency_key=self.idempotency_key,
            wait=self.wait,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Described):
    """The same options for update: each help says what is replaced, and none has a default."""

    kind: Annotated[str | None, option("UpdateRequest.kind", "--kind", "-k")] = None
    title: Annotated[str | None, option("UpdateRequest.title", "--title", "-t")] = None
    tag: Annotated[list[str] | None, option("UpdateRequest.tags", "--tag", more=REPEAT)] = None
    importance: Annotated[float | None, option("UpdateRequest.importance", "--importance")] = None
    path: Annotated[list[str] | None, option("UpdateRequest.paths", "--path", more=REPEAT)] = None
    valid_from: Annotated[str | None, option("UpdateRequest.valid_from", "--valid-from", metavar="TIME")] = None
    valid_to: Annotated[str | None, option("UpdateRequest.valid_to", "--valid-to", metavar="TIME")] = None
    keyword: Annotated[list[str] | None, option("UpdateRequest.keywords", "--keyword", metavar="WORD", more=REPEAT)] = (
        None
    )
    attr: Annotated[list[str] | None, option("UpdateRequest.attrs", "--attr", metavar="KEY=VALUE", more=REPEAT)] = None
    tier: Annotated[str | None, option("UpdateRequest.tier", "--tier")] = None
    force: Annotated[bool, option("UpdateRequest.force", "--force")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a new memory comes from and what it is tied to: options of remember, check and supersede."""

    session: Annotated[str | None, option("Source.session", "--session")] = None
    dir: Annotated[str | None, option("Source.dir", "--dir")] = None
    seq: Annotated[int | None, option("Source.seq", "--seq")] = None
    link: Annotated[list[str] | None, option("RememberRequest.links", "--link", metavar="TYPE:ID", more=REPEAT)] = None
    supersedes: Annotated[
        list[str] | None, option("RememberRequest.supersedes", "--supersedes", metavar="ID", more=REPEAT)
    ] = None
    created_at: Annotated[str | None, option("RememberRequest.created_at", "--created-at", metavar="TIME")] = None

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
