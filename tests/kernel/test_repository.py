"""The rules of the repository itself: where files lie, how long they are, what they never name, what is documented."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("proto", "memory", "crdt", "actors", "gateway", "client")
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$|/field_help\.py$")
# Spelt in pieces, so that this file doesn't name what it forbids.
FORBIDDEN = re.compile(
    "|".join(
        (
            "pypi" + r"\.org",
            "python" + "hosted",
            "npmjs" + r"\.(org|com)",
            "deb" + r"\.debian",
            r"(^|[^a-zA-Z0-9_.])/(work|farm)/",
            "/root" + "/",
        )
    )
)


def tracked(pattern: str = "") -> list[Path]:
    """Files that git knows, or would know if they were added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout
    return sorted(ROOT / name for name in listing.split("\0") if name.endswith(pattern) and (ROOT / name).is_file())


def product_modules() -> list[Path]:
    """Python files that are written by hand and are not tests."""
    return [
        path
        for path in tracked(".py")
        if not GENERATED.search(str(path)) and path.relative_to(ROOT).parts[0] != "tests"
    ]


def test_no_package_stands_directly_in_a_top_level_folder() -> None:
    """A user's own folder called `actors` or `client` must never be taken for ours."""
    assert [folder for folder in SOURCE_ROOTS if (ROOT / folder / "__init__.py").exists()] == []


def test_no_tracked_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}")
    assert found == []


def test_no_module_is_longer_than_a_reader_holds_in_the_head() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in product_modules()}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    found = []
    for path in product_modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno
                if length > FUNCTION_LINES_MAX:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {length} lines")
    assert found == []


def test_every_module_opens_with_its_rule() -> None:
    modules = [path for path in product_modules() if path.read_text("utf-8").strip()]
    assert [str(path) for path in modules if not ast.get_docstring(ast.parse(path.read_text("utf-8")))] == []


def test_automerge_is_pinned_exactly_because_the_plain_name_is_another_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [line for line in project["optional-dependencies"]["node"] if line.startswith("automerge")]
    assert named == ["automerge==1.0.0rc1"]
    assert "\nautomerge==1.0.0rc1 " in (ROOT / "requirements/all.txt").read_text("utf-8")


@pytest.mark.parametrize("name", ["all.txt", "model.txt"])
def test_every_locked_dependency_has_a_version_and_a_hash(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines
    assert [line[:60] for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
    assert "://" not in text


def test_the_lock_brings_no_torch() -> None:
    assert not re.search(r"^(torch|triton|nvidia-)", (ROOT / "requirements/all.txt").read_text("utf-8"), re.M)


def test_every_direct_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(line for group in project["optional-dependencies"].values() for line in group),
    ]
    names = {re.split(r"[\[<>=;~! ]", line)[0].lower() for line in wanted} - {"mnemesh"}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements/all.txt").read_text("utf-8"), re.M))
    assert names - locked == set()


def test_the_changelog_knows_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in changelog or f"## [{project['version']}]" in changelog


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    broken = []
    for path in tracked(".md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text("utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)} -> {target}")
    assert broken == []


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = re.findall(r"`((?:proto|memory|crdt|actors|gateway|client|docs|tests)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_opens_with_the_two_commands_and_names_only_recipes_that_exist() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^\s*make ([a-z-]+)", readme, re.M)
    recipes = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert commands[:2] == ["up", "test"]
    assert set(commands) - recipes == set()


def test_every_setting_and_every_command_is_documented() -> None:
    command = [sys.executable, "tools/gen_docs.py", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("command", ["peer add", "peer token"])
def test_an_option_that_means_something_else_than_everywhere_is_said_with_its_command(command: str) -> None:
    _, _, section = (ROOT / "docs/cli.md").read_text("utf-8").partition(f"\n## mnemesh {command}\n")
    assert "\n| `--token TOKEN` | The token that the peer issued" in section.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("most", "ray", "args", "good"),
    [
        (0, 0, "", True),
        (0, 5, "", False),
        (5, 0, "", False),
        (0, 5, "-k a", True),
        (5, 0, "-k 'a b'", True),
        (5, 5, "-k a", False),
        (1, 0, "", False),
        (0, 1, "-k a", False),
    ],
)
def test_a_part_of_the_tests_that_finds_nothing_is_a_failure_unless_tests_were_named(
    tmp_path: Path, most: int, ray: int, args: str, good: bool
) -> None:
    """`most` and `ray` are the exit statuses of the two calls of pytest, 5 when no test is found."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\ncase "$*" in *"not ray"*) exit {most};; esac\nexit {ray}\n', "utf-8")
    python.chmod(0o700)
    (tmp_path / "installed.stamp").touch()
    command = ["make", f"--old-file={tmp_path}/installed.stamp", "test", f"VENV={tmp_path}", f"ARGS={args}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode == 0) is good, done.stdout + done.stderr


def test_every_proof_and_every_program_that_measures_is_in_the_page_about_them() -> None:
    page = (ROOT / "docs/proof.md").read_text("utf-8")
    said = {path: path.read_text("utf-8") for path in tracked(".py")}
    proofs = [str(path.relative_to(ROOT)) for path, text in said.items() if re.search(r"pytest\.mark\.proof\b", text)]
    assert len(proofs) >= 7
    assert [name for name in proofs if f"`{name}`" not in page or f"-m proof -s {name}" not in page] == []
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): text for path, text in said.items()}
    rules = {name: ast.get_docstring(ast.parse(text)) or "" for name, text in modules.items()}
    # What a measurement starts by itself says so further on in its rule.
    programs = [name for name, rule in rules.items() if re.search(rf"^ *`?python -m {re.escape(name)}\b", rule, re.M)]
    assert len(programs) >= 10
    assert [name for name in programs if f"python -m {name}" not in page] == []


def test_ci_runs_the_recipes_that_a_developer_runs() -> None:
    ci = (ROOT / ".ci/run").read_text("utf-8")
    recipes = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    used = set(re.findall(r"timeout \d+ make ([a-z-]+)$", ci, re.M))
    assert used >= {"setup", "lint", "types", "layers", "proto-check", "test"}
    assert used <= recipes
