"""The Python of a clone, and the doctor's remark on a slow Python."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mnemesh_gateway.doctor.installation import built
from mnemesh_gateway.doctor.interpreter import BARE, PLAIN, TOO_OLD, plainly_built

ROOT = Path(__file__).resolve().parents[2]
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
def test_a_build_without_its_profile_is_told_by_what_it_was_configured_with(
    variables: dict[str, str | None], plain: bool
) -> None:
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
