"""The past of a memory through every door: texts, authors, conflicts and their end, and the way back."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import pytest
from scenario_doors import Door, refusal
from test_scenarios import SECRET, found, remember

MONDAY, FRIDAY = "is on Monday.\nIt is final.", "is on Friday.\nIt is final."


@pytest.fixture
def conflict(door: Door, seeded: dict[str, list[str]]) -> str:
    """A memory in conflict that no other test touches."""
    return seeded[door.name].pop()


async def revisions(door: Door, id_: str, **fields: Any) -> list[dict[str, Any]]:
    return list((await door.call("history", id=id_, **fields))["revisions"])


async def test_a_history_names_who_said_what_when_and_through_which_node(door: Door, space: str) -> None:
    made = await remember(door, space, "The gate opens at eight.", title=f"Gate {space}")
    id_ = made["memory"]["id"]
    await door.call("update", id=id_, content="The gate opens at nine.")
    await door.call("forget", id=id_)
    history = await door.call("history", id=id_)
    said = [(one["op"], one["content"]) for one in history["revisions"]]
    assert said == [("forget", ""), ("put", "The gate opens at nine."), ("put", "The gate opens at eight.")]
    assert (history["id"], history["space"], history["state"]) == (id_, space, "forgotten")
    assert (history["total"], history["cursor"]) == (3, "")
    third, second, first = history["revisions"]
    assert (first["parents"], second["parents"], third["parents"]) == ([], [first["id"]], [second["id"]])
    assert [one["head"] for one in history["revisions"]] == [True, False, False]
    assert {one["by"] for one in history["revisions"]} == {made["memory"]["by"]}
    assert all(len(one["node"]) == 32 for one in history["revisions"])
    times = [datetime.fromisoformat(one["at"]) for one in (first, second, third)]
    assert times == sorted(times)  # not as text: a whole second has no fraction


async def test_a_history_is_paged(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Number 0."))["memory"]["id"]
    for number in range(1, 4):
        await door.call("update", id=id_, content=f"Number {number}.")
    page = await door.call("history", id=id_, limit=3)
    assert [one["content"] for one in page["revisions"]] == ["Number 3.", "Number 2.", "Number 1."]
    rest = await door.call("history", id=id_, limit=3, cursor=page["cursor"])
    assert [one["content"] for one in rest["revisions"]] == ["Number 0."]
    assert rest["cursor"] == ""
    for fields in ({"cursor": "nonsense"}, {"limit": 0}, {"limit": 201}):
        await refusal(door.call("history", id=id_, **fields), "INVALID_ARGUMENT")


async def test_blame_tells_who_set_each_line_field_and_tag(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Port 5433.\nUser reader.", tags=["db"]))["memory"]["id"]
    await door.call("update", id=id_, content="Port 5433.\nUser writer.\nNo password.", importance=0.5)
    second, first = await revisions(door, id_)
    blame = await door.call("blame", id=id_)
    assert [(run["first"], run["text"], run["revision"]) for run in blame["lines"]] == [
        (1, "Port 5433.", first["id"]),
        (2, "User writer.\nNo password.", second["id"]),
    ]
    fields = {one["field"]: (one["value"], one["revision"]) for one in blame["fields"]}
    assert fields["importance"] == ("0.5", second["id"])
    assert fields["kind"] == ("fact", first["id"])
    assert fields["tags.db"] == ("db", first["id"])
    assert {one["node"] for one in (*blame["lines"], *blame["fields"])} == {first["node"]}
    old = await door.call("blame", id=id_, revision="1")
    assert [run["text"] for run in old["lines"]] == ["Port 5433.\nUser reader."]


async def test_a_rollback_says_again_what_was_said_and_loses_nothing(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "We ship on Tuesdays.", tags=["ship"]))["memory"]["id"]
    await door.call("update", id=id_, content="We ship never.", tags=["odd"])
    first = (await revisions(door, id_))[-1]["id"]
    done = await door.call("rollback", id=id_, to=first)
    assert (done["action"], done["memory"]["content"], done["memory"]["tags"]) == (
        "ROLLBACK",
        "We ship on Tuesdays.",
        ["ship"],
    )
    assert await found(door, space, "when do we ship") == ["We ship on Tuesdays."]
    assert [one["content"] for one in await revisions(door, id_)] == [
        "We ship on Tuesdays.",
        "We ship never.",
        "We ship on Tuesdays.",
    ]
    again = await door.call("rollback", id=id_, to="1")
    assert (again["action"], again["memory"]["version"]) == ("NOOP", 3)


async def test_a_rollback_to_what_is_no_revision_of_the_memory_is_refused(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "One thing."))["memory"]["id"]
    other = (await remember(door, space, "Another thing."))["memory"]["heads"][0]
    for to, code in ((other, "NOT_FOUND"), ("7", "NOT_FOUND"), ("yesterday", "INVALID_ARGUMENT")):
        await refusal(door.call("rollback", id=id_, to=to), code)
    await refusal(door.call("rollback", id=str(uuid.uuid4()), to="1"), "NOT_FOUND")
    await door.call("forget", id=id_)
    refused = await refusal(door.call("rollback", id=id_, to="1"), "FAILED_PRECONDITION")
    assert "restore" in refused.message


async def test_a_rollback_by_one_who_saw_other_heads_is_aborted_with_the_heads(door: Door, space: str) -> None:
    made = await remember(door, space, "The limit is ten.")
    id_, seen = made["memory"]["id"], made["memory"]["heads"]
    now = (await door.call("update", id=id_, content="The limit is twelve."))["memory"]["heads"]
    refused = await refusal(door.call("rollback", id=id_, to="1", expected_heads=seen), "ABORTED")
    assert now[0] in refused.message


async def test_a_conflict_shows_both_texts_wherever_the_memory_is_read(door: Door, conflict: str) -> None:
    got = (await door.call("get", ids=[conflict]))["memory"]
    where = got["space"]
    (head,) = got["conflicts"]
    texts = {got["content"][-len(MONDAY) :], head["content"][-len(FRIDAY) :]}
    assert texts == {MONDAY, FRIDAY}
    assert (head["revision"], len(got["heads"])) == (got["heads"][1], 2)
    await remember(door, f"{where}/other", f"{conflict} is in conflict.")  # waits until the index holds all before it
    recalled = await door.call("recall", query=got["content"], spaces=[where])
    hit = next(hit for hit in recalled["results"] if hit["id"] == conflict)
    assert [one["content"] for one in hit["memory"]["conflicts"]] == [head["content"]]
    listed = (await door.call("list", spaces=[where], limit=50))["memories"]
    (mine,) = (memory for memory in listed if memory["id"] == conflict)
    assert mine["conflicts"] == got["conflicts"]


async def test_conflicts_are_listed_with_who_and_when(door: Door, conflict: str) -> None:
    where = (await door.call("get", ids=[conflict]))["memory"]["space"]
    seen: dict[str, Any] = {}
    cursor = ""
    while True:
        page = await door.call("conflicts", spaces=[where], limit=2, **({"cursor": cursor} if cursor else {}))
        seen |= {one["id"]: one for one in page["conflicts"]}
        if not (cursor := page["cursor"]):
            break
    assert len(seen) == page["total"]
    versions = seen[conflict]["versions"]
    assert {(one["by"], one["at"]) for one in versions} == {
        ("ana/agent", "2023-11-14T22:13:21Z"),
        ("bob/agent", "2023-11-14T22:13:22Z"),
    }
    assert [one["shown"] for one in versions] == [True, False]
    assert (await door.call("conflicts", space=f"{where}/none"))["conflicts"] == []
    assert conflict in {one["id"] for one in (await door.call("conflicts", limit=200))["conflicts"]}


async def test_a_conflict_ends_by_keeping_a_version_and_the_other_stays_in_the_history(
    door: Door, conflict: str
) -> None:
    before = (await door.call("get", ids=[conflict]))["memory"]
    (other,) = before["conflicts"]
    done = await door.call("resolve", id=conflict, keep=other["revision"])
    assert (done["action"], done["memory"]["content"]) == ("RESOLVE", other["content"])
    assert (done["memory"]["conflicts"], len(done["memory"]["heads"])) == ([], 1)
    newest, *older = await revisions(door, conflict)
    assert sorted(newest["parents"]) == sorted(before["heads"])
    assert {before["content"], other["content"]} <= {one["content"] for one in older}
    refused = await refusal(door.call("resolve", id=conflict, keep=other["revision"]), "FAILED_PRECONDITION")
    assert "not in conflict" in refused.message


async def test_a_conflict_ends_by_another_text_which_recall_finds(door: Door, conflict: str) -> None:
    before = (await door.call("get", ids=[conflict]))["memory"]
    text = f"Release {conflict} was moved to Wednesday by both."
    done = await door.call("resolve", id=conflict, content=text, expected_heads=before["heads"])
    assert (done["memory"]["content"], done["memory"]["conflicts"]) == (text, [])
    assert (await found(door, before["space"], f"when was {conflict} moved", limit=1)) == [text]


async def test_a_resolution_that_says_nothing_or_too_much_is_refused_and_the_conflict_stays(
    door: Door, conflict: str
) -> None:
    heads = (await door.call("get", ids=[conflict]))["memory"]["heads"]
    for fields, code in (
        ({}, "INVALID_ARGUMENT"),
        ({"keep": heads[0], "content": "both"}, "INVALID_ARGUMENT"),
        ({"content": "  "}, "INVALID_ARGUMENT"),
        ({"content": f"the key is {SECRET}"}, "INVALID_ARGUMENT"),
        ({"keep": "1"}, "INVALID_ARGUMENT"),
        ({"keep": "2"}, "INVALID_ARGUMENT"),
        ({"keep": "none"}, "INVALID_ARGUMENT"),
        ({"keep": "9"}, "NOT_FOUND"),
        ({"keep": heads[0], "expected_heads": heads[:1]}, "ABORTED"),
    ):
        refused = await refusal(door.call("resolve", id=conflict, **fields), code)
        assert SECRET not in refused.message
    assert (await door.call("get", ids=[conflict]))["memory"]["heads"] == heads


async def test_a_rollback_ends_a_conflict_too(door: Door, conflict: str) -> None:
    done = await door.call("rollback", id=conflict, to="1")
    assert done["memory"]["content"].endswith("is open.")
    assert (done["memory"]["conflicts"], done["memory"]["version"]) == ([], 4)


async def test_a_memory_is_read_as_of_a_time(door: Door, space: str) -> None:
    made = (await remember(door, space, "The rota is weekly.", tags=["rota"]))["memory"]
    changed = (await door.call("update", id=made["id"], content="The rota is daily.", tags=["duty"]))["memory"]
    then = (await door.call("get", ids=[made["id"]], as_of=made["updated_at"]))["memory"]
    if made["updated_at"] != changed["updated_at"]:  # both may fall into one millisecond
        assert (then["content"], then["tags"], then["version"]) == ("The rota is weekly.", ["rota"], 1)
        answer = await door.call("recall", query="rota", spaces=[space], as_of=made["updated_at"])
        assert [result["content"] for result in answer["results"]] == ["The rota is weekly."]
    now = (await door.call("get", ids=[made["id"]], as_of="2999-01-01"))["memory"]
    assert (now["content"], now["tags"]) == ("The rota is daily.", ["duty"])
    for fields, code in (({"as_of": "2001-01-01"}, "NOT_FOUND"), ({"as_of": "yesterday"}, "INVALID_ARGUMENT")):
        refused = await refusal(door.call("get", ids=[made["id"]], **fields), code)
        assert "not there yet" in refused.message or code == "INVALID_ARGUMENT"
    later = (await remember(door, space, "The rota is on the wall."))["memory"]
    several = await door.call("get", ids=[made["id"], later["id"]], as_of=changed["updated_at"])
    if changed["updated_at"] != later["updated_at"]:
        assert [memory["id"] for memory in several["memories"]] == [made["id"]]
        assert several["missing"] == [later["id"]]


async def test_a_forgotten_memory_is_read_as_of_before(door: Door, space: str) -> None:
    made = (await remember(door, space, "The key lies under the mat."))["memory"]
    gone = (await door.call("forget", id=made["id"]))["memory"]
    if made["updated_at"] != gone["updated_at"]:
        then = await door.call("get", ids=[made["id"]], as_of=made["updated_at"])
        assert then["memory"]["content"] == "The key lies under the mat."
    await refusal(door.call("get", ids=[made["id"]], as_of="2999-01-01"), "NOT_FOUND")
    shown = await door.call("get", ids=[made["id"]], as_of="2999-01-01", include_forgotten=True)
    assert shown["memory"]["state"] == "forgotten"
