"""Forgetting as a display: a cold memory is shown as its gist, a very cold one as tags. The text itself never changes.

Rate against distortion (Shannon 1959): a short form with `D(full, form) <= D_max(level)`. Human memory trades detail
for capacity in the same way (Sims 2016; Nagy, Toeroek and Orban 2020).

- Distortion `D = 1 - sum of w(t) over terms shown / sum of w(t) over all terms`, in [0, 1]. `w(t) = 1 + ln tf(t)`,
  twice that for a name or number. Common words weigh nothing.
- Level by heat: full from GIST_BELOW on, gist below, tags below TAGS_BELOW.
- A gist holds whole sentences in their order, so that a negation stays with its verb. The choice is greedy by gain for
  each token, the usual approximation of a submodular cover (Wolsey 1982). The first sentence is always there.
- A question is side information (Wyner and Ziv 1976): the three sentences that fit best stay at every level.

Nothing is stored, so an erased memory leaves no gist behind.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mnemesh_memory.policy.judge.slots import is_decision
from mnemesh_memory.text.text import estimate_tokens, marks, sentences
from mnemesh_memory.values.model import Memory
from mnemesh_memory.wordlists import COMMON_WORDS

FULL: Final = "full"
GIST: Final = "gist"
TAGS: Final = "tags"
GIST_BELOW: Final = 0.25
TAGS_BELOW: Final = 0.06
DISTORTION_MAX: Final[Mapping[str, float]] = {FULL: 0.0, GIST: 0.4, TAGS: 0.8}
# Texts of so few tokens are shown whole.
WHOLE_TOKENS: Final = 64
# A form that saves less than this share of the tokens is not worth the loss.
SAVING_MIN: Final = 0.2
# Sentences that stay for a question.
FITTING_MAX: Final = 3
STEM_CHARS: Final = 6
GAP: Final = " \u2026 "
_TERM: Final = re.compile(r"[^\W_]+(?:[._/:@#-][^\W_]+)*")


class Shown(NamedTuple):
    """The shown form of a text, with at most DISTORTION_MAX of its level."""

    level: str  # FULL, GIST or TAGS.
    text: str


def level_of(heat: float) -> str:
    """The level for a heat. Not a number counts as warm."""
    if heat < TAGS_BELOW:
        return TAGS
    return GIST if heat < GIST_BELOW else FULL


def is_short(memory: Memory) -> bool:
    """Whether a memory is shown whole for its length, however cold."""
    return estimate_tokens(memory.content) <= WHOLE_TOKENS


def is_kept_whole(memory: Memory) -> bool:
    """Whether a memory is shown whole however cold: pinned, a decision, in conflict, or short."""
    if memory.tier == "pinned" or memory.conflicts or is_short(memory):
        return True
    return is_decision(memory.content, memory.kind)


def shown(content: str, heat: float, question: str = "") -> Shown:
    """The form of a text at a heat, for a reader with a question."""
    whole, level = estimate_tokens(content), level_of(heat)
    full = Shown(FULL, content)
    if level == FULL or whole <= WHOLE_TOKENS:
        return full
    weights = term_weights(content)
    if not weights:
        return full  # no words by which to choose
    parts = sentences(content)
    fitting = _fitting(question, parts)
    forms = [Shown(GIST, _gist(parts, weights, fitting))]
    if level == TAGS:
        forms.append(Shown(TAGS, _tags(content, weights, [parts[place].strip() for place in fitting])))
    best = min((full, *forms), key=lambda form: estimate_tokens(form.text))
    return best if estimate_tokens(best.text) <= (1.0 - SAVING_MIN) * whole else full


def term_weights(content: str) -> dict[str, float]:
    """The weight of each term of a text, in the order of their first use."""
    counted: Counter[str] = Counter()
    named: set[str] = set()
    for match in _TERM.finditer(content):
        word = match.group()
        term = word.casefold()
        if term in COMMON_WORDS or (len(term) < 2 and term.isascii() and not term.isdigit()):
            continue
        counted[term] += 1
        inner = match.start() > 1 and content[match.start() - 2] not in ".!?\n"
        if any(sign.isdigit() for sign in word) or not word.isalpha() or (word[0].isupper() and inner):
            named.add(term)
    return {term: (1.0 + math.log(count)) * (2.0 if term in named else 1.0) for term, count in counted.items()}


def _terms(text: str) -> set[str]:
    return {word.casefold() for word in _TERM.findall(text)}


def _fitting(question: str, parts: Sequence[str]) -> list[int]:
    """The places of the sentences that fit a question best, by its words in them; a rare word counts more."""
    if not question.strip():
        return []
    words = [{part[start:end].casefold()[:STEM_CHARS] for start, end in marks(part, question)} for part in parts]
    spread = Counter(word for own in words for word in own)
    scores = [math.fsum(1.0 / spread[word] for word in sorted(own)) for own in words]
    best = sorted(range(len(parts)), key=lambda place: (-scores[place], place))[:FITTING_MAX]
    return sorted(place for place in best if scores[place])


def _gist(parts: Sequence[str], weights: Mapping[str, float], fitting: Sequence[int]) -> str:
    """Sentences whose terms reach the bound of a gist."""
    terms = [_terms(part) & weights.keys() for part in parts]
    costs = [max(1, estimate_tokens(part)) for part in parts]
    total = math.fsum(weights.values())
    covered: set[str] = set()
    chosen: set[int] = set()

    def gain(place: int) -> float:
        return sum(weights[term] for term in terms[place] - covered) / costs[place]

    def take(place: int) -> None:
        chosen.add(place)
        covered.update(terms[place])

    for place in {0, *fitting}:
        take(place)
    # Gains only fall as more is covered, so a stale gain is a bound: lazy greedy (Minoux 1978).
    heap = [(-gain(place), place) for place in range(len(parts)) if place not in chosen]
    heapq.heapify(heap)
    lost = _lost(covered, weights, total)
    while heap and lost > DISTORTION_MAX[GIST]:
        bound, place = heapq.heappop(heap)
        now = gain(place)
        if now < -bound:
            if now:
                heapq.heappush(heap, (-now, place))
            continue
        take(place)
        lost = _lost(covered, weights, total)
    text, last = "", -1
    for place in sorted(chosen):
        joined = parts[place] if place == last + 1 else GAP.lstrip() + parts[place].lstrip()
        text += joined if text.endswith((" ", "\n")) or not text else f" {joined.lstrip()}"
        last = place
    return text.rstrip() + (GAP.rstrip() if last < len(parts) - 1 else "")


def _tags(content: str, weights: Mapping[str, float], fitting: Sequence[str]) -> str:
    """The heaviest terms up to the bound of tags, with the sentences that fit the question."""
    total = math.fsum(weights.values())
    covered = _terms(" ".join(fitting)) & weights.keys()
    tags: list[str] = []
    for term in sorted(weights, key=lambda term: -weights[term]):
        if _lost(covered, weights, total) <= DISTORTION_MAX[TAGS] and tags:
            break
        if term not in covered:
            tags.append(term)
            covered.add(term)
    spelled = _spellings(content)
    named = ", ".join(spelled[term] for term in tags)
    return GAP.join((f"about: {named}", *fitting))


def _lost(covered: set[str], weights: Mapping[str, float], total: float) -> float:
    return max(0.0, 1.0 - math.fsum(weights[term] for term in covered) / total)


def _spellings(content: str) -> dict[str, str]:
    """Each term as the text spells it first."""
    spellings: dict[str, str] = {}
    for word in _TERM.findall(content):
        spellings.setdefault(word.casefold(), word)
    return spellings
