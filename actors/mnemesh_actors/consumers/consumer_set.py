"""The consumers of a node whose rows say how to make them: started, moved, shown and stopped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemesh_actors.consumers.consumer import ConsumerRunner
from mnemesh_actors.consumers.consumer_table import CONSUMERS, ConsumerParts, ConsumerRow
from mnemesh_actors.consumers.feed_loop import FeedLoop
from mnemesh_actors.runtime.bell import News
from mnemesh_actors.runtime.budget import Budget, Foreground
from mnemesh_memory.values.model_status import ConsumerStatus


class ConsumerSet:
    """All of `rows` that say how to make them."""

    def __init__(
        self,
        parts: ConsumerParts,
        news: News,
        foreground: Foreground,
        notice: Callable[[str], None],
        rows: Sequence[ConsumerRow] = CONSUMERS,
    ) -> None:
        self.runners = tuple(
            ConsumerRunner(
                row.name, row.make(parts), parts.ledger, news, notice, row.page_entries, Budget(foreground, row.share)
            )
            for row in rows
            if row.make is not None
        )

    def start(self) -> None:
        """Begin to follow."""
        for runner in self.runners:
            runner.start()

    def move(self, incarnation: str, head: int, known: Callable[[int], int]) -> None:
        """Another ledger goes on; see ConsumerRunner.move."""
        for runner in self.runners:
            runner.move(incarnation, head, known)

    def status(self) -> list[ConsumerStatus]:
        """How far each one is."""
        return [status_of(runner.name, runner) for runner in self.runners]

    async def close(self) -> None:
        """Stop; the next start goes on from the cursors."""
        for runner in self.runners:
            await runner.close()


def status_of(name: str, loop: FeedLoop) -> ConsumerStatus:
    """How far the consumer is."""
    return ConsumerStatus(name=name, seq=loop.applied, lag=loop.lag, state=loop.fault or "ok")
