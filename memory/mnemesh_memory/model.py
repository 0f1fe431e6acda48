"""The values that travel between the layers: plain, frozen, without behaviour and without a clock.

Times are integer milliseconds since the epoch, UTC. Ids are lower-case UUID text. A missing text is "", a missing
number or time is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemesh_memory.asked_time import Window
from mnemesh_memory.embedding import ModelStatus, ReembedStatus
from mnemesh_memory.linking import Linked
from mnemesh_memory.quotas import NO_OWN, Quota
from mnemesh_memory.replica import LedgerReplica


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory came from: session id, working directory, position in the session."""

    session: str = ""
    dir: str = ""
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge to another memory; `type` is one of kinds.LINK_TYPES."""

    type: str
    id: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who speaks, as the door authenticated it. `agent` signs writes (`owner/claude-code`), `principal` owns the
    private space `@principal`, `default_space` is used when a call names none ("" means the private space).
    `alias_space` is an older name of it, read along; `taken_space` is the name that another project took first.

    `role` and `spaces` (patterns, see grants) say what it may do, beside its private space; `toolsets` are those whose
    operations it may call, () for all; `expires_at` is when its token ends."""

    agent: str
    principal: str
    role: str = "owner"
    default_space: str = ""
    alias_space: str = ""
    taken_space: str = ""
    spaces: tuple[str, ...] = ("*",)
    toolsets: tuple[str, ...] = ()
    expires_at: int | None = None

    @property
    def private_space(self) -> str:
        return "@" + self.principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A principal beside the owner, as its token grants: role, patterns of spaces, toolsets (() for all), end of life.
    `calls` and `last_used_at` may be half a minute old on disk, `quota` is what it was given of its own. The token
    itself is nowhere kept."""

    name: str
    role: str
    spaces: tuple[str, ...]
    toolsets: tuple[str, ...]
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    calls: int = 0
    last_used_at: int | None = None
    quota: Quota = NO_OWN

    def state(self, now: int) -> str:
        """active, expired or revoked at `now`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a writer hands to `remember`."""

    content: str
    kind: str = ""
    title: str = ""
    space: str = ""
    tags: tuple[str, ...] = ()
    importance: float | None = None
    paths: tuple[str, ...] = ()
    source: Source = Source()
    valid_from: int | None = None
    valid_to: int | None = None
    keywords: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    tier: str = "normal"
    supersedes: tuple[str, ...] = ()
    sensitive: bool = False
    force: bool = False
    idempotency_key: str = ""
    wait: str = "indexed"
    created_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What `update` changes: None leaves a field as it is. Tags, keywords, paths and attrs replace the whole set.
    `clear` names fields to empty. `expected_heads` makes the update refuse (ABORTED) when the memory has other heads by
    then."""

    content: str | None = None
    kind: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    paths: tuple[str, ...] | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    keywords: tuple[str, ...] | None = None
    attrs: Mapping[str, str] | None = None
    tier: str | None = None
    sensitive: bool = False
    force: bool = False
    expected_heads: tuple[str, ...] = ()
    idempotency_key: str = ""
    wait: str = "indexed"
    clear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One complete, immutable statement of a memory. `id` is "n@actor" with actor in hex; `op` is put or forget."""

    id: str
    op: str
    kind: str
    title: str
    content: str
    by: str
    at: int
    parents: tuple[str, ...]
    attrs: Mapping[str, str] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    importance: float | None = None
    tier: str = "normal"
    source: Source = Source()
    keywords: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is read: the winning head's fields, and the other heads when there is a conflict.

    `state` is active, forgotten or superseded. `heads` are the ids of all revisions that no other names as parent,
    the winner first. `conflicts` holds the other visible heads. `created_at`/`by` are the first revision's,
    `updated_at` the winner's. `version` counts revisions, `useful` and `not_useful` the votes of writers.
    `linked` is filled by `get` alone: both ends of its links; `linked_more` counts those that lead to it and are left
    out. `tied` is false when it is known that no link begins or ends here. `notes` say, in words, what of the memory is
    not shown because it is too much.
    """

    id: str
    space: str
    kind: str
    title: str
    content: str
    state: str
    by: str
    created_at: int
    updated_at: int
    heads: tuple[str, ...]
    version: int = 1
    tags: tuple[str, ...] = ()
    importance: float | None = None
    tier: str = "normal"
    paths: tuple[str, ...] = ()
    source: Source = Source()
    valid_from: int | None = None
    valid_to: int | None = None
    keywords: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    conflicts: tuple[Revision, ...] = ()
    superseded_by: str = ""
    useful: int = 0
    not_useful: int = 0
    linked: tuple[Linked, ...] = ()
    linked_more: int = 0
    notes: tuple[str, ...] = ()
    tied: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Related:
    """A neighbour that the save guard saw: dense cosine similarity in [-1, 1]. `alike`: its text differs from the
    draft's in case, spacing or a final stop only."""

    id: str
    title: str
    snippet: str
    similarity: float
    alike: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did. `action` is one of kinds.ACTIONS; `novelty` is 1 - best neighbour similarity, in [0, 1],
    None when the neighbours could not be asked for; `indexed` says whether recall can see it already; `hint` is what
    the writer may do next."""

    action: str
    memory: Memory
    reason: str
    hint: str = ""
    novelty: float | None = 1.0
    related: tuple[Related, ...] = ()
    deduplicated: bool = False
    restorable: bool = False
    replayed: bool = False
    indexed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a reader hands to `recall`. Empty filters let everything through. `since` and `before` bound `created_at`;
    `as_of` is a time of the mesh, `valid_at` one of the world. The `window`, when it happened, comes from the words of
    the text and not from the reader, and so does `about`: what is asked beside the time, by which coverage judges; ""
    when that is the whole text."""

    text: str
    spaces: tuple[str, ...] = ()
    limit: int = 10
    mode: str = "hybrid"
    kinds: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None
    as_of: int | None = None
    valid_at: int | None = None
    min_score: float = 0.0
    min_heat: float = 0.0
    token_budget: int | None = None
    include_superseded: bool = False
    include_archive: bool = False
    sort: str = "relevance"
    weights: Mapping[str, float] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    agent: str = ""
    session: str = ""
    source_dir: str = ""
    explain: bool = False
    snippets_only: bool = False
    time_words: str = "prefer"
    time_zone: str = ""
    window: Window | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A page of memories, newest first by default. `cursor` is the opaque token of the page before; `everywhere` means
    all spaces that the caller may read, which stand in `within`, as patterns, once that is checked. What is superseded
    but held at `valid_at` counts as active, unless `active_now`."""

    spaces: tuple[str, ...] = ()
    everywhere: bool = False
    within: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None
    valid_at: int | None = None
    active_now: bool = False
    agent: str = ""
    session: str = ""
    state: str = "active"
    window: Window | None = None
    order: str = "newest"
    limit: int = 20
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing; `cursor` is "" on the last."""

    memories: tuple[Memory, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what the caller may see: memories by state, and active ones by kind, tag, space and agent, the most
    frequent first. The totals count all tags, spaces and agents, also those beyond the ones that are listed."""

    memories: int
    forgotten: int
    superseded: int
    conflicted: int
    kinds: Mapping[str, int]
    tags: Mapping[str, int]
    spaces: Mapping[str, int]
    agents: Mapping[str, int]
    tags_total: int
    spaces_total: int
    agents_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What `remember` would do with a draft, and why; nothing was written. `hint` is what the writer may do."""

    action: str
    reason: str
    hint: str = ""
    target_id: str = ""
    similarity: float = 0.0
    novelty: float = 1.0
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatus:
    """One actor: its process, Ray node and that node's IP address; ready, busy (silent for a while) or starting."""

    name: str
    type: str
    pid: int
    state: str
    node: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStatus:
    """The durable log. `replicas`: primary first, none for a log on one machine. `state`: ok, or why it is degraded.
    `alarms`: what happened to its data, until a person acknowledges it."""

    incarnation: str
    seq: int
    memories: int
    bytes: int
    replicas: tuple[LedgerReplica, ...] = ()
    state: str = "ok"
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """One shard: `seq` is the last ledger entry that it holds, `lag` how many it misses."""

    name: str
    backend: str
    seq: int
    lag: int
    points: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshStatus:
    """What the operations' side of a node knows of itself; a door adds its addresses."""

    state: str
    runtime: str
    node_id: str
    actors: tuple[ActorStatus, ...]
    ledger: LedgerStatus | None
    index: tuple[IndexStatus, ...]
    model: ModelStatus | None
    notices: tuple[str, ...] = ()
    reembed: ReembedStatus = field(default_factory=ReembedStatus)
