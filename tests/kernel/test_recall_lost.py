"""A memory damaged in log and view, as a caller meets it: left out and named, an error by its id."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from test_recalling import READER, found, recall, remember
from test_recalling import mesh as mesh
from test_recalling import space as space

from mnemesh_actors.node.mesh import Mesh
from mnemesh_gateway.contract.wire import list_response
from mnemesh_memory.values.errors import DataLoss
from mnemesh_memory.values.model import ListQuery, Memory

pytestmark = pytest.mark.asyncio(loop_scope="module")


def harm(mesh: Mesh, memory: Memory) -> None:
    with closing(sqlite3.connect(mesh._parts.ledger._actor.path)) as db:
        db.execute("UPDATE memory SET content = 'Nobody wrote this.' WHERE id = ?", (memory.id,))
        db.execute("UPDATE entry SET raw = x'00' WHERE doc = ?", (memory.id,))
        db.commit()


@pytest.mark.parametrize("text", ["harbour lamp", ""])
async def test_a_recall_that_a_lost_memory_matches_gives_the_others_and_names_it(
    mesh: Mesh, space: str, text: str
) -> None:
    space = f"{space.partition('[')[0]}{bool(text)}"
    lost = await remember(mesh, space, "The harbour lamp is red")
    kept = await remember(mesh, space, "The harbour lamp was green once")
    harm(mesh, lost)
    for _ in range(2):
        answer = await recall(mesh, space, text)
        assert found(answer) == [kept.content]
        assert any("left out" in reason and lost.id in reason for reason in answer.degraded)
    assert not (await recall(mesh, f"{space}/elsewhere", text)).degraded


async def test_a_list_names_what_it_lacks_and_a_look_up_by_id_is_an_error(mesh: Mesh, space: str) -> None:
    lost = await remember(mesh, space, "The bridge opens at eight")
    kept = await remember(mesh, space, "The ferry leaves at nine")
    harm(mesh, lost)
    page = await mesh.list(READER, ListQuery(spaces=(space,)))
    assert [one.id for one in page.memories] == [kept.id]
    (reason,) = list_response(page).degraded_reasons
    assert lost.id in reason
    assert "mnemesh sync now" in reason
    for ids in ([lost.id], [kept.id, lost.id]):
        with pytest.raises(DataLoss, match=lost.id):
            await mesh.get(READER, ids)
    assert [one.id for one in (await mesh.get(READER, [kept.id]))[0]] == [kept.id]
