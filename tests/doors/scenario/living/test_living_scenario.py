"""Session coherence and neighbours in time through every door."""

from __future__ import annotations

import pytest
from scenario_doors import Door
from test_scenarios import remember


async def test_the_asking_session_finds_its_own_words_first_among_equals(door: Door, space: str) -> None:
    text = "The kiln is cleaned on Mondays."
    ids = {}
    for session in ("s1", "s2"):
        done = await remember(door, f"{space}-{session}", text, source={"session": session})
        ids[session] = done["memory"]["id"]
    for session, id_ in ids.items():
        spaces = [f"{space}-s1", f"{space}-s2"]
        asked = await door.call(
            "recall", query="when is the kiln cleaned?", spaces=spaces, current_session=session, explain=True
        )
        assert asked["results"][0]["id"] == id_
        (signal,) = [one for one in asked["results"][0]["signals"] if one["name"] == "session"]
        assert signal["share"] == 0
        assert 0.99 < signal["value"] <= 1
        assert asked["results"][0]["heat"]["value"] == pytest.approx(0.75, abs=0.01)


async def test_related_names_what_was_written_at_the_same_time(door: Door, space: str) -> None:
    first = (await remember(door, space, "Wax seals the lids of jars."))["memory"]["id"]
    second = (await remember(door, space, "Bo mends the gutters in autumn."))["memory"]["id"]
    seen: list[str] = []
    for _ in range(100):  # the slots follow the log
        (near,) = (await door.call("related", id=first))["results"] or [{"id": "", "reasons": []}]
        seen = [reason for reason in near["reasons"] if reason.startswith("temporal: ")]
        if seen:
            break
    assert (near["id"], seen) == (second, ["temporal: written 0 min after"])


async def test_a_text_unlike_its_space_is_named_surprising_and_stored(door: Door, space: str) -> None:
    for number in range(12):
        await remember(door, space, f"The ferry number {number} leaves the harbour of Pemba at nine.")
    done = await remember(door, space, "Quarterly taxes of the bakery are filed by Ms Okafor.")
    for number in range(20):  # the sample is taken beside the writes
        if "surprisal" in done and done["surprisal"] is not None:
            break
        done = await remember(door, space, f"Quarterly taxes of bakery {number} are filed by Ms Okafor.", force=True)
    assert done["action"] == "ADD"
    assert done["surprisal"] >= 0
    assert done["novelty_reason"]
