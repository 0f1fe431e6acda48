"""Filters of place: paths and globs on either side, and the folder that a memory was written from."""

from __future__ import annotations

import pytest

from mnemesh_memory.validation.filters import in_place
from mnemesh_memory.values.model import Query


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/auth/tokens.py", "src/auth/tokens.py"), ("src/auth/tokens.py", "src"), ("src/auth/tokens.py", "src/"),
        ("src/auth/tokens.py", "src/*.py"), ("src/*.py", "src/auth/tokens.py"), ("infra/**/*.tf", "infra/x.tf"),
        ("infra/**/*.tf", "infra/a/x.tf"), ("infra/**/*.tf", "infra/a/b/x.tf"), ("x.tf", "**/*.tf"),
        ("a/x.tf", "**/*.tf"), ("a/b/x/c", "a/**/b/**/c"), ("a/c", "a/**/c"), ("a/**/b/c", "a/x/b/c"),
    ],
)  # fmt: skip
def test_a_path_and_a_glob_concern_each_other_whichever_of_them_is_asked_for(path: str, wanted: str) -> None:
    assert in_place(Query(text="x", paths=(wanted,)), [path], "")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/auth/tokens.py", "src/auth/token"), ("src/auth.py", "src/a"), ("infra/**/*.tf", "infra.tf"),
        ("infra/**/*.tf", "infra/x.py"), ("a/**/b/c", "a/x/c"), ("a/xb/c", "a/**/b/**/c"), ("SRC/x.py", "src/*.py"),
    ],
)  # fmt: skip
def test_other_paths_do_not(path: str, wanted: str) -> None:
    assert not in_place(Query(text="x", paths=(wanted,)), [path], "")


def test_many_wildcards_take_no_time() -> None:
    assert not in_place(Query(text="x", paths=("**/a/" * 100 + "b",)), ["a/" * 250 + "c"], "")


def test_a_folder_holds_what_lies_below_it_and_nothing_that_begins_alike() -> None:
    assert in_place(Query(text="x", source_dir="/home/ana/app"), [], "/home/ana/app/src")
    assert not in_place(Query(text="x", source_dir="/home/ana/app"), [], "/home/ana/apple")
