"""The text of a memory's past: revisions and their writers, beside answer_text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemesh_gateway.doors.mcp.answers.data_elements import data_block, element

Json = Mapping[str, Any]


def more(answer: Json) -> str:
    """How to read the next page."""
    return f" More with cursor={answer['cursor']}" if answer["cursor"] else ""


def named(fields: Json, *names: str) -> dict[str, Any]:
    """Some of the fields, in this order."""
    return {name: fields[name] for name in names}


def unusual(state: str) -> str:
    """A state that a reader should know of."""
    return "" if state == "active" else state


def history(answer: Json) -> str:
    """Revisions, newest first."""
    shown = data_block(revision(row) for row in answer["revisions"]) if answer["revisions"] else "No more revisions."
    notes = "".join(f" Note: {note}." for note in answer.get("notes", ()))
    count = f"{len(answer['revisions'])} of {answer['total']}"
    return f"{shown}\n{count} revisions of {answer['id']}, newest first.{more(answer)}{notes}"


def revision(version: Json, **more: object) -> str:
    """A revision with all its fields."""
    marks = [mark for mark in ("shown", "head") if version[mark]]
    return element(
        "(forgotten)" if version["op"] == "forget" else version["content"],
        **more,
        revision=version["id"],
        mark=marks[0] if marks else "",
        **named(version, "title", "kind", "by"),
        at=version.get("at", ""),
        **named(version, "node", "parents"),
        valid_from=version.get("valid_from", ""),
        valid_to=version.get("valid_to", ""),
        importance=version.get("importance"),
        tier=version["tier"] if version["tier"] != "normal" else "",
        **named(version, "paths", "keywords"),
        attrs=[f"{key}={value}" for key, value in version["attrs"].items()],
    )


def blame(answer: Json) -> str:
    """Lines and fields with their last writers."""

    def said(part: Json, text: str, **more: object) -> str:
        return element(text, **more, revision=part["revision"], by=part["by"], at=part.get("at", ""), node=part["node"])

    elements = [said(run, run["text"], line=run["first"]) for run in answer["lines"]]
    elements += [said(field, field["value"], field=field["field"]) for field in answer["fields"]]
    return f"{data_block(elements)}\nWho last set each of these in revision {answer['revision']} of {answer['id']}."
