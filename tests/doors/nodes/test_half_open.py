"""Clients that connect and say little or nothing cost a node little. Nobody else notices."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from node_process import START_TIMEOUT_S, NodeUnderTest, running

from mnemesh import AsyncClient
from mnemesh_proto.rendezvous import LOG_FILE, read_node, read_token

HALF_OPEN = 1_100
TIMEOUT_S = 2.0
LOG_BYTES_MAX = 1_000_000
FLAGS = ("--http-header-timeout-s", f"{TIMEOUT_S}", "--http-body-timeout-s", f"{TIMEOUT_S}")
LIMITED = (
    "import os, resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))\n"
    "os.execv(sys.executable, [sys.executable, '-m', 'mnemesh_gateway', *sys.argv[3:]])\n"
)


@pytest.fixture(autouse=True)
def enough_files_for_the_test() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * HALF_OPEN:
        pytest.skip(f"this test opens {HALF_OPEN} sockets; the system allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * HALF_OPEN, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def node_with(data_dir: Path, soft: int, hard: int, *flags: str) -> AsyncIterator[tuple[str, str, str]]:
    """Addresses of gRPC and HTTP and the token of a node whose process may open so many files.

    The output goes to node.log, as of a node in the background.
    """
    words = ("up", "--data", str(data_dir), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", *FLAGS, *flags)
    with (data_dir / LOG_FILE).open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LIMITED, str(soft), str(hard), *words, stdin=asyncio.subprocess.DEVNULL, stdout=log,
            stderr=log, cwd="/",
        )  # fmt: skip
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while "is ready" not in (data_dir / LOG_FILE).read_text():
                assert process.returncode is None, (data_dir / LOG_FILE).read_text()
                await asyncio.sleep(0.05)
        address, token = read_node(data_dir), read_token(data_dir)
        assert address is not None
        yield address.grpc, address.http, token
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 60) == 0


def half_open(address: str, number: int, stack: ExitStack) -> list[socket.socket]:
    host, _, port = address.rpartition(":")
    return [stack.enter_context(socket.create_connection((host, int(port)), 10)) for _ in range(number)]


async def closed_by_the_node(sockets: list[socket.socket], within_s: float) -> None:
    """Wait until the node has closed every one of them."""
    loop = asyncio.get_running_loop()

    async def ended(one: socket.socket) -> None:
        one.setblocking(False)
        try:
            while await loop.sock_recv(one, 4096):
                pass
        except ConnectionResetError:
            pass

    await asyncio.wait_for(asyncio.gather(*map(ended, sockets)), within_s)


async def answers(http: str, grpc: str, token: str) -> None:
    """The node answers on both doors, also on connections that are new."""
    async with httpx.AsyncClient(base_url=f"http://{http}", timeout=20) as client:
        assert (await client.get("/health/live")).status_code == 200
        whoami = await client.get("/v1/whoami", headers={"authorization": f"Bearer {token}"})
        assert whoami.json()["role"] == "owner"
    async with AsyncClient(grpc, token=token) as other:
        assert (await other.whoami()).role == "owner"


def log_bytes(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.glob(f"{LOG_FILE}*"))


@pytest.mark.parametrize(
    ("soft", "hard", "door"),
    [(1_024, 4_096, "http"), (320, 320, "http"), (1_024, 4_096, "grpc")],
    ids=["http, soft limit 1024", "http, hard limit 320", "grpc"],
)
async def test_eleven_hundred_half_open_sockets_keep_nobody_out_and_fill_no_log(
    tmp_path: Path, soft: int, hard: int, door: str
) -> None:
    async with node_with(tmp_path, soft, hard) as (grpc, http, token):
        with ExitStack() as stack:
            sockets = half_open(grpc if door == "grpc" else http, HALF_OPEN, stack)
            await answers(http, grpc, token)
            await closed_by_the_node(sockets, 10 * TIMEOUT_S)
        await answers(http, grpc, token)
    assert log_bytes(tmp_path) < LOG_BYTES_MAX


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeUnderTest]:
    async with running(tmp_path, *FLAGS, "--connections-per-address-max", "8") as started:
        yield started


HEADS = {
    "nothing": b"",
    "half a head": b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n",
    "half a body of /v1": b"POST /v1/memories HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n"
    b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    "half a body of /mcp": b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n"
    b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    "half a body of /messages": b"POST /messages/ HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n"
    b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("what", list(HEADS))
async def test_a_request_that_does_not_come_to_its_end_is_given_up(node: NodeUnderTest, what: str) -> None:
    data = HEADS[what].replace(b"%s", node.token.encode())
    host, _, port = node.http.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    began = time.monotonic()
    answer = await asyncio.wait_for(reader.read(), 10 * TIMEOUT_S)
    writer.close()
    assert time.monotonic() - began >= TIMEOUT_S / 2 or answer.startswith(b"HTTP/1.1 400")
    if "/v1" in what or "/mcp" in what:
        assert answer.startswith(b"HTTP/1.1 504 "), answer
        assert b"DEADLINE_EXCEEDED" in answer


async def test_a_head_that_drips_in_is_given_up_as_well(node: NodeUnderTest) -> None:
    host, _, port = node.http.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    closed = asyncio.create_task(asyncio.wait_for(reader.read(), 10 * TIMEOUT_S))
    began = time.monotonic()
    for byte in b"GET /health/live HTTP/1.1\r\nx-slow: " + b"a" * 1_000:
        if closed.done():
            break
        writer.write(bytes([byte]))
        await asyncio.wait((closed,), timeout=0.05)
    assert await closed == b""
    assert time.monotonic() - began < 5 * TIMEOUT_S
    writer.close()


async def test_streams_outlive_the_time_outs_and_do_not_count_as_strangers(node: NodeUnderTest) -> None:
    headers = {"authorization": f"Bearer {node.token}"}
    limits = httpx.Limits(max_connections=40)
    async with AsyncExitStack() as stack:
        client = httpx.AsyncClient(base_url=f"http://{node.http}", timeout=30, limits=limits)
        await stack.enter_async_context(client)
        lines = []
        for _ in range(12):
            stream = await stack.enter_async_context(client.stream("GET", "/v1/watch", headers=headers))
            assert stream.status_code == 200
            lines.append(stream.aiter_lines())
        with ExitStack() as sockets:
            await closed_by_the_node(half_open(node.http, 20, sockets), 10 * TIMEOUT_S)
        made = await client.post("/v1/memories", json={"content": "a line for all who watch"}, headers=headers)
        assert made.status_code == 200
        for one in lines:
            async with asyncio.timeout(20):
                async for line in one:
                    if "added" in line:
                        break
                else:
                    raise AssertionError("the stream ended")
