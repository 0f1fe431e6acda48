"""Carries out a command without typer, where its words are plain: known options, each with its value in the next word.

The start of typer costs more than a recall. Help, abbreviations and every mistake are left to typer, which then reads
the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mnemesh.cli.plain_options import RECALL

ALIASES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("save", "store", "write", "retain", "add_memory", "add-memory"), "remember"),
    **dict.fromkeys(("find", "query", "search", "lookup", "retrieve"), "recall"),
    "map": "navigate",
    "topics": "recall-hierarchical",
}
NUMBERS: Final[Mapping[str, type]] = {"int": int, "float": float}


def run_plain(argv: Sequence[str]) -> int | None:
    """The exit status of the command `argv`, or None when typer has to read it."""
    if not argv or ALIASES.get(argv[0], argv[0]) != "recall":
        return None
    values = plain_values(argv[1:], RECALL)
    if values is None:
        return None
    from mnemesh.cli.commands.memories.recall import Wanted, recall
    from mnemesh.cli.error_report import carried_out
    from mnemesh.cli.filters import MemoryFilters
    from mnemesh.cli.shell import Shell

    shell, filters, wanted = (_group(cls, values) for cls in (Shell, MemoryFilters, Wanted))
    return carried_out(partial(recall, shell, filters, wanted, **values), argv)


def plain_values(words: Sequence[str], options: Mapping[str, tuple[str, str]]) -> dict[str, Any] | None:
    """The values of the parameters that `words` give, or None where a word is not plain.

    `options` has the parameter and the kind of each option: flag, many, str, int, float or Path.
    """
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            values.setdefault("query", []).extend(rest)
        elif word == "-" or not word.startswith("-"):
            values.setdefault("query", []).append(word)
        elif word not in options:
            return None
        else:
            name, kind = options[word]
            if kind == "flag":
                values[name] = True
                continue
            value = _value(next(rest, ""), kind)
            if value is None:
                return None
            values[name] = [*values.get(name, ()), value] if kind == "many" else value
    return values


def _value(word: str, kind: str) -> Any:
    """`word` as a value of `kind`, or None for typer to judge: an empty word, another option, no number."""
    if not word or word.startswith("-"):
        return None
    if kind == "Path":
        from pathlib import Path

        return Path(word)
    try:
        return NUMBERS[kind](word) if kind in NUMBERS else word
    except ValueError:
        return None


def _group(cls: Callable[..., Any], values: dict[str, Any]) -> Any:
    """A `cls` of the `values` among its fields. Takes them out."""
    fields = vars(cls)["__dataclass_fields__"]
    return cls(**{name: values.pop(name) for name in list(values) if name in fields})
