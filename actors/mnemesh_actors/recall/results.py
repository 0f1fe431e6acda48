"""A memory that may be shown, its form in the answer, and the order of results. Pure.

Of two texts that say nearly the same and match alike, the newer stands first. Two neighbours in an answer seldom match
alike and share many words. Only then are vectors asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from mnemesh_actors.embedding.answer_reading import passage_of
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_memory.policy.dynamics.heat import heat_used
from mnemesh_memory.policy.rules.stored_rules import weighed
from mnemesh_memory.policy.sessions import preferences
from mnemesh_memory.ranking.answers import Hit, Recalled
from mnemesh_memory.ranking.candidates import Candidate
from mnemesh_memory.ranking.coverage import share, terms
from mnemesh_memory.ranking.explanation import Explainer, estimate_of
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import scores_of
from mnemesh_memory.ranking.relevance import NO_EVIDENCE, NOTHING_AROUND, ResultEvidence, Surroundings, relevances
from mnemesh_memory.ranking.scores import liking, rated
from mnemesh_memory.ranking.session_coherence import coherence, session_share
from mnemesh_memory.text.text import estimate_tokens, marks, snippet
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.model import Memory, Query

SNIPPET_CHARS: Final = 240
# Of the best score: another order than that of relevance would show the newest of what hardly fits first.
SORTED_SHARE_MIN: Final = 0.5
RELEVANCE: Final = "relevance"
RERANK: Final = "rerank"


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory to show, with the candidate behind it: the memory itself, or `origin`, which it replaced or contests."""

    memory: Memory
    fused: Fused
    origin: Memory | None = None
    evidence: ResultEvidence = NO_EVIDENCE  # Of the final score.

    @property
    def redirected_from(self) -> str:
        """The id of the older memory that matched, "" when the result matched by itself."""
        return self.origin.id if self.origin else ""

    @property
    def matched(self) -> str:
        """All text that words match in the matching memory, not its content alone: a keyword counts as a match. A
        successor says the present answer in any words."""
        of = self.origin or self.memory
        return "\n".join((of.title, of.content, *of.keywords, *of.tags, *of.paths))

    @property
    def liking(self) -> float:
        """The ratings of a memory as a match, 0 for none."""
        return liking(self.memory.useful, self.memory.not_useful) if self.fused.score else 0.0

    def scored(self, score: float, evidence: ResultEvidence) -> FoundMemory:
        """With its final score, made of `evidence`; the change is a part of its own."""
        more = {**self.fused.more, RELEVANCE: score - self.fused.score}
        return FoundMemory(self.memory, self.fused._replace(score=score, more=more), self.origin, evidence)


class Matches(NamedTuple):
    """The outcome of a search."""

    found: Sequence[FoundMemory]  # In the asked order.
    coverage: float
    answered: float  # The probability that an answer is here, with what `min_score` leaves out.
    degraded: tuple[str, ...]
    explainer: Explainer | None = None


def redirected(
    pairs: Iterable[tuple[Fused, Memory]],
    ends: Mapping[str, Memory],
    fused: Sequence[Fused],
    shown: set[str],
    still: Collection[str] = (),
) -> list[FoundMemory]:
    """The results of a part of the candidates, best first, each once at its best place. A superseded memory gives way
    to the last of its successors in `ends`, at the better place of the two. A memory whose id is in `still` stays as it
    is. `fused` are all candidates; `shown` the ids already in the answer, to which the new ids are added."""
    successors = {memory.id for memory in ends.values()}
    own = scores_of(fused, successors) if ends else {}
    candidates: list[FoundMemory] = []
    for fit, matching in pairs:
        replaced = matching.state == "superseded" and matching.id not in still
        memory = ends.get(matching.id) if replaced else matching
        if memory is None or memory.state == "forgotten" or memory.id in shown:
            continue
        if replaced and own.get(memory.id, -1.0) >= fit.score:
            continue  # it comes by itself
        shown.add(memory.id)
        candidates.append(FoundMemory(memory, fit, matching if replaced else None))
    return candidates


def with_ratings(candidates: Iterable[FoundMemory]) -> list[FoundMemory]:
    """The candidates with what their ratings add. Fusion and second look have set the order before."""
    scores = ((item, rated(item.fused, item.memory.useful, item.memory.not_useful)) for item in candidates)
    return [item if fused is item.fused else FoundMemory(item.memory, fused, item.origin) for item, fused in scores]


