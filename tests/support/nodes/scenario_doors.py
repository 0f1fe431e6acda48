"""The doors of a running node, each behind the same two calls, so that one suite of sentences runs through all doors.

`call(operation, **fields)` gives the answer in its JSON form. A refusal raises Refused with code, message and field.
`watching(space, id)` gives a function to await for the next change in the space, or, over MCP, of the memory. A door
is a context manager that closes it. Nothing here knows the meaning of an operation.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import quote

import grpc
import httpx2
import pytest
from forked import MNEMESH
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from node_process import NodeUnderTest

from mnemesh_gateway.contract.message_json import to_json
from mnemesh_gateway.operations.operation_table import Operation, by_name
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError
from mnemesh_memory.values.model import Caller
from mnemesh_proto.rendezvous import AGENT_HEADER, AUTHORIZATION
from mnemesh_proto.v1 import watch_pb2

CALL_TIMEOUT_S = 60.0
TOOLSETS = "core,curate,session,knowledge,admin"
# The doors of a node in a process of its own.
NETWORKED_DOORS = ("grpc", "http", "mcp-http", "mcp-stdio", "cli")
Answer = TypeVar("Answer")
# Type of a change, and id of its memory.
Heard = tuple[str, str]
Watching = AbstractAsyncContextManager[Callable[[], Awaitable[Heard]]]
# Operations whose command has another name.
COMMANDS = {
    "create_trigger": "trigger add", "list_triggers": "trigger list", "delete_trigger": "trigger remove",
    "seed_project": "seed", "list_runs": "consolidate --runs", "undo_run": "consolidate", "add_rule": "rule add",
    "get_rules": "rule list", "delete_rule": "rule remove", "session_runs": "runs",
}  # fmt: skip
# Fields whose command-line option has another name.
OPTIONS = {
    "tags": "tag", "paths": "path", "keywords": "keyword", "spaces": "space", "kinds": "kind", "files": "file",
    "decisions": "decision", "questions": "question", "next_steps": "next-step", "errors": "error",
    "prompts": "prompt",
}  # fmt: skip
# Fields that a command takes without an option, in their order, and those of commands that take others.
POSITIONAL = ("id", "ids", "query", "name", "cluster", "content")
POSITIONAL_OF = {
    "create_trigger": ("on", "pattern", "content"), "tidy": ("finding",), "add_rule": ("condition", "effect", "reason"),
    "navigate": ("query",), "anchor": ("id", "reason"), "checkpoint": ("task",), "seed_project": ("dir",),
    "record_run": ("session",), "settle": ("id", "status"), "link": ("id", "type", "to"),
    "unlink": ("id", "type", "to"), "rate": ("id", "useful"), "update": ("id",), "resolve": ("id",),
}  # fmt: skip


class Refused(Exception):
    """The node said no. `code` is a gRPC status name."""

    def __init__(self, code: str, message: str, field_name: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.field = code, message, field_name


class Door(Protocol):
    """One way into a node."""

    name: str

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]: ...

    def watching(self, space: str, id_: str) -> Watching: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@pytest.fixture
def space() -> str:
    """A space of its own for each test. The tests share a node and no memories."""
    return f"test/{uuid.uuid4().hex}"


async def refusal(call: Awaitable[object], code: str = "", field: str = "") -> Refused:
    """The refusal that `call` ends with, of status `code` and about `field` where these are given."""
    with pytest.raises(Refused) as caught:
        await call
    assert code in ("", caught.value.code), caught.value
    assert field in (caught.value.field or caught.value.message), caught.value
    return caught.value


def open_door(name: str, node: NodeUnderTest, token: str = "", agent: str = "") -> Door:
    """One of NETWORKED_DOORS. Where a door finds the owner's token by itself, `token` is another one."""
    if name == "grpc":
        return GrpcDoor(node, agent)
    if name == "http":
        return HttpDoor(node, agent)
    if name == "cli":
        given = {"--token": token, "--agent": agent}
        return CliDoor(node, *(word for option, value in given.items() if value for word in (option, value)))
    return McpDoor.over_http(node, agent) if name == "mcp-http" else McpDoor.over_stdio(node, token, agent)


