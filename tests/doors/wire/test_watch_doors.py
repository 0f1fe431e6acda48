"""Streams without an end at the doors: events, the right to go on listening, and ends."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx
import pytest
from door_clients import TOKEN, WAIT_S, Doors, GrpcClient, open_http, refusal, serve_http
from door_clients import client as client

from mnemesh_gateway.operations.memory_calls import query_of
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, Unavailable
from mnemesh_memory.values.model import Caller, Draft
from mnemesh_proto.v1 import watch_pb2

BEARER = (("authorization", f"Bearer {TOKEN}"),)
METHOD = "/mnemesh.v1.WatchService/Watch"


def fill(doors: Doors, number: int, content: str = "x") -> None:
    caller = Caller("owner/test", "owner")
    for count in range(number):
        doors.mesh.store(Draft(content=content + str(count), kind="fact", space="@owner"), caller)


def watch(client: GrpcClient, **fields: Any) -> Any:
    rpc = client.channel.unary_stream(METHOD, response_deserializer=watch_pb2.WatchResponse.FromString)
    return rpc(watch_pb2.WatchRequest(**fields).SerializeToString(), metadata=BEARER)


async def soon(awaitable: Any) -> Any:
    return await asyncio.wait_for(awaitable, WAIT_S)


async def rest_of(stream: Any) -> tuple[list[Any], grpc.aio.AioRpcError]:
    """The messages of a stream that ends with an error, and the error."""
    found: list[Any] = []
    try:
        while (message := await soon(stream.read())) is not grpc.aio.EOF:
            found.append(message)
    except grpc.aio.AioRpcError as error:
        return found, error
    raise AssertionError("the stream ended well")


def parsed(text: str) -> list[dict[str, Any]]:
    """The events of a stream; comments and the retry time are left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append({**fields, "data": json.loads(fields["data"])})
    return found


async def test_grpc_gives_one_message_an_event(client: GrpcClient, doors: Doors) -> None:
    fill(doors, 2)
    told = [message async for message in watch(client, include_content=True)]
    assert [(one.type, one.content) for one in told] == [("opened", ""), ("added", "x0"), ("added", "x1")]
    assert list(told[0].spaces) == ["@owner"]


async def test_http_gives_the_same_as_events_with_the_cursor_as_their_id(doors: Doors) -> None:
    fill(doors, 2, "two\nlines ")
    async with open_http(doors) as http:
        answer = await http.get("/v1/watch", params={"include_content": "true"})
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert "content-length" not in answer.headers
    told = parsed(answer.text)
    assert [one["event"] for one in told] == ["opened", "added", "added"]
    assert [one["data"]["content"] for one in told[1:]] == ["two\nlines 0", "two\nlines 1"]
    assert all(one["id"] == one["data"]["cursor"] for one in told)


async def test_what_is_wrong_from_the_start_is_an_answer_and_no_stream(doors: Doors) -> None:
    async with open_http(doors) as http:
        answers = [
            await http.get("/v1/watch", params={"cursor": "nonsense"}),
            await http.get("/v1/watch", headers={"last-event-id": "nonsense"}),
            await http.get("/v1/watch", params={"kinds": "nonsense"}),
            await http.get("/v1/watch", params={"no_such_field": "1"}),
        ]
    assert [answer.status_code for answer in answers] == [422] * 4
    assert [answer.json()["error"]["field"] for answer in answers] == ["cursor", "cursor", "kinds", "no_such_field"]


async def test_a_stream_that_breaks_ends_with_its_error_on_both_doors(client: GrpcClient, doors: Doors) -> None:
    fill(doors, 3)
    doors.mesh.break_watch = Unavailable("ledger-0 went away", part="ledger-0")
    async with open_http(doors) as http:
        told = parsed((await http.get("/v1/watch")).text)
    assert [one["event"] for one in told] == ["opened", "added", "error"]
    assert (told[2]["data"]["error"]["code"], told[2]["data"]["error"]["part"]) == ("UNAVAILABLE", "ledger-0")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        [message async for message in watch(client)]
    assert refusal(caught.value).code == "UNAVAILABLE"


