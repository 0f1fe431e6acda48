"""The same load on the MCP reference server, `@modelcontextprotocol/server-memory` from npm. Four clients share one
file, each with a server process of its own, as MCP hosts start it.

A new memory is a new entity. A change is one more observation of a shared entity and takes nothing away. The server is
spared the kills, and a refused call is repeated, as the writers of the nodes do.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, TextIO

from bench.lost_updates.load import SHARED, WRITERS, Write, first_text, plan
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

PACKAGE = "@modelcontextprotocol/server-memory"
INSTALL_S = 120.0
WRITERS_S = 180.0
TRIES = 5
PAUSE_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Of `acknowledged` writes `there`: `new` entities and `changes`, which are observations. `refused` writes were
    answered with an error `TRIES` times."""

    version: str
    acknowledged: int
    refused: int
    there: int
    new: int
    changes: int
    seconds: float


def measure(folder: Path, seed: int) -> Kept | str:
    """The writes kept by the server, or why it could not be asked."""
    installed = install(folder)
    if isinstance(installed, str):
        return installed
    program, version = installed
    file = folder / "memory.jsonl"
    asyncio.run(_seed(program, file, seed))
    began = time.perf_counter()
    answered = _race((sys.executable, "-m", "bench.lost_updates.reference", str(program), str(file), str(seed)))
    seconds = time.perf_counter() - began
    writes = [write for number, told in enumerate(answered) for write in plan(seed, number) if write.number in told]
    there = asyncio.run(_there(program, file, writes))
    changes = sum(write.shared is not None for write in there)
    return Kept(
        version=version, acknowledged=len(writes), refused=sum(map(len, _plans(seed))) - len(writes),
        there=len(there), new=len(there) - changes, changes=changes, seconds=round(seconds, 2),
    )  # fmt: skip


def _race(command: Sequence[str]) -> list[set[int]]:
    """Let the writers write at the same time; the numbers of what each was acknowledged."""
    pipe = subprocess.PIPE
    writers = [
        subprocess.Popen((*command, str(number)), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for number in range(WRITERS)
    ]
    overdue = Timer(WRITERS_S, _kill, (writers,))
    overdue.start()
    answered: list[set[int]] = []
    try:
        # All at once: who is alone loses nothing to the others.
        for writer in writers:
            assert writer.stdout
            writer.stdout.readline()
        for writer in writers:
            assert writer.stdin
            writer.stdin.write("\n")
            writer.stdin.flush()
        for writer in writers:
            out, said = writer.communicate(timeout=WRITERS_S)
            if writer.returncode:
                raise RuntimeError(f"a writer of the reference server failed:\n{said[-2000:]}")
            answered.append(set(json.loads(out)))
    finally:
        overdue.cancel()
        _kill(writers)
    return answered


def _kill(writers: Sequence[subprocess.Popen[str]]) -> None:
    for writer in writers:
        if writer.poll() is None:
            writer.kill()
            writer.wait()


def install(folder: Path) -> tuple[Path, str] | str:
    """The server's program and version below `folder`, or the reason why there is none. No lock file is kept: it would
    name a registry."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "npm is not installed"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"private": True}))
    command = (npm, "install", PACKAGE, "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"npm did not install {PACKAGE} within {INSTALL_S:g} s"
    if done.returncode:
        return f"npm could not install {PACKAGE}: {done.stderr.strip()[-300:]}"
    home = folder / "node_modules" / PACKAGE
    about: dict[str, Any] = json.loads((home / "package.json").read_text("utf-8"))
    (program,) = about["bin"].values()
    return home / program, str(about["version"])


def _plans(seed: int) -> list[list[Write]]:
    return [plan(seed, number) for number in range(WRITERS)]


@asynccontextmanager
async def _server(program: Path, file: Path) -> AsyncIterator[Client]:
    """A client of a server process of its own on `file`."""
    environ = {"MEMORY_FILE_PATH": str(file), "PATH": os.environ["PATH"]}
    with _nowhere() as nowhere:  # it greets on stderr
        given = StdioServerParameters(command="node", args=[str(program)], env=environ)
        async with Client(stdio_client(given, errlog=nowhere)) as client:
            yield client


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


async def _seed(program: Path, file: Path, seed: int) -> None:
    entities = [_entity(_shared(number), first_text(seed, number)) for number in range(SHARED)]
    async with _server(program, file) as client:
        if (await client.call_tool("create_entities", {"entities": entities})).is_error:
            raise RuntimeError("the reference server does not take the shared entities")


async def _there(program: Path, file: Path, writes: list[Write]) -> list[Write]:
    """Those of `writes` that a new server reads from the file."""
    async with _server(program, file) as client:
        answer = await client.call_tool("read_graph", {})
    graph: Any = answer.structured_content
    held = {one["name"]: set(one["observations"]) for one in graph["entities"]}
    return [write for write in writes if write.text in held.get(_name(write), ())]


def _shared(number: int) -> str:
    return f"runbook-{number}"


def _name(write: Write) -> str:
    return write.key if write.shared is None else _shared(write.shared)


def _entity(name: str, text: str) -> dict[str, object]:
    return {"name": name, "entityType": "note", "observations": [text]}


async def _write(program: Path, file: Path, seed: int, number: int) -> list[int]:
    """Carry out one plan; the numbers of the writes that were acknowledged."""
    told = []
    async with _server(program, file) as client:
        print("connected", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for write in plan(seed, number):
            given: dict[str, list[dict[str, object]]]
            if write.shared is None:
                tool, given = "create_entities", {"entities": [_entity(_name(write), write.text)]}
            else:
                change: dict[str, object] = {"entityName": _name(write), "contents": [write.text]}
                tool, given = "add_observations", {"observations": [change]}
            for _ in range(TRIES):
                if not (await client.call_tool(tool, given)).is_error:
                    told.append(write.number)
                    break
                await asyncio.sleep(PAUSE_S)
    return told


if __name__ == "__main__":
    _, given_program, given_file, given_seed, given_number = sys.argv
    print(json.dumps(asyncio.run(_write(Path(given_program), Path(given_file), int(given_seed), int(given_number)))))