async def _soon(awaitable: Awaitable[Answer]) -> Answer:
    return await asyncio.wait_for(awaitable, CALL_TIMEOUT_S)


async def _heard(message: Awaitable[watch_pb2.WatchResponse]) -> Heard:
    told = await _soon(message)
    return told.type, told.id


def _headers(node: NodeUnderTest, agent: str) -> dict[str, str]:
    return {AUTHORIZATION: f"Bearer {node.token}"} | ({AGENT_HEADER: agent} if agent else {})


class InProcessDoor(Door):
    """Python in the node's own process: the operation table over a Mesh, without any transport."""

    name = "in-process"

    def __init__(self, gate: Any) -> None:
        self._gate = gate

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        row = by_name(operation)
        caller = Caller("owner/in-process", "owner")
        try:
            return to_json(await row.run(self._gate, caller, row.read_json(fields)))
        except MnemeshError as error:
            raise Refused(error.code, error.message, str(error.fields.get("field", ""))) from error

    @asynccontextmanager
    async def watching(self, space: str, id_: str) -> AsyncIterator[Callable[[], Awaitable[Heard]]]:
        row = by_name("watch")
        async with aclosing(
            row.run(self._gate, Caller("owner/in-process", "owner"), row.read_json({"space": space}))
        ) as told:
            assert await _heard(anext(told)) == ("opened", "")
            yield lambda: _heard(anext(told))

    async def close(self) -> None:
        return


class GrpcDoor(Door):
    """A gRPC channel with the committed stubs' messages."""

    name = "grpc"

    def __init__(self, node: NodeUnderTest, agent: str = "") -> None:
        self.address = node.grpc
        self._channel = grpc.aio.insecure_channel(node.grpc)
        self._metadata = tuple(_headers(node, agent).items())

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        row = by_name(operation)
        method = self._channel.unary_unary(
            row.method, request_serializer=row.request.SerializeToString, response_deserializer=row.response.FromString
        )
        try:
            request = row.read_json(fields)
        except InvalidArgument as error:
            # A typed message refuses a value that it cannot carry before anything is sent.
            raise Refused(error.code, error.message, str(error.fields["field"])) from error
        try:
            return to_json(await method(request, metadata=self._metadata, timeout=CALL_TIMEOUT_S))
        except grpc.aio.AioRpcError as error:
            raise Refused(error.code().name, error.details() or "", _violated_field(error)) from error

    @asynccontextmanager
    async def watching(self, space: str, id_: str) -> AsyncIterator[Callable[[], Awaitable[Heard]]]:
        row = by_name("watch")
        method = self._channel.unary_stream(
            row.method, request_serializer=row.request.SerializeToString, response_deserializer=row.response.FromString
        )
        stream = method(row.read_json({"space": space}), metadata=self._metadata)
        try:
            assert await _heard(stream.read()) == ("opened", "")
            yield lambda: _heard(stream.read())
        finally:
            stream.cancel()

    async def close(self) -> None:
        await self._channel.close()


def _violated_field(error: grpc.aio.AioRpcError) -> str:
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        violations = error_details_pb2.BadRequest()
        if detail.Unpack(violations):
            return str(violations.field_violations[0].field)
    return ""


class HttpDoor(Door):
    """HTTP JSON, by the routes of the operation table."""

    name = "http"

    def __init__(self, node: NodeUnderTest, agent: str = "") -> None:
        self._client = httpx2.AsyncClient(
            base_url=f"http://{node.http}", headers=_headers(node, agent), timeout=CALL_TIMEOUT_S
        )

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        method, path, rest = _http_form(by_name(operation), dict(fields))
        if method in ("GET", "DELETE"):
            answer = await self._client.request(method, path, params=_query(rest))
        else:
            answer = await self._client.request(method, path, json=rest)
        value = answer.json()
        if answer.status_code >= 400:
            raise Refused(value["error"]["code"], value["error"]["message"], value["error"].get("field", ""))
        return dict(value)

    @asynccontextmanager
    async def watching(self, space: str, id_: str) -> AsyncIterator[Callable[[], Awaitable[Heard]]]:
        async with self._client.stream("GET", "/v1/watch", params={"space": space}) as events:
            data = (
                json.loads(line.removeprefix("data:")) async for line in events.aiter_lines() if line[:5] == "data:"
            )

            async def heard() -> Heard:
                told = await _soon(anext(data))
                return told["type"], told.get("id", "")

            assert await heard() == ("opened", "")
            yield heard

    async def close(self) -> None:
        await self._client.aclose()


