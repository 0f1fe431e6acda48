"""Doors over a fake Mesh, opened for one test: gRPC on a free port, HTTP in-process or behind a real uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import httpx
import pytest
import uvicorn
from fake_mesh import FakeGate, FakeMesh
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_status import rpc_status

from mnemesh_gateway.doors.grpc.grpc_door import GrpcDoor
from mnemesh_gateway.doors.http.http_door import build_app
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.operations.operation_table import Operation, by_name
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_proto.v1 import memory_pb2

TOKEN = "the-owner-token-of-this-test"
WAIT_S = 60.0


@dataclass
class Doors:
    """The outer side of a node, as a test holds it."""

    mesh: FakeMesh = field(default_factory=FakeMesh)
    metrics: Metrics = field(default_factory=Metrics)
    authenticator: Authenticator = field(default_factory=lambda: Authenticator(TOKEN))

    def __post_init__(self) -> None:
        self.gate = FakeGate(self.mesh)

    def counted(self, door: str, operation: str, status: str) -> float:
        """How many calls of an operation ended so."""
        labels = {"door": door, "operation": operation, "status": status}
        return self.metrics.registry.get_sample_value("mnemesh_requests_total", labels) or 0.0


@dataclass
class GrpcClient:
    """Calls operations of the table by name, with the owner's token unless `metadata` says otherwise."""

    channel: grpc.aio.Channel
    door: GrpcDoor
    port: int

    async def call(self, name: str, metadata: Any = None, deadline_s: float = WAIT_S, **fields: Any) -> Any:
        operation = by_name(name)
        return await self.send(operation, operation.request(**fields), metadata, deadline_s)

    async def send(
        self, operation: Operation, request: Message | bytes, metadata: Any = None, deadline_s: float = WAIT_S
    ) -> Any:
        data = request if isinstance(request, bytes) else request.SerializeToString()
        metadata = (("authorization", f"Bearer {TOKEN}"),) if metadata is None else metadata
        if operation.streaming:
            stream = self.channel.unary_stream(operation.method, response_deserializer=operation.response.FromString)
            return [item async for item in stream(data, metadata=metadata, timeout=deadline_s)]
        unary = self.channel.unary_unary(operation.method, response_deserializer=operation.response.FromString)
        return await unary(data, metadata=metadata, timeout=deadline_s)


@asynccontextmanager
async def open_grpc(doors: Doors) -> AsyncIterator[GrpcClient]:
    """A gRPC server on a free loopback port and a client of it."""
    door = GrpcDoor(doors.gate, doors.authenticator, doors.metrics)
    port = await door.start("127.0.0.1:0")
    options = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            yield GrpcClient(channel, door, port)
    finally:
        await door.stop(0)


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
async def client(doors: Doors) -> AsyncIterator[GrpcClient]:
    async with open_grpc(doors) as opened:
        yield opened


@asynccontextmanager
async def open_http(doors: Doors, *, token: str = TOKEN) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP application in-process; bugs show as the 500 that a client sees."""
    app = build_app(doors.gate, doors.authenticator, doors.metrics)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7434", headers=headers) as client:
        yield client


@asynccontextmanager
async def serve_http(doors: Doors) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP application behind uvicorn on a free loopback port; the socket listens before the server
    runs."""
    app = build_app(doors.gate, doors.authenticator, doors.metrics)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}) as client:
            yield client
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, WAIT_S)


@dataclass
class Refusal:
    """A gRPC error with its rich details unpacked."""

    code: str
    message: str
    info: ErrorInfo | None = None
    violations: list[BadRequest.FieldViolation] = field(default_factory=list)
    retry_s: float | None = None


def refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """Read the details of `error`; the status inside must agree with the call's own."""
    found = Refusal(error.code().name, error.details() or "")
    rich = rpc_status.from_call(error)
    if rich is None:
        return found
    assert rich.code == error.code().value[0]
    for detail in rich.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            found.info = ErrorInfo()
            detail.Unpack(found.info)
        elif detail.Is(BadRequest.DESCRIPTOR):
            bad = BadRequest()
            detail.Unpack(bad)
            found.violations = list(bad.field_violations)
        elif detail.Is(RetryInfo.DESCRIPTOR):
            retry = RetryInfo()
            detail.Unpack(retry)
            found.retry_s = retry.retry_delay.ToTimedelta().total_seconds()
    return found


