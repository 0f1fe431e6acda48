"""What a ledger is asked to do, and what it answers: values only.

`actor` is 16 fresh random bytes a command. It is the Automerge actor of the change that the command writes, and so also
the operation's id: a command that arrives twice (a retried call) finds its change there and is answered from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mnemesh_memory.values.model import Draft, Link, Memory, Patch

# What may become of an entry that a peer brings.
COUNTED: Final = ("accepted", "duplicates", "held", "quarantined", "dropped", "erased")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Embeddings to keep with the write: (content hash in hex, float32 bytes) of one model generation; and the content
    hashes of texts that the write takes out of its memory."""

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
    """A new memory from a validated draft. `id` may be derived from an idempotency key, whose `mark` its first revision
    shows then; `spare_id`, made for `actor`, is used when that id is taken. `fingerprint` identifies the whole request.
    `visible` are patterns of the spaces beside the draft's own in which what it supersedes may be known to exist."""

    draft: Draft
    id: str
    spare_id: str
    duplicate_key: str
    fingerprint: bytes
    vectors: Vectors = Vectors()
    visible: tuple[str, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise(Command):
    """A new revision from a validated patch; `duplicate_key` is that of the new content, "" when it stays."""

    id: str
    patch: Patch
    duplicate_key: str
    fingerprint: bytes
    vectors: Vectors = Vectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Command):
    """Soft deletion."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Command):
    """Undo of a soft deletion, or of a replacement by what is not to be found any more."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Command):
    """Say again what revision `to` said. Refused unless the heads are still `expected_heads`."""

    id: str
    to: str
    expected_heads: tuple[str, ...]
    vectors: Vectors = Vectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve(Command):
    """End a conflict with head `keep`; `content`, unless None, is said instead of its text. Refused unless the heads
    are still `expected_heads`."""

    id: str
    keep: str
    content: str | None
    expected_heads: tuple[str, ...]
    vectors: Vectors = Vectors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie(Command):
    """Put a link of memory `id`, or take it away."""

    id: str
    link: Link
    put: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Command):
    """Say whether memory `id` was useful. `cited`: an answer named it, which counts unless its writer has voted."""

    id: str
    useful: bool
    cited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What was written, durably. When nothing had to be, `seq` is that of the memory's last entry, and a replay gives
    the last number of the log: a write from before may still be on its way into the index."""

    action: str
    memory: Memory
    reason: str
    seq: int
    deduplicated: bool = False
    restorable: bool = False
    replayed: bool = False
    superseded: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """What `prepare` checks for one draft before anything is embedded. `touch`: a duplicate reinforces the memory that
    is there, as a write does and a mere question does not."""

    agent: str
    space: str
    duplicate_key: str
    idempotency_key: str
    fingerprint: bytes
    force: bool
    at: int
    touch: bool = True


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Memories changed after a cursor, in ledger order, with the cached vectors of their texts by content hash, the ids
    of those that are gone for good, and what the memories just before one in its session say, oldest first, by its
    id."""

    memories: tuple[tuple[int, Memory], ...]
    vectors: dict[str, bytes]
    seq: int
    head: int
    removed: tuple[str, ...] = ()
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """What became of a batch. `seq` is the cursor that is durable now; `first` and `last` are the numbers of what was
    appended, 0 for nothing. `full`: some had to wait and no more may; the cursor stays, send them again later.
    `brought_memories` and `brought_bytes` are all that its sender has brought, 0 where that is not new."""

    seq: int = 0
    accepted: int = 0
    duplicates: int = 0
    held: int = 0
    quarantined: int = 0
    dropped: int = 0
    erased: int = 0
    full: bool = False
    first: int = 0
    last: int = 0
    brought_memories: int = 0
    brought_bytes: int = 0

    def and_then(self, later: TakenIn) -> TakenIn:
        """Both together, without a cursor."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in COUNTED}
        first = self.first or later.first
        return TakenIn(**sums, full=self.full or later.full, first=first, last=max(self.last, later.last))


def action_of(command: Command) -> str:
    """What `command` did when it wrote something."""
    if isinstance(command, Create):
        return "SUPERSEDE" if command.draft.supersedes else "ADD"
    if isinstance(command, Tie):
        return "LINK" if command.put else "UNLINK"
    return {
        Rate: "RATE",
        Revise: "UPDATE",
        Forget: "FORGET",
        Restore: "RESTORE",
        Rollback: "ROLLBACK",
        Resolve: "RESOLVE",
    }[type(command)]
