"""The functions behind the rows of AdminService in the table of operations, and how their messages look on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from mnemesh_gateway.contract import wire
from mnemesh_memory.access import grants
from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.values import model
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.model_status import ModelStatus, ReembedStatus
from mnemesh_memory.values.quotas import NOTHING, Quota, Usage
from mnemesh_proto.v1 import admin_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate
    from mnemesh_gateway.security.access import Access


async def status(gate: MeshGate, caller: Caller, request: admin_pb2.StatusRequest) -> admin_pb2.StatusResponse:
    """Answers while the node starts, too: then with what the gateway knows of itself. An admin of some spaces hears how
    these are, and nothing of others or of the machine."""
    facts = gate.describe()
    mesh = gate.mesh_now()
    if not grants.sees_the_node(caller):
        return await _status_of_spaces(gate, caller)
    response = admin_pb2.StatusResponse(state=facts.state) if mesh is None else _status(await mesh.status())
    if mesh is not None:
        response.transcripts.CopyFrom(admin_pb2.TranscriptStatus(**asdict(await mesh.transcripts.status())))
    response.version, response.data_dir, response.pid = facts.version, facts.data_dir, facts.pid
    response.uptime_s, response.grpc, response.http = facts.uptime_s, facts.grpc, facts.http
    for name, value, origin in facts.settings:
        response.settings.add(name=name, value=value, origin=origin)
    return response


async def reembed(gate: MeshGate, caller: Caller, request: admin_pb2.ReembedRequest) -> admin_pb2.ReembedResponse:
    """Begin to embed with another model, give it up, or tell how far it is."""
    mesh = await gate.ready()
    status = await mesh.reembed(request.model, request.precision, cancel=request.cancel)
    return admin_pb2.ReembedResponse(
        model=None if status.model is None else _model(status.model), reembed=_reembed(status.reembed)
    )


async def whoami(gate: MeshGate, caller: Caller, request: admin_pb2.WhoamiRequest) -> admin_pb2.WhoamiResponse:
    """Whom the token stands for, and what it grants."""
    return admin_pb2.WhoamiResponse(
        agent=caller.agent,
        principal=caller.principal,
        role=caller.role,
        private_space=caller.private_space,
        default_space=caller.default_space or caller.private_space,
        alias_space=caller.alias_space,
        spaces=caller.spaces,
        toolsets=caller.toolsets,
        expires_at=wire.timestamp(caller.expires_at),
    )


async def add_agent(gate: MeshGate, caller: Caller, request: admin_pb2.AddAgentRequest) -> admin_pb2.AddAgentResponse:
    """A new agent and its token, which is told this once."""
    access = gate.agents()
    inhabited = caller.role != OWNER and await (await gate.ready()).inhabited(request.name)
    add = partial(
        access.add, caller, name=request.name, role=request.role, spaces=tuple(request.spaces),
        toolsets=tuple(request.toolsets), expires=request.expires, inhabited=inhabited, quota=_asked(request),
    )  # fmt: skip
    agent, token = await asyncio.to_thread(add)
    return admin_pb2.AddAgentResponse(agent=await _told(gate, agent), token=token)


async def list_agents(
    gate: MeshGate, caller: Caller, request: admin_pb2.ListAgentsRequest
) -> admin_pb2.ListAgentsResponse:
    """The agents that the caller may see."""
    agents, used = gate.agents().list(caller), await _used(gate)
    return admin_pb2.ListAgentsResponse(agents=[_agent(gate.agents(), agent, used) for agent in agents])


async def set_agent_quota(
    gate: MeshGate, caller: Caller, request: admin_pb2.SetAgentQuotaRequest
) -> admin_pb2.SetAgentQuotaResponse:
    """Change how much an agent may write."""
    agent = await asyncio.to_thread(gate.agents().set_quota, caller, request.name, _asked(request))
    return admin_pb2.SetAgentQuotaResponse(agent=await _told(gate, agent))


async def revoke_agent(
    gate: MeshGate, caller: Caller, request: admin_pb2.RevokeAgentRequest
) -> admin_pb2.RevokeAgentResponse:
    """End an agent's token."""
    access = gate.agents()
    agent = await asyncio.to_thread(access.revoke, caller, request.name)
    return admin_pb2.RevokeAgentResponse(agent=await _told(gate, agent))


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


def _status(status: model.MeshStatus) -> admin_pb2.StatusResponse:
    response = admin_pb2.StatusResponse(
        state=status.state,
        runtime=status.runtime,
        node_id=status.node_id,
        notices=status.notices,
        reembed=_reembed(status.reembed),
    )
    for actor in status.actors:
        response.actors.add(**asdict(actor))
    for index in status.index:
        response.index.add(
            name=index.name, backend=index.backend, seq=index.seq, lag=index.lag, points=index.points,
            state=index.state,
        )  # fmt: skip
    for consumer in status.consumers:
        response.consumers.add(**asdict(consumer))
    if log := status.ledger:
        ledger = admin_pb2.LedgerStatus(
            incarnation=log.incarnation,
            seq=log.seq,
            memories=log.memories,
            bytes=log.bytes,
            replicas=[admin_pb2.LedgerReplica(**asdict(one)) for one in log.replicas],
            state=log.state,
        )
        response.ledger.CopyFrom(ledger)
    if used := status.model:
        response.model.CopyFrom(_model(used))
    return response


def _model(value: ModelStatus) -> admin_pb2.ModelStatus:
    return admin_pb2.ModelStatus(**asdict(value))


def _reembed(value: ReembedStatus) -> admin_pb2.ReembedStatus:
    return admin_pb2.ReembedStatus(
        state=value.state,
        model=None if value.model is None else _model(value.model),
        done=value.done,
        total=value.total,
        fault=value.fault,
    )


def _asked(request: admin_pb2.AddAgentRequest | admin_pb2.SetAgentQuotaRequest) -> Quota:
    """What a request says of a quota."""
    return Quota(
        max_memories=request.max_memories if request.HasField("max_memories") else None,
        max_bytes=request.max_bytes if request.HasField("max_bytes") else None,
        writes_per_second=request.writes_per_second if request.HasField("writes_per_second") else None,
    )


async def _used(gate: MeshGate) -> Mapping[str, Usage] | None:
    """What each principal has written; None while the node starts."""
    mesh = gate.mesh_now()
    return None if mesh is None else await mesh.usage()


async def _told(gate: MeshGate, agent: model.Agent) -> admin_pb2.Agent:
    return _agent(gate.agents(), agent, await _used(gate))


def _agent(access: Access, value: model.Agent, used: Mapping[str, Usage] | None) -> admin_pb2.Agent:
    """An agent as its issuer sees it; the token is no part of it."""
    quota = admin_pb2.AgentQuota(**asdict(access.quota(value.name)))
    if used is not None:
        has = used.get(value.name, NOTHING)
        quota.memories, quota.bytes = has.memories, has.bytes
    return admin_pb2.Agent(
        name=value.name,
        role=value.role,
        spaces=value.spaces,
        private_space="@" + value.name,
        toolsets=value.toolsets,
        state=access.state(value),
        quota=quota,
        created_at=wire.timestamp(value.created_at),
        created_by=value.created_by,
        expires_at=wire.timestamp(value.expires_at),
        revoked_at=wire.timestamp(value.revoked_at),
        calls=value.calls,
        last_used_at=wire.timestamp(value.last_used_at),
    )
