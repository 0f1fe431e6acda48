"""Whole spaces through every door: story, open points, coverage and topics, each with its memories."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import remember

PORTS = ("The staging database listens on port 5440.", "The production database listens on port 5432.")
TEAS = ("Jasmine tea is brewed at 80 degrees.", "Black tea is brewed at 95 degrees.", "Green tea is brewed briefly.")


async def test_a_story_tells_every_decision_and_cites_its_memories(door: Door, space: str) -> None:
    decided = await remember(door, space, "We chose Typesense over Solr. It starts faster.", kind="decision")
    failed = await remember(door, space, "The crawler ran out of memory.", kind="error")
    for number in range(3):
        await remember(door, space, f"The pier has {number} lamps.")
    told = await door.call("story", spaces=[space], limit=1)
    texts = {one["text"]: one["ids"] for one in told["sentences"]}
    assert texts == {
        "Decided: We chose Typesense over Solr.": [decided["memory"]["id"]],
        "Failed: The crawler ran out of memory.": [failed["memory"]["id"]],
    }
    assert (told["examined"], told["left_out"]) == (5, 3)


async def test_a_question_without_an_answer_is_an_open_point(door: Door, space: str) -> None:
    asked = await remember(door, space, "Who renews the certificate of the lighthouse?")
    found = await door.call("gaps", spaces=[space])
    points = [one for one in found["gaps"] if one["type"] == "question"]
    assert [(one["text"], one["ids"]) for one in points] == [
        ("Who renews the certificate of the lighthouse?", [asked["memory"]["id"]])
    ]


async def test_coverage_names_the_words_that_no_memory_holds(door: Door, space: str) -> None:
    known = await remember(door, space, PORTS[0])
    found = await door.call("coverage", query="which port does the staging database use with kerberos?", spaces=[space])
    assert "kerberos" in found["missing_terms"]
    assert not {"port", "staging", "database"} & set(found["missing_terms"])
    assert found["ids"][0] == known["memory"]["id"]
    stems = await door.call("coverage", query="does the database listen on ports?", spaces=[space])
    assert not stems.get("missing_terms")
    await refusal(door.call("coverage", query="", spaces=[space]), "INVALID_ARGUMENT", "query")


async def test_topics_divide_a_space_and_open_into_their_memories(door: Door, space: str) -> None:
    ports = [(await remember(door, space, text))["memory"]["id"] for text in PORTS]
    teas = [(await remember(door, space, text))["memory"]["id"] for text in TEAS]
    await remember(door, space, "OK.\n\nPrompts:\n- how hot is tea?", kind="run", tags=["session-run"])
    found = await door.call("recall_hierarchical", query="how hot is tea brewed?", spaces=[space], level=1)
    best = found["clusters"][0]
    assert set(best["memories"]) <= set(teas)
    opened = await door.call("drill_down", cluster=best["id"], spaces=[space])
    assert set(opened["memories"]) <= set(teas)
    assert opened["cluster"]["id"] == best["id"]
    assert all(one["score"] > 0.005 for one in found["clusters"])
    whole = await door.call("recall_hierarchical", spaces=[space], level=1)
    assert sum(one["size"] for one in whole["clusters"]) == len(ports) + len(teas)
    await refusal(door.call("drill_down", cluster="t1-000000000000", spaces=[space]), "NOT_FOUND", "cluster")
    await refusal(door.call("drill_down", cluster="", spaces=[space]), "INVALID_ARGUMENT", "cluster")


async def test_memories_that_are_used_together_are_a_room(door: Door, space: str) -> None:
    first, second = [(await remember(door, space, text))["memory"]["id"] for text in (PORTS[0], TEAS[0])]
    other = (await remember(door, space, PORTS[1]))["memory"]["id"]
    for _ in range(3):
        await door.call("get", ids=[first, second])
    room = (await door.call("navigate", id=first, spaces=[space]))["points"]
    assert [(one["id"], one["start"]) for one in room[:2]] == [(first, True), (second, False)]
    assert room[1]["reasons"] == [f"used with {first}: 3 times"]
    assert other not in [one["id"] for one in room], "nobody used it together with the others"
    asked = (await door.call("navigate", query="how hot is jasmine tea brewed?", spaces=[space]))["points"]
    assert second in [one["id"] for one in asked if one["start"]]
    whole = (await door.call("navigate", spaces=[space]))["points"]
    assert {first, second} <= {one["id"] for one in whole}
    await refusal(door.call("navigate", query="tea", id=first, spaces=[space]), "INVALID_ARGUMENT", "query")
    await refusal(door.call("navigate", id="no such memory", spaces=[space]), "NOT_FOUND", "id")
