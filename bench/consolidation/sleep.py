"""`python -m bench.consolidation.sleep`: what consolidation finds of what was planted.

The corpus of tests/data/sleep goes through a whole node, in one space, written as agents write.
`--recall` measures recall with and without sleep, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bench.texts.corpora import TEAM
from rich.console import Console
from rich.table import Table

from mnemesh_actors.models import ModelConfig
from mnemesh_actors.node.assembly import StartConfig, start_mesh
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.runtime.base import Runtime
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.sleep.idle_scheduler import QUIET_S, SleepConfig
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.consolidation.steps import MERGE, PROMOTE, Consolidated
from mnemesh_memory.values.model import Caller, Draft, Query, Source, Written

DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "sleep"
FILES: Final = ("consistent", "inconsistent", "duplicates", "gaps", "distractors")
EPISODES: Final = ("consistent", "inconsistent")
SPACE: Final = "bench/sleep"
OWNER: Final = Caller("owner/bench", "owner")
BATCH: Final = 256
QUESTIONS: Final = 60
WARM_UP: Final = 4
VOTE_WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2)


def groups(name: str) -> list[dict[str, Any]]:
    """The groups of a file."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


async def started(path: Path, runtime: Runtime | None = None) -> Mesh:
    """A whole node without doors, in this process unless a runtime is given. No two writes happen in one
    millisecond."""
    ticks = itertools.count(1_795_000_000_000, 1_000)
    config = StartConfig(clock=lambda: next(ticks), entropy=secrets.token_bytes, model=ModelConfig(download=False))
    return await start_mesh(open_directory(path), runtime or LocalRuntime(), config)


def drafts_of(name: str) -> list[tuple[str, Draft]]:
    """(group, draft) for each text of a file: episodes of sessions, or facts."""
    kind = "episode" if name in EPISODES else "fact"
    return [
        (group["group"], Draft(content=text, kind=kind, space=SPACE, source=Source(session=f"s{place}"), force=True))
        for group in groups(name)
        for place, text in enumerate(group["texts"])
    ]


async def planted(mesh: Mesh) -> dict[str, str]:
    """Write the corpus, mixed. By memory its group."""
    told = [one for name in FILES for one in drafts_of(name)]
    random.Random(5).shuffle(told)
    found: dict[str, str] = {}
    for start in range(0, len(told), BATCH):
        part = told[start : start + BATCH]
        for (group, draft), done in zip(
            part, await mesh.remember_batch(OWNER, [draft for _, draft in part]), strict=True
        ):
            assert isinstance(done, Written), (draft.content, done)
            found[done.memory.id] = group
    return found


def quality(done: Consolidated, group_of: dict[str, str], show: bool) -> dict[str, tuple[int, int]]:
    """(found, of) by name."""
    promoted = [step for step in done.steps if step.action == PROMOTE]
    merged = [step for step in done.steps if step.action == MERGE]
    made = {frozenset(group_of[id_] for id_ in step.others) for step in promoted}
    whole = {next(iter(names)) for names in made if len(names) == 1}
    mixed = {name for names in made if len(names) > 1 for name in names}
    kept: dict[str, set[str]] = {}
    for step in merged:
        kept.setdefault(group_of[step.id], set()).update(group_of[other] for other in step.others)
    right = {name for name, others in kept.items() if others == {name}}
    wrong = {name for name, others in kept.items() if others != {name} or name[0] != "d" or is_distractor(name)}
    open_names = {name for gap in done.gaps for name in {group_of[id_] for id_ in gap.ids}}
    wanted = {name: {group["group"] for group in groups(name)} for name in FILES}
    gaps = {name for name in wanted["gaps"] if name in open_names}
    wrong_names = sum(not {group_of[id_] for id_ in gap.ids} <= wanted["gaps"] for gap in done.gaps)
    found = {
        "consistent groups promoted": (len(whole & wanted["consistent"]), len(wanted["consistent"])),
        "inconsistent groups promoted": (len((whole | mixed) & wanted["inconsistent"]), len(wanted["inconsistent"])),
        "groups mixed in one fact": (len(mixed), len(promoted)),
        "duplicate groups merged": (len(right & wanted["duplicates"]), len(wanted["duplicates"])),
        "other groups merged": (len(wrong), len(merged)),
        "gaps found": (len(gaps), len(wanted["gaps"])),
        "names reported wrongly": (wrong_names, len(done.gaps)),
    }  # fmt: skip
    if show:
        missed = (wanted["consistent"] - whole) | (wanted["duplicates"] - right) | (wanted["gaps"] - gaps)
        for name in sorted(missed | wrong | mixed | (whole & wanted["inconsistent"])):
            print(
                name, next((group["texts"] for file in FILES for group in groups(file) if group["group"] == name), "")
            )
        print([gap.text for gap in done.gaps])
    return found


