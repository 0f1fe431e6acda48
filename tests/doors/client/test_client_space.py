"""Which space a directory belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemesh.errors import InvalidArgument
from mnemesh.transport.project import detect_space, project_here
from mnemesh.transport.space import BadSpaceFile, segment_of, tree_of
from mnemesh_memory.values.spaces import space_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_nearest_project_file_decides(home: Path) -> None:
    inner = home / "src" / "payments" / "api"
    inner.mkdir(parents=True)
    (home / "src" / "payments" / ".git").mkdir()
    (home / "src" / ".mnemesh.toml").write_text('space = "team/all"\n')
    assert detect_space(inner, home) == "team/all"
    (inner.parent / ".mnemesh.toml").write_text('space = " team/payments "\nother = 1\n')
    assert detect_space(inner, home) == "team/payments"


def test_else_the_name_of_the_git_work_tree(home: Path) -> None:
    inner = home / "src" / "payments" / "api"
    inner.mkdir(parents=True)
    (home / "src" / "payments" / ".git").mkdir()
    assert detect_space(inner, home) == "payments"
    # A worktree and a submodule have a file of that name.
    (inner / ".git").write_text("gitdir: ../.git/modules/api\n")
    assert detect_space(inner, home) == "api"


def test_else_nothing(home: Path) -> None:
    (home / "notes").mkdir()
    assert detect_space(home / "notes", home) == ""


def test_a_repository_of_dot_files_in_the_home_directory_claims_nothing(home: Path) -> None:
    (home / ".git").mkdir()
    (home / "notes").mkdir()
    assert detect_space(home / "notes", home) == ""
    (home / ".mnemesh.toml").write_text('space = "mine"')
    assert detect_space(home / "notes", home) == "mine"


def test_nothing_above_the_home_directory_counts(home: Path) -> None:
    (home.parent / ".mnemesh.toml").write_text('space = "of-another"')
    (home.parent / ".git").mkdir()
    assert detect_space(home, home) == ""


@pytest.mark.parametrize("form", ["/{0}", "{0}/.", "{0}/./", "{0}//"])
def test_the_home_directory_ends_the_search_in_whatever_form_it_is_written(home: Path, form: str) -> None:
    (home / ".git").mkdir()
    (home / "notes").mkdir()
    (home.parent / ".mnemesh.toml").write_text('space = "of-another"')
    written = f"{home.parent}{form.format('/home')}"
    assert detect_space(home / "notes", written) == ""
    assert detect_space(f"{written}/notes", home) == ""


def test_the_folder_of_a_project_has_one_name_from_wherever_it_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(home / "shop")
    for written in (".", f"{home}//shop", f"{home}/./shop/."):
        assert tree_of(written, home) == str(home / "shop")
        assert detect_space(written, home) == "shop"


def test_a_broken_project_file_beyond_the_one_that_names_the_space_is_nobodys_business(home: Path) -> None:
    inner = home / "shop"
    inner.mkdir()
    (home / ".mnemesh.toml").write_text('spase = "x"\n')
    (inner / ".mnemesh.toml").write_text('space = "team/shop"\n')
    assert detect_space(inner, home) == "team/shop"
    (inner / ".mnemesh.toml").write_text("banner = true\n")
    with pytest.raises(BadSpaceFile, match="spase"):
        detect_space(inner, home)


def test_a_working_directory_that_is_gone_has_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert project_here(tmp_path / "data").space == ""


@pytest.mark.parametrize(
    "space", ["@ana", "@ana/notes", "team/pay ments", "cafe\u0301", "e\u0301" * 100, "x" * 200, "a/b/c/d/e/f/g/h"]
)
def test_a_project_file_may_name_any_space_that_a_node_takes(home: Path, space: str) -> None:
    (home / ".mnemesh.toml").write_text(f'space = "{space}"\n')
    assert detect_space(home, home) == space


@pytest.mark.parametrize(
    "text",
    [
        "space = ",
        "",
        "space = 3",
        'space = " "',
        b"\xff",
        'space = "../x"',
        'space = "a//b"',
        'space = "a/@b"',
        'space = "a/b/c/d/e/f/g/h/i"',
    ],
)
def test_a_project_file_that_names_no_space_is_an_error_and_no_guess(home: Path, text: str | bytes) -> None:
    (home / ".mnemesh.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadSpaceFile) as refused:
        detect_space(home, home)
    assert str(home / ".mnemesh.toml") in str(refused.value)
    assert isinstance(refused.value, InvalidArgument)


def test_a_misspelt_key_is_named_with_the_key_that_was_meant_and_a_key_of_a_later_version_is_left_alone(
    home: Path,
) -> None:
    (home / ".mnemesh.toml").write_text("baner = true\n")
    with pytest.raises(BadSpaceFile, match="'baner' is not allowed; banner is the key; all keys are banner, hooks,"):
        detect_space(home, home)
    (home / ".mnemesh.toml").write_text('space = "team/x"\ncolour = "red"\n')
    assert detect_space(home, home) == "team/x"


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("payments", "payments"),
        ("Mon Projet é", "Mon Projet é"),
        ("cafe\u0301", "café"),
        ('a\\b*c?d"e<f>g|h@i', "a-b-c-d-e-f-g-h-i"),
        ("tab\there\n", "tab-here-"),
        (" blank ", "blank"),
        ("..", ""),
        ("bad\udcff", "bad-"),
        ("x" * 255, "x" * 200),
    ],
)
def test_any_folder_name_becomes_a_segment_that_the_node_accepts(name: str, segment: str) -> None:
    assert segment_of(name) == segment
    if segment:
        assert space_path("space", segment) == segment