def evidence_of(
    query: Query, results: Sequence[FoundMemory], around: Surroundings = NOTHING_AROUND
) -> list[ResultEvidence]:
    """The absolute evidence of each result."""
    asked = query.about or query.text
    return [
        ResultEvidence(
            item.fused.cosine,
            share(asked, item.matched),
            around.company.get(item.fused.id),
            around.crowd,
            around.read.get(item.fused.id),
        )
        if item.fused.score
        else NO_EVIDENCE
        for item in results
    ]


def passage_read(item: FoundMemory, question: str) -> str:
    """What is read of a result: the title, and the passage with the question's words. Of a redirected result it is that
    of the memory that matched."""
    of = item.origin or item.memory
    passage = passage_of(of.content, question)
    return f"{of.title}: {passage}" if of.title else passage


def judged(query: Query, results: Sequence[FoundMemory], around: Surroundings = NOTHING_AROUND) -> list[FoundMemory]:
    """The same with their final scores: estimates of the probability that the memory answers, as rules move them. In
    the order of relevance, scores agree with the order. In another order each stands for itself. A score of 0 stays,
    and so do scores with the opinion of a cross-encoder, which estimates that probability from the texts."""
    if any(RERANK in item.fused.more for item in results):
        return list(results)
    evidence = evidence_of(query, results, around)
    shares = [weighed(item.origin or item.memory, query.weighing) if query.weighing else (0.0, 0.0) for item in results]
    if query.sort == "relevance":
        scores = relevances(evidence, shares)
    else:
        scores = [relevances([proof], [moved])[0] for proof, moved in zip(evidence, shares, strict=True)]
    return [item.scored(score, proof) for item, score, proof in zip(results, scores, evidence, strict=True)]


def ordered(query: Query, kept: list[FoundMemory], now: int) -> list[FoundMemory]:
    """The asked order. By relevance, equal matches go by liking, importance and heat. By time or importance, only
    memories nearly as relevant as the best are kept."""
    if query.sort != "relevance":
        floor = SORTED_SHARE_MIN * max((item.fused.score for item in kept), default=0.0)
        kept = [item for item in kept if item.fused.score >= floor]
    if query.sort == "recency":
        return sorted(kept, key=lambda item: (-item.memory.updated_at, item.memory.id))
    if query.sort == "importance":
        return sorted(kept, key=lambda item: (-(item.memory.importance or 0.0), -item.fused.score, item.memory.id))
    match = Counter(item.fused.score for item in kept if item.fused.score)
    return sorted(
        kept,
        key=lambda item: (-item.fused.score, *(_among_equals(item, query, now) if match[item.fused.score] > 1 else ())),
    )


def end_of_equals(fused: Sequence[Fused], at: int, score: float) -> int:
    """The end of the run from place `at` on that matches exactly so well; `at` for a score of 0."""
    end = at
    while score and end < len(fused) and fused[end].score == score:
        end += 1
    return end


def stretch_missed(query: Query, results: Sequence[FoundMemory]) -> Query | None:
    """The query for the best memory of a preferred stretch of time, when the answer would have none: a question about
    March sees one memory of March. The only place stays with the best, another order as it is, and the stretch of an
    event is not sure enough."""
    window = query.window
    if window is None or window.only or window.surety < 1 or query.sort != "relevance" or query.limit == 1:
        return None
    if any(window.holds(happened_at(item.memory), item.memory.id) for item in results[: query.limit]):
        return None
    return replace(query, window=window._replace(only=True), limit=1)


def lying_in(query: Query, fused: Sequence[Fused], candidates: Iterable[Candidate]) -> list[Fused]:
    """Of the candidates, best first, those that may lie in the query's stretch."""
    window = query.window or Window(None, None)
    inside = {item.id for item in candidates if item.traits is None or window.holds(item.traits.at, item.id)}
    return [item for item in fused if item.id in inside]


def _among_equals(item: FoundMemory, query: Query, now: int) -> tuple[float | str | tuple[int, int], ...]:
    """Words of the asking session, how they were rated, how sure a preference is, importance, heat, id. Heat counts
    without uses and arrival, which every node has for itself, and by the usual half-lives: equal ledgers give equal
    answers."""
    own, heat_now = _coherence(item.memory, query, now), heat_used(item.memory, 0, item.memory.updated_at, now).value
    importance = item.memory.importance or 0.0
    return -own, -item.liking, preferences.rank(item.memory), -importance, -heat_now, item.memory.id


def _coherence(memory: Memory, query: Query, now: int) -> float:
    return coherence(memory.source.session, memory.created_at, query.current_session, now)


def cost_of(hit: Hit) -> int:
    """The tokens of the texts of a result, as it is given."""
    return _cost(hit.memory, hit.snippet)


