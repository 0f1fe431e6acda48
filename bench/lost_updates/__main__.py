"""`python -m bench.lost_updates`: nothing acknowledged is lost, whoever writes at the same time and whatever is killed.

Four processes write 100 times each through four nodes that sync in a ring. Half of the writes change the same 20
memories. Every node is killed twice and stopped once meanwhile. The same load then goes to the MCP reference server.
Prints the seed, what became of the writes and the state of each replica; writes bench/results/lost_updates.json. Ends
with 1 when anything was lost, stored twice, or different on two nodes.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bench.lost_updates.load import SHARED, WRITERS, WRITES, Write, first_text, plan
from bench.lost_updates.mesh import Acknowledged, Mesh, digest
from bench.lost_updates.reference import Kept, measure
from bench.lost_updates.verdict import Verdict, judge
from bench.report import RESULTS, machine

FILE = RESULTS.with_name("lost_updates.json")


def main(argv: list[str]) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.lost_updates", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, help="decides what is written and when which node is struck")
    parser.add_argument("--no-reference", action="store_true", help="leave the MCP reference server out")
    given = parser.parse_args(argv)
    seed = secrets.randbits(32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    facts = machine()
    with tempfile.TemporaryDirectory(prefix="mnemesh-lost-updates-") as folder:
        figures, verdicts = _nodes(Path(folder), seed)
        _show(figures, verdicts)
        reference: Kept | str = "left out" if given.no_reference else measure(Path(folder) / "reference", seed)
    print(_of_reference(reference))
    good = _good(verdicts)
    replicas = [asdict(one) for one in verdicts]
    kept = {"skipped": reference} if isinstance(reference, str) else asdict(reference)
    whole = {"machine": facts, "seed": seed, "good": good, **figures, "replicas": replicas, "reference": kept}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    print(f"Written to {FILE}")
    return 0 if good else 1


def _nodes(folder: Path, seed: int) -> tuple[dict[str, object], list[Verdict]]:
    with Mesh(folder, seed) as mesh:
        node_ids = mesh.introduce()
        ids = mesh.share()
        began = time.monotonic()
        told = mesh.write(ids)
        last = max(one.last for one in told)
        converged = mesh.converge()
        shared = {id_: first_text(seed, number) for number, id_ in enumerate(ids)}
        verdicts = []
        for number, path in enumerate(mesh.folders):
            with mesh.client(number) as client:
                verdicts.append(judge(client, _acknowledged(seed, told), shared, node_ids, digest(path)))
    blows = Counter(blow for one in told for blow in one.blows)
    figures: dict[str, object] = {
        "acknowledged": sum(len(one.ids) for one in told),
        "blows": dict(blows),
        "repeated": sum(one.repeated for one in told),
        "replayed": sum(one.replayed for one in told),
        "writing_s": round(last - began, 2),
        "converged_after_last_write_s": round(max(0.0, converged - last), 3),
    }
    return figures, verdicts


def _acknowledged(seed: int, told: list[Acknowledged]) -> dict[Write, str]:
    return {
        write: one.ids[write.number]
        for number, one in enumerate(told)
        for write in plan(seed, number)
        if write.number in one.ids
    }


def _good(verdicts: list[Verdict]) -> bool:
    whole = all(one.good and one.there == WRITERS * WRITES for one in verdicts)
    return whole and len({(one.state, one.digest) for one in verdicts}) == 1


def _show(figures: dict[str, object], verdicts: list[Verdict]) -> None:
    print(
        f"{WRITERS} processes x {WRITES} writes through {len(verdicts)} nodes, half of them on {SHARED} shared "
        f"memories: {figures['acknowledged']} acknowledged in {figures['writing_s']} s, {figures['blows']}, "
        f"{figures['repeated']} calls repeated, {figures['replayed']} replayed"
    )
    for number, one in enumerate(verdicts):
        print(
            f"node {number}: {one.there} there ({one.new} memories, {one.changes} revisions), {one.twice} twice, "
            f"{one.foreign} that nobody wrote; {one.pairs} unresolved pairs, {one.unlisted} not in conflicts; "
            f"{one.quarantined} quarantined; digest {one.digest}, state {one.state}"
        )
    print(f"the same everywhere {figures['converged_after_last_write_s']} s after the last acknowledged write")


def _of_reference(reference: Kept | str) -> str:
    if isinstance(reference, str):
        return f"MCP reference server: skipped, {reference}"
    return (
        f"MCP reference server {reference.version}, no kills: {reference.there} of {reference.acknowledged} "
        f"acknowledged there ({reference.new} entities, {reference.changes} observations), {reference.refused} refused"
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
