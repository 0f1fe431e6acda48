"""Watching a real node through every door: order, resumption over restarts and kills, readers that stand still."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from node_process import NodeUnderTest, ended, start_node, stop_node

from mnemesh import AsyncClient, Client, MnemeshError, NotReachable
from mnemesh.api.values.watch import Change
from mnemesh_memory.values import limits
from mnemesh_memory.watch import watch_values
from mnemesh_proto.rendezvous import AUTHORIZATION
from mnemesh_proto.v1 import watch_pb2

PATIENCE_S = 60.0
GIVEN_UP_AFTER_S = 3.0
SPACE = "team/watch"
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def node(shared_node: NodeUnderTest) -> NodeUnderTest:
    return shared_node


@asynccontextmanager
async def connected(node: NodeUnderTest, agent: str = "", space: str = SPACE) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(node.grpc, node.token, agent=agent, space=space, timeout_s=PATIENCE_S) as client:
        yield client


async def soon(awaitable: Any) -> Any:
    return await asyncio.wait_for(awaitable, PATIENCE_S)


async def take(changes: Any, number: int) -> list[Change]:
    return [await soon(anext(changes)) for _ in range(number)]


def headers(node: NodeUnderTest) -> dict[str, str]:
    return {AUTHORIZATION: f"Bearer {node.token}"}


async def test_the_client_that_blocks_is_told_the_same_and_another_thread_ends_it(node: NodeUnderTest) -> None:
    def listen() -> list[str]:
        with (
            Client(node.grpc, node.token, space="team/blocking", timeout_s=PATIENCE_S) as client,
            client.watch(include_content=True) as changes,
        ):
            client.remember("one")
            client.remember("two")
            heard = [next(changes).content, next(changes).content]
            ending = threading.Timer(0.1, changes.close)
            ending.start()
            heard += [change.content for change in changes]
            ending.join()
            return heard

    assert await soon(asyncio.to_thread(listen)) == ["one", "two"]


class Events:
    """Server-sent events as they come."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        async for line in self._lines:
            name, _, value = line.partition(": ")
            if name in ("id", "event", "data"):
                found[name] = json.loads(value) if name == "data" else value
            elif not line and "data" in found:
                return found
        raise AssertionError("the stream ended")


