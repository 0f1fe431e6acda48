"""The operations on the tokens of agents: each builds the Call that asks for it. They need the owner's token or an
admin's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from mnemesh import agent_values
from mnemesh.call import Call, reading
from mnemesh.json_form import rfc3339
from mnemesh.reads import ADMIN
from mnemesh.wire import to_message
from mnemesh_proto.v1 import admin_pb2


def add_agent(
    name: str,
    *,
    role: str,
    spaces: Iterable[str] = (),
    toolsets: Iterable[str] = (),
    expires: str | datetime | timedelta | None = None,
    max_memories: int | None = None,
    max_bytes: int | None = None,
    writes_per_second: float | None = None,
) -> Call[agent_values.IssuedToken]:
    """Issue a token to an agent; the answer is the only place where it ever stands.

    `role` is reader, writer or admin; `spaces` are paths of shared spaces, `team/*` for all below, `*` for all; its
    private space @name is its own anyway. `toolsets` core, curate, session, admin; none means all that the role may.
    `expires` is an aware datetime, a timedelta or a text such as 30d. `max_memories`, `max_bytes` and
    `writes_per_second` bound what it writes, 0 for no limit, None for the node's defaults. Raises AlreadyExists while
    the name has a token.

    >>> issued = client.add_agent("ana", role="writer", spaces=["team/*"], expires="30d")
    >>> ana = Client(token=issued.token)
    """
    fields = {
        "name": name,
        "role": role,
        "spaces": spaces,
        "toolsets": toolsets,
        "expires": _moment(expires),
        "max_memories": max_memories,
        "max_bytes": max_bytes,
        "writes_per_second": writes_per_second,
    }
    return Call(
        rpc=ADMIN + "AddAgent",
        request=to_message(admin_pb2.AddAgentRequest, fields),
        response=admin_pb2.AddAgentResponse,
        read=reading(agent_values.IssuedToken),
        repeatable=False,  # the second time the name has a token, and the first one is lost
    )


def list_agents() -> Call[agent_values.Agents]:
    """The agents that have or had a token, with how often and when it was used last.

    >>> [agent.name for agent in client.list_agents().agents if agent.state == "active"]
    """
    return Call(
        rpc=ADMIN + "ListAgents",
        request=admin_pb2.ListAgentsRequest(),
        response=admin_pb2.ListAgentsResponse,
        read=reading(agent_values.Agents),
        repeatable=True,
    )


def set_agent_quota(
    name: str,
    *,
    max_memories: int | None = None,
    max_bytes: int | None = None,
    writes_per_second: float | None = None,
) -> Call[agent_values.ChangedAgent]:
    """Change how much an agent may write, from its next call on; what is None stays, 0 is no limit.

    >>> client.set_agent_quota("ana", max_memories=50_000).agent.quota.max_memories
    50000
    """
    fields = {
        "name": name,
        "max_memories": max_memories,
        "max_bytes": max_bytes,
        "writes_per_second": writes_per_second,
    }
    return Call(
        rpc=ADMIN + "SetAgentQuota",
        request=to_message(admin_pb2.SetAgentQuotaRequest, fields),
        response=admin_pb2.SetAgentQuotaResponse,
        read=reading(agent_values.ChangedAgent),
        repeatable=True,
    )


def revoke_agent(name: str) -> Call[agent_values.RevokedAgent]:
    """End an agent's token, from its next call on. Raises NotFound.

    >>> client.revoke_agent("ana").agent.state
    'revoked'
    """
    return Call(
        rpc=ADMIN + "RevokeAgent",
        request=to_message(admin_pb2.RevokeAgentRequest, {"name": name}),
        response=admin_pb2.RevokeAgentResponse,
        read=reading(agent_values.RevokedAgent),
        repeatable=True,
    )


def _moment(expires: str | datetime | timedelta | None) -> object:
    """The contract's text for a moment or a duration; a datetime without zone is refused by the node, as any text."""
    if isinstance(expires, timedelta):
        return f"{int(expires.total_seconds())}s"
    if isinstance(expires, datetime):
        return rfc3339(expires) if expires.tzinfo else expires.isoformat()
    return expires
