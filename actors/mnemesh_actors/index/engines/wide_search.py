"""Search of a large index of Qdrant Edge through a filter that leaves most of its points: a space that fills a node.

Edge looks up each point of a walk, and of the lists of a question's words, by the filter. In a graph of 86,000 points
that takes four of five milliseconds. So the best points are asked for without the filter, some more than wanted, and
the filter is asked about these alone. Only times are looked up on the walk: that is fast, and passes over all later
points. With too few left the search is made again, with the filter. No point that the filter refuses is ever given out.

Edge counts a word in the wanted spaces by walking the whole list of the word, for each search. So a word is counted
there once, beside its count in the whole index. Later searches weigh the word by the quotient of the two, until
CHANGED_SHARE_MAX of the points have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from mnemesh_actors.index.engine_port import EXACT_POINTS_MAX, Filter, Point, QueryRequest, Range, Scored, SparseVector
from mnemesh_actors.index.engines.edge import WHOLE_SEGMENTS_MAX, EdgeBackend

# The filter leaves at least this share of the points, by Edge's estimate.
WIDE_SHARE_MIN: Final = 0.5
# So many times the points are asked for that would be enough if the filter left the same share everywhere, and so many
# more.
FETCH_TIMES: Final = 1.1
FETCH_MORE: Final = 8
# Times that leave more than this share are not worth the look on the walk.
TIMES_SHARE_MAX: Final = 0.9
CHANGED_SHARE_MAX: Final = 0.01
WORDS_KEPT_MAX: Final = 50_000
EVERYWHERE: Final = Filter()


class WideSearch(EdgeBackend):
    """The port on Qdrant Edge, with this search in an index with graphs."""

    def __init__(self, path: str | Path, segment_points: int = EXACT_POINTS_MAX, whole: bool = False) -> None:
        super().__init__(path, segment_points, whole)
        self._weights: dict[tuple[str, Filter, int], float] = {}  # of a word of a field, within a corpus
        self._changed_points = 0  # since these were counted
        self._estimates: dict[Filter, int] = {}  # of one query

    def upsert(self, points: Sequence[Point]) -> None:
        self._changed_points += len(points)
        super().upsert(points)

    def delete(self, ids: Sequence[str]) -> None:
        self._changed_points += len(ids)
        super().delete(ids)

    @contextmanager
    def released(self) -> Iterator[None]:
        self._weights.clear()  # Edge counts the words of deleted points until it reads the directory again
        with super().released():
            yield

    def query(self, requests: Sequence[QueryRequest]) -> list[list[Scored]]:
        self._opened()
        self._estimates.clear()
        fetched = {place: fetch for place, request in enumerate(requests) if (fetch := self._fetch(request))}
        if not fetched:
            return super().query(requests)
        walks = {
            place: replace(requests[place], limit=fetch, filter=self._walked(requests[place].filter))
            for place, fetch in fetched.items()
        }
        wide = [self._weighed(walks[place]) if place in walks else request for place, request in enumerate(requests)]
        answers = super().query(wide)
        passing = {
            where: self.passing(where, list({id_ for place in fetched for id_, _ in answers[place]}))
            for where in {requests[place].filter for place in fetched}
        }
        crowded = []
        for place, fetch in fetched.items():
            request, hits = requests[place], answers[place]
            inside = passing[request.filter]
            answers[place] = list(islice((hit for hit in hits if hit[0] in inside), request.limit))
            if len(answers[place]) < request.limit and len(hits) == fetch:
                crowded.append(place)
        for place, hits in zip(crowded, super().query([requests[place] for place in crowded]), strict=True):
            answers[place] = hits
        return answers

    def _fetch(self, request: QueryRequest) -> int:
        """How many points are to be asked for by times alone; 0 for a search with the filter."""
        if not self.graphs or request.filter == (walked := self._walked(request.filter)):
            return 0
        inside, around = self.estimate(request.filter), self.count() if walked == EVERYWHERE else self.estimate(walked)
        if walked != EVERYWHERE and inside <= self._segment_points * WHOLE_SEGMENTS_MAX < around:
            return 0  # a search that is exact with the whole filter stays exact
        left = inside / max(1, around)
        return int(request.limit * FETCH_TIMES / min(1.0, left)) + FETCH_MORE if left >= WIDE_SHARE_MIN else 0

    def _weighed(self, request: QueryRequest) -> QueryRequest:
        """The same question by words without a corpus: the words weigh as in the corpus. A small corpus changes too
        fast for that."""
        corpus, words = request.idf_corpus, request.vector
        if corpus is None or not isinstance(words, SparseVector):
            return request
        if self.estimate(corpus) < self.count() * WIDE_SHARE_MIN:
            return request
        if self._changed_points > self.count() * CHANGED_SHARE_MAX or len(self._weights) > WORDS_KEPT_MAX:
            self._weights.clear()
        if not self._weights:
            self._changed_points = 0
        keys = [(request.using, corpus, word) for word in words.indices]
        self._count(request, [key for key in keys if key not in self._weights])
        weights = [value * self._weights[key] for key, value in zip(keys, words.values, strict=True)]
        return replace(request, vector=SparseVector(words.indices, weights), idf_corpus=None)

    def _count(self, request: QueryRequest, keys: Sequence[tuple[str, Filter, int]]) -> None:
        """Learn the weights of these words. The best point of a word scores in proportion to the word's rarity."""
        alone = [
            QueryRequest(SparseVector((word,), (1.0,)), using, 1, EVERYWHERE, corpus)
            for using, _, word in keys
            for corpus in (request.idf_corpus, None)
        ]
        best = [hits[0][1] if hits else 0.0 for hits in super().query(alone)]
        for key, within, whole in zip(keys, best[::2], best[1::2], strict=True):
            self._weights[key] = within / whole if whole else 1.0

    def _walked(self, where: Filter) -> Filter:
        """The part of a filter that is looked up on the walk: its times, where they leave out enough."""
        times = Filter(must=tuple(condition for condition in where.must if isinstance(condition, Range)))
        worth = times != EVERYWHERE and self.estimate(times) <= self.count() * TIMES_SHARE_MAX
        return times if worth else EVERYWHERE

    def estimate(self, where: Filter) -> int:
        if where not in self._estimates:
            self._estimates[where] = super().estimate(where)
        return self._estimates[where]
