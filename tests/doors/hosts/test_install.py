"""`mnemesh install` and `uninstall` on files as people have them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mnemesh.hooks.installation.host_table import HOSTS

RUN_S = 120
SETTINGS = (
    '{\n  "model": "opus", // mine\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}\n}\n'
)


class Machine:
    """A home directory with a program mnemesh in a path of its own."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.data = root / "mnemesh"
        self.program = self.move_to(root / "bin")

    def move_to(self, folder: Path) -> Path:
        """The program in another place."""
        folder.mkdir()
        self.program = folder / "mnemesh"
        self.program.write_text(f"#!{sys.executable}\nfrom mnemesh.entry import main\nraise SystemExit(main())\n")
        self.program.chmod(0o755)
        return self.program

    def run(self, *words: str, status: int = 0, environ: Mapping[str, str] | None = None) -> str:
        """The words of the command on either stream."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("MNEMESH_", "CLAUDE", "XDG"))
        }
        given = {"HOME": str(self.home), "XDG_DATA_HOME": str(self.data.parent), "PATH": "/usr/bin:/bin"}
        ran = subprocess.run(
            [self.program, *words], env=clean | given | (environ or {}), cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=RUN_S, check=False,
        )  # fmt: skip
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def write(self, name: str, text: str | bytes) -> Path:
        """A file in the home directory."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def files(self) -> dict[str, bytes]:
        """Everything in the home directory; folders are empty."""
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b""
            for path in sorted(self.home.rglob("*"))
        }


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_all_hosts_are_installed_and_leave_no_trace(machine: Machine) -> None:
    machine.write(".claude/settings.json", SETTINGS)
    machine.write(".codex/config.toml", "model = 'x'\r\n")
    machine.write(".config/opencode/opencode.jsonc", '\ufeff{\n\t/* mine */\n\t"mcp": {},\n}')
    before = machine.files()
    assert "trust its hash" in machine.run("install", *HOSTS)
    assert "MNEMESH_TOKEN" not in str(machine.files())
    settings = machine.home / ".claude/settings.json"
    assert settings.read_text().startswith('{\n  "model": "opus", // mine\n')
    assert f"{machine.program} hook claude-code SessionStart" in settings.read_text()
    servers = json.loads((machine.home / ".claude.json").read_text())["mcpServers"]
    assert servers == {"mnemesh": {"type": "stdio", "command": str(machine.program), "args": ["mcp"]}}
    assert stat.S_IMODE((machine.data / "hosts").stat().st_mode) == 0o700
    after = machine.files()
    assert machine.run("install", *HOSTS).count("unchanged") == sum(len(host.files) for host in HOSTS.values())
    assert machine.files() == after
    machine.run("uninstall")
    assert machine.files() == before
    assert "nothing of Mnemesh" in machine.run("uninstall")


def test_the_hook_of_read_files_is_written_when_asked_for_and_stays_until_it_is_not_wanted(machine: Machine) -> None:
    settings = machine.write(".claude/settings.json", SETTINGS)

    def read_hooks() -> list[str]:
        groups = json.loads(settings.read_text().replace("// mine", ""))["hooks"].get("PreToolUse", [])
        return [group["matcher"] for group in groups]

    assert "trust a server of a project" not in machine.run("install", "claude-code")
    assert read_hooks() == []
    assert "PreToolUse" in machine.run("install", "claude-code", "--reads")
    assert read_hooks() == ["Read"]
    machine.run("install", "claude-code")
    assert read_hooks() == ["Read"]
    machine.run("install", "claude-code", "--no-reads")
    assert read_hooks() == []
    machine.run("install", "claude-code", "--reads")
    machine.run("uninstall")
    assert settings.read_text() == SETTINGS
    assert "claude-code" in machine.run("install", "codex", "--reads", status=2)


