"""A node's mesh and gRPC door in one process that also measures the bare embedding.

Started by the benchmark as `python -m bench.host DATA_DIR`. The door is the node's own. Two requests are added: the
embedder's own thread embeds some texts and says how long it took, and the mesh recalls without the door. So all of
these are measured on the same object, one after the other. Speaks JSON lines: requests on stdin, answers on stdout.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import structlog

from mnemesh_actors.actor_table import EMBEDDER
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.runtime.base import ANYWHERE, Actor, Args, Place
from mnemesh_actors.runtime.local import LocalHandle, LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_gateway.doors.grpc.grpc_door import GrpcDoor
from mnemesh_gateway.doors.metrics import Metrics
from mnemesh_gateway.node.presence import owner_token
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values.model import Caller, Query

LINE_BYTES_MAX = 64 * 1024 * 1024
CATCH_UP_POLL_S = 0.02
OWNER = Caller(agent="owner", principal="owner", role="owner", default_space="")


class MeteredWorker(EmbeddingWorker):
    """The node's embedder with a clock for its own cost."""

    def seconds(self, texts: list[str]) -> float:
        """Embed `texts`; the seconds that it took in the worker's own thread."""
        began = time.perf_counter()
        self.embed(texts)
        return time.perf_counter() - began


class MeteredRuntime(LocalRuntime):
    """The local runtime, with a metered embedder that can be reached."""

    worker: type[MeteredWorker] = MeteredWorker
    embedder: LocalHandle[Any]  # of a worker of this benchmark

    async def spawn(
        self, name: str, cls: Callable[[*Args], Actor], *args: *Args, place: Place = ANYWHERE
    ) -> LocalHandle[Actor]:
        metered = name.startswith(EMBEDDER.name)
        actor = cast(Callable[[*Args], Actor], self.worker) if metered else cls
        handle = await super().spawn(name, actor, *args, place=place)
        if metered:
            self.embedder = handle
        return handle


async def serve(data_dir: Path, runtime: MeteredRuntime) -> None:
    """Run until stdin ends."""
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(sys.stderr))
    directory = open_directory(data_dir)
    gate = MeshGate(version="bench", data_dir=str(data_dir), pid=0, ready_timeout_s=60)
    door = GrpcDoor(gate, Authenticator(owner_token(data_dir)), Metrics())
    config = StartConfig(
        clock=lambda: time.time_ns() // 1_000_000, entropy=secrets.token_bytes, model=ModelConfig(download=False)
    )
    mesh = await start_mesh(directory, runtime, config)
    opened = time.perf_counter()
    # A status call takes a turn of the shard, so it is asked seldom.
    while (await mesh.status()).index[0].lag:  # noqa: ASYNC110  a mesh tells its lag only when asked
        await asyncio.sleep(CATCH_UP_POLL_S)
    caught_up_s = time.perf_counter() - opened
    gate.open(mesh)
    port = await door.start("127.0.0.1:0")
    say({"grpc": f"127.0.0.1:{port}", "caught_up_s": caught_up_s, "points": (await mesh.status()).index[0].points})
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        if "cpu" in asked:
            say({"seconds": time.process_time()})
        elif "recall" in asked:
            say({"seconds": await _recall_seconds(mesh, asked["recall"], asked["space"])})
        else:
            say({"seconds": await runtime.embedder.seconds(asked["texts"])})
    await door.stop(1)
    await mesh.close()


async def _recall_seconds(mesh: Mesh, text: str, space: str) -> float:
    began = time.perf_counter()
    await mesh.recall(OWNER, Query(text=text, spaces=(space,)))
    return time.perf_counter() - began


def say(value: dict[str, object]) -> None:
    """One answer."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), MeteredRuntime()))
