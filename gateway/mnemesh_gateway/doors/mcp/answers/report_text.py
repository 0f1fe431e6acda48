"""The text of reports, beside answer_text: on what may be tidied up, views of whole spaces, rules, files.

Words of memories stand as data, then a line of figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mnemesh_gateway.doors.mcp.answers.data_elements import data_block, defused, element
from mnemesh_gateway.doors.mcp.answers.history_text import more, named

Json = Mapping[str, Any]


def _tidy(memory: Json, **facts: Any) -> str:
    return element(
        memory["snippet"], id=memory["id"], title=memory["title"], kind=memory["kind"], space=memory["space"],
        heat=f"{memory['heat']['value']:.2f}", **facts,
    )  # fmt: skip


def duplicates(answer: Json) -> str:
    """Pairs, and how many there are."""
    elements = (
        _tidy(pair[side], similarity=f"{pair['similarity']:.2f}", verdict=pair["verdict"], next=pair["command"])
        for pair in answer["pairs"]
        for side in ("older", "newer")
    )
    block = data_block(elements) if answer["pairs"] else "No pairs."
    return f"{block}\n{len(answer['pairs'])} of {answer['total']} pairs.{_scope(answer)}"


def hygiene(answer: Json) -> str:
    """Findings, and how many there are of each type."""
    elements = (
        _tidy(
            finding["memory"],
            finding=finding["type"],
            verdict=finding["verdict"],
            next=finding["command"],
            **({"choices": "; ".join(finding["choices"])} if finding["choices"] else {}),
        )
        for finding in answer["findings"]
    )
    block = data_block(elements) if answer["findings"] else "Nothing to tidy up."
    counts = ", ".join(f"{count} {type_}" for type_, count in sorted(answer["counts"].items()) if count)
    return f"{block}\nIn all: {counts or 'no findings'}.{_scope(answer)}"


def graph(answer: Json) -> str:
    """Relations with time and source, then what is near."""
    elements = [
        element(
            f"{relation['subject']} {relation['type']} {relation['object']}",
            since=relation.get("valid_from", ""),
            until=relation.get("valid_to", ""),
            memories=relation["memories"],
        )
        for relation in answer["relations"]
    ]
    near = ", ".join(f"{row['name']} ({row['kind']})" if row["kind"] else row["name"] for row in answer["entities"])
    if near:
        elements.append(element(near, near=answer["name"]))
    if community := answer.get("community"):
        elements.append(element(", ".join(community["entities"]), community=community["id"]))
    block = data_block(elements) if elements else "No relations."
    memories = f" Near memories: {', '.join(answer['memories'])}; `get` reads them." if answer["memories"] else ""
    return f"{block}\n{len(answer['relations'])} of {answer['relations_total']} relations.{memories}{lacks(answer)}"


def graph_audit(answer: Json) -> str:
    """Findings, and how many there are of each type."""
    elements = (
        element(finding["detail"], finding=finding["type"], name=finding["name"], memories=finding["memories"])
        for finding in answer["findings"]
    )
    block = data_block(elements) if answer["findings"] else "Nothing found."
    counts = ", ".join(f"{count} {type_}" for type_, count in sorted(answer["counts"].items()) if count)
    size = f"{answer['memories']} memories, {answer['entities']} entities, {answer['relations']} relations"
    return f"{block}\nIn all: {counts or 'no findings'}; {size}.{lacks(answer)}"


def causal_chain(answer: Json) -> str:
    """Causes, effects and open connections, each with its figures."""
    elements = [
        element(
            f"{link['cause']} {'and' if side == 'linked' else 'causes'} {link['effect']}",
            side=side,
            distance=link["distance"],
            p=f"{link['p_value']:.2g}",
            lift=f"{link['lift']:.1f}",
            memories=link["memories"],
        )
        for side in ("causes", "effects", "linked")
        for link in answer[side]
    ]
    block = data_block(elements) if elements else "No causes or effects stand out."
    size = (
        f"{answer['windows']} windows of {answer['window_hours']} h, {answer['events']} events, {answer['names']} names"
    )
    return f"{block}\n{size}. Order and frequency are evidence, no proof.{lacks(answer)}"


def lacks(answer: Json) -> str:
    """The parts that an answer may lack."""
    return f" May be incomplete: {'; '.join(answer['degraded_reasons'])}." if answer["degraded"] else ""


def _scope(answer: Json) -> str:
    """The extent of a report."""
    more = f" {answer['unexamined']} older memories were not: name one space." if answer["unexamined"] else ""
    return f" {answer['examined']} memories were looked at.{more}{lacks(answer)}"


def consolidated(answer: Json) -> str:
    """Steps and gaps of a run, and the counts."""
    lines = [_step(step) for step in answer["steps"]]
    lines += [f"{gap['type']}: {defused(gap['text'])} ({gap['count']} times)" for gap in answer["gaps"]]
    done = f"{answer['proposed']} steps would be done" if answer["dry_run"] else f"{answer['applied']} steps applied"
    way = f' Undo with undo_run(run="{answer["run"]}").' if answer["run"] else ""
    return "\n".join([*lines, f"{answer['read']} new memories of {answer['space']} read, {done}.{way}{lacks(answer)}"])


def runs(answer: Json) -> str:
    """Runs with their steps."""
    return "\n".join(map(_run, answer["runs"])) or "No runs."


def undone(answer: Json) -> str:
    """A run that was taken back."""
    return f"{_run(answer['run'])}\n{answer['undone']} steps undone."


def _run(run: Json) -> str:
    head = f"Run {run['id']} of {run['space']}: {run['state']}, {run['applied']} steps stand."
    return "\n".join([head, *(f"  {_step(step)}" for step in run["steps"])])


def _step(step: Json) -> str:
    return f"{step['action']} {step['id']} <- {', '.join(step['others'])}: {step['why']} ({step['state']})"


def story(answer: Json) -> str:
    """Events in order of time."""
    elements = [element(event["text"], at=event.get("at", ""), memories=event["ids"]) for event in answer["sentences"]]
    block = data_block(elements) if elements else "Nothing happened that a memory tells of."
    return f"{block}\n{answer['examined']} memories looked at, {answer['left_out']} not told.{lacks(answer)}"


def gaps(answer: Json) -> str:
    """Open points, the most used first."""
    elements = [element(gap["text"], gap=gap["type"], memories=gap["ids"]) for gap in answer["gaps"]]
    block = data_block(elements) if elements else "No gaps found."
    return f"{block}\n{len(answer['gaps'])} of {answer['total']} open points.{lacks(answer)}"


def coverage(answer: Json) -> str:
    """The share that is covered, and the words that are not."""
    known = f"probably not known ({answer['answered']:.2f})" if answer["abstain"] else "covered"
    missing = f" Not in the best results: {', '.join(answer['missing_terms'])}." if answer["missing_terms"] else ""
    return f"{known}: {answer['coverage']:.2f}.{missing}{lacks(answer)}"


def clusters(answer: Json) -> str:
    """Topics with their most typical memories."""
    elements = [_topic(topic) for topic in answer["clusters"]]
    block = data_block(elements) if elements else "No topics."
    return f"{block}\n{len(answer['clusters'])} of {answer['total']} topics; `drill_down` opens one.{lacks(answer)}"


def drilled(answer: Json) -> str:
    """A topic, the topics within and its memories."""
    members = [element(text, id=id_) for id_, text in zip(answer["memories"], answer["examples"], strict=True)]
    elements = [_topic(answer["cluster"]), *(_topic(topic) for topic in answer["children"]), *members]
    return f"{data_block(elements)}\n`get` reads a memory.{lacks(answer)}"


def room(answer: Json) -> str:
    """The start and the memories used together with it."""
    elements = [
        element(row["text"], id=row["id"], near="start" if row["start"] else f"{row['score']:.3f}", why=row["reasons"])
        for row in answer["points"]
    ]
    block = data_block(elements) if elements else "No memory answers this, or none were used together yet."
    return f"{block}\n{answer['examined']} pairs looked at; `related` shows what is alike.{lacks(answer)}"


def _topic(topic: Json) -> str:
    text = f"{topic['label']}: {'; '.join(topic['examples'])}"
    return element(text, topic=topic["id"], memories=str(topic["size"]))


def rules(answer: Json) -> str:
    """Rules of recall."""
    shown = answer["rules"] if "rules" in answer else [answer["rule"]]
    elements = (
        element(
            rule["content"] or "(a setting of the node)",
            "rule",
            **named(rule, "id", "space", "condition", "effect", "directory", "file", "by"),
            **({"counts": "no: the token of its writer is revoked"} if rule["revoked"] else {}),
        )
        for rule in shown
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


FORMS: Final[Mapping[str, Callable[[Json], str]]] = {
    "duplicates": duplicates,
    "hygiene": hygiene,
    "graph": graph,
    "graph_audit": graph_audit,
    "causal_chain": causal_chain,
    "consolidate": consolidated,
    "list_runs": runs,
    "undo_run": undone,
    "story": story,
    "gaps": gaps,
    "coverage": coverage,
    "recall_hierarchical": clusters,
    "drill_down": drilled,
    "navigate": room,
    "validate": validated,
    **dict.fromkeys(("add_rule", "get_rules", "delete_rule"), rules),
}
