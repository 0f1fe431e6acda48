"""Who may erase a memory for good: whoever began it may retract it, and an admin may erase any.

The two are entries of two types, which their signatures cover, because they are believed for different reasons. Each
node that has the memory sees for itself who began it, so a retraction is checked there, whoever brings it; what nobody
can check, an admin's word, is believed of streams alone that may relay what others say. Who edited a memory after it
began has no say in it. A second beginning by somebody else would have; the id of a memory names who begins it, so that
there is none but for ids of before (docs/decisions/ids-name-their-writer.md).
"""

from __future__ import annotations

from collections.abc import Set

from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry, erase_hash
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.access.grants import PeerGrant, principal_of
from mnemesh_memory.values.errors import shorten


def begun_by(state: DocumentState) -> frozenset[str]:
    """The principals that began a memory: each of them wrote a revision without parents."""
    return frozenset(principal_of(one.by) for one in state.revisions.values() if not one.parents)


def kind_of_erasure(agent: str, began: Set[str], *, as_admin: bool) -> str:
    """The type of the entry by which `agent` may erase a memory that `began` began, or "" for none. What an admin
    began itself it retracts: that is believed of it everywhere, also where it is nobody's admin."""
    if began == {principal_of(agent)}:
        return RETRACT
    return ERASE if as_admin else ""


def misshapen(entry: Entry) -> str:
    """Why this is no erasure that Mnemesh writes, or ""."""
    wanted = erase_hash(entry.type, entry.doc, entry.space, entry.agent, entry.node)
    return "it is no erasure that Mnemesh writes" if entry.raw or entry.hash != wanted else ""


def not_granted(entry: Entry, grant: PeerGrant) -> str:
    """Why a stream with `grant` may not bring this erasure, whatever it erases, or ""."""
    if entry.type == ERASE and not grant.relay:
        return "only a peer that relays may bring what an admin erased; who began a memory may retract it"
    return ""


def disputed(entry: Entry, began: Set[str]) -> str:
    """Why a memory that these principals `began`, as far as is known here, is not for the entry's agent to retract, or
    ""."""
    if entry.type != RETRACT or began <= {principal_of(entry.agent)}:
        return ""
    names = ", ".join(shorten(one) for one in sorted(began))
    return f"{shorten(entry.agent)} did not begin this memory alone, {names} did; its writer or an admin may erase it"
