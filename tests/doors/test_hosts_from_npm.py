"""Real hosts read the settings that `mnemesh install` writes: Codex, Copilot CLI and OpenCode list the server.

Skipped with the reason where npm, a package or its platform can't be had.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from node_process import NodeUnderTest
from npm_packages import INSTALL_S, install, run

# Of each host its package, version and program in the package, and the words that list servers.
HOSTS = {
    "codex": ("@openai/codex", "0.169.0", "bin/codex.js", ("mcp", "list")),
    "copilot": ("@github/copilot", "1.0.102", "npm-loader.js", ("mcp", "list")),
    "opencode": ("opencode-linux-x64", "1.18.34", "bin/opencode", ("mcp", "list")),
}
# Hosts whose programs no package of npm holds. A package of a like name is somebody else's.
NOT_ON_NPM = {
    "cursor": "Cursor and cursor-agent come from cursor.com alone; cursor-agent on npm is another program",
    "vscode": "VS Code comes from its own servers; @vscode/test-electron on npm only downloads from there",
    "antigravity": "Antigravity comes from its own servers; antigravity on npm is an empty package",
}
RUN_S = 90.0

pytestmark = [
    pytest.mark.proof,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(INSTALL_S + 4 * RUN_S),
]


@pytest.mark.parametrize("name", [*HOSTS, *NOT_ON_NPM])
async def test_a_real_host_lists_the_server(name: str, shared_node: NodeUnderTest, tmp_path: Path) -> None:
    if name in NOT_ON_NPM:
        pytest.skip(NOT_ON_NPM[name])
    package, version, program, words = HOSTS[name]
    modules = await install(tmp_path, {package: version}, x86_64=True)
    ours = tmp_path / "bin" / "mnemesh"
    ours.parent.mkdir()
    ours.write_text(f"#!{sys.executable}\nfrom mnemesh.entry import main\nraise SystemExit(main())\n")
    ours.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(home), "MNEMESH_DATA_DIR": str(shared_node.data_dir),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    code, output = await run(str(ours), "install", name, cwd=home, limit_s=RUN_S, env=environ)
    assert code == 0, output
    runner = ("node",) if program.endswith(".js") else ()
    command = (*runner, str(modules / package / program), *words)
    code, output = await run(*command, cwd=home, limit_s=RUN_S, env=environ)
    assert code == 0, output
    assert "mnemesh" in output
    code, output = await run(str(ours), "uninstall", name, cwd=home, limit_s=RUN_S, env=environ)
    assert code == 0, output
    code, output = await run(*command, cwd=home, limit_s=RUN_S, env=environ)
    assert "mnemesh" not in output
