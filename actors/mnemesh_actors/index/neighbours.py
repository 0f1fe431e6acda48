"""The neighbours of many texts at once, as an import needs. A search for each text would cost more the larger the space
is.

Up to EACH_POINTS_MAX points each text is compared with all of them. Above, one query asks for the memories nearest to
the mean of every GROUP_TEXTS texts of a space; each text is compared with these alone. A text of a group has a cosine
of some .25 to its mean, more than all but a few of 100,000 strangers. So a near neighbour is seldom overlooked, a far
one often, and none is made up.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.index.engine_port import Filter, HasId, IndexBackend, QueryRequest, Range, Scored
from mnemesh_actors.index.points import DENSE
from mnemesh_actors.index.ranked import SCORE_DECIMALS, Passages, ranked, vectors_of
from mnemesh_actors.index.scope import ARCHIVE, Search, in_spaces

if TYPE_CHECKING:
    from mnemesh_actors.index.engine_port import DenseVector

EACH_POINTS_MAX: Final = 5_000
# A smaller index is compared whole, by a table without times.
TIMED_POINTS_MIN: Final = 20_000
# So many texts are worth a pool; fewer are asked for one at a time.
POOLED_TEXTS_MIN: Final = 16
GROUP_TEXTS: Final = 16
GROUP_MEMORIES: Final = 16
# Memories that share words with a text, beside the nearest.
SHARING_MAX: Final = 8

# A product of more multiplications than this is shared out among threads by OpenBLAS. The threads wait for each other
# busily, which on a machine with other work costs ten times the product itself.
PRODUCT_MAX: Final = 200_000

Matrix = NDArray[np.float32]
Asked = Sequence[tuple["DenseVector", str]]


def nearest(
    backend: IndexBackend, passages: Passages, asked: Asked, limit: int, visits: int = 0, until: int | None = None
) -> list[list[Scored]]:
    """The nearest memories of its space to each (vector, space) that are neither forgotten nor superseded. `visits`
    is that of a QueryRequest. With `until` those that were created up to then (ms)."""
    created = () if until is None else (Range("created_at", lt=until + 1),)
    legs = [
        (
            (np.asarray(vector).tobytes(), space),
            QueryRequest(vector, DENSE, limit, in_spaces((space,), ARCHIVE, created), visits=visits),
        )
        for vector, space in asked
    ]
    return [list(scores.items()) for scores in _ranked_once(backend, passages, legs)]


def _ranked_once(
    backend: IndexBackend, passages: Passages, legs: Sequence[tuple[Hashable, QueryRequest]]
) -> list[dict[str, float]]:
    """As `ranked`, for legs with a key each: those of one key are asked once. Equal texts are the dearest to ask for,
    because their memories crowd every list with equal scores."""
    distinct = dict(legs)
    answers = dict(zip(distinct, ranked(backend, passages, list(distinct.values())), strict=True))
    return [answers[key] for key, _ in legs]


def pooled(
    backend: IndexBackend, passages: Passages, asked: Asked, limit: int, visits: int = 0, until: int | None = None
) -> list[list[Scored]]:
    """As `nearest`, for many texts, by one query of a few means."""
    if len(asked) < POOLED_TEXTS_MIN or backend.count() <= EACH_POINTS_MAX:
        return nearest(backend, passages, asked, limit, visits, until)
    texts: dict[str, list[int]] = {}
    for number, (_, space) in enumerate(asked):
        texts.setdefault(space, []).append(number)
    groups = [
        (np.mean([asked[n][0] for n in numbers[start : start + GROUP_TEXTS]], axis=0), space)
        for space, numbers in texts.items()
        for start in range(0, len(numbers), GROUP_TEXTS)
    ]
    pools: dict[str, dict[str, None]] = {space: {} for space in texts}
    for (_, space), near in zip(groups, nearest(backend, passages, groups, GROUP_MEMORIES, until=until), strict=True):
        pools[space] |= dict.fromkeys(id_ for id_, _ in near)
    answers: list[list[Scored]] = [[] for _ in asked]
    for space, numbers in texts.items():
        vectors = vectors_of(backend, list(pools[space]))
        if not vectors:
            continue
        ids = np.array(list(vectors))
        scores = cosines(np.stack([asked[n][0] for n in numbers]), np.stack(list(vectors.values())))
        scores = np.round(scores, SCORE_DECIMALS)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        for row, number in enumerate(numbers):
            answers[number] = list(zip(ids[best[row]].tolist(), scores[row, best[row]].tolist(), strict=True))
    return answers


def of_words(words: str, space: str, until: int | None = None) -> Search:
    """The search for the memories of a space with the most of these words, created up to `until` (ms)."""
    before = None if until is None else until + 1
    return Search(words, None, (space,), before=before, include_archive=True, limit=SHARING_MAX, windows=False)


def sharing(
    backend: IndexBackend, asked: Asked, near: list[list[Scored]], lists: Mapping[int, Collection[str]]
) -> list[list[Scored]]:
    """`near` and, for the texts of these numbers, the memories of their list, with their cosine."""
    if not lists:
        return near
    both = [dict(hits) for hits in near]
    others = [(number, tuple(id_ for id_ in ids if id_ not in both[number])) for number, ids in lists.items()]
    # The index compares them itself, because a vector that leaves the index becomes a list of numbers first.
    compared = [(number, ids) for number, ids in others if ids]
    answers = backend.query(
        [QueryRequest(asked[number][0], DENSE, len(ids), Filter(must=(HasId(ids),))) for number, ids in compared]
    )
    for (number, ids), hits in zip(compared, map(dict, answers), strict=True):
        both[number] |= {id_: round(hits[id_], SCORE_DECIMALS) for id_ in ids if id_ in hits}
    return [list(scores.items()) for scores in both]


def cosines(rows: Matrix, columns: Matrix) -> Matrix:
    """Of unit vectors (n, dimensions) and (m, dimensions): (n, m)."""
    step = max(1, PRODUCT_MAX // columns.size)
    return np.concatenate([rows[start : start + step] @ columns.T for start in range(0, len(rows), step)])
