"""One answer out of the answers to the steps of a plan, with the note about the words of time. Pure."""

from __future__ import annotations

from dataclasses import replace

from mnemesh_actors.recall.plan import Answers, Plan, Role, event_of
from mnemesh_actors.recall.results import cost_of
from mnemesh_actors.runtime.zones import name_of
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.explanation import Share
from mnemesh_memory.times.window import TimeRead, Window, told
from mnemesh_memory.values.model import Query


def answer_of(plan: Plan, answers: Answers) -> Recalled:
    """The answer to the question of a plan. `answers` holds by role the answer to each of its steps."""
    words, event = plan.words, event_of(answers)
    if words is None:
        return answers[Role.MAIN]
    asked = plan.in_time(event)
    answer = answers.get(Role.EVERYWHERE, answers[Role.MAIN])
    if Role.PLAIN in answers:
        plain = answers[Role.PLAIN]
        answer = replace(answer, coverage=max(answer.coverage, plain.coverage), abstain=plain.abstain)
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
    sentence = told(read, plan.zone, len(answer.results), lost=lost, widened=widened)
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
    results = tuple(replace(hit, score=1.0, signals=signals) for hit in answer.results)
    return replace(answer, results=results, coverage=1.0, abstain=False)
