"""The MCP door through the library's own client: every transport, both protocol generations, a real HTTP
server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from fake_mesh import FakeGate, FakeMesh
from mcp.shared.exceptions import MCPError
from mcp_support import TOKEN, TRANSPORTS, WAIT_S, Node, connect, headers
from mcp_support import node as node
from mcp_support import served as served
from mcp_types import Implementation, TextContent

from mnemesh_gateway.doors.mcp.mcp_door import McpDoor
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, Overloaded

ACCEPT = {"accept": "application/json, text/event-stream"}
PROTOCOL_2026 = "2026-07-28"
SECRET = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"


every_transport = pytest.mark.parametrize("transport", TRANSPORTS)


def text_of(result: Any) -> str:
    assert isinstance(result.content[0], TextContent)
    return str(result.content[0].text)


async def test_a_body_that_is_no_message_is_refused_in_plain_words(node: Node) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for body in ([], [ping], 7, ping | {"jsonrpc": "1.0"}, ping | {"params": []}, {"id": 1}):
        refused = await post(node, body, **headers())
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (400, -32600)
        assert all(words in error["message"] for words in ("JSON-RPC", "method", "params", "id"))
        assert "pydantic" not in refused.text
    other = await post(node, ping, **headers())
    assert "session" in other.json()["error"]["message"].lower(), "another refusal keeps its words"


@every_transport
async def test_a_refusal_is_a_tool_error_that_names_field_value_and_limit(node: Node, transport: str) -> None:
    async with connect(node, transport) as client:
        refused = await client.call_tool("remember", {"content": "x", "importance": 7})
        assert refused.is_error
        assert text_of(refused).startswith("INVALID_ARGUMENT: importance: 7")
        assert refused.meta["mnemesh/error"]["field"] == "importance"
        unknown = await client.call_tool("recall", {"query": "x", "filters": []})
        assert unknown.is_error
        assert "filters" in text_of(unknown)
        missing = await client.call_tool("get", {"ids": ["no such memory"]})
        assert missing.is_error
        assert text_of(missing).startswith("NOT_FOUND")


@every_transport
async def test_an_unknown_tool_is_a_protocol_error_that_lists_the_tools(node: Node, transport: str) -> None:
    async with connect(node, transport) as client:
        with pytest.raises(MCPError, match="remember, recall, get, timeline, supersede, forget"):
            await client.call_tool("memorise", {})
        with pytest.raises(MCPError, match="toolsets=core,curate in the URL, or `mnemesh mcp --toolsets core,curate`"):
            await client.call_tool("update", {"id": "x"})


@every_transport
async def test_what_erases_in_bulk_is_switched_on_with_purge(node: Node, transport: str) -> None:
    async with connect(node, transport, "?toolsets=core,curate") as client:
        for arguments in ({"kinds": ["fact"], "purge": True}, {"kinds": ["fact"], "purge": "yes", "dry_run": False}):
            with pytest.raises(MCPError, match="tool purge is in the toolset admin; connect with"):
                await client.call_tool("bulk_forget", arguments)
        told = await client.call_tool("bulk_forget", {"kinds": ["fact"], "purge": False})
        assert told.structured_content["dry_run"]


@every_transport
async def test_a_memory_is_a_resource(node: Node, transport: str) -> None:
    async with connect(node, transport) as client:
        written = await client.call_tool("remember", {"content": "Rows are kept for a year", "title": "Retention"})
        identity = written.structured_content["memory"]["id"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["memory://{id}"]
        assert (await client.list_resources()).resources == []
        contents = (await client.read_resource(f"memory://{identity}")).contents
        by_type = {content.mime_type: content.text for content in contents}
        assert "Rows are kept for a year" in by_type["text/markdown"]
        assert json.loads(by_type["application/json"])["id"] == identity
        with pytest.raises(MCPError, match="NOT_FOUND") as refusal:
            await client.read_resource("memory://018f6f0e-dead-beef")
        assert refusal.value.code == -32602
        with pytest.raises(MCPError, match="memory://"):
            await client.read_resource("file:///etc/passwd")


@every_transport
async def test_hints_say_which_tools_are_safe(node: Node, transport: str) -> None:
    async with connect(node, transport) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        core = "remember recall get timeline supersede forget rate anchor context"
        assert list(tools) == core.split()
        assert all(tool.annotations.open_world_hint is False for tool in tools.values())
        assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == {
            "recall",
            "get",
            "timeline",
            "context",
        }
        assert tools["forget"].annotations.destructive_hint
        assert tools["remember"].annotations.destructive_hint is False


@every_transport
async def test_the_url_chooses_toolsets(node: Node, transport: str) -> None:
    async with connect(node, transport, "?toolsets=core,curate") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"recall", "update", "stats"} <= set(names)
        written = await client.call_tool("remember", {"content": "One"})
        key = written.structured_content["memory"]["id"]
        updated = await client.call_tool("update", {"id": key, "content": "Two"})
        assert updated.structured_content["action"] == "UPDATE"
        read = await client.call_tool("get", {"ids": [key]})
        assert read.structured_content["memory"]["content"] == "Two"
    async with connect(node, transport, "?toolsets=connector") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]


async def test_what_is_named_and_not_switched_on_is_said_in_lists_answers_and_errors(node: Node) -> None:
    hint = "Not switched on here: restore"
    async with connect(node, TRANSPORTS[0]) as client:
        described = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        assert hint in described["forget"]
        assert "Not switched on" not in described["remember"]
        stored = await client.call_tool("remember", {"content": "to be forgotten"})
        id_ = stored.structured_content["memory"]["id"]
        gone = await client.call_tool("forget", {"id": id_})
        node.gate.mesh.fail_with = FailedPrecondition(f"{id_} is forgotten; `restore` brings it back")
        refused = await client.call_tool("rate", {"id": id_, "useful": True})
        for answer in (gone, refused):
            assert hint in answer.content[0].text, answer.content[0].text
        assert hint in gone.structured_content["note"]
    async with connect(node, TRANSPORTS[0], "?toolsets=core,curate") as client:
        tools = (await client.list_tools()).tools
        assert not [tool.name for tool in tools if "Not switched on" in (tool.description or "")]
        assert hint not in (await client.call_tool("rate", {"id": id_, "useful": True})).content[0].text


@pytest.mark.parametrize("transport", ["http-2026", "http-session"])
async def test_an_unknown_toolset_is_refused_with_the_list(node: Node, transport: str) -> None:
    # The client wraps the error in a group while it connects.
    with pytest.raises((MCPError, BaseExceptionGroup)) as refusal:
        async with connect(node, transport, "?toolsets=core,everything") as client:
            await client.list_tools()
    assert "core, curate, session, knowledge, admin, connector" in _messages(refusal.value)


async def test_an_unknown_toolset_on_sse_is_refused_before_the_stream_opens(node: Node) -> None:
    async with httpx2.AsyncClient(headers=headers(), timeout=WAIT_S) as http:
        response = await http.get(f"{node.url}/sse?toolsets=everything")
    assert response.status_code == 422
    assert response.json()["error"]["field"] == "toolsets"


def _messages(error: BaseException) -> str:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join((str(error), *map(_messages, inner)))


def test_the_default_toolsets_come_from_the_settings_and_a_wrong_one_stops_the_start() -> None:
    with pytest.raises(InvalidArgument, match="everything"):
        McpDoor(FakeGate(FakeMesh()), Authenticator(TOKEN), Metrics(), toolsets_default=("everything",))


async def test_the_settings_choose_what_a_plain_url_shows(node: Node) -> None:
    other = Node(node.gate, toolsets=("curate",))
    async with connect(other, "in-process") as client:
        assert "recall" not in [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("transport", ["http-2026", "http-session", "sse"])
async def test_the_name_of_the_client_signs_its_writes_unless_a_header_does(node: Node, transport: str) -> None:
    named = {"client_info": Implementation(name="Claude-Code", version="2")}
    async with connect(node, transport, **named) as client:
        written = await client.call_tool("remember", {"content": "By the client"})
        assert written.structured_content["memory"]["by"] == "owner/claude-code"
    async with connect(node, transport, fields=headers(x_mnemesh_agent="reviewer"), **named) as client:
        written = await client.call_tool("remember", {"content": "By the header"})
        assert written.structured_content["memory"]["by"] == "owner/reviewer"


@every_transport
async def test_a_client_whose_name_is_a_credential_is_refused_and_nothing_is_written(
    node: Node, transport: str
) -> None:
    async with connect(node, transport, client_info=Implementation(name=SECRET, version="1")) as client:
        refused = await client.call_tool("remember", {"content": "By a token"})
        assert refused.is_error
        assert "clientInfo.name" in text_of(refused)
        assert SECRET not in str(refused)
    async with connect(node, transport) as client:
        assert (await client.call_tool("recall", {"query": "token"})).structured_content["results"] == []


@pytest.mark.parametrize("transport", ["http-2026", "http-session", "sse"])
async def test_the_space_header_gives_the_default_space(node: Node, transport: str) -> None:
    async with connect(node, transport, fields=headers(x_mnemesh_space="team/caf%C3%A9")) as client:
        written = await client.call_tool("remember", {"content": "Here"})
        assert written.structured_content["memory"]["space"] == "team/café"


def modern(method: str, **params: object) -> dict[str, object]:
    meta = {"io.modelcontextprotocol/protocolVersion": PROTOCOL_2026, "io.modelcontextprotocol/clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


async def post(node: Node, body: object, path: str = "/mcp", **fields: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=WAIT_S) as http:
        return await http.post(node.url + path, json=body, headers=ACCEPT | fields)


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/?session_id=00000000000000000000000000000000"])
@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic b3duZXI6eA=="])
async def test_without_the_token_nothing_of_mcp_is_reached(node: Node, path: str, authorization: str) -> None:
    fields = ACCEPT | ({"authorization": authorization} if authorization else {})
    async with httpx2.AsyncClient(headers=fields, timeout=WAIT_S) as http:
        response = await (http.get(node.url + path) if path == "/sse" else http.post(node.url + path, content=b"{not"))
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.json()["error"]["code"] == "UNAUTHENTICATED"


async def test_a_web_page_that_was_rebound_to_loopback_is_refused(node: Node) -> None:
    mcp = {"mcp-protocol-version": PROTOCOL_2026, "mcp-method": "tools/list"} | headers()
    body = modern("tools/list")
    assert (await post(node, body, **mcp)).status_code == 200
    assert (await post(node, body, **mcp, host="evil.example")).status_code == 421
    assert (await post(node, body, **mcp, origin="https://evil.example")).status_code == 403
    async with httpx2.AsyncClient(timeout=WAIT_S) as http:
        sse = await http.get(node.url + "/sse", headers=headers(host="evil.example"))
    assert sse.status_code == 421


async def test_behind_a_name_of_its_own_a_node_accepts_that_name(node: Node) -> None:
    with Node(node.gate, loopback=False) as other:
        mcp = {"mcp-protocol-version": PROTOCOL_2026, "mcp-method": "tools/list"} | headers(host="memory.example")
        assert (await post(other, modern("tools/list"), **mcp)).status_code == 200


@pytest.mark.parametrize("body", [b"{not json", b"[]", b"null", b'{"jsonrpc":"2.0"}', b'"x"', b"\xff\xfe"])
@pytest.mark.parametrize("version", ["", PROTOCOL_2026])
async def test_a_body_that_is_no_message_is_refused(node: Node, body: bytes, version: str) -> None:
    fields = headers() | ACCEPT | {"content-type": "application/json"}
    if version:
        fields |= {"mcp-protocol-version": version, "mcp-method": "tools/list"}
    async with httpx2.AsyncClient(timeout=WAIT_S) as http:
        response = await http.post(node.url + "/mcp", content=body, headers=fields)
    assert 400 <= response.status_code < 500


async def test_a_body_beyond_the_limit_is_refused(node: Node) -> None:
    mcp = {"mcp-protocol-version": PROTOCOL_2026, "mcp-method": "tools/call", "mcp-name": "remember"} | headers()
    body = modern("tools/call", name="remember", arguments={"content": "x" * 2_000_000})
    assert (await post(node, body, **mcp)).status_code == 413


@pytest.mark.parametrize("transport", ["http-2026", "http-session", "sse"])
async def test_a_starting_node_lists_its_tools_and_its_calls_say_that_it_starts(node: Node, transport: str) -> None:
    node.gate.facts.state = "starting"
    async with connect(node, transport) as client:
        assert len((await client.list_tools()).tools) == 9
        refused = await client.call_tool("recall", {"query": "x"})
        assert refused.is_error
        assert text_of(refused).startswith("UNAVAILABLE")
        node.gate.facts.state = "ready"
        assert not (await client.call_tool("recall", {"query": "x"})).is_error


@pytest.mark.parametrize("transport", ["http-2026", "http-session"])
async def test_a_bug_is_an_internal_error_that_shows_nothing(
    node: Node, transport: str, capsys: pytest.CaptureFixture[str]
) -> None:
    node.gate.mesh.fail_with = RuntimeError("secret inner state")
    async with connect(node, transport) as client:
        with pytest.raises(MCPError) as refusal:
            await client.call_tool("recall", {"query": "x"})
    assert refusal.value.code == -32603
    assert "secret" not in str(refusal.value)
    assert "secret inner state" in capsys.readouterr().out


async def test_overload_tells_when_to_come_back(node: Node) -> None:
    node.gate.mesh.fail_with = Overloaded("inbox of ledger-0", 1024, 0.25)
    async with connect(node, "http-2026") as client:
        refused = await client.call_tool("recall", {"query": "x"})
    assert refused.meta["mnemesh/error"]["code"] == "RESOURCE_EXHAUSTED"
    assert refused.meta["mnemesh/error"]["retry_after_s"] == 0.25


@pytest.mark.parametrize("transport", ["http-2026", "http-session"])
async def test_a_cancelled_call_stops_in_the_mesh(node: Node, transport: str) -> None:
    mesh = node.gate.mesh
    async with connect(node, transport) as client:
        await client.call_tool("recall", {"query": "warm"})
        mesh.hold = asyncio.Event()
        call = asyncio.create_task(client.call_tool("recall", {"query": "x"}))
        await wait_until(mesh.recalling.is_set)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await wait_until(mesh.cancelled.is_set)


async def wait_until(condition: Any) -> None:
    """Poll: the node's events live on another loop."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 - the other loop's event can't be awaited here
            await asyncio.sleep(0.005)


async def test_calls_are_counted_by_tool_and_status(node: Node) -> None:
    async with connect(node, "http-2026") as client:
        await client.call_tool("timeline", {"id": "nothing"})
    sample = node.metrics.registry.get_sample_value(
        "mnemesh_requests_total", {"door": "mcp", "operation": "timeline", "status": "NOT_FOUND"}
    )
    assert sample == 1.0


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_a_standing_stream_does_not_hold_up_the_stop_of_a_node(path: str) -> None:
    with Node() as node:
        async with connect(node, "http-session") as client, httpx2.AsyncClient(timeout=WAIT_S) as http:
            await client.list_tools()
            session = await _open_session(http, node) if path == "/mcp" else {}
            fields = headers() | {"accept": "text/event-stream"} | session
            async with http.stream("GET", node.url + path, headers=fields) as stream:
                assert stream.status_code == 200
                await asyncio.to_thread(node.stop)
                async for _ in stream.aiter_lines():
                    pass


async def _open_session(http: httpx2.AsyncClient, node: Node) -> dict[str, str]:
    info = {"name": "tests", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    response = await http.post(node.url + "/mcp", json=body, headers=headers() | ACCEPT)
    return {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
