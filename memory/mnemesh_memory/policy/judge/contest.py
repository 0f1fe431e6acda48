"""Two statements side by side: does the newer one give another value of the same thing?

Boosted trees answer, over the numbers of `pair_features`. `python -m bench.training.pair_judge` trains them and writes
`words/pair_trees.json` with its provenance, and docs/decisions/learned-judge.md says why. The thresholds come from
groups of pairs that the trees had not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.policy.judge import doubts
from mnemesh_memory.policy.judge.grammar import VERB_FORMS
from mnemesh_memory.policy.judge.pair_features import StatementPair, features
from mnemesh_memory.policy.judge.slots import STATEMENTS_KEPT, Statement

TREES_FILE: Final = "words/pair_trees.json"
LABEL_WORDS_MAX: Final = 3
FORMS: Final = ("told", "alike", "apart")
EXCHANGES_MAX: Final = 2
ALIKE_MIN: Final = 0.6


@dataclass(frozen=True, slots=True)
class Contest:
    """Why two statements can't both hold now. `strong`: the evidence replaces the older one by itself."""

    strong: bool
    stated: bool  # The newer statement tells of the change.
    reason: str
    likelihood: float = 1.0
    doubtful: bool = False  # The newer one may speak of another member, case or time: then a link is the most.
    linked: bool = True  # The evidence suffices for a link `contradicts`. Without, the writer is asked.
    marked: bool = True  # The evidence suffices for a link `may-replace`. Without, the writer is only asked.
    ruled: bool = False  # A rule of grammar is sure of it, whatever a likelihood says.
    firm: bool = True  # No rule of grammar keeps it from replacing the older statement.


