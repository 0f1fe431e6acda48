"""What speaks for another value in a new text than a memory has: words, and the reading of a model. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import log
from typing import Final, NamedTuple

from mnemesh_memory.policy.judge import doubts
from mnemesh_memory.policy.judge.contest import Contest, Weighed, happened, restates, weighed
from mnemesh_memory.policy.judge.reading import LEAST, REPEATS_RATHER, SURE_WORDS_MIN, Reading, limits, score
from mnemesh_memory.policy.judge.sameness import same
from mnemesh_memory.policy.judge.slots import LOOKED_AT_CHARS, read_whole, statements

# A new text of so few sentences is also read as a whole, because its cue may stand in another sentence than its value.
READ_WHOLE_MAX: Final = 3
# Of each text so many sentences are compared, and a memory with more never steps back as a whole.
COMPARED_MAX: Final = 5


class Evidence(NamedTuple):
    """The evidence of a new text against a memory."""

    contest: Contest | None  # The best of two sentences.
    whole: bool  # It contests each sentence of the memory.
    likelihood: float  # The highest that the trees find, also without a contest.
    apart: bool = False  # The model is sure that both texts hold.


def evidence_of(older: str, newer: str, cosine: float) -> Evidence:
    """The evidence of words: the best of each two sentences."""
    before, all_before = statements(older)[:COMPARED_MAX], statements(older)
    after = list(statements(newer))[:COMPARED_MAX]
    if 1 < len(after) <= READ_WHOLE_MAX:
        after.append(read_whole(newer))
    known = frozenset(word for sentence in before for word in sentence.meant)
    after = [sentence for sentence in after if not known.isdisjoint(sentence.meant)]  # the others contest nothing
    after = [new for new in after if not any(restates(new, old) or same(new, old) for old in before)]
    pairs = [[weighed(old, new, cosine) for new in after] for old in before]
    contests = [_best(row) for row in pairs]
    whole = (
        all(contest is not None and contest.linked for contest in contests)
        and len(older) <= LOOKED_AT_CHARS
        and len(all_before) <= COMPARED_MAX
    )
    best = max(filter(None, contests), key=lambda contest: contest.likelihood, default=None)
    return Evidence(best, whole, max((pair.likelihood for row in pairs for pair in row), default=0.0))


def _best(pairs: Iterable[Weighed]) -> Contest | None:
    return max((pair.contest for pair in pairs if pair.contest), key=lambda contest: contest.likelihood, default=None)


def with_reading(words: Evidence, reading: Reading | None, older: str, newer: str) -> Evidence:
    """The evidence of words and of the model that read both texts whole, if one did. A rule of grammar is surer than
    both."""
    if reading is None or not reading.whole or reading.repeats >= REPEATS_RATHER:
        return words
    if (words.contest and words.contest.ruled) or _states_nothing(older, newer) or _stand_together(older, newer):
        return words
    limit, odds = limits(), score(reading, words.likelihood)
    if odds < limit.ask:
        return words._replace(contest=None, apart=True)
    by_words = words.contest or Contest(
        strong=False,
        stated=any(sentence.strong for sentence in statements(newer)),
        reason="another value of one thing, as a model reads both texts",
        linked=False,
        firm=False,
    )
    agreed = odds >= limit.mark  # There a link by words stands.
    linked = odds >= limit.link or (by_words.linked and (agreed or _is_sure(by_words, newer)))
    if _are_two_events(older, newer):
        return words._replace(contest=replace(by_words, strong=False, linked=False, marked=False))
    contest = replace(
        by_words,
        likelihood=reading.replaces,
        strong=(odds >= limit.replace and by_words.firm) or (by_words.strong and agreed),
        linked=linked,
        marked=linked or agreed,
    )
    return words._replace(contest=contest, whole=words.whole or (linked and len(statements(older)) == 1))


def pair_score(older: str, newer: str, cosine: float, reading: Reading) -> float:
    """How much speaks for the newer text in the place of the older one, whatever is asked (log odds). A text that was
    not read whole, or that repeats the older one, has the least."""
    if not reading.whole or reading.repeats >= REPEATS_RATHER:
        return log(LEAST)
    return score(reading, evidence_of(older, newer, cosine).likelihood)


def _states_nothing(older: str, newer: str) -> bool:
    """Whether the newer text only asks, proposes or doubts, or the older one only asks. A model takes that for a
    value."""
    asked = all(sentence.asks for sentence in statements(older))
    return asked or all(sentence.asks or doubts.is_hedged(sentence) for sentence in statements(newer))


def _stand_together(older: str, newer: str) -> bool:
    """Whether each sentence of both texts does. One such sentence excuses no other."""
    pairs = [(one, other) for one in statements(older) for other in statements(newer)]
    return bool(pairs) and all(doubts.stand_together(one, other) for one, other in pairs)


def _are_two_events(older: str, newer: str) -> bool:
    """Whether both texts tell of the past and of no change: what was stays true beside another event."""
    before, after = statements(older), statements(newer)
    return all(map(happened, (*before, *after))) and not any(sentence.strong for sentence in after)


def _is_sure(contest: Contest, newer: str) -> bool:
    """Whether words link two texts so surely that a model needs to be sure to keep them apart. A text that says "also"
    adds a value to another one."""
    return contest.likelihood >= SURE_WORDS_MIN and not any(sentence.adds for sentence in statements(newer))
