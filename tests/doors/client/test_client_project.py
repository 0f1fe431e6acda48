"""The space of a git repository: by remote, by folder, and by the order of claims; a file of a project with a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.transport.git_repository import remote_path
from mnemesh.transport.project import PROJECTS_FILE, Project, _Names, project_of
from mnemesh.transport.space import BadSpaceFile
from mnemesh_memory.values.spaces import space_path


def git(*words: str, cwd: Path) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *name, *words], cwd=cwd, check=True, capture_output=True, timeout=30)


def repository(at: Path, remote: str = "") -> Path:
    at.mkdir(parents=True)
    git("init", cwd=at)
    git("commit", "--allow-empty", "-m", "first", cwd=at)
    if remote:
        git("remote", "add", "origin", remote, cwd=at)
    return at


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.json").write_text("{}")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "url",
    [
        "git@example.com:acme/api.git",
        "ssh://git@example.com:2222/acme/api.git",
        "https://example.com/acme/api",
        "https://ada:secret@example.com/acme/api.git/",
        "git://example.com/acme/api.git?x=1",
        "https://example.com/scm/acme/api.git",
    ],
)
def test_every_form_of_one_remote_gives_one_space(url: str, tmp_path: Path, data_dir: Path) -> None:
    there = project_of(repository(tmp_path / "somewhere", url), data_dir, tmp_path)
    assert (there.space, there.origin) == ("acme/api", "git remote")


def test_azure_names_one_repository_the_same_by_ssh_and_by_https() -> None:
    https = remote_path("https://acme@dev.azure.com/acme/shop/_git/api")
    assert https == remote_path("git@ssh.dev.azure.com:v3/acme/shop/api") == ("acme", "shop", "api")


def test_two_repositories_of_one_folder_name_share_nothing(tmp_path: Path, data_dir: Path) -> None:
    one = project_of(repository(tmp_path / "a" / "api", "git@example.com:acme/api.git"), data_dir, tmp_path)
    other = project_of(repository(tmp_path / "b" / "api", "git@example.com:ada/api.git"), data_dir, tmp_path)
    assert (one.space, other.space) == ("acme/api", "ada/api")


def test_work_trees_share_the_space_of_their_repository(tmp_path: Path, data_dir: Path) -> None:
    main = repository(tmp_path / "api", "git@example.com:acme/api.git")
    git("worktree", "add", "../login-fix", cwd=main)
    there = project_of(tmp_path / "login-fix", data_dir, tmp_path)
    there.tree = ""
    assert there.members() == Project("acme/api", alias="login-fix", origin="git remote").members()


def test_work_trees_of_a_repository_without_a_remote_share_its_folders_name(tmp_path: Path, data_dir: Path) -> None:
    main = repository(tmp_path / "api")
    git("worktree", "add", "../login-fix", cwd=main)
    assert project_of(tmp_path / "login-fix", data_dir, tmp_path).space == "api"
    assert project_of(main, data_dir, tmp_path).space == "api"


def test_the_second_repository_of_a_name_gets_a_hash_and_says_whose_the_name_is(tmp_path: Path, data_dir: Path) -> None:
    first, second = repository(tmp_path / "a" / "api"), repository(tmp_path / "b" / "api")
    assert project_of(first, data_dir, tmp_path).space == "api"
    clash = project_of(second, data_dir, tmp_path)
    assert clash.space.startswith("api-")
    assert (clash.taken, clash.taken_by) == ("api", str((first / ".git").resolve()))
    assert project_of(second, data_dir, tmp_path).members() == clash.members()
    assert project_of(first, data_dir, tmp_path).space == "api"


def test_a_moved_repository_keeps_its_name(tmp_path: Path, data_dir: Path) -> None:
    first = repository(tmp_path / "a" / "api")
    project_of(first, data_dir, tmp_path)
    (tmp_path / "c").mkdir()
    assert project_of(first.rename(tmp_path / "c" / "api"), data_dir, tmp_path).space == "api"


def test_the_folders_name_of_before_is_read_along_and_written_to_by_nobody(tmp_path: Path, data_dir: Path) -> None:
    remote = repository(tmp_path / "a" / "api", "git@example.com:acme/api.git")
    there = project_of(remote, data_dir, tmp_path)
    there.tree = ""
    assert there.members() == Project("acme/api", alias="api", origin="git remote").members()
    plain = project_of(repository(tmp_path / "b" / "api"), data_dir, tmp_path)
    assert plain.space.startswith("api-")
    assert plain.alias == "api"


def test_a_name_that_another_project_writes_to_is_no_alias(tmp_path: Path, data_dir: Path) -> None:
    assert project_of(repository(tmp_path / "b" / "api"), data_dir, tmp_path).space == "api"
    remote = project_of(repository(tmp_path / "a" / "api", "git@example.com:acme/api.git"), data_dir, tmp_path)
    assert (remote.space, remote.alias, remote.taken) == ("acme/api", "", "api")


def test_a_remote_of_one_segment_keeps_its_name_and_says_whose_it_is_too(tmp_path: Path, data_dir: Path) -> None:
    plain = repository(tmp_path / "a" / "api")
    assert project_of(plain, data_dir, tmp_path).space == "api"
    remote = project_of(repository(tmp_path / "b" / "api", "git@example.com:api.git"), data_dir, tmp_path)
    assert (remote.space, remote.taken, remote.taken_by) == ("api", "api", str((plain / ".git").resolve()))
    first = project_of(repository(tmp_path / "c" / "web", "git@example.com:web.git"), data_dir, tmp_path)
    assert (first.space, first.taken) == ("web", "")
    assert project_of(repository(tmp_path / "d" / "web"), data_dir, tmp_path).taken == "web"


def test_of_two_that_take_a_name_at_once_one_has_it(tmp_path: Path, data_dir: Path) -> None:
    first, second = repository(tmp_path / "a" / "lib"), repository(tmp_path / "b" / "lib")
    late = _Names(data_dir)  # has looked before the other one came
    assert project_of(first, data_dir, tmp_path).space == "lib"
    assert late.claim("lib", str(second / ".git")) == str((first / ".git").resolve())


def test_a_clone_from_the_same_disk_belongs_to_the_project_it_was_cloned_from(tmp_path: Path, data_dir: Path) -> None:
    origin = repository(tmp_path / "api", "git@example.com:acme/api.git")
    git("clone", str(origin), "scratch", cwd=tmp_path)
    assert project_of(tmp_path / "scratch", data_dir, tmp_path).space == "acme/api"
    repository(tmp_path / "plain")
    git("clone", "--bare", "plain", "shared.git", cwd=tmp_path)
    git("clone", str(tmp_path / "shared.git"), "mine", cwd=tmp_path)
    assert project_of(tmp_path / "mine", data_dir, tmp_path).space == "plain"


def test_the_project_file_wins_over_the_remote(tmp_path: Path, data_dir: Path) -> None:
    tree = repository(tmp_path / "api", "git@example.com:acme/api.git")
    (tree / ".mnemesh.toml").write_text('space = "team/payments"')
    named = Project("team/payments", origin=".mnemesh.toml", tree=str(tree))
    assert project_of(tree, data_dir, tmp_path).members() == named.members()


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path, data_dir: Path) -> None:
    lib = repository(tmp_path / "lib")
    tree = repository(tmp_path / "api", "git@example.com:acme/api.git")
    git("-c", "protocol.file.allow=always", "submodule", "add", str(lib), "vendor/lib", cwd=tree)
    git("remote", "set-url", "origin", "git@example.com:acme/lib.git", cwd=tree / "vendor" / "lib")
    assert project_of(tree / "vendor" / "lib", data_dir, tmp_path).space == "acme/lib"


def test_without_a_data_directory_nothing_is_noted_and_the_project_is_not_settled(tmp_path: Path) -> None:
    there = project_of(repository(tmp_path / "api"), tmp_path / "none", tmp_path)
    assert (there.space, there.settled) == ("api", False)
    assert not (tmp_path / "none").exists()


def test_a_broken_list_of_names_is_refused_with_what_to_do(tmp_path: Path, data_dir: Path) -> None:
    (data_dir / PROJECTS_FILE).write_text("[1]")
    with pytest.raises(BadSpaceFile, match="delete it to begin anew"):
        project_of(repository(tmp_path / "api"), data_dir, tmp_path)
    (data_dir / PROJECTS_FILE).write_text(json.dumps({"api": 1}))
    with pytest.raises(BadSpaceFile, match=PROJECTS_FILE):
        project_of(tmp_path / "api", data_dir, tmp_path)


@given(st.text(max_size=80), st.sampled_from(["https://h/", "git@h.example:", "ssh://h/", "", "file:///"]))
def test_any_remote_gives_a_space_that_a_node_takes_or_none(tail: str, head: str) -> None:
    from mnemesh.transport.project import _path_of

    space = _path_of(remote_path(head + tail))
    if space:
        assert space_path("space", space) == space


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('inject = "gatet"', ".mnemesh.toml: inject: 'gatet' is not allowed; one of auto, gated, tool, off."),
        ('hooks = "nope"', ".mnemesh.toml: hooks: 'nope' is not allowed; true or false. The hooks are off until then."),
        ('injct = "auto"', ".mnemesh.toml: 'injct' is not allowed; inject is the key"),
        ("inject = ", "a readable TOML file"),
    ],
)
def test_a_project_file_with_a_fault_turns_the_hooks_off_and_is_named_where_a_person_looks(
    tmp_path: Path, text: str, fault: str
) -> None:
    (tmp_path / ".mnemesh.toml").write_text(f"{text}\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}
    for words in (
        ("hook", "claude-code", "UserPromptSubmit"), ("hook", "codex", "PermissionRequest"), ("space",),
        ("install", "cursor", "--dry-run"),
    ):  # fmt: skip
        ran = subprocess.run(
            [sys.executable, "-m", "mnemesh", *words], text=True, cwd=tmp_path, capture_output=True, timeout=60,
            input='{"prompt": "where do deploys run?", "tool_name": "mcp__mnemesh__recall"}', check=False,
            env={**environ, "MNEMESH_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)},
        )  # fmt: skip
        assert fault in ran.stderr, words
        assert words[0] != "hook" or (ran.returncode, ran.stdout) == (0, ""), words
