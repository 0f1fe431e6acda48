"""Nodes on a disk with faults: the library of fault_shim.c, built once, and the words that preload it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import dataclass
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fault_shim.c")
BUILD_S = 60.0
POWER_CUT = 0
# Up to which call of a kind a fault may wait, so that most come while the node starts or writes.
CALLS = {"write": 80, "sync": 25, "allocate": 3, "truncate": 6, "rename": 6, "open": 12}
FOR_GOOD = 1 << 30


@dataclass(frozen=True)
class Fault:
    """From the `number`-th `call` on, `count` of them fail with `error`; POWER_CUT ends the process there."""

    call: str
    number: int
    error: int
    count: int

    def __str__(self) -> str:
        return f"{self.call} {self.number} {self.error} {self.count}"


def fault_of(chance: random.Random) -> Fault:
    """A fault that chance gives."""
    call = chance.choice(list(CALLS))
    error = chance.choice((EIO, ENOSPC, POWER_CUT))
    return Fault(call, chance.randint(1, CALLS[call]), error, chance.choice((1, 20, FOR_GOOD)))


def built_shim(folder: Path) -> Path:
    """The library; skips, with the reason, where no compiler is."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here; on Debian: apt-get install gcc libc6-dev")
    library = folder / "fault_shim.so"
    words = (compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library), str(SOURCE), "-ldl")
    subprocess.run(words, check=True, timeout=BUILD_S)
    return library


def preloaded(library: Path, data_dir: Path, fault: Fault) -> tuple[str, ...]:
    """The words before the command of a node whose data directory is to have that fault."""
    data_dir.mkdir(exist_ok=True)
    plan = data_dir.with_suffix(".plan")
    plan.write_text(f"{fault}\n")
    around = {"LD_PRELOAD": library, "MNEMESH_TEST_FAULTS_DIR": data_dir, "MNEMESH_TEST_FAULTS_PLAN": plan}
    return ("env", *(f"{name}={os.fspath(value)}" for name, value in around.items()))
