"""The compose file, really started: written to and read through its doors, cut in two and healed, backed up, restarted.

Wants a Docker engine that holds (or may fetch, with MNEMESH_TEST_DOCKER=pull) the base image of the Dockerfile; the
place of Qdrant is taken by the double of our tests. Skipped with the reason elsewhere. `make proof` runs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
STANDIN: Final = """FROM {image}
USER root
RUN mkdir -p /qdrant/storage && chown 1000:1000 /qdrant/storage
COPY qdrant_double.py qdrant_standin.py /standin/
ENTRYPOINT []
CMD ["python", "/standin/qdrant_standin.py"]
"""
PROJECT: Final = "mnemesh-proof"
BUILD_S, START_S, HEAL_S, CALL_S = 900, 300, 120, 60
pytestmark = [pytest.mark.proof, pytest.mark.timeout(BUILD_S + START_S + 4 * HEAL_S)]


def run(*words: str, timeout_s: float = CALL_S, ok: bool = True) -> str:
    """Output of a command, which has to succeed unless it need not be `ok`."""
    ended = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert not ok or ended.returncode == 0, f"{' '.join(words)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended.stdout


def compose_command() -> list[str]:
    if (
        subprocess.run(["docker", "compose", "version"], capture_output=True, timeout=CALL_S, check=False).returncode
        == 0
    ):
        return ["docker", "compose"]
    return ["docker-compose"]


def reason_to_skip() -> str:
    """Why containers can not be run here, "" when they can."""
    if shutil.which("docker") is None:
        return "no docker command"
    try:
        answered = subprocess.run(["docker", "info"], capture_output=True, timeout=CALL_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        answered = False
    if not answered:
        return "no Docker engine answers"
    if shutil.which(compose_command()[0]) is None:
        return "neither docker compose nor docker-compose"
    base = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.M)[0]
    here = subprocess.run(["docker", "image", "inspect", base], capture_output=True, timeout=CALL_S, check=False)
    if here.returncode and os.environ.get("MNEMESH_TEST_DOCKER") != "pull":
        return f"the engine has no {base}, and MNEMESH_TEST_DOCKER=pull was not said"
    return ""


class Composed:
    """The services of compose.yaml under a project of their own."""

    def __init__(self, folder: Path) -> None:
        services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
        services.pop("name")  # older composes refuse it
        for service in services["services"].values():
            service.pop("build", None)
        services["services"]["gateway"]["ports"] = []  # everything is asked inside
        self.image = services["services"]["gateway"]["image"]
        self.qdrant = services["services"]["qdrant"]["image"]
        self._file = folder / "compose.yaml"
        self._file.write_text(yaml.safe_dump(services))
        self._compose = [*compose_command(), "-p", PROJECT, "-f", str(self._file)]

    def compose(self, *words: str, timeout_s: float = CALL_S) -> str:
        return run(*self._compose, *words, timeout_s=timeout_s)

    def build(self, folder: Path) -> None:
        os.environ.setdefault("DOCKER_BUILDKIT", "0" if compose_command() == ["docker-compose"] else "1")
        run("docker", "build", "-t", self.image, str(ROOT), timeout_s=BUILD_S)
        folder.mkdir()
        (folder / "Dockerfile").write_text(STANDIN.format(image=self.image))
        for name in ("qdrant_double.py", "qdrant_standin.py"):
            shutil.copy(ROOT / "tests" / "support" / name, folder)
        run("docker", "build", "-t", self.qdrant, str(folder), timeout_s=BUILD_S)

    def container(self, service: str) -> str:
        return self.compose("ps", "-q", service).strip()

    def inside(self, *words: str, ok: bool = True) -> str:
        """Output of a command in the gateway."""
        return run("docker", "exec", self.container("gateway"), *words, ok=ok)

    def asked(self, *words: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.inside("mnemesh", *words, "--json"))
        return answer

    def health(self, service: str) -> str:
        return run("docker", "inspect", "-f", "{{.State.Health.Status}}", self.container(service), ok=False).strip()


def eventually(true: Callable[[], bool], within_s: float, what: str) -> None:
    """Wait for something that happens by itself; fail when it has not within `within_s`."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"{what} within {within_s} s"
        time.sleep(1)


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    if reason := reason_to_skip():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("compose")
    composed = Composed(folder)
    composed.build(folder / "standin")
    try:
        composed.compose("up", "-d", timeout_s=START_S)
        eventually(lambda: composed.health("gateway") == "healthy", START_S, "the gateway is healthy")
        yield composed
    finally:
        print(composed.compose("logs", "--tail", "40", "gateway"))
        composed.compose("down", "-v", timeout_s=START_S)


def remember(mesh: Composed, text: str) -> str:
    memory = mesh.asked("remember", text, "--space", "team/containers")["memory"]
    assert memory["content"] == text
    return str(memory["id"])


def test_it_starts_without_a_key_and_remembers_through_ray_and_the_qdrant_server(mesh: Composed) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{40,}\n", mesh.inside("cat", "/data/owner.token"))
    remember(mesh, "the harbour opens at seven")
    found = mesh.asked("recall", "when does the harbour open?", "--space", "team/containers")
    assert found["results"][0]["content"] == "the harbour opens at seven"
    status = mesh.asked("status")
    assert status["runtime"] == "ray"
    assert "qdrant:6333" in status["index"][0]["backend"]
    for service in ("gateway", "ray-head", "ray-worker-1"):
        assert run("docker", "exec", mesh.container(service), "id", "-u").strip() == "10001"


def test_writes_go_on_while_a_worker_is_cut_off_and_it_heals(mesh: Composed) -> None:
    before = remember(mesh, "said before the cut")
    worker, network = mesh.container("ray-worker-1"), f"{PROJECT}_mesh"
    run("docker", "network", "disconnect", network, worker)
    try:
        during = [remember(mesh, f"said while the worker is cut off, {n}") for n in range(20)]
    finally:
        run("docker", "network", "connect", "--alias", "ray-worker-1", network, worker)
    after = remember(mesh, "said after it healed")
    ids = [before, *during, after]
    listed = mesh.asked("list", "--space", "team/containers", "--limit", "100")["memories"]
    assert set(ids) <= {memory["id"] for memory in listed}
    eventually(lambda: mesh.health("ray-worker-1") == "healthy", HEAL_S, "the worker is healthy again")
    assert mesh.asked("status")["state"] == "ready"


def test_a_killed_gateway_comes_back_with_everything_and_can_be_backed_up(mesh: Composed) -> None:
    kept = remember(mesh, "acknowledged before the kill")
    pid = run("docker", "inspect", "-f", "{{.State.Pid}}", mesh.container("gateway")).strip()
    os.kill(int(pid), 9)
    restarts = ["docker", "inspect", "-f", "{{.RestartCount}}", mesh.container("gateway")]
    eventually(lambda: int(run(*restarts)) > 0, HEAL_S, "the gateway is started again")
    eventually(lambda: mesh.health("gateway") == "healthy", HEAL_S, "the gateway is healthy")
    assert "acknowledged before the kill" in mesh.inside("mnemesh", "get", kept)
    backup = mesh.asked("backup", "create")["backup"]
    verified = json.loads(mesh.inside("mnemesh", "backup", "verify", backup["path"], "--json"))
    assert verified["memories"] == backup["memories"] > 20
