"""`make demo` shows the promised steps: a step fails when something else happens."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node_process import ended

REPOSITORY = Path(__file__).resolve().parents[3]
RUN_TIMEOUT_S = 240.0


async def test_the_demo_runs_to_its_end() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tools.demo", "--docstrings", "60",
        cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with ended(process):
        out, _ = await asyncio.wait_for(process.communicate(), RUN_TIMEOUT_S)
    said = out.decode()
    assert process.returncode == 0, said
    assert "the directory is removed" in said
