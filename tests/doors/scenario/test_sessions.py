"""Sessions through every door: what one begins with, where it stands, how it goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scenario_doors import Door, refusal
from test_scenarios import SECRET, remember
from test_scenarios import space as space

from mnemesh_memory.text.text import estimate_tokens

pytestmark = pytest.mark.asyncio(loop_scope="session")

STANDING = {
    "files": ["src/login.py"],
    "decisions": ["sessions expire after 15 minutes"],
    "questions": ["does the mobile app refresh by itself?"],
    "next_steps": ["write the test", "run it twice"],
    "errors": ["KeyError: 'sid' in refresh()"],
    "custom": "Branch fix/login.\nThe flag LOGIN_V2 is on.",
}


def names(answer: dict[str, Any]) -> list[str]:
    return [group["name"] for group in answer["groups"]]


def ids(answer: dict[str, Any]) -> list[str]:
    return [memory["id"] for group in answer["groups"] for memory in group["memories"]]


async def test_a_checkpoint_comes_back_whole_and_a_later_one_is_its_next_version(door: Door, space: str) -> None:
    done = await door.call("checkpoint", task="Fix the login loop", session="s1", space=space, **STANDING)
    first = done["checkpoint"]
    assert (first["number"], first["space"]) == (1, space)
    found = (await door.call("resume", session="s1", spaces=[space]))["checkpoint"]
    assert {name: found[name] for name in STANDING} == STANDING
    assert (found["task"], found["session"], found["id"]) == ("Fix the login loop", "s1", first["id"])
    added = await door.call("checkpoint", session="s1", space=space, next_steps=["run it twice", "ship"], merge=True)
    assert added["checkpoint"]["next_steps"] == ["write the test", "run it twice", "ship"]
    assert (added["checkpoint"]["id"], added["checkpoint"]["number"]) == (first["id"], 2)
    await door.call("checkpoint", task="Paint the crane", session="s2", space=space)
    assert (await door.call("resume", spaces=[space]))["checkpoint"]["task"] == "Paint the crane"
    assert (await door.call("resume", session="s1", spaces=[space]))["checkpoint"]["decisions"] == STANDING["decisions"]
    assert (await door.call("resume", session="s3", spaces=[space])).get("checkpoint") is None
    (memory,) = (await door.call("get", ids=[first["id"]]))["memories"]
    assert (memory["kind"], memory["tags"]) == ("summary", ["checkpoint"])


async def test_a_checkpoint_of_nothing_or_with_a_credential_is_refused(door: Door, space: str) -> None:
    await refusal(door.call("checkpoint", session="s1", space=space), "INVALID_ARGUMENT", "task")
    await refusal(door.call("checkpoint", task=f"key {SECRET}", space=space), "INVALID_ARGUMENT", "content")


async def test_a_session_begins_with_what_matters_and_is_told_nothing_twice(door: Door, space: str) -> None:
    assert (await door.call("context", session="s1", spaces=[space]))["groups"] == []
    pin = (await remember(door, space, "Never push on Fridays.", tier="pinned"))["memory"]["id"]
    await remember(door, space, "The user wants pnpm, never npm.", kind="preference")
    await remember(door, space, "Run the linter before each commit.", kind="procedure")
    await remember(door, space, "Who owns the harbour crane?", tags=["question"])
    await remember(door, space, "Deploys of the payment service run from CI only.", kind="decision")
    await remember(door, space, "Price lists of last year.", valid_to="2020-01-01T00:00:00Z")
    await door.call("checkpoint", task="Fix the login loop", space=space, session="s0")
    asked = {"query": "where do deploys of the payment service run?", "session": "s1", "spaces": [space]}
    found = await door.call("context", **asked)
    assert names(found)[:5] == ["pinned", "answers", "preferences", "rules", "questions"]
    assert found["groups"][0]["memories"][0]["id"] == pin
    assert len(ids(found)) == len(set(ids(found))) == 6
    assert not found.get("continued")
    again = await door.call("context", **asked)
    assert (again["groups"], again["continued"]) == ([], True)
    anew = await door.call("context", **asked, anew=True)
    assert ids(anew) == ids(found)
    resumed = await door.call("resume", spaces=[space])
    assert resumed["checkpoint"]["task"] == "Fix the login loop"
    assert names(resumed)[0] == "pinned"


async def test_a_context_obeys_the_rules_that_hide(door: Door, space: str) -> None:
    await remember(door, space, "The user wants pnpm.", kind="preference")
    shown = (await remember(door, space, "Deploys run from CI.", kind="decision"))["memory"]["id"]
    await door.call("add_rule", condition="kind = preference", effect="hide", space=space)
    assert ids(await door.call("context", spaces=[space])) == [shown]


async def test_a_context_keeps_its_budget(door: Door, space: str) -> None:
    for number in range(12):
        await remember(door, space, f"Rule {number}: " + f"the crane of pier {number} lifts steel. " * 8, tier="pinned")
    for budget in (150, 600):
        found = await door.call("context", spaces=[space], token_budget=budget)
        assert 0 < found["tokens_used"] <= budget
        texts = [memory["content"] for group in found["groups"] for memory in group["memories"]]
        assert estimate_tokens(json.dumps(texts)) <= 1.1 * budget
        assert found["left_out"] == 12 - len(texts)
    await refusal(door.call("context", spaces=[space], token_budget=5), "INVALID_ARGUMENT", "token_budget")
