"""Links and ratings through every door: put, seen from both ends, brought along by recall, taken away."""

from __future__ import annotations

import uuid

from scenario_doors import Door, refusal
from test_scenarios import remember


async def test_what_resolves_a_memory_comes_with_it_until_it_is_unlinked(door: Door, space: str) -> None:
    problem = (await remember(door, space, "The kiln trips its fuse at dawn, see [[Kiln]]."))["memory"]["id"]
    answer = (await remember(door, space, "Heat it in two steps.", title=f"Steps {space}"))["memory"]["id"]
    linked = await door.call("link", id=problem, type="resolved-by", to=answer)
    assert (linked["action"], linked["memory"]["links"]) == ("LINK", [{"type": "resolved-by", "id": answer}])
    (hit, *_) = (await door.call("recall", query="why does the kiln trip its fuse", spaces=[space]))["results"]
    (end,) = hit["attached"]
    assert (hit["id"], end["id"], end["type"], end["direction"]) == (problem, answer, "resolved-by", "out")
    read = (await door.call("get", ids=[problem, answer]))["memories"]
    ends = [(end["type"], end["direction"], end["title"], end["state"]) for one in read for end in one["linked"]]
    assert ends == [
        ("resolved-by", "out", f"Steps {space}", "active"),
        ("wikilink", "out", "Kiln", "missing"),
        ("resolved-by", "in", "The kiln trips its fuse at dawn, see [[Kiln]].", "active"),
    ]
    for asked, other, reason in (
        (problem, answer, "linked by it: resolved-by"), (answer, problem, "links to it: resolved-by"),
    ):  # fmt: skip
        (near, *_) = (await door.call("related", id=asked))["results"]
        assert (near["id"], near["reasons"][0]) == (other, reason)
    assert (await door.call("unlink", id=problem, type="resolved-by", to=answer))["memory"]["links"] == []
    await refusal(door.call("link", id=problem, type="see-also", to=str(uuid.uuid4())), "NOT_FOUND")


async def test_a_memory_is_rated_by_name_or_by_an_answer_that_cites_it(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Lids are sealed with wax."))["memory"]["id"]
    assert await door.call("rate", id=id_, useful=False) == {
        "rated": [{"id": id_, "useful": 0, "not_useful": 1, "changed": True}]
    }
    (rated,) = (await door.call("rate", answer=f"Sealed with wax ({id_})."))["rated"]
    assert (rated["not_useful"], rated["changed"]) == (1, False)
