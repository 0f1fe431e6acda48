"""AsyncClient: the operations of a node as methods to await. It differs from Client in nothing else.

The generated base class has a method for each operation. Only sending is here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio

from mnemesh.api.async_operations import AsyncOperations
from mnemesh.api.call import Answer, Call
from mnemesh.errors import MnemeshError, NotAnswering, NotFound
from mnemesh.transport.connection import CHANNEL_OPTIONS, Connected, Target
from mnemesh.transport.liveness import HEALTH_CHECK, SIGN_OF_LIFE_S, SILENCE_S, hung
from mnemesh.transport.refusals import broken_stream, refusal

if TYPE_CHECKING:
    from mnemesh.api.batch import Outcome
    from mnemesh.api.calls.writes import Item
    from mnemesh.api.values import Change
    from mnemesh.api.watch import AsyncWatch


class AsyncClient(Connected, AsyncOperations):
    """Client under asyncio: same arguments, same methods, to be awaited; belongs to one event loop.

    >>> async with AsyncClient(agent="release-bot") as client:
    ...     await client.remember("Deploys run from CI only", kind="decision")
    ...     async for memory in client.export():
    ...         print(memory.content)
    """

    def _begin(self) -> None:
        self._lock = asyncio.Lock()
        self._open: tuple[Target, grpc.aio.Channel] | None = None

    async def remember_batch(
        self, items: Iterable[Item | str], *, wait: str = "", judge_at_rest: bool = False
    ) -> tuple[Outcome, ...]:
        """Store any number of memories; as Client.remember_batch."""
        from mnemesh.api.batch import Batches

        batches = Batches(items, wait, judge_at_rest=judge_at_rest)
        for call in batches:
            try:
                batches.take(await self._send(call))
            except MnemeshError as error:
                batches.fail(error)
        return batches.outcomes

    async def close(self) -> None:
        """Close the connection, for good: a later call raises FailedPrecondition."""
        async with self._lock:
            self._connection.close()
            if self._open is not None:
                await self._open[1].close()
                self._open = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, call: Call[Answer]) -> Answer:
        tries = self._connection.tries(call.timeout_s, repeatable=call.repeatable)
        await self._connect()  # a node that was never there is not waited for
        again = False
        while True:
            try:
                return await self._attempt(call, tries.remaining_s(), again)
            except MnemeshError as error:
                pause_s = tries.pause_s(error)
            await asyncio.sleep(pause_s)
            again = True

    async def _attempt(self, call: Call[Answer], timeout_s: float, again: bool) -> Answer:
        target, channel = await self._connect(again)
        rpc = call.bound(channel.unary_unary)
        try:
            sent = rpc(call.request, timeout=timeout_s, metadata=self._connection.metadata(target))
            answer = await self._answered(asyncio.ensure_future(sent), target, channel)
        except grpc.RpcError as error:
            refused = refusal(error, target.endpoint, timeout_s)
            if isinstance(refused, NotFound) and call.absent is not None:
                return call.absent
            raise refused from error
        return call.read(answer)

    async def _answered(self, coming: asyncio.Future[Any], target: Target, channel: grpc.aio.Channel) -> Any:
        """The answer to a call. Raises NotAnswering as soon as the node gives no sign of life any more."""
        try:
            while not (await asyncio.wait((coming,), timeout=SILENCE_S))[0]:
                await self._refuse_hung(target, channel)
            return coming.result()
        finally:
            coming.cancel()

    async def _refuse_hung(self, target: Target, channel: grpc.aio.Channel) -> None:
        """Raises NotAnswering for a node that gives no sign of life."""
        loop = asyncio.get_running_loop()

        async def ask() -> bool:
            try:
                await channel.unary_unary(HEALTH_CHECK, bytes, bytes)(b"", timeout=SIGN_OF_LIFE_S)
            except grpc.aio.AioRpcError as error:
                return error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
            return True

        def answers() -> bool:
            return asyncio.run_coroutine_threadsafe(ask(), loop).result()

        process = self._connection.process_at(target.endpoint)
        if why := await asyncio.to_thread(hung, target.endpoint, process, answers):
            raise NotAnswering(why)

    async def _receive(self, call: Call[Answer]) -> AsyncIterator[Answer]:
        tries = self._connection.tries(call.timeout_s, repeatable=call.repeatable)
        target, channel = await self._connect()
        await self._refuse_hung(target, channel)
        rpc = call.bound(channel.unary_stream)
        metadata = self._connection.metadata(target)
        try:
            async for answer in rpc(call.request, timeout=tries.timeout_s, metadata=metadata):
                yield call.read(answer)
        except grpc.RpcError as error:
            raise refusal(error, target.endpoint, tries.timeout_s) from error

    def _watch(self, call: Call[Change]) -> AsyncWatch:
        from mnemesh.api.watch import AsyncWatch

        return AsyncWatch(self._open_stream, self._stream_error, call, self._connection.timeout_s)

    async def _open_stream(self, call: Call[Change], again: bool) -> Any:
        """For AsyncWatch: the answers to `call` as they come; `again` looks whether the node has moved meanwhile."""
        target, channel = await self._connect(again)
        await self._refuse_hung(target, channel)  # it has no deadline that would tell
        return call.bound(channel.unary_stream)(call.request, metadata=self._connection.metadata(target))

    def _stream_error(self, error: grpc.RpcError) -> MnemeshError:
        """For AsyncWatch: the meaning of a broken stream."""
        return broken_stream(error, self._open[0].endpoint if self._open else "")

    async def _connect(self, again: bool = False) -> tuple[Target, grpc.aio.Channel]:
        """The open channel; `again` looks whether the node has moved meanwhile."""
        async with self._lock:
            self._connection.check_open()
            if self._open is None or again:
                # In a thread, because starting a node takes seconds.
                target = await asyncio.to_thread(self._connection.locate)
                if self._open is None or self._open[0] != target:
                    if self._open is not None:
                        await self._open[1].close()
                    channel = grpc.aio.insecure_channel(target.endpoint, options=CHANNEL_OPTIONS)
                    self._open = target, channel
            return self._open
