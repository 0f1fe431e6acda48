"""`mnemesh service` as a person runs it, in a home of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from forked import MNEMESH

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd is a system of Linux"),
]


async def test_the_files_are_shown_written_and_taken_out_again(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    async def service(*words: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
        ended = await MNEMESH.run("service", *words, "--json", "--data", tmp_path / "data", env=environ)
        return ended.code, ended.json

    units = tmp_path / "config" / "systemd" / "user"
    code, shown = await service("install", "--backups", "--dry-run")
    assert (code, len(shown["files"]), os.listdir(tmp_path)) == (0, 5, [])
    code, done = await service("install", "--backups")
    assert (code, {Path(file["path"]) for file in done["files"]}) == (0, set(units.iterdir()))
    assert "mnemesh-mine.timer mnemesh-backup.timer" in str(done["commands"])
    node = units / "mnemesh-node.service"
    assert f'"up" "--data" "{tmp_path / "data"}"' in node.read_text()
    node.write_text(node.read_text().replace("30", "60"))
    code, refused = await service("install")
    assert code == 4
    assert "move it away first" in str(refused)
    code, gone = await service("uninstall")
    assert {file["action"] for file in gone["files"]} == {"removed", "left out"}
    assert list(units.iterdir()) == [node]
    node.unlink()
    assert (await service("uninstall"))[1]["files"] == []
