"""Dockerfile, compose.yaml and the manifests: what they say fits our settings, our versions and each other.

Manifests are judged by Kubernetes' own schemas (kubernetes-validate, strict). KubeRay's definition of a RayCluster
is in no package, so its outer fields are described here by hand. The pods inside are judged as Kubernetes judges a
pod.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import jsonschema
import kubernetes_validate
import pytest
import yaml

from mnemesh_gateway.node.settings import load

ROOT: Final = Path(__file__).resolve().parents[3]
CONTAINER: Final = ROOT / "deploy" / "container"
ROLE_NAMES: Final = ("node", "gateway", "ray-head", "ray-worker", "ray-token")
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
IMAGE: Final = f"mnemesh:{PROJECT['version']}"
COMPOSE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: Final[dict[str, Any]] = COMPOSE["services"]
# Of the Compose specification, what we use: another key is a slip of the pen.
SERVICE_KEYS: Final = {
    "image", "build", "user", "init", "restart", "read_only", "tmpfs", "cap_drop", "security_opt", "shm_size",
    "networks", "command", "environment", "volumes", "depends_on", "healthcheck", "ports", "stop_grace_period",
}  # fmt: skip
HEALTH_KEYS: Final = {"test", "interval", "timeout", "retries", "start_period", "disable"}
CONDITIONS: Final = {"service_healthy", "service_completed_successfully", "service_started"}
GROUP: Final = {
    "rayStartParams": {"type": "object", "additionalProperties": {"type": "string"}},
    "template": {"type": "object"},
}
# ray.io/v1, the fields that we use.
RAY_CLUSTER: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayCluster"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["headGroupSpec"],
            "properties": {
                "rayVersion": {"type": "string"},
                "headGroupSpec": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["template"],
                    "properties": {**GROUP, "serviceType": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}},
                },
                "workerGroupSpecs": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["groupName", "maxReplicas", "minReplicas", "template"],
                        "properties": {
                            **GROUP,
                            "groupName": {"type": "string"},
                            **{key: {"type": "integer"} for key in ("replicas", "minReplicas", "maxReplicas")},
                        },
                    },
                },
            },
        },
    },
}


def manifests(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((ROOT / "deploy/kubernetes" / name).read_text("utf-8")) if one]


NODE: Final = manifests("mnemesh.yaml")
(RAY,) = manifests("raycluster.yaml")


def check(manifest: dict[str, Any]) -> None:
    """Raise unless Kubernetes would take it."""
    kubernetes_validate.validate(manifest, "1.34", strict=True)


def check_ray(cluster: dict[str, Any]) -> None:
    jsonschema.validate(cluster, RAY_CLUSTER)
    spec = cluster["spec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        template = group["template"]
        labels = template["metadata"]["labels"]
        body = {"selector": {"matchLabels": labels}, "template": template}
        check({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "pod"}, "spec": body})


def pod_templates() -> dict[str, dict[str, Any]]:
    """Every pod of our manifests, by its owner."""
    found = {
        f"{one['kind']}/{one['metadata']['name']}": one["spec"]["template"]
        for one in NODE
        if "template" in spec_of(one)
    }
    found["ray-head"] = RAY["spec"]["headGroupSpec"]["template"]
    found |= {f"ray-{group['groupName']}": group["template"] for group in RAY["spec"]["workerGroupSpecs"]}
    return found


def spec_of(manifest: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifest.get("spec", {})
    return spec


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for whose, template in pod_templates().items():
        for container in template["spec"]["containers"]:
            yield whose, container


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [one for one in NODE if one["kind"] == kind]


# ---- manifests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manifest", NODE, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_kubernetes_takes_every_manifest(manifest: dict[str, Any]) -> None:
    check(manifest)


def test_kubernetes_takes_the_pods_of_the_ray_cluster() -> None:
    check_ray(RAY)


def test_every_pod_runs_without_rights_and_says_when_it_works() -> None:
    for whose, template in pod_templates().items():
        pod = template["spec"]["securityContext"]
        assert pod["runAsNonRoot"], whose
        assert pod["runAsUser"] >= 1000, whose
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}, whose
        assert template["spec"]["automountServiceAccountToken"] is False, whose
    for whose, container in containers():
        rights = container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False, whose
        assert rights["capabilities"] == {"drop": ["ALL"]}, whose
        assert {"readinessProbe", "livenessProbe"} <= set(container), whose
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}, whose
        assert "memory" in container["resources"]["limits"], whose


def test_every_selector_finds_a_pod_and_every_port_a_container() -> None:
    labels = [template["metadata"]["labels"] for template in pod_templates().values()]
    wanted = [one["spec"]["selector"] for one in of_kind("Service")]
    wanted += [
        one["spec"]["selector"]["matchLabels"] for one in of_kind("PodDisruptionBudget") + of_kind("StatefulSet")
    ]
    wanted += [one["spec"]["podSelector"]["matchLabels"] for one in of_kind("NetworkPolicy")]
    for selector in wanted:
        assert any(selector.items() <= one.items() for one in labels), selector
    for service in of_kind("Service"):
        selector = service["spec"]["selector"].items()
        (pod,) = (one for one in pod_templates().values() if selector <= one["metadata"]["labels"].items())
        ports = {port["name"]: port["containerPort"] for one in pod["spec"]["containers"] for port in one["ports"]}
        assert {port["targetPort"]: port["port"] for port in service["spec"]["ports"]} == ports


def test_claims_volumes_and_mounts_belong_together() -> None:
    claims = {one["metadata"]["name"] for one in of_kind("PersistentVolumeClaim")}
    used = set()
    for template in pod_templates().values():
        volumes = {one["name"]: one for one in template["spec"]["volumes"]}
        used |= {
            one["persistentVolumeClaim"]["claimName"] for one in volumes.values() if "persistentVolumeClaim" in one
        }
        for container in template["spec"]["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    assert used == claims


def test_a_ledger_is_never_written_by_two_pods() -> None:
    (gateway,) = (one for one in of_kind("StatefulSet") if one["metadata"]["name"] == "mnemesh")
    assert gateway["spec"]["replicas"] == 1
    assert {group["maxReplicas"] for group in RAY["spec"]["workerGroupSpecs"]} == {1}
    modes = {one["metadata"]["name"]: one["spec"]["accessModes"] for one in of_kind("PersistentVolumeClaim")}
    assert modes.pop("qdrant") == ["ReadWriteOnce"]
    assert set(map(tuple, modes.values())) == {("ReadWriteOncePod",)}


def test_every_pod_that_may_hold_a_ledger_has_a_claim_of_its_own_where_ledgers_lie() -> None:
    used = []
    for whose, template in pod_templates().items():
        (container,) = template["spec"]["containers"]
        if container["image"] != IMAGE:
            continue
        (mount,) = (one["name"] for one in container["volumeMounts"] if REPLICAS.is_relative_to(one["mountPath"]))
        (volume,) = (one for one in template["spec"]["volumes"] if one["name"] == mount)
        assert "persistentVolumeClaim" in volume, whose
        used.append(volume["persistentVolumeClaim"]["claimName"])
    assert len(used) == len(set(used)) == 4


# ---- versions -------------------------------------------------------------------------------------------------------


def test_every_image_has_a_tag_and_ours_is_this_version() -> None:
    found = {container["image"] for _, container in containers()} | {one["image"] for one in SERVICES.values()}
    assert IMAGE in found
    (qdrant,) = found - {IMAGE}
    assert re.fullmatch(r"qdrant/qdrant:v\d+\.\d+\.\d+-unprivileged", qdrant)


def test_the_ray_cluster_runs_the_ray_that_we_install() -> None:
    assert PROJECT["optional-dependencies"]["cluster"] == [f"ray=={RAY['spec']['rayVersion']}"]


@pytest.mark.parametrize("name", ["node.txt", "build.txt"])
def test_the_image_installs_what_is_tested(name: str) -> None:
    def pins(file: str) -> set[str]:
        return set(re.findall(r"^([a-zA-Z0-9._-]+==[^ ;\\]+)", (ROOT / "requirements" / file).read_text("utf-8"), re.M))

    assert pins(name)
    assert pins(name) <= pins("all.txt")


# ---- settings -------------------------------------------------------------------------------------------------------


def dockerfile_variables() -> dict[str, str]:
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    final = text.rpartition("\nFROM ")[2]
    return dict(re.findall(r"([A-Z_]+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", final, re.M))))


def gateways() -> dict[str, dict[str, str]]:
    (pod,) = (one for whose, one in containers() if one["name"] == "gateway")
    listed = {one["name"]: one.get("value", "from a secret") for one in pod["env"]}
    return {"compose": SERVICES["gateway"]["environment"], "kubernetes": listed}


REPLICAS: Final = PurePosixPath(dockerfile_variables()["MNEMESH_RAY_REPLICA_DIR"])


@pytest.mark.parametrize("where", ["image", "compose", "kubernetes"])
def test_every_variable_is_a_setting_that_the_node_takes(where: str) -> None:
    given = dockerfile_variables() | ({} if where == "image" else gateways()[where])
    settings = load({}, given).settings
    assert (settings.grpc, settings.http, settings.expose) == ("0.0.0.0:7433", "0.0.0.0:7434", True)
    assert settings.model_download is False
    assert settings.ray_replica_dir == str(REPLICAS)
    if where != "image":
        assert settings.qdrant_url == "http://qdrant:6333"
        assert settings.ray_address.endswith(":6379")


def test_no_key_stands_in_a_file() -> None:
    for service in SERVICES.values():
        assert not {name for name in service.get("environment", {}) if name.endswith(("_KEY", "AUTH_TOKEN"))}
    for _, container in containers():
        held = [one for one in container.get("env", ()) if "TOKEN" in one["name"] and "value" in one]
        assert held == []


# ---- compose --------------------------------------------------------------------------------------------------------


def test_the_services_are_qdrant_a_ray_head_two_workers_and_a_gateway() -> None:
    assert set(SERVICES) == {"qdrant", "ray-token", "ray-head", "ray-worker-1", "ray-worker-2", "gateway"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_says_only_what_compose_knows_and_names_what_is_there(name: str) -> None:
    service = SERVICES[name]
    assert set(service) <= SERVICE_KEYS
    assert set(service["healthcheck"]) <= HEALTH_KEYS
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    for volume in service.get("volumes", ()):
        source, target, *mode = volume.split(":")
        assert source in COMPOSE["volumes"]
        assert target.startswith("/")
        assert mode in ([], ["ro"])
    for other, how in service.get("depends_on", {}).items():
        assert how["condition"] in CONDITIONS
        if how["condition"] == "service_healthy":
            assert SERVICES[other]["healthcheck"]["test"][0] == "CMD"
    user, _, group = service["user"].partition(":")
    assert int(user) >= 1000
    assert int(group) >= 1000
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    if service["image"] == IMAGE:
        assert service["command"][0] in ROLE_NAMES
        assert service["read_only"] is True


def test_every_service_that_may_hold_a_ledger_has_a_volume_of_its_own_where_ledgers_lie() -> None:
    used = []
    for name in ("gateway", "ray-head", "ray-worker-1", "ray-worker-2"):
        mounts = [volume.split(":") for volume in SERVICES[name]["volumes"]]
        used += [source for source, target, *mode in mounts if REPLICAS.is_relative_to(target) and mode == []]
    assert len(used) == len(set(used)) == 4


def test_only_the_doors_are_published_and_on_loopback_alone() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["gateway"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["gateway"]["ports"])


# ---- image ----------------------------------------------------------------------------------------------------------


def test_the_dockerfile_copies_what_is_there_and_ends_as_nobody() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(source == one or source.startswith(one + "/") for one in allowed), source
    assert re.search(r"^ARG PYTHON_IMAGE=python:\d+\.\d+\.\d+-slim-\w+$", text, re.M)
    assert re.findall(r"^FROM (\S+)", text, re.M) == ["${PYTHON_IMAGE}"] * 2
    assert re.findall(r"^USER (\S+)$", text, re.M) == ["10001:10001"]
    packages = re.findall(r'"(\w+)/mnemesh', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert {source for source in packages if f"COPY {source} {source}\n" not in text} == set()


@pytest.mark.parametrize("name", ["mnemesh-container", "mnemesh-healthy"])
def test_the_scripts_of_the_image_are_well_formed_and_may_be_run(name: str) -> None:
    assert stat.S_IMODE((CONTAINER / name).stat().st_mode) & 0o111 == 0o111
    assert subprocess.run(["sh", "-n", CONTAINER / name], timeout=60, check=False).returncode == 0


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a `ray` and a `mnemesh` that write down how they were called."""
    for name in ("ray", "mnemesh"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "{name} $* [$RAY_AUTH_MODE]" >> "{tmp_path}/said"\n')
        program.chmod(0o755)
    return tmp_path


def role(programs: Path, *words: str, **variables: str) -> tuple[int, str, list[str]]:
    """Exit status, errors, and what was called."""
    environ = {"PATH": f"{programs}:{os.environ['PATH']}", **variables}
    ended = subprocess.run(
        [CONTAINER / "mnemesh-container", *words], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    said = programs / "said"
    return ended.returncode, ended.stderr, said.read_text().splitlines() if said.exists() else []


def test_without_a_word_the_image_is_a_node(programs: Path) -> None:
    assert role(programs) == (0, "", ["mnemesh up [token]"])
    (programs / "said").unlink()
    assert role(programs, "node", "--drain-s", "5")[2] == ["mnemesh up --drain-s 5 [token]"]


def test_the_gateway_joins_the_cluster_before_it_starts_and_offers_it_no_processors(programs: Path) -> None:
    code, _, said = role(programs, "gateway", MNEMESH_RAY_ADDRESS="head:6379")
    assert code == 0
    assert said[0] == "ray health-check --address head:6379 [token]"
    assert said[1].startswith("ray start --address head:6379 --num-cpus 0 ")
    assert said[2] == "mnemesh up --runtime ray --ray-address head:6379 [token]"


def test_the_documented_commands_of_a_cluster_are_those_of_the_image(programs: Path) -> None:
    block = (ROOT / "docs" / "ray.md").read_text("utf-8").partition("## Starting a cluster")[2].split("```")[1]
    written = [line for line in block.splitlines() if line.startswith(("ray start", "mnemesh up"))]
    for name in ("ray-head", "ray-worker", "gateway"):
        said = role(programs, name, MNEMESH_RAY_ADDRESS="HEAD:6379")[2]
    for line, role_of in zip(written, ("--head", "--address HEAD:6379", "mnemesh up"), strict=True):
        (called, *_) = [one for one in said if role_of in one and "health-check" not in one]
        assert set(line.split()) - {"--ray-replica-dir", "/var/lib/mnemesh"} <= set(called.split()), line
    assert "RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=" in block
    assert "RAY_worker_niceness=0" in block


@pytest.mark.parametrize(
    ("name", "missing"),
    [("gateway", "MNEMESH_RAY_ADDRESS"), ("ray-worker", "MNEMESH_RAY_ADDRESS"), ("ray-token", "RAY_AUTH_TOKEN_PATH")],
)
def test_a_role_names_the_variable_that_it_lacks(programs: Path, name: str, missing: str) -> None:
    assert role(programs, name) == (2, f"mnemesh-container: {name} needs {missing}\n", [])


def test_the_token_of_the_cluster_is_made_once_and_is_nobody_elses_to_read(programs: Path) -> None:
    file = programs / "token"
    assert role(programs, "ray-token", RAY_AUTH_TOKEN_PATH=str(file))[0] == 0
    made = file.read_text()
    assert re.fullmatch(r"[0-9a-f]{64}", made)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert role(programs, "ray-token", RAY_AUTH_TOKEN_PATH=str(file))[0] == 0
    assert file.read_text() == made


def test_other_words_are_run_as_they_stand(programs: Path) -> None:
    assert role(programs, "mnemesh", "backup", "verify", "x")[2] == ["mnemesh backup verify x [token]"]
