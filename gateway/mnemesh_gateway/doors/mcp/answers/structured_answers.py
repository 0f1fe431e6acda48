"""The structured form of a tool's answer: some hosts hand a model this and not the text.

So it is safe and lean by itself. A note stands first, says what the answer is worth, and marks all words of memories as
data. Empty and usual values are left out, and no text stands twice. The full form of the other doors comes on request.
Pure: JSON forms of responses in, JSON out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mnemesh_gateway.contract.schema import Schema
from mnemesh_gateway.doors.mcp.answers.answer_text import (
    NEAR_SHOWN_MAX,
    NOTE,
    defused,
    is_list,
    named,
    probably_unknown,
    remarks,
    replaces_it,
    to_the_second,
    why,
)
from mnemesh_memory.values.marks import ANCHOR, STALE_PREFIX

Json = Mapping[str, Any]
Form = Callable[[Json], dict[str, Any]]

# A write's own words come back from `get`. Its answer names the memory.
WRITTEN: Final = ("id", "space", "kind", "by")
# Of the answers of a write and of a recall, the fields that have a form of their own, or are left out.
PAIRS: Final = ("contradictions", "contradictions_total", "marks_total")
NOVELTY: Final = ("novelty", "surprisal", "novelty_reason")
FORMED_WRITE: Final = ("action", "memory", "superseded", "related", "conflicts", "indexed", *NOVELTY)
ROUNDED: Final = ("coverage", "answered")
FORMED_RECALL: Final = ("results", "spaces", "notes", *ROUNDED, "time", "truncated_by_budget", "tokens_used")
NUMBERS: Final = (int, float)
USUAL: Final[Mapping[str, object]] = {"state": "active", "tier": "normal", "op": "put", "trust": "own"}


def structured(tool: str, answer: Json, *, full: bool = False) -> dict[str, Any]:
    """The structured form of `answer`, the JSON form of what `tool` returned."""
    form = FORMS.get(tool) or (_written if "action" in answer else None)
    shown: dict[str, Any] = dict(answer) if full or form is None else form(answer)
    note = _note(tool, answer)
    marked_first: dict[str, Any] = safe({"note": note, **shown} if note else shown)
    return marked_first


def marked(memory: Json) -> dict[str, Any]:
    """A memory with every field, marked as data."""
    return {"note": NOTE, **safe(memory)}


def output_schema(response: Schema) -> Schema:
    """A schema of both forms, from that of the whole response: fields by type, of which any may be left out."""
    types = {name: _type(schema) for name, schema in response["properties"].items()}
    return {"type": "object", "properties": {"note": {"type": "string"}, **types}}


def _type(schema: Schema) -> Schema:
    if schema.get("type") == "array":
        return {"type": "array", "items": {} if "$ref" in schema["items"] else {"type": schema["items"]["type"]}}
    return {"type": schema["type"]} if "type" in schema else {"type": "object"}


def safe(value: Any) -> Any:
    """`value` with the tags of the data block made harmless in every text and key."""
    if isinstance(value, str):
        return defused(value) if "<" in value else value
    if isinstance(value, dict):
        return {safe(key): safe(item) for key, item in value.items()}
    return [safe(item) for item in value] if isinstance(value, list) else value


def _note(tool: str, answer: Json) -> str:
    if tool == "recall":
        results = answer["results"]
        return " ".join((*probably_unknown(answer), *remarks(answer), *([NOTE] if results else [])))
    if "action" in answer:
        return NOTE if answer.get("related") else ""
    return NOTE if tool in FORMS else ""


def _kept(fields: Json) -> dict[str, Any]:
    """`fields` without those that say nothing: empty, false, or as usual. A zero says something."""
    return {
        name: value for name, value in fields.items() if (value or type(value) in NUMBERS) and USUAL.get(name) != value
    }


def _time(fields: Json, name: str) -> str:
    return to_the_second(fields.get(name, ""))


def _memory(memory: Json) -> dict[str, Any]:
    created, updated = _time(memory, "created_at"), _time(memory, "updated_at")
    return _kept(
        {
            **named(memory, "id", "title", "content", "kind", "space", "by"),
            "updated": updated,
            "created": created if created != updated else "",
            **_standing(memory),
            **named(memory, "tags", "paths", "keywords"),
            "attrs": {
                name: value
                for name, value in memory["attrs"].items()
                if name != ANCHOR and not name.startswith(STALE_PREFIX)
            },
            "source": _kept(memory.get("source", {})),
            "links": [] if memory["linked"] else memory["links"],
            "linked": [_kept(end) for end in memory["linked"]],
            "linked_more": memory["linked_more"] or None,
            "useful": memory["useful"] or None,
            "not_useful": memory["not_useful"] or None,
        }
    )


def _standing(memory: Json) -> dict[str, Any]:
    """The facts that a reader should know of a memory before its text is believed."""
    return {
        "state": memory["state"],
        "shown": memory.get("shown", ""),
        "superseded_by": memory["superseded_by"],
        "replaces": [{**old, "since": _time(old, "since")} for old in memory.get("replaces", ())],
        "older_than": memory.get("older_than", ()),
        "may_be_replaced_by": memory.get("may_be_replaced_by", ()),
        "suspicious": memory.get("suspicious", False),
        "valid_from": _time(memory, "valid_from"),
        "valid_to": _time(memory, "valid_to"),
        "importance": memory.get("importance"),
        "tier": memory["tier"],
        "anchor": memory["anchor"],
        "stale": memory["stale"],
        "trust": memory["trust"],
        "revision": memory["heads"][0] if memory["conflicts"] else "",
        "conflicts": [_kept({**head, "at": _time(head, "at")}) for head in memory["conflicts"]],
    }


def _recalled(answer: Json) -> dict[str, Any]:
    spaces = {hit["space"] for hit in answer["results"]}
    shared = spaces.pop() if len(spaces) == 1 else ""
    time = answer.get("time")
    return _kept(
        {
            **{name: value for name, value in answer.items() if name not in FORMED_RECALL},
            **{name: None if is_list(answer) else round(answer[name], 2) for name in ROUNDED},
            "space": shared,
            "time": _kept({**time, "words": [], "told": ""}) if time else {},
        }
    ) | {
        "results": [_hit(hit, shared) for hit in answer["results"]],
        **_kept({"truncated_by_budget": answer["truncated_by_budget"] or None}),
        "tokens_used": answer["tokens_used"],
    }


def _hit(hit: Json, shared: str) -> dict[str, Any]:
    memory = hit["memory"]
    return _kept(
        {
            **named(hit, "id", "title", "content"),
            "snippet": "" if hit["content"] else hit["snippet"],
            "score": round(hit["score"], 2) if hit["score"] else None,
            "kind": hit["kind"],
            "space": hit["space"] if hit["space"] != shared else "",
            "updated": _time(memory, "updated_at"),
            **_standing(memory),
            "tags": hit["tags"],
            "redirected_from": "" if replaces_it(hit) else hit["redirected_from"],
            "why": why(hit["signals"]) if hit["signals"] else "",
            "attached": [_kept(end) for end in hit["attached"]],
        }
    )


def _written(answer: Json) -> dict[str, Any]:
    memory = answer["memory"]
    return _kept(
        {
            "action": answer["action"],
            "memory": _kept(
                named(memory, *WRITTEN) | {"updated": _time(memory, "updated_at"), "state": memory["state"]}
            ),
            **{name: value for name, value in answer.items() if name not in FORMED_WRITE},
            "superseded": {"id": answer["superseded"]["id"]} if "superseded" in answer else {},
            "in_conflict_with": [head["revision"] for head in memory["conflicts"]],
            "related": [_near(near) for near in answer.get("related", ())[:NEAR_SHOWN_MAX]],
        }
    ) | ({} if answer["indexed"] else {"indexed": False})


def _near(near: Json) -> dict[str, Any]:
    return _kept(
        {
            "id": near["id"],
            "title": near["title"] if not near["snippet"].startswith(near["title"].rstrip("\u2026")) else "",
            "snippet": near["snippet"],
            "similarity": round(near["similarity"], 2),
            "alike": near["alike"],
        }
    )


def _checked(answer: Json) -> dict[str, Any]:
    related = [_near(near) for near in answer["related"][:NEAR_SHOWN_MAX]]
    similarity = round(answer["similarity"], 2) if answer["target_id"] else None
    return _kept({**answer, "similarity": similarity, "related": related})


def _found(answer: Json) -> dict[str, Any]:
    if "memory" in answer:
        return {"memory": _memory(answer["memory"])}
    return {"memories": [_memory(memory) for memory in answer["memories"]], **_kept({"missing": answer["missing"]})}


def _revision(revision: Json) -> dict[str, Any]:
    return _kept({**revision, "at": _time(revision, "at")})


def _in_conflict(answer: Json) -> dict[str, Any]:
    shown = _pruned(conflicts=_pruned(versions=_revision), contradictions=_contradiction)(answer)
    return shown if shown["contradictions"] else {name: shown[name] for name in shown if name not in PAIRS}


def _contradiction(pair: Json) -> dict[str, Any]:
    return {**pair, **{side: {**pair[side], "says": _revision(pair[side]["says"])} for side in ("newer", "older")}}


def _near_memory(near: Json) -> dict[str, Any]:
    return _kept({**near, "replaces": [{**old, "since": _time(old, "since")} for old in near.get("replaces", ())]})


def _pruned(**forms: Form) -> Form:
    """A form without empty values. What `forms` names has that form, or each item of a list has."""

    def form(answer: Json) -> dict[str, Any]:
        return _kept(answer) | {name: _each(forms[name], answer[name]) for name in forms if name in answer}

    return form


def _each(form: Form, value: Any) -> Any:
    return [form(item) for item in value] if isinstance(value, list) else form(value)


def _lean(**forms: Form) -> Form:
    """The same, also without the lists of `forms` that are empty."""
    return lambda answer: _kept(_pruned(**forms)(answer))


def _checkpoint(checkpoint: Json) -> dict[str, Any]:
    return _kept({**checkpoint, "at": _time(checkpoint, "at")})


def _context(answer: Json) -> dict[str, Any]:
    checkpoint = {"checkpoint": _checkpoint(answer["checkpoint"])} if "checkpoint" in answer else {}
    groups = [
        {"name": group["name"], "memories": [_in_context(memory) for memory in group["memories"]]}
        for group in answer["groups"]
    ]
    return checkpoint | {"groups": groups, **_kept({**answer, "groups": (), "checkpoint": ()})}


def _in_context(memory: Json) -> dict[str, Any]:
    return _near_memory({**memory, "space": "", "updated_at": _time(memory, "updated_at")})


def _tidy(memory: Json) -> dict[str, Any]:
    return _kept({**memory, "heat": round(memory["heat"]["value"], 3)})


def _pair(pair: Json) -> dict[str, Any]:
    return {**pair, "older": _tidy(pair["older"]), "newer": _tidy(pair["newer"])}


def _near_entity(entity: Json) -> dict[str, Any]:
    return _kept({**entity, "score": round(entity["score"], 4)})


# Of the tools that deliver words of memories or sessions.
FORMS: Final[Mapping[str, Form]] = {
    "recall": _recalled,
    "get": _found,
    "timeline": _pruned(memories=_memory),
    "list": _pruned(memories=_memory),
    "related": _pruned(results=_near_memory),
    "history": _pruned(revisions=_revision),
    "blame": _pruned(lines=_kept, fields=_kept),
    "conflicts": _in_conflict,
    "check": _checked,
    "duplicates": _pruned(pairs=_pair),
    "hygiene": _pruned(findings=_lean(memory=_tidy)),
    "transcript_search": _pruned(results=_lean(before=_kept, turn=_kept, after=_kept)),
    "transcript_read": _pruned(session=_kept, turns=_kept),
    "transcript_list": _pruned(sessions=_kept),
    "transcript_erase": _pruned(sessions=_kept),
    "context": _context,
    "checkpoint": _pruned(checkpoint=_checkpoint),
    "resume": _context,
    "record_run": _pruned(run=_kept),
    "session_runs": _pruned(runs=_kept),
    "settle": _pruned(requirement=_kept),
    "requirements": _pruned(requirements=_kept),
    "graph": _lean(relations=_kept, entities=_near_entity),
    "graph_audit": _pruned(findings=_kept),
    "causal_chain": _lean(causes=_kept, effects=_kept, linked=_kept),
    "story": _pruned(sentences=_kept),
    "gaps": _pruned(gaps=_kept),
    "coverage": _kept,
    "recall_hierarchical": _pruned(clusters=_near_entity),
    "drill_down": _pruned(cluster=_kept),
    "navigate": _pruned(points=_near_entity),
    "seed_project": _pruned(seeds=_kept),
    "create_trigger": _pruned(trigger=_kept),
    "list_triggers": _pruned(triggers=_kept),
    "delete_trigger": _pruned(trigger=_kept),
    "consolidate": _pruned(steps=_kept, gaps=_kept),
    "list_runs": _pruned(runs=_pruned(steps=_kept)),
    "undo_run": _pruned(run=_pruned(steps=_kept)),
    "validate": _pruned(memories=_kept),
    "add_rule": _pruned(rule=_kept),
    "get_rules": _pruned(rules=_kept),
    "delete_rule": _pruned(rule=_kept),
}


def snippet_only(answer: Json) -> Json:
    """`answer` with its best result alone, in part."""
    best = {**answer["results"][0], "content": "", "attached": []}
    return shortened({**answer, "results": [best, *answer["results"][1:]]}, 1)


def shortened(answer: Json, count: int) -> Json:
    """`answer` with its first `count` results. The others are counted as left out by the budget."""
    results: Sequence[Json] = answer["results"]
    left_out = answer["truncated_by_budget"] + len(results) - count
    return {**answer, "results": results[:count], "truncated_by_budget": left_out}
