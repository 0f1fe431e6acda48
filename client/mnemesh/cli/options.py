"""The options that several commands share, in groups; their help is the contract's own.

A parameter with a plain type is the field of that name in the command's request: an argument when it has no default,
else an option. A group is a dataclass with options as fields. `expanded` adds these to a command's own options. Words
and numbers go to the node as typed. The node judges kinds, times and ranges, so every door refuses alike.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, TypeVar, get_args, get_origin, get_type_hints

import typer

from mnemesh.cli.given import given, given_in, pairs, text_of
from mnemesh_proto.v1.field_help import FIELD_HELP

_STYLE: Final = re.compile(r"\[(?=[a-z#/@][^\[\]]*\])")


def contract(field: str) -> str:
    """The contract's text for a field, such as RecallRequest.query."""
    return FIELD_HELP[f"mnemesh.v1.{field}"]


def shown(text: str) -> str:
    """A text for a help page as it stands there. Typer would read a word in brackets as a style."""
    return _STYLE.sub(r"\\[", text)


def option(field: str, *names: str, metavar: str | None = None, more: str = "") -> Any:
    """An option that says what the contract says of `field`."""
    return typer.Option(*names, metavar=metavar, help=shown(contract(field) + more))


def argument(field: str, metavar: str, more: str = "") -> Any:
    """An argument that says what the contract says of `field`."""
    return typer.Argument(metavar=metavar, help=shown(contract(field) + more))


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
# The second name of options that are typed often, and the name of a value that the option's own name does not tell.
LETTERS: Final = MappingProxyType({"limit": ("-n",), "kind": ("-k",), "title": ("-t",)})
VALUES: Final = MappingProxyType(
    {
        "as_of": "TIME", "since": "TIME", "before": "TIME", "valid_from": "TIME", "valid_to": "TIME", "expires": "TIME",
        "stale_days": "DAYS", "window_hours": "HOURS", "keyword": "WORD", "attr": "KEY=VALUE", "token": "TOKEN",
        "max_memories": "N", "max_bytes": "N", "writes_per_second": "N",
    }
)  # fmt: skip
Command = TypeVar("Command", bound=Callable[..., None])
Spaces = Annotated[Texts, each("RecallRequest.spaces", *SPACES)]
Wait = Annotated[str, option("RememberRequest.wait", "--wait", metavar="WHEN")]
Superseded = Annotated[bool, option("RecallRequest.include_superseded", "--include-superseded")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The fields of a memory besides its text: options of remember, check and supersede."""

    request: ClassVar[str] = "RememberRequest"
    kind: Text = None
    title: Text = None
    tag: Texts = None
    importance: float | None = None
    path: Texts = None
    valid_from: Text = None
    valid_to: Text = None
    keyword: Texts = None
    attr: Texts = None
    tier: Text = None
    sensitive: Annotated[bool, option("RememberRequest.sensitive", "--sensitive")] = False
    force: bool = False
    idempotency_key: Annotated[Text, option("RememberRequest.idempotency_key", metavar="KEY")] = None
    wait: Wait = ""

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        fields = given_in(self, tag="tags", path="paths", keyword="keywords", attr="attrs")
        return fields | given(attrs=pairs("attrs", self.attr))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Described):
    """The same options for update: each help says what is replaced."""

    request: ClassVar[str] = "UpdateRequest"


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginOptions:
    """Where a new memory comes from and what it is tied to: options of remember, check and supersede."""

    request: ClassVar[str] = "Source"
    session: Text = None
    dir: Text = None
    seq: Number = None
    link: Annotated[Texts, each("RememberRequest.links", "--link", metavar="TYPE:ID")] = None
    supersedes: Annotated[Texts, each("RememberRequest.supersedes", "--supersedes", metavar="ID")] = None
    created_at: Annotated[Text, option("RememberRequest.created_at", "--created-at", metavar="TIME")] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        source = given(session=self.session, dir=self.dir, seq=self.seq)
        return given(source=source, links=self.link, supersedes=self.supersedes, created_at=self.created_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """The text of a memory: words, standard input or a file."""

    text: Words = None
    file: TextFile = None

    def read(self) -> str:
        """The text. Raises InvalidArgument."""
        return text_of(self.text, self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """The options of commands that list something of some spaces. The request of the command explains them."""

    space: Texts = None
    limit: Number = None
    cursor: str = ""

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given_in(self)


def asks(request: str) -> Callable[[Command], Command]:
    """A mark on a command: the message whose fields its parameters are. Else this is named as the command is."""

    def marked(command: Command) -> Command:
        vars(command)["request"] = request
        return command

    return marked


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """`command` as typer reads it: each parameter that is a group stands as the group's options."""
    groups: dict[str, tuple[type, tuple[str, ...]]] = {}
    parameters: list[inspect.Parameter] = []
    request = vars(command).get("request") or f"{command.__name__.title().replace('_', '')}Request"
    for parameter in inspect.signature(
        command, eval_str=True, globals={**globals(), **command.__globals__}
    ).parameters.values():
        if dataclasses.is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            options = _parameters(parameter.annotation, request)
            groups[parameter.name] = parameter.annotation, tuple(option.name for option in options)
            parameters += options
        else:
            parameters.append(_filled(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY), request))

    def run(**arguments: Any) -> None:
        made = {
            name: cls(**{option: arguments.pop(option) for option in names}) for name, (cls, names) in groups.items()
        }
        command(**made, **arguments)

    run.__name__, run.__doc__ = command.__name__, flowing(command.__doc__ or "")
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _parameters(group: type, request: str) -> list[inspect.Parameter]:
    names = dict(globals())
    for base in reversed(group.__mro__):
        names |= vars(sys.modules[base.__module__])
    hints = get_type_hints(group, names, include_extras=True)
    options = (
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    )
    return [_filled(option, getattr(group, "request", request)) for option in options]


def _filled(parameter: inspect.Parameter, request: str) -> inspect.Parameter:
    """`parameter` with what the contract says of the field of its name, unless it says more itself."""
    hint, name = parameter.annotation, parameter.name
    if get_origin(hint) is Annotated:
        return parameter
    several = list[str] in (hint, *get_args(hint))
    field = f"{request}.{name}{'s' if several else ''}"
    if parameter.default is inspect.Parameter.empty:
        told = argument(field, name.upper())
    else:
        names = (f"--{name.replace('_', '-')}", *LETTERS.get(name, ()))
        more = REPEAT if several else ""
        told = option(field, *(SPACES if several and name == "space" else names), metavar=VALUES.get(name), more=more)
    return parameter.replace(annotation=Annotated[hint, told])


def flowing(text: str) -> str:
    """`text` with one line a paragraph. Help wraps lines itself, and would keep each line break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
