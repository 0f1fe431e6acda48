"""The options that several commands share, in groups; their help is the contract's own.

A group is a dataclass whose fields are options; `expanded` puts them into a command's own. Words and numbers go to
the node as they were typed: it judges kinds, times and ranges, so that every door refuses alike.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from mnemesh.errors import InvalidArgument
from mnemesh_proto.v1.field_help import FIELD_HELP


def contract(field: str) -> str:
    """What the contract says of a field, such as RecallRequest.query."""
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
    """What describes a memory besides its text: options of remember, check and supersede."""

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
    """The same options as update has them: each says what it replaces, and none has a default."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories a reading command looks at: options of recall and list."""

    space: Spaces = None
    kind: Annotated[list[str] | None, option("RecallRequest.kinds", "--kind", "-k", more=REPEAT)] = None
    tags_any: Annotated[
        list[str] | None, option("RecallRequest.tags_any", "--tags-any", metavar="TAG", more=REPEAT)
    ] = None
    tags_all: Annotated[
        list[str] | None, option("RecallRequest.tags_all", "--tag", "--tags-all", metavar="TAG", more=REPEAT)
    ] = None
    tags_none: Annotated[
        list[str] | None, option("RecallRequest.tags_none", "--tags-none", metavar="TAG", more=REPEAT)
    ] = None
    since: Annotated[str | None, option("RecallRequest.since", "--since", metavar="TIME")] = None
    before: Annotated[str | None, option("RecallRequest.before", "--before", metavar="TIME")] = None
    valid_at: Annotated[str | None, option("RecallRequest.valid_at", "--valid-at", metavar="TIME")] = None
    by: Annotated[str | None, option("RecallRequest.agent", "--by", metavar="AGENT")] = None
    session: Annotated[str | None, option("RecallRequest.session", "--session")] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given(
            space=self.space, kinds=self.kind, tags_any=self.tags_any, tags_all=self.tags_all,
            tags_none=self.tags_none, since=self.since, before=self.before, valid_at=self.valid_at, agent=self.by,
            session=self.session,
        )  # fmt: skip


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """`command` as typer reads it: each parameter that is a group stands as the group's options."""
    groups: dict[str, tuple[type, tuple[str, ...]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
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
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    ]


def flowing(text: str) -> str:
    """`text` with one line a paragraph, which help wraps at its own width; it would keep each line break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def given(**fields: object) -> dict[str, Any]:
    """The fields that were given on the command line; what was left out is not sent."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and not (isinstance(value, list | dict) and not value)
    }


def pairs(field: str, items: Iterable[str] | None) -> dict[str, str]:
    """KEY=VALUE texts as a mapping. Raises InvalidArgument for one without `=` or a key that comes twice."""
    result: dict[str, str] = {}
    for item in items or ():
        key, equals, value = item.partition("=")
        if not equals:
            raise InvalidArgument(field, item, "KEY=VALUE")
        if key in result:
            raise InvalidArgument(field, item, "each key once")
        result[key] = value
    return result


def numbers(field: str, items: Iterable[str] | None) -> dict[str, float]:
    """KEY=NUMBER texts as a mapping. Raises InvalidArgument."""
    result: dict[str, float] = {}
    for key, value in pairs(field, items).items():
        try:
            result[key] = float(value)
        except ValueError:
            raise InvalidArgument(f"{field}.{key}", value, "a number") from None
    return result


def several(items: Iterable[str] | None) -> list[str]:
    """The values of an option that is given several times, or once with commas."""
    return [part.strip() for item in items or () for part in item.split(",") if part.strip()]
