"""Eight agents write at once through each door of a real node, half of it the same texts: only distinct ones are kept.

The shared texts come in another order from every writer, so that the same text is on its way several times at once.
The proof writes 200 texts an agent, one agent of the mixed ones through the command line, a process for every text.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from forked import MNEMESH
from node_process import NodeUnderTest
from node_reads import contents, judged, memories
from scenario_doors import NETWORKED_DOORS, GrpcDoor, open_door

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRITERS = 8
# A process for every single write takes minutes; the command that many processes run at once is `import`.
IMPORTERS = 4
SEED = random.SystemRandom().getrandbits(32)
ANIMALS = ("ant", "bat", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay")


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


in_proof = [pytest.mark.proof, pytest.mark.timeout(1800)]
ALL_BUT_CLI = NETWORKED_DOORS[:-1]
WAYS = [
    *(pytest.param((door,), SHORT, id=door) for door in ("grpc", "http", "mcp-http")),
    pytest.param(ALL_BUT_CLI, SHORT, id="all but the command line"),
    *(pytest.param((door,), WHOLE, id=f"{door}, whole", marks=in_proof) for door in ALL_BUT_CLI),
    pytest.param(NETWORKED_DOORS, WHOLE, id="every door, whole", marks=in_proof),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def reader(shared_node: NodeUnderTest) -> AsyncIterator[GrpcDoor]:
    async with GrpcDoor(shared_node) as door:
        yield door


@dataclass
class Answers:
    """The answers to the writers: by text every id, and how often each action."""

    ids: dict[str, set[str]] = field(default_factory=dict)
    actions: Counter[str] = field(default_factory=Counter)

    def note(self, text: str, answer: dict[str, Any]) -> None:
        self.ids.setdefault(text, set()).add(answer["memory"]["id"])
        self.actions[answer["action"]] += 1


async def write_all(node: NodeUnderTest, doors: tuple[str, ...], load: Load, space: str) -> Answers:
    """Every writer writes its texts one after the other, all writers at once."""
    answers = Answers()

    async def writer(number: int) -> None:
        async with open_door(doors[number % len(doors)], node, agent=f"writer-{number}") as door:
            for text in load.texts_of(number):
                answers.note(text, await door.call("remember", content=text, space=space, wait="durable"))

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    return answers


@pytest.mark.parametrize(("doors", "load"), WAYS)
async def test_eight_agents_writing_the_same_and_their_own_store_each_text_once(
    shared_node: NodeUnderTest, reader: GrpcDoor, doors: tuple[str, ...], load: Load
) -> None:
    print(f"seed {SEED}")
    space = f"writers/{uuid.uuid4().hex}"
    answers = await write_all(shared_node, doors, load, space)
    assert answers.actions == {"ADD": load.distinct(), "NOOP": WRITERS * load.each - load.distinct()}
    assert len(answers.ids) == load.distinct()
    assert all(len(ids) == 1 for ids in answers.ids.values()), "one text has two ids"

    expected = {next(iter(ids)): text for text, ids in answers.ids.items()}
    assert {memory["id"]: memory["content"] for memory in await memories(reader, space)} == expected
    before = await judged(reader)
    assert (await reader.call("stats", spaces=[space]))["memories"] == load.distinct()
    shown = await reader.call("recall", query="Writer 3 fed the fox at gate 5.", spaces=[space], limit=1)
    assert shown["results"][0]["content"] == "Writer 3 fed the fox at gate 5."

    again = await write_all(shared_node, doors, load, space)
    assert again.actions == {"NOOP": WRITERS * load.each}
    assert again.ids == answers.ids
    after = await judged(reader)
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
    before = await judged(reader)

    again = await asyncio.gather(*(import_file(shared_node, file, space, "--again") for file in files))
    assert [summary["already_there"] for summary in again] == [SHORT.each] * IMPORTERS
    assert (await judged(reader))["ledger"]["seq"] == before["ledger"]["seq"]


async def import_file(node: NodeUnderTest, file: Path, space: str, *flags: str) -> dict[str, Any]:
    """Run `mnemesh import` as a process of its own; its summary."""
    ended = await MNEMESH.run("import", file, "--json", "--space", space, "--data", node.data_dir, *flags)
    assert ended.code == 0, ended
    summary: dict[str, Any] = ended.json
    assert summary["refused"] == []
    return summary
