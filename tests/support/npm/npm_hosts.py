"""Hosts of agents from npm, each in a home of its own with a program mnemesh and no way out of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from node_process import NodeUnderTest, ended
from npm_packages import install, run

# Of each host its package, version and program in the package.
PACKAGES = {
    "codex": ("@openai/codex", "0.169.0", "bin/codex.js"),
    "copilot": ("@github/copilot", "1.0.102", "npm-loader.js"),
    "opencode": ("opencode-linux-x64", "1.18.34", "bin/opencode"),
}
RUN_S = 90.0
# Nothing listens there: a host that asks for an update or sends a report gets no further.
NOWHERE = "http://127.0.0.1:9"


class HostFromNpm:
    """A host that is to have Mnemesh, in an empty project and with a space of its own."""

    def __init__(self, name: str, root: Path, node: NodeUnderTest, modules: Path) -> None:
        package, _, program = PACKAGES[name]
        self.name = name
        self.space = f"test/{uuid.uuid4().hex}"
        self.home = root / "home"
        self.project = root / "project"
        self._command = (*(("node",) if program.endswith(".js") else ()), str(modules / package / program))
        self._mnemesh = root / "bin" / "mnemesh"
        for folder in (self.home, self.project, self._mnemesh.parent):
            folder.mkdir()
        # A host hands its servers few variables, so the program itself says where its modules are.
        lines = (
            "import sys",
            f"sys.path[:0] = {sys.path!r}",
            "from mnemesh.entry import main",
            "raise SystemExit(main())",
        )
        self._mnemesh.write_text("\n".join((f"#!{sys.executable}", *lines, "")))
        self._mnemesh.chmod(0o755)
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "MNEMESH_DATA_DIR": str(node.data_dir),
            "MNEMESH_SPACE": self.space, "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost", "npm_config_offline": "true",
        }  # fmt: skip

    @classmethod
    async def installed(cls, name: str, root: Path, node: NodeUnderTest) -> HostFromNpm:
        """The host after its own installation. Skips the test, with the reason, where npm can't bring the package."""
        package, version, _ = PACKAGES[name]
        return cls(name, root, node, await install(root, {package: version}, x86_64=True))

    async def mnemesh(self, *words: str) -> str:
        return await self._ran((str(self._mnemesh), *words), self.environ)

    async def run(self, *words: str, **more: str) -> str:
        """The output of the host, with `more` in its environment."""
        return await self._ran((*self._command, *words), {**self.environ, **more})

    async def _ran(self, command: tuple[str, ...], environ: Mapping[str, str]) -> str:
        code, output = await run(*command, cwd=self.project, limit_s=RUN_S, env=environ)
        assert code == 0, output
        return output

    async def trust_hooks_of_codex(self) -> int:
        """Trust each hook by its hash, as /hooks does: Codex tells key and hash, and its settings keep them. How many
        there were."""
        process = await asyncio.create_subprocess_exec(
            *self._command, "app-server", cwd=self.project, env=self.environ,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 24,
        )  # fmt: skip
        async with ended(process), asyncio.timeout(RUN_S):
            told = await _hooks(process, self.project)
            await process.wait()
        assert {hook["trustStatus"] for hook in told} == {"untrusted"}
        tables = [f'[hooks.state.{json.dumps(hook["key"])}]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in told]
        settings = self.home / ".codex" / "config.toml"
        settings.write_text("\n".join((settings.read_text(), *tables)))
        return len(told)


async def _hooks(process: asyncio.subprocess.Process, project: Path) -> list[dict[str, Any]]:
    assert process.stdin is not None
    assert process.stdout is not None
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "title": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(project)]}},
    ]
    for message in asked:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    async for line in process.stdout:
        answer = json.loads(line)
        if answer.get("id") == 2:
            process.stdin.close()
            (listed,) = answer["result"]["data"]
            hooks: list[dict[str, Any]] = listed["hooks"]
            return hooks
    raise AssertionError("Codex ended without a list of its hooks")
