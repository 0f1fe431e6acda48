"""Records of sessions, requirements and checkpoints as values, how sure a preference is, and what a context takes."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import READER, Here

from mnemesh_actors.node import session_operations
from mnemesh_actors.remember.deadlines import find
from mnemesh_memory.policy.sessions import checkpoints, preferences, requirements, session_context, session_runs
from mnemesh_memory.policy.sessions.checkpoints import HEADINGS, WorkState
from mnemesh_memory.policy.sessions.session_context import GROUPS, SHARES, GivenMemories
from mnemesh_memory.policy.sessions.session_runs import SessionReport
from mnemesh_memory.text.text import estimate_tokens
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.model import Memory, Patch


def memory(**given: Any) -> Memory:
    """A memory with these fields."""
    return plain_memory(**{"space": "team/x", "content": "x", "by": "ana/x", **given})


LINES = st.lists(st.text("ab c\u00e9", min_size=1, max_size=40).filter(str.strip), max_size=5).map(tuple)
COUNTS = st.integers(0, 2**40)
TOLD = st.builds(
    SessionReport, session=st.just("s1"), prompts=LINES, files=LINES, errors=LINES, outcome=st.just("Done."),
    status=st.sampled_from(session_runs.STATUSES), model=st.sampled_from(("", "glass-4")), tokens_in=COUNTS,
    tokens_out=COUNTS, cost_usd=st.floats(0, 1e6), started_at=st.none() | st.integers(0, 10**12),
)  # fmt: skip


@given(TOLD)
def test_the_figures_of_a_record_come_back_from_its_memory(told: SessionReport) -> None:
    clean = session_runs.checked(told, mask=False)
    run = session_runs.run_of(memory(content=session_runs.text_of(clean), attrs=session_runs.attrs_of(clean)))
    for name in ("status", "model", "tokens_in", "tokens_out", "cost_usd"):
        assert getattr(run, name) == getattr(clean, name)
    assert (run.started_at or None) == (clean.started_at or None)


def test_a_record_fits_into_a_memory_and_loses_its_oldest_items() -> None:
    prompts = tuple(f"{number:03} " + "x" * 990 for number in range(64))
    text = session_runs.text_of(session_runs.checked(SessionReport(session="s1", prompts=prompts), mask=False))
    assert len(text.encode()) <= limits.CONTENT_BYTES_MAX
    assert prompts[-1] in text
    assert prompts[0] not in text


@pytest.mark.parametrize(
    "wrong", [{"session": ""}, {"status": "fine"}, {"tokens_in": -1}, {"cost_usd": float("nan")}, {"prompts": ()}]
)
def test_a_record_of_nothing_or_with_impossible_figures_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        session_runs.checked(replace(SessionReport(session="s1", prompts=("a",)), **wrong), mask=False)  # type: ignore[arg-type]


def test_attributes_that_somebody_else_wrote_are_no_figures() -> None:
    run = session_runs.run_of(memory(content="x", attrs={"run.tokens_in": "many", "run.tokens_out": "7"}))
    assert (run.tokens_in, run.tokens_out) == (0, 7)


@pytest.mark.parametrize("wrong", ["9" * 23, "-" + "9" * 23, "nan", "inf", "-1e400", "fine", "x\ny"])
def test_a_figure_that_no_door_would_take_counts_as_unknown(wrong: str) -> None:
    named = [one.name for one in dataclasses.fields(session_runs.Figures) if one.name != "model"]
    run = session_runs.run_of(memory(attrs={f"run.{name}": wrong for name in named}))
    assert {name: getattr(run, name) for name in named} == {
        name: getattr(session_runs.Figures(), name) for name in named
    }


@given(st.sets(st.sampled_from(("done", "dropped", "urgent"))), st.sampled_from(requirements.STATUSES))
def test_a_requirement_has_the_status_that_it_was_given_last(tags: set[str], status: str) -> None:
    before = memory(kind="requirement", tags=tuple(sorted(tags)))
    patch = requirements.settled(before, status, "")
    assert patch.tags is not None
    assert requirements.status_of(patch.tags) == status
    assert ("urgent" in patch.tags) == ("urgent" in tags)


def test_only_a_requirement_is_settled() -> None:
    with pytest.raises(FailedPrecondition):
        requirements.settled(memory(kind="fact"), "done", "")


def test_what_somebody_said_comes_before_what_behaviour_shows_and_that_before_a_guess() -> None:
    said, guessed = memory(kind="preference"), memory(kind="preference", attrs={"preference.tier": "inferred"})
    shown = [
        memory(kind="preference", attrs={"preference.tier": "signals", "preference.signals": str(count)})
        for count in (3, 12)
    ]
    assert sorted([guessed, *shown, said], key=preferences.rank) == [said, shown[1], shown[0], guessed]


async def test_settling_keeps_the_tags_that_another_writer_put_meanwhile(here: Here) -> None:
    asked = await here.remember("The winch can be stopped from the bridge", kind="requirement")

    async def overtaken(*given: Any, **more: Any) -> Memory:
        read = await find(*given, **more)
        if "urgent" not in read.tags:
            await here.mesh.update(READER, read.id, Patch(tags=("urgent",), attrs={"asked": "twice"}))
        return read

    here.patch.setattr(session_operations, "find", overtaken)
    await here.mesh.settle(READER, asked.id, "done", "in 2.3")
    ((settled,), _) = await here.mesh.get(READER, [asked.id])
    assert set(settled.tags) == {"urgent", "done"}
    assert settled.attrs == {"asked": "twice", requirements.NOTE: "in 2.3"}


# ---- checkpoints and contexts ----------------------------------------------------------------------------------------


PROPERTY = settings(max_examples=200, derandomize=True, database=None)
NOW = 1_800_000_000_000
LINE = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=60).filter(str.strip)
LISTS = st.lists(LINE, max_size=5, unique=True).map(tuple)
STANDINGS = st.builds(
    WorkState,
    task=LINE,
    custom=st.sampled_from(("", "two\nlines", "a\n\nparagraph\n\nTask: none", "Files:\n- no file")),
    **dict.fromkeys(HEADINGS, LISTS),
)


def numbered(number: int, content: str = "text", **more: Any) -> Memory:
    return plain_memory(f"{number:08d}", content, NOW, **{"space": "team", "by": "owner", **more})


@PROPERTY
@given(STANDINGS)
def test_a_checkpoint_is_read_out_of_its_text_as_it_was_checked(given: WorkState) -> None:
    clean = checkpoints.checked(given, mask=False)
    assert checkpoints.read(checkpoints.text_of(clean)) == clean


@PROPERTY
@given(st.text(max_size=300))
def test_any_text_can_be_read_as_a_checkpoint(text: str) -> None:
    checkpoints.read(text)


@PROPERTY
@given(STANDINGS, STANDINGS)
def test_a_merge_keeps_everything_and_says_the_newer_last(before: WorkState, after: WorkState) -> None:
    merged = checkpoints.merged(before, after)
    assert merged.task == after.task
    for name in HEADINGS:
        items = getattr(merged, name)
        assert set(items) == {*getattr(before, name), *getattr(after, name)}
        assert len(items) == len(set(items))
    assert checkpoints.merged(merged, after) == merged


def test_a_checkpoint_of_nothing_is_refused_and_one_too_long_loses_its_oldest_items() -> None:
    with pytest.raises(InvalidArgument, match="task"):
        checkpoints.checked(WorkState(), mask=False)
    long = WorkState(
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
    masked = checkpoints.checked(WorkState(task=f"use {secret}", errors=(f"401 with {secret}",)), mask=True)
    assert secret not in checkpoints.text_of(masked)
    assert "[masked: " in masked.task


MEMORIES = st.lists(st.integers(0, 30), max_size=8).flatmap(
    lambda ids: st.lists(st.integers(0, 1_500), min_size=len(ids), max_size=len(ids)).map(
        lambda sizes: [numbered(id_, "word " * (size // 5)) for id_, size in zip(ids, sizes, strict=True)]
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
    pins = [numbered(number, "p" * 400) for number in range(30)]
    rules = [numbered(100 + number, "r" * 100) for number in range(30)]
    chosen = session_context.chosen({"pinned": pins, "rules": rules}, (), 1_500, NOW)
    shares = {group.name: len(group.memories) for group in chosen.groups}
    assert shares["pinned"] > 0.5 * 1_500 / 134
    assert shares["rules"] >= 1
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_what_is_only_likely_to_be_needed_takes_a_tenth_of_the_budget() -> None:
    likely = [numbered(number, "word " * 4) for number in range(30)]
    chosen = session_context.chosen({"predicted": likely}, (), 3_000, NOW)
    assert 200 <= chosen.tokens_used <= 300


def test_what_does_not_hold_now_is_left_out() -> None:
    over, later, active = numbered(1, valid_to=NOW), numbered(2, valid_from=NOW + 1), numbered(3, valid_from=NOW)
    chosen = session_context.chosen({"pinned": [over, later, active, numbered(4, state="superseded")]}, (), 500, NOW)
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
