"""`python -m bench.carry [FOLDER]`: does recall's order carry over from one corpus to the others?

A node of its own stores each corpus, and every answerable question is put to the index as recall puts it. The order of
the product is printed beside the untuned sum of windows (`bench.recall.window_sum`), each signal off, and each optional
signal on, votes and the graph among them. A difference with an asterisk has a paired bootstrap interval (95 %) that
does not hold 0. Words of time are words here. Nodes and vectors in FOLDER are used again, so a second run takes a
minute or two.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
from bench.ablation import Variant, fused, searched
from bench.calibration import stored
from bench.nodes.stored import open_shard
from bench.recall.columns import mix_without
from bench.recall.window_sum import WindowSum
from bench.report import machine
from bench.texts import corpora
from bench.texts.corpora import Collection, Question
from bench.texts.documents import Document
from bench.texts.embedding_cache import EmbeddingCache
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.index.shard import RetrievalShard, Search
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_actors.node_ports import MeshConfig, NodePorts
from mnemesh_actors.recall.retrieval import second_look
from mnemesh_actors.recall.search_calls import search_of
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.signals import OPTIONAL, SIGNALS
from mnemesh_memory.values.model import Memory, Query

RESULT: Final = Path(__file__).resolve().parent / "results" / "carry.json"
TOP: Final = 10
FIGURES: Final = ("hit@10", "coverage@10", "MRR", "multi-hop", "session hit@1")
PRODUCT: Final = "as it is"
BASELINE: Final = "sum of windows"
OPTIONAL_WEIGHT: Final = 0.1
# Its weights are no part of this repository.
NEEDS_A_MODEL: Final = "rerank"
ASIDE: Final = """Without influence on this order: the map (navigate), topics (recall_hierarchical), engram slots
(related), and heat, which filters with min_heat and orders equal scores."""
DAY_MS: Final = 86_400_000
RESAMPLES: Final = 2_000
SEED: Final = 20_261_126
DIGITS: Final = 4
TABLE_CHARS: Final = 130
NOT_ASKED: Final = float("nan")

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `candidates` takes whether words are looked for as a memory states them, and the weight of akin
    words."""

    collection: Collection
    question: Question
    vector: NDArray[np.float32]
    candidates: Callable[[bool, float], Candidates]


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.carry", description="What carries over between corpora.")
    parser.add_argument("folder", nargs="?", type=Path, help="where nodes and vectors stay for the next run")
    parser.add_argument("--locomo", nargs=2, type=Path, metavar=("HARNESS", "DATA"), help="locomo_eval.py and its data")
    parser.add_argument("--realmem", type=Path, help="folder of RealMem's files")
    parser.add_argument("--friendsqa", type=Path, help="a file of FriendsQA")
    parser.add_argument("--kept-back", action="store_true", help="also the kept back questions of teams and project")
    parser.add_argument("--questions", type=int, help="at most so many of each corpus, drawn with a fixed seed")
    given = parser.parse_args(argv)
    facts, rows = machine(), {}
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as temporary:
        folder = given.folder or Path(temporary)
        embedded = EmbeddingCache(folder / "vectors.npz")
        for name, collections in sources(given.locomo, given.realmem, given.friendsqa, given.kept_back).items():
            asked = sampled(collections, given.questions)
            print(f"{name}: {sum(len(one.questions) for one in asked)} questions of "
                  f"{sum(len(one.questions) for one in collections)}, seed {SEED}", flush=True)  # fmt: skip
            values = measured(node_of(folder, name), collections, asked, embedded)
            embedded.save()
            rows[name] = compared(values)
            show(name, rows[name])
    print(ASIDE)
    if not given.questions:
        RESULT.write_text(json.dumps({"machine": facts, "seed": SEED, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


def sources(
    locomo: Sequence[Path] | None, realmem: Path | None, friendsqa: Path | None, kept_back: bool
) -> dict[str, list[Collection]]:
    """The corpora that are here, each with its answerable questions alone."""
    found = {}
    if locomo:
        found["LoCoMo"] = corpora.locomo(*locomo)
    if realmem:
        found["RealMem"] = [corpora.turns(path) for path in sorted(realmem.glob("*.json"))]
    if friendsqa:
        found["FriendsQA"] = [corpora.turns(friendsqa)]
    for half in ("given", "held_out") if kept_back else ("given",):
        name = half.replace("held_out", "kept back")
        found[f"teams, {name}"] = corpora.team(half)
        found[f"project, {name}"] = [corpora.project(half)]
    return {
        name: [replace(one, questions=[asked for asked in one.questions if asked.wanted]) for one in collections]
        for name, collections in found.items()
    }


def sampled(collections: Sequence[Collection], most: int | None) -> list[Collection]:
    """The same with at most so many questions in all."""
    every = [(number, asked) for number, one in enumerate(collections) for asked in one.questions]
    drawn = every if most is None or most >= len(every) else random.Random(SEED).sample(every, most)
    return [
        replace(one, questions=[asked for place, asked in drawn if place == number])
        for number, one in enumerate(collections)
    ]


def variants() -> dict[str, Variant]:
    """The product, each signal off, and each optional signal the other way round."""
    found = {PRODUCT: Variant()}
    found |= {f"without {name}": Variant(mix_without(name)) for name in SIGNALS}
    for name, row in OPTIONAL.items():
        if row.weight:
            found[f"without {name}"] = Variant(optional={name: 0.0})
        elif name != NEEDS_A_MODEL:
            found[f"with {name} {OPTIONAL_WEIGHT:g}"] = Variant(optional={name: OPTIONAL_WEIGHT})
    return found


def measured(
    node: Path, collections: Sequence[Collection], asked: Sequence[Collection], embedded: EmbeddingCache
) -> dict[str, Column]:
    """The figures (questions, FIGURES) of each variant and of the baseline; NaN where a figure does not apply."""
    unit_of = {key: unit for unit, key in stored(node, collections).items()}
    units = {unit.id: unit for collection in collections for unit in collection.units}
    spaces = {unit.id: collection.space for collection in collections for unit in collection.units}
    memories = {key: _memory(key, units[unit], spaces[unit]) for key, unit in unit_of.items() if unit in units}
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    with closing(open_shard(node)) as shard, asyncio.Runner() as loop, Graph(memories) as graph:
        parts = parts_for(memories, graph)
        orders = {
            name: _order_of(shard, variant, unit_of, units, memories, parts) for name, variant in variants().items()
        }
        for one in questions(shard, unit_of, asked, embedded):
            for name, order in orders.items():
                found[name].append(judged(one, loop.run(order(one))))
        for collection in asked:
            baseline = WindowSum(collection.units, embedded) if collection.questions else None
            vectors = _vectors(collection, embedded)
            for question, vector in zip(collection.questions, vectors, strict=True):
                assert baseline is not None
                places = baseline.order(question.text, vector, question.before)
                best = [collection.units[place] for place in places[: TOP + len(question.replaced)]]
                found[BASELINE].append(judged(Asked(collection, question, vector, lambda *_: NOTHING), best))
    return {name: np.array(rows) for name, rows in found.items()}


NOTHING: Final = Candidates.of(())


def questions(
    shard: RetrievalShard, unit_of: Mapping[str, str], asked: Sequence[Collection], embedded: EmbeddingCache
) -> Iterator[Asked]:
    """Every question with its candidates."""
    keys = {unit: key for key, unit in unit_of.items()}
    for collection in asked:
        vectors = embedded.of_questions([question.text for question in collection.questions])
        for question, vector in zip(collection.questions, vectors, strict=True):
            among = None
            if question.before is not None:
                among = tuple(keys[unit.id] for unit in collection.units[: question.before] if unit.id in keys)
            query = Query(text=question.text, spaces=(collection.space,), limit=TOP)
            search = replace(search_of(query, shard.generation, among, late=False), vector=vector)
            yield Asked(collection, question, vector, cache(partial(_candidates, shard, search)))


def _candidates(shard: RetrievalShard, search: Search, as_stated: bool, akin: float) -> Candidates:
    return shard.search(replace(search, as_stated=as_stated, akin=akin))


def _vectors(collection: Collection, embedded: EmbeddingCache) -> NDArray[np.float32]:
    texts = [question.text for question in collection.questions]
    return embedded.of(texts) if texts else np.zeros((0, 1), np.float32)


def _order_of(
    shard: RetrievalShard,
    variant: Variant,
    unit_of: Mapping[str, str],
    units: Mapping[str, Document],
    memories: Mapping[str, Memory],
    parts: NodePorts,
) -> Callable[[Asked], Coroutine[Any, Any, Sequence[Document]]]:
    """The order of recall by a variant."""

    async def shown(ids: Sequence[str]) -> dict[str, Memory]:
        return {id_: memories[id_] for id_ in ids}

    async def read(asked: Callable[[RetrievalShard], Any]) -> Any:
        return asked(shard)

    index = SimpleNamespace(follower=SimpleNamespace(read=read), embedder=SimpleNamespace(generation=shard.generation))

    how = searched(variant)

    async def order(one: Asked) -> list[Document]:
        first = fused(one.candidates(*how), one.question.text, variant)
        query = Query(text=one.question.text, limit=TOP, weights=variant.optional)
        found, failed = await second_look(parts, cast(IndexGeneration, index), query, one.vector, first, shown)
        if failed:
            raise RuntimeError(f"a signal could not be had: {failed}")
        return [units[unit_of[item.id]] for item in found[: TOP + len(one.question.replaced)]]

    return order


class Graph:
    """The knowledge graph of the memories, as a node derives it, in a file for the length of a measurement."""

    def __init__(self, memories: Mapping[str, Memory]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mnemesh-bench-")
        self._store = GraphStore(str(Path(self._folder.name) / "derived" / "graph.sqlite"))
        self._store.reset()
        self._store.take(list(memories.values()), {}, (), False)

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._folder.cleanup()

    async def nearness(self, *asked: Any) -> dict[str, float]:
        """As the graph of a node answers."""
        return self._store.nearness(*asked)


def parts_for(memories: Mapping[str, Memory], graph: Graph) -> NodePorts:
    """The parts of a node that a second look may ask, the day after the last memory."""
    now = max(memory.created_at for memory in memories.values()) + DAY_MS
    return cast(NodePorts, SimpleNamespace(config=MeshConfig(), clock=lambda: now, graph=graph))


def _memory(id_: str, unit: Document, space: str) -> Memory:
    """A unit as the ledger would show it, with the fields of a second look."""
    when = int(unit.when.timestamp() * 1000) if unit.when else 0
    return Memory(
        id=id_, space=space, kind=unit.kind, title="", content=unit.text, state="active", by="", created_at=when,
        updated_at=when, heads=(), valid_from=when,
    )  # fmt: skip


def judged(one: Asked, ranked: Sequence[Document]) -> tuple[float, ...]:
    """The figures of one answer. A replaced memory is left out, because the write guard takes it out of recall."""
    question = one.question
    best = [unit for unit in ranked if unit.id not in question.replaced][:TOP]
    places = [place for place, unit in enumerate(best, 1) if unit.id in question.wanted]
    coverage = len(places) / len(question.wanted)
    right = bool(best) and best[0].session in one.collection.sessions_of(question)
    several = coverage if question.several else NOT_ASKED
    return float(bool(places)), coverage, 1.0 / places[0] if places else 0.0, several, float(right)


def compared(values: Mapping[str, Column]) -> dict[str, dict[str, list[float]]]:
    """For each row and figure: the mean, the difference from the product, and the ends of its interval."""
    whole = values[PRODUCT]
    drawn = np.random.default_rng(SEED).multinomial(len(whole), np.full(len(whole), 1 / len(whole)), RESAMPLES)
    found: dict[str, dict[str, list[float]]] = {}
    for name, rows in values.items():
        found[name] = {}
        for number, figure in enumerate(FIGURES):
            asked = ~np.isnan(rows[:, number])
            if asked.any():
                change, weight = (rows - whole)[asked, number], drawn[:, asked]
                low, high = np.quantile(weight @ change / np.maximum(weight.sum(axis=1), 1), (0.025, 0.975))
                numbers = (rows[asked, number].mean(), change.mean(), low, high)
                found[name][figure] = [round(float(value), DIGITS) for value in numbers]
    return found


def significant(cell: Sequence[float]) -> bool:
    """Whether the interval of a difference does not hold 0."""
    return cell[2] > 0 or cell[3] < 0


def show(name: str, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """The table for a person: figures of the product and the baseline, and the differences of the rest."""
    table = Table("", *FIGURES, title=name, title_justify="left")
    for label, row in rows.items():
        cells = []
        for figure in FIGURES:
            if figure not in row:
                cells.append("")
                continue
            cell = row[figure]
            star = "*" if significant(cell) else ""
            cells.append(f"{cell[0]:.3f}" if label == PRODUCT else f"{cell[1]:+.3f}{star}")
        table.add_row(label, *cells)
    Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


def node_of(folder: Path, corpus: str) -> Path:
    """Where the node of a corpus is."""
    return folder / "nodes" / _slug(corpus)


def _slug(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
