"""The log and the notices of a node, bad usage, and a slow Python."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from set_clock import Clock

from mnemesh_actors.notices import NOTICES_MAX, Notice, Notices
from mnemesh_gateway.__main__ import EXIT_USAGE, main
from mnemesh_gateway.doctor.installation import built
from mnemesh_gateway.doctor.interpreter import BARE, PLAIN, TOO_OLD, plainly_built
from mnemesh_gateway.node.node_log import LINES_KNOWN_MAX, LOG_FILES_OLD, REPEATS_MAX, WINDOW_S, Repeats

WRITER = """
import logging, os, sys
from pathlib import Path
from mnemesh_gateway.node import node_log
from mnemesh_gateway.node.settings import load
node_log.LOG_BYTES_MAX = 20_000
log = node_log.configure(load({"data_dir": sys.argv[1]}, {}))
for number in range(2_000):
    node_log.structlog.get_logger("x").info("line " + "abcdefghij"[number % 10] * (number % 60 + 1), filler="y" * 100)
os.write(2, b"a library writes past Python\\n")
"""


def test_a_line_that_comes_again_and_again_is_counted() -> None:
    clock = Clock(0.0)
    repeats = Repeats(clock)
    line = "asyncio: socket.accept() out of system resource\nsocket: <socket fd={}>"
    admitted = sum(repeats.admits(line.format(number))[0] for number in range(12_345 + REPEATS_MAX))
    assert admitted == REPEATS_MAX
    assert repeats.flush() == []
    clock.now = WINDOW_S
    assert repeats.flush() == ["... and 12,345 more in 60 s: asyncio: socket.accept() out of system resource"]
    assert repeats.admits(line) == (True, [])


def test_numbers_do_not_make_another_line_of_it_and_words_do() -> None:
    repeats = Repeats(Clock(0.0))
    assert sum(repeats.admits(f"Task-{number} failed at 0x{number:x}")[0] for number in range(100)) == REPEATS_MAX
    assert repeats.admits("something else happened") == (True, [])


def test_the_count_is_told_before_the_next_line_whatever_that_is() -> None:
    clock = Clock(0.0)
    repeats = Repeats(clock)
    for _ in range(REPEATS_MAX + 7):
        repeats.admits("the same")
    clock.now = WINDOW_S
    assert repeats.admits("another") == (True, ["... and 7 more in 60 s: the same"])


def test_lines_that_somebody_makes_up_are_counted_together() -> None:
    repeats = Repeats(Clock(0.0))
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


# ---- notices ---------------------------------------------------------------------------------------------------------
# A node's notices to a person: each subject once, the latest last, and no outdated notice.


def test_what_is_told_again_stands_once_and_last() -> None:
    notices = Notices()
    for text in ("index away", "index back", "index away"):
        notices(text)
    assert list(notices) == ["index back", "index away"]


def test_of_one_subject_the_later_takes_the_place_of_the_earlier() -> None:
    notices = Notices()
    notices("embedded with one", "model")
    notices("index away")
    notices("embedded with other", "model")
    assert list(notices) == ["index away", "embedded with other"]


def test_of_very_many_the_latest_are_kept() -> None:
    notices = Notices()
    for number in range(NOTICES_MAX + 3):
        notices(str(number))
    assert list(notices) == [str(number) for number in range(3, NOTICES_MAX + 3)]


def test_of_a_subject_the_latest_is_kept_and_an_empty_text_takes_it_back() -> None:
    notices = Notices()
    notices("the disk is slow")
    notices(Notice("index", "index away: no answer"))
    notices(Notice("index", "index back: 3 entries to take in"))
    assert list(notices) == ["the disk is slow", "index back: 3 entries to take in"]
    notices(Notice("index", ""))
    notices(Notice("ledger", ""))
    assert list(notices) == ["the disk is slow"]


# ---- usage -----------------------------------------------------------------------------------------------------------
# Bad usage of the gateway's programs is told as the command line tells it.


WRONG = [
    ("up", "--foo", "3"),
    ("doctor", "--foo"),
    ("node", "salvage"),
    ("node", "nonsense"),
    ("backup", "load", "--foo", "file"),
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_bad_usage_is_one_line_and_where_help_is(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == EXIT_USAGE
    out, err = capsys.readouterr()
    said, help_ = err.splitlines()
    assert (out, said.startswith("mnemesh: "), help_.startswith(f"Try `mnemesh {words[0]}")) == ("", True, True)


@pytest.mark.parametrize("words", WRONG[1:], ids=" ".join)
def test_with_json_bad_usage_is_one_object(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main((*words, "--json")) == EXIT_USAGE
    out, err = capsys.readouterr()
    assert (json.loads(out)["error"]["code"], err) == ("INVALID_ARGUMENT", "")


# ---- python build ----------------------------------------------------------------------------------------------------
# The Python of a clone, and the doctor's remark on a slow Python.


ROOT = Path(__file__).resolve().parents[3]
CHOOSE = ROOT / "tools" / "choose_python.sh"
USES = {"PGO_PROF_USE_FLAG": "-fprofile-use -fprofile-correction"}


@pytest.mark.parametrize(
    ("variables", "plain"),
    [
        ({**USES, "CONFIG_ARGS": "'--prefix=/home/me/.pyenv/versions/3.11.7' '--enable-shared'"}, True),
        ({**USES, "CONFIG_ARGS": "'--enable-optimizations' '--with-lto'"}, False),
        ({"PGO_PROF_USE_FLAG": "", "CONFIG_ARGS": "'--enable-shared' '--prefix=/usr'"}, False),  # Debian
        ({"CONFIG_ARGS": None}, False),  # Windows
        ({}, False),
    ],
)
def test_a_build_without_its_profile_is_told_by_its_options(variables: dict[str, str | None], plain: bool) -> None:
    assert plainly_built(variables) is plain


def test_the_doctor_remarks_on_a_slow_python_and_says_how_to_get_another() -> None:
    (said,) = built({**USES, "CONFIG_ARGS": ""})
    assert said.remark
    assert "without optimisation" in said.problem
    assert "--enable-optimizations" in said.fix
    assert built({}) == []


def test_the_program_that_make_asks_says_the_same_of_this_python() -> None:
    program = ROOT / "gateway/mnemesh_gateway/doctor/interpreter.py"
    done = subprocess.run([sys.executable, "-I", str(program)], timeout=60, check=False)
    assert done.returncode == (PLAIN if plainly_built(sysconfig.get_config_vars()) else 0)


@pytest.mark.parametrize(
    ("codes", "chosen"),
    [
        ({"python3": 0, "python3.13": 0}, "python3"),
        ({"python3": PLAIN, "python3.12": 0}, "python3.12"),
        ({"python3": BARE, "python3.13": TOO_OLD, "python3.12": PLAIN, "python3.11": PLAIN}, "python3.12"),
        ({"python3": 1, "python3.11": BARE}, "python3.11"),
        ({"python3": TOO_OLD}, ""),
    ],
)
def test_the_first_optimised_python_is_chosen_then_a_slow_one_then_one_without_pip(
    tmp_path: Path, codes: dict[str, int], chosen: str
) -> None:
    for name, code in codes.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n", "utf-8")
        (tmp_path / name).chmod(0o700)
    (tmp_path / "choose").write_text(CHOOSE.read_text("utf-8").replace(" /usr/bin/python3;", ";"), "utf-8")
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "choose")],
        cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == chosen