def is_distractor(name: str) -> bool:
    """Whether a group is made to be left alone."""
    return name.startswith("x")


async def measured_quality(show: bool) -> dict[str, tuple[int, int]]:
    """The figures of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            group_of = await planted(mesh)
            done = await mesh.consolidate(OWNER, SPACE)
            again = await mesh.consolidate(OWNER, SPACE)
            found = quality(done, group_of, show)
            return found | {"steps of a second run": (again.applied, again.proposed)}
        finally:
            await mesh.close()


def texts(count: int, seed: int) -> list[str]:
    """Short sentences of a software project, most of them of their own."""
    chance = random.Random(seed)
    things = [
        "gateway",
        "mailer",
        "indexer",
        "importer",
        "scheduler",
        "ledger",
        "parser",
        "cache",
        "queue",
        "proxy",
        "dashboard",
        "exporter",
    ]
    verbs = ["reads", "writes", "drops", "retries", "delays", "rejects", "stores", "forwards", "splits", "merges"]
    ends = ["orders", "invoices", "events", "sessions", "tokens", "metrics", "pages", "uploads", "reports", "alerts"]
    places = ["staging", "production", "testing", "the", "archive", "the", "edge", "the", "lab", "north", "south"]
    made = []
    for number in range(count):
        thing, verb, end = chance.choice(things), chance.choice(verbs), chance.choice(ends)
        where, size = chance.choice(places), chance.randrange(10_000)
        made.append(f"The {thing} {verb} {end} in {where} after {size} units of lot {seed}-{number}.")
    return made


async def filled(mesh: Mesh, contents: Sequence[str], space: str = SPACE) -> None:
    """Write texts as facts and episodes."""
    for start in range(0, len(contents), BATCH):
        part = contents[start : start + BATCH]
        drafts = [
            Draft(content=text, kind="episode" if place % 3 == 0 else "fact", space=space,
                  source=Source(session=f"s{start + place}"), force=True, importance=0.7)
            for place, text in enumerate(part)
        ]  # fmt: skip
        await mesh.remember_batch(OWNER, drafts)


class Gate(Budget):
    """The budget of an idle node's sleep, which goes on only while `open` is set."""

    def __init__(self, mesh: Mesh) -> None:
        super().__init__(mesh._parts.foreground, SleepConfig().share, QUIET_S)
        self.open = asyncio.Event()
        self.at_rest = asyncio.Event()
        self.at_rest.set()
        self._held = 0

    async def turn(self) -> None:
        await super().turn()
        await self.open.wait()

    @contextmanager
    def step(self) -> Iterator[None]:
        self._held += 1
        self.at_rest.clear()
        try:
            with super().step():
                yield
        finally:
            self._held -= 1
            if not self._held:
                self.at_rest.set()

    async def shut(self) -> None:
        """No step is under way afterwards."""
        self.open.clear()
        await self.at_rest.wait()


