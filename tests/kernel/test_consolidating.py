"""Consolidation over a real mesh: what it does once, what it leaves, and the way back."""

from __future__ import annotations

import pytest
from recall_scene import READER, Here
from recall_scene import here as here
from recall_scene import mesh as mesh

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.consolidation.steps import MERGE, PROMOTE
from mnemesh_memory.values.errors import NotFound
from mnemesh_memory.values.model import Draft, Source

pytestmark = pytest.mark.asyncio(loop_scope="module")

EPISODES = (
    "The nightly backup failed because the disk of the archive host was full.",
    "Nightly backup failed again: the disk of the archive host was full.",
    "The backup failed at night, because the archive host had a full disk.",
)


async def tell(here: Here, texts: tuple[str, ...], kind: str = "episode") -> list[str]:
    done = []
    for number, text in enumerate(texts):
        draft = Draft(
            content=text, kind=kind, space=here.space, source=Source(session=f"s{number}"), force=True, tags=("ops",)
        )
        done.append((await here.mesh.remember(READER, draft)).memory.id)
    return done


async def test_repeated_episodes_become_one_fact_once(here: Here) -> None:
    ids = await tell(here, EPISODES)
    done = await here.mesh.consolidate(READER, here.space)
    (step,) = done.steps
    assert (step.action, sorted(step.others), done.applied) == (PROMOTE, sorted(ids), 1)
    (fact,), _ = await here.mesh.get(READER, [step.id])
    assert (fact.kind, fact.content in EPISODES, fact.tags, fact.by) == ("fact", True, ("ops",), "owner/sleep")
    assert sorted(link.id for link in fact.links) == sorted(ids)
    assert (await here.mesh.consolidate(READER, here.space)).applied == 0


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
    first, second = await tell(
        here, ("The staging database listens on port 5433.", "On port 5433 the staging database is listening."), "fact"
    )
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
