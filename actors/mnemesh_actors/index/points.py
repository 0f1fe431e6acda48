"""From a memory to its points: ids, vectors, fields. Never its content or title.

A memory of one passage is one point with the memory's own id. Passage n > 0 has the id uuid5(memory, n) and carries the
memory's id. Edge keeps deleted payloads in its files, so only fields for filters are stored, and tags, agent and
session come hashed (`masked.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid5

from mnemesh_actors.index.engine_port import PayloadValue, Point, Schema
from mnemesh_actors.index.scope import SCOPE, scope_of
from mnemesh_memory.text.traits import Traits
from mnemesh_memory.values.errors import InvalidArgument

if TYPE_CHECKING:
    from mnemesh_actors.index.bm25 import Bm25Encoder
    from mnemesh_actors.index.engine_port import DenseVector, SparseVector

DENSE = "dense"
BM25 = "bm25"
WINDOW = "window"
PASSAGES_MAX = 1024
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, eq=False)
class IndexText:
    """One passage: its L2-normalised embedding (dimensions,) float32, and its words for BM25."""

    dense: DenseVector
    lexical: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IndexItem:
    """A memory as the index sees it: times in ms since the epoch, `state` and `tier` as in kinds, passages.

    `seq` is the ledger entry. `place` is its writer's count in its session. `before` are the words of the memories just
    before it there, oldest first. Fields that only the ledger filters by (directory, paths, importance) are no part of
    it.
    """

    id: str
    space: str
    kind: str
    tags: tuple[str, ...] = ()
    agent: str = ""
    session: str = ""
    seq: int | None = None
    created_at: int
    updated_at: int
    valid_from: int | None = None
    valid_to: int | None = None
    state: str = "active"
    tier: str = "normal"
    place: int = 0
    before: tuple[str, ...] = ()
    traits: Traits | None = None
    texts: tuple[IndexText, ...]


def schema(dimensions: int) -> Schema:
    """The fields of a retrieval index whose embeddings have that many dimensions."""
    return Schema(
        dense={DENSE: dimensions},
        sparse=(BM25, WINDOW),
        tenant=SCOPE,
        keywords=("kind", "tags", "agent", "session"),
        times=("created_at", "happened_at", "passage"),
        stored=("memory", "seq", "updated_at", "valid_from", "valid_to", "place", "traits"),
    )


def check_id(text: str) -> str:
    """The text itself, if it spells a UUID canonically. Raises InvalidArgument for any other."""
    if not isinstance(text, str) or _ID.fullmatch(text) is None:
        raise InvalidArgument("id", text, "a UUID in lower case")
    return text


def point_id(memory: str, passage: int) -> str:
    """The id of passage `passage` (from 0) of a memory."""
    return memory if passage == 0 else str(uuid5(UUID(check_id(memory)), str(passage)))


def points_of(item: IndexItem, encoder: Bm25Encoder) -> list[Point]:
    """One point for each passage, in their order. Raises InvalidArgument without a space or a passage."""
    if not 1 <= len(item.texts) <= PASSAGES_MAX:
        raise InvalidArgument("texts", len(item.texts), f"1 to {PASSAGES_MAX} passages")
    shared = _payload(item)
    points = []
    for passage, text in enumerate(item.texts):
        payload = shared if passage == 0 else {**shared, "memory": item.id, "passage": passage}
        vectors: dict[str, DenseVector | SparseVector] = {DENSE: text.dense}
        terms = encoder.document(text.lexical)
        if terms.indices:
            vectors[BM25] = terms
        if episode_of(item) is not None and passage == 0:
            # Of an episode's memory also together with what was said just before: an answer seldom repeats the words
            # of its question.
            wide = encoder.document("\n".join((*item.before, text.lexical))) if item.before else terms
            if wide.indices:
                vectors[WINDOW] = wide
        points.append(Point(point_id(item.id, passage), vectors, payload))
    return points


def episode_of(item: IndexItem) -> tuple[str, str] | None:
    """Space and session of a memory that stands in an episode: it has a session and is not forgotten or replaced."""
    return (item.space, item.session) if item.session and item.state == "active" else None


def _payload(item: IndexItem) -> dict[str, PayloadValue]:
    payload: dict[str, PayloadValue] = {
        SCOPE: scope_of(item.space, item.state, item.tier),
        "kind": item.kind,
        "created_at": item.created_at,
        "happened_at": item.created_at if item.valid_from is None else item.valid_from,
        "updated_at": item.updated_at,
    }
    texts: dict[str, str | tuple[str, ...]] = {"agent": item.agent, "session": item.session, "tags": item.tags}
    times = {"seq": item.seq, "valid_from": item.valid_from, "valid_to": item.valid_to}
    payload.update({name: text for name, text in texts.items() if text})
    payload.update({name: time for name, time in times.items() if time is not None})
    if episode_of(item) is not None:
        payload["place"] = item.place
    if item.traits is not None:
        at, words, marks, speakers = item.traits
        payload["traits"] = " ".join(map(str, (at, words, marks, *speakers)))
    return payload
