"""Files for systemd and launchd: their content, their owner, and a clean end."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from mnemesh.cli.commands.node import service
from mnemesh.hooks.installation import services
from mnemesh.hooks.installation.services import BACKUP, MINE, NODE, PROGRAMS
from mnemesh.hooks.installation.settings_file import RefusedFile

PROGRAM = '/opt/my tools/50%/"mnemesh"'
DATA = Path("/home/ada/data $HOME")
ALL = (NODE, MINE, BACKUP)


def test_a_unit_of_systemd_starts_the_node_and_timers_start_the_rest() -> None:
    files = services.files_of("linux", PROGRAM, DATA, ALL)
    assert list(files) == [
        "mnemesh-node.service", "mnemesh-mine.service", "mnemesh-mine.timer", "mnemesh-backup.service",
        "mnemesh-backup.timer",
    ]  # fmt: skip
    node = files["mnemesh-node.service"].decode()
    assert r'ExecStart="/opt/my tools/50%%/\"mnemesh\"" "up" "--data" "/home/ada/data $$HOME"' in node
    assert "WantedBy=default.target" in node
    mine, backup = files["mnemesh-mine.service"].decode(), files["mnemesh-backup.service"].decode()
    assert "ConditionPathExists=/home/ada/data $HOME/mining/on\n" in mine
    assert "SuccessExitStatus=3\n" in mine
    assert "SuccessExitStatus" not in backup  # a backup that was not made is a failure
    assert "OnUnitActiveSec=30min" in files["mnemesh-mine.timer"].decode()
    assert all(services.is_ours(data) for data in files.values())


def test_launchd_gets_plists_that_it_can_read() -> None:
    files = services.files_of("darwin", PROGRAM, DATA, ALL)
    read = {name: plistlib.loads(data) for name, data in files.items()}
    assert read["mnemesh.node.plist"]["ProgramArguments"] == [PROGRAM, "up", "--data", str(DATA)]
    assert read["mnemesh.mine.plist"]["StartInterval"] == 1800
    assert all(services.is_ours(data) for data in files.values())


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_an_installation_and_its_end_leave_the_folder_as_it_was(tmp_path: Path, platform: str) -> None:
    folder = services.folder_of(tmp_path, {}, platform)
    wanted = services.files_of(platform, "/bin/mnemesh", DATA, ALL)
    for action in ("written", "unchanged"):
        files = services.planned(folder, wanted)
        assert {file.action for file in files} == {action}
        services.carry_out(files)
    moved = services.planned(folder, services.files_of(platform, "/usr/bin/mnemesh", DATA, (NODE,)))
    assert [file.action for file in moved] == ["written"]
    services.carry_out(moved)
    wants = folder / services.WANTS[0]
    wants.mkdir()
    (wants / next(iter(wanted))).symlink_to(folder / next(iter(wanted)))  # as `systemctl enable` does
    services.carry_out(services.removable(folder, tuple(wanted)))
    assert not folder.exists()


def test_a_file_that_is_edited_or_somebody_elses_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    wanted = services.files_of("linux", "/bin/mnemesh", DATA, (NODE,))
    (name,) = wanted
    for theirs in (b"[Unit]\n", wanted[name].replace(b"on-failure", b"always"), b""):
        (tmp_path / name).write_bytes(theirs)
        with pytest.raises(RefusedFile, match="move it away first"):
            services.planned(tmp_path, wanted)
        files = services.removable(tmp_path, (name,))
        services.carry_out(files)
        assert [file.action for file in files] == ["left out"]
        assert (tmp_path / name).read_bytes() == theirs


def test_a_path_that_no_unit_can_hold_and_another_system_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedFile, match="no unit can hold"):
        services.files_of("linux", "/bin/mne\nmesh", DATA, (NODE,))
    with pytest.raises(RefusedFile, match="neither systemd nor launchd"):
        services.folder_of(tmp_path, {}, "win32")


def test_systemd_itself_finds_no_fault(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    files = services.planned(tmp_path / "units", services.files_of("linux", str(program), tmp_path, tuple(PROGRAMS)))
    services.carry_out(files)
    done = subprocess.run(
        [verify, "verify", "--user", *(str(file.path) for file in files)], capture_output=True, text=True, check=False
    )
    if "Failed to initialize manager" in done.stderr:
        pytest.skip("systemd has no manager of this user here")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_settings_of_the_environment_come_along_and_credentials_do_not(platform: str) -> None:
    variables, left_out = service._variables(
        {
            "MNEMESH_HTTP": "127.0.0.1:9", "MNEMESH_NAME": '50% "a" $b', "MNEMESH_TOKEN": "t", "MNEMESH_AGENT": "me",
            "MNEMESH_MINE_KEY_FILE": "/k", "MNEMESH_QDRANT_API_KEY": "q", "MNEMESH_MINE_URL": "https://a:b@c.example",
            "PATH": "/bin",
        }
    )  # fmt: skip
    assert list(variables) == ["MNEMESH_HTTP", "MNEMESH_MINE_KEY_FILE", "MNEMESH_NAME"]
    assert left_out == ["MNEMESH_MINE_URL", "MNEMESH_QDRANT_API_KEY", "MNEMESH_TOKEN"]
    for data in services.files_of(platform, "/bin/mnemesh", DATA, (NODE,), variables).values():
        if platform == "darwin":
            assert plistlib.loads(data)["EnvironmentVariables"] == variables
        else:
            assert r'Environment="MNEMESH_NAME=50%% \"a\" $b"' in data.decode()
