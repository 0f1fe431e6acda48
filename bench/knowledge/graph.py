"""Precision and recall of the relations that the knowledge graph reads in sentences.

python -m bench.knowledge.graph           # prints both sets; exit status 1 below a floor
python -m bench.knowledge.graph --misses  # and every difference on the set that the rules were made with
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mnemesh_memory.graph.extraction import extract
from mnemesh_memory.graph.relations import version_key

DATA: Final = Path(__file__).resolve().parents[2] / "tests/data/graph"
SETS: Final = ("dev", "held_out")
PRECISION_MIN: Final = 0.85
RECALL_MIN: Final = 0.60
ARTICLES: Final = frozenset(("a", "an", "the"))
Triple = tuple[str, str, str]


class Score(NamedTuple):
    """Counts over one set."""

    right: int
    given: int
    labelled: int
    sentences: int

    @property
    def precision(self) -> float:
        """Of the relations that were read, how many are labelled."""
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        """Of the labelled relations, how many were read."""
        return self.right / self.labelled if self.labelled else 1.0


def loose(relation: Sequence[str]) -> Triple:
    """A relation without case, articles, quotes and the full stop at the end."""
    subject, type_, object_ = relation
    return _loose(subject), type_, version_key(_loose(object_)) if type_ == "has_version" else _loose(object_)


def _loose(name: str) -> str:
    plain = name.casefold().replace("`", "").replace('"', "").replace("'", "").replace("\u2019", "")
    return " ".join(word for word in plain.split() if word not in ARTICLES).strip(" .,")


def read(text: str) -> set[Triple]:
    """The relations that the rules read in a text."""
    return {loose((one.subject, one.type, one.object)) for one in extract(text).relations}


def labelled(name: str) -> list[tuple[str, set[Triple]]]:
    """The sentences of a set with their labels."""
    lines = (DATA / f"graph_{name}.jsonl").read_text("utf-8").splitlines()
    rows = (json.loads(line) for line in lines if line.strip())
    return [(row["text"], {loose(relation) for relation in row["relations"]}) for row in rows]


def score(rows: Iterable[tuple[str, set[Triple]]]) -> tuple[Score, dict[str, Score]]:
    """The whole set, and each relation of it."""
    counts: dict[str, Counter[str]] = {"right": Counter(), "given": Counter(), "labelled": Counter()}
    sentences = 0
    for text, labels in rows:
        found = read(text)
        sentences += 1
        for key, triples in (("right", found & labels), ("given", found), ("labelled", labels)):
            counts[key].update(type_ for _, type_, _ in triples)
    kinds = sorted({type_ for counter in counts.values() for type_ in counter})
    parts = {k: Score(counts["right"][k], counts["given"][k], counts["labelled"][k], 0) for k in kinds}
    right, given, labelled = (sum(counts[key].values()) for key in ("right", "given", "labelled"))
    return Score(right, given, labelled, sentences), parts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when one is below its floor."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--misses", action="store_true", help="print every difference on the set of the rules")
    asked = parser.parse_args(arguments)
    good = True
    for name in SETS:
        if not (DATA / f"graph_{name}.jsonl").exists():
            print(f"{name}: not there")
            continue
        rows = labelled(name)
        whole, parts = score(rows)
        print(
            f"{name}: {whole.sentences} sentences, {whole.labelled} relations, "
            f"precision {whole.precision:.3f}, recall {whole.recall:.3f}"
        )
        for type_, part in parts.items():
            print(f"    {type_:15} precision {part.precision:.2f} recall {part.recall:.2f} of {part.labelled}")
        good &= whole.precision >= PRECISION_MIN and whole.recall >= RECALL_MIN
        if asked.misses and name == "dev":
            _print_misses(rows)
    print(f"floors: precision {PRECISION_MIN}, recall {RECALL_MIN}: {'kept' if good else 'NOT kept'}")
    return 0 if good else 1


def _print_misses(rows: Iterable[tuple[str, set[Triple]]]) -> None:
    for text, labels in rows:
        found = read(text)
        if found != labels:
            print(f"  {text}\n    missed {sorted(labels - found)}\n    wrong  {sorted(found - labels)}")


if __name__ == "__main__":
    sys.exit(main())
