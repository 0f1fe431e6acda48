"""What held in the world at a moment, of memories that replaced one another. Knows nothing of where they are kept.

Who replaces a memory without saying from when on holds from when that one ended; and until then it is the old one that
held. Both are read out of what the memories say, and nothing is written for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mnemesh_memory.model import Memory

SUPERSEDES: Final = "supersedes"


def beside(memories: Iterable[Memory]) -> set[str]:
    """Ids of what `memories` replaced and of what replaced them: by these `held` and `stood` judge."""
    named = {link.id for memory in memories for link in memory.links if link.type == SUPERSEDES}
    return named | {memory.superseded_by for memory in memories if memory.superseded_by}


def held(memory: Memory, moment: int, others: Mapping[str, Memory]) -> bool:
    """Whether what the memory says holds in the world at `moment` (ms). Its time is half-open, as an application-time
    period of SQL:2011 (Kulkarni and Michels, SIGMOD Record 41(3), 2012); an end that is missing is open, but for what
    replaced others: it begins when the last of them ended."""
    begun = _begun(memory, others)
    return (begun is None or begun <= moment) and (memory.valid_to is None or moment < memory.valid_to)


def stood(memory: Memory, moment: int, others: Mapping[str, Memory]) -> bool:
    """Whether it held, and nothing that replaced it did: who writes now that something else holds since then means
    that the old one was wrong."""
    if not held(memory, moment, others):
        return False
    later = others.get(memory.superseded_by)
    if later is None or later.space != memory.space or later.state == "forgotten":
        return True
    return not held(later, moment, others)


def _begun(memory: Memory, others: Mapping[str, Memory]) -> int | None:
    if memory.valid_from is not None:
        return memory.valid_from
    olds = (others.get(link.id) for link in memory.links if link.type == SUPERSEDES)
    ends = (old.valid_to for old in olds if old is not None and old.superseded_by and old.space == memory.space)
    return max((end for end in ends if end is not None), default=None)
