"""Transcripts through every door: added once, found with what stands around, read, erased, and never among memories."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import SECRET, remember


async def test_a_session_is_kept_apart_from_memories_from_its_first_turn_to_its_end(door: Door, space: str) -> None:
    session = f"session-{door.name}"
    turns = [
        {"id": "u1", "role": "user", "text": "why does the kumquat build fail", "at": "2026-05-01T12:00:00Z"},
        {"id": "a1", "role": "assistant", "text": "the kumquat lockfile is stale"},
        {"id": "t1", "role": "tool", "text": f"export TOKEN={SECRET}"},
    ]
    await remember(door, space, "The kumquat build runs on fridays.")
    added = await door.call("transcript_add", session=session, space=space, turns=turns)
    assert (added["stored"], added["known"], [one["id"] for one in added["masked"]]) == (3, 0, ["t1"])

    recalled = await door.call("recall", query="kumquat lockfile build fail", spaces=[space])
    assert [hit["memory"]["space"] for hit in recalled["results"]] == [space]
    assert "lockfile" not in str(recalled)
    found = await door.call("transcript_search", query="kumquat build", spaces=[space], context=1)
    assert [hit["turn"]["id"] for hit in found["results"]] == ["u1", "a1"]
    assert found["results"][0]["after"][0]["text"] == "the kumquat lockfile is stale"
    assert "fridays" not in str(found)

    read = await door.call("transcript_read", session=session, first=3, count=5)
    assert SECRET not in str(read)
    assert (read["session"]["turns"], [turn["role"] for turn in read["turns"]]) == (3, ["tool"])
    erased = await door.call("transcript_erase", session=session)
    assert (erased["turns"], [one["space"] for one in erased["sessions"]]) == (3, [space])
    listed = await door.call("transcript_list", spaces=[space])
    assert (listed["sessions"], listed["total"]) == ([], 0)
    assert session in (await refusal(door.call("transcript_read", session=session), "NOT_FOUND")).message
