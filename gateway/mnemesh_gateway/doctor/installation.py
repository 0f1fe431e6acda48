"""Whether the libraries of a node are there, in the versions that were tested. Imports none of them.

`automerge` above all: without an exact version its name resolves to a package of another author.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mnemesh_gateway.doctor.interpreter import plainly_built


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One fault: the check, the problem and the remedy. A `remark` is none: it is worth knowing, and there is nothing
    to mend."""

    check: str
    problem: str
    fix: str
    remark: bool = False


def installation(runtime: str, qdrant: bool = False) -> tuple[list[DoctorFinding], bool]:
    """The faults of the installation, and whether a library is missing altogether."""
    findings, missing = [], False
    try:
        lines = importlib.metadata.requires("mnemesh") or []
    except importlib.metadata.PackageNotFoundError:
        return [
            DoctorFinding("installation", "mnemesh runs from its sources without being installed", "make setup")
        ], False
    extras = {"node", *["cluster"] * (runtime == "ray"), *["qdrant"] * qdrant}
    for name, pinned, extra in _needed(lines, extras):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            fix = f"pip install 'mnemesh[{extra}]' (in a clone: make setup)"
            findings.append(DoctorFinding("installation", f"{name} is not installed", fix))
            missing = True
            continue
        if pinned and version != pinned:
            stub = " (0.1.2 is a stub of another author)" if name == "automerge" else ""
            problem = f"{name} {version} is installed{stub}, {pinned} is needed"
            findings.append(DoctorFinding("installation", problem, f"pip install '{name}=={pinned}'"))
    return findings, missing


def built(variables: Mapping[str, Any] | None = None) -> list[DoctorFinding]:
    """A remark when this Python, built with `variables` of sysconfig, is a slow one."""
    if not plainly_built(sysconfig.get_config_vars() if variables is None else variables):
        return []
    problem = f"Python {platform.python_version()} was built without optimisation, and takes half as long again"
    fix = (
        "an optimised one is in most distributions; pyenv makes one with PYTHON_CONFIGURE_OPTS=--enable-optimizations "
        "pyenv install (then make clean setup PYTHON=...)"
    )
    return [DoctorFinding("installation", problem, fix, remark=True)]


def _needed(lines: list[str], extras: set[str]) -> Iterator[tuple[str, str, str]]:
    """Name, exact version or "", and extra of each requirement of `extras` (PEP 508 as packages record it)."""
    for line in lines:
        requirement, _, condition = line.partition(";")
        extra = re.search(r"extra == ['\"](\w+)['\"]", condition)
        if extra and extra.group(1) in extras:
            name, _, pinned = requirement.strip().partition("==")
            yield re.split(r"[<>=~!\[ ]", name)[0], pinned.strip(), extra.group(1)
