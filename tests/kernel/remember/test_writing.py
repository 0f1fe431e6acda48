"""The answers to a writer: an outcome for every item, the same for a retry, and only the truth about the index."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from typing import Any

import numpy as np
import pytest
from doubles import failing
from follower_scene import GENERATION, WIDTH, Scene, until
from ledger_builders import AGENT, SPACE

from mnemesh_actors.embedding.embedder import Embedder, EmbeddingPool
from mnemesh_actors.index.scope import Search
from mnemesh_actors.ledger.commands import Command
from mnemesh_actors.remember import deadlines, writes
from mnemesh_actors.remember import drafts as preparing
from mnemesh_actors.remember.writes import Writing
from mnemesh_crdt.admission.admission import admit
from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.document import genesis_hash
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotFound,
    Unavailable,
)
from mnemesh_memory.values.ids import derived_id, key_mark
from mnemesh_memory.values.model import Caller, Draft, Patch, Written

CALLER = Caller(AGENT, "owner", default_space=SPACE)
NEVER_S = 10.0


class Desk:
    """The write operations over a scene's parts."""

    def __init__(self, scene: Scene, patch: pytest.MonkeyPatch) -> None:
        self.scene = scene
        self.patch = patch
        self.writing = Writing(scene.parts())

    async def remember(self, content: str, **fields: Any) -> Written:
        return await self.writing.remember(CALLER, Draft(content=content, **fields))

    async def batch(self, *contents: str, **fields: Any) -> list[Written | MnemeshError]:
        return await self.writing.remember_batch(CALLER, [Draft(content=one, **fields) for one in contents])

    def instead(self, call: Any, part: str = "ledger", method: str = "commit", at: int = 0) -> None:
        """A method of a part does something else: every time, or at its call number `at` alone."""
        owner, calls = getattr(self.scene, part), itertools.count(1)
        usual = getattr(owner, method)

        async def called(*args: Any) -> Any:
            return await (call if next(calls) == at or not at else usual)(*args)

        self.patch.setattr(owner, method, called)

    async def uses(self, written: Written) -> int:
        activity = await self.scene.ledger.activity([written.memory.id])
        return int(activity.get(written.memory.id, (0, 0))[0])


