"""Bad usage of the gateway's programs is told as the command line tells it."""

from __future__ import annotations

import json

import pytest

from mnemesh_gateway.__main__ import EXIT_USAGE, main

WRONG = [
    ("up", "--foo", "3"),
    ("doctor", "--foo"),
    ("node", "salvage"),
    ("node", "nonsense"),
    ("backup", "load", "--foo", "file"),
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_bad_usage_is_one_line_and_where_help_is(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == EXIT_USAGE
    out, err = capsys.readouterr()
    said, help_ = err.splitlines()
    assert (out, said.startswith("mnemesh: "), help_.startswith(f"Try `mnemesh {words[0]}")) == ("", True, True)


@pytest.mark.parametrize("words", WRONG[1:], ids=" ".join)
def test_with_json_bad_usage_is_one_object(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main((*words, "--json")) == EXIT_USAGE
    out, err = capsys.readouterr()
    assert (json.loads(out)["error"]["code"], err) == ("INVALID_ARGUMENT", "")
