"""Triggers through every door: stored, listed, fired by remember and recall, ended."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import SECRET, remember


async def test_a_trigger_fires_once_by_a_question_and_its_text_is_read_by_id(door: Door, space: str) -> None:
    made = await door.call(
        "create_trigger", on="keyword", pattern="deploy friday", content="Ask Ana first.", space=space
    )
    trigger = made["trigger"]
    assert (trigger["on"], trigger["fired"], trigger["space"]) == ("keyword", False, space)
    assert (await door.call("recall", query="the deploy", spaces=[space]))["triggered"] == []
    asked = await door.call("recall", query="Do we deploy on Friday?", spaces=[space])
    assert asked["triggered"] == [trigger["id"]]
    read = await door.call("get", ids=asked["triggered"])
    assert read["memories"][0]["content"] == "Ask Ana first."
    again = await door.call("recall", query="Do we deploy on Friday?", spaces=[space])
    assert again["triggered"] == []


async def test_a_repeating_trigger_on_files_fires_by_every_write_about_them(door: Door, space: str) -> None:
    made = await door.call(
        "create_trigger", on="file", pattern="src/**/*.sql", content="Number it.", space=space, repeating=True
    )
    id_ = made["trigger"]["id"]
    for number in range(2):
        done = await remember(door, space, f"Table {number} has an index.", paths=[f"src/db/{number}.sql"])
        assert done["triggered"] == [id_]
    assert (await remember(door, space, "Lids are sealed.", paths=["src/lid.py"]))["triggered"] == []
    gone = await door.call("delete_trigger", id=id_)
    assert (gone["kept"], gone["trigger"]["pattern"]) == (False, "src/**/*.sql")
    assert (await remember(door, space, "Table 3 has none.", paths=["src/db/3.sql"]))["triggered"] == []
    assert (await door.call("list_triggers", spaces=[space]))["triggers"] == []


async def test_a_memory_becomes_a_trigger_and_stays_when_that_ends(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Cora Vogt owns the kiln.", tags=["people"]))["memory"]["id"]
    assert (await door.call("create_trigger", on="entity", pattern="Cora Vogt", id=id_))["trigger"]["id"] == id_
    assert (await remember(door, space, "Cora Vogt is away."))["triggered"] == [id_]
    (listed,) = (await door.call("list_triggers", spaces=[space], limit=5))["triggers"]
    assert (listed["id"], listed["pattern"]) == (id_, "Cora Vogt")
    assert (await door.call("delete_trigger", id=id_))["kept"] is True
    (memory,) = (await door.call("get", ids=[id_]))["memories"]
    assert (memory["tags"], memory["attrs"]) == (["people"], {})


async def test_what_is_no_trigger_is_refused(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Lids are sealed with wax."))["memory"]["id"]
    good = {"on": "keyword", "pattern": "lid", "content": "Check it.", "space": space}
    await refusal(door.call("create_trigger", **{**good, "on": "weather"}), "INVALID_ARGUMENT", "on")
    await refusal(door.call("create_trigger", **{**good, "on": "time"}), "INVALID_ARGUMENT", "pattern")
    await refusal(door.call("create_trigger", **good, id=id_), "INVALID_ARGUMENT", "content")
    await refusal(door.call("create_trigger", **{**good, "content": f"key {SECRET}"}), "INVALID_ARGUMENT", "content")
    await refusal(door.call("delete_trigger", id=id_), "FAILED_PRECONDITION", "id")
