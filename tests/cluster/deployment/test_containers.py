"""The compose file, really started: used from the host, cut in two and healed, killed, backed up, taken down.

Wants a Docker engine that holds the base image of the Dockerfile, or may fetch it with MNEMESH_TEST_DOCKER=pull. The
double of our tests takes the place of Qdrant. Skipped with the reason elsewhere. `make proof` runs the file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mnemesh import Client, MnemeshError

ROOT: Final = Path(__file__).resolve().parents[3]
STANDIN: Final = """FROM {image}
USER root
RUN mkdir -p /qdrant/storage && chown 1000:1000 /qdrant/storage
COPY qdrant_double.py qdrant_standin.py /standin/
ENTRYPOINT []
CMD ["python", "/standin/qdrant_standin.py"]
"""
PROJECT: Final = "mnemesh-proof"
BUILD_S, START_S, HEAL_S, CALL_S = 900, 300, 180, 60
# Longer than Ray needs to give a worker up and to start its actors elsewhere, on a machine with other work.
CUT_S: Final = 45.0
SPACE: Final = "team/containers"
NONE: Final[Mapping[str, str]] = {}
MEMBERS: Final = (
    "import ray; ray.init('auto', log_to_driver=False); print([n['NodeName'] for n in ray.nodes() if n['Alive']])"
)
pytestmark = [pytest.mark.proof, pytest.mark.timeout(BUILD_S + START_S + 4 * HEAL_S)]


def run(*words: str, timeout_s: float = CALL_S, ok: bool = True, variables: Mapping[str, str] = NONE) -> str:
    """Output of a command, which has to succeed unless it need not be `ok`."""
    environ = {**os.environ, **variables}
    ended = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False, env=environ)
    assert not ok or ended.returncode == 0, f"{' '.join(words)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended.stdout


def runs(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, timeout=CALL_S, check=False).returncode == 0


def compose_command() -> list[str]:
    return ["docker", "compose"] if runs("docker", "compose", "version") else ["docker-compose"]


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on; a node of ours may well have the usual ones."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


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
        self.image = services["services"]["gateway"]["image"]
        self.qdrant = services["services"]["qdrant"]["image"]
        self._file = folder / "compose.yaml"
        self._file.write_text(yaml.safe_dump(services))
        self._compose = [*compose_command(), "-p", PROJECT, "-f", str(self._file)]
        grpc, http = free_ports(2)
        self._ports = {"PUBLISHED_GRPC_PORT": str(grpc), "PUBLISHED_HTTP_PORT": str(http)}
        self.endpoint = f"127.0.0.1:{grpc}"
        self.http = f"http://127.0.0.1:{http}"

    def compose(self, *words: str, timeout_s: float = CALL_S) -> str:
        return run(*self._compose, *words, timeout_s=timeout_s, variables=self._ports)

    def build(self, folder: Path) -> None:
        kit = {"DOCKER_BUILDKIT": "1" if runs("docker", "buildx", "version") else "0"}
        run("docker", "build", "-t", self.image, str(ROOT), timeout_s=BUILD_S, variables=kit)
        folder.mkdir()
        (folder / "Dockerfile").write_text(STANDIN.format(image=self.image))
        for name in ("qdrant_double.py", "qdrant_standin.py"):
            shutil.copy(ROOT / "tests" / "support" / "stores" / name, folder)
        run("docker", "build", "-t", self.qdrant, str(folder), timeout_s=BUILD_S, variables=kit)

    def up(self) -> float:
        """Start what is not there yet; seconds until the doors are open."""
        began = time.monotonic()
        self.compose("up", "-d", timeout_s=START_S)
        self.opened(START_S)
        return time.monotonic() - began

    def opened(self, within_s: float) -> None:
        eventually(lambda: self.health("gateway") == "healthy" and answers(self), within_s, "the doors are open")

    def container(self, service: str) -> str:
        return self.compose("ps", "-q", service).strip()

    def inside(self, *words: str, ok: bool = True) -> str:
        """Output of a command in the gateway."""
        return run("docker", "exec", self.container("gateway"), *words, ok=ok)

    def asked(self, *words: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.inside("mnemesh", *words, "--json"))
        return answer

    def inspected(self, service: str, what: str, ok: bool = True) -> str:
        return run("docker", "inspect", "-f", what, self.container(service), ok=ok).strip()

    def health(self, service: str) -> str:
        return self.inspected(service, "{{.State.Health.Status}}", ok=False)

    def address(self, service: str) -> str:
        return self.inspected(service, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")

    def restarts(self, service: str) -> int:
        return int(self.inspected(service, "{{.RestartCount}}"))

    def started_again(self, service: str, restarts: int) -> None:
        """Wait until the engine has started it once more than `restarts` times, and the doors are open."""
        eventually(lambda: self.restarts(service) > restarts, HEAL_S, f"{service} is started again")
        self.opened(HEAL_S)

    def kill(self, service: str) -> None:
        """End its first process as nothing else can; `docker kill` would keep the engine from starting it again."""
        os.kill(int(self.inspected(service, "{{.State.Pid}}")), 9)

    def client(self, timeout_s: float = 30.0) -> Client:
        """As a person on this machine has it: the published port, and the token out of the container."""
        token = self.inside("cat", "/data/owner.token").strip()
        return Client(self.endpoint, token, agent="owner", space=SPACE, timeout_s=timeout_s)


def eventually(true: Callable[[], bool], within_s: float, what: str) -> None:
    """Wait for something that happens by itself; fail when it has not within `within_s`."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"{what} within {within_s} s"
        time.sleep(1)