async def measured_recall(size: int) -> dict[str, float]:
    """Median milliseconds of recalls while the node consolidates `size` memories as when idle, and without. The two
    take turns, so that a busy machine counts for both. `ratio` is the median over the turns."""
    spent: dict[str, list[float]] = {"quiet": [], "asleep": []}
    questions = itertools.cycle(texts(QUESTIONS, 7))
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            await filled(mesh, texts(size, 1))
            for _ in range(WARM_UP):
                await _recalls(mesh, questions)
            gate = Gate(mesh)
            sleep = asyncio.create_task(mesh._sleeping.changed_spaces("owner", gate))
            while not sleep.done():
                await gate.shut()
                quiet = await _recalls(mesh, questions)
                gate.open.set()
                asleep = await _recalls(mesh, questions)
                if not sleep.done():
                    spent["quiet"] += quiet
                    spent["asleep"] += asleep
                    ratios.append(statistics.median(asleep) / statistics.median(quiet))
            await sleep
        finally:
            await mesh.close()
    medians = {name: 1000 * statistics.median(values) for name, values in spent.items()}
    return {**medians, "ratio": statistics.median(ratios), "recalls": len(spent["asleep"])}


async def _recalls(mesh: Mesh, questions: Iterator[str]) -> list[float]:
    spent = []
    for text in itertools.islice(questions, QUESTIONS):
        began = time.perf_counter()
        await mesh.recall(OWNER, Query(text=text, spaces=(SPACE,)))
        spent.append(time.perf_counter() - began)
    return spent


async def measured_votes(histories: dict[str, Any]) -> dict[str, dict[float, float]]:
    """hit@1, hit@5 and MRR of the answerable questions on the team histories, by the weight of the votes."""
    found: dict[str, dict[float, float]] = {"hit@1": {}, "hit@5": {}, "MRR": {}}
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            asked = [question for name, data in histories.items() for question in await history(mesh, name, data)]
            for weight in VOTE_WEIGHTS:
                ranks = []
                for space, text, answers in asked:
                    query = Query(text=text, spaces=(space,), weights={"votes": weight}, limit=10)
                    hits = [hit.memory.id for hit in (await mesh.recall(OWNER, query)).results]
                    ranks.append(next((place for place, id_ in enumerate(hits, 1) if id_ in answers), 0))
                found["hit@1"][weight] = sum(rank == 1 for rank in ranks) / len(ranks)
                found["hit@5"][weight] = sum(0 < rank <= 5 for rank in ranks) / len(ranks)
                found["MRR"][weight] = sum(1 / rank for rank in ranks if rank) / len(ranks)
        finally:
            await mesh.close()
    return found


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


async def history(mesh: Mesh, name: str, data: dict[str, Any]) -> list[tuple[str, str, set[str]]]:
    """Write a history. Its questions as space, text and ids of the answers."""
    space, ids = f"team/{name}", {}
    for memory in data["memories"]:
        draft = Draft(content=memory["content"], kind=memory["kind"], space=space, created_at=_ms(memory["at"]))
        ids[memory["id"]] = (await mesh.remember(OWNER, draft)).memory.id
    return [
        (space, question["text"], {ids[answer] for answer in question["answers"]})
        for question in data["questions"]
        if question["answers"]
    ]


def main() -> None:
    """The table of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what was missed")
    parser.add_argument("--votes", action="store_true", help="measure votes in recall on the team histories")
    parser.add_argument(
        "--recall", type=int, metavar="SIZE", help="measure recall beside the sleep of so many memories"
    )
    asked = parser.parse_args()
    console = Console()
    if asked.recall:
        found = asyncio.run(measured_recall(asked.recall))
        console.print({name: round(value, 2) for name, value in found.items()})
        return
    if asked.votes:
        histories = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(TEAM.glob("*.json"))}
        for name, by_weight in asyncio.run(measured_votes(histories)).items():
            console.print(name, {weight: round(value, 4) for weight, value in by_weight.items()})
        return
    table = Table("figure", "found", "of", title="consolidation of tests/data/sleep")
    for name, (count, of) in asyncio.run(measured_quality(asked.show)).items():
        table.add_row(name, str(count), str(of))
    console.print(table)


if __name__ == "__main__":
    main()
