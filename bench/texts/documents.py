"""Texts of a corpus as memories of a running node, and files of a corpus read with their faults named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mnemesh import Client
from mnemesh.api.calls.writes import Item
from mnemesh.errors import InvalidArgument

Kind = TypeVar("Kind")


class BadFile(Exception):
    """A file of the wrong form; the message says where and why."""


class Document(NamedTuple):
    """One memory to be: its text, its session and place there, and its time (UTC)."""

    id: str
    text: str
    session: str
    seq: int = 0
    when: datetime | None = None
    tags: tuple[str, ...] = ()
    kind: str = "episode"


def remember(client: Client, documents: Sequence[Document], space: str) -> tuple[dict[str, str], list[str]]:
    """Write all documents into a space by `remember_batch`. Returns the document of each memory, and the documents
    refused by the node: empty, too long, or with a credential. Raises any other error."""
    items: list[Item | str] = []
    for one in documents:
        item: Item = {
            "content": one.text, "space": space, "kind": one.kind, "force": True, "tags": list(one.tags),
            "source": {"session": one.session, "seq": one.seq},
        }  # fmt: skip
        if one.when is not None:
            item["valid_from"] = one.when
        items.append(item)
    stored, refused = {}, []
    for done, one in zip(client.remember_batch(items), documents, strict=True):
        if isinstance(done, InvalidArgument):
            refused.append(one.id)
        elif isinstance(done, Exception):
            raise done
        else:
            stored[done.memory.id] = one.id
    return stored, refused


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises BadFile when it can not be read."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadFile(f"{path}: no JSON: {error}") from error


def member(of: Any, name: str, kind: type[Kind], where: str) -> Kind:
    """The field `name` of a JSON object. Raises BadFile when it is missing or of another kind."""
    if not isinstance(of, dict):
        raise BadFile(f"{where}: an object is wanted, not {_shown(of)}")
    if name not in of:
        raise BadFile(f"{where}: {name} is missing")
    return of_kind(of[name], kind, f"{where}: {name}")


def of_kind(value: Any, kind: type[Kind], where: str) -> Kind:
    """The value, when it is of that kind. Raises BadFile."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {str: "a text", list: "a list", dict: "an object", int: "a whole number", bool: "true or false"}
        raise BadFile(f"{where}: {names[kind]} is wanted, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."
