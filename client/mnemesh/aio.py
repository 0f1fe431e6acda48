"""AsyncClient: the operations of a node as methods to await. It differs from Client in nothing else.

Every method is built from a function of mnemesh.reads, mnemesh.writes or a module beside them, where its arguments are
explained; only sending is here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc
import grpc.aio

from mnemesh import agents, backups, embedding, histories, links, peers, reads, recalls, removals, transcripts, writes
from mnemesh.batch import Batches, Outcome
from mnemesh.call import Call, as_method
from mnemesh.connection import CHANNEL_OPTIONS, DEFAULT_TIMEOUT_S, Connection, Target
from mnemesh.errors import MnemeshError, NotAnswering, NotFound
from mnemesh.liveness import HEALTH_CHECK, SIGN_OF_LIFE_S, SILENCE_S, hung
from mnemesh.refusals import broken_stream, refusal
from mnemesh.values import Change
from mnemesh.watching import AsyncWatch

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def _method(
    build: Callable[Arguments, Call[Answer]],
) -> Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, Answer]]:
    """The method that sends what `build` builds."""

    async def method(self: AsyncClient, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return await self._send(build(*args, **kwargs))

    as_method(method, build, "Awaitable[{}]")
    return method


def _stream(
    build: Callable[Arguments, Call[Answer]],
) -> Callable[Concatenate[AsyncClient, Arguments], AsyncIterator[Answer]]:
    """The method that sends what `build` builds and yields each answer."""

    def method(self: AsyncClient, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> AsyncIterator[Answer]:
        return self._receive(build(*args, **kwargs))

    as_method(method, build, "AsyncIterator[{}]")
    return method


def _watch(build: Callable[Arguments, Call[Change]]) -> Callable[Concatenate[AsyncClient, Arguments], AsyncWatch]:
    """The method that watches with what `build` builds."""

    def method(self: AsyncClient, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> AsyncWatch:
        return AsyncWatch(self._open_stream, self._stream_error, build(*args, **kwargs), self._connection.timeout_s)

    as_method(method, build, "AsyncWatch")
    return method


class AsyncClient:
    """Client under asyncio: same arguments, same methods, to be awaited; belongs to one event loop.

    >>> async with AsyncClient(agent="release-bot") as client:
    ...     await client.remember("Deploys run from CI only", kind="decision")
    ...     async for memory in client.export():
    ...         print(memory.content)
    """

    def __init__(
        self,
        endpoint: str | None = None,
        token: str | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        space: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        start: bool = False,
    ) -> None:
        self._connection = Connection(
            endpoint, token, data_dir=data_dir, agent=agent, space=space, timeout_s=timeout_s, start=start
        )
        self._lock = asyncio.Lock()
        self._open: tuple[Target, grpc.aio.Channel] | None = None

    remember = _method(writes.remember)
    check = _method(writes.check)
    update = _method(writes.update)
    supersede = _method(writes.supersede)
    forget = _method(writes.forget)
    restore = _method(writes.restore)
    link = _method(links.link)
    unlink = _method(links.unlink)
    rate = _method(links.rate)
    purge = _method(removals.purge)
    bulk_forget = _method(removals.bulk_forget)
    history = _method(histories.history)
    blame = _method(histories.blame)
    rollback = _method(histories.rollback)
    conflicts = _method(histories.conflicts)
    resolve = _method(histories.resolve)
    add_transcript = _method(transcripts.add_transcript)
    search_transcripts = _method(transcripts.search_transcripts)
    read_transcript = _method(transcripts.read_transcript)
    list_transcripts = _method(transcripts.list_transcripts)
    erase_transcript = _method(transcripts.erase_transcript)
    recall = _method(reads.recall)
    recall_batch = _method(recalls.recall_batch)
    related = _method(recalls.related)
    get = _method(reads.get)
    get_many = _method(reads.get_many)
    list = _method(reads.list_memories)
    timeline = _method(reads.timeline)
    stats = _method(reads.stats)
    status = _method(reads.status)
    whoami = _method(reads.whoami)
    reembed = _method(embedding.reembed)
    add_agent = _method(agents.add_agent)
    list_agents = _method(agents.list_agents)
    set_agent_quota = _method(agents.set_agent_quota)
    revoke_agent = _method(agents.revoke_agent)
    create_backup = _method(backups.create_backup)
    list_backups = _method(backups.list_backups)
    add_peer = _method(peers.add_peer)
    set_peer_token = _method(peers.set_peer_token)
    remove_peer = _method(peers.remove_peer)
    sync_status = _method(peers.sync_status)
    sync_now = _method(peers.sync_now)
    quarantine = _method(peers.quarantine)
    retry_quarantine = _method(peers.retry_quarantine)
    discard_quarantine = _method(peers.discard_quarantine)
    pending = _method(peers.pending)
    discard_pending = _method(peers.discard_pending)
    export = _stream(reads.export)
    watch = _watch(reads.watch)

    async def remember_batch(self, items: Iterable[writes.Item | str], *, wait: str = "") -> tuple[Outcome, ...]:
        """Store any number of memories; as Client.remember_batch."""
        batches = Batches(items, wait)
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        rpc = channel.unary_unary(
            call.rpc,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.response.FromString,
        )
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
        rpc = channel.unary_stream(
            call.rpc,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.response.FromString,
        )
        metadata = self._connection.metadata(target)
        try:
            async for answer in rpc(call.request, timeout=tries.timeout_s, metadata=metadata):
                yield call.read(answer)
        except grpc.RpcError as error:
            raise refusal(error, target.endpoint, tries.timeout_s) from error

    async def _open_stream(self, call: Call[Change], again: bool) -> Any:
        """For AsyncWatch: the answers to `call` as they come; `again` looks whether the node has moved meanwhile."""
        target, channel = await self._connect(again)
        await self._refuse_hung(target, channel)  # it has no deadline that would tell
        rpc = channel.unary_stream(
            call.rpc,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.response.FromString,
        )
        return rpc(call.request, metadata=self._connection.metadata(target))

    def _stream_error(self, error: grpc.RpcError) -> MnemeshError:
        """For AsyncWatch: what a broken stream means."""
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
