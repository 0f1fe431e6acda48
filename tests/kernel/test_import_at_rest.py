"""The texts of a bulk import are written without a verdict and judged at rest, as if each were written alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from follower_scene import until
from recall_scene import READER, Here, started
from recall_scene import here as here
from recall_scene import mesh as mesh

from mnemesh_actors.consumers import contradiction_judge
from mnemesh_actors.consumers.consumer import ConsumerRunner
from mnemesh_actors.index.scope import SEARCH_LIMIT_MAX
from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.memory_links import CONTRADICTS, SUPERSEDES
from mnemesh_memory.values.model import Caller, Link, Memory, Patch, Written

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOB = Caller("bob", "bob", role="writer", spaces=("test", "test/*"))


def _runner(mesh: Mesh) -> ConsumerRunner:
    (runner,) = [one for one in mesh._consumers.runners if one.name == "contradictions"]
    return runner


async def judged(mesh: Mesh) -> None:
    """Everything of the log was judged."""
    runner = _runner(mesh)
    _, head = await mesh._parts.ledger.position()
    await until(lambda: runner.applied >= head)


async def imported(here: Here, *texts: str, caller: Caller = READER, force: bool = False) -> list[Written]:
    drafts = [here.draft(text, force=force) for text in texts]
    done = await here.mesh.remember_batch(caller, drafts, at_rest=True)
    assert all(isinstance(one, Written) for one in done), done
    return [one for one in done if isinstance(one, Written)]


async def memories(here: Here, done: Sequence[Written]) -> list[Memory]:
    found, _ = await here.mesh.get(READER, [one.memory.id for one in done])
    return list(found)


async def test_each_new_value_of_an_import_replaces_the_one_before_it(here: Here) -> None:
    before = await here.remember("Berth tickets expire after 5 minutes")
    texts = (f"Berth tickets expire after {minutes} minutes" for minutes in (15, 30, 45))
    done = await imported(here, "Ana drinks tea on the pier", *texts)
    assert {(one.action, one.novelty) for one in done} == {("ADD", None)}
    assert all(one.reason.startswith("new in this space; compared with its neighbours at rest") for one in done)
    await judged(here.mesh)
    (old,), _ = await here.mesh.get(READER, [before.id])
    tea, *steps = await memories(here, done)
    assert [one.state for one in (old, tea, *steps)] == ["superseded", "active", "superseded", "superseded", "active"]
    chain = [[link.id for link in one.links if link.type == SUPERSEDES] for one in steps]
    assert chain == [[before.id], [steps[0].id], [steps[1].id]]
    assert steps[2].by == READER.agent


async def test_an_import_ends_as_if_its_texts_had_been_written_one_by_one(here: Here) -> None:
    texts = [f"Deck passes expire after {number} minutes" for number in range(41, 81)]
    one_by_one = Here(here.mesh, f"{here.space}-singly")
    singly = [Written(action="ADD", memory=await one_by_one.remember(text), reason="") for text in texts]
    done = await imported(here, *texts)
    await judged(here.mesh)
    states = [one.state for one in await memories(here, done)]
    assert states == [one.state for one in await memories(one_by_one, singly)]
    assert states.count("superseded") > len(texts) / 2


async def test_an_exact_duplicate_is_not_stored_and_another_order_of_words_steps_back(here: Here) -> None:
    one, twin, turned = await imported(
        here, "If the lamp is red, nobody docks", "If the lamp is red, nobody docks", "Nobody docks if the lamp is red"
    )
    assert (twin.action, twin.memory.id, turned.action) == ("NOOP", one.memory.id, "ADD")
    await judged(here.mesh)
    first, last = await memories(here, (one, turned))
    assert (first.state, last.state, last.superseded_by) == ("active", "superseded", first.id)


async def test_a_memory_of_another_writer_stands_beside_an_import(here: Here) -> None:
    older = await here.remember("The harbour pump has 3 valves")
    (done,) = await imported(here, "The harbour pump has 5 valves", caller=BOB)
    await judged(here.mesh)
    old, new = await memories(here, (Written(action="ADD", memory=older, reason=""), done))
    assert (old.state, new.state, new.links) == ("active", "active", (Link(CONTRADICTS, older.id),))


async def test_words_that_came_after_an_import_are_not_replaced_by_it(here: Here) -> None:
    runner = _runner(here.mesh)
    runner._able.clear()
    (done,) = await imported(here, "Tower tickets expire after 12 minutes")
    newer = await here.remember("Tower tickets expire after 30 minutes")
    changed = await here.remember("Chapel tokens expire after 15 minutes")
    await imported(here, "Chapel tokens expire after 30 minutes")
    await here.mesh.update(READER, changed.id, Patch(content="Chapel tokens expire after 60 minutes"))
    runner._able.set()
    await judged(here.mesh)
    found, _ = await here.mesh.get(READER, [done.memory.id, newer.id, changed.id])
    assert [one.state for one in found] == ["superseded", "active", "active"]


async def test_alike_texts_are_compared_with_no_more_than_a_search_may_give(here: Here) -> None:
    limits = []

    def noted(asked: Sequence[object], limit: int, *rest: object) -> object:
        limits.append(limit)
        return ask(asked, limit, *rest)  # type: ignore[arg-type]

    ask = contradiction_judge._ask
    here.patch.setattr(contradiction_judge, "_ask", noted)
    await imported(here, *(f"Incident {n}: the crane service crashed on host node-{n % 7}" for n in range(190)))
    await judged(here.mesh)
    assert max(limits) == SEARCH_LIMIT_MAX
    assert _runner(here.mesh).fault == ""


async def test_a_text_that_the_index_refuses_to_compare_holds_up_no_other(here: Here) -> None:
    def refusing(asked: object, limit: int, generation: str, words: Sequence[str], shard: object) -> object:
        if any("badger" in one for one in words):
            raise InvalidArgument("limit", limit, "another one")
        return ask(asked, limit, generation, words, shard)  # type: ignore[arg-type]

    ask = contradiction_judge._ask
    here.patch.setattr(contradiction_judge, "_ask", refusing)
    done = await imported(
        here, "Moor passes expire after 40 minutes", "The badger sleeps at noon", "Moor passes expire after 60 minutes"
    )
    await judged(here.mesh)
    assert [one.state for one in await memories(here, done)] == ["superseded", "active", "active"]


async def test_forced_texts_of_an_import_are_not_judged(here: Here) -> None:
    done = await imported(
        here, "Quay passes expire after 40 minutes", "Quay passes expire after 60 minutes", force=True
    )
    await judged(here.mesh)
    assert [(one.state, one.links) for one in await memories(here, done)] == [("active", ())] * 2


async def test_a_restart_loses_no_verdict(tmp_path: Path) -> None:
    mesh = await started(tmp_path)
    here = Here(mesh, "test")
    _runner(mesh)._able.clear()  # as if it had not come round to it before the end
    done = await imported(here, "Crane permits expire after 15 minutes", "Crane permits expire after 30 minutes")
    assert [one.state for one in await memories(here, done)] == ["active", "active"]
    await mesh.close()
    here.mesh = mesh = await started(tmp_path)
    try:
        await judged(mesh)
        assert [one.state for one in await memories(here, done)] == ["superseded", "active"]
    finally:
        await mesh.close()
