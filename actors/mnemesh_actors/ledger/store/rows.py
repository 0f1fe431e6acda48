"""A memory as a row of the view and back. Knows nothing of queries.

Each row carries a checksum over its other columns. A row that does not fit is not served (RowDamaged).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from itertools import starmap
from typing import Any, Final

from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import Link, Memory, Revision, Source

COLUMNS = (
    "id, space, kind, title, content, state, tier, by, created_at, updated_at, seq, session, session_seq, conflicted, "
    "tags, detail, checksum"
)
PLACES = ", ".join("?" * 17)
SEQ = COLUMNS.split(", ").index("seq")
# Columns and fields of the same name: before SEQ, and plain ones of the detail.
_PLAIN: Final = tuple(COLUMNS.split(", ")[:SEQ])
_DETAILS: Final = ("importance", "paths", "valid_from", "valid_to", "keywords", "superseded_by", "notes")
_ARRIVED: Final = "arrived_at"
NO_TAGS: Final = "[]"  # what most memories have: it is not worth a parser on every recall

DAMAGED: Final = (
    "is damaged on disk, in the log as well, and was not served: `mnemesh sync now` brings it back if a peer holds it, "
    "otherwise restore a backup; `mnemesh doctor --deep` shows more"
)


class RowDamaged(DataLoss):
    """A row of the view is not what was written. `id` is the memory's as far as it can be read."""

    def __init__(self, id_: str) -> None:
        super().__init__(f"memory {id_} {DAMAGED}", field="id", value=id_)
        self.id = id_


def checksum(columns: Sequence[Any]) -> int:
    """CRC-32 of the columns of a row but the last, each as text. Any single flipped bit changes it."""
    return zlib.crc32("\0".join(map(str, columns)).encode("utf-8", "surrogatepass"))


def to_row(memory: Memory, seq: int) -> tuple[Any, ...]:
    """The values of COLUMNS for `memory`, whose last entry is `seq`."""
    detail: dict[str, Any] = {"heads": memory.heads, "version": memory.version}
    optional = {
        **{name: getattr(memory, name) for name in _DETAILS},
        "dir": memory.source.dir,
        "attrs": dict(memory.attrs),
        "links": [(link.type, link.id) for link in memory.links],
        "conflicts": [_revision_out(head) for head in memory.conflicts],
        "useful": memory.useful or None,
        "not_useful": memory.not_useful or None,
        "forced": memory.forced or None,
        _ARRIVED: memory.arrived_at or None,
    }
    # Absent means default: most memories have few of these, and the view is read on every recall.
    detail |= {key: value for key, value in optional.items() if value not in (None, "", (), [], {})}
    columns = (
        *(getattr(memory, name) for name in _PLAIN),
        seq,
        memory.source.session,
        memory.source.seq,
        int(bool(memory.conflicts)),
        _json(memory.tags),
        _json(detail),
    )
    return (*columns, checksum(columns))


def from_row(row: Sequence[Any], *, tied: bool = True) -> Memory:
    """The memory of a row of COLUMNS. `tied` as in Memory. Raises RowDamaged."""
    if checksum(row[:-1]) != row[-1]:
        raise RowDamaged(str(row[0]))
    session, session_seq, _, tags, detail_text = row[SEQ + 1 : -1]
    detail = json.loads(detail_text)
    return Memory(
        **dict(zip(_PLAIN, row, strict=False)),
        # Most memories have few of these, and what is absent has its default.
        **{name: _READ[name](value) for name, value in detail.items() if name in _READ},
        tags=() if tags == NO_TAGS else tuple(json.loads(tags)),
        source=Source(session, detail.get("dir", ""), session_seq),
        tied=tied,
    )


def marks(values: Iterable[object]) -> str:
    """A placeholder of SQL for each of the values."""
    return ", ".join("?" for _ in values)


def from_rows(rows: Iterable[Sequence[Any]]) -> list[Memory]:
    """Memories of rows, in order."""
    return [from_row(row) for row in rows]


def _revision_out(revision: Revision) -> dict[str, Any]:
    return {**asdict(replace(revision, attrs=dict(revision.attrs))), "source": astuple(revision.source)}


def _revision_in(value: dict[str, Any]) -> Revision:
    lists = {name: tuple(value[name]) for name in ("parents", "keywords", "refs")}
    return Revision(**{**value, **lists, "source": Source(*value["source"])})


def _as_it_is(value: Any) -> Any:
    return value


# The fields of the detail with the way from JSON to each. Others, of a later version, are not read.
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys((*_DETAILS, "version", "attrs", "useful", "not_useful", "forced", _ARRIVED), _as_it_is),
    **dict.fromkeys(("heads", "paths", "keywords", "notes"), tuple),
    "links": lambda links: tuple(starmap(Link, links)),
    "conflicts": lambda heads: tuple(map(_revision_in, heads)),
}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
