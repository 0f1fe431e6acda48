"""A batch of any length as calls that the node takes: at most 256 items and 1 MiB of text each.

Yields calls and takes their outcomes; sends nothing itself. An item that fails fails alone. A call that fails as a
whole is raised when nothing was stored before it. Later, its items and all after them carry the error instead, so the
caller still learns which items were stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.writes import Item, remember_request
from mnemesh.api.wire import listed, to_value
from mnemesh.errors import InvalidArgument, MnemeshError, from_node
from mnemesh_proto.v1 import memory_pb2

CONTENT_BYTES_MAX: Final = 32 * 1024
BATCH_ITEMS_MAX: Final = 256
BATCH_BYTES_MAX: Final = 1024 * 1024
BATCH_TIMEOUT_S: Final = 300.0
DETAILS: Final = ("reason", "field", "value", "limit")

Given = TypeVar("Given")
Outcome = values.Remembered | MnemeshError


def in_batches(items: Iterable[Given], size_of: Callable[[Given], int]) -> Iterator[list[Given]]:
    """`items` in lists that a call takes, by their number and their bytes."""
    batch: list[Given] = []
    size = 0
    for item in items:
        if batch and (len(batch) == BATCH_ITEMS_MAX or size + size_of(item) > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += size_of(item)
    if batch:
        yield batch


class Batches:
    """`outcomes` has one entry an item, in order, once every call that this iterates over was answered."""

    def __init__(self, items: Iterable[Item | str], wait: str = "", *, judge_at_rest: bool = False) -> None:
        self._items: Iterable[Item | str] = listed("items", items)
        self._wait = wait
        self._judge_at_rest = judge_at_rest
        self._open: list[int] = []
        self._failure: MnemeshError | None = None
        self._answered = False
        self._outcomes: dict[int, Outcome] = {}

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome of each item."""
        return tuple(self._outcomes[position] for position in range(len(self._outcomes)))

    def __iter__(self) -> Iterator[Call[Sequence[Outcome]]]:
        requests: list[memory_pb2.RememberRequest] = []
        size = 0
        for position, item in enumerate(self._items):
            request = self._request(position, item)
            if request is None:
                continue
            added = len(request.content.encode())
            if requests and (len(requests) == BATCH_ITEMS_MAX or size + added > BATCH_BYTES_MAX):
                yield self._call(requests)
                requests, size = [], 0
                if self._failure:
                    self._outcomes[position] = self._failure
                    continue
            requests.append(request)
            self._open.append(position)
            size += added
        if requests:
            yield self._call(requests)

    def _call(self, requests: Sequence[memory_pb2.RememberRequest]) -> Call[Sequence[Outcome]]:
        request = memory_pb2.RememberBatchRequest(items=requests, judge_at_rest=self._judge_at_rest)
        return ask(memory_pb2, "RememberBatch", request, _outcomes, repeatable=True, timeout_s=BATCH_TIMEOUT_S)

    def take(self, outcomes: Sequence[Outcome]) -> None:
        """The answer to the call given last."""
        self._outcomes.update(zip(self._open, outcomes, strict=True))
        self._open = []
        self._answered = True

    def fail(self, error: MnemeshError) -> None:
        """The call given last failed as a whole. Raises `error` when no call was answered before."""
        if not self._answered:
            raise error
        self._outcomes.update((position, error) for position in self._open)
        self._open = []
        self._failure = error

    def _request(self, position: int, item: Item | str) -> memory_pb2.RememberRequest | None:
        """The message of an item, or None when it has its outcome already."""
        outcome: MnemeshError | None = self._failure
        if outcome is None:
            try:
                return self._checked(item)
            except InvalidArgument as error:
                outcome = error
        self._outcomes[position] = outcome
        return None

    def _checked(self, item: Item | str) -> memory_pb2.RememberRequest:
        fields: Mapping[str, object] = {"content": item} if isinstance(item, str) else item
        if not isinstance(fields, Mapping):
            raise InvalidArgument("items", item, "a text, or a mapping of remember's arguments")
        request = remember_request({"wait": self._wait, **fields} if self._wait else fields)
        if (size := len(request.content.encode())) > CONTENT_BYTES_MAX:
            # Judged here too, because one such item could break the bounds of its whole batch.
            raise InvalidArgument("content", f"{size} bytes", f"at most {CONTENT_BYTES_MAX} bytes of UTF-8")
        return request


def _outcomes(response: memory_pb2.RememberBatchResponse) -> Sequence[Outcome]:
    return [_outcome(result) for result in response.results]


def _outcome(result: memory_pb2.BatchResult) -> Outcome:
    if result.HasField("ok"):
        return to_value(result.ok, values.Remembered)
    error = result.error
    details = {name: getattr(error, name) for name in DETAILS}
    return from_node(error.code, error.message, {name: value for name, value in details.items() if value})
