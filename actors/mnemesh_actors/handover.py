"""What commits hand over to the index beside the feed: new memories with their vectors, as pages of the feed.

A page says exactly what the ledger's feed would say; nothing is lost when it is not kept, because the feed says it too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from mnemesh_actors.ledger.commands import Command, Committed, Create, FeedPage
from mnemesh_actors.ledger.feed import FEED_BYTES_MAX
from mnemesh_memory.model import Memory


class Handover:
    """Pages on their way from the commits to the follower, in order; never more than one page of the feed may hold."""

    def __init__(self) -> None:
        self._pages: deque[FeedPage] = deque()
        self._bytes = 0

    def __iter__(self) -> Iterator[FeedPage]:
        return iter(self._pages)

    def keep(self, fresh: FeedPage, entries_max: int) -> None:
        """Keep a page until it is taken in; what would be more than `entries_max` entries, or more bytes than a page of
        the feed, is left to the feed."""
        size = sum(len(memory.content) for _, memory in fresh.memories) + sum(map(len, fresh.vectors.values()))
        entries = sum(len(page.memories) for page in (*self._pages, fresh))
        if entries <= entries_max and self._bytes + size <= FEED_BYTES_MAX:
            self._pages.append(fresh)
            self._bytes += size

    def after(self, seq: int) -> FeedPage | None:
        """Take out what follows right on `seq`, as one page; nothing else is of use, and none of it is kept."""
        memories: list[tuple[int, Memory]] = []
        vectors: dict[str, bytes] = {}
        while self._pages:
            page = self._pages.popleft()
            if page.memories[0][0] == seq + 1:
                memories += page.memories
                vectors |= page.vectors
                seq = page.seq
        self._bytes = 0
        return FeedPage(tuple(memories), vectors, seq, seq) if memories else None


def page_of(
    commands: Sequence[Command], results: Sequence[Committed | Exception], head: int, generation: str
) -> FeedPage | None:
    """What the ledger's feed would say after `head`, when new memories with their vectors account for all of it. None
    when their vectors are of another generation: the model was changed while they were on their way."""
    memories: list[tuple[int, Memory]] = []
    vectors: dict[str, bytes] = {}
    for command, result in zip(commands, results, strict=True):
        if not isinstance(result, Committed) or result.deduplicated or result.replayed:
            continue
        if not isinstance(command, Create) or result.seq != head + len(memories) + 1:
            return None
        if result.memory.source.session:
            return None  # the feed also says what stands before it there
        if command.vectors.items and command.vectors.generation != generation:
            return None
        memories.append((result.seq, result.memory))
        vectors.update(command.vectors.items)
    last = head + len(memories)
    return FeedPage(tuple(memories), vectors, last, last) if memories else None