async def test_an_idle_stream_of_events_shows_that_it_lives(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCH_HEARTBEAT_S", 0.01)
    doors.mesh.hold = asyncio.Event()
    async with serve_http(doors) as http, http.stream("GET", "/v1/watch") as stream:
        alive = 0
        async for line in stream.aiter_lines():
            alive += line == ": alive"
            if alive == 3:
                break
    await soon(doors.mesh.cancelled.wait())


@pytest.mark.parametrize("door", ["grpc", "http"])
async def test_a_client_that_goes_away_ends_its_stream(door: str, client: GrpcClient, doors: Doors) -> None:
    doors.mesh.hold = asyncio.Event()
    if door == "grpc":
        stream = watch(client)
        assert (await soon(stream.read())).type == "opened"
        stream.cancel()
    else:
        async with serve_http(doors) as http, http.stream("GET", "/v1/watch") as answer:
            assert await soon(anext(answer.aiter_lines())) == "retry: 1000"
    await soon(doors.mesh.cancelled.wait())


def revoke(doors: Doors) -> None:
    doors.authenticator._token = Authenticator("another-token-of-this-test")._token


async def test_a_token_that_was_taken_away_hears_nothing_more_over_grpc(client: GrpcClient, doors: Doors) -> None:
    fill(doors, 1000, "y" * 30_000)
    stream = watch(client, include_content=True)
    assert (await soon(stream.read())).type == "opened"
    revoke(doors)
    told, error = await rest_of(stream)
    assert refusal(error).code == "UNAUTHENTICATED"
    assert len(told) < 1000


async def test_a_token_that_was_taken_away_hears_nothing_more_over_http(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WATCH_HEARTBEAT_S", 0.01)
    doors.mesh.hold = asyncio.Event()
    lines: list[str] = []
    async with serve_http(doors) as http, http.stream("GET", "/v1/watch") as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            if line == ": alive":
                revoke(doors)
    (error,) = [one for one in parsed("\n".join(lines)) if one["event"] == "error"]
    assert error["data"]["error"]["code"] == "UNAUTHENTICATED"


async def test_a_grpc_reader_that_stands_still_is_left_and_told_where_to_go_on(
    client: GrpcClient, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WATCH_WRITE_TIMEOUT_S", 0.2)
    fill(doors, 1000, "z" * 30_000)
    doors.mesh.hold = asyncio.Event()
    stream = watch(client, include_content=True)
    assert (await soon(stream.read())).type == "opened"
    async with asyncio.timeout(WAIT_S):
        while not doors.counted("grpc", "watch", "OUT_OF_RANGE"):  # noqa: ASYNC110  the count tells nobody
            await asyncio.sleep(0.01)
    read, error = await rest_of(stream)
    found = refusal(error)
    assert found.code == "OUT_OF_RANGE"
    assert found.info is not None
    assert found.info.metadata["cursor"] in [message.cursor for message in read]
    assert len(read) < 1000


async def test_a_reader_of_events_that_stands_still_is_left(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCH_WRITE_TIMEOUT_S", 0.2)
    fill(doors, 1000, "z" * 30_000)
    closed = asyncio.Event()
    plain = doors.mesh.watch

    async def noted(*args: Any) -> AsyncIterator[Any]:
        try:
            async for one in plain(*args):
                yield one
        finally:
            closed.set()

    monkeypatch.setattr(doors.mesh, "watch", noted)
    async with serve_http(doors) as http:
        with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as reader:
            reader.setblocking(False)
            head = f"GET /v1/watch?include_content=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}"
            await asyncio.get_running_loop().sock_sendall(reader, f"{head}\r\n\r\n".encode())
            await soon(closed.wait())


async def test_messages_of_a_watch_can_not_be_told_apart_by_who_reads_first(doors: Doors) -> None:
    fill(doors, 1)
    async with open_http(doors) as http:
        answers: list[httpx.Response] = await asyncio.gather(*(http.get("/v1/watch") for _ in range(5)))
    assert len({answer.text for answer in answers}) == 1


def test_a_watch_of_no_space_names_the_field_that_was_given() -> None:
    with pytest.raises(InvalidArgument) as caught:
        query_of(watch_pb2.WatchRequest(space="not//one"))
    assert caught.value.fields["field"] == "space"
