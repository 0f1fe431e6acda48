"""Manifests of projects as plain values: name, description, dependencies, scripts. A damaged manifest says nothing."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mnemesh_memory.seeding.project_snapshot import ProjectSnapshot, quoted

NAME_CHARS_MAX: Final = 80
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
_GO_REQUIRE: Final = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+\s*$", re.MULTILINE)
_GO_LINE: Final = re.compile(r"^(module|go)\s+(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One manifest. `language` with the version that it asks for; `commands` and `entries` are name and words."""

    path: str
    language: str
    version: str = ""
    name: str = ""
    description: str = ""
    license: str = ""
    dependencies: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    entries: tuple[tuple[str, str], ...] = ()


def manifests(project: ProjectSnapshot) -> Iterator[Manifest]:
    """Every manifest of the project's root that can be read."""
    for name, reader in READERS.items():
        for path in project.named(name):
            try:
                yield reader(path, project.texts[path], project)
            except (ValueError, TypeError, AttributeError, RecursionError):  # Damaged, or shaped as no manifest is.
                continue


def tables(text: str) -> dict[str, Any]:
    """A TOML text as tables, none for a damaged one."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _pyproject(path: str, text: str, project: ProjectSnapshot) -> Manifest:
    whole = tomllib.loads(text)
    tool = whole.get("tool", {})
    about = whole.get("project") or tool.get("poetry", {})
    wanted = about.get("dependencies", ())
    scripts = {**about.get("scripts", {}), **about.get("gui-scripts", {})}
    tasks = {**tool.get("poe", {}).get("tasks", {}), **tool.get("pdm", {}).get("scripts", {})}
    return Manifest(
        path=path,
        language="Python",
        version=quoted(about.get("requires-python"), NAME_CHARS_MAX),
        name=quoted(about.get("name"), NAME_CHARS_MAX),
        description=quoted(about.get("description")),
        license=quoted(about.get("license"), NAME_CHARS_MAX),
        dependencies=_names(name for name in wanted if name != "python"),
        commands=tuple((f"poe {quoted(name, NAME_CHARS_MAX)}", quoted(words)) for name, words in tasks.items()),
        entries=tuple((quoted(name, NAME_CHARS_MAX), quoted(words)) for name, words in scripts.items()),
    )


def _package_json(path: str, text: str, project: ProjectSnapshot) -> Manifest:
    whole = json.loads(text)
    runner = next((words for file, words in RUNNERS.items() if file in project.listing), "npm run")
    wanted = {**whole.get("dependencies", {}), **whole.get("devDependencies", {})}
    programs = whole.get("bin", {})
    entries = programs.items() if isinstance(programs, Mapping) else [(whole.get("name"), programs)]
    typed = "TypeScript" if "typescript" in wanted or "tsconfig.json" in project.listing else "JavaScript"
    return Manifest(
        path=path,
        language=typed,
        version=quoted(whole.get("engines", {}).get("node"), NAME_CHARS_MAX),
        name=quoted(whole.get("name"), NAME_CHARS_MAX),
        description=quoted(whole.get("description")),
        license=quoted(whole.get("license"), NAME_CHARS_MAX),
        dependencies=_names(wanted),
        commands=tuple(
            (f"{runner} {quoted(name, NAME_CHARS_MAX)}", quoted(words))
            for name, words in whole.get("scripts", {}).items()
        ),
        entries=tuple((quoted(name, NAME_CHARS_MAX), quoted(words)) for name, words in entries if words),
    )


def _cargo(path: str, text: str, project: ProjectSnapshot) -> Manifest:
    whole = tomllib.loads(text)
    about = whole.get("package", {})
    return Manifest(
        path=path,
        language="Rust",
        version=quoted(about.get("rust-version"), NAME_CHARS_MAX),
        name=quoted(about.get("name"), NAME_CHARS_MAX),
        description=quoted(about.get("description")),
        license=quoted(about.get("license"), NAME_CHARS_MAX),
        dependencies=_names({**whole.get("workspace", {}).get("dependencies", {}), **whole.get("dependencies", {})}),
        commands=(("cargo build", ""), ("cargo test", "")),
    )


def _go(path: str, text: str, project: ProjectSnapshot) -> Manifest:
    said = dict(_GO_LINE.findall(text))
    return Manifest(
        path=path,
        language="Go",
        version=quoted(said.get("go"), NAME_CHARS_MAX),
        name=quoted(said.get("module"), NAME_CHARS_MAX),
        dependencies=tuple(quoted(name, NAME_CHARS_MAX) for name in _GO_REQUIRE.findall(text)),
        commands=(("go build ./...", ""), ("go test ./...", "")),
    )


def _requirements(path: str, text: str, project: ProjectSnapshot) -> Manifest:
    lines = (line for line in text.splitlines() if not line.startswith(("#", "-")))
    return Manifest(path=path, language="Python", dependencies=_names(lines))


def _names(words: Any) -> tuple[str, ...]:
    matches = (_REQUIREMENT.match(word.strip().lstrip("@")) for word in words if isinstance(word, str))
    return tuple(dict.fromkeys(match.group()[:NAME_CHARS_MAX] for match in matches if match))


RUNNERS: Final[Mapping[str, str]] = {
    "pnpm-lock.yaml": "pnpm run", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run",
}  # fmt: skip
READERS: Final[Mapping[str, Callable[[str, str, ProjectSnapshot], Manifest]]] = {
    "pyproject.toml": _pyproject, "package.json": _package_json, "Cargo.toml": _cargo, "go.mod": _go,
    "requirements.txt": _requirements,
}  # fmt: skip
