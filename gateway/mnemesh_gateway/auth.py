"""Every call on every door names its caller here, before its request is even decoded.

One owner token for now, sent as `Authorization: Bearer <token>` (RFC 6750) and compared in constant time; it
never appears in an error or a log. Two more headers say which agent speaks and which space it works in. Their
values are ASCII; other characters and `%` are percent-encoded UTF-8, because neither HTTP nor gRPC carries
raw Unicode there.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from mnemesh_memory import limits, validate
from mnemesh_memory.errors import InvalidArgument, Unauthenticated
from mnemesh_memory.model import Caller
from mnemesh_proto.rendezvous import AGENT_HEADER, AUTHORIZATION, SPACE_HEADER

PRINCIPAL = "owner"
CLIENT_NAME = "clientInfo.name"  # what MCP calls the name that a client gives itself


class Authenticator:
    """Turns the headers of a call into its Caller. `owner_token` is the content of the token file."""

    def __init__(self, owner_token: str) -> None:
        if not owner_token:
            raise ValueError("the owner token is empty")
        self._token = owner_token.encode()

    def authenticate(self, headers: Mapping[str, str], client_name: str = "") -> Caller:
        """Who calls. `headers` has lower-case names; `client_name` is the name that an MCP client gave
        itself, used when no agent header is there. Raises Unauthenticated, InvalidArgument for a bad header, and
        SecretRefused for a name or space that holds a credential: both are stored with every memory."""
        scheme, _, token = headers.get(AUTHORIZATION, "").partition(" ")
        # compare_digest also runs for a missing token, so that both refusals take the same time.
        known = hmac.compare_digest(token.strip().encode("utf-8", "surrogatepass"), self._token)
        if scheme.lower() != "bearer" or not known:
            raise Unauthenticated(
                "missing or wrong token; send `Authorization: Bearer <token>` with the content of "
                "owner.token in the node's data directory"
            )
        agent = _header_text(AGENT_HEADER, headers.get(AGENT_HEADER, ""))
        space = _header_text(SPACE_HEADER, headers.get(SPACE_HEADER, ""))
        validate.no_secrets(attrs={}, **{AGENT_HEADER: agent, CLIENT_NAME: client_name, SPACE_HEADER: space})
        return Caller(
            agent=agent_name(agent or client_name),
            principal=PRINCIPAL,
            default_space=validate.space_path(SPACE_HEADER, space) if space else "",
        )


def agent_name(client_name: str) -> str:
    """`owner/<name>` with the name folded to [a-z0-9._-], at most AGENT_BYTES_MAX bytes in all; `owner`
    without."""
    folded = re.sub(r"[^a-z0-9._-]+", "-", client_name.strip().lower())
    name = folded.strip("-")[: limits.AGENT_BYTES_MAX - len(PRINCIPAL) - 1].rstrip("-")
    return f"{PRINCIPAL}/{name}" if name else PRINCIPAL


def _header_text(name: str, value: str) -> str:
    if not value:
        return ""
    try:
        return unquote_to_bytes(value.encode("ascii")).decode("utf-8").strip()
    except UnicodeError:
        raise InvalidArgument(name, value, "ASCII, with other characters as percent-encoded UTF-8") from None
