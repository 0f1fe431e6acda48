"""`python -m bench.writing.guard`: the verdicts of the write guard on labelled pairs, as a table of labels and
verdicts.

The half `given` and both files held out of tests/data/guard are judged in the same run. Nobody tunes the rules on the
files held out, and their texts are never printed. The cosine of a pair comes from the embedding model, and the model
that reads two texts reads as much as at rest. The older text of a pair is the only candidate, and its writer may
replace it. With `--words` no model reads.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_memory.policy.judge.guard import OlderText, Verdict, judge
from mnemesh_memory.policy.judge.reading import Reading, reading_of
from mnemesh_memory.policy.judge.worth_reading import to_read

DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "guard"
HALVES: Final = ("given", "held_out", "held_out_2")
# Pairs that the trees or the model are trained on, beside the given half. The limits come from `judge_l` and `judge_n`.
SEEN: Final = ("tuned", "wide_a", "wide_b", *sorted(path.stem for path in DATA.glob("judge_*.jsonl")))
TRIVIAL: Final = "paraphrase in the same words"
LABELS: Final = ("duplicate", TRIVIAL, "paraphrase", "update", "contradiction", "distinct", "elaboration")
VERDICTS: Final = ("NOOP", "SUPERSEDE", "contradicts", "marked", "asked", "ADD")
BATCH: Final = 32
WORD: Final = re.compile(r"\w+")


class Pair(NamedTuple):
    """Two labelled texts with their cosine similarity, and the model's reading of both, if there is one."""

    older: str
    newer: str
    label: str
    cosine: float
    read: Reading | None = None


def verdict_of(pair: Pair) -> Verdict:
    """The verdict on the newer text of a pair beside the older one."""
    return judge(pair.newer, "fact", [_candidate(pair)])


def _candidate(pair: Pair) -> OlderText:
    return OlderText(id="older", text=pair.older, kind="fact", cosine=pair.cosine, replaceable=True, read=pair.read)


def label_of(pair: Pair) -> str:
    """The label of a pair. A paraphrase by another order, case or punctuation alone is a trivial one."""
    same_words = sorted(WORD.findall(pair.older.casefold())) == sorted(WORD.findall(pair.newer.casefold()))
    return TRIVIAL if pair.label == "paraphrase" and same_words else pair.label


def outcome(verdict: Verdict) -> str:
    """The column of a verdict: its action. A text that is added counts as "contradicts" or "marked" when a link says
    so, and as "asked" when only the writer is asked about the older text."""
    if verdict.action != "ADD" or not verdict.target_id:
        return verdict.action
    return "contradicts" if verdict.contradicts else "marked" if verdict.marked else "asked"


def pairs_of(half: str, *, words: bool) -> list[Pair]:
    """The pairs of a half, with cosines of the embedding model, and with readings unless `words` alone count."""
    rows = [json.loads(line) for line in (DATA / f"{half}.jsonl").read_text("utf-8").splitlines()]
    texts = [row[side] for side in ("older", "newer") for row in rows]
    with closing(EmbeddingWorker(ModelConfig(download=False))) as worker:
        worker.load()
        parts = [worker.embed(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        vectors = np.concatenate(parts).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = (vectors[: len(rows)] * vectors[len(rows) :]).sum(axis=1)
        found = [
            Pair(row["older"], row["newer"], row["label"], float(near)) for row, near in zip(rows, cosines, strict=True)
        ]
        return found if words else [_read(pair, worker) for pair in found]


def _read(pair: Pair, worker: EmbeddingWorker) -> Pair:
    """The pair with a reading, if the guard wants one."""
    if not to_read(pair.newer, "fact", [_candidate(pair)], "", {}, widely=True):
        return pair
    return pair._replace(read=reading_of(worker.read_pairs([(pair.older, pair.newer)])[0].tolist()))


def figures(counts: Counter[tuple[str, str]]) -> dict[str, tuple[float, str]]:
    """The figures that the guard is held to, each with its floor."""

    def share(labels: Sequence[str], verdicts: Sequence[str]) -> float:
        total = sum(counts[label, verdict] for label in labels for verdict in VERDICTS)
        return sum(counts[label, verdict] for label in labels for verdict in verdicts) / max(1, total)

    contested, repeated, apart = LABELS[3:5], LABELS[:3], LABELS[5:]
    return {
        "updates and contradictions dropped": (share(contested, ["NOOP"]), "0"),
        "linked or superseded": (share(contested, ["SUPERSEDE", "contradicts"]), ">= .85"),
        "superseded alone": (share(contested, ["SUPERSEDE"]), ""),
        "linked, superseded or marked": (share(contested, ["SUPERSEDE", "contradicts", "marked"]), ""),
        "linked, superseded, marked or asked": (share(contested, ["SUPERSEDE", "contradicts", "marked", "asked"]), ""),
        "duplicates and paraphrases in the same words caught": (share(LABELS[:2], ["NOOP"]), ">= .95"),
        "duplicates and all paraphrases caught": (share(repeated, ["NOOP"]), ""),
        "distinct or elaborating, not ADD": (share(apart, ["NOOP", "SUPERSEDE"]), "<= .01"),
        "distinct or elaborating, superseded or linked": (
            share(apart, ["SUPERSEDE", "contradicts"]),
            "<= .02",
        ),
        "distinct or elaborating, marked": (share(apart, ["marked"]), ""),
        "distinct or elaborating, marked or asked": (share(apart, ["marked", "asked"]), ""),
    }


def main(argv: Sequence[str]) -> int:
    """Judge the halves and print their tables side by side."""
    parser = argparse.ArgumentParser(prog="bench.writing.guard", description=__doc__)
    parser.add_argument("--half", choices=(*HALVES, *SEEN), action="append")
    parser.add_argument("--words", action="store_true", help="judge without the model that reads two texts")
    options = parser.parse_args(argv)
    halves = options.half or list(HALVES)
    table, held = Table("label"), Table("figure", "floor")
    counted: list[Counter[tuple[str, str]]] = []
    for half in halves:
        counts = Counter((label_of(pair), outcome(verdict_of(pair))) for pair in pairs_of(half, words=options.words))
        counted.append(counts)
        for verdict in VERDICTS:
            table.add_column(f"{half}\n{verdict}", justify="right")
        held.add_column(half, justify="right")
    for label in LABELS:
        table.add_row(label, *(str(counts[label, verdict] or "") for counts in counted for verdict in VERDICTS))
    of_halves = [figures(counts) for counts in counted]
    for name, (_, floor) in of_halves[0].items():
        held.add_row(name, floor, *(f"{half[name][0]:.3f}" for half in of_halves))
    console = Console(width=160)
    console.print(table)
    console.print(held)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
