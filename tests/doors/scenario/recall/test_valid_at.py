"""The state of the world at a moment, and the knowledge at a moment, through every door."""

from __future__ import annotations

from typing import Any

from scenario_doors import Door, refusal
from test_scenarios import found, remember

ANN, BOB = "The CEO of Acme is Ann.", "The CEO of Acme is Bob."


async def listed(door: Door, space: str, **fields: Any) -> list[str]:
    return [memory["content"] for memory in (await door.call("list", spaces=[space], **fields))["memories"]]


async def held_then(door: Door, space: str, question: str, at: str, contents: list[str]) -> None:
    """What held at that time is what an answer, a recall without words and a listing show of it."""
    assert await found(door, space, question, valid_at=at) == contents
    assert await found(door, space, "", valid_at=at) == contents
    assert await listed(door, space, valid_at=at) == contents


async def test_who_it_was_is_asked_by_the_time_of_the_world_and_by_what_was_known(door: Door, space: str) -> None:
    ann = (await remember(door, space, ANN, valid_from="2020-01-01"))["memory"]
    changed = (await door.call("update", id=ann["id"], valid_to="2024-01-01"))["memory"]
    await remember(door, space, BOB, valid_from="2024-01-01T00:00:00Z")
    for at, who in (
        ("2019-12-31T23:59:59.999Z", []), ("2020-01-01", [ANN]), ("2022-06-01T12:00:00+02:00", [ANN]),
        ("2024-01-01", [BOB]), ("2999-01-01", [BOB]),
    ):  # fmt: skip
        await held_then(door, space, "who is the CEO of Acme", at, who)
    if ann["updated_at"] != changed["updated_at"]:  # both may fall into one millisecond
        assert await found(door, space, "CEO", valid_at="2025-01-01", as_of=ann["updated_at"]) == [ANN]
        assert await found(door, space, "CEO", valid_at="2025-01-01", as_of=changed["updated_at"]) == []
    empty = await door.call("recall", query="CEO", spaces=[space], valid_at="2019-01-01")
    assert empty["notes"] == [f"valid_at: nothing held at 2019-01-01T00:00:00Z in the space '{space}'"]
    for operation, fields in (("recall", {"query": "CEO"}), ("list", {})):
        await refusal(
            door.call(operation, spaces=[space], valid_at="yesterday", **fields), "INVALID_ARGUMENT", "valid_at"
        )


async def listed_states(door: Door, space: str, **fields: Any) -> list[tuple[str, str]]:
    answer = await door.call("list", spaces=[space], **fields)
    return [(memory["content"], memory["state"]) for memory in answer["memories"]]


async def test_of_what_was_superseded_the_one_that_held_then_is_shown(door: Door, space: str) -> None:
    """A successor without a time of its own holds from the end of the old memory, and not before."""
    old = (await remember(door, space, "pin pnpm to 9.12", valid_from="2020-01-01"))["memory"]
    done = await door.call("supersede", id=old["id"], content="pin pnpm to 9.15")
    assert done["memory"].get("valid_from") is None
    ended = done["superseded"]["valid_to"]
    for at, held in (
        ("2019-12-31", []), ("2020-01-01", ["pin pnpm to 9.12"]), ("2021-06-01", ["pin pnpm to 9.12"]),
        (ended, ["pin pnpm to 9.15"]), ("2999-01-01", ["pin pnpm to 9.15"]),
    ):  # fmt: skip
        await held_then(door, space, "pnpm", at, held)
        assert await found(door, space, "pnpm", valid_at=at, as_of=ended) == held
    answer = await door.call("recall", query="pnpm", spaces=[space], valid_at="2021-06-01")
    (result,) = answer["results"]
    assert (result["id"], result.get("redirected_from") or "") == (old["id"], "")
    assert await listed_states(door, space, valid_at="2021-06-01") == [("pin pnpm to 9.12", "superseded")]
    assert await found(door, space, "pnpm") == await listed(door, space) == ["pin pnpm to 9.15"]


async def test_who_replaces_a_memory_for_a_time_before_its_end_takes_its_place_there(door: Door, space: str) -> None:
    old = (await remember(door, space, ANN))["memory"]
    await door.call("supersede", id=old["id"], content=BOB, valid_from="2024-01-01")
    for at, who in (("2022-06-01", [ANN]), ("2024-01-01", [BOB]), ("2025-01-01", [BOB]), ("2999-01-01", [BOB])):
        await held_then(door, space, "who is the CEO of Acme", at, who)


async def test_a_memory_that_had_ended_before_it_was_superseded_leaves_no_gap(door: Door, space: str) -> None:
    old = (await remember(door, space, ANN, valid_from="2020-01-01", valid_to="2024-01-01"))["memory"]
    await door.call("supersede", id=old["id"], content=BOB)
    for at, who in (("2019-01-01", []), ("2023-01-01", [ANN]), ("2024-01-01", [BOB]), ("2999-01-01", [BOB])):
        await held_then(door, space, "who is the CEO of Acme", at, who)
