"""Checkpoints as text and back, and the choice of a context within its budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_memory.policy.sessions import checkpoints, session_context
from mnemesh_memory.policy.sessions.checkpoints import HEADINGS, Standing
from mnemesh_memory.policy.sessions.session_context import GROUPS, SHARES, GivenMemories
from mnemesh_memory.text.text import estimate_tokens
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Memory

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
NOW = 1_800_000_000_000
LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=60).filter(str.strip)
LISTS = st.lists(LINES, max_size=5, unique=True).map(tuple)
STANDINGS = st.builds(
    Standing,
    task=LINES,
    custom=st.sampled_from(("", "two\nlines", "a\n\nparagraph\n\nTask: none", "Files:\n- no file")),
    **dict.fromkeys(HEADINGS, LISTS),
)


def memory(number: int, content: str = "text", **more: Any) -> Memory:
    return plain_memory(f"{number:08d}", content, NOW, **{"space": "team", "by": "owner", **more})


@PROPERTY
@given(STANDINGS)
def test_a_checkpoint_is_read_out_of_its_text_as_it_was_checked(given: Standing) -> None:
    clean = checkpoints.checked(given, mask=False)
    assert checkpoints.read(checkpoints.text_of(clean)) == clean


@PROPERTY
@given(st.text(max_size=300))
def test_any_text_can_be_read_as_a_checkpoint(text: str) -> None:
    checkpoints.read(text)


@PROPERTY
@given(STANDINGS, STANDINGS)
def test_a_merge_keeps_everything_and_says_the_newer_last(before: Standing, after: Standing) -> None:
    merged = checkpoints.merged(before, after)
    assert merged.task == after.task
    for name in HEADINGS:
        items = getattr(merged, name)
        assert set(items) == {*getattr(before, name), *getattr(after, name)}
        assert len(items) == len(set(items))
    assert checkpoints.merged(merged, after) == merged


def test_a_checkpoint_of_nothing_is_refused_and_one_too_long_loses_its_oldest_items() -> None:
    with pytest.raises(InvalidArgument, match="task"):
        checkpoints.checked(Standing(), mask=False)
    long = Standing(
        task="x", files=tuple(f"{number} " + "f" * 900 for number in range(60)), custom="c" * 1_000, decisions=("d",)
    )
    kept = checkpoints.fitting(long)
    assert len(checkpoints.text_of(kept).encode()) <= limits.CONTENT_BYTES_MAX
    assert kept.files == long.files[-len(kept.files) :]
    assert kept.decisions == ("d",)
    short = checkpoints.shortened(long, 300)
    assert estimate_tokens(checkpoints.text_of(short)) <= 300
    with pytest.raises(InvalidArgument, match="custom"):
        checkpoints.fitting(replace(long, custom="c" * limits.CONTENT_BYTES_MAX))


def test_a_credential_is_masked_when_that_is_asked() -> None:
    secret = "AKIA" + "IOSFODNN7" + "QX3MPLW"
    masked = checkpoints.checked(Standing(task=f"use {secret}", errors=(f"401 with {secret}",)), mask=True)
    assert secret not in checkpoints.text_of(masked)
    assert "[masked: " in masked.task


MEMORIES = st.lists(st.integers(0, 30), max_size=8).flatmap(
    lambda ids: st.lists(st.integers(0, 1_500), min_size=len(ids), max_size=len(ids)).map(
        lambda sizes: [memory(id_, "word " * (size // 5)) for id_, size in zip(ids, sizes, strict=True)]
    )
)


@PROPERTY
@given(st.fixed_dictionaries(dict.fromkeys(GROUPS, MEMORIES)), st.integers(100, 3_000), st.sets(st.integers(0, 30)))
def test_a_context_has_each_memory_once_none_given_before_and_keeps_its_budget(
    found: dict[str, list[Memory]], budget: int, before: set[int]
) -> None:
    given_before = {f"{number:08d}" for number in before}
    chosen = session_context.chosen(found, given_before, budget, NOW)
    assert len(chosen.ids) == len(set(chosen.ids))
    assert chosen.tokens_used <= budget
    for group in chosen.groups:
        assert group.memories
        if group.name != session_context.TRIGGERED:
            assert not given_before & {memory.id for memory in group.memories}
    waiting = {one.id for name, group in found.items() for one in group if name != session_context.TRIGGERED}
    waiting = (waiting - given_before) | {one.id for one in found[session_context.TRIGGERED]}
    assert chosen.left_out + len(chosen.ids) == len(waiting)


def test_no_group_crowds_out_the_others_and_the_rest_goes_to_the_first() -> None:
    pins = [memory(number, "p" * 400) for number in range(30)]
    rules = [memory(100 + number, "r" * 100) for number in range(30)]
    chosen = session_context.chosen({"pinned": pins, "rules": rules}, (), 1_500, NOW)
    shares = {group.name: len(group.memories) for group in chosen.groups}
    assert shares["pinned"] > 0.5 * 1_500 / 134
    assert shares["rules"] >= 1
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_what_is_only_likely_to_be_needed_takes_a_tenth_of_the_budget() -> None:
    likely = [memory(number, "word " * 4) for number in range(30)]
    chosen = session_context.chosen({"predicted": likely}, (), 3_000, NOW)
    assert 200 <= chosen.tokens_used <= 300


def test_what_does_not_hold_now_is_left_out() -> None:
    over, later, active = memory(1, valid_to=NOW), memory(2, valid_from=NOW + 1), memory(3, valid_from=NOW)
    chosen = session_context.chosen({"pinned": [over, later, active, memory(4, state="superseded")]}, (), 500, NOW)
    assert chosen.ids == (active.id,)


def test_a_node_knows_the_latest_sessions_and_memories_only() -> None:
    table = GivenMemories()
    for number in range(limits.CONTEXT_SESSIONS_MAX + 1):
        table.add((f"s{number}", "owner", ("team",)), ["a"])
    assert not table.of(("s0", "owner", ("team",)))
    table.add(("s1", "owner", ("team",)), map(str, range(limits.CONTEXT_GIVEN_MAX + 1)))
    assert len(table.of(("s1", "owner", ("team",)))) == limits.CONTEXT_GIVEN_MAX
    table.add(("", "owner", ("team",)), ["a"])
    assert not table.of(("", "owner", ("team",)))