def test_a_file_edited_since_loses_ours_alone(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", SETTINGS)
    machine.run("install", "claude-code")
    path.write_text(path.read_text().replace('"opus"', '"sonnet"'))
    other = machine.home / ".claude.json"
    other.write_text(json.dumps(json.loads(other.read_text()) | {"n": 1}))
    machine.run("uninstall", "claude-code")
    assert path.read_text() == SETTINGS.replace('"opus"', '"sonnet"')
    assert json.loads(other.read_text()) == {"n": 1}


def test_a_moved_program_is_repaired_and_the_first_bytes_come_back(machine: Machine, tmp_path: Path) -> None:
    machine.write(".claude/settings.json", SETTINGS)
    before = machine.files()
    machine.run("install", "claude-code", "codex", "cursor")
    old = str(machine.program)
    machine.move_to(tmp_path / "other bin")
    machine.run("install", "claude-code", "codex", "cursor")
    assert old not in str(machine.files())
    assert f"'{machine.program}' hook cursor sessionStart" in (machine.home / ".cursor/hooks.json").read_text()
    machine.run("uninstall")
    assert machine.files() == before


def test_a_project_has_files_of_its_own_and_no_hook_fires_twice(machine: Machine) -> None:
    project = machine.home / "work/app"
    project.mkdir(parents=True)
    before = machine.files()
    machine.run("install", "claude-code", "vscode", "--project", str(project))
    assert "servers" in json.loads((project / ".vscode/mcp.json").read_text())
    assert (project / ".claude/settings.json").exists()
    assert not (machine.home / ".claude.json").exists()
    machine.run("uninstall", "--project", str(project))
    assert machine.files() == before
    machine.run("install", "claude-code", "--user")
    assert "would fire twice" in machine.run("install", "claude-code", "--project", str(project))
    assert not (project / ".claude").exists()
    assert "no settings of a project's own" in machine.run("install", "copilot", "--project", str(project), status=4)


def test_a_dry_run_shows_the_difference_and_writes_nothing(machine: Machine) -> None:
    machine.write(".claude/settings.json", SETTINGS)
    before = machine.files()
    shown = machine.run("install", "claude-code", "--dry-run")
    assert '+    "mnemesh": {' in shown
    assert "would be written" in shown
    assert "PreToolUse" not in shown
    assert "hook claude-code UserPromptSubmit" in shown
    assert machine.files() == before
    assert not machine.data.exists()


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        (".claude/settings.json", "{oops", "no JSON (line 1, column 2)"),
        (".claude/settings.json", b'{"a": "\xff"}', "not UTF-8"),
        (".claude/settings.json", '{"hooks": []}', "hooks"),
        (".claude.json", '{"mcpServers": {"mnemesh": {"command": "other"}}}', "was not written by `mnemesh install`"),
        (".codex/config.toml", "a = ", "no TOML"),
    ],
)
def test_a_file_that_can_not_be_merged_stops_all_of_it(
    machine: Machine, name: str, content: str | bytes, why: str
) -> None:
    path = machine.write(name, content)
    before = machine.files()
    shown = machine.run("install", "claude-code", "codex", status=4)
    assert why in shown
    assert str(path) in shown
    assert machine.files() == before


def test_a_read_only_file_or_folder_is_refused(machine: Machine) -> None:
    path = machine.write(".cursor/mcp.json", "{}")
    path.chmod(0o444)
    assert "read-only" in machine.run("install", "cursor", status=4)
    assert path.read_text() == "{}"
    assert not (machine.home / ".cursor/hooks.json").exists()


def test_a_link_out_of_a_project_is_refused(machine: Machine) -> None:
    users = machine.write(".claude/settings.json", SETTINGS)
    project = machine.home / "work/app"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.json").symlink_to(users)
    assert "leads out of the project" in machine.run("install", "claude-code", "--project", str(project), status=4)
    assert users.read_text() == SETTINGS


def test_a_command_that_does_more_than_ours_is_somebodys_own(machine: Machine) -> None:
    foreign = {"hooks": [{"type": "command", "command": "./load.sh; mnemesh hook claude-code SessionStart"}]}
    path = machine.write(".claude/settings.json", json.dumps({"hooks": {"SessionStart": [foreign]}}))
    machine.run("install", "claude-code")
    assert foreign in json.loads(path.read_text())["hooks"]["SessionStart"]


def test_a_symbolic_link_is_written_through(machine: Machine) -> None:
    real = machine.write("dotfiles/claude.json", SETTINGS)
    real.chmod(0o600)
    link = machine.home / ".claude/settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    machine.run("install", "claude-code")
    assert link.is_symlink()
    assert "hook claude-code" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    machine.run("uninstall")
    assert link.is_symlink()
    assert real.read_text() == SETTINGS


def test_installations_at_once_end_as_one(machine: Machine) -> None:
    machine.write(".claude/settings.json", SETTINGS)
    before = machine.files()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: machine.run("install", "claude-code"), range(3)))
    settings = (machine.home / ".claude/settings.json").read_text()
    assert settings.count("hook claude-code SessionStart") == 1
    machine.run("uninstall")
    assert machine.files() == before


