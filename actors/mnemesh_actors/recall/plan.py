"""The searches of a recall, in order, each with its role, and the one answer out of theirs. Pure.

A search hangs on the question and on earlier answers. A question without words of time has one search. Words of time
never empty an answer silently. Memories of the stretch are raised, or alone let through. With none there, all times are
searched or the answer says why nothing is shown.

Beside its words of time a question asks for everything, for all of one kind, or for something to match. A question for
everything lists its stretch of time. A question for a kind has the memories of that kind first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from enum import StrEnum
from typing import Final, NamedTuple

from mnemesh_actors.recall.results import cost_of
from mnemesh_actors.runtime.zones import name_of
from mnemesh_memory.policy.rules.stored_rules import narrowed
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.coverage import terms
from mnemesh_memory.ranking.explanation import Share
from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.times.question_time import TimeWords, read
from mnemesh_memory.times.window import BY_EVENT, TimeRead, Window, time_sentence
from mnemesh_memory.values.model import Memory, Query
from mnemesh_memory.values.rules import Rule

# A question of these words alone asks for everything of a time: "give me a summary of yesterday".
ANYTHING: Final = terms(
    "activity all any anything changed discuss doing done event every everything get give going got happened latest"
    " list memories memory new news now occurred overview recall recap recent recorded remember said say show something"
    " stuff summarize summary talk tell thing told update work worked working write written wrote"
)
# A question about things to do asks for no list of the past: "what to do before the release".
_TO_BE_DONE: Final = re.compile(
    r"\b(?:to (?:do|get|give|happen|say|show|tell|update|work|write)|should|must|needs?|ought|has to|have to|having to"
    r"|(?:do|does|can|could|shall|will|would) (?:i|we|you|one|they))\b",
    re.IGNORECASE,
)
# A kind that is asked for by such words, as most people use it: "what did we decide last week", "what broke in March".
# Narrower words ("outage", "incident") find their memories better than a list of all errors, where these may stand
# last.
KIND_WORDS: Final = {
    kind: terms(words)
    for kind, words in {
        "decision": "agree agreed agreement agreements decide decided deciding decision decisions",
        "error": "break breaks broke broken bug bugs error errors fail failed failing fails failure failures"
        " problem problems wrong",
        "requirement": "requirement requirements",
    }.items()
}
_BESIDE_KIND: Final = terms(
    "come came fix fixed fixes fixing go goes going gone have made make making saw see seen take taken took up went"
)
_WORD: Final = re.compile(r"[^\W\d_]+")


def asks_for_everything(about: str, text: str, *, of_event: bool) -> bool:
    """Whether a question asks for whatever lies in its stretch of time. `about` is its `text` without the words of
    time, and `of_event` says that an event bounds the stretch."""
    if terms(about) - ANYTHING or _holds_name(about, text):
        return False
    return not (of_event and _TO_BE_DONE.search(about))


def asked_kind(query: Query, about: str) -> str:
    """The kind that is asked for beside a time, and nothing else, "" for none: "what did we decide last week"."""
    if query.sort != "relevance" or _holds_name(about, query.text):
        return ""
    words = terms(about) - ANYTHING - _BESIDE_KIND
    kinds = [kind for kind, known in KIND_WORDS.items() if words and words <= known]
    return next((kind for kind in kinds if not query.kinds or kind in query.kinds), "")


def _holds_name(about: str, text: str) -> bool:
    """Whether a common word is written as a name, as in "what did Will do last week". Such a word stands in the middle
    of a sentence, with a capital, beside words without."""
    words, first = _WORD.findall(about), _WORD.search(text)
    if first is not None and words[:1] == [first[0]]:
        words = words[1:]
    small = any(word[0].islower() for word in words)
    return small and any(len(word) > 1 and word[0].isupper() and not terms(word) for word in words)


class Role(StrEnum):
    """The role of a search in the answer."""

    EVENT = "event"  # The memory that tells of the event in the question.
    MAIN = "main"  # The question with its stretch of time.
    INSIDE = "inside"  # Whether a match lies in the stretch, though no shown result does.
    EVERYWHERE = "everywhere"  # The question in all times, because nothing lies in the stretch.
    PLAIN = "plain"  # The question without the raise of its stretch, for the judgement of its answer.
    KIND = "kind"  # All memories of the kind that is asked for, the newest first.
    # The last two without a token budget: it may have cut off of one list a result of the other.
    WHOLE_KIND = "whole kind"
    WHOLE_ANSWER = "whole answer"


# Words of a question about what is over. A statement with words of time has none of them.
_PAST: Final = re.compile(r"\b(?:did|was|were|had|used)\b", re.IGNORECASE)
Answers = Mapping[Role, Recalled]


class SearchStep(NamedTuple):
    """A search, and its role in the answer."""

    role: Role
    query: Query


class InTime(NamedTuple):
    """The question with the stretch of its words of time."""

    query: Query
    # None when the words mean no stretch.
    window: Window | None
    # The kind that is asked for, "" for none.
    kind: str

    def inside(self, answer: Recalled) -> int:
        """The number of results in the stretch."""
        if self.window is None:
            return 0
        return sum(self.window.holds(happened_at(hit.memory), hit.memory.id) for hit in answer.results)


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """A question and the reading of its words of time."""

    query: Query
    words: TimeWords | None  # None without words of time.
    zone: tzinfo
    rules: Sequence[Rule]
    own: Query  # The reader's own, without the rules.

    def kept_back(self) -> RecallPlan | None:
        """The plan for the matches that the rules or the archive may keep back; None when neither does."""
        if self.own.include_archive and all(rule.weight is not None for rule in self.rules):
            return None
        return replace(self, query=replace(self.own, include_archive=True, token_budget=None, verify=False), rules=())

    def asked_at(self, event: Memory | None) -> int | None:
        """The last moment of the stretch that words name, of a question about the past: a memory that was superseded
        after it stays."""
        if self.words is None or self.query.valid_at is not None or not _PAST.search(self.query.text):
            return None
        ends = [self.words.before]
        if event is not None and self.words.event is not None and self.words.event.side != "after":
            ends.append(happened_at(event))
        known = [end for end in ends if end is not None]
        return min(known) - 1 if known else None

    def in_time(self, event: Memory | None) -> InTime:
        """The question with its stretch of time. `event` is the memory that tells of the event in the question."""
        query, words = self.query, self.words
        if words is None:
            return InTime(query, None, "")
        since, before = words.since, words.before
        if event is not None and words.event is not None:
            at = happened_at(event)
            if words.event.side == "after":
                since = at if since is None else max(since, at)
            else:
                before = at if before is None else min(before, at)
        if since is None and before is None:
            return InTime(query, None, "")
        about = words.about(event=event is not None)
        listed = asks_for_everything(about, query.text, of_event=event is not None)
        sure, own = (1.0, "") if event is None else (BY_EVENT, event.id)
        window = Window(since, before, query.time_words == "only" or listed, sure, own)
        kind = asked_kind(query, about)
        if listed:  # nothing is there to be matched
            return InTime(replace(query, text="", min_score=0.0, window=window), window, kind)
        # The words of an event stay: a memory often tells of the event and of its results in the same words.
        asked = replace(query, text=words.searched(), about=words.about(event=False), window=window)
        return InTime(asked, window, kind)


def plan_of(own: Query, now: int, zone: tzinfo, rules: Sequence[Rule] = ()) -> RecallPlan:
    """The plan for a reader's question that is asked at `now` (ms). Words of time are meant in `zone`."""
    moment = now if own.as_of is None else own.as_of
    words = None if own.time_words == "off" else read(own.text, moment, zone)
    return RecallPlan(narrowed(own, rules), words, zone, rules, own)


