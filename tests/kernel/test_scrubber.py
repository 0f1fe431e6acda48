"""The scrub in the background: it reaches every memory, and a failing ledger does not end it with a bug."""

from __future__ import annotations

import asyncio

from mnemesh_actors.replication.scrubber import Scrubber
from mnemesh_memory.values.errors import Unavailable

WAIT_S = 10.0


class Ledger:
    """Holds ids; notes which were looked at, and fails at `fails_at`."""

    def __init__(self, ids: list[str], fails_at: str = "") -> None:
        self.ids = ids
        self.fails_at = fails_at
        self.seen: list[str] = []

    async def scrub(self, after: str, limit: int) -> str:
        found = [id_ for id_ in self.ids if id_ > after][:limit]
        if self.fails_at in found:
            raise Unavailable("the disk failed", part="ledger")
        self.seen += found
        return found[-1] if len(found) == limit else ""


async def one_pass(ledger: Ledger) -> None:
    scrubber = Scrubber(ledger, first_after_s=0, step_every_s=0).start()  # type: ignore[arg-type]
    try:
        await asyncio.wait_for(scrubber.passes.acquire(), WAIT_S)
    finally:
        await scrubber.close()


def test_one_pass_looks_at_every_memory_once() -> None:
    ledger = Ledger([f"{number:03}" for number in range(30)])
    asyncio.run(one_pass(ledger))
    assert ledger.seen == ledger.ids


def test_a_pass_that_meets_a_failing_disk_ends_and_is_tried_again_later() -> None:
    ledger = Ledger([f"{number:03}" for number in range(30)], fails_at="013")
    asyncio.run(one_pass(ledger))
    assert ledger.seen == ledger.ids[:12]
