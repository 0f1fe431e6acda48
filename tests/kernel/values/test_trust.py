"""The trust class of memories: of the origin, and never better than that of a source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_scene import running

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.policy import trust
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.marks import TRUST_CLASSES
from mnemesh_memory.values.model import Caller, Draft, Link, ListQuery, Patch, Query

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
CLASSES = st.lists(st.sampled_from((*TRUST_CLASSES, "", "nonsense")), max_size=5)
OWNER = Caller("owner/x", "owner", default_space="team")
ANA = Caller("ana", "ana", role="writer", spaces=("team",), default_space="team")


@PROPERTY
@given(CLASSES, CLASSES)
def test_the_least_trusted_of_all_counts_in_any_order(one: list[str], other: list[str]) -> None:
    both = trust.least((*one, *other))
    assert both == trust.least((trust.least(one), trust.least(other))) == trust.least((*other, *one))
    assert TRUST_CLASSES.index(both) >= TRUST_CLASSES.index(trust.least(one))


@PROPERTY
@given(CLASSES, st.booleans(), st.sampled_from(("owner", "owner/x", "ana", "ownerless")))
def test_what_is_recorded_only_lowers(recorded: list[str], brought: bool, by: str) -> None:
    attrs = trust.recording({"k": "v"}, recorded)
    assert attrs["k"] == "v"
    bare = trust.class_of(by, brought, {}, "owner")
    found = trust.class_of(by, brought, attrs, "owner")
    assert TRUST_CLASSES.index(found) == max(map(TRUST_CLASSES.index, (bare, trust.least(recorded))))
    assert bare == ("peer" if brought else "granted" if by in ("ana", "ownerless") else "own")


@pytest.mark.asyncio
async def test_a_copy_of_an_import_stays_imported_and_filters_name_the_class(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await classes_in(mesh)


async def classes_in(mesh: Mesh) -> None:
    async def write(caller: Caller, content: str, **fields: object) -> str:
        draft = Draft(content=content, force=True, **fields)  # type: ignore[arg-type]
        return (await mesh.remember(caller, draft)).memory.id

    own = await write(OWNER, "The ferry leaves at nine.")
    granted = await write(ANA, "The ferry is yellow.")
    imported = await write(OWNER, "The ferry is slow.", attrs={"trust": "imported"})
    derived = await write(OWNER, "The ferry is old.", links=(Link("derived-from", imported), Link("see-also", own)))
    again = await write(ANA, "The ferry is very old.", links=(Link("copied-from", derived),))
    replaced = (await mesh.supersede(OWNER, granted, Draft(content="The ferry is red.")))[0].memory.id
    untrue = await write(ANA, "The ferry is new.", attrs={"trust": "own"})
    await mesh.purge(OWNER, imported)
    await mesh.update(OWNER, derived, Patch(attrs={}, content="The ferry is older."))
    classes = {own: "own", derived: "imported", again: "imported", replaced: "granted", untrue: "granted"}

    listed = (await mesh.list(OWNER, ListQuery(spaces=("team",)))).memories
    assert {memory.id: memory.trust for memory in listed} == classes
    for asked in (("own",), ("granted",), ("imported",), ("own", "imported"), ("peer",)):
        wanted = {id_ for id_, class_ in classes.items() if class_ in asked}
        page = await mesh.list(OWNER, ListQuery(spaces=("team",), trust=asked))
        assert {memory.id for memory in page.memories} == wanted
        for text in ("ferry", ""):
            answer = await mesh.recall(OWNER, Query(text=text, spaces=("team",), trust=asked))
            assert {hit.memory.id for hit in answer.results} == wanted
            assert all(hit.memory.trust in asked for hit in answer.results)
    assert answer.notes[0].startswith("trust: nothing is 'peer'")
    mine = await mesh.list(ANA, ListQuery(spaces=("team",), trust=("own",)))
    assert [memory.id for memory in mine.memories] == [untrue]
    with pytest.raises(InvalidArgument, match="trust"):
        await mesh.list(OWNER, ListQuery(spaces=("team",), trust=("friend",)))
