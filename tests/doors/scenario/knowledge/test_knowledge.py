"""The knowledge graph through every door: relations with their sources, access, the end of a relation, audit."""

from __future__ import annotations

from scenario_doors import Door, Refused, refusal
from test_scenarios import remember


async def test_a_name_leads_to_its_relations_and_their_memories(door: Door, space: str) -> None:
    stated = await remember(door, space, "The quayside service depends on Lanternbase 4.2.")
    await remember(door, space, "Ines owns the quayside service.")
    other = await remember(door, space, "We saw a FoghornError in the quayside service; Ines fixed it.")
    found = await door.call("graph", name="The Quayside Service", spaces=[space])
    shown = {(one["subject"], one["type"], one["object"]): one for one in found["relations"]}
    assert shown["quayside service", "depends_on", "Lanternbase"]["memories"] == [stated["memory"]["id"]]
    assert ("Ines", "owns", "quayside service") in shown
    assert ("FoghornError", "occurs_in", "quayside service") in shown
    assert {one["name"] for one in found["entities"]} >= {"Lanternbase", "Ines", "FoghornError"}
    assert set(found["memories"]) >= {stated["memory"]["id"], other["memory"]["id"]}
    assert found["degraded"] is False
    whole = await door.call("graph", name="quayside service", spaces=[space], community=True)
    assert {"quayside service", "Ines"} <= set(whole["community"]["entities"])
    beside = await door.call("graph", name=stated["memory"]["id"], spaces=[space])
    assert (beside["id"], beside["kind"]) == (stated["memory"]["id"], "memory")
    assert {one["type"] for one in beside["relations"]} == {"depends_on", "has_version"}


async def test_a_replaced_statement_has_an_end_and_an_erased_one_is_gone(door: Door, space: str) -> None:
    first = await remember(door, space, "The beacon module uses Oldlamp.")
    await door.call("supersede", id=first["memory"]["id"], content="The beacon module uses Newlamp.")
    relations = (await door.call("graph", name="beacon module", spaces=[space]))["relations"]
    assert [(one["object"], bool(one.get("valid_to"))) for one in relations] == [("Newlamp", False), ("Oldlamp", True)]
    await door.call("purge", id=first["memory"]["id"])
    left = (await door.call("graph", name="beacon module", spaces=[space]))["relations"]
    assert [one["object"] for one in left] == ["Newlamp"]
    await refusal(door.call("graph", name="Oldlamp", spaces=[space]), "NOT_FOUND", "name")


async def test_an_audit_names_titles_that_lead_nowhere(door: Door, space: str) -> None:
    lonely = await remember(door, space, "See [[a page that nobody wrote]].")
    audit = await door.call("graph_audit", spaces=[space])
    found = [one for one in audit["findings"] if one["type"] == "unresolved"]
    assert [(one["name"], one["memories"]) for one in found] == [("a page that nobody wrote", [lonely["memory"]["id"]])]
    assert audit["counts"]["unresolved"] == 1


async def test_a_graph_that_is_made_anew_says_the_same(door: Door, space: str) -> None:
    await remember(door, space, "The mooring planner requires Tidetable.")
    before = await door.call("graph", name="mooring planner", spaces=[space])
    try:
        made = await door.call("graph_rebuild")
    except (Refused, KeyError):
        assert door.name.startswith("mcp"), "only agents have no tool for it"
        return
    assert made["memories"] >= 1
    after = await door.call("graph", name="mooring planner", spaces=[space])
    assert [one["object"] for one in after["relations"]] == [one["object"] for one in before["relations"]]
