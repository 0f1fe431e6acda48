"""Two rows of words are aligned as difflib aligns them."""

from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.policy.judge.alignment import gaps_of, runs_of

ROWS = st.lists(st.sampled_from("abcd"), max_size=24)


@given(ROWS, ROWS)
def test_the_gaps_between_two_rows_are_the_steps_of_difflib_that_change_something(
    one: list[str], other: list[str]
) -> None:
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changed = [(range(a, b), range(c, d)) for kind, a, b, c, d in steps if kind != "equal"]
    runs = runs_of(one, other)
    assert gaps_of(one, other, runs) == changed
    assert sum(size for _, _, size in runs) == sum(b - a for kind, a, b, _, _ in steps if kind == "equal")
