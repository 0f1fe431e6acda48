"""The load of the four writers: values from a seed, the same for every system in the comparison.

A write is either a new memory or a change of a shared memory. Its text is unlike every other, so a search finds it
wherever it went.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

WRITERS = 4
WRITES = 100
SHARED = 20
SPACE = "proof/lost-updates"


@dataclass(frozen=True, slots=True)
class Write:
    """The `number`th write of a writer. `shared` is which of the shared memories it changes, None for a new memory."""

    writer: int
    number: int
    text: str
    shared: int | None

    @property
    def key(self) -> str:
        """Of a repeated call: the same write, never stored twice."""
        return f"lost-updates-{self.writer}-{self.number}"


def plan(seed: int, writer: int) -> list[Write]:
    """WRITES writes, half of them changes, in an order that the seed decides."""
    chance = random.Random(f"{seed} {writer}")
    targets = [None] * (WRITES // 2) + [number % SHARED for number in range(WRITES - WRITES // 2)]
    chance.shuffle(targets)
    return [Write(writer, number, _text(chance, writer, number, of), of) for number, of in enumerate(targets)]


def first_text(seed: int, shared: int) -> str:
    """The text of a shared memory before any change."""
    return f"Runbook {shared} of {seed:x} has not been worked on yet."


def _text(chance: random.Random, writer: int, number: int, shared: int | None) -> str:
    subject = "An incident" if shared is None else f"Runbook {shared}"
    return f"{subject}, as writer {writer} notes under {number}: host {chance.getrandbits(64):016x} is drained first."
