"""The address of a node's door. Standard library only, and nothing that costs a hook its start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LOOPBACK_HOSTS: Final = ("127.0.0.1", "::1", "localhost")


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port". A wildcard host becomes the loopback of its family.

    Raises ValueError when `address` has no port or one outside 1..65535.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{address!r} is not HOST:PORT")
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)
