"""What the client gives back: the messages of the contract as frozen dataclasses, field for field.

Times are datetimes in UTC; a time or number that is not there is None, a text that is not there is "". Lists are
tuples. Knows nothing of gRPC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemesh.link_values import Linked
    from mnemesh.transcript_values import TranscriptStatus

from mnemesh.embedding_values import ModelStatus, ReembedStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory came from: session of the writer, its working directory, position in the session."""

    session: str = ""
    dir: str = ""
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge to the memory `id`."""

    type: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Another visible text of a memory that two writers changed at the same time."""

    revision: str
    content: str
    title: str
    by: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory. `state` is active, forgotten or superseded; more than one of `heads` is a conflict, whose other
    texts are in `conflicts`; `importance` is from 0 to 1; `useful` and `not_useful` count votes. `linked` is given by
    get: both ends of its links; `linked_more` counts those that lead to it and are left out. `notes` say
    what of it is too much to be shown."""

    id: str
    space: str
    kind: str
    title: str
    content: str
    state: str
    tags: tuple[str, ...]
    importance: float | None
    tier: str
    paths: tuple[str, ...]
    source: Source | None
    valid_from: datetime | None
    valid_to: datetime | None
    keywords: tuple[str, ...]
    attrs: Mapping[str, str]
    links: tuple[Link, ...]
    by: str
    created_at: datetime | None
    updated_at: datetime | None
    heads: tuple[str, ...]
    version: int
    conflicts: tuple[Head, ...]
    superseded_by: str
    useful: int = 0
    not_useful: int = 0
    linked: tuple[Linked, ...] = ()
    linked_more: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A near neighbour that the save guard saw; `similarity` is the cosine, from -1 to 1. `alike`: its text differs in
    case, spacing or a final stop only."""

    id: str
    title: str
    snippet: str
    similarity: float
    alike: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did. `action` is ADD, UPDATE, NOOP, SUPERSEDE, FORGET, RESTORE, LINK, UNLINK, ROLLBACK or
    RESOLVE, `reason` says why; `indexed` says whether recall sees the change already."""

    action: str
    memory: Memory
    reason: str
    indexed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated(Written):
    """`replayed`: the idempotency key had been seen before, and nothing was written again."""

    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded(Updated):
    """`memory` is the new one, `superseded` the old one as it is now."""

    superseded: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Updated):
    """`novelty` is 1 - the similarity of the nearest of `related`, None when the neighbours could not be asked for.
    `deduplicated`: an identical memory was there. `restorable`: it, or what the key wrote, was forgotten. `hint`: what
    to do next when a near memory may say the same or be out of date."""

    novelty: float | None
    related: tuple[Related, ...]
    conflicts: tuple[Head, ...]
    triggered: tuple[str, ...]
    deduplicated: bool
    restorable: bool
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What remember would do, and why; nothing was written. `hint`: what to do when a near memory may say the same or
    be out of date."""

    action: str
    target_id: str
    similarity: float
    reason: str
    novelty: float
    related: tuple[Related, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Memories by id. `memory` is set when one was asked for; `missing` names those of several not found."""

    memory: Memory | None
    memories: tuple[Memory, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing. `cursor` is the token of the next page, "" on the last; `total` counts all pages."""

    memories: tuple[Memory, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Memories in order of time; the one asked for stands at `position`."""

    memories: tuple[Memory, ...]
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A kind, tag, space or agent, and how many active memories carry it."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what the caller may see, each list with the most frequent first. Tags, spaces and agents are cut at
    200; their totals say how many there are in all."""

    memories: int
    forgotten: int
    superseded: int
    conflicted: int
    kinds: tuple[Count, ...]
    tags: tuple[Count, ...]
    spaces: tuple[Count, ...]
    agents: tuple[Count, ...]
    tags_total: int
    spaces_total: int
    agents_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the token and the headers of this client speak for, and what it grants; no `toolsets` means all."""

    agent: str
    principal: str
    role: str
    private_space: str
    default_space: str
    spaces: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    expires_at: datetime | None = None
    alias_space: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatus:
    """One actor of the node; `state` is ready, busy, starting or failed, `address` that of the machine where it is."""

    name: str
    type: str
    pid: int
    node: str
    state: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReplica:
    """A ledger of a log on several machines; `lag` is how many of the primary's entries it has yet to take in."""

    actor: str
    role: str
    state: str
    node_id: str
    machine: str
    place: str
    incarnation: str
    seq: int
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStatus:
    """The durable log; `bytes` on disk. `replicas`: primary first, none for a log on one machine."""

    incarnation: str
    seq: int
    memories: int
    bytes: int
    replicas: tuple[LedgerReplica, ...] = ()
    state: str = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """One shard of the index; `lag` is how many entries of the ledger it has yet to index."""

    name: str
    backend: str
    seq: int
    lag: int
    points: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingStatus:
    """A setting of the running node that is not left at its default; of a secret only that it is set."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the node is doing. `state` is starting, ready, degraded or draining; `uptime_s` is in seconds."""

    version: str
    state: str
    runtime: str
    data_dir: str
    node_id: str
    pid: int
    uptime_s: float
    grpc: str
    http: str
    actors: tuple[ActorStatus, ...]
    ledger: LedgerStatus | None
    index: tuple[IndexStatus, ...]
    model: ModelStatus | None
    notices: tuple[str, ...]
    transcripts: TranscriptStatus | None
    reembed: ReembedStatus | None = None
    settings: tuple[SettingStatus, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to a memory: `type` is added, updated, forgotten, restored, superseded, conflicted, resolved or
    erased. `kind`, `title` and, when asked for, `content` are those of then; `cursor` resumes a watch after it;
    `merged`: it came from another node, `node_id`."""

    type: str
    cursor: str
    id: str
    space: str
    kind: str
    title: str
    content: str
    revision: str
    agent: str
    node_id: str
    merged: bool
    at: datetime | None
