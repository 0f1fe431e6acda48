"""Views of whole spaces as text for a model: words of memories as data, then one line of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mnemesh_gateway.doors.mcp.data_elements import data_block, element
from mnemesh_gateway.doors.mcp.report_text import lacks

Json = Mapping[str, Any]


def story(answer: Json) -> str:
    """Events in order of time."""
    elements = [element(one["text"], at=one.get("at", ""), memories=one["ids"]) for one in answer["sentences"]]
    block = data_block(elements) if elements else "Nothing happened that a memory tells of."
    return f"{block}\n{answer['examined']} memories looked at, {answer['left_out']} not told.{lacks(answer)}"


def gaps(answer: Json) -> str:
    """Open points, the most used first."""
    elements = [element(one["text"], gap=one["type"], memories=one["ids"]) for one in answer["gaps"]]
    block = data_block(elements) if elements else "No gaps found."
    return f"{block}\n{len(answer['gaps'])} of {answer['total']} open points.{lacks(answer)}"


def coverage(answer: Json) -> str:
    """The share that is covered, and the words that are not."""
    known = f"probably not known ({answer['answered']:.2f})" if answer["abstain"] else "covered"
    missing = f" Not in the best results: {', '.join(answer['missing_terms'])}." if answer["missing_terms"] else ""
    return f"{known}: {answer['coverage']:.2f}.{missing}{lacks(answer)}"


def clusters(answer: Json) -> str:
    """Topics with their most typical memories."""
    elements = [_topic(one) for one in answer["clusters"]]
    block = data_block(elements) if elements else "No topics."
    return f"{block}\n{len(answer['clusters'])} of {answer['total']} topics; `drill_down` opens one.{lacks(answer)}"


def drilled(answer: Json) -> str:
    """A topic, the topics within and its memories."""
    members = [element(text, id=id_) for id_, text in zip(answer["memories"], answer["examples"], strict=True)]
    elements = [_topic(answer["cluster"]), *(_topic(one) for one in answer["children"]), *members]
    return f"{data_block(elements)}\n`get` reads a memory.{lacks(answer)}"


def room(answer: Json) -> str:
    """The start and the memories used together with it."""
    elements = [
        element(one["text"], id=one["id"], near="start" if one["start"] else f"{one['score']:.3f}", why=one["reasons"])
        for one in answer["points"]
    ]
    block = data_block(elements) if elements else "No memories were used together yet."
    return f"{block}\n{answer['examined']} pairs looked at; `related` shows what is alike.{lacks(answer)}"


def _topic(one: Json) -> str:
    text = f"{one['label']}: {'; '.join(one['examples'])}"
    return element(text, topic=one["id"], memories=str(one["size"]))


FORMS: Final[Mapping[str, Callable[[Json], str]]] = {
    "story": story,
    "gaps": gaps,
    "coverage": coverage,
    "recall_hierarchical": clusters,
    "drill_down": drilled,
    "navigate": room,
}
