"""The answer to a writer of a text that is near another text, through every door."""

from __future__ import annotations

import pytest
from scenario_doors import Door
from test_scenarios import space as space

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_write_beside_a_near_text_says_how_to_replace_that_one(door: Door, space: str) -> None:
    old = (await door.call("remember", content="The API listens on port 8080", space=space))["memory"]["id"]
    new = await door.call("remember", content="The API listens on port 9090 now", space=space)
    assert new["action"] == "ADD"
    assert new["hint"] == f'if this replaces {old}, call supersede(id="{old}", content=<this text>)'
    done = await door.call("supersede", id=old, content="The API listens on port 9090 now")
    assert (done["action"], done["memory"]["id"]) == ("SUPERSEDE", new["memory"]["id"]), "the one that was just stored"
    assert done["superseded"]["state"] == "superseded"


async def test_a_text_that_differs_in_case_and_stop_only_is_stored_and_offered_as_a_duplicate(
    door: Door, space: str
) -> None:
    old = (await door.call("remember", content="Alice leads the payments team", space=space))["memory"]["id"]
    told = f"{old} says the same but for case, spacing or a final stop"
    checked = await door.call("check", content="alice leads the payments team.", space=space)
    assert told in checked["reason"]
    new = await door.call("remember", content="alice leads the payments team.", space=space)
    assert (new["action"], new["related"][0]["alike"]) == ("ADD", True)
    assert told in new["reason"]
    assert new["hint"] == f'if one of the two is enough, call forget(id="{new["memory"]["id"]}")'


async def test_who_forces_a_text_is_told_nothing_to_do(door: Door, space: str) -> None:
    await door.call("remember", content="The build needs Python 3.11", space=space)
    forced = await door.call("remember", content="the build needs Python 3.11", space=space, force=True)
    assert (forced["action"], forced["hint"]) == ("ADD", "")
