"""Topics of a space at three scales: a tree by bisecting spherical k-means, cut at three degrees of likeness. Pure.

Source: Steinbach, Karypis and Kumar 2000 for bisecting k-means, Dhillon and Modha 2001 for its spherical form. The
same vectors give the same tree in any order. A topic is named by the memory in its middle (medoid), so that it keeps
its id while this memory stays in the middle. A label is the terms that its texts hold more than others do (class-based
TF-IDF, Grootendorst 2022).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.maps.answers import EXAMPLES_MAX, LEVELS, Cluster
from mnemesh_memory.text.text import content_words, title_of

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]
# A node of the tree is a topic of a level once the mean cosine between its halves (average linkage) reaches this.
LIKENESS: Final[Mapping[int, float]] = {1: 0.15, 2: 0.3, 3: 0.45}
LEAF_MEMORIES: Final = 2  # A smaller node is not divided.
STEPS_MAX: Final = 20
TERMS_MAX: Final = 3
ID_CHARS: Final = 12
LABEL_TEXTS_MAX: Final = 200


@dataclass(slots=True)
class Node:
    """Rows that belong together, and their two halves, if divided. `likeness`: mean cosine between the halves."""

    rows: Rows
    likeness: float = 1.0
    halves: list[Node] = field(default_factory=list)


def tree(vectors: Vectors) -> Node | None:
    """The tree over unit vectors of shape (n, d), divided until the finest level. None without any."""
    if not len(vectors):
        return None
    root = Node(np.arange(len(vectors)))
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if len(node.rows) < LEAF_MEMORIES:
            continue
        left, right = _halves(vectors, node.rows)
        # The mean of all cosines between two groups of unit vectors is the product of their means.
        node.likeness = float(vectors[left].mean(axis=0) @ vectors[right].mean(axis=0))
        if node.likeness < LIKENESS[LEVELS[-1]]:
            node.halves = [Node(left), Node(right)]
            open_nodes += node.halves
    return root


def cut(node: Node, level: int) -> Iterator[Node]:
    """The topics of a level: the first nodes from the root that are alike enough, and leaves."""
    if not node.halves or node.likeness >= LIKENESS[level]:
        yield node
        return
    for half in node.halves:
        yield from cut(half, level)


def medoid(vectors: Vectors, rows: Rows, ids: Sequence[str]) -> int:
    """The row nearest to the centre; of equally near ones that with the lowest id."""
    near = vectors[rows] @ _centre(vectors[rows])
    best = float(near.max())
    return min((int(row) for row, cosine in zip(rows, near, strict=True) if cosine >= best - 1e-6), key=ids.__getitem__)


def cluster_id(level: int, middle: str) -> str:
    """The id of the topic of a level around the memory `middle`."""
    return f"t{level}-{hashlib.sha256(f'{level}|{middle}'.encode()).hexdigest()[:ID_CHARS]}"


def typical(vectors: Vectors, node: Node) -> list[int]:
    """The rows of a topic, the most typical first."""
    near = vectors[node.rows] @ _centre(vectors[node.rows])
    return [int(row) for row in node.rows[np.argsort(-near, kind="stable")]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """The memories of some spaces with their tree. `frequency` counts the texts that hold a term."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: Vectors
    root: Node | None
    frequency: Mapping[str, int]

    def topics(self, level: int) -> list[Node]:
        """The topics of a level, the largest first."""
        nodes = list(cut(self.root, level)) if self.root is not None else []
        return sorted(nodes, key=lambda node: (-len(node.rows), int(node.rows[0])))

    def within(self, node: Node, level: int) -> list[Node]:
        """The topics of a finer level within a topic."""
        return list(cut(node, level))

    def cluster(self, node: Node, level: int, score: float = 0.0) -> Cluster:
        """A topic as an answer."""
        rows = typical(self.vectors, node)
        middle = medoid(self.vectors, node.rows, self.ids)
        return Cluster(
            id=cluster_id(level, self.ids[middle]),
            level=level,
            label=self.label(rows),
            size=len(rows),
            memories=tuple(self.ids[row] for row in rows[:EXAMPLES_MAX]),
            examples=tuple(title_of(self.texts[row]) for row in rows[:EXAMPLES_MAX]),
            score=score,
        )

    def label(self, rows: Sequence[int]) -> str:
        """The terms that the texts of `rows` hold more often than the texts of all."""
        looked_at = rows[:LABEL_TEXTS_MAX]
        counted = Counter(word for row in looked_at for word in set(content_words(self.texts[row])))
        total = len(self.ids)

        def weight(word: str) -> tuple[float, str]:
            share = counted[word] / len(looked_at)
            return -share * math.log(1 + total / self.frequency.get(word, 1)), word

        return ", ".join(sorted(counted, key=weight)[:TERMS_MAX])

    def find(self, id_: str) -> tuple[Node, int] | None:
        """The topic with this id and its level."""
        for level in LEVELS:
            if id_.startswith(f"t{level}-"):
                for node in self.topics(level):
                    if cluster_id(level, self.ids[medoid(self.vectors, node.rows, self.ids)]) == id_:
                        return node, level
        return None


def atlas(ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> Atlas:
    """The tree over memories in any order. `vectors` are unit vectors of shape (n, d)."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    ordered = np.ascontiguousarray(vectors[order]) if order else vectors
    kept = tuple(texts[row] for row in order)
    return Atlas(
        ids=tuple(ids[row] for row in order),
        texts=kept,
        vectors=ordered,
        root=tree(ordered),
        frequency=Counter(word for text in kept for word in set(content_words(text))),
    )


def _centre(vectors: Vectors) -> Vectors:
    mean: Vectors = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / np.float32(length) if length > 0 else mean


def _halves(vectors: Vectors, rows: Rows) -> tuple[Rows, Rows]:
    """Two halves, begun at the row farthest from the centre and the row farthest from that one."""
    inside = vectors[rows]
    first = inside[int((inside @ _centre(inside)).argmin())]
    second = inside[int((inside @ first).argmin())]
    left = inside @ first >= inside @ second
    for _ in range(STEPS_MAX):
        if left.all() or not left.any():
            break
        again = inside @ _centre(inside[left]) >= inside @ _centre(inside[~left])
        if (again == left).all():
            break
        left = again
    if left.all() or not left.any():  # all alike: any division is as good
        left = np.arange(len(rows)) < len(rows) // 2
    return rows[left], rows[~left]
