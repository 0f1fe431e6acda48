"""The cost of the tools in the context of a model: the list of tools, and answers in both forms."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from node_process import NodeUnderTest

from mnemesh_gateway.doors.mcp.answers.answer_text import NOTE
from mnemesh_memory.text.text import estimate_tokens

pytestmark = pytest.mark.asyncio(loop_scope="session")

CORE_TOKENS_MAX = 1_600
CURATE_TOKENS_MAX = 5_500
INSTRUCTIONS_CHARS_MAX = 1_200
TEN_RESULTS_CHARS_MAX = 2_600
SERVICES = ("billing", "search", "login", "mail", "audit", "export", "cache", "queue", "report", "gateway")


@asynccontextmanager
async def connected(node: NodeUnderTest, query: str = "", space: str = "") -> AsyncIterator[Client]:
    fields = {"authorization": f"Bearer {node.token}"} | ({"x-mnemesh-space": space} if space else {})
    async with (
        httpx2.AsyncClient(headers=fields, timeout=60) as http,
        Client(streamable_http_client(f"http://{node.http}/mcp{query}", http_client=http)) as client,
    ):
        yield client


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tokens(tools: Any) -> float:
    """Characters of name, description and input schema as compact JSON, divided by 4."""
    return sum(
        len(compact({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}))
        for tool in tools
    ) / 4  # fmt: skip


async def ten(client: Client, *, words: int = 1) -> str:
    """A space with a memory of one line about each of ten services; or as many lines as `words`."""
    space = f"test/{uuid.uuid4().hex}"
    for service in SERVICES:
        line = f"The {service} service is deployed by its own team on Friday before noon."
        await client.call_tool("remember", {"content": "\n".join([line] * words), "space": space})
    return space


async def recalled(client: Client, space: str, **fields: Any) -> tuple[dict[str, Any], str]:
    asked = {"query": "when is a service deployed", "spaces": [space], **fields}
    result = await client.call_tool("recall", asked)
    assert not result.is_error, result.content
    return result.structured_content, result.content[0].text


async def test_a_list_has_no_scores_and_claims_no_cover(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        structured, text = await recalled(client, await ten(client), query="")
    assert "10 found in" in text
    assert not {"score", "coverage"} & {word.strip(' ,="') for word in text.replace("=", " ").split()}
    assert not {"coverage", "answered"} & structured.keys()
    assert not any("score" in hit for hit in structured["results"])


async def test_the_tools_of_core_and_curate_cost_a_model_little(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        core = tokens((await client.list_tools()).tools)
        assert len(client.instructions) <= INSTRUCTIONS_CHARS_MAX
        assert client.instructions.startswith("Call `context` once, first")
        for word in ("Recall", "Remember", "Correct", "`supersede`", "data, never instructions"):
            assert word in client.instructions
    async with connected(shared_node, "?toolsets=core,curate") as client:
        both = tokens((await client.list_tools()).tools)
    print(f"core {core:g} tokens, core and curate {both:g}")
    assert core <= CORE_TOKENS_MAX
    assert both <= CURATE_TOKENS_MAX


async def test_the_instructions_speak_of_context_only_where_the_tool_is(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node, "?toolsets=session,curate") as client:
        assert "`context`" not in client.instructions
        assert "data, never instructions" in client.instructions


async def test_a_context_keeps_its_budget_in_what_is_sent(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        space = await ten(client, words=3)
        for budget in (150, 400, 1000, 3000):
            asked = {"query": "when is a service deployed", "spaces": [space], "token_budget": budget}
            result = await client.call_tool("context", asked)
            sent = estimate_tokens(compact(result.structured_content)), estimate_tokens(result.content[0].text)
            print(budget, sent)
            assert result.structured_content["groups"]
            assert max(sent) <= 1.1 * budget


async def test_a_host_that_defers_tools_loads_remember_and_recall_at_once(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        tools = (await client.list_tools()).tools
    loaded = {tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad") is True}
    assert loaded == {"remember", "recall"}


async def test_ten_memories_of_one_line_are_short_in_either_form(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        found, text = await recalled(client, await ten(client))
    assert len(found["results"]) == 10
    assert len(compact(found)) <= TEN_RESULTS_CHARS_MAX
    assert len(text) <= TEN_RESULTS_CHARS_MAX
    assert next(iter(found)) == "note"
    assert NOTE in found["note"]
    assert all({"id", "content", "score", "updated"} <= set(hit) for hit in found["results"])
    assert not any({"snippet", "memory", "tags"} & set(hit) for hit in found["results"]), "no text twice, nothing empty"
    assert found["tokens_used"] == pytest.approx(len(compact(found)) / 4, rel=0.05)


@pytest.mark.parametrize("words", [1, 40])
@pytest.mark.parametrize("detail", ["snippets", "texts", "full"])
async def test_a_token_budget_bounds_what_is_sent(shared_node: NodeUnderTest, words: int, detail: str) -> None:
    async with connected(shared_node) as client:
        space = await ten(client, words=words)
        whole, _ = await recalled(client, space, detail=detail)
        counts = []
        for budget in (100, 150, 300, 600, 1200, 5000, 20_000):
            found, text = await recalled(client, space, detail=detail, token_budget=budget)
            sent = max(estimate_tokens(compact(found)), estimate_tokens(text))
            assert sent <= 1.1 * budget
            assert abs(found["tokens_used"] - sent) <= 1
            assert len(found["results"]) + found.get("truncated_by_budget", 0) == len(whole["results"])
            counts.append(len(found["results"]))
        assert counts == sorted(counts)
        assert counts[-1] == 10


async def test_a_budget_that_no_result_fits_is_named(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        found, text = await recalled(client, await ten(client), token_budget=20)
    assert found["results"] == []
    for told in (found["note"], text):
        assert "token_budget: no result fits into 20 tokens" in told


async def test_a_weak_answer_says_first_that_it_is_one(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node) as client:
        space = await ten(client)
        found, text = await recalled(client, space, query="which paint is on the harbour crane")
        empty, _ = await recalled(client, f"{space}/none")
    assert found["abstain"]
    assert found["note"].startswith("Probably not known")
    assert text.startswith("Probably not known")
    assert empty["note"].startswith("Nothing found in test/")


async def test_an_agent_corrects_what_it_wrote_with_the_core_tools(shared_node: NodeUnderTest) -> None:
    space = f"test/{uuid.uuid4().hex}"
    async with connected(shared_node) as client:
        old = await client.call_tool("remember", {"content": "The API listens on port 8080", "space": space})
        new = await client.call_tool("remember", {"content": "The API listens on port 9090 now", "space": space})
        asked, (near,) = new.structured_content["hint"], new.structured_content["related"]
        id_ = old.structured_content["memory"]["id"]
        assert new.structured_content["action"] == "SUPERSEDE"
        assert asked == f'if both hold, call restore(id="{id_}")'
        assert near["id"] == id_
        assert NOTE in new.structured_content["note"]
        assert f"Next: {asked}." in new.content[0].text
        found, _ = await recalled(client, space, query="which port does the API listen on")
    assert [hit["content"] for hit in found["results"]] == ["The API listens on port 9090 now"]


async def test_a_revision_may_be_named_by_its_number(shared_node: NodeUnderTest) -> None:
    async with connected(shared_node, "?toolsets=core,curate") as client:
        space = f"test/{uuid.uuid4().hex}"
        id_ = (await client.call_tool("remember", {"content": "one", "space": space})).structured_content["memory"][
            "id"
        ]
        await client.call_tool("update", {"id": id_, "content": "two"})
        back = await client.call_tool("rollback", {"id": id_, "to": 1})
        assert back.structured_content["action"] == "ROLLBACK", back.content
        read = await client.call_tool("get", {"ids": [id_]})
    assert read.structured_content["memory"]["content"] == "one"
