"""Watch and AsyncWatch: the changes of a node as iterators that find their way back after a break.

The node gives each message a cursor. When the connection breaks or the node restarts, the watch asks again from the
last change given out. Every change therefore comes at least once. One that was under way may come twice.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, Final, Self

import grpc

from mnemesh.api.call import Call
from mnemesh.api.values.watch import Change
from mnemesh.errors import DeadlineExceeded, MnemeshError, NotReachable, OutOfRange, Overloaded
from mnemesh_proto.v1 import watch_pb2

OPENED: Final = "opened"
POSITION: Final = "position"
PAUSE_FIRST_S: Final = 0.05
PAUSE_MAX_S: Final = 2.0
# Opens a stream for a call; the flag says that the node may have moved meanwhile.
Open = Callable[[Call[Change], bool], Any]
# Says what an error of a stream means.
Explain = Callable[[grpc.RpcError], MnemeshError]


class _Watch:
    """Common to both: where the watch stands, the stream that is open now, and how long to go on trying: `timeout_s`
    since it last heard something."""

    def __init__(self, open: Open, explain: Explain, call: Call[Change], timeout_s: float) -> None:
        assert isinstance(call.request, watch_pb2.WatchRequest)
        self._open = open
        self._explain = explain
        self._stream: Any = None
        self._call = call
        self._request = call.request
        self._timeout_s = timeout_s
        self._deadline: float | None = None
        self._pause_s = PAUSE_FIRST_S
        self._opened = False
        self._closed = False
        # Resumes after the last change that was given out; keep it to go on in another process.
        self.cursor = self._request.cursor
        # Why the node began elsewhere than the cursor asked, such as after a restore from a backup; else "".
        self.reason = ""

    def _next_call(self) -> Call[Change]:
        """The next call: for the changes after the last message."""
        request = watch_pb2.WatchRequest()
        request.CopyFrom(self._request)
        if self._opened:
            request.cursor, request.from_start = self.cursor, False
        return Call(
            rpc=self._call.rpc, request=request, response=self._call.response, read=self._call.read, repeatable=True
        )

    def _take(self, message: Any) -> Change | None:
        """The change in a message; None for one about the stream itself."""
        self._opened = True
        self.cursor = message.cursor
        self._deadline, self._pause_s = None, PAUSE_FIRST_S
        if message.type == OPENED:
            self.reason = message.reason
        return None if message.type in (OPENED, POSITION) else self._call.read(message)

    def _pausing_s(self, broken: grpc.RpcError | NotReachable) -> float:
        """How long to wait before trying again, NotReachable when there was no node at all. Raises the error when that
        does not help or took too long already, unless the watch was closed."""
        if isinstance(broken, NotReachable):
            error: MnemeshError = broken
        else:
            self._stream = None
            if self._closed:
                return 0.0
            error = self._explain(broken)
        now = time.monotonic()
        self._deadline = self._deadline or now + self._timeout_s
        passing = isinstance(error, NotReachable | Overloaded | DeadlineExceeded) or (
            isinstance(error, OutOfRange) and "cursor" in error.details
        )
        pause = self._pause_s * random.uniform(0.5, 1.0)
        if not passing or not self._opened or now + pause > self._deadline:
            raise error
        self._pause_s = min(PAUSE_MAX_S, self._pause_s * 2)
        return pause

    def _end(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()


class Watch(_Watch):
    """Changes as they happen, by iterating; ends only by an error or by `close`, which any thread may call.

    Within `with` the watch has begun when the block begins; else it begins with the first step.

    >>> with client.watch(space="team/payments") as changes:
    ...     for change in changes:
    ...         print(change.type, change.title, changes.cursor)
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        while not self._closed:
            change = self._step()
            if change is not None:
                return change
        raise StopIteration

    def __enter__(self) -> Self:
        while not self._opened and not self._closed:
            self._step()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the watch. Its cursor stays."""
        self._end()

    def _step(self) -> Change | None:
        try:
            if self._stream is None:
                self._stream = self._open(self._next_call(), self._opened)
            return self._take(next(self._stream))
        except StopIteration:
            self._stream = None
            return None
        except (grpc.RpcError, NotReachable) as error:
            broken = error
        time.sleep(self._pausing_s(broken))
        return None


class AsyncWatch(_Watch):
    """Watch under asyncio: the same, by `async with` and `async for`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        while not self._closed:
            change = await self._step()
            if change is not None:
                return change
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        while not self._opened and not self._closed:
            await self._step()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the watch. Its cursor stays."""
        self._end()

    async def _step(self) -> Change | None:
        try:
            if self._stream is None:
                self._stream = await self._open(self._next_call(), self._opened)
            message = await self._stream.read()
            if message is not grpc.aio.EOF:
                return self._take(message)
            self._stream = None
            return None
        except (grpc.RpcError, NotReachable) as error:
            broken = error
        except asyncio.CancelledError:
            # gRPC tells of a stream that `close` cancelled in the words of asyncio.
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                return None
            raise
        await asyncio.sleep(self._pausing_s(broken))
        return None
