"""Measured figures, beside their promises and beside the floor below which nobody can get."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mnemesh_gateway.doctor.interpreter import plainly_built

RESULTS = Path(__file__).resolve().parent / "results" / "node.json"
TREE = Path(__file__).resolve().parent.parent
# Files that decide the figures, unlike the results that a run leaves in the tree.
CODE = ("*.py", "*.toml", "*.txt", "*.proto")
GIT_TIMEOUT_S = 10
ROUNDS_KEPT = 50
LIBRARIES = ("qdrant-edge-py", "qdrant-client", "fastembed", "onnxruntime", "automerge", "grpcio", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured thing. `value`: median of `rounds`. `target`: the promise of the product ("" for none). `met`:
    whether the promise holds. `floor`: measured in the same run."""

    name: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None
    floor: str = ""
    rounds: tuple[float, ...] = field(default=())


def median_row(
    name: str,
    rounds: Sequence[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    floor: str = "",
) -> Row:
    """A row of the median, with the target that it is held to."""
    value = round(statistics.median(rounds), 4)
    target, met = "", None
    if at_most is not None:
        target, met = f"<= {at_most:g} {unit}", value <= at_most
    if at_least is not None:
        target, met = f">= {at_least:g} {unit}", value >= at_least
    shown = tuple(round(number, 4) for number in rounds[:ROUNDS_KEPT])
    return Row(name=name, value=value, unit=unit, target=target, met=met, floor=floor, rounds=shown)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(rows: Sequence[Row], console: Console) -> None:
    """The table for a person."""
    table = Table(title="Mnemesh on this machine (medians)", title_justify="left")
    for heading in ("what", "measured", "promised", "", "beside it"):
        table.add_column(heading, justify="right" if heading in ("measured", "promised") else "left", overflow="fold")
    for row in rows:
        verdict = "" if row.met is None else "ok" if row.met else "MISSED"
        table.add_row(row.name, f"{row.value:g} {row.unit}", row.target, verdict, row.floor)
    console.print(table)


def means(rows: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of every figure of the questions of each kind, and of all, with how many there were."""
    everything = [one for some in rows.values() for one in some]
    groups = {**{kind: rows[kind] for kind in sorted(rows)}, "all": everything}
    return {
        kind: {"n": len(some), **{name: round(statistics.fmean(one[name] for one in some), 4) for name in some[0]}}
        for kind, some in groups.items()
        if some
    }


def show_means(table: Mapping[str, Mapping[str, float]], kind: str, figures: Sequence[str], console: Console) -> None:
    """The figures of `means` as a table, one row a kind."""
    shown = Table(kind, "n", *figures)
    for name, row in table.items():
        shown.add_row(name, f"{row['n']:.0f}", *(f"{row[figure]:.3f}" for figure in figures))
    console.print(shown)


def write(rows: Sequence[Row], facts: dict[str, object], file: Path = RESULTS) -> Path:
    """Everything as JSON. `facts` tell of the machine and of the run."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {**facts, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return file


def machine(tree: Path = TREE) -> dict[str, object]:
    """Facts for a comparison: the machine, the libraries, the commit of the working `tree` and the code files that
    differ from the commit."""
    commit = _git(tree, "rev-parse", "HEAD")
    changed = _git(tree, "status", "--porcelain", "--untracked-files=all", "--no-renames", "--", *CODE)
    return {
        "cores": os.cpu_count(),
        "load_before": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version()
        + " built without optimisation" * plainly_built(sysconfig.get_config_vars()),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": commit.strip(),
        "changed_files": sorted(line[3:] for line in changed.splitlines()),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _git(tree: Path, *words: str) -> str:
    """The output of git; nothing outside of a clone."""
    command = ("git", "-C", str(tree), *words)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIT_TIMEOUT_S).stdout
