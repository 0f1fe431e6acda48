"""Streams without an end, on any door: three rules and their form as server-sent events.

A message goes out only while the caller's token grants what it did at the start. A reader that takes nothing for
WATCH_WRITE_TIMEOUT_S is left, with the cursor to resume from. Nothing is gathered for it. On HTTP a comment line tells
every WATCH_HEARTBEAT_S that the stream lives.
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final

from google.protobuf.message import Message
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemesh_actors.runtime.tasks import first_done, looked_at
from mnemesh_gateway.contract import status
from mnemesh_gateway.contract.message_json import to_json
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Aborted, MnemeshError, OutOfRange
from mnemesh_memory.values.model import Caller

EVENT_STREAM: Final = "text/event-stream"
LAST_EVENT_ID: Final = "last-event-id"
ALIVE: Final = b": alive\n\n"
RECONNECT_MS: Final = 1000


def require_unchanged(
    authenticator: Authenticator, headers: Mapping[str, str], caller: Caller, client_name: str = ""
) -> None:
    """Raise what authentication raises now, and Aborted when the token grants something else than `caller` had."""
    if authenticator.authenticate(headers, client_name, counted=False) != caller:
        raise Aborted("what this token grants has changed; watch again from the last cursor")


async def taken(write: Awaitable[Any], cursor: str) -> None:
    """Wait until the transport has taken a message. Raises OutOfRange with `cursor`, of the message before, when that
    takes too long. The connection then keeps the write, and the caller has to end the connection."""
    task = asyncio.ensure_future(write)
    try:
        await asyncio.wait((task,), timeout=limits.WATCH_WRITE_TIMEOUT_S)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.done():
        task.result()
        return
    task.add_done_callback(looked_at)
    raise OutOfRange(
        f"nothing was read for {limits.WATCH_WRITE_TIMEOUT_S:g} s; watch again with the last cursor, nothing is lost",
        field="cursor",
        value=cursor,
        limit="a reader that keeps up",
        cursor=cursor,
    )


class EventStream(Response):
    """`items` as server-sent events: `event` is the type, `id` the cursor, `data` the JSON of an item. `first` was
    taken from `items` already. `check` is asked before each. An error is the last event, `error`, with the JSON of a
    refusal."""

    media_type = EVENT_STREAM

    def __init__(
        self,
        first: Any,
        items: AsyncGenerator[Any, None],
        check: Callable[[], None],
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(headers={**headers, "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._first = first
        self._items = items
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the client goes away, falls behind or the items end."""
        streamed, _ = await first_done(self._stream(send), _disconnected(receive))
        if streamed:
            with suppress(OutOfRange):  # nothing more can be said to it. The server closes the connection
                streamed.result()

    async def _stream(self, send: Send) -> None:
        async with aclosing(self._items) as items:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send(send, f"retry: {RECONNECT_MS}\n\n".encode())
            cursor = ""
            try:
                item = self._first
                while item is not None:
                    self._check()
                    await taken(_send(send, event(item)), cursor)
                    cursor = item.cursor
                    item = await self._next(items, send, cursor)
            except OutOfRange:
                raise
            except MnemeshError as error:
                body = json.dumps(status.error_body(error), ensure_ascii=False)
                await taken(_send(send, f"event: error\ndata: {body}\n\n".encode()), cursor)
            await taken(send({"type": "http.response.body", "body": b""}), cursor)

    async def _next(self, items: AsyncGenerator[Any, None], send: Send, cursor: str) -> Any:
        """The next item, with signs of life while there is none."""
        coming = asyncio.ensure_future(anext(items, None))
        try:
            while not (await asyncio.wait((coming,), timeout=limits.WATCH_HEARTBEAT_S))[0]:
                self._check()
                await taken(_send(send, ALIVE), cursor)
            return coming.result()
        finally:
            coming.cancel()
            await asyncio.wait((coming,))


def event(item: Message) -> bytes:
    """One message as one event."""
    body = to_json(item)
    data = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"id: {body['cursor']}\nevent: {body['type']}\ndata: {data}\n\n".encode()


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