def _http_form(row: Operation, fields: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    for route in row.routes:
        if not route.key:
            return route.method, route.path, fields
        key = fields.get(route.key)
        if isinstance(key, list) and len(key) != 1:
            continue
        if key:
            one = key[0] if isinstance(key, list) else key
            rest = {name: value for name, value in fields.items() if name != route.key}
            return route.method, route.path.replace("{id}", quote(str(one), safe="")), rest
    raise AssertionError(f"no route of {row.name} fits {fields}")


def _query(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            pairs.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return pairs


class McpDoor(Door):
    """An MCP client over streamable HTTP or stdio, with every toolset shown, and with answers in full.

    The library's client must be left by the task that entered the client. A fixture is no single task, so the door
    starts a task for the client.
    """

    def __init__(self, name: str, client: AbstractAsyncContextManager[Client]) -> None:
        self.name = name
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._hold(client))

    async def _hold(self, client: AbstractAsyncContextManager[Client]) -> None:
        async with client as opened:
            self._opened.set_result(opened)
            await self._closing.wait()

    @classmethod
    def over_http(cls, node: NodeUnderTest, agent: str = "") -> McpDoor:
        """Connect to /mcp on the node."""

        @asynccontextmanager
        async def client() -> AsyncIterator[Client]:
            url = f"http://{node.http}/mcp?toolsets={TOOLSETS}"
            async with (
                httpx2.AsyncClient(headers=_headers(node, agent), timeout=CALL_TIMEOUT_S) as http,
                Client(streamable_http_client(url, http_client=http)) as opened,
            ):
                yield opened

        return cls("mcp-http", client())

    @classmethod
    def over_stdio(cls, node: NodeUnderTest, token: str = "", agent: str = "") -> McpDoor:
        """Start `mnemesh mcp` and speak through its pipes; without `token` it takes the owner's of the directory."""
        given = {"--data": str(node.data_dir), "--toolsets": TOOLSETS, "--token": token, "--agent": agent}
        options = [word for option, value in given.items() if value for word in (option, value)]
        arguments = ["-m", "mnemesh.entry", "mcp", *options]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd="/")
        return cls("mcp-stdio", Client(server))

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        try:
            client = await asyncio.wait_for(asyncio.shield(self._opened), CALL_TIMEOUT_S)
            result = await client.call_tool(by_name(operation).mcp_name, {**fields, "detail": "full"})
        except MCPError as error:
            raise Refused("INVALID_ARGUMENT", str(error)) from error
        if result.is_error:
            code, _, message = result.content[0].text.partition(": ")
            raise Refused(code, message)
        return {name: value for name, value in result.structured_content.items() if name != "note"}

    @asynccontextmanager
    async def watching(self, space: str, id_: str) -> AsyncIterator[Callable[[], Awaitable[Heard]]]:
        client = await _soon(asyncio.shield(self._opened))
        async with client.listen(resource_subscriptions=[f"memory://{id_}"]) as listening:
            told = aiter(listening)

            async def heard() -> Heard:
                notice = await _soon(anext(told))
                assert isinstance(notice, ResourceUpdated)
                return "updated", str(notice.uri).removeprefix("memory://")

            yield heard

    async def close(self) -> None:
        self._closing.set()
        await asyncio.wait_for(self._task, CALL_TIMEOUT_S)


