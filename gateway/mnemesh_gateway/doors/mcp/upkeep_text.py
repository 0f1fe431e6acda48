"""The text of answers about rules, and about files that memories name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemesh_gateway.doors.mcp.data_elements import data_block, element
from mnemesh_gateway.doors.mcp.history_text import more, named

Json = Mapping[str, Any]


def rules(answer: Json) -> str:
    """Rules of recall."""
    shown = answer["rules"] if "rules" in answer else [answer["rule"]]
    elements = (
        element(
            one["content"] or "(a setting of the node)",
            "rule",
            **named(one, "id", "space", "condition", "effect", "directory", "file", "by"),
            **({"counts": "no: the token of its writer is revoked"} if one["revoked"] else {}),
        )
        for one in shown
    )
    block = data_block(elements) if shown else "No rules."
    return f"{block}\n{len(shown)} of {answer['total']}.{more(answer)}" if "total" in answer else block


def validated(answer: Json) -> str:
    """Files with their states."""
    elements = (
        element(
            "\n".join(
                f"{file['path']}: {file['state']}{' to ' + file['renamed_to'] if file['renamed_to'] else ''}"
                for file in memory["references"]
            ),
            **named(memory, "id", "title", "space"),
        )
        for memory in answer["memories"]
    )
    shown = data_block(elements) if answer["memories"] else "No files recorded."
    return f"{shown}\n{answer['examined']} memories looked at.{more(answer)}"
