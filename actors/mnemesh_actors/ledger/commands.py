"""Requests to a ledger, and its answers: values only.

`actor` is 16 fresh random bytes a command. The change of the command has these bytes as Automerge actor, so they are
also the operation's id. A command that arrives twice (a retried call) finds its change and is answered from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemesh_memory.policy.judge.guard import Verdict
from mnemesh_memory.policy.purposes import KNOWLEDGE
from mnemesh_memory.values.model import Draft, Link, Memory, Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVectors:
    """Embeddings to keep with the write: (content hash in hex, float32 bytes) of one model generation, and the content
    hashes of texts that the write removes."""

    generation: str = ""
    items: tuple[tuple[str, bytes], ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Common to all: who, when (ms), and the operation's id."""

    agent: str
    at: int
    actor: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(Command):
    """A new memory from a validated draft. `id` may be derived from an idempotency key, whose `mark` the first revision
    then shows. `spare_id`, made for `actor`, is used when `id` is taken. `fingerprint` identifies the whole request.
    `visible` are patterns of further spaces whose memories the writer may know, for `supersedes`."""

    draft: Draft
    id: str
    spare_id: str
    duplicate_key: str
    fingerprint: bytes
    vectors: KeptVectors = KeptVectors()
    visible: tuple[str, ...] = ()
    mark: str = ""
    verdict: Verdict | None = None  # Of the write guard. It holds for memories that have the heads it was made on.
    postponed: str = ""  # The role of the writer when the write guard judges the memory at rest.

    @property
    def names_others(self) -> bool:
        """Whether its change depends on how other memories stand by the commit."""
        named = self.verdict and (self.verdict.contradicts or self.verdict.marked)
        return bool(self.replaces or named)

    @property
    def replaces(self) -> bool:
        """Whether other memories may step back for it."""
        return bool(self.draft.supersedes or (self.verdict and self.verdict.supersedes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise(Command):
    """A new revision from a validated patch. `duplicate_key` is that of the new content, "" when it stays."""

    id: str
    patch: Patch
    duplicate_key: str
    fingerprint: bytes
    vectors: KeptVectors = KeptVectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Command):
    """Soft deletion."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Command):
    """Undo of a soft deletion, or of a replacement: the successor stands beside it, where it is there."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Command):
    """Say again what revision `to` said. Refused unless the heads are still `expected_heads`."""

    id: str
    to: str
    expected_heads: tuple[str, ...]
    vectors: KeptVectors = KeptVectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve(Command):
    """End a conflict with head `keep`. `content`, unless None, is said instead of its text. Refused unless the heads
    are still `expected_heads`."""

    id: str
    keep: str
    content: str | None
    expected_heads: tuple[str, ...]
    vectors: KeptVectors = KeptVectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(Command):
    """End the contradiction between the memories `id` and `other`: `keep` holds and replaces the other one; "" when
    both hold."""

    id: str
    other: str
    keep: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Command):
    """Carry out the verdict of the write guard on memory `id`, which was written without one. Refused unless `heads`
    are still its heads."""

    id: str
    heads: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie(Command):
    """Put a link of memory `id`, or take it away. With `heads`, refused unless they are still its heads."""

    id: str
    link: Link
    put: bool
    heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorb(Command):
    """Memory `id` takes the place of the active ones among `others`, and gets the `tags` that it lacks. Refused unless
    each memory of `heads` still has these."""

    id: str
    others: tuple[str, ...]
    tags: tuple[str, ...] = ()
    heads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Command):
    """Undo of an Absorb: each of `others` stands for itself again, and memory `id` loses the `tags`."""

    id: str
    others: tuple[str, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Command):
    """Put a tag on memory `id` without a revision."""

    id: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Command):
    """Say whether memory `id` was useful. `cited`: an answer named the memory, which counts unless the writer has
    voted."""

    id: str
    useful: bool
    cited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The outcome of a command, durable. Without a write, `seq` is the number of the memory's last entry. A replay
    gives the last number of the log, because a write from before may still be on its way into the index."""

    action: str
    memory: Memory
    reason: str
    seq: int
    deduplicated: bool = False
    restorable: bool = False
    replayed: bool = False
    superseded: tuple[Memory, ...] = ()
    hint: str = ""  # The call that undoes it, where a verdict may be wrong.


@dataclass(frozen=True, slots=True)
class Lookup:
    """One draft for `prepare`, which checks it before anything is embedded. `touch`: a duplicate reinforces the memory
    that is there, as a write does and a mere question does not."""

    agent: str
    space: str
    duplicate_key: str
    idempotency_key: str
    fingerprint: bytes
    force: bool
    at: int
    touch: bool = True
    kind: str = ""
    session: str = ""
    purpose: str = KNOWLEDGE


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Memories changed after a cursor, in ledger order, with the cached vectors of their texts by content hash.
    `removed` are ids of erased memories. `before` holds, by id, the texts of the memories just before one in its
    session, oldest first."""

    memories: tuple[tuple[int, Memory], ...]
    vectors: dict[str, bytes]
    seq: int
    head: int
    removed: tuple[str, ...] = ()
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def action_of(command: Command) -> str:
    """The name of the action that `command` carries out."""
    if isinstance(command, Create):
        return "SUPERSEDE" if command.replaces else "ADD"
    if isinstance(command, Tie):
        return "LINK" if command.put else "UNLINK"
    if isinstance(command, Judge):
        return "SUPERSEDE" if command.verdict.supersedes else "LINK"
    return {
        Absorb: "SUPERSEDE",
        Part: "RESTORE",
        Rate: "RATE",
        Mark: "MARK",
        Revise: "UPDATE",
        Forget: "FORGET",
        Restore: "RESTORE",
        Rollback: "ROLLBACK",
        Resolve: "RESOLVE",
        Decide: "RESOLVE",
    }[type(command)]
