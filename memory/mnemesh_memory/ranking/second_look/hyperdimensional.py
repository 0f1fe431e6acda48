"""The known properties of a memory as one binary vector: role-filler pairs, bound and bundled.

P. Kanerva, "Hyperdimensional Computing", Cognitive Computation 1, 2009, doi:10.1007/s12559-009-9009-8; binary spatter
codes. An atom is BITS bits made of a name alone, so it is the same in every process and on every node. Binding is XOR,
a bundle is the majority of each bit, likeness is 1 - 2 * Hamming distance / BITS: 1 for the same, about 0 for what has
nothing in common, with a standard deviation of 1 / sqrt(BITS) = .01.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 10_000
ATOMS_KEPT: Final = 4096  # 1,250 bytes each
Vector = NDArray[np.uint8]
Pair = tuple[str, str]  # role and filler


@lru_cache(maxsize=ATOMS_KEPT)
def atom(name: str) -> Vector:
    """BITS bits, packed (BITS / 8,), which look like chance and depend on the name alone."""
    drawn = np.frombuffer(hashlib.shake_256(name.encode("utf-8", "surrogatepass")).digest(BITS // 8), dtype=np.uint8)
    drawn.setflags(write=False)
    return drawn


def bound(role: str, filler: str) -> Vector:
    """A pair as one vector, unlike both of its parts."""
    return atom(f"role {role}") ^ atom(f"filler {filler}")


def bundled(pairs: Iterable[Pair]) -> Vector:
    """One vector that is like each of the pairs; of an even number a fixed atom breaks the ties. Equal sets of pairs
    give equal vectors. Without a pair it is an atom that resembles nothing."""
    parts = [bound(role, filler) for role, filler in sorted(set(pairs))]
    if len(parts) % 2 == 0:
        parts.append(atom("nothing"))
    votes = np.unpackbits(np.stack(parts), axis=1).sum(axis=0, dtype=np.uint16)
    return np.packbits(votes * 2 > len(parts))


def likeness(one: Vector, others: Sequence[Vector]) -> NDArray[np.float64]:
    """How like each of the others is to one, (n,) in [-1, 1]."""
    if not others:
        return np.zeros(0)
    differing = np.bitwise_count(np.stack(others) ^ one).sum(axis=1, dtype=np.int64)
    return np.asarray(1.0 - 2.0 * differing / BITS)
