"""Reports on what may be tidied up, through every door."""

from __future__ import annotations

from scenario_doors import Door, refusal
from test_scenarios import remember


async def test_a_text_stored_twice_is_told_with_the_command_that_ends_it(door: Door, space: str) -> None:
    ids = {
        (await remember(door, space, "The sluice opens at slack water.", force=True))["memory"]["id"] for _ in range(2)
    }
    await remember(door, space, "Payroll runs on the 25th.")
    found = await door.call("duplicates", spaces=[space], threshold=0.95, limit=5)
    (pair,) = found["pairs"]
    assert {pair["older"]["id"], pair["newer"]["id"]} == ids
    assert (pair["verdict"], pair["similarity"], found["total"], found["examined"]) == ("same", 1.0, 1, 3)
    assert pair["older"]["heat"]["half_life_days"] == 90.0
    report = await door.call("hygiene", spaces=[space], stale_days=1, limit=5)
    (finding,) = report["findings"]
    assert (finding["type"], finding["command"]) == ("duplicate", pair["command"])
    assert report["counts"]["duplicate"] == 1
    await door.call("forget", id=finding["memory"]["id"])
    assert (await door.call("duplicates", spaces=[space]))["pairs"] == []


async def test_orphaned_links_and_contradictions_are_told(door: Door, space: str) -> None:
    gone = (await remember(door, space, "Valves are oiled in spring."))["memory"]["id"]
    old = (await remember(door, space, "The weir has two keepers."))["memory"]["id"]
    source = (await remember(door, space, "See what holds for the lock and its gates."))["memory"]["id"]
    await door.call("link", id=source, type="see-also", to=gone)
    await door.call("link", id=source, type="contradicts", to=old)
    await door.call("forget", id=gone)
    found = {one["type"]: one for one in (await door.call("hygiene", spaces=[space]))["findings"]}
    assert found["orphaned"]["command"] == f"mnemesh unlink {source} see-also {gone}"
    contested = found["contradiction"]
    assert {contested["memory"]["id"], *contested["others"]} == {source, old}
    begin = f"mnemesh resolve {old} --other {source} --keep"
    assert contested["choices"] == [
        f"{begin} {source}  # See what holds for the lock and its gates.",
        f"{begin} {old}  # The weir has two keepers.",
        f"{begin} both  # both hold",
    ]


async def test_a_star_looks_at_all_spaces_that_the_caller_may_read(door: Door, space: str) -> None:
    for _ in range(2):
        await remember(door, space, f"The ferry of {space} waits for the tide.", force=True)
    (pair,) = (await door.call("duplicates", spaces=[space]))["pairs"]
    everywhere = await door.call("duplicates", spaces=["*"], limit=200)
    assert pair["older"]["id"] in {one["older"]["id"] for one in everywhere["pairs"]}
    await refusal(door.call("duplicates", spaces=["*", space]), "INVALID_ARGUMENT", "spaces")
