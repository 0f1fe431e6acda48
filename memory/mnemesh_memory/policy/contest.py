"""Two statements side by side: does the newer one give another value of the same thing?

Boosted trees answer, over the numbers of `pair_features`. `python -m bench.pair_judge` trains them and writes
`words/pair_trees.json` with its provenance, and docs/decisions/learned-judge.md says why. The thresholds come from
groups of pairs that the trees had not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp
from typing import Any, Final, NamedTuple

from mnemesh_memory.policy import doubts
from mnemesh_memory.policy.grammar import VERB_FORMS, meaning
from mnemesh_memory.policy.pair_features import StatementPair, features
from mnemesh_memory.policy.slots import Statement

TREES_FILE: Final = "words/pair_trees.json"
LABEL_WORDS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Contest:
    """Why two statements can't both hold now. `strong`: the evidence replaces the older one by itself."""

    strong: bool
    stated: bool  # The newer statement tells of the change.
    reason: str
    likelihood: float = 1.0
    doubtful: bool = False  # The newer one may speak of another member or case: then a link is the most.


class Node(NamedTuple):
    """A question of a tree: is the number of a feature above a threshold?"""

    feature: str
    threshold: float
    lower: Tree
    upper: Tree


Tree = float | Node  # A leaf is its weight.


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees whose weights are added up, and the likelihoods at which a pair is judged."""

    bias: float
    link: float  # From this likelihood on two statements contradict.
    replace: float  # From this likelihood on the newer one replaces the older one.
    trees: tuple[Tree, ...]

    def likelihood(self, numbers: Mapping[str, float]) -> float:
        """How likely a pair with these features gives two values of one thing, in [0, 1]."""
        total = self.bias
        for tree in self.trees:
            at = tree
            while isinstance(at, Node):
                at = at.upper if numbers[at.feature] > at.threshold else at.lower
            total += at
        return 1.0 / (1.0 + exp(-total))


@lru_cache(maxsize=1)
def trained() -> Trees:
    """The trees of the package."""
    told = json.loads(files("mnemesh_memory").joinpath(TREES_FILE).read_text("utf-8"))
    trees = tuple(_tree(tree, told["features"]) for tree in told["trees"])
    return Trees(bias=told["bias"], link=told["link"], replace=told["replace"], trees=trees)


def _tree(told: Any, names: Sequence[str]) -> Tree:
    if not isinstance(told, list):
        return float(told)
    number, threshold, lower, upper = told
    return Node(names[number], threshold, _tree(lower, names), _tree(upper, names))


def contest(older: Statement, newer: Statement, cosine: float) -> Contest | None:
    """Whether the newer statement takes the place of the older one, and on what evidence."""
    pair = StatementPair(older, newer, cosine)
    if older.asks or newer.asks or not pair.shared or _is_label(older) or _is_label(newer) or _numbered_apart(pair):
        return None
    if _happened(older) and not pair.stated:
        return None  # an event in the past stays true beside another one
    if doubts.is_hedged(newer) and not doubts.is_hedged(older):
        return None
    if not pair.stated and doubts.is_other_scope(pair):
        return None
    trees = trained()
    likelihood = trees.likelihood(features(pair))
    if doubts.is_named_past(pair):
        return Contest(True, pair.stated, _reason(pair), max(likelihood, trees.replace))
    if likelihood < trees.link and not doubts.is_changed_value(pair):
        return None
    doubtful = not pair.stated and (doubts.is_other_member(pair) or doubts.is_narrowed(pair))
    rule = not pair.stated and doubts.is_rule(newer) and not doubts.is_rule(older)
    strong = likelihood >= trees.replace and not (doubtful or rule)
    return Contest(strong, pair.stated, _reason(pair), likelihood, doubtful)


def restates(newer: Statement, older: Statement) -> bool:
    """Whether a sentence says all of an older one again, none of it denied or called past."""
    standing = {
        meaning(newer.key(place)) for place in newer.content if place not in newer.old and place not in newer.negated
    }
    said = [meaning(older.key(place)) for place in older.content]
    grown = len(newer.content) > len(said)
    return bool(said) and grown and not older.negated and standing.issuperset(said) and not newer.strong


def _is_label(statement: Statement) -> bool:
    """Whether a few words without verb and colon name something and state nothing: "note 7"."""
    named = statement.verb < 0 and len(statement.content) <= LABEL_WORDS_MAX and not statement.strong
    return named and not any(token.text in (":", "->") for token in statement.tokens)


def _happened(statement: Statement) -> bool:
    """Whether a statement tells of the past: "the keys were rotated"."""
    return statement.verb >= 0 and statement.tokens[statement.verb].text.casefold() in ("was", "were")


def _numbered_apart(pair: StatementPair) -> bool:
    """Whether the two speak of things with other numbers, as "batch 7" and "batch 8", and of no change."""
    if pair.stated or not pair.lost or len(pair.lost) != len(pair.gained):
        return False
    return all(
        _is_number_of_subject(pair.older, one)
        and _is_number_of_subject(pair.newer, other)
        and pair.older.key(one - 1) == pair.newer.key(other - 1)
        for one, other in zip(pair.lost, pair.gained, strict=True)
    )


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
