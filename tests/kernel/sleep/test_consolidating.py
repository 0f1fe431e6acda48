"""Consolidation over a real mesh: what it does once, what it leaves, and the way back."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recall_scene import READER, Here, running, signals_of
from told_texts import EPISODES

from mnemesh_actors.index import neighbours
from mnemesh_actors.index.neighbours import Asked
from mnemesh_actors.ledger.commands import Command, Committed
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import NodePorts
from mnemesh_actors.notices import Notices
from mnemesh_actors.ports import IndexPort
from mnemesh_actors.runtime.base import Handle
from mnemesh_actors.runtime.budget import Budget
from mnemesh_actors.sleep import application, consolidation, idle_scheduler, plan_input
from mnemesh_actors.sleep.consolidation import _Pace
from mnemesh_actors.sleep.idle_jobs import IdleJob, IdleParts
from mnemesh_actors.sleep.idle_scheduler import IdleScheduler, SleepConfig
from mnemesh_memory.consolidation.derived_id import promotion
from mnemesh_memory.consolidation.steps import APPLIED, MERGE, PROMOTE, RUNNING, Consolidated, Run, Step
from mnemesh_memory.values.errors import NotFound, Unavailable
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Patch, Query, Source

PAIR = ("The staging database listens on port 5433.", "On port 5433 the staging database is listening.")
WORDS = ("anvil", "bellows", "chisel", "drill", "easel", "file", "gauge", "hammer", "iron", "jig", "kiln", "ladle",
         "mallet", "nail", "oven", "plane", "rasp", "saw", "tongs", "vice")  # fmt: skip


async def tell(here: Here, texts: tuple[str, ...], kind: str = "episode") -> list[str]:
    done = []
    for number, text in enumerate(texts):
        draft = Draft(
            content=text, kind=kind, space=here.space, source=Source(session=f"s{number}"), force=True, tags=("ops",)
        )
        done.append((await here.mesh.remember(READER, draft)).memory.id)
    return done


async def test_a_purge_of_a_source_takes_the_fact_and_its_bytes_along(here: Here, mesh: Mesh) -> None:
    texts = tuple(text.replace("archive", "quagmire") for text in EPISODES)
    ids = await tell(here, texts)
    (step,) = (await here.mesh.consolidate(READER, here.space)).steps
    for id_ in ids:
        await here.mesh.purge(READER, id_)
    with pytest.raises(NotFound):
        await here.mesh.get(READER, [step.id], include_forgotten=True)
    assert mesh._room is not None
    home = mesh._room.path
    assert not [path for path in home.rglob("*") if path.is_file() and b"quagmire" in path.read_bytes()]


async def test_duplicates_become_one_and_an_undo_brings_both_back(here: Here) -> None:
    first, second = await tell(here, PAIR, "fact")
    done = await here.mesh.consolidate(READER, here.space)
    assert [(step.action, step.id, step.others) for step in done.steps] == [(MERGE, first, (second,))]
    (kept, gone), _ = await here.mesh.get(READER, [first, second])
    assert (kept.state, gone.state, gone.superseded_by) == ("active", "superseded", first)
    (run,) = await here.mesh.list_runs(READER, (here.space,))
    assert (run.id, run.applied, run.state) == (done.run, 1, "done")
    undone, count = await here.mesh.undo_run(READER, run.id)
    assert (undone.state, count) == ("undone", 1)
    (kept, gone), _ = await here.mesh.get(READER, [first, second])
    assert [(one.state, one.links, one.valid_to, one.tags) for one in (kept, gone)] == [
        ("active", (), None, ("ops",))
    ] * 2
    assert (await here.mesh.consolidate(READER, here.space)).applied == 0


async def test_a_stored_rule_is_neither_merged_with_nor_linked_to_a_memory_of_the_same_text(here: Here) -> None:
    text = "Deploys on Friday are not allowed in the harbour team."
    rule = await here.mesh.add_rule(READER, "tag = x", "hide", reason=text, space=here.space)
    memory = await here.remember(text)
    done = await here.mesh.consolidate(READER, here.space)
    assert done.steps == ()
    (one, other), _ = await here.mesh.get(READER, [rule.id, memory.id])
    assert [(one.state, one.links), (other.state, other.links)] == [("active", ())] * 2


async def test_the_status_tells_what_each_astrocyte_did_last(here: Here) -> None:
    await tell(here, EPISODES)
    await here.mesh.consolidate(READER, here.space)
    told = {one.name: one for one in (await here.mesh.status()).astrocytes}
    assert list(told) == ["code", "decisions", "errors", "dependencies", "general"]
    assert [(one.read, one.proposed, one.applied) for one in told.values() if one.space == here.space] == [(3, 1, 1)]


async def test_the_status_tells_of_the_whole_run(here: Here) -> None:
    here.patch.setattr(plan_input, "BATCH", 2)
    await tell(here, EPISODES)
    await here.mesh.consolidate(READER, here.space)
    told = [one for one in (await here.mesh.status()).astrocytes if one.space == here.space]
    assert [(one.name, one.read) for one in told] == [("errors", 3)]


async def test_a_space_that_fails_holds_up_no_other_and_has_its_turn_again(here: Here) -> None:
    sleeping, other = here.mesh._sleeping, replace(here, space=f"{here.space}/other")
    for place in (here, other):
        await tell(place, EPISODES)
    run = sleeping._run

    async def failing(principal: str, space: str, pace: _Pace, *, dry_run: bool) -> Consolidated:
        if space == here.space:
            raise Unavailable("the index is away", part="index")
        return await run(principal, space, pace, dry_run=dry_run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sleeping, "_run", failing)
        with pytest.raises(Unavailable, match="away"):
            await sleeping.changed_spaces("owner", Budget())
    assert [one.applied for one in await here.mesh.list_runs(READER, (other.space,))] == [1]
    assert [one.applied for one in await here.mesh.list_runs(READER, (here.space,))] == []
    await sleeping.changed_spaces("owner", Budget())
    assert [one.applied for one in await here.mesh.list_runs(READER, (here.space,))] == [1]


@pytest.mark.parametrize("error", [Unavailable("the index is away", part="index"), KeyError("a bug")])
async def test_a_job_that_fails_is_told_and_tried_again_without_a_new_entry(here: Here, error: Exception) -> None:
    here.patch.setattr(idle_scheduler, "RETRY_S", 0.0)
    notices, tries, done = Notices(), 0, asyncio.Event()
    told: list[str] = []

    async def failing(parts: IdleParts, budget: Budget) -> str:
        nonlocal tries
        tries += 1
        told.extend(notices)
        if tries < 3:
            raise error
        return "well"

    async def last(parts: IdleParts, budget: Budget) -> str:
        if tries == 3:
            done.set()
        return "after it"

    parts = IdleParts(parts=here.mesh._parts, consolidating=here.mesh._sleeping, owner="owner")
    jobs = (IdleJob(name="first", run=failing), IdleJob(name="second", run=last))
    scheduler = IdleScheduler(parts, SleepConfig(idle_s=0.0), notices, jobs).start()
    async with asyncio.timeout(20):
        await done.wait()
    await scheduler.close()
    assert len(told) == 2
    assert all(text.startswith("idle job first failed") for text in told)
    assert (tries, list(notices), scheduler.last) == (3, [], {"first": "well", "second": "after it"})


async def test_an_idle_node_consolidates_each_changed_space_once(here: Here) -> None:
    await tell(here, EPISODES)
    parts = IdleParts(parts=here.mesh._parts, consolidating=here.mesh._sleeping, owner="owner")
    scheduler = IdleScheduler(parts, SleepConfig(idle_s=0.0), [].append).start()
    async with asyncio.timeout(20):
        await scheduler.slept.wait()
    await scheduler.close()
    (run,) = await here.mesh.list_runs(READER, (here.space,))
    assert (run.by, run.applied, run.state) == ("owner/sleep", 1, "done")
    assert await here.mesh._sleeping.changed_spaces("owner", Budget()) == []


class Dies(Exception):
    """The process is gone."""


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("together", [1, consolidation.STEPS])
async def test_a_run_that_is_killed_goes_on_and_does_nothing_twice(here: Here, point: str, together: int) -> None:
    await tell(here, EPISODES)
    await tell(here, PAIR, "fact")
    here.patch.setattr(consolidation, "STEPS", together)
    sleeping, committed = here.mesh._sleeping, application.committed_many
    left = 2  # steps, the last of which the process does not live to keep

    async def dying(parts: NodePorts, commands: Sequence[Command]) -> list[Committed | BaseException]:
        nonlocal left
        left -= len(commands)
        if not left and point == "before":
            raise Dies
        done = await committed(parts, commands)
        if not left:
            raise Dies
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application, "committed_many", dying)
        with pytest.raises(Dies):
            await sleeping.consolidate(READER, here.space)
    (run,) = await here.mesh.list_runs(READER, (here.space,))
    assert (run.state, run.applied) == ("running", 1 if together == 1 else 0)
    # A promotion that no commit has seen is planned anew, in the same run.
    resumed = await here.mesh.consolidate(READER, here.space)
    (run,) = await here.mesh.list_runs(READER, (here.space,))
    assert (run.state, run.applied, resumed.applied) == ("done", 2, 2)
    page = await here.mesh.list(READER, ListQuery(spaces=(here.space,), limit=50))
    assert len(page.memories) == len(EPISODES) + 1 + 1
    assert (await here.mesh.consolidate(READER, here.space)).applied == 0


async def visible(here: Here) -> str:
    """A hash of everything that a reader sees of the space, links and validity too."""
    page = await here.mesh.list(READER, ListQuery(spaces=(here.space,), state="all", limit=100))
    shown = [
        (one.id, one.content, one.title, one.kind, sorted(one.tags), sorted((link.type, link.id) for link in one.links),
         one.valid_from, one.valid_to, one.state, one.tier, sorted(one.attrs.items()))
        for one in page.memories if one.state != "forgotten"
    ]  # fmt: skip
    return hashlib.sha256(repr(sorted(shown)).encode()).hexdigest()


async def test_after_an_undo_readers_see_what_was_there_before(here: Here) -> None:
    await tell(here, EPISODES)
    first, second = await tell(here, PAIR, "fact")
    await here.mesh.update(READER, first, Patch(tags=("one",), valid_from=1_600_000_000_000))
    await here.mesh.update(READER, second, Patch(tags=("two",), valid_from=1_600_000_000_000))
    for text in ("We decided to keep the ledger in SQLite files.", "The ledger in SQLite files needs a fast disk."):
        await here.remember(text, kind="decision", importance=0.9)
    before = await visible(here)
    done = await here.mesh.consolidate(READER, here.space)
    assert {step.action for step in done.steps} == {"merge", "promote", "link"}
    assert await visible(here) != before
    (kept,), _ = await here.mesh.get(READER, [first])
    assert set(kept.tags) == {"one", "two"}
    await here.mesh.undo_run(READER, done.run)
    assert await visible(here) == before
    assert (await here.mesh.undo_run(READER, done.run))[1] == 0


async def test_a_question_without_an_answer_is_a_gap_until_it_has_one(here: Here) -> None:
    question = "Who waters the plants in the greenhouse?"
    assert (await here.recall(question)).abstain
    (gap,) = (await here.mesh.consolidate(READER, here.space)).gaps
    assert (gap.type, gap.text, gap.count) == ("unanswered", question, 1)
    await here.remember("Nora waters the plants in the greenhouse.")
    assert not (await here.recall(question)).abstain
    assert (await here.mesh.consolidate(READER, here.space)).gaps == ()


async def test_a_question_without_an_answer_is_shown_to_nobody_but_who_asked(here: Here) -> None:
    ana, question = Caller("ana/codex", "ana"), "Is the merger with Borealis signed?"
    assert (await here.mesh.recall(ana, Query(text=question, spaces=(here.space,)))).abstain
    prompt = Query(text="Draft the letter to Borealis.", spaces=(here.space,), current_session="s1")
    assert (await here.mesh.recall(ana, prompt)).abstain, "a hook sends whole prompts, and these are no questions"
    assert (await here.mesh.consolidate(READER, here.space)).gaps == ()
    assert [gap.text for gap in (await here.mesh.consolidate(ana, here.space, dry_run=True)).gaps] == [question]
    await here.remember("The kiosk opens at nine.")
    runs = await here.mesh._sleeping.changed_spaces("ana", Budget())
    assert [run.gaps for run in runs if run.space == here.space] == [()]


async def test_an_episode_that_is_told_again_in_other_sessions_becomes_a_fact(here: Here) -> None:
    text = "The export failed because the token of the mailer had expired."
    again = "The export failed because the token of the mailer had expired!"

    async def told(content: str, session: str, **fields: Any) -> str:
        draft = here.draft(content, kind="episode", source=Source(session=session), **fields)
        return (await here.mesh.remember(READER, draft)).action

    assert [await told(text, session) for session in ("s1", "s1", "s2", "s2", "")] == [
        "ADD", "NOOP", "ADD", "NOOP", "NOOP",
    ]  # fmt: skip
    assert [await told("Because the token of the mailer had expired, the export failed.", "s3")] == ["ADD"]
    assert [await told(again, "s4", idempotency_key="k") for _ in range(2)] == ["ADD", "ADD"], "the second is a replay"
    (step,) = (await here.mesh.consolidate(READER, here.space)).steps
    assert (step.action, len(step.others)) == (PROMOTE, 4)


async def test_astrocytes_vote_when_asked_for_and_explain_shows_the_votes(here: Here) -> None:
    await here.remember("The build runs on the blue runner.")
    await here.remember("The build failed with ENOSPC on the runner.", kind="error")
    plain = await here.recall("Why did the build crash on the runner?", explain=True)
    assert not any("votes" in signals_of(hit) for hit in plain.results)
    voted = await here.recall("Why did the build crash on the runner?", explain=True, weights={"votes": 0.5})
    shares = {hit.memory.kind: signals_of(hit).get("votes", 0.0) for hit in voted.results}
    assert shares["error"] > shares["fact"] == 0.0


def damaged(home: Path, damage: bytes | None) -> None:
    """The record is lost, or has other bytes."""
    for file in home.glob("sleep.sqlite*"):
        file.unlink()
    if damage is not None:
        (home / "sleep.sqlite").write_bytes(damage)


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, None])
async def test_a_lost_record_is_begun_anew_and_nothing_is_done_twice(tmp_path: Path, damage: bytes | None) -> None:
    async with running(tmp_path) as mesh:
        await tell(Here(mesh, "team"), EPISODES)
        assert (await mesh.consolidate(READER, "team")).applied == 1
    damaged(tmp_path, damage)
    async with running(tmp_path) as mesh:
        again = await mesh.consolidate(READER, "team")
        assert (again.read, again.applied) == (3, 0)


async def test_runs_of_a_lost_record_come_from_the_log_and_can_be_undone(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        here = Here(mesh, "team")
        await tell(here, EPISODES)
        _, second = await tell(here, PAIR, "fact")
        await mesh.update(READER, second, Patch(tags=("two",)))
        for text in ("We decided to keep the ledger in SQLite files.", "The ledger in SQLite files needs a fast disk."):
            await here.remember(text, kind="decision", importance=0.9)
        before = await visible(here)
        done = await mesh.consolidate(READER, "team")
        assert {step.action for step in done.steps} == {"merge", "promote", "link"}
    damaged(tmp_path, None)
    async with running(tmp_path) as mesh:
        here = Here(mesh, "team")
        (run,) = await mesh.list_runs(READER, ("team",))
        kept, told = (
            sorted((step.action, step.id, sorted(step.others), step.tags) for step in steps)
            for steps in (run.steps, done.steps)
        )
        assert kept == told
        assert any("read from the log" in one for one in (await mesh.status()).notices)
        assert (await mesh.undo_run(READER, run.id))[1] == len(done.steps)
        assert await visible(here) == before


async def test_strange_texts_and_an_empty_space_make_no_step(here: Here) -> None:
    assert (await here.mesh.consolidate(READER, here.space)).proposed == 0
    failed = "\u6bce\u65e5\u306e\u4fdd\u5b58\u306f\u5931\u6557\u3057\u305f"  # "the daily save failed"
    strange = ("word " * 6_000, "\u2588\ufffd\u0001 " * 200, failed, "it", "cause of everything " * 50)
    for text in strange:
        await here.remember(text, kind="episode", source=Source(session="s"))
    done = await here.mesh.consolidate(READER, here.space)
    assert (done.read, done.proposed) == (len(strange), 0)


async def test_many_equal_memories_become_few_and_the_second_run_does_nothing(here: Here) -> None:
    await here.mesh.remember_batch(READER, [here.draft("The kiln is lit at dawn.", force=True) for _ in range(200)])
    assert (await here.mesh.consolidate(READER, here.space)).applied > 0
    page = await here.mesh.list(READER, ListQuery(spaces=(here.space,), limit=200))
    assert len(page.memories) < 40
    assert (await here.mesh.consolidate(READER, here.space)).applied == 0


async def test_two_nodes_write_the_fact_of_a_group_as_one_and_the_same_change(tmp_path: Path) -> None:
    sources = [f"018bcfe5-0000-8000-8000-{number:012x}" for number in range(3)]
    fact = promotion(
        "team", "owner", content="The disk was full.", kind="fact", tags=("ops",), sources=sources, at=1_600_000_000_000
    )
    digests = []
    for number, home in enumerate((tmp_path / "one", tmp_path / "other")):
        async with running(home) as mesh:
            run = Run(id=f"run {number}", space="team", by="owner/sleep", state=RUNNING, started_at=number)
            step = Step(action=PROMOTE, id=fact.id, others=fact.sources, why="")
            assert await application.apply(mesh._parts, run, [(0, step)], {fact.id: fact}) == [(APPLIED, "")]
            digests.append(await mesh._parts.ledger.digest("team"))
    assert digests[0] == digests[1] != {}


async def test_a_fact_is_trusted_no_more_than_the_least_trusted_of_its_sources(here: Here) -> None:
    for number, text in enumerate(EPISODES):
        attrs = {"trust": "imported"} if number == 1 else {}
        await here.remember(text, kind="episode", source=Source(session=f"s{number}"), attrs=attrs)
    (step,) = (await here.mesh.consolidate(READER, here.space)).steps
    (fact,), _ = await here.mesh.get(READER, [step.id])
    assert fact.attrs["trust"] == "imported"


async def test_in_a_large_space_the_old_twin_of_a_new_memory_is_found(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above EACH_POINTS_MAX points the neighbours of many texts are looked for around the mean of these texts."""
    monkeypatch.setattr(neighbours, "EACH_POINTS_MAX", 0)
    first = await tell(here, PAIR[:1], "fact")
    await here.mesh.consolidate(READER, here.space)
    strange = tuple(f"The {word} of lot {number} is kept in hall {number}." for number, word in enumerate(WORDS))
    await tell(here, (PAIR[1], *strange), "fact")
    done = await here.mesh.consolidate(READER, here.space)
    assert first[0] in {step.id for step in done.steps if step.action == MERGE}


async def test_of_memories_with_one_text_a_single_one_is_looked_for_and_all_become_one(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each list of neighbours of such a text ends within a group of equal scores, which takes the index many looks."""
    asked: list[int] = []
    neighbours_of = plan_input._neighbours

    async def counted(shard: Handle[IndexPort], asked_for: Asked, generation: str) -> list[list[tuple[str, float]]]:
        asked.append(len(asked_for))
        return await neighbours_of(shard, asked_for, generation)

    monkeypatch.setattr(plan_input, "_neighbours", lambda shard, asked, generation: counted(shard, asked, generation))
    ids = await tell(here, PAIR[:1] * 80, "fact")
    monkeypatch.setattr(plan_input, "BATCH", 40)
    await here.mesh.consolidate(READER, here.space)
    assert asked == [1, 1]
    memories, _ = await here.mesh.get(READER, ids)
    assert {memory.id for memory in memories if memory.state == "active"} == {ids[0]}
    assert {memory.superseded_by for memory in memories[1:]} == {ids[0]}
