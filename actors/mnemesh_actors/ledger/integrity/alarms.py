"""Alarms: what happened to a ledger's data that a person has to know of. They outlive restarts, until acknowledged.

A JSON list of texts beside the ledger, replaced whole. The node shows them first in its notices, the doctor as
findings.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from mnemesh_actors.storage.data_directory import replace_file

ALARMS_MAX = 20
FILE = "alarms.json"


def read(folder: Path) -> tuple[str, ...]:
    """The alarms of the ledger in `folder`, oldest first."""
    path = folder / FILE
    try:
        alarms = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError) as error:
        return (f"{path} can't be read ({error}): alarms of the ledger may have been in it",)
    return tuple(map(str, alarms)) if isinstance(alarms, list) else (f"{path} holds no list of alarms",)


def add(folder: Path, text: str) -> None:
    """Keep an alarm, durably. One that is there already moves to the end. Raises OSError."""
    alarms = [*(alarm for alarm in read(folder) if alarm != text), text][-ALARMS_MAX:]
    replace_file(folder / FILE, json.dumps(alarms, indent=1))


def acknowledging(ledger: Path) -> str:
    """The command that ends the alarms of the ledger at this path."""
    return f"mnemesh doctor --acknowledge --data {shlex.quote(str(ledger.parent.parent))}"


def acknowledge(folder: Path) -> int:
    """Remove all alarms: a person has read them. Returns how many there were. Raises OSError."""
    alarms = read(folder)
    (folder / FILE).unlink(missing_ok=True)
    return len(alarms)