async def refused(call: Awaitable[object]) -> Refusal:
    """The refusal that `call` ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return refusal(caught.value)


# A good request of each operation in its JSON form, where one memory titled `first` exists.
REQUESTS: dict[str, dict[str, Any]] = {
    "remember": {"content": "a new memory"},
    "remember_batch": {"items": [{"content": "one"}, {"content": "two"}]},
    "check": {"content": "a new memory"},
    "recall": {"query": "first memory"},
    "recall_batch": {"queries": [{"query": "first memory"}, {"query": "nothing", "limit": 1}]},
    "related": {"id": "first"},
    "get": {"ids": ["first"]},
    "list": {"limit": 5},
    "timeline": {"id": "first"},
    "update": {"id": "first", "tags": ["x"]},
    "supersede": {"id": "first", "content": "its successor"},
    "forget": {"id": "first"},
    "restore": {"id": "first"},
    "link": {"id": "first", "type": "see-also", "to": "first"},
    "unlink": {"id": "first", "type": "see-also", "to": "first"},
    "rate": {"id": "first", "useful": True},
    "history": {"id": "first", "limit": 5},
    "blame": {"id": "first"},
    "rollback": {"id": "first", "to": "1"},
    "conflicts": {"limit": 5},
    "duplicates": {"threshold": 0.9, "limit": 5},
    "hygiene": {"stale_days": 30, "limit": 5},
    "resolve": {"id": "first", "content": "what holds of both"},
    "stats": {},
    "export": {},
    "watch": {},
    "status": {},
    "reembed": {"model": "/srv/models/other", "precision": "int8"},
    "whoami": {},
    "agent_add": {"name": "second", "role": "reader", "spaces": ["team/*"], "expires": "30d"},
    "agent_list": {},
    "agent_revoke": {"name": "first"},
    "agent_quota": {"name": "first", "max_memories": 10},
    "purge": {"id": "first"},
    "bulk_forget": {"tags_any": ["nothing"], "dry_run": False},
    "peer_add": {"url": "grpc://new.example:7433", "token": "mnm_" + "B" * 43, "spaces": ["team/*"], "name": "new"},
    "peer_token": {"name": "hub", "token": "mnm_" + "C" * 43},
    "peer_remove": {"name": "hub"},
    "sync_status": {},
    "sync_now": {"name": "hub", "wait_s": 1.0},
    "sync_quarantine": {"limit": 5, "peer": "hub"},
    "sync_retry": {"ids": ["7"], "trust": True},
    "sync_discard": {"everything": True, "space": "team/*"},
    "sync_pending": {"oldest_first": True},
    "sync_pending_discard": {"ids": ["7", "8"]},
    "transcript_add": {"session": "second", "turns": [{"id": "u1", "role": "user", "text": "use pnpm"}]},
    "transcript_search": {"query": "pnpm"},
    "transcript_read": {"session": "first"},
    "transcript_list": {"limit": 5},
    "transcript_erase": {"session": "first"},
    "create_trigger": {"on": "keyword", "pattern": "deploy", "content": "ask ana first"},
    "graph": {"name": "first", "limit": 5},
    "graph_audit": {"limit": 5},
    "causal_chain": {"name": "first", "window_hours": 12},
    "graph_rebuild": {},
    "story": {"limit": 5},
    "gaps": {"limit": 5},
    "coverage": {"query": "first"},
    "recall_hierarchical": {"query": "first", "level": 1},
    "drill_down": {"cluster": "t2-0123456789ab"},
    "navigate": {"id": "first", "limit": 5},
    "list_triggers": {"limit": 5},
    "delete_trigger": {"id": "first"},
    "validate": {"id": "first"},
    "tidy": {"finding": "idle"},
    "anchor": {"id": "first", "reason": "the law asks for it"},
    "context": {"query": "first memory", "session": "s1", "token_budget": 500},
    "checkpoint": {"task": "fix the kiln", "session": "s1", "next_steps": ["light it"]},
    "resume": {"session": "s1"},
    "seed_project": {"dir": "/srv/api", "space": "team/api", "dry_run": True},
    "record_run": {"session": "s1", "prompts": ["fix the kiln"], "tokens_out": 12},
    "session_runs": {"limit": 5},
    "settle": {"id": "first", "status": "done"},
    "requirements": {"status": "all"},
    "consolidate": {"dry_run": True},
    "list_runs": {"limit": 5},
    "undo_run": {"run": "first"},
    "add_rule": {"condition": "kind = run", "effect": "hide"},
    "get_rules": {"limit": 5},
    "delete_rule": {"id": "first"},
    "backup_create": {},
    "backup_list": {},
}


async def remember_first(client: GrpcClient) -> memory_pb2.Memory:
    """Store the memory that REQUESTS speak of."""
    done = await client.call("remember", content="the first memory", title="first")
    return done.memory
