"""The memories that a text may concern, as candidates of the write guard. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from mnemesh_memory.access.grants import OWNER, principal_of
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.policy.purposes import purpose_of
from mnemesh_memory.policy.rules import stored_rules, triggers
from mnemesh_memory.values.kinds import DEFAULT_KIND, TIERS
from mnemesh_memory.values.marks import TRUST_ATTR
from mnemesh_memory.values.memory_links import BOTH_HOLD
from mnemesh_memory.values.model import Caller, Draft, Memory


def candidates(
    caller: Caller, text: Draft | Memory, near: Mapping[str, float], known: Mapping[str, Memory], now: int
) -> list[guard.OlderText]:
    """The memories `near` a text that a caller writes `now`, each with its cosine. A linked memory stands, because the
    writer has said how the two belong together. So does a memory that had ended or has not begun, and the farther
    memory of a decided pair."""
    begins = now if text.valid_from is None else text.valid_from
    beside = {link.id for link in text.links}
    decided = frozenset[str]().union(*precedence.pairs(known.values(), BOTH_HOLD))
    beside |= precedence.settled((known[id_] for id_ in near if id_ in known), near)
    return [
        guard.OlderText(
            id=memory.id,
            text=memory.content,
            kind=memory.kind,
            cosine=min(1.0, cosine),
            replaceable=may_replace(caller, memory) and not _kept(memory),
            later=_later(memory, text, now),
            settled=memory.id in decided,
            heads=memory.heads,
            session=memory.source.session,
        )
        for memory, cosine in ((known[id_], cosine) for id_, cosine in near.items() if id_ in known)
        if memory.state == "active"
        and memory.space == text.space
        and purpose_of(memory) == purpose_of(text)
        and memory.id not in beside
        and not (memory.valid_to is not None and memory.valid_to <= begins)
        and not (memory.valid_from is not None and memory.valid_from > max(begins, now))
    ]


def may_replace(caller: Caller, memory: Memory) -> bool:
    """Whether a memory steps back for a caller without being named: the caller's principal began the memory, or the
    caller owns the node."""
    return caller.role == OWNER or principal_of(memory.by) == caller.principal


def says_no_more(memory: Memory, other: Memory) -> bool:
    """Whether a memory with the statement of another one may step back unnamed: nothing but its tags would be lost."""
    return (
        not _kept(memory)
        and memory.kind in (other.kind, DEFAULT_KIND)
        and TIERS.index(other.tier) <= TIERS.index(memory.tier)
        and (memory.valid_from, memory.valid_to) == (other.valid_from, other.valid_to)
        and set(memory.paths) <= set(other.paths)
        and all(other.attrs.get(name) == value for name, value in memory.attrs.items() if name != TRUST_ATTR)
    )


def _kept(memory: Memory) -> bool:
    """Whether a memory steps back only when somebody names it: a pinned memory, a trigger, a rule, and a memory in
    conflict. Of the last the guard has read a single version."""
    stated = triggers.TAG in memory.tags or stored_rules.TAG in memory.tags
    return memory.tier == "pinned" or stated or bool(memory.conflicts)


def _later(memory: Memory, text: Draft | Memory, now: int) -> bool:
    """Whether a memory is known to hold from later than a text, or the text does not hold now."""
    if (text.valid_to is not None and text.valid_to <= now) or (text.valid_from or 0) > now:
        return True
    if memory.valid_from is not None and text.valid_from is not None:
        return text.valid_from < memory.valid_from
    return text.created_at is not None and text.created_at < memory.created_at
