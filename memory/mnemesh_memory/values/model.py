"""The values that travel between the layers: plain, frozen, without behaviour and without a clock.

Times are whole milliseconds since the epoch, UTC. Ids are lower-case UUID text. A missing text is "", all else None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemesh_memory.times.window import Window
from mnemesh_memory.values.marks import ANCHOR, Trusted
from mnemesh_memory.values.memory_links import Linked
from mnemesh_memory.values.model_status import (
    ActorStatus,
    AstrocyteStatus,
    ConsumerStatus,
    FileWatchStatus,
    LedgerReplica,
    ModelStatus,
    ReembedStatus,
)
from mnemesh_memory.values.quotas import NO_OWN, Quota
from mnemesh_memory.values.rules import Rule


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
class Replaced:
    """A memory that gave way to another one, which holds `since` (ms)."""

    id: str
    since: int


@dataclass(frozen=True, slots=True)
class Caller:
    """The speaker of a request, as the door authenticated the token."""

    agent: str  # Signs writes, such as owner/claude-code.
    principal: str  # Owns the private space @principal.
    role: str = "owner"
    default_space: str = ""  # Used when a call names none. "" means the private space.
    alias_space: str = ""  # An older name of the default space, read along.
    taken_space: str = ""  # The name of the default space, had another project not taken it first.
    spaces: tuple[str, ...] = ("*",)  # Patterns, see grants.
    toolsets: tuple[str, ...] = ()  # Toolsets of the operations allowed, () for all.
    expires_at: int | None = None  # End of the token (ms).
    root: str = ""  # The folder of the default space's project on the client's machine.

    @property
    def private_space(self) -> str:
        return "@" + self.principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A principal beside the owner, as granted by a token. The token itself is nowhere kept."""

    name: str
    role: str
    spaces: tuple[str, ...]  # Patterns, see grants.
    toolsets: tuple[str, ...]  # () for all.
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    calls: int = 0  # May be half a minute old on disk.
    last_used_at: int | None = None  # May be half a minute old on disk.
    quota: Quota = NO_OWN  # The agent's own; the defaults of the node fill the gaps.

    def state(self, now: int) -> str:
        """active, expired or revoked at `now`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement that a writer hands to `remember`."""

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
    """The changes of an `update`. None leaves a field as it is."""

    content: str | None = None
    kind: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None  # Tags, keywords, paths and attrs replace the whole set.
    importance: float | None = None
    paths: tuple[str, ...] | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    keywords: tuple[str, ...] | None = None
    attrs: Mapping[str, str] | None = None
    tier: str | None = None
    sensitive: bool = False
    force: bool = False
    expected_heads: tuple[str, ...] = ()  # The update is refused (ABORTED) when the memory has other heads by then.
    idempotency_key: str = ""
    wait: str = "indexed"
    clear: tuple[str, ...] = ()  # Names of fields to empty.


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFields:
    """A complete statement of a memory before it has an id. `op` is put or forget."""

    op: str
    kind: str
    title: str
    content: str
    by: str
    at: int
    parents: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    importance: float | None = None
    tier: str = "normal"
    source: Source = Source()
    keywords: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(RevisionFields):
    """One complete, immutable statement of a memory. `id` is "n@actor" with actor in hex."""

    id: str
    forced: bool = False  # Its writer passed the write guard with `force`.


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is read: the fields of the winning head, and the other heads when there is a conflict."""

    id: str
    space: str
    kind: str
    title: str
    content: str
    state: str  # active, forgotten or superseded.
    by: str  # The writer of the first revision.
    created_at: int  # Of the first revision.
    updated_at: int  # Of the winning revision.
    heads: tuple[str, ...]  # Ids of all revisions that no other names as parent, the winner first.
    version: int = 1  # Count of revisions.
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
    conflicts: tuple[Revision, ...] = ()  # The other visible heads.
    superseded_by: str = ""
    useful: int = 0  # Votes of writers.
    not_useful: int = 0
    forced: bool = False  # Its writer stored this text with `force`: no node judges it.
    linked: tuple[Linked, ...] = ()  # Both ends of its links. Only `get` fills them.
    linked_more: int = 0  # Count of further links to this memory, left out.
    notes: tuple[str, ...] = ()  # Parts of the memory too large to show, in words.
    shown: str = ""  # gist or tags when `content` is shortened for display, see policy/dynamics/forgetting.
    replaces: tuple[Replaced, ...] = ()  # Memories that it took the place of, the latest first. Not stored.
    older_than: tuple[str, ...] = ()  # Newer ones that contradict it while both stand: it may not hold. Not stored.
    may_be_replaced_by: tuple[str, ...] = ()  # Newer ones, on middling evidence: nobody has decided. Not stored.
    trust: str = ""  # Its class for the reader, one of TRUST_CLASSES, where it is told.
    stale: tuple[str, ...] = ()  # Files that it names and that are no longer as they were, in words.
    tied: bool = field(default=True, compare=False)  # False when it is known that no link begins or ends here.
    # When it came to this node, if that is later than `updated_at`, else 0. Each node has its own.
    arrived_at: int = field(default=0, compare=False)

    @property
    def anchor(self) -> str:
        """Why it is anchored, "" when it is not."""
        return self.attrs.get(ANCHOR, "") if self.tier == "pinned" else ""


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
    """The outcome of a write."""

    action: str  # One of kinds.ACTIONS.
    memory: Memory
    reason: str
    hint: str = ""  # The next step open to the writer.
    novelty: float | None = 1.0  # 1 - best neighbour similarity, in [0, 1]. None without an answer of the index.
    surprisal: float | None = None  # Of the novelty in its space, in bits. None without a sample of the space.
    novelty_reason: str = ""
    related: tuple[Related, ...] = ()
    deduplicated: bool = False
    restorable: bool = False
    replayed: bool = False
    indexed: bool = False  # Whether recall can see the memory already.
    triggered: tuple[str, ...] = ()  # Ids of the triggers that the text fired.


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories a reader asks for. Empty filters let everything through."""

    spaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    since: int | None = None  # Bounds created_at, as `before` does.
    before: int | None = None
    valid_at: int | None = None  # A time of the world.
    agent: str = ""
    session: str = ""
    window: Window | None = None  # Time of the event. Read from words, never given by a caller.
    trust: tuple[str, ...] = ()  # Some of TRUST_CLASSES.
    trusted: Trusted | None = None  # The same with its reader. Never given by a caller.
    hidden: tuple[Rule, ...] = ()  # Rules that leave memories out. Never given by a caller.
    knowledge: bool = False  # Without stored rules, which are no knowledge. Never given by a caller.


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(MemoryFilter):
    """A question that a reader hands to `recall`."""

    text: str
    limit: int = 10
    mode: str = "hybrid"
    as_of: int | None = None  # A time of the mesh.
    min_score: float = 0.0
    min_heat: float = 0.0
    token_budget: int | None = None
    include_superseded: bool = False
    include_archive: bool = False
    sort: str = "relevance"
    weights: Mapping[str, float] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    source_dir: str = ""
    explain: bool = False
    snippets_only: bool = False
    time_words: str = "prefer"
    time_zone: str = ""
    current_session: str = ""  # The session that asks.
    probe: bool = False  # No use, no firing.
    verify: bool = False  # Read the best results beside the question where an answer is in doubt.
    about: str = ""  # The text without its words of time, for coverage. "" when that is the whole text.
    asked_at: int | None = None  # The end of the past stretch that words name: what was superseded later stays.
    weighing: tuple[Rule, ...] = ()  # Rules that raise or lower scores. Never given by a caller.
    by_match_alone: bool = False  # A newer memory stays behind one that it contests. Never given by a caller.


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery(MemoryFilter):
    """A page of memories, newest first by default."""

    everywhere: bool = False  # All spaces that the caller may read.
    within: tuple[str, ...] | None = None  # These spaces as patterns, once checked.
    active_now: bool = False  # Otherwise a superseded memory that held at `valid_at` counts as active.
    state: str = "active"
    order: str = "newest"
    limit: int = 20
    cursor: str = ""  # The opaque token of the page before.


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing; `cursor` is "" on the last."""

    memories: tuple[Memory, ...]
    cursor: str
    total: int
    # Ids of memories of the same spaces that are damaged on disk and stand in no list.
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what the caller may see, by state; of active ones also by kind, tag, space, agent, frequent first."""

    memories: int
    forgotten: int
    superseded: int
    conflicted: int
    kinds: Mapping[str, int]
    tags: Mapping[str, int]
    spaces: Mapping[str, int]
    agents: Mapping[str, int]
    tags_total: int  # All tags, also beyond the listed. The same holds for spaces and agents.
    spaces_total: int
    agents_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The answer of `remember` to a draft, with the reason, when nothing is written."""

    action: str
    reason: str
    hint: str = ""  # The next step open to the writer.
    target_id: str = ""
    similarity: float = 0.0
    novelty: float = 1.0
    surprisal: float | None = None
    novelty_reason: str = ""
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStatus:
    """The durable log."""

    incarnation: str
    seq: int
    memories: int
    bytes: int
    replicas: tuple[LedgerReplica, ...] = ()  # Primary first, none for a log on one machine.
    state: str = "ok"  # ok, or the reason why the log is degraded.
    alarms: tuple[str, ...] = ()  # Incidents of the data, until a person acknowledges them.


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """One shard of the index."""

    name: str
    backend: str
    seq: int  # The last ledger entry held.
    lag: int  # Count of missing ledger entries.
    points: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshStatus:
    """The node as its operations see it. A door adds its own addresses."""

    state: str
    runtime: str
    node_id: str
    actors: tuple[ActorStatus, ...]
    ledger: LedgerStatus | None
    index: tuple[IndexStatus, ...]
    model: ModelStatus | None
    notices: tuple[str, ...] = ()
    reembed: ReembedStatus = field(default_factory=ReembedStatus)
    astrocytes: tuple[AstrocyteStatus, ...] = ()
    files: FileWatchStatus = field(default_factory=FileWatchStatus)
    consumers: tuple[ConsumerStatus, ...] = ()
