"""A tool's answer in both its forms, within the token budget of what is really sent.

The Mesh counts the texts of results. A tool sends more: ids, times, the note that marks data. Only the maker of a form
knows its size, so a budget is kept here once more, by the larger of the two forms. Pure: the JSON form of a response
in, an answer out.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mnemesh_gateway.doors.mcp.answers import answer_text, structured_answers
from mnemesh_gateway.doors.mcp.tools.tool_fields import FULL
from mnemesh_memory.text.text import estimate_tokens

Json = Mapping[str, Any]
# Of an answer that abstains, when the agent names no limit: so many results, and none with less of the best score.
WEAK_RESULTS_MAX: Final = 3
WEAK_SHARE_MIN: Final = 0.5
# Of any other such answer, no result with less than both.
SHARE_MIN: Final = 0.1
SCORE_MIN: Final = 0.05
NOTHING_FITS: Final = "token_budget: no result fits into {budget} tokens, even in part"


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object that fits the output schema of a tool, and the text that an agent reads."""

    structured: dict[str, Any]
    text: str


def answered(tool: str, response: Json, detail: str, budget: int | None = None) -> Answer:
    """The answer of `tool`, whose operation returned `response`. Of a recall `budget` bounds the tokens sent."""
    if tool != "recall":
        return _made(tool, response, detail)
    return _recalled(response, detail, budget)


def worth_showing(scores: Sequence[float], *, abstain: bool) -> list[int]:
    """The places of the results that an answer with these scores shows, in their order."""
    best = max(scores, default=0.0)
    if abstain:
        return [place for place, score in enumerate(scores[:WEAK_RESULTS_MAX]) if score >= WEAK_SHARE_MIN * best]
    return [place for place, score in enumerate(scores) if score >= min(SHARE_MIN * best, SCORE_MIN)]


def _made(tool: str, response: Json, detail: str) -> Answer:
    return Answer(
        structured_answers.structured(tool, response, full=detail == FULL), answer_text.render(tool, response)
    )


def _recalled(response: Json, detail: str, budget: int | None) -> Answer:
    def made(shown: Json) -> tuple[Answer, int]:
        answer = _made("recall", shown, detail)
        tokens = _tokens(answer)
        return Answer({**answer.structured, "tokens_used": tokens}, answer.text), tokens

    answer, tokens = made(response)
    if budget is None or tokens <= budget or not response["results"]:
        return answer
    # More results are never less text, so the most that fit are found by halves.
    count = bisect_right(
        range(1, len(response["results"])),
        budget,
        key=lambda kept: made(structured_answers.shortened(response, kept))[1],
    )
    if count:
        return made(structured_answers.shortened(response, count))[0]
    answer, tokens = made(structured_answers.snippet_only(response))
    if tokens <= budget:
        return answer
    nothing = structured_answers.shortened(response, 0)
    return made({**nothing, "notes": [NOTHING_FITS.format(budget=budget)]})[0]


def _tokens(answer: Answer) -> int:
    """The cost of the larger form to a model, by the same count as the texts of memories."""
    sent = json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
    return max(estimate_tokens(sent), estimate_tokens(answer.text))
