"""The answer to a writer of a text that says the same, another value or more than a memory, through every door."""

from __future__ import annotations

from typing import Any

from scenario_doors import Door
from told_texts import SIX


async def test_another_value_of_a_slot_is_stored_and_takes_the_place_of_the_old_one(door: Door, space: str) -> None:
    for old_text, new_text in SIX:
        old = (await door.call("remember", content=old_text, space=space))["memory"]["id"]
        checked = await door.call("check", content=new_text, space=space)
        assert (checked["action"], checked["target_id"]) == ("SUPERSEDE", old)
        assert (await door.call("get", ids=[old]))["memories"][0]["state"] == "active", "check writes nothing"
        new = await door.call("remember", content=new_text, space=space)
        assert (new["action"], new["memory"]["state"]) == ("SUPERSEDE", "active")
        assert new["reason"].startswith(f"replaces {old}")
        assert new["hint"] == f'if both hold, call restore(id="{old}")'
        assert (await door.call("get", ids=[old]))["memories"][0]["state"] == "superseded"
        found = await door.call("recall", query=old_text, spaces=[space], limit=20)
        ids = [result["memory"]["id"] for result in found["results"]]
        assert new["memory"]["id"] in ids
        assert old not in ids


async def test_an_update_in_far_words_is_read_and_takes_the_place_of_the_old_text(door: Door, space: str) -> None:
    old = (await door.call("remember", content="The search cluster has three nodes.", space=space))["memory"]["id"]
    new = "We have grown the search cluster, so it consists of five machines now."
    told = await door.call("remember", content=new, space=space)
    assert (told["action"], told["reason"].startswith(f"replaces {old}")) == ("SUPERSEDE", True)
    assert (await door.call("get", ids=[old]))["memories"][0]["state"] == "superseded"


async def test_a_decision_stands_until_a_change_is_stated_and_both_are_linked(door: Door, space: str) -> None:
    old = (await door.call("remember", content="We decided to use gRPC between services", space=space))["memory"]["id"]
    new = await door.call("remember", content="We decided to use REST between services", space=space)
    assert new["action"] == "ADD"
    assert new["reason"].startswith(f"contradicts {old}")
    assert new["hint"] == f'if this replaces {old}, call supersede(id="{old}", content=<this text>)'
    assert {"type": "contradicts", "id": old} in new["memory"]["links"]
    assert "a decision stands until a change is stated" in new["reason"]
    done = await door.call("supersede", id=old, content="We decided to use REST between services")
    assert (done["action"], done["memory"]["id"]) == ("SUPERSEDE", new["memory"]["id"]), "the one that was just stored"


async def test_a_text_in_another_order_is_kept_once_and_restored_by_one_call(door: Door, space: str) -> None:
    old = (await door.call("remember", content="If a build is red, nobody merges", space=space))["memory"]["id"]
    same = await door.call("remember", content="if a build is red, nobody merges.", space=space)
    assert (same["action"], same["memory"]["id"], same["reason"]) == ("NOOP", old, f"{old} says the same")
    text = "Nobody merges if the build is red"
    assert (await door.call("check", content=text, space=space))["action"] == "NOOP"
    again = await door.call("remember", content=text, space=space)
    assert (again["action"], again["memory"]["id"], again["deduplicated"]) == ("NOOP", old, True)
    kept = again["hint"].split('"')[1]
    said = (f"{old} says the same; the text is kept as {kept}, out of recall", again["hint"])
    assert (again["reason"], again["hint"]) == (said[0], f'if it says something else, call restore(id="{kept}")')
    (repeat,) = (await door.call("get", ids=[kept]))["memories"]
    assert (repeat["content"], repeat["state"], repeat["superseded_by"]) == (text, "superseded", old)
    assert [result["memory"]["id"] for result in await _recalled(door, space, text)] == [old]
    third = await door.call("remember", content=text, space=space)
    assert (third["action"], third["memory"]["id"], (third["reason"], third["hint"])) == ("NOOP", old, said)
    assert (await door.call("restore", id=kept))["action"] == "RESTORE"
    assert {result["memory"]["id"] for result in await _recalled(door, space, text)} == {old, kept}
    assert (await door.call("remember", content=text, space=space))["memory"]["id"] == kept


async def test_a_purge_names_what_it_leaves_of_the_text_in_memories_that_stepped_back(door: Door, space: str) -> None:
    first = (await door.call("remember", content="Merges wait for one review", space=space))["memory"]["id"]
    text = "If a build is red, nobody merges"
    standing = (await door.call("supersede", id=first, content=text))["memory"]["id"]
    told = await door.call("remember", content="Nobody merges if the build is red", space=space)
    kept = told["hint"].split('"')[1]
    gone = await door.call("purge", id=standing)
    assert sorted(gone["behind"]) == sorted([first, kept])
    assert (await door.call("purge", id=standing))["behind"] == gone["behind"], "also when it is asked again"
    assert (await door.call("get", ids=[kept]))["memories"][0]["content"] == "Nobody merges if the build is red"
    assert [(await door.call("purge", id=id_))["behind"] for id_ in (first, kept)] == [[], []]


async def _recalled(door: Door, space: str, text: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = (await door.call("recall", query=text, spaces=[space]))["results"]
    return results


async def test_a_text_that_says_more_or_another_thing_is_added(door: Door, space: str) -> None:
    await door.call("remember", content="The staging cluster has three nodes", space=space)
    for text in ("The production cluster has five nodes", "The staging cluster has three nodes on separate racks"):
        new = await door.call("remember", content=text, space=space)
        assert (new["action"], new["memory"]["links"]) == ("ADD", [])


async def test_who_forces_a_text_is_told_nothing_to_do(door: Door, space: str) -> None:
    await door.call("remember", content="The build needs Python 3.11", space=space)
    for text in ("the build needs Python 3.11", "The build needs Python 3.12"):
        forced = await door.call("remember", content=text, space=space, force=True)
        assert (forced["action"], forced["hint"], forced["memory"]["links"]) == ("ADD", "", [])
