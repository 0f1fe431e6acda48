"""The view of this process of its Ray cluster: the machines in it, and whether the cluster can still be used.

Asks Ray in threads that nobody has to wait for. Without its head, Ray keeps a question for a minute and then ends the
asking process without a word.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, TextIO, TypeVar, cast

import structlog

from mnemesh_actors.runtime.local import answer
from mnemesh_memory.values.errors import Unavailable

# A head that has not answered for so long is gone; Ray's own patience ends after 60 s, with an abort.
HEAD_AWAY_S: Final = 20.0
ANSWER_S: Final = 2.0
CONNECT_S: Final = 0.5
COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
# The thread in which Ray prints reports of its daemons.
PRINTING_THREAD: Final = "ray_listen_error_messages"
Answer = TypeVar("Answer")
log = structlog.get_logger("mnemesh.ray")


def loss(*, raylet_answers: bool, alive: bool | None, away_s: float) -> str:
    """Why Ray can't be used any more, or "". `alive` is the head's word on this machine, None for silence, and `away_s`
    the length of that silence."""
    if not raylet_answers:
        return "Ray's process on this machine (raylet) has ended"
    if alive is False:
        return "the Ray cluster has given this machine up"
    if away_s >= HEAD_AWAY_S:
        return f"the head of the Ray cluster has not answered for {away_s:.0f} s"
    return ""


async def beside(call: Callable[[], Answer]) -> Answer:
    """The result of `call` in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()
    threading.Thread(target=answer, args=(loop, future, call), name="ray-question", daemon=True).start()
    return await future


class RayCluster:
    """The cluster that this process is connected to. `known` is what its head said last of each Ray node."""

    def __init__(self) -> None:
        self.known: list[dict[str, Any]] = []
        self._asking: asyncio.Task[list[dict[str, Any]]] | None = None
        self._heard = asyncio.get_running_loop().time()
        self._raylet = ""  # its socket

    async def nodes(self) -> list[dict[str, Any]]:
        """The head's word on every Ray node. One question at a time; raises Unavailable when it does not answer within
        ANSWER_S."""
        import ray
        from ray.exceptions import RayError

        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(beside(ray.nodes), name="ray-nodes")
        try:
            self.known = await asyncio.wait_for(asyncio.shield(self._asking), ANSWER_S)
        except TimeoutError:
            raise Unavailable(f"the head of the Ray cluster has not answered in {ANSWER_S:g} s", part="ray") from None
        except (RayError, ConnectionError, RuntimeError) as error:
            raise Unavailable(f"the head of the Ray cluster can't be asked: {error}", part="ray") from error
        self._heard = asyncio.get_running_loop().time()
        return self.known

    async def lost(self) -> str:
        """Why this process can't use Ray any more, or ""."""
        import ray

        here, alive = ray.get_runtime_context().get_node_id(), None
        try:
            for node in await self.nodes():
                if node["NodeID"] == here:
                    alive, self._raylet = bool(node["Alive"]), node["RayletSocketName"]
        except Unavailable:
            pass  # how long that lasts decides
        away_s = asyncio.get_running_loop().time() - self._heard
        return loss(raylet_answers=await self._raylet_answers(), alive=alive, away_s=away_s)

    async def _raylet_answers(self) -> bool:
        """Whether a process listens at its socket; a busy process does."""
        # A timeout means a busy listener.
        return not self._raylet or await _connects(asyncio.open_unix_connection(self._raylet), TimeoutError)


async def reachable(address: str, port: int) -> bool:
    """Whether the machine takes a connection within CONNECT_S. A machine without power or cable says nothing at all."""
    return await _connects(asyncio.open_connection(address, port), ConnectionRefusedError)


async def _connects(opening: Awaitable[tuple[object, asyncio.StreamWriter]], alive: type[OSError]) -> bool:
    """Whether a connection opens within CONNECT_S, or fails with the error of a living peer."""
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await opening
    except alive:
        return True
    except OSError:
        return False
    writer.close()
    return True


class LogLines:
    """Stands for standard output. Lines of Ray's own thread, in colours, go to the log instead; all else passes
    through."""

    def __init__(self, through: TextIO) -> None:
        self._through = through

    def __getattr__(self, name: str) -> Any:
        return getattr(self._through, name)

    def write(self, text: str) -> int:
        """As TextIO.write."""
        if threading.current_thread().name != PRINTING_THREAD:
            return self._through.write(text)
        for line in filter(str.strip, COLOURS.sub("", text).splitlines()):
            log.warning("ray_says", line=line.strip())
        return len(text)


def log_what_ray_prints() -> None:
    """From now on, in the form of the node's log; to be called after Ray was imported. Doing it again changes
    nothing."""
    logger = logging.getLogger("ray")
    logger.handlers.clear()  # they write lines of their own form
    logger.propagate = True
    logger.setLevel(logging.ERROR)
    if not isinstance(sys.stdout, LogLines):
        sys.stdout = cast("TextIO", LogLines(sys.stdout))
