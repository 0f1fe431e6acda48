"""A row of the table of operations, and the one way in for a door. The rows stand in `table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.message import Message

from mnemesh_gateway.contract.descriptors import descriptor_of, fields_of, inner_message
from mnemesh_gateway.contract.message_json import from_json, require_known
from mnemesh_gateway.contract.schema import Schema, brief_response_schema, request_schema
from mnemesh_gateway.contract.wire import answer_of
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_memory.access import grants
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1.field_help import FIELD_HELP

Invoke = Callable[[MeshGate, Caller, Any], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP form of an operation. `key` names the request field that the `{id}` of the path fills. GET and
    DELETE take the other fields from the query string, POST and PATCH from the JSON body."""

    method: str
    path: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row.

    `invoke(gate, caller, request)` gives an awaitable of an Answer (contract/wire.py). When `streaming`, it gives an
    async generator of responses. A `standing` generator has no end of its own.

    `needs` is the grant that a token needs, one of grants.NEEDS. Every door checks it, in `run`. There is no default,
    so that no operation comes without a decision. `toolset` is core, curate, session or admin. `mcp_name` is "" when
    the operation is no MCP tool. `flatten` names a message field of the request with fields that stand at the top level
    of the JSON form. `aliases` are other names, as POST /v1/<alias>. A write that `begins` makes memories. A write that
    `frees` needs no room.
    """

    name: str
    service: str
    rpc: str
    request: type[Message]
    response: type[Message]
    routes: tuple[Route, ...]
    toolset: str
    needs: str
    invoke: Invoke
    streaming: bool = False
    standing: bool = False
    mcp_name: str = ""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    flatten: str = ""
    aliases: tuple[str, ...] = ()
    begins: bool = False
    frees: bool = False

    def run(self, gate: MeshGate, caller: Caller, request: Any) -> Any:
        """`invoke` for a caller with the grant. A door has no other way in, and writes are counted here. Raises
        PermissionDenied, and QuotaReached when the outcome is awaited."""
        grants.require(caller, self.needs, self.name, self.toolset)
        if self.needs == grants.WRITE and not self.read_only and (quotas := gate.quotas) is not None:
            work = partial(self._answer, gate, caller, request)
            return quotas.run(caller, request, work, begins=self.begins, frees=self.frees)
        return self.invoke(gate, caller, request) if self.streaming else self._answer(gate, caller, request)

    async def _answer(self, gate: MeshGate, caller: Caller, request: Any) -> Message:
        return answer_of(self.response, await self.invoke(gate, caller, request))

    def is_for(self, caller: Caller) -> bool:
        """Whether the caller's token grants it."""
        return grants.may(caller, self.needs, self.toolset)

    @property
    def method(self) -> str:
        """Path of the gRPC method."""
        return f"/{self.service}/{self.rpc}"

    @property
    def description(self) -> str:
        """The comment of the .proto file."""
        return FIELD_HELP[f"{self.service}.{self.rpc}"]

    @property
    def forms(self) -> tuple[Route, ...]:
        """Every HTTP form: the routes, then one POST for each alias."""
        return (*self.routes, *(Route("POST", f"/v1/{alias}") for alias in self.aliases))

    def request_schema(self) -> Schema:
        """JSON schema of what `read_json` accepts."""
        return request_schema(descriptor_of(self.request), self.flatten)

    def response_schema(self) -> Schema:
        """JSON schema of the response, without help texts."""
        return brief_response_schema(descriptor_of(self.response))

    def read_json(self, value: Mapping[str, Any]) -> Message:
        """The request that a JSON object stands for. Raises InvalidArgument naming the field."""
        if not self.flatten:
            return from_json(self.request, value)
        fields = fields_of(descriptor_of(self.request))
        outer = [field.name for field in fields if field.name != self.flatten]
        inner = fields_of(inner_message(descriptor_of(self.request).fields_by_name[self.flatten]))
        for name, item in value.items():
            require_known(name, item, [*outer, *(field.name for field in inner)])
        request = from_json(self.request, {name: value[name] for name in value if name in outer})
        inside: Message = getattr(request, self.flatten)
        inside.CopyFrom(from_json(type(inside), {name: value[name] for name in value if name not in outer}))
        return request
