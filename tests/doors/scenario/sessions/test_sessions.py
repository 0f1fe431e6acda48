"""Sessions through every door: what one begins with, where it stands, how it goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from scenario_doors import Door, refusal
from test_scenarios import SECRET, remember

from mnemesh_memory.text.text import estimate_tokens

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
    assert ids(await door.call("context", **asked, anew=True)) == ids(found)
    resumed = await door.call("resume", spaces=[space])
    assert resumed["checkpoint"]["task"] == "Fix the login loop"
    assert names(resumed)[0] == "pinned"


async def test_what_was_used_together_comes_with_the_answer(door: Door, space: str) -> None:
    texts = ("The harbour crane lifts forty tons.", "Jasmine tea is brewed at eighty degrees.")
    crane, tea = [(await remember(door, space, text))["memory"]["id"] for text in texts]
    asked = {"query": "how many tons does the harbour crane lift?", "spaces": [space]}
    assert "predicted" not in names(await door.call("context", **asked))
    for _ in range(2):
        await door.call("get", ids=[crane, tea])
    found = {group["name"]: group["memories"] for group in (await door.call("context", **asked))["groups"]}
    assert [[memory["id"] for memory in found[name]] for name in ("answers", "predicted")] == [[crane], [tea]]


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


RUN = {
    "prompts": ["fix the login loop", "now run the tests"],
    "files": ["src/login.py"],
    "errors": ["`make test` failed"],
    "outcome": "The loop is gone: the cookie had no path.",
    "model": "glass-4",
}


async def test_a_session_has_one_record_and_a_later_one_is_its_next_version(door: Door, space: str) -> None:
    first = (await door.call("record_run", session="s1", space=space, tokens_in=900, tokens_out=40, **RUN))["run"]
    assert [first[name] for name in ("status", "tokens_in", "tokens_out", "model")] == ["done", 900, 40, "glass-4"]
    assert RUN["outcome"] in first["content"]
    assert "- now run the tests" in first["content"]
    await door.call("record_run", session="s2", space=space, outcome="Painted.", status="interrupted")
    later = (await door.call("record_run", session="s1", space=space, tokens_in=950, tokens_out=70, **RUN))["run"]
    assert (later["id"], later["tokens_out"]) == (first["id"], 70)
    listed = await door.call("session_runs", spaces=[space])
    assert [(run["session"], run["status"]) for run in listed["runs"]] == [("s2", "interrupted"), ("s1", "done")]
    only = (await door.call("session_runs", spaces=[space], session="s1"))["runs"]
    assert [run["tokens_in"] for run in only] == [950]
    assert names(await door.call("resume", spaces=[space])) == ["runs"]
    assert set(ids(await door.call("context", spaces=[space]))) == {first["id"], listed["runs"][0]["id"]}
    await refusal(door.call("record_run", session="s3", space=space), "INVALID_ARGUMENT", "prompts")
    await refusal(door.call("record_run", session="s3", space=space, outcome=f"key {SECRET}"), "INVALID_ARGUMENT")


async def test_a_record_leads_to_the_prompt_that_the_session_followed(door: Door, space: str) -> None:
    steps = {"kind": "prompt", "title": "Fix a loop"}
    named = (await remember(door, space, "Read the log, then write a test.", **steps))["memory"]["id"]
    first = (await door.call("record_run", session="s1", space=space, prompt_id=named, **RUN))["run"]
    assert first["prompt_id"] == named
    later = (await door.call("record_run", session="s1", space=space, tokens_in=9, **RUN))["run"]
    assert (later["id"], later["prompt_id"]) == (first["id"], named)
    (record,) = (await door.call("get", ids=[first["id"]]))["memories"]
    assert [(link["type"], link["id"]) for link in record["links"]] == [("depends-on", named)]
    stored = await remember(door, space, "Paint it twice.", kind="prompt", source={"session": "s2"})
    painted = (await door.call("record_run", session="s2", space=space, outcome="Painted."))["run"]
    assert painted["prompt_id"] == stored["memory"]["id"]
    other = (await remember(door, space, "The crane is red."))["memory"]["id"]
    await refusal(door.call("record_run", session="s3", space=space, prompt_id=other, **RUN), "INVALID_ARGUMENT")


async def test_calls_at_the_same_time_make_one_record_of_a_session(door: Door, space: str) -> None:
    calls = (
        door.call("record_run", session="s1", space=space, tokens_in=1 + number // 4, **RUN) for number in range(8)
    )
    assert len({done["run"]["id"] for done in await asyncio.gather(*calls)}) == 1


async def test_a_forgotten_record_stays_forgotten_until_there_is_more_to_tell(door: Door, space: str) -> None:
    first = (await door.call("record_run", session="s1", space=space, **RUN))["run"]["id"]
    await door.call("forget", id=first)
    again = (await door.call("record_run", session="s1", space=space, **RUN))["run"]["id"]
    assert (again, (await door.call("session_runs", spaces=[space]))["runs"]) == (first, [])
    more = (await door.call("record_run", session="s1", space=space, tokens_in=7, **RUN))["run"]["id"]
    assert [run["id"] for run in (await door.call("session_runs", spaces=[space]))["runs"]] == [more]
    assert more != first


async def test_a_record_is_found_by_its_kind_and_never_stands_before_an_answer(door: Door, space: str) -> None:
    question = "Which port does the harbour gateway listen on?"
    run = (await door.call("record_run", session="s1", space=space, prompts=[question]))["run"]["id"]
    alone = await door.call("recall", query=question, spaces=[space])
    assert (alone["results"], "session-run" in alone["notes"][0]) == ([], True)
    told = await remember(door, space, "The harbour gateway listens on port 7441.")
    assert (told.get("related", []), told.get("hint", "")) == ([], "")
    fact = told["memory"]["id"]

    async def found(**more: object) -> list[str]:
        answer = await door.call("recall", query=question, spaces=[space], **more)
        return [hit["memory"]["id"] for hit in answer["results"]]

    assert await found() == [fact]
    assert await found(kinds=["run"]) == await found(tags_any=["session-run"]) == [run]


async def test_the_tag_of_records_makes_no_record_of_another_memory(door: Door, space: str) -> None:
    tagged = {"tags": ["session-run"], "attrs": {"run.tokens_in": "-5"}}
    fact = (await remember(door, space, "The crane is red.", **tagged))["memory"]["id"]
    run = (await remember(door, space, "Nightly tests passed.", kind="run", **tagged))["memory"]["id"]
    listed = (await door.call("session_runs", spaces=[space]))["runs"]
    assert [(one["id"], one["tokens_in"]) for one in listed] == [(run, 0)]
    groups = (await door.call("context", spaces=[space]))["groups"]
    assert {group["name"]: [one["id"] for one in group["memories"]] for group in groups} == {
        "recent": [fact],
        "runs": [run],
    }


async def test_an_open_requirement_is_shown_until_it_is_settled(door: Door, space: str) -> None:
    csv = (await remember(door, space, "Orders can be exported as CSV.", kind="requirement"))["memory"]["id"]
    sso = (await remember(door, space, "Login works with SSO.", kind="requirement"))["memory"]["id"]
    asked = {"spaces": [space]}
    assert (
        names(await door.call("context", **asked))[0] == names(await door.call("resume", **asked))[0] == "requirements"
    )
    done = (await door.call("settle", id=csv, status="done", note="in 2.3"))["requirement"]
    assert (done["status"], done["note"]) == ("done", "in 2.3")
    assert [one["id"] for one in (await door.call("requirements", **asked))["requirements"]] == [sso]
    assert [one["id"] for one in (await door.call("requirements", status="done", **asked))["requirements"]] == [csv]
    assert ids(await door.call("resume", **asked)) == [sso]
    await door.call("settle", id=csv, status="open")
    every = await door.call("requirements", status="all", **asked)
    assert [(one["id"], one["status"]) for one in every["requirements"]] == [(sso, "open"), (csv, "open")]
    other = (await remember(door, space, "The crane is red."))["memory"]["id"]
    await refusal(door.call("settle", id=other, status="done"), "FAILED_PRECONDITION")
    await refusal(door.call("settle", id=sso, status="perhaps"), "INVALID_ARGUMENT", "status")