class CliDoor(Door):
    """The `mnemesh` command with --json, a process a call."""

    name = "cli"

    def __init__(self, node: NodeUnderTest, *options: str) -> None:
        self._node = node
        self._options = options

    async def call(self, operation: str, **fields: Any) -> dict[str, Any]:
        named = COMMANDS.get(operation) or operation.replace("agent_", "agent ").replace("transcript_", "transcript ")
        command = named.replace("_", "-").split()
        words = [*command, "--json", "--data", str(self._node.data_dir), *self._options]
        asks = operation in ("purge", "transcript_erase") or (operation == "bulk_forget" and fields.get("purge"))
        words += ["--yes"] if asks else []  # nobody is there to be asked
        words += self._arguments(operation, dict(fields))
        process = await MNEMESH.start(*words)
        out, err = await _soon(process.communicate())
        assert out, f"nothing on stdout; exit {process.returncode}; stderr: {err.decode()}"
        value = json.loads(out)
        if value.get("missing"):
            assert (operation, process.returncode) == ("get", 4), "only get answers in part, and it ends with 4"
        elif process.returncode:
            error = value["error"]
            unusable = error["code"] == "INVALID_ARGUMENT" and error.get("reason") != "SECRET_REFUSED"
            assert process.returncode == (2 if unusable else 4), f"exit {process.returncode} for a refusal: {value}"
            raise Refused(error["code"], error["message"], error.get("field", ""))
        return dict(value)

    @asynccontextmanager
    async def watching(self, space: str, id_: str) -> AsyncIterator[Callable[[], Awaitable[Heard]]]:
        """From the start, so that the first line says that the watch stands: the memory was added."""
        words = ["watch", "--json", "--data", str(self._node.data_dir), *self._options]
        process = await MNEMESH.start(*words, "--space", space, "--from-start")

        async def heard() -> Heard:
            told = json.loads(await _soon(process.stdout.readline()))
            return told["type"], told["id"]

        try:
            assert await heard() == ("added", id_)
            yield heard
        finally:
            process.terminate()
            await _soon(process.communicate())

    def _arguments(self, operation: str, fields: dict[str, Any]) -> list[str]:
        words: list[str] = []
        if "turns" in fields:
            file = self._node.data_dir.with_name("turns.jsonl")
            file.write_text("".join(json.dumps(turn) + "\n" for turn in fields.pop("turns")))
            words += ["--file", str(file)]
        if "queries" in fields:
            asked = self._node.data_dir.with_name("queries.jsonl")
            asked.write_text("".join(json.dumps(query) + "\n" for query in fields.pop("queries")))
            return [*words, "--", str(asked)]
        if operation == "undo_run":
            return ["--undo", str(fields["run"])]
        if operation in ("tidy", "bulk_forget"):
            words += ["--apply"] if fields.pop("dry_run", True) is False else []
        if operation == "tidy":
            words += ["--archive"] if fields.pop("action", "forget") == "archive" else []
        if "useful" in fields:
            fields["useful"] = "useful" if fields["useful"] else "not"
        usual = ("session", *POSITIONAL) if operation.startswith("transcript_") else POSITIONAL
        positional = [fields.pop(name) for name in POSITIONAL_OF.get(operation, usual) if name in fields]
        for name, value in fields.items():
            words += self._option(name, value)
        # After `--`, so that a text or query that starts with a dash is not an option.
        flat = [str(one) for value in positional for one in (value if isinstance(value, list) else [value])]
        return [*words, "--", *flat]

    def _option(self, name: str, value: Any) -> list[str]:
        option = "--" + OPTIONS.get(name, name).replace("_", "-")
        if isinstance(value, bool):
            return [option] if value else []
        if isinstance(value, dict) and "values" in value:
            value = value["values"]
        if name == "source":
            return [word for key, one in value.items() for word in (f"--{key}", str(one))]
        if name == "links":
            return [word for link in value for word in ("--link", f"{link['type']}:{link['id']}")]
        if isinstance(value, dict):
            flag = "--attr" if name == "attrs" else option.removesuffix("s")
            return [word for key, one in value.items() for word in (flag, f"{key}={one}")]
        if isinstance(value, list):
            return [word for one in value for word in (option, str(one))]
        return [option, str(value)]

    async def close(self) -> None:
        return
