"""`mnemesh agent`: issue, list and revoke the tokens of agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.given import several
from mnemesh.cli.options import REPEAT, contract, option
from mnemesh.cli.people.identity import granted
from mnemesh.cli.shell import Shell, count_of, one_line

HELP: Final = (
    "Issue, list and revoke the tokens of agents, and bound what they write; needs the owner's token or an admin's."
)
MaxMemories = Annotated[int | None, option("AddAgentRequest.max_memories", "--max-memories", metavar="N")]
MaxBytes = Annotated[int | None, option("AddAgentRequest.max_bytes", "--max-bytes", metavar="N")]
WritesPerSecond = Annotated[
    float | None, option("AddAgentRequest.writes_per_second", "--writes-per-second", metavar="N")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help=contract("AddAgentRequest.name"))]


def add(
    shell: Shell,
    name: Name,
    role: Annotated[str, option("AddAgentRequest.role", "--role", metavar="ROLE")],
    spaces: Annotated[
        list[str] | None,
        option(
            "AddAgentRequest.spaces",
            "--spaces",
            "--space",
            metavar="PATTERNS",
            more=" Commas separate several." + REPEAT,
        ),
    ] = None,
    toolsets: Annotated[
        list[str] | None,
        option("AddAgentRequest.toolsets", "--toolsets", metavar="NAMES", more=" Commas separate several." + REPEAT),
    ] = None,
    expires: Annotated[str | None, option("AddAgentRequest.expires", "--expires", metavar="TIME")] = None,
    max_memories: MaxMemories = None,
    max_bytes: MaxBytes = None,
    writes_per_second: WritesPerSecond = None,
) -> None:
    """Issue a token to an agent. The token is shown only once."""
    with shell.client() as client:
        issued = client.add_agent(
            name, role=role, spaces=several(spaces), toolsets=several(toolsets), expires=expires,
            max_memories=max_memories, max_bytes=max_bytes, writes_per_second=writes_per_second,
        )  # fmt: skip
    shell.answer(issued, lambda: _issued(issued))


def list_agents(shell: Shell) -> None:
    """List present and past holders of tokens, with grants and last use."""
    with shell.client() as client:
        found = client.list_agents()
    shell.answer(found, lambda: _listed(found.agents))


def quota(
    shell: Shell,
    name: Name,
    max_memories: MaxMemories = None,
    max_bytes: MaxBytes = None,
    writes_per_second: WritesPerSecond = None,
) -> None:
    """Change an agent's quota, from the next call on. Options left out change nothing."""
    with shell.client() as client:
        changed = client.set_agent_quota(
            name, max_memories=max_memories, max_bytes=max_bytes, writes_per_second=writes_per_second
        )
    shell.answer(changed, lambda: [_line(changed.agent)])


def revoke(shell: Shell, name: Name) -> None:
    """End an agent's token, from its next call on."""
    with shell.client() as client:
        done = client.revoke_agent(name)
    shell.answer(done, lambda: [_line(done.agent)])


def _issued(issued: values.IssuedToken) -> Iterator[str]:
    yield _line(issued.agent)
    yield f"token   {issued.token}"
    yield "It is not shown again. Give it to the agent as MNEMESH_TOKEN, or as `Authorization: Bearer`."


def _listed(agents: Iterable[values.Agent]) -> Iterator[str]:
    lines = [_line(agent) for agent in agents]
    yield from lines or ["no agents beside the owner; `mnemesh agent add` issues a token"]


def _line(agent: values.Agent) -> str:
    ended = agent.revoked_at or agent.expires_at
    until = f" since {rfc3339(ended)}" if ended and agent.state != "active" else ""
    until = until or (f" until {rfc3339(ended)}" if ended else "")
    used = (
        f"{count_of(agent.calls, 'call')}, last {rfc3339(agent.last_used_at)}" if agent.last_used_at else "never used"
    )
    what = granted(agent.spaces, agent.private_space, agent.toolsets)
    return f"{one_line(agent.name)}  {agent.role} of {what}  {agent.state}{until}  {used}{_wrote(agent.quota)}"


def _wrote(quota: values.AgentQuota | None) -> str:
    """The used share of the quota. "" from a node that has no quotas."""
    if quota is None:
        return ""
    memories = _of(quota.memories, quota.max_memories, "memories")
    return f"  {memories}, {_of(quota.bytes, quota.max_bytes, 'bytes')}, {_rate(quota.writes_per_second)}"


def _of(used: int | None, most: int, what: str) -> str:
    known = "?" if used is None else f"{used:,}"
    return f"{known} of {most:,} {what}" if most else f"{known} {what}, no limit"


def _rate(most: float) -> str:
    return f"{most:g} writes/s" if most else "any number of writes/s"


COMMANDS: Final = (("add", add), ("list", list_agents), ("quota", quota), ("revoke", revoke))
