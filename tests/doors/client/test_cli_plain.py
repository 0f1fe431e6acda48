"""Words of recall have the same meaning with and without typer."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.cli import app
from mnemesh.cli.plain import plain_values
from mnemesh.cli.plain_options import RECALL

RECALL_COMMAND: Any = typer.main.get_group(app._app(["recall"])).commands["recall"]
VALUES = st.sampled_from(["x", "team/a", "5", "0.5", "-1", "-", "--", "", "two words", "--json", "é", "1e3", "1_0"])
WORDS = st.lists(st.one_of(st.sampled_from([*RECALL, "--limit=3", "--lim", "-n3", "--help"]), VALUES), max_size=6)


def typer_values(words: list[str]) -> dict[str, Any] | None:
    """The values of the given words, as typer reads them; None for a refusal."""
    try:
        with RECALL_COMMAND.make_context("recall", list(words)) as context:
            return {name: value for name, value in context.params.items() if value not in (None, False, [], ())}
    except (typer.TyperException, typer.Exit):
        return None


@given(words=WORDS)
def test_plain_words_give_the_values_that_typer_reads(words: list[str]) -> None:
    values = plain_values(words, RECALL)
    if values is not None:
        assert {name: value for name, value in values.items() if value not in (None, [])} == typer_values(words)


@pytest.mark.parametrize(
    "words", [["--help"], ["--limit", "many"], ["--limit"], ["--space", ""], ["--lim", "3"], ["-n3"], ["--mode", "-x"]]
)
def test_words_that_are_not_plain_are_left_to_typer(words: list[str]) -> None:
    assert plain_values(["x", *words], RECALL) is None


def test_every_option_of_recall_is_in_the_table() -> None:
    flags = {flag for param in RECALL_COMMAND.params if param.param_type_name == "option" for flag in param.opts}
    assert set(RECALL) == flags - {"--help", "-h"}
