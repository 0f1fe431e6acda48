"""The right to erase a memory for good: the principal that began the memory may retract it, an admin may erase any.

The two are entries of two types, covered by their signatures, because their proofs differ. Each node with the memory
sees who began it, and checks a retraction there, whoever brings it. Nobody can check the word of an admin. That word is
believed only from streams that may relay for others. A later editor of the memory has no say. A second beginning by
somebody else would have one. The id of a memory names its beginner, so a second beginning exists only for older ids
(docs/decisions/ids-name-their-writer.md).
"""

from __future__ import annotations

from collections.abc import Set

from mnemesh_crdt.changes.envelope import ERASE, RETRACT, Entry, erase_hash
from mnemesh_crdt.document.shape import DocumentState
from mnemesh_memory.access.grants import PeerGrant, principal_of
from mnemesh_memory.values.errors import shorten


def begun_by(state: DocumentState) -> frozenset[str]:
    """The principals that began a memory: each of them wrote a revision without parents."""
    return frozenset(principal_of(revision.by) for revision in state.revisions.values() if not revision.parents)


def kind_of_erasure(agent: str, began: Set[str], *, as_admin: bool) -> str:
    """The type of the entry by which `agent` may erase a memory that `began` began, or "" for none. An admin retracts
    its own memory: every node believes a retraction, also where that principal is no admin."""
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
        return "only a peer that relays may bring an erasure by an admin; the first writer may retract a memory"
    return ""


def disputed(entry: Entry, began: Set[str]) -> str:
    """Why a memory that these principals `began`, as far as is known here, is not for the entry's agent to retract, or
    ""."""
    if entry.type != RETRACT or began <= {principal_of(entry.agent)}:
        return ""
    names = ", ".join(shorten(name) for name in sorted(began))
    return f"{shorten(entry.agent)} did not begin this memory alone, {names} did; its writer or an admin may erase it"
