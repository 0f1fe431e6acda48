"""Words of the command line as fields of a request. An option left out is not sent."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemesh.errors import InvalidArgument, why

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def given(**fields: object) -> dict[str, Any]:
    """The fields given on the command line. Others are not sent."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and not (isinstance(value, list | dict) and not value)
    }


def given_in(group: DataclassInstance, **names: str) -> dict[str, Any]:
    """The fields of a group of options that were given. `names` has the field of an option with another name."""
    return given(**{names.get(one.name, one.name): getattr(group, one.name) for one in dataclasses.fields(group)})


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


def new_text(content: str | None, file: Path | None) -> str | None:
    """The text given by --content or --file, None for neither. Raises InvalidArgument."""
    return None if content is None and file is None else text_of(None if content is None else [content], file)


def text_of(words: Iterable[str] | None, file: Path | None = None) -> str:
    """The text that a command was given: words, `-` for standard input, or a file. Raises InvalidArgument."""
    typed = list(words or ())
    if file is None and not typed:
        allowed = "a text (after -- when it begins with -), - for standard input, or --file FILE"
        raise InvalidArgument("content", "nothing", allowed, missing=True)
    if file is not None and typed:
        raise InvalidArgument("content", "words and --file", "one of them")
    if file is None and typed != ["-"]:
        return " ".join(typed)
    try:
        if file is None and sys.stdin is None:
            raise InvalidArgument("content", "-", "a standard input that is open")
        data = file.read_bytes() if file is not None else sys.stdin.buffer.read()
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument("content", str(file or "-"), f"readable UTF-8 ({why(error)})") from None
