"""`make demo`: a node, a real corpus, two agents with shared knowledge. Leaves nothing behind.

Starts a node on free ports in a temporary directory and feeds it this repository's documents and some of the standard
library's docstrings. One agent then works through gRPC (the Python client), another through MCP over stdio (as Claude
Code would). Every step says what it expects and stops with an error when something else happens.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.node import NodeProcess
from bench.texts.corpus import REPOSITORY, sentences, standard_library
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp_types import Implementation
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mnemesh import Client, InvalidArgument, Recalled, Remembered
from mnemesh.api.values.node import ActorStatus

DOCS_SPACE = "demo/mnemesh"
PYTHON_SPACE = "demo/python"
TEAM_SPACE = "demo/team"
DOCSTRINGS = 400
BATCH = 40


class Surprise(Exception):
    """A step of the demo had another outcome than the one it shows."""


def expect(holds: bool, what: str) -> None:
    """Stop unless `holds`."""
    if not holds:
        raise Surprise(what)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description="Show what a node does, on real text.")
    parser.add_argument("--docstrings", type=int, default=DOCSTRINGS, help=f"how many to feed (default {DOCSTRINGS})")
    given = parser.parse_args(argv)
    console = Console(highlight=False)
    try:
        run(given.docstrings, console)
    except Surprise as surprise:
        console.print(f"This is not what should happen: {surprise}", markup=False)
        return 1
    return 0


def run(docstrings: int, console: Console) -> None:
    """The whole demo, in a directory that is removed at its end."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-demo-") as folder:
        data_dir = Path(folder) / "data"
        console.rule("A node")
        with NodeProcess(data_dir) as node:
            console.print(f"ready after {node.ready_s:.1f} s; HTTP was open after {node.http_open_s:.1f} s")
            console.print(f"gRPC {node.address.grpc}, HTTP {node.address.http}, data {data_dir}")
            with Client(data_dir=data_dir, agent="planner", space=TEAM_SPACE) as planner:
                feed(planner, docstrings, console)
                questions(planner, console)
                team(planner, data_dir, console)
                care(planner, console)
                facts(planner, node, console)
            drained_s = node.stop()
        console.print(f"stopped in {drained_s:.1f} s; the directory is removed")


