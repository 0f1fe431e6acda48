"""Which of several memories held in the world at a moment, when some replaced others. Knows nothing of storage.

A successor without a `valid_from` holds from the end of its predecessor, and until then the predecessor held. Both
moments are read from the memories, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from mnemesh_memory.values.model import Memory

SUPERSEDES: Final = "supersedes"


def replaced(memories: Iterable[Memory]) -> set[str]:
    """Ids of what `memories` replaced: by these `held` judges."""
    return {link.id for memory in memories for link in memory.links if link.type == SUPERSEDES}


def successors(memory: Memory, others: Mapping[str, Memory]) -> Iterator[Memory]:
    """The successor of a memory, the successor of the successor, and so on, as far as `others` has them."""
    walked = {memory.id}
    here = others.get(memory.superseded_by)
    while here is not None and here.space == memory.space and here.id not in walked:
        walked.add(here.id)
        yield here
        here = others.get(here.superseded_by)


def stood_instead(memories: Iterable[Memory], moment: int, others: Mapping[str, Memory]) -> dict[str, Memory]:
    """The last successor that held at the moment and is not forgotten, by the id of each of `memories` that has such. A
    successor written later with an earlier beginning means that the old memory was wrong. A chain is walked once for
    all its members."""
    instead: dict[str, Memory] = {}
    known: dict[str, Memory | None] = {}  # the same of all that were walked, but in a circle, where each has its own
    for memory in memories:
        way, last = [memory], known.get(memory.id)
        for later in () if memory.id in known else successors(memory, others):
            way.append(later)
            if later.id in known:
                last = known[later.id]
                break
        walked = {way[-1].id: last}
        for earlier, following in reversed(list(pairwise(way))):
            if last is None and following.state != "forgotten" and held(following, moment, others):
                last = following
            walked[earlier.id] = last
        if way[-1].superseded_by not in walked:
            known |= walked
        if last is not None:
            instead[memory.id] = last
    return instead


def held(memory: Memory, moment: int, others: Mapping[str, Memory]) -> bool:
    """Whether the statement of a memory holds in the world at `moment` (ms). The time is half-open, as an
    application-time period of SQL:2011 (Kulkarni and Michels, SIGMOD Record 41(3), 2012). A missing end is open, with
    one exception: a successor without a beginning begins at the end of its last predecessor."""
    begun = _begun(memory, others)
    return (begun is None or begun <= moment) and (memory.valid_to is None or moment < memory.valid_to)


def _begun(memory: Memory, others: Mapping[str, Memory]) -> int | None:
    if memory.valid_from is not None:
        return memory.valid_from
    olds = (others.get(link.id) for link in memory.links if link.type == SUPERSEDES)
    ends = (old.valid_to for old in olds if old is not None and old.superseded_by and old.space == memory.space)
    return max((end for end in ends if end is not None), default=None)
