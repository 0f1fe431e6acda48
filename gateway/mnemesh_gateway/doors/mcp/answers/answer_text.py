"""The text that an agent reads, beside the structured content of a tool's answer (structured_answers).

Text of memories is data and never instructions. Here such text stands inside one `<memories>` block that says so, and
no text can close the block. Pure: JSON forms of responses in, text out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mnemesh_gateway.doors.mcp.answers import conflict_text, history_text, report_text, session_text
from mnemesh_gateway.doors.mcp.answers.data_elements import NOTE as NOTE
from mnemesh_gateway.doors.mcp.answers.data_elements import data_block as data_block
from mnemesh_gateway.doors.mcp.answers.data_elements import defused as defused
from mnemesh_gateway.doors.mcp.answers.data_elements import element as element
from mnemesh_gateway.doors.mcp.answers.data_elements import standing as standing
from mnemesh_gateway.doors.mcp.answers.data_elements import to_the_second as to_the_second
from mnemesh_gateway.doors.mcp.answers.history_text import more, unusual
from mnemesh_gateway.doors.mcp.answers.history_text import named as named

Json = Mapping[str, Any]

SAME_TEXT: Final = "(the same text; `conflicts` shows what differs)"
SIGNALS_SHOWN_MAX: Final = 4
NEAR_SHOWN_MAX: Final = 3
_Place = tuple[str, str, int]


def render(tool: str, answer: Json) -> str:
    """The text for `answer`, the JSON form of what `tool` returned."""
    form = FORMS.get(tool) or (_written if "action" in answer else None)
    return form(answer) if form else json.dumps(answer, ensure_ascii=False, indent=1)


def _got(answer: Json) -> str:
    return _listed(answer["memories"], answer["missing"])


def _around(answer: Json) -> str:
    return _listed(answer["memories"]) + f"\nThe asked one is number {answer['position'] + 1}."


def _page(answer: Json) -> str:
    lost = "".join(f"\nMay be incomplete: {reason}." for reason in answer["degraded_reasons"])
    return _listed(answer["memories"]) + f"\n{len(answer['memories'])} of {answer['total']}.{more(answer)}{lost}"


def memory_element(memory: Json, content: str | None = None, **more: object) -> str:
    """A whole memory. `content` when it stands elsewhere."""
    text = memory["content"] if content is None else content
    texts = [text]
    if memory["conflicts"]:
        texts[:0] = [f"[in conflict: {1 + len(memory['conflicts'])} versions; the shown one, {memory['heads'][0]}]"]
    texts += [
        f"[another version, {head['revision']}, by {head['by']}, {head.get('at', '')}]\n"
        + (head["content"] if head["content"] != text else SAME_TEXT)
        for head in memory["conflicts"]
    ]
    texts += [_end(end) for end in memory["linked"]]
    if memory["linked_more"]:
        texts.append(f"[{memory['linked_more']} more link to it]")
    texts += [f"[{note}]" for note in memory.get("notes", ())]
    return element(
        "\n".join(texts),
        id=memory["id"],
        **more,
        **named(memory, "title", "kind", "space", "tags"),
        state=unusual(memory["state"]),
        by=memory["by"],
        updated=to_the_second(memory.get("updated_at", "")),
        valid_from=memory.get("valid_from", ""),
        valid_to=memory.get("valid_to", ""),
        superseded_by=memory["superseded_by"],
        anchored=memory.get("anchor", ""),
        stale=memory.get("stale", ()),
        trust=memory["trust"] if memory.get("trust", "") in ("peer", "imported") else "",
        **standing(memory),
    )


def replaces_it(hit: Json) -> bool:
    """Whether the memory that led to a result stands among those that the result replaces."""
    return any(old["id"] == hit["redirected_from"] for old in hit["memory"].get("replaces", ()))


def _recalled(answer: Json) -> str:
    results = answer["results"]
    if not results:
        return "\n".join(remarks(answer))
    spaces = {hit["space"] for hit in results}
    block = data_block(line for hit in results for line in _hit(hit, shared=len(spaces) == 1))
    where = f" in {defused(spaces.pop())}" if len(spaces) == 1 else ""
    covered = "" if is_list(answer) else f", coverage {answer['coverage']:.2f}"
    count = f"{len(results)} found{where}{covered}."
    return "\n".join((*probably_unknown(answer), block, count, *remarks(answer)))


def is_list(answer: Json) -> bool:
    """Whether there are results that answer no question."""
    return not answer["answered"] and bool(answer["results"]) and not any(hit["score"] for hit in answer["results"])


def probably_unknown(answer: Json) -> list[str]:
    """The sentence before results that are probably no answer. None for others."""
    weak = f"Probably not known: these match only weakly, the probability of an answer is {answer['answered']:.2f}."
    return [weak] if answer["abstain"] and answer["results"] else []


def remarks(answer: Json) -> list[str]:
    """Sentences beside the results of a recall."""
    lines = []
    if not answer["results"]:
        nothing = [] if answer["truncated_by_budget"] else [f"Nothing found in {_and(answer['spaces'])}."]
        lines += [*nothing, *answer["notes"]]
    elif any(not hit["content"] for hit in answer["results"]):
        lines.append("Snippets; `get` gives the whole texts.")
    lines += _triggered(answer)
    if time := answer.get("time"):
        lines.append(f"{defused(time['told'])}.")
    if left_out := answer["truncated_by_budget"]:
        lines.append(f"{left_out} more left out by the token budget.")
    if answer["degraded"]:
        lines.append(f"May be incomplete: {'; '.join(answer['degraded_reasons'])}.")
    return lines


def _hit(hit: Json, *, shared: bool) -> list[str]:
    """A result and its attachments. The space of the result is left out when it is `shared` by all."""
    text, score = hit["content"] or hit["snippet"], f"{hit['score']:.2f}" if hit["score"] else ""
    lean = {**hit["memory"], "by": "", "space": "" if shared else hit["space"]}
    origin = "" if replaces_it(hit) else hit["redirected_from"]
    memory = memory_element(lean, text, score=score, redirected_from=origin, why=why(hit["signals"]))
    return [
        memory,
        *(
            element(
                end["snippet"] or "(see there)",
                id=end["id"],
                belongs_to=hit["id"],
                link=end["type"] if end["direction"] == "out" else f"{end['type']} (the other way round)",
                **named(end, "title", "kind", "space"),
            )
            for end in hit["attached"]
        ),
    ]


def _end(end: Json) -> str:
    way = "links to" if end["direction"] == "out" else "is linked to by"
    state = "" if end["state"] == "active" else f", {end['state']}"
    return f"[{way} ({end['type']}{state}): {' '.join(filter(None, (end['id'], end['title'])))}]"


def why(signals: Sequence[Json]) -> str:
    """The strongest signals. The full form of the structured content has all of them."""
    most = sorted((part for part in signals if part["share"]), key=lambda part: -part["share"])[:SIGNALS_SHOWN_MAX]
    return ", ".join(f"{part['name']} {part['share']:.2f}" for part in most)


def _related(answer: Json) -> str:
    elements = (
        element(
            near["snippet"], id=near["id"], title=near["title"], kind=near["kind"], space=near["space"],
            score=f"{near['score']:.2f}", why=near["reasons"], **standing(near),
        )
        for near in answer["results"]
    )  # fmt: skip
    lines = [data_block(elements) if answer["results"] else f"Nothing has to do with {answer['id']}."]
    if answer["degraded"]:
        lines.append(f"May be incomplete: {'; '.join(answer['degraded_reasons'])}.")
    return "\n".join(lines)


def _listed(memories: Sequence[Json], missing: Sequence[str] = ()) -> str:
    block = data_block(memory_element(memory) for memory in memories) if memories else "No memories."
    return block + (f"\nNot found: {', '.join(missing)}" if missing else "")


def _written(answer: Json) -> str:
    memory = answer["memory"]
    flags = {
        "deduplicated": "a memory that says the same was there already",
        "restorable": "it was forgotten; `restore` brings it back",
        "replayed": "this idempotency key was used before",
    }
    lines = [f"{answer['action']} {memory['id']} ({memory['kind']}, space {memory['space']}): {answer['reason']}"]
    lines += [f"Note: {text}." for flag, text in flags.items() if answer.get(flag)]
    if memory["conflicts"]:
        lines.append(
            f"Note: in conflict, {len(memory['conflicts'])} other version(s); `get` shows them, `resolve` ends it."
        )
    lines += _triggered(answer)
    if hint := answer.get("hint"):
        lines.append(f"Next: {hint}.")
        lines += _dismissal(memory, hint)
    return "\n".join(lines) + _neighbours(answer.get("related", ()))


def _dismissal(memory: Json, hint: str) -> list[str]:
    """The command for a writer who was asked about one memory and means both."""
    asked = [link["id"] for link in memory["links"] if link["type"] == "may-replace"]
    old = min(filter(hint.__contains__, asked), key=hint.index, default="")
    return [f"If both hold: mnemesh resolve {old} --other {memory['id']} --keep both"] if old else []


def _triggered(answer: Json) -> list[str]:
    """The sentence on triggers that a call fired."""
    fired = answer.get("triggered", ())
    return [f"Triggered: {', '.join(fired)}; `get` reads them."] if fired else []


def _checked(answer: Json) -> str:
    target = ""
    if answer["target_id"] and answer["action"] != "ADD":  # of what would be added, the reason names the neighbour
        target = f" {answer['target_id']} (similarity {answer['similarity']:.2f})"
    hint = f"\nNext: {answer['hint']}." if answer.get("hint") else ""
    return f"Would {answer['action']}{target}: {answer['reason']}{hint}" + _neighbours(answer["related"])


def _found_turns(answer: Json) -> str:
    if not answer["results"]:
        return f"No turn found in {_and(answer['spaces'])}."
    scores = {_place(hit["turn"]): hit["score"] for hit in answer["results"]}
    elements = (
        _turn(turn, session=turn["session"], space=turn["space"], score=f"{scores[at]:.2f}" if at in scores else "")
        for turns in _stretches(answer["results"])
        for at, turn in turns.items()
    )
    count = f"{len(answer['results'])} found; transcript_read(session, first) reads on from a position."
    return f"{data_block(elements)}\n{count}"


def _stretches(results: Iterable[Json]) -> list[dict[_Place, Json]]:
    """The turns around the hits in their order, each once. Hits with a common turn stand together, best first."""
    stretches: list[tuple[int, dict[_Place, Json]]] = []
    for rank, hit in sorted(enumerate(results), key=lambda ranked: _place(ranked[1]["turn"])):
        turns = {_place(turn): turn for turn in (*hit["before"], hit["turn"], *hit["after"])}
        if stretches and stretches[-1][1].keys() & turns.keys():
            best, before = stretches.pop()
            stretches.append((min(best, rank), before | turns))
        else:
            stretches.append((rank, turns))
    return [turns for _, turns in sorted(stretches, key=lambda stretch: stretch[0])]


def _place(turn: Json) -> _Place:
    return turn["space"], turn["session"], turn["position"]


def _read_turns(answer: Json) -> str:
    session, turns = answer["session"], answer["turns"]
    block = data_block(_turn(turn) for turn in turns) if turns else "No turns there."
    return f"{block}\nSession {session['session']} in {session['space']} has {session['turns']} turns."


def _turn(turn: Json, **more: object) -> str:
    known = {"position": turn["position"], "role": turn["role"], "at": turn.get("at", "")}
    return element(turn["text"], "turn", **more, **known)


def _sessions(answer: Json) -> str:
    """Sessions with their own words, which are data too. Then what was done, or how to read on."""
    elements = (
        element(
            session["title"],
            "session",
            **named(session, "session", "space", "part_of", "dir", "turns"),
            began=session.get("started_at", ""),
            ended=session.get("ended_at", ""),
        )
        for session in answer["sessions"]
    )
    block = data_block(elements) if answer["sessions"] else "No sessions."
    if "backups" in answer:
        held = f" Backups may still hold them: {', '.join(answer['backups'])}." if answer["backups"] else ""
        pending = f" {answer['pending']}." if answer["pending"] else ""
        return f"{block}\nErased, with {answer['turns']} turns.{pending}{held}"
    return f"{block}\n{len(answer['sessions'])} of {answer['total']}.{more(answer)}"


def _triggers(answer: Json) -> str:
    shown = answer["triggers"] if "triggers" in answer else [answer["trigger"]]
    elements = (
        element(
            trigger["content"],
            **named(trigger, "id", "title", "space"),
            fires_on=f"{trigger['on']} {trigger['pattern']}",
            state="fired" if trigger["fired"] else "repeating" if trigger["repeating"] else "armed",
        )
        for trigger in shown
    )
    block = data_block(elements) if shown else "No triggers."
    if "kept" in answer:
        return f"{block}\nNo trigger any more; {'the memory stays' if answer['kept'] else 'its text is forgotten'}."
    return f"{block}\n{len(shown)} of {answer['total']}.{more(answer)}" if "total" in answer else block


def _neighbours(related: Sequence[Json]) -> str:
    if not related:
        return ""
    elements = (
        element(near["snippet"], id=near["id"], title=near["title"], similarity=f"{near['similarity']:.2f}")
        for near in related[:NEAR_SHOWN_MAX]
    )
    return "\nNearest memories:\n" + data_block(elements)


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) or "the spaces searched"


# Of the tools whose answers hold words of memories or sessions.
FORMS: Final[Mapping[str, Callable[[Json], str]]] = {
    "recall": _recalled,
    "get": _got,
    "timeline": _around,
    "list": _page,
    "related": _related,
    "history": history_text.history,
    "blame": history_text.blame,
    "conflicts": conflict_text.conflicts,
    "check": _checked,
    **report_text.FORMS,
    "transcript_search": _found_turns,
    "transcript_read": _read_turns,
    "transcript_list": _sessions,
    "transcript_erase": _sessions,
    **session_text.FORMS,
    "create_trigger": _triggers,
    "list_triggers": _triggers,
    "delete_trigger": _triggers,
}
