"""A cold memory through every door: shown as a gist or tags, and whole when it is read by its id."""

from __future__ import annotations

from scenario_doors import Door
from test_scenarios import remember

LOOKS_MAX = 100
LONG = (
    "The kiln room has two ovens from Verona. Alice set both up in March 2019 after the flood in the old cellar. We "
    "talked about many things on that day and everyone was happy. Bob cleans the filters, and the spare parts lie in "
    "shelf 14. The glaze oven must stay below 1240 degrees. Nobody may open the oven door during the cooling. And so "
    "on and so forth, as everyone knows already."
)


async def test_a_cold_memory_is_shown_short_and_read_whole(door: Door, space: str) -> None:
    made = await remember(door, space, LONG, kind="prompt")  # cold at once, by a setting of the node
    id_ = made["memory"]["id"]
    for _ in range(LOOKS_MAX):  # cold within a few milliseconds
        (listed,) = (await door.call("list", spaces=[space]))["memories"]
        if listed["shown"] == "tags":
            break
    assert listed["shown"] == "tags"
    assert len(listed["content"]) < len(LONG) / 2
    (hit,) = (await door.call("recall", query="who cleans the filters?", spaces=[space]))["results"]
    assert hit["memory"]["shown"] == "tags"
    assert "Bob cleans the filters" in hit["content"]
    (whole,) = (await door.call("get", ids=[id_]))["memories"]
    assert (whole["content"], whole["shown"]) == (LONG, "")
