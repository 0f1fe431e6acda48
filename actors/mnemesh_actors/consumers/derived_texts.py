"""The text of a purged memory goes from everything that was derived from it, here and after a peer's purge.

A promoted fact says a sentence of one of its sources. So the purge of a source erases the fact, too, whichever source
the sentence is of. The next consolidation may promote the other sources again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from mnemesh_actors.ledger.feeds.entry_feed import EntryPage
from mnemesh_actors.ledger.peers.erase import Erase
from mnemesh_actors.ports import LedgerPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.consolidation.steps import PROMOTED
from mnemesh_memory.values.errors import NotFound


async def erase_derived(ledger: Handle[LedgerPort], sources: Sequence[str], now: int) -> list[tuple[str, int]]:
    """Erase the facts that were promoted from purged memories, forgotten and superseded ones too. Ids of the facts,
    each with the entry of its erasure."""
    facts = dict.fromkeys(fact for _, fact in await ledger.derived(sources)) if sources else {}
    erased = []
    for memory in (await ledger.read(list(facts))).values() if facts else ():
        if PROMOTED not in memory.attrs:
            continue
        actor = hashlib.sha256(f"derived text {memory.id}".encode()).digest()[:16]
        try:
            gone = await ledger.erase(Erase(agent=memory.by, at=now, actor=actor, id=memory.id, as_admin=True))
        except NotFound:  # it went meanwhile
            continue
        erased.append((memory.id, gone.seq))
    return erased


class DerivedTexts:
    """A consumer that does so for every erasure in the log. `publish` tells the index how far the log is."""

    def __init__(self, ledger: Handle[LedgerPort], clock: Callable[[], int], publish: Callable[[int], None]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._publish = publish

    async def take(self, page: EntryPage) -> None:
        """Take in a page."""
        for _, seq in await erase_derived(self._ledger, page.erased, self._clock()):
            self._publish(seq)

    async def reset(self) -> None:
        """Nothing is kept."""
