"""The functions behind the rows of AdminService and BackupService, and how their messages look on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mnemesh_gateway.contract import wire
from mnemesh_gateway.contract.wire import Answer
from mnemesh_memory.access import grants
from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values import model
from mnemesh_memory.values.errors import MnemeshError, count_of
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.quotas import NOTHING, Quota, Usage
from mnemesh_proto.v1 import admin_pb2, backup_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate
    from mnemesh_gateway.security.access import Access


OF_THE_GATEWAY: Final = ("version", "data_dir", "pid", "uptime_s", "grpc", "http")


async def status(gate: MeshGate, caller: Caller, request: admin_pb2.StatusRequest) -> admin_pb2.StatusResponse:
    """Answers while the node starts, too: then with what the gateway knows of itself. An admin of some spaces hears how
    these are, and nothing of others or of the machine."""
    if not grants.sees_the_node(caller):
        return await _status_of_spaces(gate, caller)
    facts, mesh = gate.describe(), gate.mesh_now()
    own: dict[str, Any] = {name: getattr(facts, name) for name in OF_THE_GATEWAY}
    own["settings"] = [{"name": name, "value": value, "origin": origin} for name, value, origin in facts.settings]
    if mesh is None:
        return admin_pb2.StatusResponse(state=facts.state, **own)
    whole, transcripts = await mesh.status(), await mesh.transcripts.status()
    return wire.message_of(admin_pb2.StatusResponse, whole, transcripts=transcripts, **own)


async def reembed(gate: MeshGate, caller: Caller, request: admin_pb2.ReembedRequest) -> model.MeshStatus:
    """Begin to embed with another model, give that up, or tell how far it is."""
    return await (await gate.ready()).reembed(request.model, request.precision, cancel=request.cancel)


async def whoami(gate: MeshGate, caller: Caller, request: admin_pb2.WhoamiRequest) -> Answer:
    """The holder of the token, and its grants."""
    space = caller.default_space or caller.private_space
    return caller, {"default_space": space}


async def add_agent(gate: MeshGate, caller: Caller, request: admin_pb2.AddAgentRequest) -> Answer:
    """A new agent and its token, which is told this once."""
    access = gate.agents()
    inhabited = caller.role != OWNER and await (await gate.ready()).inhabited(request.name)
    add = partial(
        access.add, caller, name=request.name, role=request.role, spaces=tuple(request.spaces),
        toolsets=tuple(request.toolsets), expires=request.expires, inhabited=inhabited,
        quota=wire.value_of(Quota, request),
    )  # fmt: skip
    agent, token = await asyncio.to_thread(add)
    return {"agent": await _agent_form(gate, agent), "token": token}


async def list_agents(gate: MeshGate, caller: Caller, request: admin_pb2.ListAgentsRequest) -> Answer:
    """The agents that the caller may see."""
    agents, used = gate.agents().list(caller), await _used(gate)
    return {"agents": [_agent(gate.agents(), agent, used) for agent in agents]}


async def set_agent_quota(gate: MeshGate, caller: Caller, request: admin_pb2.SetAgentQuotaRequest) -> Answer:
    """Change how much an agent may write."""
    agent = await asyncio.to_thread(gate.agents().set_quota, caller, request.name, wire.value_of(Quota, request))
    return {"agent": await _agent_form(gate, agent)}


async def revoke_agent(gate: MeshGate, caller: Caller, request: admin_pb2.RevokeAgentRequest) -> Answer:
    """End an agent's token."""
    access = gate.agents()
    agent = await asyncio.to_thread(access.revoke, caller, request.name)
    return {"agent": await _agent_form(gate, agent)}


async def _status_of_spaces(gate: MeshGate, caller: Caller) -> admin_pb2.StatusResponse:
    """State and counts, without what tells how much is written elsewhere: no numbers of the log, no paths."""
    facts, mesh = gate.describe(), gate.mesh_now()
    response = admin_pb2.StatusResponse(state=facts.state, version=facts.version, uptime_s=facts.uptime_s)
    if mesh is None:
        return response
    whole, own = await mesh.status(), await mesh.stats(caller)
    response.state, response.runtime, response.node_id = whole.state, whole.runtime, whole.node_id
    response.ledger.memories, response.ledger.state = own.memories, "ok" if whole.ledger is None else whole.ledger.state
    for index in whole.index:
        response.index.add(name=index.name, backend=index.backend, lag=min(index.lag, 1), state=index.state)
    if used := whole.model:
        response.model.name, response.model.dimensions = used.name, used.dimensions
        response.model.generation, response.model.precision = used.generation, used.precision
    return response


async def _used(gate: MeshGate) -> Mapping[str, Usage] | None:
    """The writes of each principal. None while the node starts."""
    mesh = gate.mesh_now()
    return None if mesh is None else await mesh.usage()


async def _agent_form(gate: MeshGate, agent: model.Agent) -> admin_pb2.Agent:
    return _agent(gate.agents(), agent, await _used(gate))


def _agent(access: Access, value: model.Agent, used: Mapping[str, Usage] | None) -> admin_pb2.Agent:
    """An agent for its issuer. The token is no part of this form."""
    quota: dict[str, Any] = asdict(access.quota(value.name))
    if used is not None:
        quota |= asdict(used.get(value.name, NOTHING))
    private, state = f"@{value.name}", access.state(value)
    return wire.message_of(admin_pb2.Agent, value, private_space=private, state=state, quota=quota)


async def create_backup(gate: MeshGate, caller: Caller, request: backup_pb2.CreateBackupRequest) -> Answer:
    """A new backup."""
    made = await gate.backups().create(await gate.ready(), request.to)
    return {"backup": made}


async def list_backups(gate: MeshGate, caller: Caller, request: backup_pb2.ListBackupsRequest) -> Answer:
    """The register."""
    return {"backups": await asyncio.to_thread(gate.backups().all)}


async def may_hold(gate: MeshGate, caller: Caller, created_at: int) -> list[str]:
    """Where backups lie that may hold a memory of that time (ms, 0 for all). A caller without a grant for the node gets
    their number only. A register that can not be read keeps nobody from erasing."""
    try:
        backups = await asyncio.to_thread(gate.backups().may_hold, created_at)
    except MnemeshError as error:
        return [error.message]
    if grants.may(caller, grants.ADMINISTER, "admin"):
        return [backup.path for backup in backups]
    return [f"{count_of(len(backups), 'backup')} of the node; who administers it sees where"] if backups else []