def answers(mesh: Composed) -> bool:
    """Whether a write is acknowledged; a repetition of it stores nothing."""
    try:
        with mesh.client(timeout_s=5.0) as client:
            client.remember("the doors are open", idempotency_key="doors")
    except (MnemeshError, AssertionError):
        return False
    return True


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    if reason := reason_to_skip():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("compose")
    composed = Composed(folder)
    composed.build(folder / "standin")
    try:
        print(f"up after {composed.up():.0f} s")
        yield composed
    finally:
        print(composed.compose("logs", "--tail", "40", "gateway"))
        composed.compose("down", "-v", timeout_s=START_S)


def remember(mesh: Composed, text: str) -> str:
    with mesh.client() as client:
        return str(client.remember(text).memory.id)


def listed(mesh: Composed) -> set[str]:
    with mesh.client() as client:
        return {memory.id for memory in client.export(space=SPACE)}


def level(mesh: Composed, service: str) -> bool:
    """Whether a ledger lies on this service's machine and has everything."""
    ledger = mesh.asked("status")["ledger"]
    here = [one for one in ledger["replicas"] if one["place"].startswith(f"{mesh.address(service)}:")]
    return any((one["state"], one["seq"], one["lag"]) == ("ok", ledger["seq"], 0) for one in here)


def member(mesh: Composed, service: str, ledger: bool) -> bool:
    """Whether Ray counts this service's machine, and, on a machine with a `ledger`, the ledger has everything."""
    alive = mesh.inside("python", "-c", MEMBERS).splitlines()[-1]
    return f"'{mesh.address(service)}'" in alive and (not ledger or level(mesh, service))


def test_it_starts_without_a_key_and_remembers_through_ray_and_the_qdrant_server(mesh: Composed) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{40,}\n", mesh.inside("cat", "/data/owner.token"))
    remember(mesh, "the harbour opens at seven")
    found = mesh.asked("recall", "when does the harbour open?", "--space", SPACE)
    assert found["results"][0]["content"] == "the harbour opens at seven"
    status = mesh.asked("status")
    assert status["runtime"] == "ray"
    assert "qdrant:6333" in status["index"][0]["backend"]
    for service in ("gateway", "ray-head", "ray-worker-1"):
        assert run("docker", "exec", mesh.container(service), "id", "-u").strip() == "10001"


def test_a_client_on_the_host_needs_only_the_token_out_of_the_container(mesh: Composed) -> None:
    kept = remember(mesh, "said on the host")
    assert "said on the host" in mesh.inside("mnemesh", "get", kept)
    with urllib.request.urlopen(f"{mesh.http}/health/ready", timeout=CALL_S) as answer:
        assert answer.status == 200


def test_every_ledger_lies_in_a_volume(mesh: Composed) -> None:
    services = {mesh.address(name): name for name in ("gateway", "ray-head", "ray-worker-1", "ray-worker-2")}
    replicas = mesh.asked("status")["ledger"]["replicas"]
    assert len(replicas) == 2
    for replica in replicas:
        address, _, directory = replica["place"].partition(":")
        mounts = json.loads(mesh.inspected(services[address], "{{json .Mounts}}"))
        volumes = [one for one in mounts if one["Type"] == "volume" and one["Name"].startswith(PROJECT)]
        assert any(directory.startswith(one["Destination"] + "/") for one in volumes), replica["place"]


