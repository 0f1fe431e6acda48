"""The limits in the settings: connections, and the quotas of agents and peers."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from mnemesh_gateway.doors.http_connections import ConnectionLimits, connections_of_a_door, raise_open_files_limit
from mnemesh_gateway.node.settings import Settings
from mnemesh_gateway.security.access import Access
from mnemesh_memory.values.quotas import MOST, UNLIMITED, Quota

log = structlog.get_logger("mnemesh.node")


def bounds(settings: Settings) -> ConnectionLimits:
    """The connections of HTTP, with as many files open as the system allows from now on."""
    open_files = raise_open_files_limit()
    total = connections_of_a_door(settings.connections_max, open_files)
    if total < settings.connections_max:
        log.info("few_open_files", limit=open_files, connections_of_each_door=total)
    return ConnectionLimits(
        total=total,
        per_address=min(settings.connections_per_address_max, total),
        header_s=settings.http_header_timeout_s,
        body_s=settings.http_body_timeout_s,
    )


def agent_quota(settings: Settings) -> Quota:
    """The quota of agents without a quota of their own."""
    return Quota(**{name: getattr(settings, f"agent_{name}") for name in MOST})


def peer_quotas(settings: Settings, access: Access) -> Callable[[str], Quota]:
    """The quota of a peer, by sender. With the token of an agent, a peer brings no more in all than the agent may write
    itself."""
    rate = Quota(writes_per_second=settings.peer_entries_per_second)
    called = rate.over(Quota(max_memories=settings.peer_max_memories, max_bytes=settings.peer_max_bytes))

    def quota_of(sender: str) -> Quota:
        if sender == settings.owner:
            return UNLIMITED
        return rate.over(access.quota(sender)) if access.has_own_quota(sender) else called

    return quota_of