class FormLimits(NamedTuple):
    """The likelihoods from which on a pair is judged."""

    mark: float  # From here on the newer one is marked as a likely replacement.
    link: float  # From here on two statements contradict.
    replace: float  # From here on the newer one replaces the older one.


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Trees whose weights are added up, and the likelihoods at which a pair is judged. A question asks whether the
    number of a feature is above a threshold, and many nodes ask the same one. Nodes are rows of the tables."""

    bias: float
    ask: float  # From this likelihood on the writer is asked.
    limits: Mapping[str, FormLimits]  # Of each form.
    features: tuple[str, ...]
    feature: NDArray[np.intp]  # Of each question, its place in `features`.
    threshold: NDArray[np.float64]
    roots: NDArray[np.intp]
    depth: int
    question: NDArray[np.intp]  # By node.
    below: NDArray[np.intp]  # The lower child of a node, and in the next row the upper one. A leaf leads to itself.
    weight: NDArray[np.float64]  # Of a leaf.

    def likelihood(self, numbers: Mapping[str, float]) -> float:
        """How likely a pair with these features gives two values of one thing, in [0, 1]."""
        values = np.fromiter(map(numbers.__getitem__, self.features), np.float64, len(self.features))
        above = (values.take(self.feature) > self.threshold).astype(np.intp)
        at = self.roots
        for _ in range(self.depth):  # all trees at once: one at a time takes several times as long
            at = self.below.take(at + above.take(self.question.take(at)))
        weights = self.weight.take(at)
        weights[0] += self.bias
        return 1.0 / (1.0 + exp(-float(weights.cumsum()[-1])))


@lru_cache(maxsize=1)
def trained() -> Trees:
    """The trees of the package."""
    stored = json.loads(files("mnemesh_memory").joinpath(TREES_FILE).read_text("utf-8"))
    nodes: list[Node] = []
    questions: dict[tuple[int, float], int] = {}
    roots = [_laid_out(tree, nodes, questions) for tree in stored["trees"]]
    feature, threshold = map(np.array, zip(*questions, strict=True))
    question, below, weight = map(np.array, zip(*nodes, strict=True))
    return Trees(
        bias=stored["bias"],
        ask=stored["ask"],
        limits={form: FormLimits(*stored[form]) for form in FORMS},
        features=tuple(stored["features"]),
        feature=feature,
        threshold=threshold,
        roots=np.array(roots),
        depth=max(map(_depth, stored["trees"])),
        question=question,
        below=below,
        weight=weight,
    )


Node = tuple[int, int, float]  # Its question, the child below, and the weight of a leaf.


def _laid_out(tree: Any, nodes: list[Node], questions: dict[tuple[int, float], int]) -> int:
    """Add the nodes of a tree, of two rows each; the row of its root."""
    here = len(nodes)
    nodes += [(0, here, 0.0 if isinstance(tree, list) else float(tree))] * 2
    if isinstance(tree, list):
        feature, threshold, *children = tree
        asked = questions.setdefault((feature, float(threshold)), len(questions))
        for row, child in enumerate(children, here):
            nodes[row] = (asked, _laid_out(child, nodes, questions), 0.0)
    return here


def _depth(tree: Any) -> int:
    return 1 + max(_depth(tree[2]), _depth(tree[3])) if isinstance(tree, list) else 0


def contest(older: Statement, newer: Statement, cosine: float) -> Contest | None:
    """Whether the newer statement takes the place of the older one, and on what evidence."""
    evidence = judged(older, newer, cosine)
    return evidence if evidence is not None and evidence.linked else None


def judged(older: Statement, newer: Statement, cosine: float) -> Contest | None:
    """The same, and also a contest of which only the writer is asked."""
    return weighed(older, newer, cosine).contest


class Weighed(NamedTuple):
    """A contest, if any, and the likelihood that the trees find: 0 for a pair that a rule refuses."""

    contest: Contest | None
    likelihood: float


def weighed(older: Statement, newer: Statement, cosine: float) -> Weighed:
    """The contest of two statements beside its likelihood, which also a pair without a contest has."""
    if older.meant.isdisjoint(newer.meant) or is_refused(pair := StatementPair(older, newer, cosine)):
        return Weighed(None, 0.0)
    likelihood = trained().likelihood(features(pair))
    return Weighed(_contest_of(pair, likelihood), likelihood)


def _contest_of(pair: StatementPair, likelihood: float) -> Contest | None:
    trees, newer = trained(), pair.newer
    named_past, changed = doubts.is_named_past(pair), doubts.is_changed_value(pair)
    if likelihood < trees.ask and not (named_past or changed):
        return None
    form = form_of(pair)
    limit = trees.limits[form]
    ahead = doubts.is_ahead(newer) and not doubts.is_ahead(pair.older)
    if named_past:
        return Contest(not ahead, pair.stated, _reason(pair), max(likelihood, limit.replace), ahead, ruled=True)
    if changed:
        likelihood = max(likelihood, limit.link)
    if likelihood < trees.ask:
        return None
    narrower = form == "told" and not pair.lost and doubts.is_past_in_a_case(pair)
    rule = not pair.stated and doubts.is_rule(newer) and not doubts.is_rule(pair.older)
    doubtful = ahead or (not pair.stated and (doubts.is_other_member(pair) or doubts.is_narrowed(pair)))
    firm = not (doubtful or narrower or rule)
    linked = likelihood >= limit.link
    marked = likelihood >= limit.mark and not doubts.is_other_attribute(pair)
    return Contest(
        strong=likelihood >= limit.replace and firm,
        stated=pair.stated,
        reason=_reason(pair),
        likelihood=likelihood,
        doubtful=doubtful,
        linked=linked,
        marked=linked or marked,
        ruled=changed,
        firm=firm,
    )


def is_refused(pair: StatementPair) -> bool:
    """Whether a pair is no contest, however likely the trees find one."""
    older, newer = pair.older, pair.newer
    if older.asks or newer.asks or not pair.shared or _is_label(older) or _is_label(newer) or _numbered_apart(pair):
        return True
    if happened(older) and not pair.stated:
        return True  # an event in the past stays true beside another one
    if doubts.stand_together(older, newer) or (doubts.is_hedged(newer) and not doubts.is_hedged(older)):
        return True
    return doubts.is_before(pair) or (not pair.stated and doubts.is_other_scope(pair))


def form_of(pair: StatementPair) -> str:
    """How the newer statement stands to the older one, because each form is judged by limits of its own: "told" when it
    calls a word of the older one past, "alike" when both are the same but for at most two exchanged stretches, or
    "apart"."""
    past = {pair.before[at] for at in pair.older.old if at in pair.before}  # The older one called it past already.
    if pair.past and past.isdisjoint(pair.after[at] for at in pair.past):
        return "told"
    exchanged = len(pair.gaps) <= EXCHANGES_MAX and pair.lost and pair.gained
    return "alike" if exchanged and pair.parallel >= ALIKE_MIN else "apart"


def restates(newer: Statement, older: Statement) -> bool:
    """Whether a sentence says all of an older one again, none of it denied or called past."""
    grown = len(newer.content) > len(older.content) > 0
    return grown and not older.negated and not newer.strong and _standing(newer).issuperset(older.meanings.values())


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _standing(statement: Statement) -> frozenset[str]:
    """The meanings that a sentence neither denies nor calls past."""
    gone = statement.old | statement.negated
    return frozenset(word for at, word in statement.meanings.items() if at not in gone)


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _is_label(statement: Statement) -> bool:
    """Whether a few words without verb and colon name something and state nothing: "note 7"."""
    named = statement.verb < 0 and len(statement.content) <= LABEL_WORDS_MAX and not statement.strong
    return named and not any(token.text in (":", "->") for token in statement.tokens)


def happened(statement: Statement) -> bool:
    """Whether a statement tells of the past: "the keys were rotated"."""
    return statement.verb >= 0 and statement.words[statement.verb] in ("was", "were")


def _numbered_apart(pair: StatementPair) -> bool:
    """Whether the two speak of things with other numbers, as "batch 7" and "batch 8", and of no change."""
    older, newer = _numbers_of_subject(pair.older), _numbers_of_subject(pair.newer)
    if pair.stated or not older or not newer:
        return False
    return any(older[word].isdisjoint(newer[word]) for word in older.keys() & newer.keys())


@lru_cache(maxsize=2 * STATEMENTS_KEPT)
def _numbers_of_subject(statement: Statement) -> dict[str, set[str]]:
    """The numbers of its subject by the words before them."""
    numbers: dict[str, set[str]] = {}
    for at, token in enumerate(statement.tokens[: max(2, statement.verb)]):
        if _is_number_of_subject(statement, at):
            numbers.setdefault(statement.key(at - 1), set()).add(token.text)
    return numbers


def _is_number_of_subject(statement: Statement, at: int) -> bool:
    """Whether digits stand behind a word, before a verb: "Ship 7 waits"."""
    before_verb = at < statement.verb or (at == 1 and {token.text for token in statement.tokens[2:3]} <= VERB_FORMS)
    return at > 0 and before_verb and any(map(str.isdigit, statement.tokens[at].text))


def _reason(pair: StatementPair) -> str:
    """The first difference that a person sees between the two texts."""
    if pair.past:
        words = " ".join(pair.newer.tokens[at].text for at in sorted(pair.past))
        return f"it calls \u201c{words}\u201d past"
    if pair.replaced_values:
        before, after = pair.replaced_values[0]
        return f"\u201c{after}\u201d in place of \u201c{before}\u201d"
    if pair.denied or pair.opposite:
        return "one of the two denies what the other states"
    lost, gained = pair.replaced_names
    if lost and gained:
        return f"\u201c{gained[0]}\u201d in place of \u201c{lost[0]}\u201d"
    return "it tells of a change of the same thing" if pair.stated else "another value of the same thing"