def test_writes_go_on_while_the_worker_that_embeds_is_cut_off_and_it_heals(mesh: Composed) -> None:
    acknowledged, refused, gap_s = {remember(mesh, "said before the cut")}, 0, 0.0
    workers = {mesh.address(name): name for name in ("ray-worker-1", "ray-worker-2")}
    embed = [one["address"] for one in mesh.asked("status")["actors"] if one["type"] == "EmbeddingWorker"]
    cut, network = next((workers[one] for one in embed if one in workers), "ray-worker-1"), f"{PROJECT}_mesh"
    worker, had_ledger = mesh.container(cut), level(mesh, cut)
    with mesh.client() as client:
        run("docker", "network", "disconnect", network, worker)
        began = answered = time.monotonic()
        try:
            while time.monotonic() < began + CUT_S:
                text = f"said while a worker was away, number {len(acknowledged)}"
                try:
                    acknowledged.add(client.remember(text, idempotency_key=text).memory.id)
                except MnemeshError as error:  # nothing is stored then, and the same is asked again
                    print(f"refused {time.monotonic() - began:.0f} s after the cut: {error}")
                    refused += 1
                else:
                    gap_s, answered = max(gap_s, time.monotonic() - answered), time.monotonic()
        finally:
            run("docker", "network", "connect", "--alias", cut, network, worker)
    healed = time.monotonic()
    acknowledged.add(remember(mesh, "said after it healed"))
    eventually(lambda: member(mesh, cut, ledger=had_ledger), HEAL_S, f"{cut} is back")
    back_s = time.monotonic() - healed
    print(
        f"{cut}, which embedded{' and had a ledger' * had_ledger}, was cut off for {CUT_S:.0f} s: {len(acknowledged)} "
        f"writes acknowledged, {refused} refused, longest gap {gap_s:.1f} s, back {back_s:.0f} s later"
    )
    assert answered > began + CUT_S / 2
    assert len(acknowledged) > 20
    assert acknowledged <= listed(mesh)
    eventually(lambda: mesh.health(cut) == "healthy", HEAL_S, f"{cut} is healthy again")
    eventually(lambda: mesh.asked("status")["state"] == "ready", HEAL_S, "the node is whole again")


def test_a_killed_gateway_comes_back_with_everything_and_can_be_backed_up(mesh: Composed) -> None:
    kept = remember(mesh, "acknowledged before the kill")
    restarts = mesh.restarts("gateway")
    mesh.kill("gateway")
    began = time.monotonic()
    mesh.started_again("gateway", restarts)
    print(f"the gateway answers {time.monotonic() - began:.0f} s after it was killed")
    assert "acknowledged before the kill" in mesh.inside("mnemesh", "get", kept)
    backup = mesh.asked("backup", "create")["backup"]
    verified = json.loads(mesh.inside("mnemesh", "backup", "verify", backup["path"], "--json"))
    assert verified["memories"] == backup["memories"] > 20


def test_a_killed_ray_head_is_started_again_and_the_node_comes_back_with_everything(mesh: Composed) -> None:
    kept = remember(mesh, "acknowledged before the head died")
    acknowledged = listed(mesh)
    restarts = mesh.restarts("gateway")
    mesh.kill("ray-head")
    began = time.monotonic()
    mesh.started_again("gateway", restarts)
    print(f"the node answers {time.monotonic() - began:.0f} s after its Ray head was killed")
    assert kept in acknowledged <= listed(mesh)


@pytest.mark.parametrize("words", [["restart"], ["down"]], ids=["restart", "down and up"])
def test_everything_stopped_and_started_holds_all_that_was_acknowledged(mesh: Composed, words: list[str]) -> None:
    kept, token = remember(mesh, f"acknowledged before {words}"), mesh.inside("cat", "/data/owner.token")
    acknowledged = listed(mesh)
    mesh.compose(*words, timeout_s=START_S)
    print(f"answers {mesh.up():.0f} s after {words[0]}")
    assert mesh.inside("cat", "/data/owner.token") == token
    assert kept in acknowledged <= listed(mesh)
