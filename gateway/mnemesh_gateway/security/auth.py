"""Every call on every door names its caller here, before its request is even decoded.

A token comes as `Authorization: Bearer <token>` (RFC 6750): the owner's, or one that `agent add` issued. It is compared
in constant time and never appears in an error or a log. Two more headers name the agent and its space. Their values are
ASCII. Other characters and `%` are percent-encoded UTF-8, because neither HTTP nor gRPC carries raw Unicode there. An
agent's name begins with its token's principal: nobody writes as another.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from mnemesh_gateway.security.access import Access
from mnemesh_memory.access import grants
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.validation import request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, PermissionDenied, Unauthenticated, shorten, shown_time
from mnemesh_memory.values.model import Caller
from mnemesh_memory.values.spaces import space_path
from mnemesh_proto import rendezvous

CLIENT_NAME = "clientInfo.name"  # what MCP calls the name that a client gives itself
HEADERS_KEPT: Final = 256


class Authenticator:
    """Turns the headers of a call into its Caller. `owner_token` is the content of the token file and `owner` the
    owner's principal. Without `access` there are no agents beside the owner."""

    def __init__(self, owner_token: str, access: Access | None = None, owner: str = grants.OWNER) -> None:
        if not owner_token:
            raise ValueError("the owner token is empty")
        self._token = owner_token.encode()
        self._access = access
        self._owner = owner

    def authenticate(self, headers: Mapping[str, str], client_name: str = "", *, counted: bool = True) -> Caller:
        """Who calls. `headers` has lower-case names. `client_name` is the name that an MCP client gave itself, used
        without an agent header. `counted` is false for a second authentication of the same call. Raises
        Unauthenticated, PermissionDenied for another's name, and InvalidArgument for a bad header. Raises SecretRefused
        for a name or space that holds a credential, because both are stored with every memory."""
        scheme, _, given = headers.get(rendezvous.AUTHORIZATION, "").partition(" ")
        speaks = self._speaker(given.strip())
        if scheme.lower() != "bearer" or speaks is None:
            raise Unauthenticated(
                "missing or wrong token; send `Authorization: Bearer <token>` with one that `mnemesh agent add` "
                "issued, or with the content of owner.token in the node's data directory"
            )
        agent = _header_text(rendezvous.AGENT_HEADER, headers.get(rendezvous.AGENT_HEADER, ""))
        _no_secret(rendezvous.AGENT_HEADER, agent)
        request_checks.no_secrets(attrs={}, **{CLIENT_NAME: client_name})  # of any length, so not kept
        if self._access is not None and counted:
            self._access.note_use(speaks.principal)
        self._refuse_another(speaks, agent)
        own = "" if agent == speaks.principal else agent.removeprefix(speaks.principal + "/")
        return replace(
            speaks,
            agent=agent_name(own or ("" if agent else client_name), speaks.principal),
            default_space=_space(headers, rendezvous.SPACE_HEADER),
            alias_space=_space(headers, rendezvous.SPACE_ALIAS_HEADER),
            taken_space=_space(headers, rendezvous.SPACE_TAKEN_HEADER),
            root=_header_text(rendezvous.ROOT_HEADER, headers.get(rendezvous.ROOT_HEADER, "")),
        )

    def peer_grant(self, token: str) -> PeerGrant | None:
        """The rights of a stream with this token: None for one that opens nothing (any more). Ask again for every
        batch: it is a look into memory, and a revocation then ends the stream at once."""
        try:
            speaks = self._speaker(token.strip())
        except Unauthenticated:
            return None
        return grants.peer_grant(speaks) if speaks else None

    def peer_grants(self) -> dict[str, PeerGrant]:
        """The present rights of streams, by the principal of the token."""
        agents = self._access.standing() if self._access is not None else ()
        callers = [Caller(agent=self._owner, principal=self._owner), *map(grants.caller_of, agents)]
        return {caller.principal: grants.peer_grant(caller) for caller in callers}

    def _speaker(self, token: str) -> Caller | None:
        """The holder of this token. None for an unknown token. Raises Unauthenticated for one that has ended."""
        # Both run for any token, so that every refusal takes the same time.
        owner = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)
        agent = self._access.holder(token) if self._access is not None else None
        if owner:
            return Caller(agent=self._owner, principal=self._owner)
        if agent is None or self._access is None:
            return None
        if (state := self._access.state(agent)) != "active":
            # The holder of a token may know its fate.
            when = shown_time((agent.revoked_at if state == "revoked" else agent.expires_at) or 0)
            raise Unauthenticated(
                f"the token of {agent.name} is {state} since {when}; ask the node's owner for a new one",
                principal=agent.name,
            )
        return grants.caller_of(agent)

    def _refuse_another(self, speaks: Caller, agent: str) -> None:
        """The agent header may name a client of the principal's own, `NAME` or `CLIENT` or `NAME/CLIENT`, never another
        principal. Raises PermissionDenied."""
        first, slash, _ = agent.partition("/")
        another = first.strip().lower()
        if another in ("", speaks.principal):
            return
        owners = another in (self._owner, grants.OWNER)
        known = owners or (self._access is not None and self._access.knows(another))
        # To an agent, whatever stands before a slash is a principal, be it known here or not.
        if known or (slash and speaks.role != grants.OWNER):
            raise PermissionDenied(
                speaks.principal, f"write as {shorten(agent)}, only as {speaks.principal} or {speaks.principal}/CLIENT",
                grants.granted(speaks),
            )  # fmt: skip


def agent_name(client_name: str, principal: str = grants.OWNER) -> str:
    """`principal/<name>` with the name folded to [a-z0-9._-], at most AGENT_BYTES_MAX bytes in all. `principal`
    without."""
    folded = re.sub(r"[^a-z0-9._-]+", "-", client_name.strip().lower())
    name = folded.strip("-")[: limits.AGENT_BYTES_MAX - len(principal) - 1].rstrip("-")
    return f"{principal}/{name}" if name else principal


@lru_cache(maxsize=HEADERS_KEPT)  # a client says the same with every call. Refusals are not kept
def _no_secret(name: str, text: str) -> None:
    request_checks.no_secrets(attrs={}, **{name: text})


def _space(headers: Mapping[str, str], name: str) -> str:
    given = headers.get(name, "")
    if not given:
        return ""
    text = _header_text(name, given)
    _no_secret(name, text)
    return space_path(name, text) if text else ""


def _header_text(name: str, value: str) -> str:
    if not value:
        return ""
    try:
        return unquote_to_bytes(value.encode("ascii")).decode("utf-8").strip()
    except UnicodeError:
        raise InvalidArgument(name, value, "ASCII, with other characters as percent-encoded UTF-8") from None
