"""The watcher of files counts stale memories by itself, and no answer needs the watcher."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from recall_scene import running
from set_clock import Clock
from test_heat_life import BEGUN

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.watch import file_watch
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch
from mnemesh_memory.values.model_status import FileWatchStatus

SPACE = "acme/api"
PATIENCE_S = 30.0
pytestmark = pytest.mark.asyncio


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    (place / "src").mkdir(parents=True)
    (place / ".mnemesh.toml").write_text("")
    (place / "src/limits.py").write_text("LIMIT = 15\n")
    (place / "README.md").write_text("Read me.\n")
    return place


def owner(tree: Path) -> Caller:
    return Caller("owner", "owner", default_space=SPACE, root=str(tree))


async def write(mesh: Mesh, tree: Path, content: str) -> Memory:
    return (await mesh.remember(owner(tree), Draft(content=content, space=SPACE, force=True))).memory


async def until(mesh: Mesh, holds: Callable[[FileWatchStatus], bool]) -> FileWatchStatus:
    """The status of the watcher once it holds, bounded. Each asking is a call of the ledger, so no pause is needed."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds(found := (await mesh.status()).files):
            await asyncio.to_thread(str)
    return found


async def test_a_changed_file_is_counted_until_its_content_is_the_old_one_again(tmp_path: Path, tree: Path) -> None:
    file = tree / "src/limits.py"
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        assert (await mesh.status()).files == FileWatchStatus(state="nothing to watch")
        named = await write(mesh, tree, "The limit is 15 minutes, set in src/limits.py.")
        await write(mesh, tree, "The README.md says how to begin.")
        watched = await until(mesh, lambda status: status.folders == 2)
        assert (watched.state, watched.stale, watched.notes) == ("watching", 0, ())
        file.write_text("LIMIT = 60\n")
        await until(mesh, lambda status: status.stale == 1)
        file.write_text("LIMIT = 15\n")
        await until(mesh, lambda status: status.stale == 0)
        # A folder goes away and comes back, as with a checkout of another branch.
        shutil.move(tree / "src", tree / "away")
        await until(mesh, lambda status: (status.stale, status.folders) == (1, 1))
        shutil.move(tree / "away", tree / "src")
        await until(mesh, lambda status: (status.stale, status.folders) == (0, 2))
        file.unlink()
        await until(mesh, lambda status: status.stale == 1)
        await mesh.update(owner(tree), named.id, Patch(content="The limit is 15 minutes."))
        assert (await mesh.status()).files.stale == 0


async def test_what_changed_while_the_node_was_away_is_found_at_its_start(tmp_path: Path, tree: Path) -> None:
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        await write(mesh, tree, "The limit is 15 minutes, set in src/limits.py.")
    (tree / "src/limits.py").write_text("LIMIT = 60\n")
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        await until(mesh, lambda status: status.stale == 1)
    shutil.move(tree, tmp_path / "elsewhere")
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        away = await until(mesh, lambda status: bool(status.notes))
        assert (away.state, away.folders, away.stale) == ("nothing to watch", 0, 0)
        assert away.notes == (f"{tree} is not there, so its files are not checked here",)


async def test_stale_memories_that_are_forgotten_leave_the_count_at_once(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "PAGE", 2)
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        texts = [f"Limit {number} is set in src/limits.py." for number in range(5)]
        named = [await write(mesh, tree, text) for text in texts]
        (tree / "src/limits.py").write_text("LIMIT = 60\n")
        await until(mesh, lambda status: status.stale == 5)
        for memory in named[3:]:
            await mesh.forget(owner(tree), memory.id)
        assert (await mesh.status()).files.stale == 3
        # A change that leaves the statement as old as before.
        await mesh.update(owner(tree), named[0].id, Patch(tags=("limits",)))
        await mesh.status()
        await until(mesh, lambda status: status.stale == 3)


async def test_a_system_without_room_for_watches_is_told_and_answers_are_marked_all_the_same(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(folders: frozenset[str]) -> AsyncGenerator[set[str], None]:
        raise OSError(28, "inotify watch limit reached")
        yield set()

    monkeypatch.setattr(file_watch, "_batches", full)
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        named = await write(mesh, tree, "The limit is 15 minutes, set in src/limits.py.")
        told = await until(mesh, lambda status: status.state == "compared when shown")
        assert told.folders == 0
        assert "inotify watch limit reached" in told.notes[0]
        (tree / "src/limits.py").write_text("LIMIT = 60\n")
        ((shown,), _) = await mesh.get(owner(tree), [named.id])
        assert shown.stale


async def test_a_file_name_that_is_no_utf_8_stops_the_watcher_alone(tmp_path: Path, tree: Path) -> None:
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        named = await write(mesh, tree, "The limit is 15 minutes, set in src/limits.py.")
        await until(mesh, lambda status: status.folders == 1)
        (tree / "src" / os.fsdecode(b"caf\xe9.py")).write_text("")
        told = await until(mesh, lambda status: status.state == "compared when shown")
        assert "the system does not watch these folders" in told.notes[0]
        (tree / "src/limits.py").write_text("LIMIT = 60\n")
        ((shown,), _) = await mesh.get(owner(tree), [named.id])
        assert shown.stale


async def test_folders_beyond_the_limit_are_told_and_a_setting_turns_the_watcher_off(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watch, "FOLDERS_MAX", 1)
    async with running(tmp_path / "data", clock=Clock(BEGUN)) as mesh:
        await write(mesh, tree, "The limit is 15 minutes, set in src/limits.py; see README.md.")
        told = await until(mesh, lambda status: bool(status.notes))
        assert told.folders == 1
        assert told.notes[0].startswith("1 folders are not watched, because 1 are at most")
    async with running(tmp_path / "data", clock=Clock(BEGUN), mesh=MeshConfig(watches_files=False)) as mesh:
        assert (await mesh.status()).files == FileWatchStatus()
