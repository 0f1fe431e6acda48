"""The log of a node is bounded: what comes again and again is counted, and a full file gives way to a new one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mnemesh_gateway.node.node_log import LINES_KNOWN_MAX, LOG_FILES_OLD, REPEATS_MAX, WINDOW_S, Repeats

WRITER = """
import logging, os, sys
from pathlib import Path
from mnemesh_gateway.node import node_log
from mnemesh_gateway.node.settings import load
node_log.LOG_BYTES_MAX = 20_000
node_log.LogFile.__init__.__defaults__ = (20_000,)
log = node_log.configure(load({"data_dir": sys.argv[1]}, {}))
for number in range(2_000):
    node_log.structlog.get_logger("x").info("line " + "abcdefghij"[number % 10] * (number % 60 + 1), filler="y" * 100)
os.write(2, b"a library writes past Python\\n")
"""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_that_comes_again_and_again_is_counted() -> None:
    clock = Clock()
    repeats = Repeats(clock)
    line = "asyncio: socket.accept() out of system resource\nsocket: <socket fd={}>"
    admitted = sum(repeats.admits(line.format(number))[0] for number in range(12_345 + REPEATS_MAX))
    assert admitted == REPEATS_MAX
    assert repeats.flush() == []
    clock.now = WINDOW_S
    assert repeats.flush() == ["... and 12,345 more in 60 s: asyncio: socket.accept() out of system resource"]
    assert repeats.admits(line) == (True, [])


def test_numbers_do_not_make_another_line_of_it_and_words_do() -> None:
    repeats = Repeats(Clock())
    assert sum(repeats.admits(f"Task-{number} failed at 0x{number:x}")[0] for number in range(100)) == REPEATS_MAX
    assert repeats.admits("something else happened") == (True, [])


def test_the_count_is_told_before_the_next_line_whatever_that_is() -> None:
    clock = Clock()
    repeats = Repeats(clock)
    for _ in range(REPEATS_MAX + 7):
        repeats.admits("the same")
    clock.now = WINDOW_S
    assert repeats.admits("another") == (True, ["... and 7 more in 60 s: the same"])


def test_lines_that_somebody_makes_up_are_counted_together() -> None:
    repeats = Repeats(Clock())
    words = (
        "".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(20 * LINES_KNOWN_MAX)
    )
    assert sum(repeats.admits(word)[0] for word in words) <= LINES_KNOWN_MAX + REPEATS_MAX


def test_a_full_log_of_a_node_in_the_background_is_renamed_and_few_old_ones_stay(tmp_path: Path) -> None:
    with (tmp_path / "node.log").open("ab") as log:
        subprocess.run((sys.executable, "-c", WRITER, str(tmp_path)), stdout=log, stderr=log, check=True, timeout=60)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["node.log", *(f"node.log.{number}" for number in range(1, LOG_FILES_OLD + 1))]
    assert all(path.stat().st_size < 40_000 for path in tmp_path.iterdir())
    assert (tmp_path / "node.log").read_text().endswith("a library writes past Python\n")


def test_standard_error_that_is_another_file_is_left_alone(tmp_path: Path) -> None:
    with (tmp_path / "elsewhere").open("ab") as log:
        subprocess.run((sys.executable, "-c", WRITER, str(tmp_path)), stdout=log, stderr=log, check=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    assert (tmp_path / "elsewhere").stat().st_size > 20_000
