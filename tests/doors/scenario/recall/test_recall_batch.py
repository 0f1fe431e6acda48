"""Many questions in one call, through every door: each is answered as it would be alone, or none is.

MCP has no tool for it: a host calls several tools at once, and so do the questions here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from scenario_doors import Door, McpDoor, refusal
from test_scenarios import remember

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def batching(door: Door) -> Door:
    """Each door that has the operation."""
    if isinstance(door, McpDoor):
        pytest.skip("no MCP tool: a host calls several tools at once")
    return door


async def answers(door: Door, queries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(door, McpDoor):
        return list(await asyncio.gather(*(door.call("recall", **query) for query in queries)))
    return list((await door.call("recall_batch", queries=queries))["answers"])


async def test_questions_in_one_call_are_answered_in_their_order_as_each_would_be_alone(door: Door, space: str) -> None:
    await remember(door, space, "The night ferry leaves at eleven.", kind="fact")
    await remember(door, space, "Tickets are sold on board only.", kind="decision", tags=["tickets"])
    await remember(door, f"{space}/other", "The day ferry leaves at noon.")
    asked = [
        {"query": "when does the ferry leave at night?", "spaces": [space], "limit": 5},
        {"query": "ferry", "spaces": [f"{space}/other"], "mode": "keyword", "explain": True},
        {"query": "where are tickets sold", "spaces": [space], "tags_any": ["tickets"], "snippets_only": True},
        {"query": "", "spaces": [space], "limit": 1},
        {"query": "ferry", "spaces": [space], "kinds": ["person"]},
    ]
    alone = [await door.call("recall", **one) for one in asked]
    together = await answers(door, asked)
    # A result is warmer the second time, and the figures of its heat may be longer.
    for answer in (alone[1], together[1]):
        del answer["results"][0]["heat"], answer["tokens_used"]
    assert together == alone
    assert [len(answer["results"]) for answer in together] == [2, 1, 1, 1, 0]
    assert together[1]["results"][0]["content"] == "The day ferry leaves at noon."
    assert together[2]["results"][0]["content"] == ""


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"limit": 0}, "queries[3].limit"),
        ({"mode": "psychic"}, "queries[3].mode"),
        ({"weights": {"luck": 1}}, "queries[3].weights"),
        ({"limt": 1}, "queries[3].limt"),
    ],
)
async def test_a_question_that_is_refused_is_named_by_its_place_and_no_other_is_answered(
    batching: Door, space: str, wrong: dict[str, Any], field: str
) -> None:
    asked: list[dict[str, Any]] = [{"query": f"question {number}", "spaces": [space]} for number in range(5)]
    asked[3] |= wrong
    await refusal(batching.call("recall_batch", queries=asked), "INVALID_ARGUMENT", field)


@pytest.mark.parametrize("number", [0, 33])
async def test_no_question_or_too_many_are_refused(batching: Door, number: int) -> None:
    await refusal(batching.call("recall_batch", queries=[{"query": "ferry"}] * number), "INVALID_ARGUMENT", "queries")
