"""Consolidation through every door: told, done once, listed, undone."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import remember
from told_texts import EPISODES


async def test_repeated_episodes_are_promoted_once_and_a_run_is_undone(door: Door, space: str) -> None:
    ids = []
    for number, text in enumerate(EPISODES):
        done = await remember(door, space, text, kind="episode", source={"session": f"s{number}"})
        ids.append(done["memory"]["id"])
    told = await door.call("consolidate", space=space, dry_run=True)
    assert (told["run"], told["read"], told["proposed"], told["applied"]) == ("", 3, 1, 0)
    done = await door.call("consolidate", space=space)
    (step,) = done["steps"]
    assert (step["action"], sorted(step["others"]), done["applied"]) == ("promote", sorted(ids), 1)
    assert (await door.call("consolidate", space=space))["applied"] == 0
    (run,) = (await door.call("list_runs", spaces=[space]))["runs"]
    assert (run["id"], run["state"], run["by"]) == (done["run"], "done", "owner/sleep")
    undone = await door.call("undo_run", run=run["id"])
    assert (undone["run"]["state"], undone["undone"]) == ("undone", 1)
    listed = await door.call("list", spaces=[space])
    assert sorted(memory["id"] for memory in listed["memories"]) == sorted(ids)
    await refusal(door.call("undo_run", run="nothing"), "NOT_FOUND", "run")