def steps(plan: RecallPlan, answers: Answers) -> Iterator[SearchStep]:
    """The searches of a plan. `answers` holds by role the answer of each step before the next step is taken."""
    query, words = plan.query, plan.words
    if words is not None and words.event is not None:
        about = Query(text=words.event.text, spaces=query.spaces, limit=1, as_of=query.as_of, by_match_alone=True)
        yield SearchStep(Role.EVENT, narrowed(about, plan.rules))
    plan = replace(plan, query=replace(plan.query, asked_at=plan.asked_at(event_of(answers))))
    query, asked = plan.query, plan.in_time(event_of(answers))
    yield SearchStep(Role.MAIN, asked.query)
    if (window := asked.window) is None:
        return
    only = window._replace(only=True)
    if not asked.inside(answers[Role.MAIN]):
        yield SearchStep(
            Role.INSIDE, replace(asked.query, window=only, limit=1, sort="relevance", token_budget=None, verify=False)
        )
    if Role.INSIDE in answers and not answers[Role.INSIDE].results:
        if query.time_words == "prefer":
            # With other words another memory may match well enough.
            yield SearchStep(Role.EVERYWHERE, query)
    elif answers[Role.MAIN].abstain and not window.only:
        # Time alone makes no answer: the question has one only when the search without the raise finds one.
        yield SearchStep(Role.PLAIN, replace(query, about=asked.query.about))
    if asked.kind:
        listing = replace(query, text="", kinds=(asked.kind,), min_score=0.0, window=only)
        yield SearchStep(Role.KIND, listing)
        shown = SearchStep(Role.EVERYWHERE, query) if Role.EVERYWHERE in answers else SearchStep(Role.MAIN, asked.query)
        if answers[Role.KIND].results and answers[Role.KIND].truncated_by_budget:
            yield SearchStep(Role.WHOLE_KIND, replace(listing, token_budget=None))
        if answers[Role.KIND].results and answers[shown.role].truncated_by_budget:
            yield SearchStep(Role.WHOLE_ANSWER, replace(shown.query, token_budget=None))


