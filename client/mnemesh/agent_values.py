"""What the client gives back of a node's tokens: the messages as frozen dataclasses, as in values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentQuota:
    """How much an agent may write, 0 for no limit, and what it has written, None while the node starts."""

    max_memories: int
    max_bytes: int
    writes_per_second: float
    memories: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that has or had a token; `state` is active, expired or revoked."""

    name: str
    role: str
    spaces: tuple[str, ...]
    private_space: str
    toolsets: tuple[str, ...]
    state: str
    created_at: datetime | None
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    calls: int
    last_used_at: datetime | None
    quota: AgentQuota | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """What was granted, and the token, which the node can not show again. It does not show in a log either."""

    agent: Agent
    token: str = dataclasses.field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """The agents of a node, by name."""

    agents: tuple[Agent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAgent:
    """The agent with another quota."""

    agent: Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedAgent:
    """The agent whose token has ended."""

    agent: Agent
