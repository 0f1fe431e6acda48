"""Records of sessions and requirements as values, and how sure a preference is."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import READER, Here
from recall_scene import here as here
from recall_scene import mesh as mesh

from mnemesh_actors.node import session_operations
from mnemesh_actors.remember.deadlines import find
from mnemesh_memory.policy.sessions import preferences, requirements, session_runs
from mnemesh_memory.policy.sessions.session_runs import Told
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.model import Memory, Patch


def memory(**given: Any) -> Memory:
    """A memory with these fields."""
    return plain_memory(**{"space": "team/x", "content": "x", "by": "ana/x", **given})


LINES = st.lists(st.text("ab c\u00e9", min_size=1, max_size=40).filter(str.strip), max_size=5).map(tuple)
COUNTS = st.integers(0, 2**40)
TOLD = st.builds(
    Told, session=st.just("s1"), prompts=LINES, files=LINES, errors=LINES, outcome=st.just("Done."),
    status=st.sampled_from(session_runs.STATUSES), model=st.sampled_from(("", "glass-4")), tokens_in=COUNTS,
    tokens_out=COUNTS, cost_usd=st.floats(0, 1e6), started_at=st.none() | st.integers(0, 10**12),
)  # fmt: skip


@given(TOLD)
def test_the_figures_of_a_record_come_back_from_its_memory(told: Told) -> None:
    clean = session_runs.checked(told, mask=False)
    run = session_runs.run_of(memory(content=session_runs.text_of(clean), attrs=session_runs.attrs_of(clean)))
    for name in ("status", "model", "tokens_in", "tokens_out", "cost_usd"):
        assert getattr(run, name) == getattr(clean, name)
    assert (run.started_at or None) == (clean.started_at or None)


def test_a_record_fits_into_a_memory_and_loses_its_oldest_items() -> None:
    prompts = tuple(f"{number:03} " + "x" * 990 for number in range(64))
    text = session_runs.text_of(session_runs.checked(Told(session="s1", prompts=prompts), mask=False))
    assert len(text.encode()) <= limits.CONTENT_BYTES_MAX
    assert prompts[-1] in text
    assert prompts[0] not in text


@pytest.mark.parametrize(
    "wrong", [{"session": ""}, {"status": "fine"}, {"tokens_in": -1}, {"cost_usd": float("nan")}, {"prompts": ()}]
)
def test_a_record_of_nothing_or_with_impossible_figures_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        session_runs.checked(replace(Told(session="s1", prompts=("a",)), **wrong), mask=False)  # type: ignore[arg-type]


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


@pytest.mark.asyncio(loop_scope="module")
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
