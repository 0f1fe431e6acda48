"""What held in the world at a moment, and what was known of it, through every door."""

from __future__ import annotations

from typing import Any

import pytest
from scenario_doors import Door, Refused
from test_scenarios import found, remember
from test_scenarios import space as space

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANN, BOB = "The CEO of Acme is Ann.", "The CEO of Acme is Bob."


async def listed(door: Door, space: str, **fields: Any) -> list[str]:
    return [memory["content"] for memory in (await door.call("list", spaces=[space], **fields))["memories"]]


async def test_who_it_was_is_asked_by_the_time_of_the_world_and_by_what_was_known(door: Door, space: str) -> None:
    ann = (await remember(door, space, ANN, valid_from="2020-01-01"))["memory"]
    changed = (await door.call("update", id=ann["id"], valid_to="2024-01-01"))["memory"]
    await remember(door, space, BOB, valid_from="2024-01-01T00:00:00Z")
    for at, who in (
        ("2019-12-31T23:59:59.999Z", []), ("2020-01-01", [ANN]), ("2022-06-01T12:00:00+02:00", [ANN]),
        ("2024-01-01", [BOB]), ("2999-01-01", [BOB]),
    ):  # fmt: skip
        assert await found(door, space, "who is the CEO of Acme", valid_at=at) == who
        assert await found(door, space, "", valid_at=at) == who
        assert await listed(door, space, valid_at=at) == who
    if ann["updated_at"] != changed["updated_at"]:  # both may fall into one millisecond
        assert await found(door, space, "CEO", valid_at="2025-01-01", as_of=ann["updated_at"]) == [ANN]
        assert await found(door, space, "CEO", valid_at="2025-01-01", as_of=changed["updated_at"]) == []
    empty = await door.call("recall", query="CEO", spaces=[space], valid_at="2019-01-01")
    assert empty["notes"] == [
        f"valid_at: nothing that is not superseded held at 2019-01-01T00:00:00Z in the space '{space}'"
    ]
    for operation, fields in (("recall", {"query": "CEO"}), ("list", {})):
        with pytest.raises(Refused) as refused:
            await door.call(operation, spaces=[space], valid_at="yesterday", **fields)
        assert refused.value.code == "INVALID_ARGUMENT"
        assert "valid_at" in (refused.value.field or refused.value.message)
