"""The live vault at a real node: files follow the memories, edits of files become revisions, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import NodeUnderTest

from mnemesh import Client
from mnemesh.cli.imports.vault import QUARANTINE, Vault
from mnemesh.entry import main
from mnemesh.errors import InvalidArgument
from mnemesh.importing.export import markdown_path

PATIENCE_S = 60.0


@pytest.fixture
def client(shared_node: NodeUnderTest, request: pytest.FixtureRequest) -> Iterator[Client]:
    space = "vault/" + request.node.name[:60].replace("[", "-").replace("]", "")
    with Client(shared_node.grpc, shared_node.token, space=space, timeout_s=PATIENCE_S) as connected:
        yield connected


def mirror(client: Client, folder: Path, space: str) -> Vault:
    """One run of `mnemesh vault --once`."""
    vault = Vault(client, folder, (space,))
    vault.begin()
    with vault.watch() as watch:
        vault.fill(watch.cursor)
    return vault


def test_every_memory_has_a_file_and_a_second_run_writes_nothing(client: Client, tmp_path: Path) -> None:
    memory = client.remember("Deploys run from CI only", title="Deploys").memory
    first = mirror(client, tmp_path / "v", memory.space)
    file = tmp_path / "v" / markdown_path(memory)
    assert file.read_text().endswith("\n---\nDeploys run from CI only\n")
    assert first.counts["written"] == 1
    assert set(mirror(client, tmp_path / "v", memory.space).counts.values()) == {0}


def test_a_folder_of_one_space_is_not_emptied_for_another(client: Client, tmp_path: Path) -> None:
    memory = client.remember("Deploys run from CI only", title="Deploys").memory
    mirror(client, tmp_path / "v", memory.space)
    with pytest.raises(InvalidArgument, match=f"space: 'vault/nosuch' is not allowed; {memory.space}, which"):
        mirror(client, tmp_path / "v", "vault/nosuch")
    assert (tmp_path / "v" / markdown_path(memory)).exists()


def test_a_writer_mirrors_and_imports_without_the_status_of_the_node(
    shared_node: NodeUnderTest, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = client.remember("Deploys run from CI only", title="Deploys").memory
    token = client.add_agent("vaulter", role="writer", spaces=[memory.space]).token
    with Client(shared_node.grpc, token, space=memory.space, timeout_s=PATIENCE_S) as writer:
        mirror(writer, tmp_path / "v", memory.space)
        assert (tmp_path / "v" / markdown_path(memory)).exists()
        assert set(mirror(writer, tmp_path / "v", memory.space).counts.values()) == {0}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMESH_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "notes.md").write_text("# Kiln\n\nThe kiln cools for nine hours.\n")
    words = ["import", "notes.md", "--space", memory.space, "--endpoint", shared_node.grpc, "--token", token]
    assert [main(words), main(words)] == [0, 0]
    texts = [one.content for one in client.export(space=memory.space)]
    assert sum("nine hours" in text for text in texts) == 1


def test_an_edited_file_becomes_a_revision_and_a_forgotten_memory_loses_its_file(
    client: Client, tmp_path: Path
) -> None:
    memory = client.remember("The database listens on 5432", title="Ports", tags=["db"]).memory
    gone = client.remember("Lunch is at noon", title="Lunch").memory
    folder = tmp_path / "v"
    mirror(client, folder, memory.space)
    file = folder / markdown_path(memory)
    text = file.read_text().replace("5432\n", "5440\n").replace('tags: ["db"]\n', 'tags: ["db", "port"]\n')
    file.write_text(text)
    client.forget(gone.id)
    done = mirror(client, folder, memory.space)
    now = client.get(memory.id)
    assert (now.content, sorted(now.tags), now.version) == ("The database listens on 5440", ["db", "port"], 2)
    assert done.counts["updated"] == 1
    assert not (folder / markdown_path(gone)).exists()
    assert len(client.history(memory.id).revisions) == 2


def test_an_edit_of_a_text_that_changed_elsewhere_is_kept_aside_and_overwrites_nothing(
    client: Client, tmp_path: Path
) -> None:
    memory = client.remember("Alice owns billing", title="Owner").memory
    folder = tmp_path / "v"
    mirror(client, folder, memory.space)
    file = folder / markdown_path(memory)
    file.write_text(file.read_text().replace("Alice", "Carol"))
    client.update(memory.id, content="Bob owns billing")
    done = mirror(client, folder, memory.space)
    assert client.get(memory.id).content == "Bob owns billing"
    assert file.read_text().endswith("Bob owns billing\n")
    aside = sorted(path.name for path in (folder / QUARANTINE).iterdir())
    assert done.counts["quarantined"] == 1
    assert "Carol owns billing" in (folder / QUARANTINE / aside[0]).read_text()
    assert "changed elsewhere" in (folder / QUARANTINE / aside[1]).read_text()


def test_a_new_file_becomes_a_memory_and_a_broken_one_is_kept_aside_with_the_reason(
    client: Client, tmp_path: Path
) -> None:
    space = client.remember("first").memory.space
    folder = tmp_path / "v"
    mirror(client, folder, space)
    (folder / space).mkdir(parents=True, exist_ok=True)
    (folder / space / "argo.md").write_text("---\ntags: [deploy]\n---\nDeploys go through Argo\n\n## Why\nhistory\n")
    (folder / space / "bad.md").write_text('---\nmnemesh: "1"\nid: [\n---\nx\n')
    (folder / "link.md").symlink_to("/etc/hostname")
    done = mirror(client, folder, space)
    (added,) = (memory for memory in client.export(space=space) if "Argo" in memory.content)
    assert added.content == "Deploys go through Argo\n\n## Why\nhistory"
    assert added.tags == ("deploy",)
    assert (done.counts["added"], done.counts["quarantined"]) == (1, 1)
    assert not (folder / space / "argo.md").exists()
    assert (folder / markdown_path(added)).exists()
    assert (folder / "link.md").is_symlink()


def test_a_change_at_the_node_reaches_the_folder_while_it_is_followed(client: Client, tmp_path: Path) -> None:
    space = client.remember("first").memory.space
    vault = Vault(client, tmp_path / "v", (space,))
    vault.begin()
    with vault.watch() as watch:
        vault.fill(watch.cursor)
        written = threading.Event()
        save = vault.save

        def saved() -> None:
            save()
            written.set()

        vault.save = saved  # type: ignore[method-assign]
        follower = threading.Thread(target=vault.follow, args=(watch,), daemon=True)
        follower.start()
        memory = client.remember("Renovate runs on Mondays", title="Renovate").memory
        assert written.wait(PATIENCE_S)
        assert (tmp_path / "v" / markdown_path(memory)).exists()
    follower.join(PATIENCE_S)
    assert not follower.is_alive()


def test_a_folder_of_something_else_is_left_alone(client: Client, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(InvalidArgument, match="an empty folder"):
        Vault(client, tmp_path, ("x",)).begin()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]
