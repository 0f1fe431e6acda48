"""The commands of README.md and docs/doors.md run as printed, against a real node on ports of the test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from node_process import NodeUnderTest, start_node, stop_node

ROOT = Path(__file__).resolve().parents[3]
BLOCK_TIMEOUT_S = 200.0
FENCE = re.compile(r"^```(\w+)( npm)?\n(.*?)^```", re.M | re.S)


def blocks() -> list[tuple[str, bool, str]]:
    """(language, wants npm, text) of each block that a reader would run, the two make commands left out."""
    pages = "".join((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/doors.md"))
    found = [
        (language, bool(npm), text) for language, npm, text in FENCE.findall(pages) if language in ("sh", "python")
    ]
    return [block for block in found if "make up" not in block[2]]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeUnderTest]:
    started = await start_node(tmp_path / "data")
    yield started
    await stop_node(started)


def run(language: str, text: str, node: NodeUnderTest, cwd: Path) -> str:
    """What one block prints, with this environment's programs first on the path, as in the README's first step."""
    text = text.replace("127.0.0.1:7433", node.grpc).replace("127.0.0.1:7434", node.http)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = ["bash", "-euc", text] if language == "sh" else [sys.executable, "-c", text]
    ran = subprocess.run(
        command, cwd=cwd, env={**clean, "PATH": path, "MNEMESH_DATA_DIR": str(node.data_dir)},
        capture_output=True, text=True, timeout=BLOCK_TIMEOUT_S, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{text}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    return ran.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A git work tree for the blocks, which may leave files there. The tree gives the project a space."""
    target = tmp_path / "clone"
    (target / ".git").mkdir(parents=True)
    for name in ("docs", "proto"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "buf.yaml", target)
    (target / "tools").mkdir()
    if (ROOT / "tools" / "node_modules").exists():
        (target / "tools" / "node_modules").symlink_to(ROOT / "tools" / "node_modules")
    return target


def npm_reaches_a_registry() -> bool:
    asked = ["npm", "view", "@grpc/grpc-js", "version"]
    return subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode == 0


async def test_the_pages_commands_work_as_printed_and_a_second_time(node: NodeUnderTest, clone: Path) -> None:
    printed = {"python": "", "mnemesh": "", "curl": ""}
    for language, npm, text in blocks() * 2:
        if not npm:
            program = language if language == "python" else "curl" if "curl" in text else "mnemesh"
            printed[program] += run(language, text, node, clone)
    assert "Deploys of the payment service run from CI only" in printed["mnemesh"]
    assert "The staging database is refreshed every Monday" in printed["python"]
    assert "on-call rota" in printed["curl"]
    assert "Deploys of the payment service run from CI only" in printed["curl"]
    assert (clone / "memories.jsonl").read_text("utf-8").count("\n") > 5


async def test_the_conversation_in_the_readme_is_what_the_node_answers(node: NodeUnderTest, tmp_path: Path) -> None:
    (tmp_path / ".mnemesh.toml").write_text('space = "acme/payments"\n', "utf-8")
    (told,) = re.findall(r"^```text\n(\$ export .*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    parts = re.split(r"^\$ (.*)\n", told, flags=re.M)[1:]
    steps = [step for step in zip(parts[::2], parts[1::2], strict=True) if step[1]]
    answers = "".join(run("sh", said, node, tmp_path) for said, _ in steps)
    own = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|\d{4}-\d\d-\d\d")  # ids and days
    printed, shown = (own.sub("", text).split() for text in ("".join(answer for _, answer in steps), answers))
    assert len(steps) == 5
    for word, answered in zip(printed, shown, strict=True):  # processors round the model's figures differently
        assert word == answered or abs(float(word.rstrip(")")) - float(answered.rstrip(")"))) <= 0.03


@pytest.mark.skipif(
    shutil.which("npm") is None or not (ROOT / "tools/node_modules/.bin/buf").exists(),
    reason="buf is not installed here; `make proto-check` installs it",
)
async def test_the_pages_commands_from_npm_work_as_printed(node: NodeUnderTest, clone: Path) -> None:
    if not npm_reaches_a_registry():
        pytest.skip("npm reaches no registry here")
    run("sh", 'mnemesh remember "Deploys of the payment service run from CI only"', node, clone)
    printed = ""
    for language, npm, text in blocks():
        if npm:
            printed += run(language, text, node, clone)
    assert "run from CI only" in printed
    assert "The JavaScript client speaks gRPC." in printed