@pytest.fixture
async def desk(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Desk:
    async def no_neighbours(asked: list[Any], limit: int, generation: str, words: list[str]) -> list[list[Any]]:
        return [[] for _ in asked]

    monkeypatch.setattr(scene.shard, "neighbours_batch", no_neighbours, raising=False)
    return Desk(scene, monkeypatch)


def names(results: list[Written | MnemeshError]) -> list[str]:
    return [one.action if isinstance(one, Written) else type(one).__name__ for one in results]


# ---- ids -------------------------------------------------------------------------------------------------------------


async def test_every_new_memory_has_an_id_by_which_peers_see_that_its_writer_may_begin_it(desk: Desk) -> None:
    first = await desk.remember("We deploy on Friday.")
    await desk.remember("We deploy from main.", idempotency_key="k")
    await desk.writing.supersede(CALLER, first.memory.id, Draft(content="We deploy on Monday.", idempotency_key="l"))
    page = await desk.scene.ledger.sync_page(0, (SPACE,), "", 100, limits.BATCH_BYTES_MAX)
    begun = [one for one in page.entries if read_head(one.raw).deps == (genesis_hash(one.doc, one.space),)]
    assert [uuid.UUID(one.doc).version for one in begun] == [8, 8, 8]
    for one in begun:
        admit(Key(one.space, one.doc), one, {})
    assert {one.doc for one in begun[1:]} == {
        derived_id(SPACE, principal_of(AGENT), key_mark(AGENT, key)) for key in ("k", "l")
    }


# ---- embedding with several workers ---------------------------------------------------------------------------------


class Lane:
    """A worker that embeds when it is told to go on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[list[str]] = []
        self.go_on = asyncio.Event()

    async def embed(self, texts: list[str]) -> np.ndarray[Any, Any]:
        self.asked.append(texts)
        await self.go_on.wait()
        return np.tile(np.eye(WIDTH, dtype=np.float32)[0], (len(texts), 1))


async def test_a_batch_is_embedded_by_all_workers_at_once_and_committed_in_its_order(desk: Desk) -> None:
    workers: list[Any] = [Lane("embedder-0"), Lane("embedder-1")]
    index_generation = desk.writing._parts.serving.current
    index_generation.embedder = Embedder(EmbeddingPool(workers, NEVER_S), GENERATION, WIDTH)
    texts = [f"memory {number} {'word ' * 40}" for number in range(200)]
    writing_them = asyncio.create_task(desk.batch(*texts, wait="durable"))
    await until(lambda: all(worker.asked for worker in workers))
    workers[1].go_on.set()  # the one that has the later texts is done first
    await until(lambda: not index_generation.embedder._batcher._queue or len(workers[1].asked) > 1)
    workers[0].go_on.set()
    done = await asyncio.wait_for(writing_them, NEVER_S)
    written = [one.memory for one in done if isinstance(one, Written)]
    assert [memory.content for memory in written] == texts
    in_the_log = (await desk.scene.ledger.entries(0, 10_000)).ids
    assert in_the_log == [memory.id for memory in written]
    asked = [sum(map(len, worker.asked)) for worker in workers]
    assert sum(asked) == len(texts)
    assert min(asked) > 0


async def test_a_portion_that_is_refused_is_told_though_others_are_under_way(desk: Desk) -> None:
    workers: list[Any] = [Lane("embedder-0"), Lane("embedder-1")]

    async def refuse(texts: list[str]) -> None:
        raise FailedPrecondition("another model")

    workers[0].embed = refuse
    workers[1].go_on.set()
    embedder = Embedder(EmbeddingPool(workers, NEVER_S), GENERATION, WIDTH)
    with pytest.raises(FailedPrecondition, match="another model"):
        await deadlines.embedded(desk.writing._parts, embedder, ["x" * 5000 for _ in range(9)] + ["y" * 5000])


# ---- the wait for the index ------------------------------------------------------------------------------------------


async def test_a_write_whose_wait_runs_out_is_told_with_its_id(desk: Desk) -> None:
    desk.scene.follower._wait_s = 0.02
    desk.scene.shard.gate.clear()
    written = await desk.remember("We deploy on Friday.")
    assert (written.action, written.indexed) == ("ADD", False)
    assert "new in this space; stored, but" in written.reason
    changed = await desk.writing.update(CALLER, written.memory.id, Patch(title="Deploys"))
    assert (changed.action, changed.indexed, "index" in changed.reason) == ("UPDATE", False, True)
    assert names(await desk.batch("one", "two")) == ["ADD", "ADD"]
    desk.scene.shard.gate.set()


async def test_a_node_that_stops_does_not_lose_the_outcome(desk: Desk) -> None:
    await desk.scene.follower.close()
    written = await desk.remember("We deploy on Friday.")
    assert (written.action, written.indexed, "stopping" in written.reason) == ("ADD", False, True)


async def test_a_duplicate_of_a_write_that_is_not_indexed_waits_for_it(desk: Desk) -> None:
    desk.scene.follower._wait_s = 0.02
    desk.scene.shard.gate.clear()
    await desk.remember("We deploy on Friday.", wait="durable")
    again = await desk.remember("We deploy on Friday.")
    assert (again.action, again.indexed) == ("NOOP", False)
    desk.scene.shard.gate.set()
    desk.scene.follower._wait_s = 20.0
    assert (await desk.remember("We deploy on Friday.")).indexed


# ---- batches ---------------------------------------------------------------------------------------------------------


async def test_a_step_that_fails_does_not_lose_the_outcome_of_the_others(desk: Desk) -> None:
    desk.patch.setattr(writes, "STEP_ITEMS", 2)
    desk.instead(failing(Unavailable("the model starts again", part="embedder-0")), "embedder", "embed", at=2)
    results = await desk.batch("one", "two", "three", " ", "five", "six", wait="durable")
    assert names(results) == ["ADD", "ADD", "Unavailable", "InvalidArgument", "ADD", "ADD"]
    assert (await desk.scene.ledger.status()).memories == 4


async def test_a_fault_of_ours_ends_the_call_after_its_step(desk: Desk) -> None:
    desk.patch.setattr(writes, "STEP_ITEMS", 1)
    desk.instead(failing(RuntimeError("a fault")), "embedder", "embed", at=2)
    with pytest.raises(RuntimeError, match="a fault"):
        await desk.batch("one", "two", wait="durable")
    assert (await desk.scene.ledger.status()).memories == 1


async def test_a_bad_item_does_not_fail_its_neighbours(desk: Desk) -> None:
    bad = [
        Draft(content="lone \ud800 surrogate"),
        Draft(content="x", title="\ud800"),
        Draft(content="x", tags=("\ud800",)),
        Draft(content="x", idempotency_key="\ud800"),
        Draft(content="x", attrs={"\ud800": "\ud800"}),
        Draft(content="x", space="\ud800"),
        Draft(content="x", kind="\ud800"),
        Draft(content="x", supersedes=("no such memory",)),
    ]
    drafts = [Draft(content="first"), *bad, Draft(content="last")]
    results = await desk.writing.remember_batch(CALLER, drafts)
    assert names(results) == ["ADD", *["InvalidArgument"] * 7, "NotFound", "ADD"]
    with pytest.raises(InvalidArgument):
        await desk.writing.remember_batch(CALLER, [])


# ---- retries ---------------------------------------------------------------------------------------------------------


async def test_a_retried_supersede_by_title_is_answered_as_it_was(desk: Desk) -> None:
    old = await desk.remember("We deploy on Friday.", title="Deploys")
    draft = Draft(content="We deploy on Monday.", title="Deploys", idempotency_key="k")
    first, closed = await desk.writing.supersede(CALLER, "Deploys", draft)
    again, still = await desk.writing.supersede(CALLER, "Deploys", draft)
    assert (first.action, closed.id, first.replayed) == ("SUPERSEDE", old.memory.id, False)
    assert (again.action, again.memory.id, again.replayed) == ("SUPERSEDE", first.memory.id, True)
    assert (still, again.indexed) == (closed, True)
    with pytest.raises(AlreadyExists):
        await desk.writing.supersede(CALLER, old.memory.id, Draft(content="Another.", idempotency_key="k"))


async def test_a_retried_supersede_is_answered_although_the_old_memory_was_filed_anew_meanwhile(desk: Desk) -> None:
    old = await desk.remember("We deploy on Friday.", kind="decision", tags=("deploy",))
    draft = Draft(content="We deploy on Monday.", idempotency_key="k")
    first, _ = await desk.writing.supersede(CALLER, old.memory.id, draft)
    await desk.writing.update(CALLER, old.memory.id, Patch(tags=("history",)))
    again, _ = await desk.writing.supersede(CALLER, old.memory.id, draft)
    assert (again.replayed, again.memory) == (True, first.memory)
    assert (first.memory.kind, first.memory.tags) == ("decision", ("deploy",))


async def test_a_retried_update_by_the_title_that_it_changes_is_answered_as_it_was(desk: Desk) -> None:
    await desk.remember("We deploy on Friday.", title="Deploys")
    patch = Patch(title="Deployments", idempotency_key="k")
    first = await desk.writing.update(CALLER, "Deploys", patch)
    again = await desk.writing.update(CALLER, "Deploys", patch)
    assert (first.action, first.replayed) == ("UPDATE", False)
    assert (again.action, again.replayed, again.memory) == ("UPDATE", True, first.memory)
    with pytest.raises(NotFound):
        await desk.writing.update(CALLER, "Deploys", Patch(title="x"))


@pytest.mark.parametrize("key", ["", "\ud800", "x" * 201])
async def test_a_key_that_names_nothing_is_refused_by_its_field(desk: Desk, key: str) -> None:
    draft = Draft(content="x", idempotency_key="k")
    for call in (
        desk.writing.update(CALLER, key, Patch(title="x", idempotency_key="k")),
        desk.writing.supersede(CALLER, key, draft),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.fields["field"] == "id"


# ---- check -----------------------------------------------------------------------------------------------------------


async def test_a_check_leaves_no_trace_and_a_write_reinforces(desk: Desk) -> None:
    there = await desk.remember("We deploy on Friday.")
    for _ in range(3):
        checked = await desk.writing.check(CALLER, Draft(content="We deploy on Friday."))
        assert (checked.action, checked.target_id) == ("NOOP", there.memory.id)
    assert await desk.uses(there) == 0
    await desk.remember("We deploy on Friday.")
    assert await desk.uses(there) == 1


async def test_by_force_an_identical_text_is_added_and_check_and_write_name_the_one_there(desk: Desk) -> None:
    there = await desk.remember("We deploy on Friday.")
    draft = Draft(content="We deploy on Friday.", force=True)
    checked = await desk.writing.check(CALLER, draft)
    said = f"stored although {there.memory.id} says the same"
    assert (checked.action, checked.reason) == ("ADD", said)
    assert (await desk.writing.remember(CALLER, draft)).reason == said
    fresh = await desk.writing.check(CALLER, Draft(content="We deploy on Monday.", force=True))
    assert "no identical text" in fresh.reason or "nothing near" in fresh.reason


async def test_who_replaces_what_was_replaced_meanwhile_is_told_what_stands_there_now(desk: Desk) -> None:
    old = (await desk.remember("We deploy on Friday.")).memory.id
    new = (await desk.remember("We deploy on Monday.", supersedes=(old,))).memory.id
    with pytest.raises(FailedPrecondition, match=f"{old} is superseded already: recall leads to {new} instead"):
        await desk.remember("We deploy on Tuesday.", supersedes=(old,))


async def test_a_check_refuses_what_remember_would_refuse_to_replace(desk: Desk) -> None:
    old = await desk.remember("We deploy on Friday.", title="Deploys")
    elsewhere = await desk.remember("We deploy on Friday.", space="team/ops")
    for target, error in (("no such memory", NotFound), (elsewhere.memory.id, FailedPrecondition)):
        draft = Draft(content="We deploy on Monday.", supersedes=(target,))
        for call in (desk.writing.check(CALLER, draft), desk.writing.remember(CALLER, draft)):
            with pytest.raises(error) as caught:
                await call
            assert caught.value.fields["field"] == "supersedes"
            assert caught.value.message.startswith("supersedes: ")
    checked = await desk.writing.check(CALLER, Draft(content="We deploy on Monday.", supersedes=("Deploys",)))
    assert (checked.action, checked.target_id) == ("SUPERSEDE", old.memory.id)
    itself = await desk.writing.check(CALLER, Draft(content="We deploy on Friday.", supersedes=("Deploys",)))
    assert (itself.action, itself.target_id) == ("NOOP", old.memory.id)


# ---- vectors ---------------------------------------------------------------------------------------------------------


async def test_an_update_embeds_only_what_is_new_and_leaves_no_vector_of_what_is_not_said_any_more(desk: Desk) -> None:
    sentences = [f"Sentence {number} says something of its own, which is like no other. " for number in range(60)]
    memory = (await desk.remember("".join(sentences))).memory
    before = len(desk.scene.model.texts)
    changed = await desk.writing.update(CALLER, memory.id, Patch(content="".join([*sentences, "One more."])))
    texts = [dense for dense, _ in index_texts(changed.memory)]
    assert 0 < len(desk.scene.model.texts) - before < len(texts)
    with desk.scene.home.looked_into() as db:
        hashes = {row[0].hex() for row in db.execute("SELECT hash FROM vector")}
    assert hashes == {content_hash(text) for text in texts}


# ---- parts that hang -------------------------------------------------------------------------------------------------


class Clock:
    """The loop's clock, which can be put forward: what would take long is over at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        true_time, self.ahead_s = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: true_time() + self.ahead_s)

    async def hang(self, *_: Any) -> Any:
        """The behaviour of a part without an answer."""
        self.ahead_s += limits.WRITE_TIMEOUT_S + 1
        await asyncio.Event().wait()


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize(("part", "method"), [("ledger", "prepare"), ("embedder", "embed")])
async def test_a_write_before_its_commit_ends_when_a_part_hangs_and_says_that_nothing_was_stored(
    desk: Desk, clock: Clock, part: str, method: str
) -> None:
    old = await desk.remember("We deploy on Friday.")
    desk.instead(clock.hang, part, method)
    draft = Draft(content="We deploy on Monday.")
    for call in (
        desk.writing.remember(CALLER, draft),
        desk.writing.check(CALLER, draft),
        desk.writing.supersede(CALLER, old.memory.id, draft),
        desk.writing.update(CALLER, old.memory.id, Patch(content="We deploy on Sunday.", idempotency_key="k")),
    ):
        with pytest.raises(
            DeadlineExceeded, match=rf"the {part} has not answered within 20 s; nothing was stored"
        ) as late:
            await call
        assert late.value.fields["part"] == part
    assert names(await desk.batch("one", "two")) == ["DeadlineExceeded"] * 2
    assert (await desk.scene.ledger.status()).seq == old.memory.version


async def test_a_ledger_that_hangs_over_the_name_of_a_memory_ends_the_call(desk: Desk, clock: Clock) -> None:
    desk.instead(clock.hang, "ledger", "find")
    for call in (
        desk.writing.forget(CALLER, "Deploys"),
        desk.writing.restore(CALLER, "Deploys"),
        desk.writing.update(CALLER, "Deploys", Patch(title="Releases")),
    ):
        with pytest.raises(DeadlineExceeded, match="nothing was stored"):
            await call


async def test_a_long_text_may_take_its_time_as_long_as_the_model_makes_progress(desk: Desk, clock: Clock) -> None:
    embed, sizes = desk.scene.embedder.embed, []

    async def slow(texts: list[str]) -> Any:
        clock.ahead_s += 0.8 * limits.WRITE_TIMEOUT_S
        sizes.append(sum(len(text.encode()) for text in texts))
        return await embed(texts)

    desk.patch.setattr(desk.scene.embedder, "embed", slow)
    content = "".join(f"Sentence {number} says something of its own. " for number in range(350))
    content += "".join(f"第{number}句话有它自己的意思。不同于别的句子。" for number in range(250))
    assert (await desk.remember(content, wait="durable")).action == "ADD"
    assert len(sizes) > 2
    assert max(sizes) <= deadlines.EMBEDDED_BYTES


async def test_a_commit_that_hangs_ends_the_call_and_the_same_key_tells_what_became_of_it(
    desk: Desk, clock: Clock
) -> None:
    commit, gate = desk.scene.ledger.commit, asyncio.Event()

    async def slow(commands: list[Command]) -> Any:
        clock.ahead_s += limits.WRITE_TIMEOUT_S + 1
        await gate.wait()
        return await commit(commands)

    desk.instead(slow)
    with pytest.raises(DeadlineExceeded, match="may or may not have been stored; send it again with the same") as late:
        await desk.remember("We deploy on Friday.", idempotency_key="key-1", force=True)
    assert "'key-1'" in late.value.message
    desk.instead(commit)
    gate.set()
    again = await desk.remember("We deploy on Friday.", idempotency_key="key-1", force=True)
    assert (again.action, again.replayed, again.indexed) == ("ADD", True, True)
    assert (await desk.scene.ledger.status()).memories == 1


async def test_a_commit_that_hangs_does_not_lose_the_outcome_of_the_step_before(desk: Desk, clock: Clock) -> None:
    desk.patch.setattr(writes, "STEP_ITEMS", 2)
    desk.instead(clock.hang, at=2)
    results = await desk.batch("one", "two", "three", wait="durable")
    assert names(results) == ["ADD", "ADD", "DeadlineExceeded"]
    assert "the same text is never stored twice" in str(results[2])


@pytest.mark.parametrize(
    ("operation", "said"),
    [("remember", "list the newest memories"), ("update", "read {id}"), ("forget", "does it once only")],
)
async def test_what_is_said_of_a_commit_without_a_key_fits_what_was_asked(
    desk: Desk, clock: Clock, operation: str, said: str
) -> None:
    memory = (await desk.remember("We deploy on Friday.")).memory
    call = {
        "remember": lambda: desk.remember("We deploy on Friday.", force=True),
        "update": lambda: desk.writing.update(CALLER, memory.id, Patch(title="Deploys")),
        "forget": lambda: desk.writing.forget(CALLER, memory.id),
    }[operation]
    desk.instead(clock.hang)
    with pytest.raises(DeadlineExceeded, match=f"may or may not have been stored; .*{said.format(id=memory.id)}"):
        await call()


# ---- an index that is down or slow -----------------------------------------------------------------------------------


async def test_a_write_goes_on_without_its_neighbours_and_says_so(desk: Desk, clock: Clock) -> None:
    async def slow(asked: list[Any], limit: int, generation: str, words: list[str]) -> Any:
        clock.ahead_s += preparing.NEIGHBOURS_SHARE * limits.WRITE_TIMEOUT_S + 1
        await asyncio.Event().wait()

    down = failing(Unavailable("the index is not open", part="index"))
    for number, (shard, said) in enumerate(((slow, "has not answered within 2 s"), (down, "is not open"))):
        desk.instead(shard, "shard", "neighbours_batch")
        written = await desk.remember(f"We deploy {number} times a week.", wait="durable")
        assert (written.action, written.related, written.novelty) == ("ADD", (), None)
        assert f"new in this space; not compared with its neighbours: the index {said}" in written.reason
        assert "nothing was stored" not in written.reason
        known = await desk.remember(f"We deploy {number} times a week.", wait="durable")
        assert (known.deduplicated, known.novelty, "not compared" in known.reason) == (True, 0.0, False)
    assert names(await desk.batch("one", "two", wait="durable")) == ["ADD", "ADD"]


async def test_a_write_looks_for_its_words_while_the_model_works_and_goes_on_without(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, searches, usual = asyncio.Event(), [], desk.scene.embedder.embed

    async def prepare(search: Search) -> None:
        searches.append(search)
        looked.set()
        raise InvalidArgument("text", search.text, "an index that can look for it")

    async def embed(texts: list[str]) -> Any:
        await asyncio.wait_for(looked.wait(), NEVER_S)
        return await usual(texts)

    monkeypatch.setattr(desk.scene.shard, "prepare", prepare, raising=False)
    desk.instead(embed, "embedder", "embed")
    written = await desk.remember("The Frankfurt cluster runs Postgres.")
    assert (written.action, written.related, "not compared" in written.reason) == ("ADD", (), False)
    assert [(one.spaces, "frankfurt" in one.text) for one in searches] == [((SPACE,), True)]


async def test_a_write_whose_neighbours_can_not_be_read_names_the_ledger(desk: Desk, clock: Clock) -> None:
    old = (await desk.remember("We deploy on Friday.")).memory

    async def near(asked: list[Any], limit: int, generation: str, words: list[str]) -> list[list[tuple[str, float]]]:
        return [[(old.id, 0.8)] for _ in asked]

    async def slow(ids: list[str]) -> Any:
        clock.ahead_s += preparing.NEIGHBOURS_SHARE * limits.WRITE_TIMEOUT_S + 1
        await asyncio.Event().wait()

    desk.instead(near, "shard", "neighbours_batch")
    desk.instead(slow, "ledger", "read")
    written = await desk.remember("We deploy twice a week.", wait="durable")
    assert (written.action, written.novelty) == ("ADD", None)
    assert "not compared with its neighbours: the ledger has not answered within 2 s" in written.reason
    desk.instead(clock.hang, "ledger", "read")
    with pytest.raises(DeadlineExceeded, match="the ledger has not answered"):
        await desk.writing.check(CALLER, Draft(content="We deploy three times a week."))


async def test_a_check_does_not_go_on_without_neighbours(desk: Desk, clock: Clock) -> None:
    down = failing(Unavailable("the index is not open", part="index"))
    for shard, error in ((down, Unavailable), (clock.hang, DeadlineExceeded)):
        desk.instead(shard, "shard", "neighbours_batch")
        with pytest.raises(error):
            await desk.writing.check(CALLER, Draft(content="We deploy on Friday."))