@asynccontextmanager
async def events(node: NodeUnderTest, last: str = "", **params: Any) -> AsyncIterator[Events]:
    more = {"last-event-id": last} if last else {}
    async with (
        httpx2.AsyncClient(base_url=f"http://{node.http}", headers=headers(node) | more, timeout=PATIENCE_S) as http,
        http.stream("GET", "/v1/watch", params=params) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Events(response)


async def test_http_tells_the_same_as_events_and_resumes_by_the_last_id(node: NodeUnderTest) -> None:
    async with connected(node, space="team/sse") as client:
        async with events(node, space="team/sse", include_content=True) as stream:
            opened = await soon(stream.next())
            assert (opened["event"], opened["data"]["spaces"]) == ("opened", ["team/sse"])
            await client.remember("one\nwith a line break")
            first = await soon(stream.next())
            assert (first["event"], first["data"]["content"]) == ("added", "one\nwith a line break")
            assert first["id"] == first["data"]["cursor"]
        await client.remember("two")
        asked = {"space": "team/sse", "cursor": opened["id"], "include_content": True}
        async with events(node, last=first["id"], **asked) as stream:
            assert (await soon(stream.next()))["event"] == "opened"
            assert (await soon(stream.next()))["data"]["content"] == "two"


async def test_a_head_request_of_a_watch_ends(node: NodeUnderTest) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{node.http}", headers=headers(node)) as http:
        answer = await http.head("/v1/watch", timeout=PATIENCE_S)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


async def test_the_command_line_prints_one_object_a_line_and_goes_on_from_a_cursor(node: NodeUnderTest) -> None:
    async def watch(*words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mnemesh.entry", "watch", "--data", str(node.data_dir), "--space", "team/cli", *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd="/",
        )  # fmt: skip

    async with connected(node, space="team/cli") as client:
        await client.remember("one", title="First")
        process = await watch("--json", "--from-start", "--include-content", "--limit", "2")
        assert process.stdout is not None
        first = json.loads(await soon(process.stdout.readline()))
        assert (first["type"], first["content"], first["title"]) == ("added", "one", "First")
        await client.remember("two")
        assert json.loads(await soon(process.stdout.readline()))["content"] == "two"
        assert await soon(process.wait()) == 0
        process = await watch("--cursor", first["cursor"], "--limit", "1")
        out, _ = await soon(process.communicate())
        assert b"added" in out
        assert b"First" not in out
        process = await watch("--cursor", "nonsense")
        _, err = await soon(process.communicate())
        assert (process.returncode, b"cursor" in err) == (2, True)


async def test_the_examples_of_the_page_do_what_they_say_each_time(node: NodeUnderTest) -> None:
    page = (Path(__file__).parents[3] / "docs/watch.md").read_text("utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", example, env=inherited | {"MNEMESH_DATA_DIR": str(node.data_dir)}, cwd="/",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with ended(process):
            out, err = await soon(process.communicate())
        assert out.decode().startswith("added "), err.decode()
        assert "The release train leaves on Thursdays" in out.decode()
    for name, value in (
        ("watchers of a node", limits.WATCHERS_MAX),
        ("one page", limits.WATCH_PAGE_ENTRIES_MAX),
        ("takes nothing", limits.WATCH_WRITE_TIMEOUT_S),
        ("events", limits.WATCH_HEARTBEAT_S),
    ):
        assert any(name in line and f"{value:g}" in line for line in page.splitlines() if line.startswith("|")), name
    for field in watch_pb2.WatchRequest.DESCRIPTOR.fields:
        assert f"`{field.name}`" in page
    types = "ADDED UPDATED FORGOTTEN RESTORED SUPERSEDED CONFLICTED RESOLVED ERASED OPENED POSITION"
    for name in types.split():
        assert f"`{getattr(watch_values, name)}`" in page


async def test_an_mcp_host_is_told_when_a_memory_that_it_follows_changes(node: NodeUnderTest) -> None:
    async with connected(node, space="team/mcp") as client:
        one = (await client.remember("one")).memory
        uri = f"memory://{one.id}"
        async with (
            httpx2.AsyncClient(headers=headers(node), timeout=PATIENCE_S) as http,
            McpClient(streamable_http_client(f"http://{node.http}/mcp", http_client=http), mode="2026-07-28") as host,
            host.listen(resource_subscriptions=[uri]) as listening,
        ):
            for change in (client.update(one.id, tags=["x"]), client.forget(one.id), client.restore(one.id)):
                await client.remember(f"noise {id(change)}")
                await change
                assert await soon(anext(aiter(listening))) == ResourceUpdated(uri=uri)


async def test_a_watch_goes_on_by_itself_over_every_end_of_its_node_and_misses_nothing(tmp_path: Path) -> None:
    ends = ("kill", "stop", "kill")
    node = await start_node(tmp_path)
    port = node.grpc.rpartition(":")[2]
    acknowledged: list[str] = []
    heard: list[str] = []
    async with connected(node) as reader, reader.watch(include_content=True) as changes:

        async def listen() -> None:
            while "last" not in heard:
                heard.append((await anext(changes)).content)

        listening = asyncio.ensure_future(listen())
        for life, end in enumerate(ends):

            async def write(number: int, life: int = life, node: NodeUnderTest = node) -> None:
                async with connected(node) as client:
                    for count in range(1000):
                        text = f"{life} {number} {count}"
                        try:
                            await client.remember(text, wait="durable")
                        except MnemeshError:  # the node ended under it: not acknowledged
                            return
                        acknowledged.append(text)

            writing = [asyncio.ensure_future(write(number)) for number in range(4)]
            seen = len(heard)
            async with asyncio.timeout(PATIENCE_S):
                while len(heard) < seen + 20:  # noqa: ASYNC110  a list tells nobody that it has grown
                    await asyncio.sleep(0.01)
            if end == "kill":
                node.process.kill()
                await soon(node.process.wait())
            else:
                await stop_node(node)
            for one in writing:
                one.cancel()  # else it would try again until its own time is up
            ended = await soon(asyncio.gather(*writing, return_exceptions=True))
            assert [one for one in ended if not isinstance(one, asyncio.CancelledError | None)] == []
            node = await start_node(tmp_path, "--grpc", f"127.0.0.1:{port}")
        async with connected(node) as client:
            await client.remember("last")
        await soon(listening)
    await stop_node(node)
    assert set(acknowledged) <= set(heard)
    first = list(dict.fromkeys(heard))
    for life in range(len(ends)):
        for number in range(4):
            own = [text for text in first if text.startswith(f"{life} {number} ")]
            assert own == sorted(own, key=lambda text: int(text.split()[2]))


async def test_without_a_node_a_watch_gives_up_in_time_and_keeps_its_cursor(tmp_path: Path) -> None:
    node = await start_node(tmp_path)
    async with (
        connected(node) as writer,
        AsyncClient(node.grpc, node.token, space=SPACE, timeout_s=GIVEN_UP_AFTER_S) as client,
        client.watch() as changes,
    ):
        await writer.remember("one")
        told = (await take(changes, 1))[0]
        node.process.kill()
        await soon(node.process.wait())
        with pytest.raises(NotReachable):
            await soon(anext(changes))
        assert changes.cursor == told.cursor
