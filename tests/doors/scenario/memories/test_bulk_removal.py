"""A removal of many memories, through every door."""

from __future__ import annotations

from typing import Any

from scenario_doors import Door, refusal


async def test_a_bulk_removal_that_no_filter_narrows_is_refused(door: Door, space: str) -> None:
    kept = (await door.call("remember", content="The lab has six ovens", space=space))["memory"]["id"]
    for fields in ({}, {"purge": True}, {"state": "all"}, {"agent": " "}, {"session": " "}):
        refused = await refusal(door.call("bulk_forget", dry_run=False, **fields), "INVALID_ARGUMENT")
        assert refused.message.startswith("filters: missing; at least one of ")
    assert (await door.call("get", ids=[kept]))["memories"][0]["state"] == "active"
    told = await door.call("bulk_forget", spaces=[space])
    assert (told["ids"], told["dry_run"]) == ([kept], True)


async def test_a_purge_of_many_names_what_stepped_back_for_them(door: Door, space: str) -> None:
    first = (await door.call("remember", content="Merges wait for one review", space=space))["memory"]["id"]
    again = await door.call("supersede", id=first, content="If a build is red, nobody merges")
    fields: dict[str, Any] = {"space": space, "kinds": ["fact"], "purge": True, "dry_run": False}
    gone = await door.call("bulk_forget", **fields)
    assert (gone["ids"], gone["behind"]) == ([again["memory"]["id"]], [first])
