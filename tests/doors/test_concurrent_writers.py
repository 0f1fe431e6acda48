"""Eight agents write at once through each door of a real node, half of it the same texts: only distinct ones are kept.

The shared texts come in another order from every writer, so that the same text is on its way several times at once.
The proof writes 200 texts an agent, one agent of the mixed ones through the command line, a process for every text.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from node_process import NodeUnderTest
from node_reads import WAIT_S, contents, settled
from scenario_doors import CliDoor, Door, GrpcDoor, HttpDoor, McpDoor

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRITERS = 8
IDS_A_READ = 100
# A process for every single write takes minutes; the command that many processes run at once is `import`.
IMPORTERS = 4
SEED = random.SystemRandom().getrandbits(32)
ANIMALS = ("ant", "bat", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay")

OpenDoor = Callable[[NodeUnderTest, str], Door]


@dataclass(frozen=True)
class Load:
    """How many texts all writers have, and how many only one has."""

    shared: int
    own: int

    @property
    def each(self) -> int:
        """Texts of one writer."""
        return self.shared + self.own

    def distinct(self, writers: int = WRITERS) -> int:
        """Texts of that many writers, each counted once."""
        return self.shared + writers * self.own

    def texts_of(self, writer: int) -> list[str]:
        """Short texts in an order of the writer's own."""
        shared = [f"Everybody has seen the {ANIMALS[number % 10]} in garden {number}." for number in range(self.shared)]
        own = [f"Writer {writer} fed the {ANIMALS[number % 10]} at gate {number}." for number in range(self.own)]
        texts = shared + own
        random.Random(SEED + writer).shuffle(texts)
        return texts


# Two writers have the same text in hand at once about as often as with ten times as many texts.
SHORT = Load(shared=40, own=20)
WHOLE = Load(shared=100, own=100)


def stdio(node: NodeUnderTest, agent: str) -> Door:
    return McpDoor.over_stdio(node, agent=agent)


def cli(node: NodeUnderTest, agent: str) -> Door:
    return CliDoor(node, "--agent", agent)


NETWORK: tuple[OpenDoor, ...] = (GrpcDoor, HttpDoor, McpDoor.over_http)
in_proof = [pytest.mark.proof, pytest.mark.timeout(1800)]
WAYS = [
    pytest.param((GrpcDoor,), SHORT, id="grpc"),
    pytest.param((HttpDoor,), SHORT, id="http"),
    pytest.param((McpDoor.over_http,), SHORT, id="mcp-http"),
    pytest.param((*NETWORK, stdio), SHORT, id="all but the command line"),
    pytest.param((GrpcDoor,), WHOLE, id="grpc, whole", marks=in_proof),
    pytest.param((HttpDoor,), WHOLE, id="http, whole", marks=in_proof),
    pytest.param((McpDoor.over_http,), WHOLE, id="mcp-http, whole", marks=in_proof),
    pytest.param((stdio,), WHOLE, id="mcp-stdio, whole", marks=in_proof),
    pytest.param((*NETWORK, stdio, cli), WHOLE, id="every door, whole", marks=in_proof),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def reader(shared_node: NodeUnderTest) -> AsyncIterator[GrpcDoor]:
    door = GrpcDoor(shared_node)
    yield door
    await door.close()


@dataclass
class Answers:
    """What the writers were told: by text every id, and how often each action."""

    ids: dict[str, set[str]] = field(default_factory=dict)
    actions: Counter[str] = field(default_factory=Counter)

    def note(self, text: str, answer: dict[str, Any]) -> None:
        self.ids.setdefault(text, set()).add(answer["memory"]["id"])
        self.actions[answer["action"]] += 1


async def write_all(node: NodeUnderTest, doors: tuple[OpenDoor, ...], load: Load, space: str) -> Answers:
    """Every writer writes its texts one after the other, all writers at once."""
    answers = Answers()

    async def writer(number: int) -> None:
        door = doors[number % len(doors)](node, f"writer-{number}")
        try:
            for text in load.texts_of(number):
                answers.note(text, await door.call("remember", content=text, space=space, wait="durable"))
        finally:
            await door.close()

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    return answers


async def stored(reader: Door, space: str, ids: list[str]) -> dict[str, str]:
    """Content by id, as far as the node has them."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), IDS_A_READ):
        answer = await reader.call("get", ids=ids[start : start + IDS_A_READ], spaces=[space])
        assert answer.get("missing", []) == []
        found |= {memory["id"]: memory["content"] for memory in answer["memories"]}
    return found


@pytest.mark.parametrize(("doors", "load"), WAYS)
async def test_eight_agents_writing_the_same_and_their_own_store_each_text_once(
    shared_node: NodeUnderTest, reader: GrpcDoor, doors: tuple[OpenDoor, ...], load: Load
) -> None:
    print(f"seed {SEED}")
    space = f"writers/{uuid.uuid4().hex}"
    answers = await write_all(shared_node, doors, load, space)
    assert answers.actions == {"ADD": load.distinct(), "NOOP": WRITERS * load.each - load.distinct()}
    assert len(answers.ids) == load.distinct()
    assert all(len(ids) == 1 for ids in answers.ids.values()), "one text has two ids"

    expected = {next(iter(ids)): text for text, ids in answers.ids.items()}
    assert await stored(reader, space, sorted(expected)) == expected
    before = await settled(reader)
    assert (await reader.call("stats", spaces=[space]))["memories"] == load.distinct()
    shown = await reader.call("recall", query="Writer 3 fed the fox at gate 5.", spaces=[space], limit=1)
    assert shown["results"][0]["content"] == "Writer 3 fed the fox at gate 5."

    again = await write_all(shared_node, doors, load, space)
    assert again.actions == {"NOOP": WRITERS * load.each}
    assert again.ids == answers.ids
    after = await settled(reader)
    assert after["ledger"]["seq"] == before["ledger"]["seq"]
    assert after["index"][0]["points"] == before["index"][0]["points"]


async def test_four_imports_at_once_from_the_command_line_store_each_text_once(
    shared_node: NodeUnderTest, reader: GrpcDoor, tmp_path: Path
) -> None:
    print(f"seed {SEED}")
    space = f"writers/{uuid.uuid4().hex}"
    files = [tmp_path / f"{number}.jsonl" for number in range(IMPORTERS)]
    for number, file in enumerate(files):
        file.write_text("".join(json.dumps({"content": text}) + "\n" for text in SHORT.texts_of(number)))
    first = await asyncio.gather(*(import_file(shared_node, file, space) for file in files))
    assert sum(summary["stored"] for summary in first) == SHORT.distinct(IMPORTERS)
    assert sum(summary["already_there"] for summary in first) == IMPORTERS * SHORT.each - SHORT.distinct(IMPORTERS)
    assert sorted(await contents(reader, space)) == sorted(
        {text for n in range(IMPORTERS) for text in SHORT.texts_of(n)}
    )
    before = await settled(reader)

    again = await asyncio.gather(*(import_file(shared_node, file, space, "--again") for file in files))
    assert [summary["already_there"] for summary in again] == [SHORT.each] * IMPORTERS
    assert (await settled(reader))["ledger"]["seq"] == before["ledger"]["seq"]


async def import_file(node: NodeUnderTest, file: Path, space: str, *flags: str) -> dict[str, Any]:
    """Run `mnemesh import` as a process of its own; its summary."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mnemesh.entry", "import", str(file), "--json", "--space", space),
        *("--data", str(node.data_dir), *flags),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd="/",
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0, err.decode()
    summary: dict[str, Any] = json.loads(out)
    assert summary["refused"] == []
    return summary
