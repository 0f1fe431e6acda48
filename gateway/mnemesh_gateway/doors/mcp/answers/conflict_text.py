"""The text of conflicts and contradictions, with the calls that decide, beside answer_text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemesh_gateway.doors.mcp.answers.data_elements import data_block, older_marks
from mnemesh_gateway.doors.mcp.answers.history_text import more, revision, unusual

Json = Mapping[str, Any]


def conflicts(answer: Json) -> str:
    """Memories with several versions, then pairs that may not both hold with the calls that decide."""
    if not (answer["conflicts"] or answer["contradictions"]):
        return "No memories in conflict."
    elements = [
        revision(version, id=conflict["id"], space=conflict["space"], state=unusual(conflict["state"]))
        for conflict in answer["conflicts"]
        for version in conflict["versions"]
    ]
    decide = []
    for pair in answer["contradictions"]:
        newer, older = pair["newer"], pair["older"]
        elements.append(
            revision(newer["says"], id=newer["id"], space=newer["space"], **{pair["relation"]: older["id"]})
        )
        sure = pair["relation"] == "contradicts"
        note = ", ".join(older_marks({"older_than" if sure else "may_be_replaced_by": [newer["id"]]}))
        elements.append(revision(older["says"], id=older["id"], space=older["space"], note=note))
        ids = " | ".join((newer["id"], older["id"], "both"))
        decide.append(f"Next: resolve(id={older['id']}, other={newer['id']}, keep={ids}).")
    counts = f"{len(answer['conflicts'])} of {answer['total']} memories in conflict."
    if decide:
        counts += f" {len(decide)} of {answer['contradictions_total']} pairs to decide."
        if marks := answer["marks_total"]:
            counts += f" {marks} of those are may-replace, listed last."
    return "\n".join((data_block(elements), counts + more(answer), *decide))