def test_a_lost_register_is_no_hindrance(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", SETTINGS)
    machine.run("install", "claude-code")
    (machine.data / "hosts/register.json").unlink()
    machine.run("install", "claude-code")
    machine.run("uninstall", "claude-code")
    assert path.read_text() == SETTINGS


def test_without_names_the_hosts_that_are_there_are_taken(machine: Machine) -> None:
    assert "no agent host was found" in machine.run("install", "--yes", status=4)
    machine.write(".cursor/settings", "")
    assert "--yes" in machine.run("install", status=2)
    answer = json.loads(machine.run("install", "--yes", "--json"))
    assert [(row["host"], row["part"], row["action"]) for row in answer["files"]] == [
        ("cursor", "server", "written"), ("cursor", "hooks", "written"),
    ]  # fmt: skip
    assert "one of claude-code" in machine.run("install", "emacs", status=2)


def test_a_folder_that_a_variable_moves_is_found(machine: Machine) -> None:
    moved = machine.home / "elsewhere"
    machine.run("install", "claude-code", environ={"CLAUDE_CONFIG_DIR": str(moved)})
    assert sorted(path.name for path in moved.iterdir()) == [".claude.json", "settings.json"]
    machine.run("uninstall")
    assert not moved.exists()


def test_another_data_directory_is_written_into_the_commands(machine: Machine, tmp_path: Path) -> None:
    other = str(tmp_path / "other data")
    machine.run("install", "claude-code", "--data", other)
    servers = json.loads((machine.home / ".claude.json").read_text())["mcpServers"]
    assert servers["mnemesh"]["args"] == ["mcp", "--data", other]
    settings = (machine.home / ".claude/settings.json").read_text()
    assert f"hook claude-code SessionStart --data '{other}'" in settings
    machine.run("install", "claude-code")
    assert other not in str(machine.files())
    machine.run("uninstall", "claude-code")
    assert "mnemesh" not in str(machine.files())


@pytest.mark.parametrize("text", [b"", b"# Mine\r\n\r\nUse pnpm.", b"# Mine\n", "\ufeff# Mine\n".encode()])
def test_instructions_are_a_block_that_leaves_no_trace(machine: Machine, text: bytes) -> None:
    path = machine.write(".claude/CLAUDE.md", text)
    before = machine.files()
    machine.run("install", "claude-code")
    assert path.read_bytes() == text, "nobody asked for instructions"
    machine.run("install", "claude-code", "codex", "--instructions")
    installed = path.read_bytes()
    assert installed.startswith(text)
    assert b"Long-term memory" in installed
    assert b"Long-term memory" in machine.files()[".codex/AGENTS.md"]
    machine.run("install", "claude-code", "--instructions")
    assert path.read_bytes() == installed
    machine.run("uninstall")
    assert machine.files() == before


def test_a_file_of_instructions_that_was_edited_keeps_the_edits(machine: Machine) -> None:
    path = machine.write(".claude/CLAUDE.md", "# Mine\n")
    machine.run("install", "claude-code", "--instructions")
    path.write_text("# First\n" + path.read_text() + "\nUse pnpm.\n")
    machine.run("install", "claude-code", "--instructions")
    assert path.read_text().count("Long-term memory") == 1
    machine.run("uninstall")
    assert path.read_text() == "# First\n# Mine\n\nUse pnpm.\n"
    machine.run("install", "claude-code", "--instructions")
    path.write_text(path.read_text().replace("<!-- mnemesh: end of the block -->", ""))
    assert "is missing" in machine.run("uninstall", status=4)


def test_two_paths_of_one_file_are_changed_once(machine: Machine) -> None:
    project = machine.home / "project"
    agents = machine.write("project/AGENTS.md", "# Mine\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    before = machine.files()
    shown = machine.run("install", "claude-code", "codex", "--project", str(project), "--instructions")
    assert "it is " in shown
    assert agents.read_text().count("Long-term memory") == 1
    machine.run("uninstall", "--project", str(project))
    assert machine.files() == before


def test_two_changes_of_one_file_that_differ_are_refused_before_any_is_made(machine: Machine) -> None:
    project = machine.home / "project"
    machine.write("project/opencode.json", "{}\n")
    (project / ".mcp.json").symlink_to("opencode.json")
    before = machine.files()
    words = ("install", "claude-code", "opencode", "--project", str(project))
    assert "are one file" in machine.run(*words, status=4)
    assert {name: data for name, data in machine.files().items() if "project" in name} == before
