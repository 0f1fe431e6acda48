"""Measures secret detection: precision, recall and cost, ours beside detect-secrets when that is installed.

`python -m bench.writing.secrets_corpus` prints the table and writes bench/results/secrets.json.

Detectors are judged on the labelled samples of several seeds. False alarms are also counted on the standard library's
docstrings, which hold no credential and were not written for this test.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.writing.secrets_samples import Sample, negatives, positives

from mnemesh_memory.secrets import find_secret

Detector = Callable[[str], str | None]
SEEDS = range(1, 6)
RESULT = Path(__file__).parents[1] / "results" / "secrets.json"
HIGH_ENTROPY = ("Base64HighEntropyString", "HexHighEntropyString")


def samples(seed: int) -> list[Sample]:
    """The corpus of one seed, positives first."""
    return [*positives(seed), *negatives(seed)]


@contextmanager
def detect_secrets(scan: str, without: tuple[str, ...] = ()) -> Iterator[Detector]:
    """detect-secrets with its default plugins but `without`. `scan` is "line", the command for one string (eager about
    high entropy), or "file", the scan of a repository."""
    from detect_secrets.core import scan as scanner
    from detect_secrets.settings import default_settings

    with default_settings() as settings, TemporaryDirectory() as folder:
        settings.disable_plugins(*without)
        path = Path(folder) / "memory.txt"

        def in_lines(text: str) -> str | None:
            found = (secret.type for line in text.splitlines() for secret in scanner.scan_line(line))
            return next(found, None)

        def in_file(text: str) -> str | None:
            path.write_text(text, encoding="utf-8")
            return next((secret.type for secret in scanner.scan_file(str(path))), None)

        yield in_lines if scan == "line" else in_file


def detectors() -> Iterator[tuple[str, AbstractContextManager[Detector]]]:
    """Ours, then detect-secrets in three ways where it is installed."""
    yield "mnemesh", nullcontext(find_secret)
    if find_spec("detect_secrets") is not None:
        yield "detect-secrets, line", detect_secrets("line")
        yield "detect-secrets, file", detect_secrets("file")
        yield "detect-secrets, no entropy", detect_secrets("line", HIGH_ENTROPY)


def judge(find: Detector, half: str | None = None) -> dict[str, object]:
    """Precision and recall over all seeds, with the misses and false alarms of each family. Counts all samples or
    `half` of the second round."""
    missed: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    hits = 0
    for seed in SEEDS:
        for sample in samples(seed):
            if half is not None and sample.half != half:
                continue
            found = find(sample.text) is not None
            hits += found and sample.secret
            missed[sample.family] += sample.secret and not found
            alarms[sample.family] += found and not sample.secret
    return {
        "precision": round(hits / max(1, hits + alarms.total()), 4),
        "recall": round(hits / max(1, hits + missed.total()), 4),
        "missed": dict(+missed),
        "false_alarms": dict(+alarms),
    }


def docstrings() -> list[str]:
    """The docstrings of the standard library's modules, classes and functions, read without importing them."""
    texts = []
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                texts.append(text)
    return texts


def cost_us_per_kb(find: Detector, texts: list[str], rounds: int) -> float:
    """Least processor time of `rounds` for all texts, in microseconds per 1,000 characters."""
    size = sum(map(len, texts)) / 1000
    took = []
    for _ in range(rounds):
        start = time.process_time()
        for text in texts:
            find(text)
        took.append(time.process_time() - start)
    return min(took) / size * 1e6


def measure() -> dict[str, object]:
    """All figures, ready to be written as JSON."""
    every = docstrings()
    kilobytes = [text[:1000] for text in every if len(text) >= 1000][:200]
    hard = "\n".join(sample.text for sample in samples(1) if not sample.secret)
    suspicious = [hard[at : at + 1000] for at in range(0, len(hard), 1000)]
    rows = {}
    for name, opened in detectors():
        with opened as find:
            alarms = sum(find(text) is not None for text in every)
            rows[name] = {
                **judge(find),
                "open_half": judge(find, "open"),
                "held_out_half": judge(find, "held out"),
                "alarms_per_1000_docstrings": round(alarms / len(every) * 1000, 2),
                "us_per_kb_docstrings": round(cost_us_per_kb(find, kilobytes, 3), 1),
                "us_per_kb_negatives": round(cost_us_per_kb(find, suspicious, 3), 1),
            }
    secrets = sum(sample.secret for sample in samples(1))
    return {
        "positives": secrets, "negatives": len(samples(1)) - secrets, "seeds": len(SEEDS), "docstrings": len(every),
        "detectors": rows,
    }  # fmt: skip


def show_errors(seed: int) -> None:
    """Every wrong judgement of our detector on samples not held out, for work on its tables."""
    for sample in samples(seed):
        if sample.half == "held out":
            continue
        found = find_secret(sample.text)
        if (found is not None) != sample.secret:
            print("missed" if sample.secret else f"alarm ({found})", sample.family, repr(sample.text), sep="\t")


def main() -> None:
    """Print the table and write the results, or show what is judged wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--errors", type=int, metavar="SEED", help="show our wrong judgements on one seed and stop")
    options = parser.parse_args()
    if options.errors is not None:
        show_errors(options.errors)
        return
    result = measure()
    columns = ("precision", "recall", "alarms_per_1000_docstrings", "us_per_kb_docstrings", "us_per_kb_negatives")
    print(f"{result['positives']} positives, {result['negatives']} negatives, {result['seeds']} seeds")
    print(f"{'detector':28}" + "".join(f"{name:>27}" for name in columns))
    rows = result["detectors"]
    assert isinstance(rows, dict)
    for name, row in rows.items():
        print(f"{name:28}" + "".join(f"{row[column]:>27}" for column in columns))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
