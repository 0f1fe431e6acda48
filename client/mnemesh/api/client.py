"""Client: the operations of a node as methods that wait. Under asyncio take AsyncClient.

The generated base class has a method for each operation. Only sending is here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

import grpc

from mnemesh.api.call import Answer, Call
from mnemesh.api.operations import Operations
from mnemesh.errors import MnemeshError, NotAnswering, NotFound
from mnemesh.transport.connection import CHANNEL_OPTIONS, Connected, Target
from mnemesh.transport.liveness import HEALTH_CHECK, SIGN_OF_LIFE_S, Liveness, hung
from mnemesh.transport.refusals import broken_stream, refusal

if TYPE_CHECKING:
    from mnemesh.api.batch import Outcome
    from mnemesh.api.calls.writes import Item
    from mnemesh.api.values import Change
    from mnemesh.api.watch import Watch


class Client(Connected, Operations):
    """A connection to one node. Its methods may be called from several threads.

    Without arguments it finds the node of this machine: address and owner token stand in its data directory.

    `endpoint` is host:port of the node's gRPC door, `token` the bearer token, `data_dir` the node's data directory
    (environment: MNEMESH_ENDPOINT, MNEMESH_TOKEN, MNEMESH_DATA_DIR). `agent` names who writes (MNEMESH_AGENT). `space`
    is used when a call names none; default: MNEMESH_SPACE, else `.mnemesh.toml` or the git remote of the working
    directory; "" is the private space. `timeout_s` bounds each call together with its retries. With `start`, a node is
    started when none runs.

    A harmless call is tried up to 5 times while the node is not reachable. Harmless are each read and each write with
    an idempotency key. The writes remember, update and supersede always have a key.

    >>> with Client(agent="release-bot") as client:
    ...     client.remember("Deploys run from CI only", kind="decision")
    ...     client.recall("how do we deploy?").results[0].content
    'Deploys run from CI only'
    """

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._open: tuple[Target, grpc.Channel] | None = None
        self._hung: dict[grpc.Channel, str] = {}  # why calls on a channel were given up
        self._liveness = Liveness(self._hangs, self._give_up)

    def remember_batch(
        self, items: Iterable[Item | str], *, wait: str = "", judge_at_rest: bool = False
    ) -> tuple[Outcome, ...]:
        """Store any number of memories, each a text or a mapping of remember's arguments. One outcome an item, in
        order: Remembered, or the error that refused it. Raises only when not even the first call succeeds. With
        `judge_at_rest` the write guard compares the texts after their write.

        >>> for outcome in client.remember_batch(["one", {"content": "two", "kind": "decision"}]):
        ...     print(outcome if isinstance(outcome, MnemeshError) else outcome.memory.id)
        """
        from mnemesh.api.batch import Batches

        batches = Batches(items, wait, judge_at_rest=judge_at_rest)
        for call in batches:
            try:
                batches.take(self._send(call))
            except MnemeshError as error:
                batches.fail(error)
        return batches.outcomes

    def close(self) -> None:
        """Close the connection, for good: a later call raises FailedPrecondition."""
        with self._lock:
            self._connection.close()
            if self._open is not None:
                self._open[1].close()
                self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, call: Call[Answer]) -> Answer:
        tries = self._connection.tries(call.timeout_s, repeatable=call.repeatable)
        self._connect()  # a node that was never there is not waited for
        again = False
        while True:
            try:
                return self._attempt(call, tries.remaining_s(), again)
            except MnemeshError as error:
                pause_s = tries.pause_s(error)
            time.sleep(pause_s)
            again = True

    def _attempt(self, call: Call[Answer], timeout_s: float, again: bool) -> Answer:
        target, channel = self._connect(again)
        rpc = call.bound(channel.unary_unary)
        try:
            with self._liveness.over((target, channel)):
                answer = rpc(call.request, timeout=timeout_s, metadata=self._connection.metadata(target))
        except ValueError:  # what gRPC says when another thread has closed the channel meanwhile
            self._connection.check_open()
            raise
        except grpc.RpcError as error:
            refused = self._given_up(channel) or refusal(error, target.endpoint, timeout_s)
            if isinstance(refused, NotFound) and call.absent is not None:
                return call.absent
            raise refused from error
        return call.read(answer)

    def _receive(self, call: Call[Answer]) -> Iterator[Answer]:
        tries = self._connection.tries(call.timeout_s, repeatable=call.repeatable)
        target, channel = self._connect()
        rpc = call.bound(channel.unary_stream)
        metadata = self._connection.metadata(target)
        try:
            with self._liveness.over((target, channel)):
                for answer in rpc(call.request, timeout=tries.timeout_s, metadata=metadata):
                    yield call.read(answer)
        except grpc.RpcError as error:
            raise self._given_up(channel) or refusal(error, target.endpoint, tries.timeout_s) from error

    def _watch(self, call: Call[Change]) -> Watch:
        from mnemesh.api.watch import Watch

        return Watch(self._open_stream, self._stream_error, call, self._connection.timeout_s)

    def _open_stream(self, call: Call[Change], again: bool) -> grpc.Call:
        """For Watch: the answers to `call` as they come; `again` looks whether the node has moved meanwhile."""
        target, channel = self._connect(again)
        if why := self._hangs((target, channel)):  # it has no deadline that would tell
            raise NotAnswering(why)
        answers: grpc.Call = call.bound(channel.unary_stream)(call.request, metadata=self._connection.metadata(target))
        return answers

    def _stream_error(self, error: grpc.RpcError) -> MnemeshError:
        """For Watch: the meaning of a broken stream."""
        return broken_stream(error, self._open[0].endpoint if self._open else "")

    def _hangs(self, line: tuple[Target, grpc.Channel]) -> str:
        """Why the node on that line is given up, or "" while it lives or nobody is there at all."""
        target, channel = line

        def answers() -> bool:
            try:
                channel.unary_unary(HEALTH_CHECK, bytes, bytes)(b"", timeout=SIGN_OF_LIFE_S)
            except grpc.RpcError as error:
                return error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
            except ValueError:  # closed meanwhile
                return True
            return True

        return hung(target.endpoint, self._connection.process_at(target.endpoint), answers)

    def _give_up(self, line: tuple[Target, grpc.Channel], why: str) -> None:
        """End every call on that line: gRPC cancels the calls of a closed channel."""
        with self._lock:
            self._hung[line[1]] = why
            if self._open is not None and self._open[1] is line[1]:
                self._open = None
        line[1].close()

    def _given_up(self, channel: grpc.Channel) -> NotAnswering | None:
        why = self._hung.get(channel)
        return NotAnswering(why) if why else None

    def _connect(self, again: bool = False) -> tuple[Target, grpc.Channel]:
        """The open channel; `again` looks whether the node has moved meanwhile."""
        with self._lock:
            self._connection.check_open()
            if self._open is None or again:
                target = self._connection.locate()
                if self._open is None or self._open[0] != target:
                    if self._open is not None:
                        self._open[1].close()
                    channel = grpc.insecure_channel(target.endpoint, options=CHANNEL_OPTIONS)
                    self._open = target, channel
            return self._open
