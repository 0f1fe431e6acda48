"""The operations on the tokens of agents: each builds the Call that asks for it. They need the owner's token or an
admin's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.json_form import rfc3339
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
) -> Call[values.IssuedToken]:
    """Issue a token to an agent. The token stands only in this answer.

    `role` is reader, writer or admin. `spaces` are paths of shared spaces, `team/*` for all below, `*` for all. The
    private space @name needs no grant. `toolsets` is core, curate, session, knowledge, admin; none means all that the
    role may. `expires` is an aware datetime, a timedelta or a text such as 30d. `max_memories`, `max_bytes` and
    `writes_per_second` bound what it writes, 0 for no limit, None for the node's defaults. Raises AlreadyExists while
    the name has a token.

    >>> issued = client.add_agent("ana", role="writer", spaces=["team/*"], expires="30d")
    >>> ana = Client(token=issued.token)
    """
    grants = {"role": role, "spaces": spaces, "toolsets": toolsets, "expires": _moment(expires)}
    quota = {"max_memories": max_memories, "max_bytes": max_bytes, "writes_per_second": writes_per_second}
    # the second time the name has a token, and the first one is lost
    return ask(admin_pb2, "AddAgent", {"name": name, **grants, **quota}, values.IssuedToken, repeatable=False)


def _moment(expires: str | datetime | timedelta | None) -> object:
    """The contract's text for a moment or a duration; a datetime without zone is refused by the node, as any text."""
    if isinstance(expires, timedelta):
        return f"{int(expires.total_seconds())}s"
    if isinstance(expires, datetime):
        return rfc3339(expires) if expires.tzinfo else expires.isoformat()
    return expires
