"""The past over a real mesh: what either side of a conflict said is found, a race is told, grants hold for it too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from diverging import SEEDED_AT, diverge, node_of, texts
from ledger_builders import Home, done
from recall_scene import running

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.recall.results import SNIPPET_CHARS
from mnemesh_actors.remember import history_operations as module
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.values.errors import Aborted, InvalidArgument, NotFound, PermissionDenied
from mnemesh_memory.values.model import Caller, Draft, Memory, Patch, Query

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER = Caller("owner/reader", "owner")
TEAM = "team/payments"
HARBOUR = "The harbour closes at dusk. " + "Ships wait outside until the pilot comes. " * 12
ORCHARD = "The orchard opens at dawn. " + "Pickers bring their own baskets and ladders. " * 12
NOW = SEEDED_AT + 10**9


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def conflicted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Mesh, list[str]]]:
    """A mesh that holds memories in conflict, one in each of the spaces `team/payments/N`."""
    home = Home.at(tmp_path_factory.mktemp("histories") / "data")
    ids = []
    with home.opened() as ledger:
        for number in range(8):
            memory = done(ledger, home.pen.create(f"Number {number} is open.", space=f"{TEAM}/{number}")).memory
            edits = (("ana/a", f"{HARBOUR}{number}", SEEDED_AT + 1), ("bob/b", f"{ORCHARD}{number}", SEEDED_AT + 2))
            ids.append(diverge(ledger, memory, *edits).id)
    ticks = iter(range(NOW, NOW + 10**6))
    async with running(home.directory.path, clock=lambda: next(ticks)) as mesh:
        # A wait for the index to hold this memory is a wait for all earlier ones.
        await mesh.remember(OWNER, Draft(content="All is indexed.", space="other"))
        yield mesh, ids


@pytest.fixture
def mesh(conflicted: tuple[Mesh, list[str]]) -> Mesh:
    return conflicted[0]


@pytest.fixture
async def memory(conflicted: tuple[Mesh, list[str]]) -> Memory:
    """One that no other test changes."""
    return (await conflicted[0].get(OWNER, [conflicted[1].pop()]))[0][0]


async def recall(mesh: Mesh, memory: Memory, text: str, **fields: Any) -> Recalled:
    return await mesh.recall(OWNER, Query(text=text, spaces=(memory.space,), **fields))


async def test_snippets_and_budgets_hold_for_every_version_of_a_conflict(mesh: Mesh, memory: Memory) -> None:
    whole = await recall(mesh, memory, "harbour")
    brief = await recall(mesh, memory, "harbour", snippets_only=True)
    (hit,) = brief.results
    assert (hit.memory.content, len(hit.memory.conflicts)) == ("", 1)
    assert len(hit.memory.conflicts[0].content) <= SNIPPET_CHARS
    assert brief.tokens_used < whole.tokens_used
    assert whole.tokens_used > 200, "both texts count"
    cut = await recall(mesh, memory, "harbour", token_budget=whole.tokens_used - 1)
    assert cut.results[0].memory.content == ""
    assert cut.tokens_used == brief.tokens_used
    none = await recall(mesh, memory, "harbour", token_budget=brief.tokens_used - 1)
    assert (none.results, none.truncated_by_budget) == ((), 1)


async def test_what_a_resolution_drops_is_found_no_more_but_stays_in_the_history(mesh: Mesh, memory: Memory) -> None:
    (kept,) = [text for text in texts(memory) if text.startswith(ORCHARD)]
    head = memory.heads[0] if memory.content == kept else memory.heads[1]
    done_ = await mesh.resolve(OWNER, memory.id, keep=head)
    assert (done_.action, done_.memory.content, done_.indexed) == ("RESOLVE", kept, True)
    assert (await recall(mesh, memory, "pilot harbour", mode="keyword")).results == ()
    page = await mesh.history(OWNER, memory.id)
    assert texts(memory) <= {one.revision.content for one in page.revisions}
    nodes = {one.revision.by: one.node for one in page.revisions}
    assert (nodes["ana/a"], nodes["bob/b"]) == (node_of("ana/a"), node_of("bob/b"))


@pytest.mark.parametrize("way", ["rollback", "resolve"])
async def test_an_edit_between_the_reading_and_the_commit_is_told_and_kept(
    mesh: Mesh, memory: Memory, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.vectors_of_change
    raced: list[Memory] = []

    async def meanwhile(*args: Any) -> Any:
        raced.append((await mesh.update(OWNER, memory.id, Patch(content="Came between."))).memory)
        return await real(*args)

    monkeypatch.setattr(module, "vectors_of_change", meanwhile)
    rollback = way == "rollback"
    with pytest.raises(Aborted) as refused:
        await (mesh.rollback(OWNER, memory.id, "1") if rollback else mesh.resolve(OWNER, memory.id, content="Both."))
    assert set(refused.value.fields["limit"].split(", ")) == set(raced[0].heads)
    now = (await mesh.get(OWNER, [memory.id]))[0][0]
    assert (now.content, now.heads) == (raced[0].content, raced[0].heads)


async def test_blame_follows_each_side_of_a_conflict(mesh: Mesh, memory: Memory) -> None:
    for head, by in zip(memory.heads, (None, memory.conflicts[0].by), strict=True):
        found = await mesh.blame(OWNER, memory.id, head)
        (run,) = found.lines
        assert (found.revision, run.revision) == (head, head)
        assert by is None or (run.by, run.node) == (by, node_of(by))
    shown = await mesh.blame(OWNER, memory.id)
    assert shown.revision == memory.heads[0]
    with pytest.raises(NotFound):
        await mesh.blame(OWNER, memory.id, "9")
    with pytest.raises(InvalidArgument, match="fits one revision only"):
        await mesh.blame(OWNER, memory.id, "2")
    forgotten = (await mesh.forget(OWNER, memory.id)).memory
    assert (await mesh.blame(OWNER, memory.id)).revision == memory.heads[0]
    with pytest.raises(InvalidArgument, match="forgotten"):
        await mesh.blame(OWNER, memory.id, forgotten.heads[0])


async def test_grants_hold_for_the_past(mesh: Mesh, memory: Memory) -> None:
    reader = Caller("rita", "rita", role="reader", spaces=(memory.space,))
    stranger = Caller("sam", "sam", role="writer", spaces=("elsewhere/*",))
    assert (await mesh.history(reader, memory.id)).total == 3
    assert [one.memory.id for one in (await mesh.conflicts(reader)).conflicts] == [memory.id]
    for attempt in (
        lambda: mesh.rollback(reader, memory.id, "1"),
        lambda: mesh.resolve(reader, memory.id, keep=memory.heads[0]),
        lambda: mesh.conflicts(stranger, [memory.space]),
    ):
        with pytest.raises(PermissionDenied):
            await attempt()
    assert (await mesh.conflicts(stranger)).total == 0
    for attempt in (
        lambda: mesh.history(stranger, memory.id),
        lambda: mesh.blame(stranger, memory.id),
        lambda: mesh.rollback(stranger, memory.id, "1"),
        lambda: mesh.resolve(stranger, memory.id, keep=memory.heads[0]),
        lambda: mesh.get(stranger, [memory.id], as_of=NOW),
    ):
        with pytest.raises(NotFound):
            await attempt()
