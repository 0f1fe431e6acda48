"""Keeping memories in order, through every door."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import SECRET, remember


async def test_an_anchored_memory_says_why_it_stays_until_it_is_let_go(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Invoices are kept for ten years."))["memory"]["id"]
    done = await door.call("anchor", id=id_, reason="The law asks for it.")
    assert done["memory"]["id"] == id_
    (memory,) = (await door.call("get", ids=[id_]))["memories"]
    assert (memory["tier"], memory["anchor"]) == ("pinned", "The law asks for it.")
    (listed,) = (await door.call("list", spaces=[space]))["memories"]
    assert listed["anchor"] == "The law asks for it."
    asked = await door.call("recall", query="how long are invoices kept", spaces=[space])
    assert "The law asks for it." in str(asked["results"][0])
    await door.call("anchor", id=id_, release=True)
    (memory,) = (await door.call("get", ids=[id_]))["memories"]
    assert (memory.get("tier", "normal"), memory.get("anchor", "")) == ("normal", "")
    await refusal(door.call("anchor", id=id_), "INVALID_ARGUMENT", "reason")
    await refusal(door.call("anchor", id=id_, reason=f"key {SECRET}"), "INVALID_ARGUMENT", "reason")


async def test_files_that_were_not_recorded_here_are_not_compared(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "The limit is set in src/limits.py."))["memory"]["id"]
    assert (await door.call("validate", id=id_))["memories"] == []
    found = await door.call("validate", spaces=[space], limit=5)
    assert (found["memories"], found["examined"]) == ([], 1)
    await refusal(door.call("validate", id="no such memory"), "NOT_FOUND")


async def test_orphaned_memories_are_archived_only_when_told_to_and_anchored_ones_never(door: Door, space: str) -> None:
    gone, one, kept = [
        (await remember(door, space, text))["memory"]["id"]
        for text in ("The old ferry.", "Its timetable is yellow.", "Its captain is Cora.")
    ]
    for id_ in (one, kept):
        await door.call("link", id=id_, type="part-of", to=gone)
    await door.call("anchor", id=kept, reason="A person asked for it.")
    await door.call("forget", id=gone)
    told = await door.call("tidy", finding="orphaned", action="archive", spaces=[space])
    assert (told["ids"], told["dry_run"], told["matched"]) == ([one], True, 2)
    done = await door.call("tidy", finding="orphaned", action="archive", spaces=[space], dry_run=False)
    assert (done["ids"], done["dry_run"]) == ([one], False)
    (memory,) = (await door.call("get", ids=[one]))["memories"]
    assert memory["tier"] == "archive"
    await refusal(door.call("tidy", finding="weather", spaces=[space]), "INVALID_ARGUMENT", "finding")
