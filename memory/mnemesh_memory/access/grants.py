"""Rights of a token or a peer to read and write: roles and patterns of spaces. One table for every door and every
stream.

A pattern is a space, `prefix/*` for everything below a prefix, or `*` for every shared space. The private space of a
principal is `@name` with everything below. Only the pattern `@name` matches such a space: no wildcard reaches it.

A role (`ROLE_MAY`) allows operations in the spaces of the patterns and in the private space. A memory without read
access does not exist for the caller. A named space without a grant is refused by name, whether it exists or not. Every
operation of every door names one of `NEEDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from mnemesh_memory.secrets import find_secret
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied, shorten, shown_time
from mnemesh_memory.values.model import Agent, Caller
from mnemesh_memory.values.quotas import UNLIMITED, Quota
from mnemesh_memory.values.spaces import space_path, well_formed

OWNER: Final = "owner"
ROLES: Final = ("reader", "writer", "admin")
# Needs of an operation: nothing but a valid token, to read, to write, to administer the node, or to own it. The owner
# alone reaches beyond every grant: a stream with another node, a copy of everything.
IDENTIFY, READ, WRITE, ADMINISTER, OWN = "identify", "read", "write", "administer", "own"
NEEDS: Final = (IDENTIFY, READ, WRITE, ADMINISTER, OWN)
ROLE_MAY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "reader": (IDENTIFY, READ),
        "writer": (IDENTIFY, READ, WRITE),
        "admin": (IDENTIFY, READ, WRITE, ADMINISTER),
        OWNER: (IDENTIFY, READ, WRITE, ADMINISTER, OWN),
    }
)
TOOLSETS: Final = ("core", "curate", "session", "knowledge", "admin")
EVERY_SHARED: Final = "*"
# Every space, private ones too: the grant between the ledgers of a single node. No token and no peer can hold it,
# because `check_pattern` refuses it.
EVERY_SPACE: Final = "**"
BELOW: Final = "/*"
PATTERNS_MAX: Final = 100
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{limits.PRINCIPAL_BYTES_MAX - 1}}}")
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2}))?"
)
_UNIT_MS: Final = MappingProxyType({"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000})


def check_pattern(field: str, pattern: str) -> str:
    """The pattern, normalised as a space is. Raises InvalidArgument naming `field`."""
    if pattern == EVERY_SPACE:
        raise InvalidArgument(field, pattern, "a space, prefix/*, or * for every shared space")
    if pattern == EVERY_SHARED:
        return pattern
    below = pattern.endswith(BELOW)
    path = space_path(field, pattern[: -len(BELOW)] if below else pattern)
    if below and path.startswith("@"):
        raise InvalidArgument(field, pattern, "a private space is named in full: @name")
    return path + BELOW if below else path


def space_matches(pattern: str, space: str) -> bool:
    """Whether a checked pattern covers a space."""
    if pattern == EVERY_SPACE:
        return True
    if space.startswith("@"):
        return space == pattern or space.startswith(pattern + "/")
    if pattern == EVERY_SHARED:
        return True
    if pattern.endswith(BELOW):
        return space.startswith(pattern[:-1])
    return pattern == space


def any_matches(patterns: Iterable[str], space: str) -> bool:
    """Whether one of the patterns covers the space."""
    return any(space_matches(pattern, space) for pattern in patterns)


def principal_of(agent: str) -> str:
    """The principal that an agent's name begins with: `ana` of `ana/claude-code`."""
    return agent.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGrant:
    """The rights of the other side of a stream: to take entries of `read` spaces and to bring entries of `write`
    spaces. Without `relay`, agents of `principal` have to be the writers of all entries brought."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    principal: str
    relay: bool = False

    def may_speak_for(self, agent: str) -> bool:
        """Whether an entry by `agent` may come over this stream."""
        return self.relay or principal_of(agent) == self.principal


# ---- what a caller may do -------------------------------------------------------------------------------------------


def readable(caller: Caller) -> tuple[str, ...]:
    """Patterns of all that `caller` may read; never empty."""
    return (*caller.spaces, caller.private_space)


def may_read(caller: Caller, space: str) -> bool:
    """Whether `space` is there for `caller` at all."""
    return any_matches(readable(caller), space)


def may_write(caller: Caller, space: str) -> bool:
    """Whether `caller` may change what lies in `space`."""
    return WRITE in ROLE_MAY[caller.role] and may_read(caller, space)


def may(caller: Caller, need: str, toolset: str) -> bool:
    """Whether an operation is for this caller at all: its need against the role, its toolset against the token's.
    Everybody may call `whoami`."""
    return need == IDENTIFY or (need in ROLE_MAY[caller.role] and (not caller.toolsets or toolset in caller.toolsets))


def require(caller: Caller, need: str, action: str, toolset: str) -> None:
    """The one check before any operation, see `may`. Raises PermissionDenied."""
    if not may(caller, need, toolset):
        raise PermissionDenied(caller.principal, action, granted(caller))


def require_space(caller: Caller, need: str, space: str) -> None:
    """Refuse a named space without a grant. The refusal tells nothing but the name of the space. Raises
    PermissionDenied."""
    if not (may_write(caller, space) if need == WRITE else may_read(caller, space)):
        raise PermissionDenied(caller.principal, need, granted(caller), space=space)


def granted(caller: Caller) -> str:
    """The grants of a token, in words: `writer of team/*, @ana`."""
    only = f", toolsets {', '.join(caller.toolsets)}" if caller.toolsets else ""
    return f"{caller.role} of {', '.join(readable(caller))}{only}"


def caller_of(agent: Agent) -> Caller:
    """The caller that speaks with the token of `agent`."""
    return Caller(
        agent=agent.name,
        principal=agent.name,
        role=agent.role,
        spaces=agent.spaces,
        toolsets=agent.toolsets,
        expires_at=agent.expires_at,
    )


def peer_grant(caller: Caller) -> PeerGrant:
    """The rights of a stream opened with this token: an admin and the owner relay changes of other writers."""
    spaces = readable(caller)
    writes = WRITE in ROLE_MAY[caller.role]
    return PeerGrant(
        read=spaces,
        write=spaces if writes else (),
        principal=caller.principal,
        relay=ADMINISTER in ROLE_MAY[caller.role],
    )


# ---- issuing tokens -------------------------------------------------------------------------------------------------


def new_agent(
    issuer: Caller,
    *,
    name: str,
    role: str,
    spaces: Iterable[str],
    toolsets: Iterable[str],
    expires: str,
    now: int,
    before: Agent | None,
    inhabited: bool = False,
) -> Agent:
    """The agent that `issuer` asks a token for. `before` is an earlier agent of that name; `inhabited` says whether its
    private space holds anything. Nobody grants more than the own rights. Raises InvalidArgument, AlreadyExists,
    PermissionDenied."""
    principal_name("name", name)
    if role not in ROLES:
        raise InvalidArgument("role", role, f"one of {', '.join(ROLES)}")
    patterns = _patterns(name, spaces)
    kept = tuple(dict.fromkeys(toolsets))
    for i, toolset in enumerate(kept):
        if toolset not in TOOLSETS:
            raise InvalidArgument(f"toolsets[{i}]", toolset, f"one of {', '.join(TOOLSETS)}")
    ends = expiry("expires", expires, now)
    if before is not None and before.state(now) == "active":
        raise AlreadyExists(
            f"name: {name} has a token already; revoke it first", field="name", value=name, limit="one token a name"
        )
    if (before is not None or inhabited) and issuer.role != OWNER:
        # A private space belongs to a name, whoever bears the name next and wherever the memories came from.
        action = f"issue a token for {name}: that name was there before, so the owner alone may"
        raise PermissionDenied(issuer.principal, action, granted(issuer))
    for pattern in patterns:
        if not covers(issuer.spaces, pattern):
            raise PermissionDenied(issuer.principal, "grant more than it has", granted(issuer), space=pattern)
    if issuer.toolsets and not (kept and set(kept) <= set(issuer.toolsets)):
        raise PermissionDenied(issuer.principal, "grant more toolsets than it has", granted(issuer))
    if issuer.expires_at is not None and (ends is None or ends > issuer.expires_at):
        rule = f"give a time no later than {shown_time(issuer.expires_at)}, when the issuing token ends"
        raise InvalidArgument("expires", expires.strip() or "nothing", rule, missing=ends is None)
    return Agent(
        name=name,
        role=role,
        spaces=patterns,
        toolsets=kept,
        created_at=now,
        created_by=issuer.agent,
        expires_at=ends,
    )


def new_quota(issuer: Caller, asked: Quota, own: Quota, defaults: Quota) -> Quota:
    """The quota that `issuer` gives: as asked for, and where nothing is asked no more than `own`, the quota of the
    issuer. Raises InvalidArgument, PermissionDenied."""
    asked.checked()
    quota = asked.over(UNLIMITED if issuer.role == OWNER else own)
    if more := quota.beyond(own):
        raise PermissionDenied(issuer.principal, f"give a larger {more} than its own", granted(issuer))
    return asked if issuer.role == OWNER or not asked.over(defaults).beyond(own) else quota


def principal_name(field: str, name: str) -> str:
    """A name that a token can be issued to, and that `@name` is made of. Raises InvalidArgument."""
    well_formed(field, name)
    if name == OWNER or not _NAME.fullmatch(name) or find_secret(name):
        rule = f"1 to {limits.PRINCIPAL_BYTES_MAX} of a-z 0-9 . _ -, the first a letter or digit, and not {OWNER}"
        raise InvalidArgument(field, name, rule)
    return name


def _patterns(name: str, spaces: Iterable[str]) -> tuple[str, ...]:
    given = tuple(spaces)
    if len(given) > PATTERNS_MAX:
        raise InvalidArgument("spaces", f"{len(given)} spaces", f"at most {PATTERNS_MAX}")
    clean = []
    for i, pattern in enumerate(given):
        checked = check_pattern(f"spaces[{i}]", pattern)
        if find_secret(checked):
            raise InvalidArgument(f"spaces[{i}]", checked, "no credential")
        if checked.startswith("@") and principal_of(checked) != "@" + name:
            raise InvalidArgument(f"spaces[{i}]", checked, f"a private space belongs to its principal: @{name} here")
        if not checked.startswith("@"):  # its own private space is granted anyway
            clean.append(checked)
    return tuple(dict.fromkeys(clean))


def covers(patterns: Iterable[str], wanted: str) -> bool:
    """Whether every space that the pattern `wanted` covers is covered by one of `patterns`."""
    if wanted == EVERY_SHARED or wanted.startswith("@"):
        return wanted in patterns
    below = wanted.endswith(BELOW)
    return any(
        pattern in (EVERY_SHARED, wanted)
        or (pattern.endswith(BELOW) and wanted.startswith(pattern[:-1]))
        or (not below and space_matches(pattern, wanted))
        for pattern in patterns
    )


def expiry(field: str, value: str, now: int) -> int | None:
    """The moment (ms) of an RFC 3339 time, a date (its start in UTC) or a duration from `now` such as 12h. None for "".
    Raises InvalidArgument, also for a moment in the past."""
    text = value.strip()
    if not text:
        return None
    rule = "a time after now: RFC 3339 with zone, a date, or a duration such as 12h, 30d or 4w"
    if duration := _DURATION.fullmatch(text):
        at = now + int(duration[1]) * _UNIT_MS[duration[2]]
    else:
        if not _TIME.fullmatch(text.upper()):
            raise InvalidArgument(field, value, rule)
        try:
            moment = datetime.fromisoformat(text.upper())
        except ValueError:
            raise InvalidArgument(field, value, rule) from None
        at = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    if not now < at <= limits.TIME_MS_MAX:
        raise InvalidArgument(field, value, rule)
    return at


def sees_the_node(caller: Caller) -> bool:
    """Whether what tells of the whole node is for `caller`: the owner, and an admin of every shared space."""
    return caller.role == OWNER or (ADMINISTER in ROLE_MAY[caller.role] and EVERY_SHARED in caller.spaces)


def may_see(caller: Caller, agent: Agent) -> bool:
    """Whether `caller` may see and revoke that token. The owner may for all. An admin may for tokens within the own
    spaces, for own issues without spaces, and for the own token."""
    within = bool(agent.spaces) and all(covers(caller.spaces, pattern) for pattern in agent.spaces)
    issued = not agent.spaces and principal_of(agent.created_by) == caller.principal
    return caller.role == OWNER or agent.name == caller.principal or within or issued


def require_seen(caller: Caller, name: str, agent: Agent | None) -> Agent:
    """`agent`, unless it is none or none for `caller` to see: then NotFound, the same for both."""
    if agent is None or not may_see(caller, agent):
        raise NotFound("agent", shorten(name).strip("'"), "agent list shows those within your spaces")
    return agent