def _cost(memory: Memory, passage: str) -> int:
    return sum(map(estimate_tokens, (memory.content or passage, *(head.content for head in memory.conflicts))))


def shaped(query: Query, matches: Matches, abstain_below: float, forms: Mapping[str, Memory], now: int) -> Recalled:
    """The first matches as results, as many as the token budget holds. `forms` has shortened memories by id; the
    passage that answers is of the whole text all the same."""
    hits: list[Hit] = []
    tokens = left_out = 0
    shown = matches.found[: query.limit]
    budget = math.inf if query.token_budget is None else query.token_budget
    for position, item in enumerate(shown):
        passage = snippet(item.memory.content, query.text, SNIPPET_CHARS)
        form = forms.get(item.memory.id, item.memory)
        memory, cost = _given(form, query, passage, whole=not query.snippets_only)
        if not hits and cost > budget:
            # The best is never left out for weaker ones that fit, but given in part.
            memory, cost = _given(form, query, passage, whole=False)
        if tokens + cost > budget:
            left_out = len(shown) - position
            break
        tokens += cost
        signals = matches.explainer.shares(item.fused) if matches.explainer else ()
        if signals and query.current_session:
            signals = (*signals, session_share(_coherence(item.memory, query, now)))
        hits.append(Hit(
            memory=memory, score=item.fused.score, signals=signals, snippet=passage, marks=marks(passage, query.text),
            redirected_from=item.redirected_from, estimate=estimate_of(item.evidence) if query.explain else None,
        ))  # fmt: skip
    unsure = bool(query.text.strip()) and matches.answered < abstain_below
    # Results beyond the reader's own limits are here all the same, and count as cover.
    abstain = unsure or not (matches.found or matches.coverage)
    return Recalled(
        results=tuple(hits), coverage=matches.coverage, abstain=abstain, answered=matches.answered, tokens_used=tokens,
        truncated_by_budget=left_out, degraded=matches.degraded, spaces=query.spaces,
    )  # fmt: skip


def _given(memory: Memory, query: Query, passage: str, *, whole: bool) -> tuple[Memory, int]:
    """`memory` as the answer gives it, and the tokens of its texts. Without `whole`, `passage` stands for the content,
    and other versions are cut to passages."""
    if not whole:
        others = tuple(
            replace(head, content=snippet(head.content, query.text, SNIPPET_CHARS)) for head in memory.conflicts
        )
        memory = replace(memory, content="", conflicts=others)
    return memory, _cost(memory, passage)


COSINE_MIN: Final = 0.9
# Two match alike when their scores differ by at most so much.
TIE: Final = 0.02
# Texts with fewer common words are no near-duplicates: nobody looks at their vectors.
COMMON_MIN: Final = 0.4
LOOKED_AT_CHARS: Final = 600


def doubtful(results: Sequence[FoundMemory]) -> list[str]:
    """Ids of neighbours with the older one first that may say the same."""
    ids: dict[str, None] = {}
    for upper, lower in pairwise(results):
        if _ties(upper, lower) and _share_words(upper, lower):
            ids |= {upper.memory.id: None, lower.memory.id: None}
    return list(ids)


def newer_of_ties_first(results: Sequence[FoundMemory], vectors: Mapping[str, Vector]) -> list[FoundMemory]:
    """The same, with the newer one of near-duplicates before the older."""
    ranked: list[FoundMemory] = []
    for item in results:
        at = len(ranked)
        while at and _ties(ranked[at - 1], item) and _alike(ranked[at - 1], item, vectors):
            at -= 1
        ranked.insert(at, item)
    return ranked


def _ties(upper: FoundMemory, lower: FoundMemory) -> bool:
    """Whether the lower result is newer, and only a small difference of scores keeps the order. Equal scores have an
    order of their own."""
    return (
        lower.fused.score < upper.fused.score <= lower.fused.score + TIE
        and happened_at(upper.memory) < happened_at(lower.memory)
        and upper.liking <= lower.liking
        and (upper.memory.importance or 0.0) <= (lower.memory.importance or 0.0)
        and not (upper.origin or lower.origin)
    )


def _share_words(upper: FoundMemory, lower: FoundMemory) -> bool:
    first, second = (terms(item.memory.content[:LOOKED_AT_CHARS]) for item in (upper, lower))
    return len(first & second) >= COMMON_MIN * len(first | second)


def _alike(upper: FoundMemory, lower: FoundMemory, vectors: Mapping[str, Vector]) -> bool:
    first, second = vectors.get(upper.memory.id), vectors.get(lower.memory.id)
    return first is not None and second is not None and float(first @ second) >= COSINE_MIN
