"""Actor boundaries are typed: mypy sees through a handle, each actor fits its port, and the table has each actor."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnemesh_actors import actor_table

ROOT = Path(__file__).resolve().parents[3]
HEAD = """
from mnemesh_actors.actor_table import LEDGER, PINNED, ActorRow
from mnemesh_actors.ports import LedgerPort, LedgerRead
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.replication.replicated_ledger import ReplicatedLedger
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.local import LocalHandle, LocalRuntime
from mnemesh_actors.runtime.ray import RayHandle


class Renamed(Ledger):
    stats = None  # type: ignore[assignment]


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
    "ActorRow[LedgerPort]('ledger', Renamed, PINNED, True)": 'incompatible type "type[Renamed]"',
    "await LEDGER.spawn(LocalRuntime(), 'path', 'key', 'node', None)": 'Argument 5 to "spawn" of "ActorRow"',
    "await LocalRuntime().spawn('ledger-0', Ledger, 'path', 'key', 7)": 'incompatible type "type[Ledger]"',
    "await two._call(LedgerPort.known, [''])": 'expected "Callable[[LedgerPort, list[str]]',
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
    source.write_text(HEAD + "".join(f"    {line}\n" for line in (*RIGHT, *WRONG)), "utf-8")
    first = HEAD.count("\n") + 1
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(source)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False).stdout
    errors = {int(line.split(":")[1]): line for line in told.splitlines() if ": error: " in line}
    assert sorted(errors) == [first + len(RIGHT) + at for at in range(len(WRONG))], told
    for at, (call, error) in enumerate(WRONG.items()):
        assert error in errors[first + len(RIGHT) + at], (call, told)


def test_each_actor_is_a_row_of_the_table_and_each_row_is_spawned_by_some_part_of_a_node() -> None:
    rows = {name: row for name, row in vars(actor_table).items() if isinstance(row, actor_table.ActorRow)}
    assert set(rows.values()) == set(actor_table.ACTORS)
    parts = "".join(path.read_text("utf-8") for path in Path(actor_table.__file__).parent.glob("*/**/*.py"))
    assert set(re.findall(r"(\w+)\.spawn(?:_here|_each)?\(", parts)) == {*rows, "_here"}  # Ray's runtime has its own
