"""Rules of recall through every door: stored, listed, with their effect, ended."""

from __future__ import annotations

import pytest
from scenario_doors import Door
from test_scenarios import remember


async def test_a_rule_hides_a_kind_until_it_ends_and_a_question_by_name_finds_it(door: Door, space: str) -> None:
    await remember(door, space, "The nightly build took nine minutes.", kind="run")
    added = await door.call("add_rule", condition="kind = run", effect="hide", reason="Runs are noise.", space=space)
    rule = added["rule"]
    assert (rule["condition"], rule["effect"], rule["hard"], rule["space"]) == ("kind = run", "hide", True, space)
    assert (await door.call("get_rules", spaces=[space]))["rules"] == [rule]

    async def runs(**more: object) -> int:
        asked = await door.call("recall", query="how long did the build take", spaces=[space], **more)
        return sum(hit["kind"] == "run" for hit in asked["results"])

    assert (await runs(), await runs(kinds=["run"])) == (0, 1)
    assert (await door.call("delete_rule", id=rule["id"]))["rule"]["id"] == rule["id"]
    assert await runs() == 1


async def test_a_rule_is_no_knowledge_and_is_shown_to_who_asks_for_rules(door: Door, space: str) -> None:
    reason = "The nightly build is noise to every reader."
    rule = (await door.call("add_rule", condition="tag = nightly", effect="-0.2", reason=reason, space=space))["rule"]
    # The word rule as a tag of somebody's own makes no rule of a memory.
    kept = (await remember(door, space, "The nightly build may take nine minutes.", tags=["rule"]))["memory"]["id"]

    async def shown(**more: object) -> tuple[set[str], set[str], int]:
        found = await door.call("recall", query="the nightly build is noise", spaces=[space], **more)
        page = await door.call("list", spaces=[space], **more)
        listed = {memory["id"] for memory in page["memories"]}
        return {hit["memory"]["id"] for hit in found["results"]}, listed, page["total"]

    assert await shown() == ({kept}, {kept}, 1)
    assert await shown(tags_any=["rule"]) == ({kept, rule["id"]}, {kept, rule["id"]}, 2)
    groups = (await door.call("context", query="the nightly build is noise", spaces=[space]))["groups"]
    assert rule["id"] not in {memory["id"] for group in groups for memory in group["memories"]}
    (read,) = (await door.call("get", ids=[rule["id"]]))["memories"]
    assert read["content"] == reason


async def test_a_soft_rule_takes_its_share_of_a_score_and_moves_no_other(door: Door, space: str) -> None:
    await remember(door, space, "The load test runs against the staging host.", tags=["hot"])
    await remember(door, space, "The linter runs before each commit.")

    async def scores(**more: object) -> dict[str, float]:
        asked = await door.call("recall", query="where does the load test run?", spaces=[space], **more)
        return {hit["memory"]["id"]: hit["score"] for hit in asked["results"]}

    before = await scores()
    first, other = before.values()
    await door.call("add_rule", condition="tag = hot", effect="-0.5", reason="Old news.", space=space)
    after = await scores()
    assert after == pytest.approx(dict(zip(before, (first / 2, other), strict=True)), abs=0.01)
    assert (await scores(min_score=0.75 * first)) == {}
    assert (await scores(limit=1)) == pytest.approx({next(iter(after)): next(iter(after.values()))}, abs=0.01)
