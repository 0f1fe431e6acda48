"""Programs from npm, in a temporary directory. A test skips, with the reason, where they can't be had.

No lock file is kept, because a lock file names a registry.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

INSTALL_S = 200.0


async def run(*command: str, cwd: Path, limit_s: float, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit code and output, with the diagnostics of a command that fails. A command is killed when its time is up."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=os.environ if env is None else env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, diagnostics = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        return -1, f"still running after {limit_s:g} s"
    assert process.returncode is not None
    return process.returncode, (output + (diagnostics if process.returncode else b"")).decode("utf-8", "replace")


async def install(directory: Path, packages: Mapping[str, str] | None = None, *, x86_64: bool = False) -> Path:
    """Install `packages`, each in its version, or those of package.json in `directory`. The folder node_modules.

    `x86_64`: the packages are built for Linux on x86-64 alone.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    if x86_64 and (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("the packages are for Linux on x86-64")
    if packages is not None:
        (directory / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
    command = (npm, "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
    code, output = await run(*command, cwd=directory, limit_s=INSTALL_S)
    if code:
        pytest.skip(f"npm could not install the packages: {output.strip()[-300:]}")
    return directory / "node_modules"
