"""Topics of a space at three scales: average linkage, cut at three degrees of likeness. Pure.

Source: Sokal and Michener 1958 for the linkage, Murtagh 1983 for the chains of nearest neighbours. A large space is
divided into groups before, by bisecting spherical k-means (Steinbach, Karypis and Kumar 2000; Dhillon and Modha
2001). The same vectors give the same topics in any order. A topic is named by the memory in its middle (medoid), so
that it keeps its id while this memory stays in the middle. A label is the terms that its texts hold more than others
do (class-based TF-IDF, Grootendorst 2022).
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.maps.answers import EXAMPLES_MAX, LEVELS, Cluster
from mnemesh_memory.text.text import content_words, title_of

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]
# Two groups are one topic of a level while the mean cosine between their memories is at least this.
LIKENESS: Final[Mapping[int, float]] = {1: 0.2, 2: 0.3, 3: 0.45}
GRAINS_MAX: Final = 4_000  # Groups that the linkage begins with: a matrix of 64 MB.
STEPS_MAX: Final = 20
TERMS_MAX: Final = 3
ID_CHARS: Final = 12
LABEL_TEXTS_MAX: Final = 200


def topics(vectors: Vectors) -> dict[int, list[Rows]]:
    """By level the topics over unit vectors of shape (n, d), the largest first. A topic of a finer level lies wholly in
    a topic of each coarser level."""
    if not len(vectors):
        return {level: [] for level in LEVELS}
    grains = _grains(vectors)
    merges = _merges(np.stack([vectors[rows].mean(axis=0) for rows in grains]), [len(rows) for rows in grains])
    return {level: _joined(grains, merges, LIKENESS[level]) for level in LEVELS}


def _grains(vectors: Vectors) -> list[Rows]:
    """At most GRAINS_MAX groups of rows: each row alone, or else the largest group is halved again and again."""
    if len(vectors) <= GRAINS_MAX:
        return [np.array([row]) for row in range(len(vectors))]
    heap = [(-len(vectors), 0, np.arange(len(vectors)))]  # the number of a group decides between two of one size
    for number in range(1, 2 * GRAINS_MAX - 1, 2):
        halves = _halves(vectors, heapq.heappop(heap)[2])
        for place, rows in enumerate(halves):
            heapq.heappush(heap, (-len(rows), number + place, rows))
    return [rows for _, _, rows in sorted(heap, key=lambda grain: grain[1])]


def _merges(means: Vectors, sizes: Sequence[int]) -> list[tuple[float, int, int]]:
    """(likeness, group, other) of each merge of the average linkage, by chains of nearest neighbours. The merge leaves
    its group under the number of `other`."""
    count = len(means)
    like = means @ means.T  # the mean of all cosines between two groups is the product of their means
    like = np.maximum(like, like.T)  # a product of matrices may round the two halves differently
    np.fill_diagonal(like, -np.inf)
    weight = np.array(sizes, dtype=np.float32)
    left, chain, merges = set(range(count)), list[int](), list[tuple[float, int, int]]()
    while len(left) > 1:
        if not chain:
            chain.append(min(left))
        top = chain[-1]
        nearest = int(like[top].argmax())
        if len(chain) > 1 and like[top, nearest] <= like[top, chain[-2]]:
            nearest = chain[-2]
        if len(chain) < 2 or nearest != chain[-2]:
            if nearest in chain:  # a mean that was rounded up
                del chain[chain.index(nearest) + 1 :]
            else:
                chain.append(nearest)
            continue
        del chain[-2:]
        merges.append((float(like[top, nearest]), top, nearest))
        row = (weight[top] * like[top] + weight[nearest] * like[nearest]) / (weight[top] + weight[nearest])
        like[nearest] = like[:, nearest] = row
        like[top] = like[:, top] = -np.inf
        like[nearest, nearest] = -np.inf
        weight[nearest] += weight[top]
        left.discard(top)
    return merges


def _joined(grains: Sequence[Rows], merges: Sequence[tuple[float, int, int]], least: float) -> list[Rows]:
    """The groups after all merges with at least this likeness."""
    parent = list(range(len(grains)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for likeness, one, other in merges:
        if likeness >= least:
            parent[root(one)] = root(other)
    members: dict[int, list[Rows]] = {}
    for number, rows in enumerate(grains):
        members.setdefault(root(number), []).append(rows)
    groups = [np.sort(np.concatenate(parts)) for parts in members.values()]
    return sorted(groups, key=lambda rows: (-len(rows), int(rows[0])))


def medoid(vectors: Vectors, rows: Rows, ids: Sequence[str]) -> int:
    """The row nearest to the centre; of equally near ones that with the lowest id."""
    near = vectors[rows] @ _centre(vectors[rows])
    best = float(near.max())
    return min((int(row) for row, cosine in zip(rows, near, strict=True) if cosine >= best - 1e-6), key=ids.__getitem__)


def cluster_id(level: int, middle: str) -> str:
    """The id of the topic of a level around the memory `middle`."""
    return f"t{level}-{hashlib.sha256(f'{level}|{middle}'.encode()).hexdigest()[:ID_CHARS]}"


def typical(vectors: Vectors, rows: Rows) -> list[int]:
    """The rows of a topic, the most typical first."""
    near = vectors[rows] @ _centre(vectors[rows])
    return [int(row) for row in rows[np.argsort(-near, kind="stable")]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """The memories of some spaces with their topics by level. `frequency` counts the texts that hold a term."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: Vectors
    topics: Mapping[int, Sequence[Rows]]
    frequency: Mapping[str, int]

    def within(self, topic: Rows, level: int) -> list[Rows]:
        """The topics of a finer level within a topic, the largest first."""
        inside = set(topic.tolist())
        return [rows for rows in self.topics[level] if int(rows[0]) in inside]

    def cluster(self, topic: Rows, level: int, score: float = 0.0) -> Cluster:
        """A topic as an answer."""
        rows = typical(self.vectors, topic)
        middle = medoid(self.vectors, topic, self.ids)
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

    def find(self, id_: str) -> tuple[Rows, int] | None:
        """The topic with this id and its level."""
        for level in LEVELS:
            if id_.startswith(f"t{level}-"):
                for topic in self.topics[level]:
                    if cluster_id(level, self.ids[medoid(self.vectors, topic, self.ids)]) == id_:
                        return topic, level
        return None


def atlas(ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> Atlas:
    """The topics of memories in any order. `vectors` are unit vectors of shape (n, d)."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    ordered = np.ascontiguousarray(vectors[order]) if order else vectors
    kept = tuple(texts[row] for row in order)
    return Atlas(
        ids=tuple(ids[row] for row in order),
        texts=kept,
        vectors=ordered,
        topics=topics(ordered),
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
