"""The tools for agents, generated from the table of operations, and their toolsets.

Every row with an MCP name is a tool with the same fields, limits and answers as on the other doors. Added are advice on
when to use the tool (guidance), the shown fields (tool_fields), and the forms of answers (answer_budget). The toolset
`connector` holds the pair `search` and `fetch` for hosts that accept nothing else. Knows nothing of the protocol
library.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mnemesh_gateway.contract.message_json import require_known, to_json
from mnemesh_gateway.contract.schema import Schema
from mnemesh_gateway.doors.mcp.answers import answer_text, structured_answers
from mnemesh_gateway.doors.mcp.tools import answer_budget, titled_memories, tool_fields
from mnemesh_gateway.doors.mcp.tools.answer_budget import Answer
from mnemesh_gateway.doors.mcp.tools.guidance import GUIDANCE, INSTEAD
from mnemesh_gateway.doors.mcp.tools.tool_forms import FORMS, ToolForm
from mnemesh_gateway.doors.mcp.tools.toolsets import TOOLSETS
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation, by_name
from mnemesh_memory.access import grants
from mnemesh_memory.text.text import title_of
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import memory_pb2, recall_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

Arguments = Mapping[str, Any]
Run = Callable[["MeshGate", Caller, Arguments], Awaitable["Answer"]]

URI_SCHEME: Final = "memory://"

# The name of a tool in our words. A tool that is not switched on gets a hint.
NAMED: Final = re.compile(r"`([a-z_]+)`")
DATA_BLOCK: Final = re.compile(r"<memories\b.*?</memories>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """One tool. `run` raises MnemeshError for everything that the caller can cause. The tool is shown to callers with a
    token for its operation, and does what the operation may do."""

    name: str
    title: str
    description: str
    toolset: str
    operation: Operation
    input_schema: Schema
    output_schema: Schema
    run: Run


def also_asked(name: str, arguments: Mapping[str, object]) -> str:
    """The other tool whose work a call asks for as well, "" for none: what erases is switched on with `purge`."""
    return "purge" if name == "bulk_forget" and arguments.get("purge") not in (None, False) else ""


def with_toolset(toolset: str, chosen: Collection[str]) -> str:
    """How to connect with a toolset as well as those that are switched on."""
    wanted = ",".join(name for name in TOOLSETS if name in chosen or name == toolset)
    return f"?toolsets={wanted} in the URL, or `mnemesh mcp --toolsets {wanted}`"


def switched_off(text: str, tools: Mapping[str, ToolRow], chosen: Collection[str]) -> str:
    """How to get tools that `text` names outside of data blocks and the `chosen` toolsets lack. "" without such
    tools."""
    named = (tools[name] for name in dict.fromkeys(NAMED.findall(DATA_BLOCK.sub("", text))) if name in tools)
    off: dict[str, list[str]] = {}
    for row in named:
        if row.toolset not in chosen:
            off.setdefault(row.toolset, []).append(row.name)
    lines = (
        f"Not switched on here: {', '.join(names)}; {with_toolset(toolset, chosen)} adds the toolset {toolset}."
        for toolset, names in off.items()
    )
    return " ".join(lines)


def build_tools() -> dict[str, ToolRow]:
    """All tools by name, in the order of the table. The connector pair last."""
    rows = [_tool(operation) for operation in OPERATIONS if operation.mcp_name]
    titling = asyncio.Lock()  # two calls with one new title make one memory
    forms = (_form(form, titling) for form in FORMS)
    return {row.name: row for row in (*rows, *forms, _search_tool(), _fetch_tool())}


def _tool(operation: Operation) -> ToolRow:
    name = operation.mcp_name
    title, guidance = GUIDANCE[name]

    async def run(gate: MeshGate, caller: Caller, arguments: Arguments) -> Answer:
        fields, detail = tool_fields.read(arguments)
        if name == "recall" and detail == tool_fields.SNIPPETS:
            fields["snippets_only"] = True
        request = operation.read_json(fields)
        response = await operation.run(gate, caller, request)
        if name == "recall" and "limit" not in fields:
            scores = [hit.score for hit in response.results]
            shown = answer_budget.worth_showing(scores, abstain=response.abstain)
            results = [response.results[place] for place in shown]
            del response.results[:]
            response.results.extend(results)
        budget = fields.get("token_budget") if name == "recall" else None
        return answer_budget.answered(name, to_json(response), detail, budget)

    return ToolRow(
        name=name,
        title=title,
        description=f"{INSTEAD.get(name, operation.description)} {guidance}",
        toolset=operation.toolset,
        operation=operation,
        input_schema=tool_fields.shown_schema(name, operation.request_schema()),
        output_schema=structured_answers.output_schema(operation.response_schema()),
        run=run,
    )


def _form(form: ToolForm, titling: asyncio.Lock) -> ToolRow:
    operation = by_name(form.of)
    gives_title = "title" in form.required.split()

    async def answer(gate: MeshGate, caller: Caller, fields: dict[str, Any]) -> Any:
        if form.kind:
            fields |= await titled_memories.ids_of(gate, caller, form.kind, fields)
            if gives_title:
                await titled_memories.require_free(gate, caller, fields)
        revised = await titled_memories.revision(gate, caller, fields) if form.revises else None
        return revised if revised is not None else await operation.run(gate, caller, operation.read_json(fields))

    async def run(gate: MeshGate, caller: Caller, arguments: Arguments) -> Answer:
        grants.require(caller, operation.needs, form.name, operation.toolset)
        fields, detail = tool_fields.read(form.fields(arguments))
        async with titling if gives_title else nullcontext():
            response = await answer(gate, caller, fields)
        return answer_budget.answered(form.of, to_json(response), detail)

    return ToolRow(
        name=form.name,
        title=form.title,
        description=form.description,
        toolset="session",
        operation=operation,
        input_schema=tool_fields.form_schema(form, operation.request_schema()),
        output_schema=structured_answers.output_schema(operation.response_schema()),
        run=run,
    )


def _search_tool() -> ToolRow:
    recall = by_name("recall")
    query = recall.request_schema()["properties"]["query"]
    item = _object({"id": _text("Id for fetch."), "title": _text("Title."), "url": _text("Address of the memory.")})

    async def run(gate: MeshGate, caller: Caller, arguments: Arguments) -> Answer:
        grants.require(caller, recall.needs, "search", recall.toolset)
        request = recall_pb2.RecallRequest(query=_only(arguments, "query"))
        reply = await recall.run(gate, caller, request)
        results = [
            {"id": hit.id, "title": _title(hit.title, hit.content), "url": URI_SCHEME + hit.id} for hit in reply.results
        ]
        return _as_json({"results": results})

    return ToolRow(
        name="search",
        title="Search",
        description=f"{recall.description} Gives ids and titles; fetch gives the text.",
        toolset="connector",
        input_schema=_object({"query": query}),
        output_schema=_object({"results": {"type": "array", "items": item, "description": "Best first."}}),
        operation=recall,
        run=run,
    )


def _fetch_tool() -> ToolRow:
    get = by_name("get")
    metadata = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Kind, space, author, time.",
    }
    output = {
        "id": _text("Id of the memory."),
        "title": _text("Title."),
        "text": _text("The memory, as data in a tagged block."),
        "url": _text("Address of the memory."),
        "metadata": metadata,
    }

    async def run(gate: MeshGate, caller: Caller, arguments: Arguments) -> Answer:
        grants.require(caller, get.needs, "fetch", get.toolset)
        response = await get.run(gate, caller, memory_pb2.GetRequest(ids=[_only(arguments, "id")]))
        memory = to_json(response)["memory"]
        return _as_json(
            {
                "id": memory["id"],
                "title": _title(memory["title"], memory["content"]),
                "text": answer_text.data_block([answer_text.memory_element(memory)]),
                "url": URI_SCHEME + memory["id"],
                "metadata": {
                    "kind": memory["kind"], "space": memory["space"], "by": memory["by"],
                    "tags": ", ".join(memory["tags"]), "updated_at": memory.get("updated_at", ""),
                },
            }
        )  # fmt: skip

    return ToolRow(
        name="fetch",
        title="Fetch",
        description="Read one memory that search found.",
        toolset="connector",
        input_schema=_object({"id": _text("Id that search gave.")}),
        output_schema=_object(output),
        operation=get,
        run=run,
    )


def _title(title: str, content: str) -> str:
    """The same for both connector tools: the writer's title, else the first words."""
    return answer_text.defused(title or title_of(content))


def _only(arguments: Arguments, name: str) -> str:
    """The one argument of a connector tool. Raises InvalidArgument."""
    for given, value in arguments.items():
        require_known(given, value, [name])
    value = tool_fields.read(arguments)[0].get(name)
    if not isinstance(value, str):
        raise InvalidArgument(name, value, "a string")
    return value


def _as_json(value: dict[str, Any]) -> Answer:
    """These hosts read the text, which has to be the same JSON."""
    return Answer(value, json.dumps(value, ensure_ascii=False))


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(help_text: str) -> Schema:
    return {"type": "string", "description": help_text}
