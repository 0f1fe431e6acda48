"""`mnemesh mcp` with a real node: started by the proxy, shared by many, killed and restarted under them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stdio_support import Host

from mnemesh.transport import local_node as local
from mnemesh_proto.rendezvous import read_node

HOSTS = 8
CALLS = 20

pytestmark = pytest.mark.skipif(
    bool(local.missing_node_modules()), reason=f"no node here: {local.missing_node_modules()} not installed"
)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory whose node is stopped after the test."""
    directory = tmp_path / "data"
    yield directory
    if node := read_node(directory):
        os.kill(node.pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while read_node(directory) is not None:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_many_hosts_share_one_node_that_one_of_them_started_and_outlive_its_death(data_dir: Path) -> None:
    """The figures are printed and not judged: other programs may have the processor."""
    with ThreadPoolExecutor(HOSTS) as pool:
        hosts = [Host("--data", str(data_dir), "--space", "@owner", "--agent", f"host-{n}") for n in range(HOSTS)]
        try:
            list(pool.map(Host.initialize, hosts))
            started = min(host.latency_s for host in hosts)
            assert (data_dir / "node.log").read_text().count("is ready") <= 1
            written = list(pool.map(lambda pair: pair[1].call("remember", content=f"text {pair[0]}"), enumerate(hosts)))
            authors = {answer["structuredContent"]["memory"]["by"] for answer in written}
            assert authors == {f"owner/host-{n}" for n in range(HOSTS)}
            first = hosts[0]
            began = time.monotonic()
            for number in range(CALLS):
                first.call("recall", query=f"which text has number {number}")
            each_ms = (time.monotonic() - began) / CALLS * 1000
            node = read_node(data_dir)
            assert node is not None
            os.kill(node.pid, signal.SIGKILL)
            late = list(pool.map(lambda pair: pair[1].call("remember", content=f"late {pair[0]}"), enumerate(hosts)))
            assert {answer["structuredContent"]["action"] for answer in late} == {"ADD"}
            found = list(pool.map(lambda host: host.call("recall", query="text", limit=20), hosts))
            assert all(len(answer["structuredContent"]["results"]) == 2 * HOSTS for answer in found)
            second = read_node(data_dir)
            assert second is not None
            assert second.pid != node.pid
        finally:
            for host in hosts:
                host.__exit__()
    with Host("--data", str(data_dir), "--space", "@owner", "--no-start") as newcomer:
        newcomer.initialize()
    print(
        f"initialize after {started:.2f} s with {HOSTS} hosts and a node to start, {newcomer.latency_s:.2f} s with one "
        f"running; recall through the proxy {each_ms:.1f} ms"
    )
