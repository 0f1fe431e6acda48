"""`mnemesh agent`: issue, list and revoke the tokens of agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.given import given_in, several
from mnemesh.cli.options import COMMAS, Number, Text, Texts, argument, asks, option
from mnemesh.cli.people.node import granted
from mnemesh.cli.shell import Shell, count_of, one_line

HELP: Final = (
    "Issue, list and revoke the tokens of agents, and bound what they write; needs the owner's token or an admin's."
)
Name = Annotated[str, argument("AddAgentRequest.name", "NAME")]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOptions:
    """The access of an agent."""

    max_memories: Annotated[Number, option("AddAgentRequest.max_memories", "--max-memories", metavar="N")] = None
    max_bytes: Annotated[Number, option("AddAgentRequest.max_bytes", "--max-bytes", metavar="N")] = None
    writes_per_second: Annotated[
        float | None, option("AddAgentRequest.writes_per_second", "--writes-per-second", metavar="N")
    ] = None


@asks("AddAgentRequest")
def add(
    shell: Shell,
    name: str,
    role: Annotated[str, option("AddAgentRequest.role", "--role", metavar="ROLE")],
    spaces: Annotated[
        Texts, option("AddAgentRequest.spaces", "--spaces", "--space", metavar="PATTERNS", more=COMMAS)
    ] = None,
    toolsets: Annotated[Texts, option("AddAgentRequest.toolsets", "--toolsets", metavar="NAMES", more=COMMAS)] = None,
    expires: Text = None,
    *,
    quota: QuotaOptions,
) -> None:
    """Issue a token to an agent. The token is shown only once."""
    wanted = {"spaces": several(spaces), "toolsets": several(toolsets), "expires": expires} | given_in(quota)
    shell.ask(lambda client: client.add_agent(name, role=role, **wanted), _issued)


def list_agents(shell: Shell) -> None:
    """List present and past holders of tokens, with grants and last use."""
    shell.ask(lambda client: client.list_agents(), _listed)


def quota(shell: Shell, name: Name, quota: QuotaOptions) -> None:
    """Change an agent's quota, from the next call on. Options left out change nothing."""
    shell.ask(lambda client: client.set_agent_quota(name, **given_in(quota)), lambda changed: [_line(changed.agent)])


def revoke(shell: Shell, name: Name) -> None:
    """End an agent's token, from its next call on."""
    shell.ask(lambda client: client.revoke_agent(name), lambda done: [_line(done.agent)])


def _issued(issued: values.IssuedToken) -> Iterator[str]:
    yield _line(issued.agent)
    yield f"token   {issued.token}"
    yield "It is not shown again. Give it to the agent as MNEMESH_TOKEN, or as `Authorization: Bearer`."


def _listed(answer: values.Agents) -> Iterable[str]:
    return list(map(_line, answer.agents)) or ["no agents beside the owner; `mnemesh agent add` issues a token"]


def _line(agent: values.Agent) -> str:
    ended = agent.revoked_at or agent.expires_at
    until = f" {'until' if agent.state == 'active' else 'since'} {rfc3339(ended)}" if ended else ""
    last = agent.last_used_at
    used = f"{count_of(agent.calls, 'call')}, last {rfc3339(last)}" if last else "never used"
    what = granted(agent.spaces, agent.private_space, agent.toolsets)
    return f"{one_line(agent.name)}  {agent.role} of {what}  {agent.state}{until}  {used}{_wrote(agent.quota)}"


def _wrote(quota: values.AgentQuota | None) -> str:
    """The used share of the quota. "" from a node that has no quotas."""
    if quota is None:
        return ""
    memories = _of(quota.memories, quota.max_memories, "memories")
    rate = f"{quota.writes_per_second:g} writes/s" if quota.writes_per_second else "any number of writes/s"
    return f"  {memories}, {_of(quota.bytes, quota.max_bytes, 'bytes')}, {rate}"


def _of(used: int | None, most: int, what: str) -> str:
    known = "?" if used is None else f"{used:,}"
    return f"{known} of {most:,} {what}" if most else f"{known} {what}, no limit"


COMMANDS: Final = (("add", add), ("list", list_agents), ("quota", quota), ("revoke", revoke))
