"""Another language, another implementation: Node.js with @grpc/grpc-js and the .proto files only.

Skipped with the reason where Node.js, npm or the packages can't be had. package.json pins the versions.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from door_clients import TOKEN, Doors, open_grpc
from google.rpc import status_pb2
from npm_packages import INSTALL_S, install, run

HERE = Path(__file__).parents[1]
PROTO_ROOT = HERE.parent.parent / "proto"
RUN_S = 60.0


@pytest.mark.timeout(INSTALL_S + RUN_S + 10)
async def test_a_node_js_client_remembers_recalls_and_reads_rich_errors(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    for name in ("package.json", "client.mjs"):
        shutil.copy(HERE / "node_client" / name, tmp_path)
    await install(tmp_path)
    googleapis = Path(status_pb2.__file__).parent.parent.parent
    async with open_grpc(Doors()) as client:
        code, output = await run(
            node, "client.mjs", f"127.0.0.1:{client.port}", TOKEN, str(PROTO_ROOT), str(googleapis),
            cwd=tmp_path, limit_s=RUN_S,
        )  # fmt: skip
    assert code == 0, output
    assert output.startswith("ok: 1 exported, 1 recalled")
