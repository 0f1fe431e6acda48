"""`python -m bench.command_start`: the processor time of a command, hook or status line beside a bare interpreter's.

A node runs in a process of its own and is not measured. The programs take turns, so that a busy machine slows all of
them. The result is the ratio of medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.node import NodeProcess

from mnemesh import Client

ROUNDS: Final = 21
BARE: Final = ("-c", "pass")
HOOK: Final = "mnemesh hook"
STATUS_LINE: Final = "mnemesh statusline"
# The input of every program: a prompt as a host tells it.
GIVEN: Final = b'{"session_id": "", "prompt": "how do we deploy?"}'
VERSION_RATIO_MAX: Final = 6.0
RECALL_RATIO_MAX: Final = 15.0
# A host starts these at every prompt, and whenever it draws its status line.
HOOK_RATIO_MAX: Final = 4.0
# An installed package has byte code, so a variable that forbids to write any does not count here.
ENVIRON: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def processor_s(words: Sequence[str]) -> float:
    """The processor time of the interpreter with `words`, user and system together. Raises RuntimeError."""
    with tempfile.TemporaryFile() as given:
        given.write(GIVEN)
        given.seek(0)
        streams = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0)]
        process = os.posix_spawn(sys.executable, [sys.executable, *words], ENVIRON, file_actions=streams)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def medians(programs: dict[str, Sequence[str]], rounds: int) -> dict[str, float]:
    """The median processor time of each program. The programs take turns for `rounds` rounds after a round of warming
    up."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds + 1):
        for name, words in programs.items():
            times[name].append(processor_s(words))
    return {name: statistics.median(samples[1:]) for name, samples in times.items()}


def main(argv: Sequence[str]) -> int:
    """Print the times and ratios; 1 when a ratio is above its limit."""
    parser = argparse.ArgumentParser(description="Processor time of commands beside a bare interpreter.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args(argv).rounds
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder, NodeProcess(Path(folder)) as node:
        with Client(node.address.grpc, node.token) as client:
            client.remember("Deploys run from CI only", kind="decision")
        recall = ("-m", "mnemesh", "recall", "how do we deploy?", "--data", folder)
        programs: dict[str, Sequence[str]] = {
            "bare interpreter": BARE, "mnemesh --version": ("-m", "mnemesh", "--version"),
            "mnemesh recall": recall, "mnemesh recall --json": (*recall, "--json"),
            HOOK: ("-m", "mnemesh", "hook", "claude-code", "UserPromptSubmit", "--data", folder),
            STATUS_LINE: ("-m", "mnemesh", "statusline", "--data", folder),
        }  # fmt: skip
        times = medians(programs, rounds)
    limits = {"mnemesh --version": VERSION_RATIO_MAX, HOOK: HOOK_RATIO_MAX, STATUS_LINE: HOOK_RATIO_MAX}
    bare = times.pop("bare interpreter")
    print(f"bare interpreter: {bare * 1000:.1f} ms, median of {rounds}")
    missed = False
    for name, seconds in times.items():
        limit = limits.get(name, RECALL_RATIO_MAX)
        missed = missed or seconds / bare > limit
        print(f"{name}: {seconds * 1000:.1f} ms, {seconds / bare:.1f} times (at most {limit:g})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