def event_of(answers: Answers) -> Memory | None:
    """The memory that tells of the event best, if the match is sure enough."""
    answer = answers.get(Role.EVENT)
    return None if answer is None or answer.abstain else answer.results[0].memory


def answer_of(plan: RecallPlan, answers: Answers) -> Recalled:
    """The answer to the question of a plan. `answers` holds by role the answer to each of its steps."""
    words, event = plan.words, event_of(answers)
    if words is None:
        return answers[Role.MAIN]
    asked = plan.in_time(event)
    answer = answers.get(Role.EVERYWHERE, answers[Role.MAIN])
    if Role.PLAIN in answers:
        plain = answers[Role.PLAIN]
        covered = max(answer.coverage, plain.coverage)
        answer = replace(answer, coverage=covered, abstain=plain.abstain, answered=plain.answered)
    elif not asked.query.text and asked.inside(answer):
        answer = _whole(answer, explain=plan.query.explain)
    if Role.KIND in answers and answers[Role.KIND].results:
        answer = _kind_first(plan.query, answers, answer)
    bounds = asked.window or Window(None, None)
    read = TimeRead(
        words=(*words.words, *((words.event_words,) if event else ())),
        zone=name_of(plan.zone),
        since=bounds.since,
        before=bounds.before,
        event_id=event.id if event else "",
        inside=asked.inside(answer),
    )
    lost = words.event.text if words.event and not event else ""
    widened = Role.EVERYWHERE in answers and not read.inside
    sentence = time_sentence(read, plan.zone, len(answer.results), lost=lost, widened=widened)
    return replace(answer, time=replace(read, told=sentence))


def _kind_first(query: Query, answers: Answers, answer: Recalled) -> Recalled:
    """The memories of the kind that is asked for, the newest first, followed by `answer`. Not every memory of a
    decision says "decided", and not every memory with that word has the kind."""
    first = _whole(answers[Role.KIND], explain=query.explain)
    listed = {hit.memory.id for hit in answers.get(Role.WHOLE_KIND, first).results}
    behind = answers.get(Role.WHOLE_ANSWER, answer).results
    others = [hit for hit in behind if hit.memory.id not in listed][: query.limit - len(listed)]
    tokens, kept = first.tokens_used, []
    for hit in [] if first.truncated_by_budget else others:
        cost = cost_of(hit)
        if query.token_budget is not None and tokens + cost > query.token_budget:
            break
        tokens += cost
        kept.append(hit)
    return replace(
        first,
        results=(*first.results, *kept),
        tokens_used=tokens,
        truncated_by_budget=len(listed) - len(first.results) + len(others) - len(kept),
        degraded=tuple(dict.fromkeys(first.degraded + answer.degraded)),
    )


def _whole(answer: Recalled, *, explain: bool) -> Recalled:
    """Only a time was asked for, and every result lies in it: each is wholly the object of the question."""
    signals = (Share("date", 1.0, 1.0, 1.0, 1.0),) if explain else ()
    results = tuple(replace(hit, score=1.0, signals=signals, estimate=None) for hit in answer.results)
    return replace(answer, results=results, coverage=1.0, abstain=False, answered=1.0)