def feed(client: Client, docstrings: int, console: Console) -> None:
    """Remember this repository's documents and some docstrings, with a progress bar."""
    console.rule("A corpus that every clone has")
    corpora = {DOCS_SPACE: sentences(REPOSITORY / "docs"), PYTHON_SPACE: _docstrings(docstrings)}
    columns = (TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for space, texts in corpora.items():
            task = progress.add_task(space, total=len(texts))
            for start in range(0, len(texts), BATCH):
                batch = texts[start : start + BATCH]
                outcomes = client.remember_batch(
                    {"content": text, "space": space, "kind": "reference"} for text in batch
                )
                for outcome in outcomes:
                    expect(isinstance(outcome, Remembered), f"a text was refused: {outcome}")
                progress.advance(task, len(batch))


def _docstrings(count: int) -> list[str]:
    """`count` sentences: those about shuffling, the subject of the demo, and others spread evenly over the modules of
    the standard library."""
    found = standard_library()
    asked = [text for text in found if "shuffle" in text.lower()]
    spread = found[:: max(1, len(found) // count)]
    return list(dict.fromkeys((*asked, *spread)))[:count]


def questions(client: Client, console: Console) -> None:
    """Ask in words that the texts do not use."""
    console.rule("Questions")
    for space, text in (
        (DOCS_SPACE, "why doesn't one big document hold everything?"),
        (DOCS_SPACE, "what happens when two programs change the same memory at once?"),
        (PYTHON_SPACE, "how do I put a list into random order?"),
    ):
        found = client.recall(text, space=space, limit=2)
        expect(bool(found.results), f"nothing was recalled for {text!r}")
        show(text, found, console)


def show(text: str, found: Recalled, console: Console) -> None:
    """A question and what came back."""
    console.print(f"[bold]{text}[/bold]  coverage {found.coverage:.2f}")
    for result in found.results:
        console.print(f"  {result.score:.2f}  {result.snippet or result.content}", markup=False, soft_wrap=True)


def team(planner: Client, data_dir: Path, console: Console) -> None:
    """Two agents, two protocols, one memory."""
    console.rule("Two agents, one memory")
    decision = "We release on Thursdays, after the migration has run on staging."
    done = planner.remember(decision, kind="decision", tags=["release"])
    expect(done.action == "ADD", f"remember gave {done.action}")
    console.print(f"planner, gRPC:   remember -> {done.action} {done.memory.id}")
    again = planner.remember(f"  {decision}\n")
    expect((again.action, again.memory.id) == ("NOOP", done.memory.id), f"the same words again gave {again.action}")
    console.print("planner, gRPC:   the same words again -> NOOP, the same memory")
    heard, told = asyncio.run(_reviewer(data_dir))
    expect(heard["results"][0]["id"] == done.memory.id, "the reviewer did not find the decision")
    console.print(f"reviewer, MCP:   recall 'when do we ship?' -> {heard['results'][0]['content']}", soft_wrap=True)
    console.print(f"reviewer, MCP:   remember -> {told['action']}, by {told['memory']['by']}")
    found = planner.recall("what stops a release?", limit=1)
    expect(found.results[0].id == told["memory"]["id"], "the planner did not find what the reviewer wrote")
    console.print(f"planner, gRPC:   recall -> {found.results[0].content}  (by {found.results[0].memory.by})")


async def _reviewer(data_dir: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The second agent: an MCP host that starts `mnemesh mcp`, as its configuration would say."""
    command = str(Path(sys.executable).with_name("mnemesh"))
    server = StdioServerParameters(command=command, args=["mcp", "--data", str(data_dir)])
    async with McpClient(server, client_info=Implementation(name="reviewer", version="1")) as session:
        heard = await _call(session, "recall", {"query": "when do we ship?", "spaces": [TEAM_SPACE], "limit": 3})
        text = "A failing migration on staging stops the release; the on-call engineer decides."
        told = await _call(session, "remember", {"content": text, "space": TEAM_SPACE, "kind": "procedure"})
        return heard, told


async def _call(session: McpClient, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    result = await session.call_tool(tool, dict(arguments))
    expect(not result.is_error, f"{tool} over MCP: {result.content}")
    answer: dict[str, Any] = result.structured_content or {}
    return answer


def care(planner: Client, console: Console) -> None:
    """A memory changes its mind, goes, and comes back; a credential never gets in."""
    console.rule("Change, forget, refuse")
    old = planner.recall("when do we release?", limit=1).results[0]
    new = planner.supersede(old.id, "We release on Mondays since the Thursday freeze.", kind="decision")
    found = planner.recall("when do we release?", limit=3)
    expect(old.id not in [result.id for result in found.results], "a superseded memory was recalled")
    console.print(f"supersede -> {found.results[0].content}  (history keeps the old one)")
    planner.forget(new.memory.id)
    ids = [result.id for result in planner.recall("Monday releases").results]
    expect(new.memory.id not in ids, "a forgotten memory was recalled")
    planner.restore(new.memory.id)
    expect(planner.get(new.memory.id).state == "active", "restore did not bring it back")
    console.print("forget, then restore -> it is back")
    try:
        planner.remember("deploy with AWS key AKIA" + "Q7NZ4VJ2RK5WT3XB")
    except InvalidArgument as error:
        console.print(f"a text with a credential -> refused: {error}", soft_wrap=True, markup=False)
    else:
        raise Surprise("a credential was stored")


def facts(planner: Client, node: NodeProcess, console: Console) -> None:
    """Show the node's own facts."""
    console.rule("The node")
    status, stats = planner.status(), planner.stats()
    spaces = ", ".join(f"{count.name} {count.memories}" for count in stats.spaces)
    console.print(f"{stats.memories} memories ({spaces}); index lag {max(part.lag for part in status.index)}")
    console.print(f"resident memory {node.rss_mib():.0f} MiB; actors {_names(status.actors)}")


def _names(actors: Sequence[ActorStatus]) -> str:
    return ", ".join(f"{actor.name} (pid {actor.pid})" for actor in actors)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
