"""A refusal of the graph names an option of the command line."""

from __future__ import annotations

from mnemesh.cli.report import advised
from mnemesh.errors import FailedPrecondition


def test_a_causal_chain_out_of_too_little_data_names_the_option_for_shorter_windows() -> None:
    error = FailedPrecondition("too little data: 49 more windows are needed (window_hours sets their length)")
    assert (
        advised(error, ["causal-chain", "x"])
        == "too little data: 49 more windows are needed (--window-hours N sets their length)"
    )
