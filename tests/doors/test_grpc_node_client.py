"""Another language, another implementation: Node.js with @grpc/grpc-js and the .proto files only.

Skipped with the reason where Node.js, npm or the packages can't be had. Everything happens in a temporary
directory; versions are pinned in package.json, and no lock file is kept, because it would name a registry.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from door_clients import TOKEN, Doors, open_grpc
from google.rpc import status_pb2

HERE = Path(__file__).parent
PROTO_ROOT = HERE.parent.parent / "proto"
INSTALL_S = 90.0
RUN_S = 60.0


async def run(*command: str, cwd: Path, limit_s: float) -> tuple[int, str]:
    """Exit code and all output; the process is killed when its time is up."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=dict(os.environ)
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        return -1, f"still running after {limit_s:g} s"
    assert process.returncode is not None
    return process.returncode, output.decode("utf-8", "replace")


@pytest.mark.timeout(INSTALL_S + RUN_S + 10)
async def test_a_node_js_client_remembers_recalls_and_reads_rich_errors(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js and npm are not installed")
    for name in ("package.json", "client.mjs"):
        shutil.copy(HERE / "node_client" / name, tmp_path)
    code, output = await run(
        npm, "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund",
        cwd=tmp_path, limit_s=INSTALL_S,
    )  # fmt: skip
    if code != 0:
        pytest.skip(f"npm could not install @grpc/grpc-js: {output.strip()[-300:]}")
    googleapis = Path(status_pb2.__file__).parent.parent.parent
    async with open_grpc(Doors()) as client:
        code, output = await run(
            node, "client.mjs", f"127.0.0.1:{client.port}", TOKEN, str(PROTO_ROOT), str(googleapis),
            cwd=tmp_path, limit_s=RUN_S,
        )  # fmt: skip
    assert code == 0, output
    assert output.startswith("ok: 1 exported, 1 recalled")
