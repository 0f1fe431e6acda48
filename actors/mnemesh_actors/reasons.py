"""Asks the ledger why a recall is empty. Costs nothing while there is a result."""

from __future__ import annotations

from mnemesh_actors.runtime.base import Handle
from mnemesh_memory.answers import Recalled
from mnemesh_memory.emptiness import contradictions, leftovers, steps
from mnemesh_memory.model import Page, Query


async def why_empty(ledger: Handle, query: Query, answer: Recalled) -> tuple[str, ...]:
    """The filters that left nothing, each with its name first; () when there are results."""
    if answer.results:
        return ()
    if answer.truncated_by_budget:
        return (f"token_budget: the best result has more than {query.token_budget} tokens, even in part",)
    if found := contradictions(query):
        return found
    for reason, listing in steps(query):
        page: Page = await ledger.page(listing)
        if not page.total:
            return (reason,)
    return leftovers(query)
