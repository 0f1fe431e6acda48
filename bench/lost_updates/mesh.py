"""Four real nodes in a ring of sync, and their kills and stops while four processes write.

Each node has a writer and a tormentor. At moments chosen by the seed, counted in acknowledged writes, the node is
killed or stopped, and started again. The others go on meanwhile.
"""

from __future__ import annotations

import json
import random
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

from bench.lost_updates.load import SHARED, SPACE, WRITERS, WRITES, first_text
from bench.node import NodeProcess

from mnemesh import Client
from mnemesh_actors.ledger.store.space_digest import SpaceDigest
from mnemesh_proto.rendezvous import read_node

KILL, STOP = "SIGKILL", "SIGTERM"
# The blows to every node, in an order of its own.
BLOWS = (KILL, KILL, STOP)
# So close to an acknowledgement that the next write is somewhere inside the node.
WITHIN_S = 0.05
WRITERS_S = 300.0
CONVERGED_S = 120.0
POLL_S = 0.02


@dataclass
class Acknowledged:
    """Answers to one writer: the id by number of write; when the last came; how often a call was repeated, and how many
    writes were then answered from their key. Also the blows to the node."""

    ids: dict[int, str] = field(default_factory=dict)
    last: float = 0.0
    repeated: int = 0
    replayed: int = 0
    blows: list[str] = field(default_factory=list)


class Mesh:
    """WRITERS nodes below `folder`, each a peer of the next."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._seed = seed
        self.folders = [folder / f"node-{number}" for number in range(WRITERS)]
        # A peer is called at one address for ever, so a node comes back where it was.
        self._nodes = [
            NodeProcess(path, ("--grpc", f"127.0.0.1:{port}"))
            for path, port in zip(self.folders, _free_ports(WRITERS), strict=True)
        ]

    def __enter__(self) -> Mesh:
        try:
            with ThreadPoolExecutor(WRITERS) as starting:
                list(starting.map(NodeProcess.__enter__, self._nodes))
        except BaseException:  # boundary: whoever has started is stopped, then raised again
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for node in self._nodes:
            if read_node(node.data_dir) is not None:
                node.stop()

    def client(self, number: int) -> Client:
        """As the owner of a node."""
        return Client(data_dir=self.folders[number], agent="proof", space=SPACE)

    def introduce(self) -> list[str]:
        """Make each node a peer of the next; their ids."""
        for number, node in enumerate(self._nodes):
            after = (number + 1) % WRITERS
            with self.client(after) as there, self.client(number) as here:
                token = there.add_agent(f"node-{number}", role="admin", spaces=["proof/*"]).token
                here.add_peer(f"grpc://{self._nodes[after].address.grpc}", token=token, spaces=["proof/*"])
            assert node is self._nodes[number]
        ids = []
        for number in range(WRITERS):
            with self.client(number) as client:
                ids.append(client.sync_status().node_id)
        return ids

    def share(self) -> list[str]:
        """Write the shared memories on the first node and wait until all have them; their ids."""
        with self.client(0) as client:
            ids = [client.remember(first_text(self._seed, number)).memory.id for number in range(SHARED)]
        self.converge()
        return ids

    def write(self, shared: Sequence[str]) -> list[Acknowledged]:
        """Let all write and all be struck; what each writer was told."""
        with ThreadPoolExecutor(WRITERS) as working:
            return list(working.map(lambda number: self._work(number, shared), range(WRITERS)))

    def converge(self) -> float:
        """Wait until all digests of the space are equal and not empty; the moment. Raises RuntimeError."""
        deadline = time.monotonic() + CONVERGED_S
        while True:
            found = [digest(path) for path in self.folders]
            if found[0] and all(one == found[0] for one in found):
                return time.monotonic()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the nodes do not hold the same after {CONVERGED_S:g} s")
            time.sleep(POLL_S)

    def _work(self, number: int, shared: Sequence[str]) -> Acknowledged:
        chance = random.Random(f"{self._seed} blows {number}")
        when = sorted(chance.sample(range(5, WRITES - 5), len(BLOWS)))
        blows = dict(zip(when, chance.sample(BLOWS, len(BLOWS)), strict=True))
        told = Acknowledged()
        command = (sys.executable, "-m", "bench.lost_updates.node_writer", str(self.folders[number]))
        with subprocess.Popen(
            (*command, str(self._seed), str(number)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as writer:
            overdue = Timer(WRITERS_S, writer.kill)
            overdue.start()
            try:
                assert writer.stdin
                assert writer.stdout
                writer.stdin.write(json.dumps(shared))
                writer.stdin.close()
                for line in writer.stdout:
                    _note(told, json.loads(line))
                    if blow := blows.get(len(told.ids)):
                        time.sleep(chance.uniform(0, WITHIN_S))  # the random moment itself
                        self._strike(number, blow)
                        told.blows.append(blow)
            finally:
                overdue.cancel()
                if writer.poll() is None and sys.exc_info()[0] is not None:
                    writer.kill()
        return told

    def _strike(self, number: int, blow: str) -> None:
        node = self._nodes[number]
        if blow == KILL:
            node.kill()
        else:
            node.stop()
        node.__enter__()


def _note(told: Acknowledged, line: dict[str, Any]) -> None:
    told.ids[line["number"]] = line["id"]
    told.last = time.monotonic()
    told.repeated += line["tries"] - 1
    told.replayed += line["replayed"]


def digest(data_dir: Path) -> dict[int, str]:
    """The ledger's hash of the documents of the space; the node may be running or not."""
    path = data_dir / "ledger" / "0.sqlite"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)) as db:
        return SpaceDigest(db).of(SPACE)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports
