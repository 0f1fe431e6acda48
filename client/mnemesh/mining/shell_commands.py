"""Commands of a shell that are worth knowing: for tests, builds, starts and deployments. Values in, values out."""

from __future__ import annotations

import re
from typing import Final

COMMAND_CHARS_MAX: Final = 240
RUNNERS: Final = frozenset(
    (
        "make", "just", "task", "pytest", "tox", "nox", "cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "dotnet",
        "rake", "mix", "bazel", "cmake", "ctest", "ninja", "ruff", "mypy", "eslint", "tsc", "vitest", "jest",
        "playwright", "cypress", "hugo", "jekyll", "xcodebuild", "swift", "terraform", "tofu", "ansible-playbook",
        "helm", "alembic", "flask", "uvicorn", "gunicorn", "rails", "phpunit", "sbt", "lein", "stack", "cabal", "zig",
        "golangci-lint", "pre-commit", "skaffold", "flyctl", "fly", "wrangler", "vercel", "netlify", "rspec", "deno",
        "npm", "pnpm", "yarn", "bun", "prettier", "black", "pyright", "hatch",
    )
)  # fmt: skip
# Programs that look, move or fetch.
TRIVIAL: Final = frozenset(
    (
        "ls", "cat", "cd", "pwd", "git", "gh", "echo", "printf", "grep", "rg", "find", "head", "tail", "sed", "awk",
        "wc", "which", "mkdir", "rm", "cp", "mv", "touch", "ps", "kill", "sleep", "export", "source", "less", "tree",
        "diff", "sort", "uniq", "env", "curl", "wget", "ssh", "chmod", "chown", "df", "du", "top", "jq", "xargs",
        "test", "true", "false", "date", "whoami", "type", "pip", "pip3", "brew", "apt", "apt-get", "psql", "sqlite3",
        "mysql", "redis-cli", "man", "open", "code", "vim", "nano", "lsof", "netstat", "ping",
    )
)  # fmt: skip
# Words that stand before the program that is meant.
WRAPPERS: Final = (
    ("uv", "run"),
    ("poetry", "run"),
    ("bundle", "exec"),
    ("pipenv", "run"),
    ("npx",),
    ("sudo",),
    ("time",),
)
PURPOSE: Final = re.compile(
    r"(?:^|[\s:/_.-])(?:test|tests|build|deploy|publish|release|migrate|serve|server|start|dev|lint|check|up|run|sync"
    r"|apply|push|rollout|upgrade|seed|format|typecheck|bench|e2e|compile|generate|codegen|restart|reload|upload)(?:$|[\s:/_.-])"
)
ASIDE: Final = re.compile(
    r"(?:^|\s)(?:--version|--help|-h|-V|install|add|remove|uninstall|list|ls|show|get|describe|logs?|status|view|info|why"
    r"|outdated|init|login|search|mod|tree|doc|--collect-only|-c|-e|ps)(?=\s|$)"
)
_PUSHED_LIVE: Final = re.compile(r"push (?:\S+ )?(?:heroku|dokku|prod|production|live|deploy)\b")
_ASSIGNED: Final = re.compile(r"^(?:\w+=\S*\s+)+")
_TAIL: Final = re.compile(r"\s*(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|tee|grep|less|cat)\b.*|&)\s*$")
_PARTS: Final = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")


def worth_knowing(command: str) -> list[str]:
    """The parts of a command line that are worth knowing."""
    if len(command) > 4 * COMMAND_CHARS_MAX or "<<" in command:
        return []
    return [part for part in parts_of(command) if _is_worth(part)]


def parts_of(command: str) -> list[str]:
    """The commands of a command line."""
    return [part for raw in _PARTS.split(command.strip()) if (part := _without_tail(raw))]


def group_of(part: str) -> str:
    """The common name of a command's variants: the words without options and paths."""
    words = [word for word in _without_settings(part).split() if not word.startswith("-") and "/" not in word[1:]]
    return " ".join(words[:3]) or part


def _without_tail(part: str) -> str:
    while any(sign in part for sign in "|>&") and (cut := _TAIL.sub("", part)) != part:
        part = cut
    return part.strip()


def _without_settings(part: str) -> str:
    return _ASSIGNED.sub("", part) if "=" in part else part


def _is_worth(part: str) -> bool:
    if len(part) > COMMAND_CHARS_MAX:
        return False
    words = _without_settings(part).split()
    for wrapper in WRAPPERS:
        if tuple(words[: len(wrapper)]) == wrapper:
            words = words[len(wrapper) :]
    if not words:
        return False
    program, rest = words[0], " ".join(words[1:])
    name = program.rsplit("/", 1)[-1]
    if name == "git" and _PUSHED_LIVE.match(rest):
        return True
    if name in TRIVIAL or ASIDE.search(" ".join(words[1:4])):
        return False
    if name.startswith("python") or name in ("node", "ruby", "php", "bash", "sh"):
        return rest.startswith("-m ") or (bool(rest) and not rest.startswith("-"))
    if name in RUNNERS:
        return True
    return "/" in program or name.endswith(".sh") or PURPOSE.search(rest) is not None
