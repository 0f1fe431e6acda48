"""`python -m bench.maps.topics`: whether the topics of a space are those that were planted.

Planted topics are the groups of tests/data/sleep (texts on one event) and the topics of tests/data/project with at
least MEMORIES_MIN memories. Normalised mutual information (NMI, arithmetic mean) compares these with the topics of each
level.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Final

from bench.consolidation.sleep import groups
from bench.texts.corpora import PROJECT, rows_of
from bench.texts.embedding_cache import EmbeddingCache
from rich.console import Console
from rich.table import Table

from mnemesh_memory.maps.answers import LEVELS
from mnemesh_memory.maps.clusters import atlas

MEMORIES_MIN: Final = 6
PLANTED: Final = ("consistent", "inconsistent", "duplicates")


def nmi(labels: Sequence[Hashable], others: Sequence[Hashable]) -> float:
    """The normalised mutual information of two divisions of the same things, 0 to 1."""
    total = len(labels)

    def entropy(of: Sequence[Hashable]) -> float:
        return -sum(count / total * math.log(count / total) for count in Counter(of).values())

    one, other = entropy(labels), entropy(others)
    both = entropy(list(zip(labels, others, strict=True)))
    return 2 * (one + other - both) / (one + other) if one + other else 1.0


def planted() -> dict[str, list[tuple[str, str]]]:
    """(topic, text) by corpus."""
    project = rows_of(PROJECT / "memories.jsonl")
    counted = Counter(row["topic"] for row in project)
    return {
        "groups of sleep": [
            (group["group"], text) for file in PLANTED for group in groups(file) for text in group["texts"]
        ],
        "topics of the project": [
            (row["topic"], row["content"]) for row in project if counted[row["topic"]] >= MEMORIES_MIN
        ],
    }


def main() -> None:
    """A row for each corpus and level."""
    table = Table("planted", "memories", "topics", "level", "found", "NMI")
    with tempfile.TemporaryDirectory() as folder:
        embedded = EmbeddingCache(Path(folder) / "vectors.npz")
        for name, told in planted().items():
            texts = [text for _, text in told]
            whole = atlas([f"{number:06d}" for number in range(len(told))], texts, embedded.of(texts))
            for level in LEVELS:
                nodes = whole.topics[level]
                place = {int(row): number for number, rows in enumerate(nodes) for row in rows}
                score = nmi([topic for topic, _ in told], [place[row] for row in range(len(told))])
                counts = (len(told), len({topic for topic, _ in told}), level, len(nodes))
                table.add_row(name, *map(str, counts), f"{score:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
