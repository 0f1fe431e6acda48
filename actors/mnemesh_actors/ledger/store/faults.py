"""SQLite's errors as ours: a disk that fails is Unavailable, bytes that cannot be right are DataLoss."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_actors.storage.data_directory import MACHINE_FILE
from mnemesh_memory.values.errors import DataLoss, MnemeshError, Unavailable

# How Python's sqlite3 names bytes that are no text. SQLite has no code for them.
_NO_TEXT = "Could not decode to UTF-8"
# SQLite's JSON functions say this of a damaged column.
_NO_JSON = "malformed JSON"


@contextmanager
def explained(path: Path, outcome: str) -> Iterator[None]:
    """Raise faults of the file at `path` as Unavailable or DataLoss. `outcome` names the consequence."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError) as error:
        raise MnemeshError(f"the ledger {path}: {error}; {outcome}; this is a fault of ours", part="ledger") from error
    except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError) and not str(error).startswith(_NO_TEXT):
            raise Unavailable(f"the ledger {path}: {error}; {outcome}", part="ledger") from error
        raise damaged(path, error) from error


def is_damage(error: Exception) -> bool:
    """Whether a row of the view can be the cause. SQLite's other errors are of the disk or the file."""
    return not isinstance(error, sqlite3.OperationalError) or str(error).startswith((_NO_TEXT, _NO_JSON))


class OnFile(Protocol):
    """Something that reads one SQLite file."""

    _db: sqlite3.Connection

    @property
    def path(self) -> Path: ...

    def mend(self, error: Exception) -> bool:
        """Make the damaged part of the view anew from the log. Returns whether that changed anything."""


Reader = TypeVar("Reader", bound=OnFile)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def reading(method: Callable[Concatenate[Reader, Given], Answer]) -> Callable[Concatenate[Reader, Given], Answer]:
    """A method that only reads, with its failures explained. A damaged row of the view is mended and read again."""

    @wraps(method)
    def read(self: Reader, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with explained(self.path, "nothing was read"):
            try:
                return method(self, *args, **kwargs)
            except (RowDamaged, sqlite3.OperationalError, json.JSONDecodeError) as error:
                if not is_damage(error) or not self.mend(error):
                    raise
            return method(self, *args, **kwargs)

    return read


def question(
    ask: Callable[Concatenate[sqlite3.Connection, Given], Answer],
) -> Callable[Concatenate[OnFile, Given], Answer]:
    """A method that only reads: `ask` about the file of its ledger."""

    @wraps(ask)
    def read(self: OnFile, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        return ask(self._db, *args, **kwargs)

    return reading(read)


def damaged(path: Path, why: object) -> DataLoss:
    """The error for a damaged ledger file, with what to do."""
    return DataLoss(
        f"the ledger {path} is damaged ({' '.join(str(why).split())}); nothing was changed. Keep a copy of the "
        f"directory, restore the file from a backup, or {salvage_advice(path)}; `mnemesh doctor` shows more",
        field="data_dir",
        value=str(path),
    )


def salvage_advice(path: Path) -> str:
    """How to get at what is sound in a damaged ledger file. A ledger of two on Ray's machines has a whole twin, and has
    no settings and tokens to start with."""
    home = path.parent.parent
    if (home.parent / MACHINE_FILE).exists():
        return (
            f"stop the node and move {home} away on that machine: the node makes another from the ledger that is left"
        )
    return (
        "copy what is sound into a new directory and start with that one: "
        f"`mnemesh node salvage NEW_DIR --data {shlex.quote(str(home))}`"
    )
