"""Memories as resources of MCP: reading `memory://{id}`, and following it in both generations of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import mcp_types as types
import structlog
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated, event_to_notification
from starlette.requests import Request

from mnemesh_gateway.contract import status
from mnemesh_gateway.contract.message_json import to_json
from mnemesh_gateway.doors.mcp.answers import answer_text, structured_answers
from mnemesh_gateway.doors.mcp.subscriptions import Follower, Subscriptions
from mnemesh_gateway.doors.mcp.tools.operation_tools import URI_SCHEME
from mnemesh_gateway.doors.standing_streams import require_unchanged
from mnemesh_gateway.operations.operation_table import by_name
from mnemesh_gateway.security.auth import Authenticator, agent_name
from mnemesh_memory.access import grants
from mnemesh_memory.values.errors import MnemeshError, NotFound
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import memory_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

log = structlog.get_logger("mnemesh.mcp")
# A client of MCP that gives itself no name.
NAMELESS: Final = "mcp"
FOLLOWER: Final = "mnemesh.follower"  # in the state of a session
Context = ServerRequestContext[Any, Request]


class Resources:
    """The handlers of the protocol library for resources."""

    def __init__(self, gate: MeshGate, authenticator: Authenticator) -> None:
        self._gate = gate
        self._authenticator = authenticator
        self._subscriptions = Subscriptions(gate)

    async def list_all(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Memories are found with recall. As resources they are too many to list."""
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The form of addresses."""
        template = types.ResourceTemplate(
            uri_template=URI_SCHEME + "{id}",
            name="memory",
            title="Memory",
            description="One memory by id, as Markdown for reading and as JSON with every field.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """One memory, as Markdown and as JSON."""
        uri = str(params.uri)
        request = memory_pb2.GetRequest(ids=[_key(uri)])
        try:
            response = await by_name("get").run(self._gate, caller_of(self._authenticator, ctx), request)
        except MnemeshError as error:
            raise _resource_error(error, uri) from error
        memory = to_json(response)["memory"]
        texts = {
            "text/markdown": answer_text.data_block([answer_text.memory_element(memory)]),
            "application/json": json.dumps(structured_answers.marked(memory), ensure_ascii=False, indent=1),
        }
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text) for kind, text in texts.items()]
        )

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Of a session: told on its standing stream until it unsubscribes or ends."""
        uri = str(params.uri)
        try:
            id_ = await self._followable(ctx, uri)
            await self._follower_of_session(ctx).follow(uri, id_)
        except MnemeshError as error:
            raise _resource_error(error, uri) from error
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Of a session: no more of this resource."""
        follower = _connection(ctx).state.get(FOLLOWER)
        if follower is not None:
            follower.unfollow(str(params.uri))
        return types.EmptyResult()

    def _follower_of_session(self, ctx: Context) -> Follower:
        connection = _connection(ctx)
        known: Follower | None = connection.state.get(FOLLOWER)
        if known is not None:
            return known
        follower = self._subscriptions.follower(self._checks(ctx))
        telling = asyncio.create_task(self._tell_session(follower, ctx), name="mcp-session-news")

        async def close() -> None:
            follower.end()
            telling.cancel()
            await asyncio.wait((telling,))

        connection.exit_stack.push_async_callback(close)
        connection.state[FOLLOWER] = follower
        return follower

    async def _tell_session(self, follower: Follower, ctx: Context) -> None:
        try:
            await follower.deliver(ctx.session.send_resource_updated)
        except MnemeshError as error:
            log.info("mcp_subscriptions_ended", reason=error.message)
        finally:
            follower.end()
            _connection(ctx).state.pop(FOLLOWER, None)

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Of 2026-07-28: told on the response to this very request. Memories that the caller can't read are left out of
        what is acknowledged."""
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        try:
            follower = self._subscriptions.follower(self._checks(ctx))
            try:
                honored = await self._follow_all(ctx, follower, params.notifications.resource_subscriptions or ())
                await ctx.session.send_notification(
                    types.SubscriptionsAcknowledgedNotification(
                        params=types.SubscriptionsAcknowledgedNotificationParams(
                            notifications=types.SubscriptionFilter(resource_subscriptions=honored or None), _meta=meta
                        )
                    ),
                    related_request_id=ctx.request_id,
                )

                async def tell(uri: str) -> None:
                    notification = event_to_notification(ResourceUpdated(uri=uri), meta)
                    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)

                await follower.deliver(tell)
            finally:
                follower.end()
        except MnemeshError as error:
            raise _resource_error(error) from error
        return types.SubscriptionsListenResult(_meta=meta)

    async def _follow_all(self, ctx: Context, follower: Follower, uris: Sequence[str]) -> list[str]:
        honored = []
        for uri in dict.fromkeys(map(str, uris)):
            try:
                id_ = await self._followable(ctx, uri)
            except NotFound:
                continue
            await follower.follow(uri, id_)
            honored.append(uri)
        return honored

    async def _followable(self, ctx: Context, uri: str) -> str:
        """The id of the memory at `uri`. Raises NotFound, also for one that the caller may not read."""
        caller, watch = caller_of(self._authenticator, ctx), by_name("watch")
        grants.require(caller, watch.needs, watch.name, watch.toolset)
        mesh = await self._gate.ready()
        return (await mesh.identify(caller, _key(uri))).id

    def _checks(self, ctx: Context) -> Callable[[], None]:
        """Raises when the token of this request no longer grants what it does now."""
        headers, caller = headers_of(ctx.request), caller_of(self._authenticator, ctx)
        return lambda: require_unchanged(self._authenticator, headers, caller, _name_of(ctx))

    def drain(self) -> None:
        """End the streams that follow resources."""
        self._subscriptions.end()


def caller_of(authenticator: Authenticator, ctx: Context) -> Caller:
    """The caller: the headers of this very request, and the name that the client gave itself."""
    return authenticator.authenticate(headers_of(ctx.request), _name_of(ctx))


def _name_of(ctx: Context) -> str:
    """The name that the client gave itself, or one for it: a client without would sign as the person."""
    client = ctx.session.client_params
    name = client.client_info.name if client else ""
    return name if agent_name(name) != grants.OWNER else NAMELESS


def protocol_error(code: int, error: MnemeshError, **more: str) -> MCPError:
    """A refusal in the protocol's own form. Its data are the fields of the error, and `more`."""
    return MCPError(code, f"{error.code}: {error.message}", {**status.error_body(error)["error"], **more})


def headers_of(request: Request | None) -> Mapping[str, str]:
    """The headers of a request, names in lower case."""
    return dict(request.headers) if request is not None else {}


def _key(uri: str) -> str:
    """The name of a memory in a resource's address. Raises MCPError for another scheme."""
    if not uri.startswith(URI_SCHEME):
        missing = NotFound("resource", uri, f"resources are {URI_SCHEME}{{id}}")
        raise protocol_error(types.INVALID_PARAMS, missing, uri=uri)
    return unquote(uri.removeprefix(URI_SCHEME)).rstrip("/")


def _connection(ctx: Context) -> Connection:
    # The session's own connection. Handlers have no public way to it.
    return ctx.session._connection


def _resource_error(error: MnemeshError, uri: str = "") -> MCPError:
    code = types.INVALID_PARAMS if error.code in ("NOT_FOUND", "INVALID_ARGUMENT") else types.INTERNAL_ERROR
    return protocol_error(code, error, **({"uri": uri} if uri else {}))
