"""Reading a copy of the ledger, wherever its actor lives: begun, waited for, and fetched piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mnemesh_actors.ledger.backup.snapshot import Copied
from mnemesh_actors.ports import LedgerCopies
from mnemesh_actors.runtime.base import Handle

PIECE_BYTES = 1024 * 1024
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class LedgerCopy:
    """A finished copy: its description, and its bytes by `pieces`."""

    copied: Copied
    _ledger: Handle[LedgerCopies]

    async def pieces(self) -> AsyncIterator[bytes]:
        """The file of the copy from its beginning to its end. Ends early when the ledger lost it."""
        offset = 0
        while offset < self.copied.bytes:
            piece = await self._ledger.copy_read(offset, PIECE_BYTES)
            if not piece:
                return
            yield piece
            offset += len(piece)


@asynccontextmanager
async def ledger_copy(ledger: Handle[LedgerCopies]) -> AsyncIterator[LedgerCopy]:
    """A copy of the ledger as it is now; it is deleted at the end. Writes go on. Raises Aborted while another one is
    made, Unavailable or DataLoss when it can not be made."""
    await ledger.copy_start()
    try:
        # It may live in another process, and an actor has no way to call back.
        while (copied := await ledger.copied()) is None:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
        yield LedgerCopy(copied, ledger)
    finally:
        await ledger.copy_end()
