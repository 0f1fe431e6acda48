"""A TCP proxy on loopback whose link can be cut, stalled in one direction, and healed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

BUFFER_BYTES = 65_536


class FaultProxy:
    """Stands before `target` (host:port), which may change. `out` is the direction to the target, `back` the other.

    A stalled direction delivers its bytes once the link is healed, as TCP's own retransmission would do. A cut breaks
    every connection and refuses new ones until the link is healed. An abandoned connection stays open at both ends, and
    nothing more comes through, not even an end.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._abandoned: set[asyncio.Task[None]] = set()
        self._flows = {"out": asyncio.Event(), "back": asyncio.Event()}
        self._down = False
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()
        self.heal()

    async def start(self) -> str:
        """Listen; the address to call instead of the target's."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    def cut(self) -> None:
        """Break the link both ways."""
        self._down = True
        for link in self._links:
            link.cancel()

    def stall(self, direction: str) -> None:
        """Let nothing through in one direction."""
        self._flows[direction].clear()

    def abandon(self) -> None:
        """Forget the present connections, as when one end loses its power. New connections go through."""
        self._abandoned |= self._links

    def heal(self) -> None:
        """Everything flows again."""
        self._down = False
        for flow in self._flows.values():
            flow.set()

    async def close(self) -> None:
        """End all."""
        self.cut()
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._down:
            writer.transport.abort()
            return
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        far: asyncio.StreamWriter | None = None
        try:
            host, _, port = self.target.rpartition(":")
            back, far = await asyncio.open_connection(host, int(port))
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump("out", link, reader, far))
                both.create_task(self._pump("back", link, back, writer))
        except* (OSError, asyncio.CancelledError):
            pass  # broken, by us or by an end
        finally:
            self._links.discard(link)
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _pump(
        self, direction: str, link: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await self._read(link, reader):
            await self._flows[direction].wait()
            writer.write(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()

    async def _read(self, link: asyncio.Task[None], reader: asyncio.StreamReader) -> bytes:
        """The next bytes, or the end. An abandoned link gives neither."""
        try:
            data = await reader.read(BUFFER_BYTES)
        except OSError:
            if link not in self._abandoned:
                raise
        while link in self._abandoned:
            await asyncio.Event().wait()
        return data
