"""Our MCP door with the tools, prompts and resources that the conformance suite wants of a server under test.

Everything else is the door itself: transports, sessions, guard, lists and errors. A name that is no fixture goes to it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_support import TOKEN

from mnemesh_gateway.doors.mcp.mcp_server import McpServer
from mnemesh_gateway.doors.mcp.resources import Context
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.model import Caller

# A picture of one pixel, and a sound without a sample.
PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
WATCHED: Final = "test://watched-resource"
PNG_TYPE, WAV_TYPE = "image/png", "audio/wav"


class EverybodyIsOwner(Authenticator):
    """The suite sends no token. Every request of it is the owner's."""

    def authenticate(self, headers: Mapping[str, str], client_name: str = "", *, counted: bool = True) -> Caller:
        return super().authenticate({**headers, "authorization": f"Bearer {TOKEN}"}, client_name, counted=counted)


class FixtureServer(McpServer):
    """McpServer whose handlers know the fixtures first."""

    def _server(self, toolsets: tuple[str, ...] | None = None) -> Server[Any]:
        server = super()._server(toolsets)

        def first(method: str, params: type[Any], own: Callable[[Context, Any], Awaitable[Any]]) -> None:
            entry = server.get_request_handler(method)
            assert entry is not None

            async def handler(ctx: Context, asked: Any) -> Any:
                answer = await own(ctx, asked)
                return await entry.handler(ctx, asked) if answer is None else answer

            server.add_request_handler(method, params, handler)

        first("tools/call", types.CallToolRequestParams, _tool)
        first("prompts/get", types.GetPromptRequestParams, _prompt)
        first("resources/read", types.ReadResourceRequestParams, _resource)
        first("resources/subscribe", types.SubscribeRequestParams, _subscription)
        first("resources/unsubscribe", types.UnsubscribeRequestParams, _subscription)
        first("completion/complete", types.CompleteRequestParams, _completion)
        return server


async def _tool(ctx: Context, asked: types.CallToolRequestParams) -> types.CallToolResult | None:
    if asked.name == "test_error_handling":
        return types.CallToolResult(content=[_text("This tool intentionally returns an error")], is_error=True)
    if asked.name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await ctx.session.report_progress(progress, 100)
        return types.CallToolResult(content=[_text("done")])
    content = CONTENTS.get(asked.name)
    return None if content is None else types.CallToolResult(content=content)


async def _prompt(ctx: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult | None:
    given = asked.arguments or {}
    contents: dict[str, types.ContentBlock] = {
        "test_simple_prompt": _text("This is a simple prompt for testing."),
        "test_prompt_with_arguments": _text(f"Prompt with {given.get('arg1')} and {given.get('arg2')}"),
        "test_prompt_with_embedded_resource": _embedded(given.get("resourceUri", "test://example-resource")),
        "test_prompt_with_image": types.ImageContent(type="image", data=PNG, mime_type=PNG_TYPE),
    }
    content = contents.get(asked.name)
    if content is None:
        return None
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def _resource(ctx: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult | None:
    uri = str(asked.uri)
    content: types.TextResourceContents | types.BlobResourceContents
    if uri == "test://static-text":
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text="The static text.")
    elif uri == "test://static-binary":
        content = types.BlobResourceContents(uri=uri, mime_type=PNG_TYPE, blob=PNG)
    elif uri.startswith("test://template/"):
        text = json.dumps({"id": uri.split("/")[3], "templateTest": True})
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    else:
        return None
    return types.ReadResourceResult(contents=[content])


async def _subscription(ctx: Context, asked: Any) -> types.EmptyResult | None:
    return types.EmptyResult() if str(asked.uri) == WATCHED else None


async def _completion(ctx: Context, asked: types.CompleteRequestParams) -> types.CompleteResult | None:
    if getattr(asked.ref, "name", "") != "test_prompt_with_arguments":
        return None
    return types.CompleteResult(completion=types.Completion(values=[]))


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _embedded(uri: str) -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource content.")
    return types.EmbeddedResource(type="resource", resource=inside)


CONTENTS: Final[Mapping[str, list[types.ContentBlock]]] = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [types.ImageContent(type="image", data=PNG, mime_type=PNG_TYPE)],
    "test_audio_content": [types.AudioContent(type="audio", data=WAV, mime_type=WAV_TYPE)],
    "test_embedded_resource": [_embedded("test://embedded-resource")],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        types.ImageContent(type="image", data=PNG, mime_type=PNG_TYPE),
        _embedded("test://mixed-content-resource"),
    ],
}
