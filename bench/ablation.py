"""`python -m bench.ablation HARNESS DATA`: the worth of each signal of recall on LoCoMo, switched off in turn.

The conversations go into a real node by `remember_batch`. The node's index is then opened here and asked each question
once, as recall asks. Its lists are fused with all signals, without each, and without groups of signals. Weights are
those of the table of signals; a signal that is off leaves its share to the rest of its part. A new row of that table is
measured by itself. With `--node DIR` the memories stay in DIR, and the next run begins with the questions. Begin anew
after a change of the index.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from bench.node import NodeProcess
from bench.nodes.stored import open_shard
from bench.recall.columns import mix_without
from bench.report import machine
from bench.texts.locomo_data import (
    TOP,
    UNITS,
    Asked,
    Talk,
    Tally,
    Unit,
    auroc,
    harness_at,
    moment,
    remember_units,
    talks,
)
from rich.console import Console
from rich.table import Table

from mnemesh import Client
from mnemesh_actors.embedding.embedder import Vector
from mnemesh_actors.generations.active_index import IndexGeneration
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.node_ports import MeshConfig, NodePorts
from mnemesh_actors.recall.choice import BEST_FOR_COVERAGE
from mnemesh_actors.recall.retrieval import second_look
from mnemesh_actors.recall.search_calls import search_of
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.ranking.fusion import Ranking, fuse
from mnemesh_memory.ranking.signals import DEFAULT_MIX, OPTIONAL, SIGNALS, Mix
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Memory, Query

RESULT: Final = Path(__file__).resolve().parent / "results" / "ablation.json"
STORED: Final = "bench-units.json"  # in the node's directory: the unit of each memory
FIGURES: Final = (
    "hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1", "AUROC elsewhere", "AUROC left out",
)  # fmt: skip
TABLE_CHARS: Final = 150
NOTHING: Final = Candidates.of(())


class Variant(NamedTuple):
    """A way to fuse. `weights` are those of dense and BM25, `optional` those of `signals.OPTIONAL`."""

    mix: Mix = DEFAULT_MIX
    weights: Mapping[str, float] = {}
    optional: Mapping[str, float] = {}


def variants() -> dict[str, Variant]:
    """By what is left out: nothing, each signal, groups. `bench.recall.optional` adds what is off by default."""
    parts = {name: row.part for name, row in SIGNALS.items()}
    around = [name for name, part in parts.items() if part != "form" and name not in ("meaning", "words")]
    form = [name for name, part in parts.items() if part == "form"]
    found = {"nothing": Variant()}
    found |= {name: Variant(mix_without(name)) for name in parts}
    found["all of the session"] = Variant(mix_without(*around))
    found["all of form"] = Variant(mix_without(*form))
    found |= {name: Variant(optional={name: 0.0}) for name, row in OPTIONAL.items() if row.weight}
    alone, no_more = mix_without(*around, *form), dict.fromkeys(OPTIONAL, 0.0)
    found["all but dense and BM25"] = Variant(alone, {}, no_more)
    found["all but BM25"] = Variant(alone, {"dense": 0.0}, no_more)
    found["all but dense"] = Variant(alone, {"bm25": 0.0}, no_more)
    return found


def searched(variant: Variant) -> tuple[bool, float]:
    """How candidates are searched for: whether with the words that a memory states, and the weight of akin words."""
    weights = {name: variant.optional.get(name, OPTIONAL[name].weight) for name in ("statement", "akin")}
    return weights["statement"] > 0, weights["akin"]


@dataclass(slots=True)
class Scored:
    """The results of one variant so far."""

    tally: Tally
    told: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def means(self) -> dict[str, float]:
        """The figures, rounded."""
        for kind in ("elsewhere", "left out"):
            self.tally.note(f"AUROC {kind}", auroc(self.told["here"], self.told[kind]))
        return self.tally.means()


class Pools(NamedTuple):
    """Candidates of the index for a question: in its conversation, in another one, and in its own without the sessions
    of its evidence."""

    here: Candidates
    elsewhere: Candidates
    left_out: Candidates


class Ranked(NamedTuple):
    """The same three, fused, best first."""

    here: Sequence[Fused]
    elsewhere: Sequence[Fused]
    left_out: Sequence[Fused]


class Collected(NamedTuple):
    """A question with its vector. `pools` takes whether words are looked for as a memory states them, and the weight of
    akin words."""

    talk: Talk
    asked: Asked
    vector: Vector
    pools: Callable[[bool, float], Pools]


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.ablation", description="What each signal brings, on LoCoMo.")
    parser.add_argument("harness", type=Path, help="locomo_eval.py")
    parser.add_argument("data", type=Path, help="folder with locomo10.json")
    parser.add_argument("--unit", choices=(*UNITS, "both"), default="both")
    parser.add_argument("--names", default="", help="conversations, comma-separated; all when not given")
    parser.add_argument("--node", type=Path, help="where the memories stay for the next run; nowhere when not given")
    given = parser.parse_args(argv)
    harness, before = harness_at(given.harness, given.data), machine()
    runs: dict[str, Any] = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        for unit in UNITS if given.unit == "both" else (given.unit,):
            node = (given.node or Path(folder)) / unit
            conversations = talks(harness, unit, [name for name in given.names.split(",") if name])
            table = variants()
            scored = {name: Scored(Tally(harness)) for name in table}
            with Index(node, conversations) as index:
                for one in index.collected():
                    for name, variant in table.items():
                        _score(scored[name], variant, one, index)
            rows = {name: one.means() for name, one in scored.items()}
            show(unit, rows)
            facts = {"machine": before, "conversations": len(conversations), "mix": dict(DEFAULT_MIX)}
            runs[unit] = {**facts, "rows": rows}
    if not given.names:  # a part of them is for a look
        RESULT.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    return 0


class Index:
    """The index of a node that has taken in the conversations and stopped."""

    def __init__(self, node: Path, conversations: Sequence[Talk]) -> None:
        self._node = node
        self._talks = conversations
        self.units: dict[str, Unit] = {}

    def __enter__(self) -> Index:
        by_id = {unit.id: unit for talk in self._talks for unit in talk.units}
        stored = self._node / STORED
        if not stored.exists():
            if self._node.exists():
                raise SystemExit(f"{self._node} holds memories of something else; name another directory")
            ids: dict[str, str] = {}
            with NodeProcess(self._node) as node, Client(node.address.grpc, node.token) as client:
                for talk in self._talks:
                    ids |= {key: unit.id for key, unit in remember_units(client, talk.units, _space(talk)).items()}
            stored.write_text(json.dumps(ids), "utf-8")
        ids = json.loads(stored.read_text("utf-8"))
        if missing := by_id.keys() - set(ids.values()):
            raise SystemExit(f"{self._node} lacks {len(missing)} of these memories; name another directory")
        self.units = {key: by_id[unit] for key, unit in ids.items() if unit in by_id}
        self._shard = open_shard(self._node)
        self._loop = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()
        self._shard.close()

    def collected(self, *, as_recalled: bool = False) -> Iterator[Collected]:
        """Every question, one at a time: the candidates of all are too many to hold. `as_recalled`: only what recall
        asks for, so nothing of another conversation or without the evidence."""
        inside: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for key, unit in self.units.items():
            inside[unit.conv][unit.session].append(key)
        with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
            worker.load()
            for number, talk in enumerate(self._talks):
                other = self._talks[number - 1]
                vectors = worker.embed_questions([asked.text for asked in talk.asked])
                for asked, vector in zip(talk.asked, vectors, strict=True):
                    sessions = inside[talk.name].items()
                    rest = tuple(key for session, keys in sessions if session not in asked.sessions for key in keys)
                    asking = (asked.text, vector, _space(talk), _space(other), rest)
                    yield Collected(talk, asked, vector, cache(partial(self._pools, *asking, as_recalled)))

    def _pools(
        self,
        text: str,
        vector: Vector,
        space: str,
        other: str,
        rest: tuple[str, ...],
        as_recalled: bool,
        as_stated: bool,
        akin: float,
    ) -> Pools:
        def asked(space: str, among: tuple[str, ...] | None = None) -> Candidates:
            query = Query(text=text, spaces=(space,), limit=TOP)
            search = search_of(query, self._shard.generation, among, late=False)
            return self._shard.search(replace(search, vector=vector, as_stated=as_stated, akin=akin))

        if as_recalled:
            return Pools(asked(space), NOTHING, NOTHING)
        return Pools(asked(space), asked(other), asked(space, rest) if rest else NOTHING)

    def ranked(self, one: Collected, variant: Variant) -> Ranked:
        """The order of recall for each pool, best first."""
        pools = one.pools(*searched(variant))
        return Ranked(*(self._loop.run(self._looked_at(one, pool, variant)) for pool in pools))

    async def _looked_at(self, one: Collected, pool: Candidates, variant: Variant) -> Sequence[Fused]:
        first = fused(pool, one.asked.text, variant)
        # Nothing is on that would ask another part of a node.
        parts = cast(NodePorts, SimpleNamespace(config=MeshConfig()))
        query = Query(text=one.asked.text, limit=TOP, weights=variant.optional)
        found, failed = await second_look(parts, cast(IndexGeneration, None), query, one.vector, first, self._memories)
        if failed:
            raise RuntimeError(f"a signal could not be had: {failed}")
        return found

    async def _memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        return {id_: _memory(id_, self.units[id_]) for id_ in ids}


def _space(talk: Talk) -> str:
    return f"locomo/{talk.name.lower()}"


def _memory(id_: str, unit: Unit) -> Memory:
    """A unit as the ledger would show it, with the fields of a second look."""
    when = int(moment(unit.when).timestamp() * 1000) if unit.when else 0
    return Memory(
        id=id_, space="", kind="episode", title="", content=unit.text, state="active", by="", created_at=when,
        updated_at=when, heads=(), valid_from=when,
    )  # fmt: skip


def _score(scored: Scored, variant: Variant, one: Collected, index: Index) -> None:
    here, elsewhere, left_out = index.ranked(one, variant)
    scored.tally.add(one.talk.name, one.asked, [index.units[item.id] for item in here[:TOP]])
    for kind, ranked in (("here", here), ("elsewhere", elsewhere), ("left out", left_out)):
        best = [(item, index.units[item.id].text) for item in ranked[:BEST_FOR_COVERAGE]]
        scored.told[kind].append(coverage(one.asked.text, best))


def fused(pool: Candidates, text: str, variant: Variant) -> Ranking:
    """The order of recall before its second look, best first."""
    return fuse(pool, variant.weights, question_of(text), variant.mix)


def show(unit: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    """The table for a person: the figures with everything, and by how much each variant differs."""
    table = Table("left out", *FIGURES, title=f"{unit} units", title_justify="left")
    whole: Mapping[str, Any] = rows["nothing"]
    for name, row in rows.items():
        cells = (f"{row[one]:.3f}" if row is whole else f"{row[one] - whole[one]:+.3f}" for one in FIGURES)
        table.add_row(name, *cells)
    Console(width=None if sys.stdout.isatty() else TABLE_CHARS).print(table)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
