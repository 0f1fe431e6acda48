"""`make bench`: measures a node on this machine, prints a table, writes bench/results/node.json.

Copy that file to bench/results/published.json and run `make docs` to show a run in docs/benchmarks.md. `--scale` also
measures the growth up to 100,000 memories, which takes far longer. `--mem0 FOLDER` adds mem0ai, from there. `--locomo`
measures recall, each signal, and weights that have not seen the questions. `--ablation` measures nothing but recall
with and without each signal and subsystem, on every corpus that there is data for. `make docs` reads every result
file. All tables of that page:
`make bench ARGS='--scale --mem0 FOLDER --corpus TEXTS --locomo HARNESS DATA --reference PROGRAM'`.

Everything is measured through the real thing: a node process for start and memory, its own gRPC door for latency.
Nothing else should run meanwhile; the load before the run is written down with the results.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from bench import ablation, carry, latency, locomo, scale
from bench.compared import rivals
from bench.counts import from_one, too_few
from bench.maps import subsystems
from bench.recall import beam, fitting, longmemeval, misses, optional
from bench.report import Row, machine, show, write
from bench.speed import storage, whole_node
from bench.texts.corpus import sentences
from rich.console import Console
from rich.progress import Progress

MEMORIES = 10_000
SMALL = 1_000
ROUNDS = 150
RIVAL_QUESTIONS = 150
TABLE_CHARS = 150


def main(argv: list[str]) -> int:
    """Measure, print, write. A missed promise is said in the table and the file; it is no failure of the run."""
    given = _arguments(argv)
    if lacking := _lacking(given):
        print(f"{lacking}: no such file or folder", file=sys.stderr)
        return 2
    if given.ablation:
        return carry.main(_ablation_words(given)) or subsystems.main()
    status = 0 if given.no_speed else _speed(given)
    if given.scale and not status:
        status = scale.main(_scale_words(given))
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as node:
        return status or _quality(given, Path(node))


def _lacking(given: argparse.Namespace) -> str:
    """The first missing path behind its option. A refusal at once spares an hour of measuring speed."""
    names = ("corpus", "mem0", "reference", "longmemeval", "beam", "realmem", "friendsqa")
    paths = [(name, vars(given)[name]) for name in names]
    paths += [("locomo", path) for path in given.locomo or ()]
    return next((f"--{name} {path}" for name, path in paths if path and not Path(path).exists()), "")


def _speed(given: argparse.Namespace) -> int:
    texts = sentences(given.corpus)
    if lacking := _too_few(len(texts), given):
        print(f"bench: {lacking}", file=sys.stderr)
        return 2
    # A pipe has no width; a table of figures wants one.
    facts = {"machine": machine(), "memories": given.memories, "small": given.small, "rounds": given.rounds}
    console = Console(width=None if sys.stdout.isatty() else TABLE_CHARS)
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        rows = _measure(texts, given, Path(folder), console)
    show(rows, console)
    console.print(f"Written to {write(rows, facts)}")
    return 0


def _ablation_words(given: argparse.Namespace) -> list[str]:
    locomo = ["--locomo", *given.locomo] if given.locomo else []
    realmem = ["--realmem", given.realmem] if given.realmem else []
    return ["--kept-back", *locomo, *realmem, *(["--friendsqa", given.friendsqa] if given.friendsqa else [])]


def _too_few(held: int, given: argparse.Namespace) -> str:
    fixed = latency.texts_needed(0, 0) + RIVAL_QUESTIONS
    rounds = latency.texts_needed(given.rounds, 0) - latency.texts_needed(0, 0)
    wanted = {"--memories": given.memories, "--small": given.small, "--rounds": rounds}
    return too_few(held, wanted, fixed, least=1 + latency.texts_needed(1, 1) + RIVAL_QUESTIONS)


def _scale_words(given: argparse.Namespace) -> list[str]:
    corpus = ["--corpus", str(given.corpus)] if given.corpus else []
    return [*corpus, *(["--mem0", given.mem0] if given.mem0 else [])]


def _quality(given: argparse.Namespace, node: Path) -> int:
    """Each program that there is data for; the exit status of the first that fails. `node`: an empty directory."""
    runs: list[tuple[Callable[[Sequence[str]], int], list[str]]] = []
    if given.locomo:
        beside = ["--reference", given.reference] if given.reference else []
        again = [*given.locomo, "--node", str(node)]
        runs += [(locomo.main, [*given.locomo, *beside]), (optional.main, given.locomo)]
        runs += [(ablation.main, again), (fitting.main, again), (misses.main, again)]
    if given.longmemeval:
        runs += [(longmemeval.main, [given.longmemeval, "--granularity", one]) for one in longmemeval.GRANULARITIES]
    if given.beam:
        runs.append((beam.main, [given.beam]))
    return next((status for run, words in runs if (status := run(words))), 0)


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure a node on this machine.")
    parser.add_argument("--corpus", type=Path, help="file or folder of text, Markdown or JSONL")
    parser.add_argument(
        "--memories", type=from_one, default=MEMORIES, help=f"size of the large space (default {MEMORIES})"
    )
    parser.add_argument("--small", type=from_one, default=SMALL, help=f"size of the small space (default {SMALL})")
    parser.add_argument("--rounds", type=from_one, default=ROUNDS, help=f"rounds of the latency run (default {ROUNDS})")
    parser.add_argument("--no-speed", action="store_true", help="only what the options below ask for")
    parser.add_argument("--scale", action="store_true", help="how recall's time grows up to 100,000 memories")
    parser.add_argument("--mem0", metavar="FOLDER", help="where mem0ai is installed, beside --scale")
    parser.add_argument("--locomo", nargs=2, metavar=("HARNESS", "DATA"), help="locomo_eval.py, folder of its data")
    parser.add_argument("--reference", metavar="FILE", help="window_fusion_reference.py, beside --locomo")
    parser.add_argument("--longmemeval", metavar="FILE", help="longmemeval_s.json, _m.json or _oracle.json")
    parser.add_argument("--beam", metavar="PATH", help="a conversation of BEAM or a folder of them")
    parser.add_argument(
        "--ablation", action="store_true", help="only recall with and without each signal and subsystem"
    )
    parser.add_argument("--realmem", metavar="FOLDER", help="files of RealMem, beside --ablation")
    parser.add_argument("--friendsqa", metavar="FILE", help="a file of FriendsQA, beside --ablation")
    given = parser.parse_args(argv)
    if given.mem0 and not given.scale:
        parser.error("--mem0 is measured with --scale")
    if given.reference and not given.locomo:
        parser.error("--reference is measured with --locomo")
    if (given.realmem or given.friendsqa) and not given.ablation:
        parser.error("--realmem and --friendsqa are measured with --ablation")
    if given.no_speed and not (given.scale or given.locomo or given.longmemeval or given.beam):
        parser.error("--no-speed leaves nothing to measure without --scale, --locomo, --longmemeval or --beam")
    return given


def _measure(texts: list[str], given: argparse.Namespace, folder: Path, console: Console) -> list[Row]:
    data_dir = folder / "node"
    source = iter(texts)
    large = list(islice(source, given.memories))
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("node: import, starts", total=len(large))
        rows = whole_node.measure(large, data_dir, lambda done: progress.update(task, completed=done))
        task = progress.add_task("recall, remember, bulk", total=given.rounds + latency.WARM_UP_ROUNDS)
        sizes = latency.Sizes(rounds=given.rounds, small=given.small, large=given.memories)
        rows += latency.measure(source, data_dir, sizes, lambda done: progress.update(task, completed=done))
        progress.add_task("ledger alone", total=None)
        rows.append(storage.ledger_rate(folder / "ledger"))
        progress.add_task("index rebuilt", total=None)
        rows.append(storage.rebuild(data_dir))
        progress.add_task("side by side", total=None)
        questions = [latency.question(text) for text in islice(source, RIVAL_QUESTIONS)]
        rows += rivals.measure(questions, data_dir, whole_node.SPACE)
    return rows


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
