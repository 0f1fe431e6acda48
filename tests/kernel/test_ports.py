"""Actor boundaries are typed: mypy sees through a handle, and each actor fits its port."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = """
from mnemesh_actors.ports import LedgerPort, LedgerRead
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.replication.replicated_ledger import ReplicatedLedger
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_actors.runtime.ray import RayHandle


class Renamed(Ledger):
    stats = None


async def ask(
    ledger: Handle[LedgerRead], here: LocalHandle[LedgerPort], there: RayHandle[LedgerPort], two: ReplicatedLedger
) -> None:
"""
WRONG = {
    "await ledger.renamed([])": '"LedgerRead" has no attribute "renamed"',
    "await ledger.commit([])": '"LedgerRead" has no attribute "commit"',
    "await ledger.read(1)": 'Argument 1 to "read" of "LedgerRead" has incompatible type "int"',
    "(await ledger.status()).sequence": '"LedgerStatus" has no attribute "sequence"',
    "ledger.status().seq": 'has no attribute "seq"',
    "await here.renamed()": '"LedgerPort" has no attribute "renamed"',
    "await there.renamed()": '"LedgerPort" has no attribute "renamed"',
    "await two.renamed()": '"LedgerPort" has no attribute "renamed"',
    "wrong: type[LedgerPort] = Renamed": "Incompatible types in assignment",
}
RIGHT = (
    "(await ledger.read(['a']))['a'].content",
    "(await two.stats([])).memories",
    "port: type[LedgerPort] = Ledger",
    "wide: Handle[LedgerRead] = here",
)


@pytest.mark.timeout(300)
def test_a_call_through_a_handle_is_checked_against_the_port_of_its_actor(tmp_path: Path) -> None:
    source = tmp_path / "calls.py"
    head = HEAD.replace("stats = None", "stats = None  # type: ignore[assignment]")
    lines = [*RIGHT, *WRONG]
    source.write_text(head + "".join(f"    {line}\n" for line in lines), "utf-8")
    first = head.count("\n") + 1
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(source)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False).stdout
    errors = {int(line.split(":")[1]): line for line in told.splitlines() if ": error: " in line}
    assert sorted(errors) == [first + len(RIGHT) + at for at in range(len(WRONG))], told
    for at, (call, error) in enumerate(WRONG.items()):
        assert error in errors[first + len(RIGHT) + at], (call, told)
