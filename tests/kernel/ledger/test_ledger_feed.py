"""The ledger's feed to the index, the vectors it keeps, and the uses it counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from ledger_builders import AGENT, GENERATION, OTHER_SPACE, SPACE, Home, Pen, all_done, done, names

from mnemesh_actors.ledger.commands import Committed, FeedPage, KeptVectors, Lookup, Revise
from mnemesh_actors.ledger.feeds import feeds, index_feed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import commit_notes
from mnemesh_actors.ledger.store.vectors import FIRST, Key
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import AlreadyExists
from mnemesh_memory.values.model import Memory

# ---- the feed of the index ------------------------------------------------------------------------------------------


def test_the_feed_gives_each_changed_memory_once_at_its_last_change_in_order(ledger: Ledger, pen: Pen) -> None:
    one, two, three = (done(ledger, pen.create(text)).memory for text in ("one", "two", "three"))
    done(ledger, pen.revise(one, content="one again"))
    done(ledger, pen.forget(two))
    page = ledger.feed(0, 100, GENERATION)
    assert [(seq, memory.content, memory.state) for seq, memory in page.memories] == [
        (3, "three", "active"),
        (4, "one again", "active"),
        (5, "two", "forgotten"),
    ]
    assert (page.seq, page.head) == (5, 5)
    assert [memory.id for _, memory in ledger.feed(3, 100, GENERATION).memories] == [one.id, two.id]
    assert three.id


def test_the_feed_is_read_in_pages_that_cover_every_entry(ledger: Ledger, pen: Pen) -> None:
    memories = [done(ledger, pen.create(str(number))).memory for number in range(10)]
    for memory in memories[:5]:
        done(ledger, pen.revise(memory, title="changed"))
    seen: dict[str, Memory] = {}
    after, steps = 0, []
    while after < 15:
        page = ledger.feed(after, 4, GENERATION)
        assert page.head == 15
        assert after < page.seq <= after + 4
        assert all(after < seq <= page.seq for seq, _ in page.memories)
        seen |= {memory.id: memory for _, memory in page.memories}
        after = page.seq
        steps.append(after)
    assert steps == [4, 8, 12, 15]
    assert seen == ledger.read([memory.id for memory in memories])


def test_a_feed_that_is_at_the_end_stays_there(ledger: Ledger, pen: Pen) -> None:
    assert (ledger.feed(0, 10, GENERATION).seq, ledger.feed(0, 10, GENERATION).head) == (0, 0)
    done(ledger, pen.create("one"))
    page = ledger.feed(1, 10, GENERATION)
    assert (page.memories, page.seq, page.head) == ((), 1, 1)


def test_both_sides_of_a_replacement_are_in_the_feed(ledger: Ledger, pen: Pen) -> None:
    old = done(ledger, pen.create("old")).memory
    done(ledger, pen.create("new", supersedes=(old.id,)))
    assert [memory.state for _, memory in ledger.feed(1, 10, GENERATION).memories] == ["active", "superseded"]


def test_a_refused_write_leaves_no_gap_that_the_feed_would_wait_for(ledger: Ledger, pen: Pen) -> None:
    ledger.commit([pen.create("one"), pen.create("x", supersedes=("ffffffff",)), pen.create("two")])
    page = ledger.feed(0, 10, GENERATION)
    assert names([memory for _, memory in page.memories]) == ["one", "two"]
    assert page.seq == page.head == ledger.status().seq


def pages(ledger: Ledger) -> Iterator[FeedPage]:
    """The whole feed, in pages bounded by bytes alone."""
    after = 0
    while (page := ledger.feed(after, 1000, GENERATION)).seq > after:
        assert page.head == ledger.status().seq
        yield page
        after = page.seq


def test_a_feed_page_is_bounded_by_bytes(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_feed, "FEED_BYTES_MAX", 10_000)
    memories = [done(ledger, pen.create(f"{number} " + "x" * 3000)).memory for number in range(10)]
    done(ledger, pen.revise(memories[0], content="now short"))
    seen: dict[str, Memory] = {}
    for page in pages(ledger):
        assert 0 < sum(len(memory.content) for _, memory in page.memories) <= 10_000
        seen |= {memory.id: memory for _, memory in page.memories}
    assert seen == ledger.read([memory.id for memory in memories])


def test_vectors_and_letters_of_several_bytes_count(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = b"v" * 6000
    for text in ("one", "two", "three"):
        kept = KeptVectors(generation=GENERATION, items=((content_hash(text), vector),))
        done(ledger, pen.create(text, vectors=kept))
    done(ledger, pen.create("ж" * 3500))
    done(ledger, pen.create("ш" * 3500))
    monkeypatch.setattr(index_feed, "FEED_BYTES_MAX", 12_500)
    assert [len(page.memories) for page in pages(ledger)] == [2, 1, 1, 1]


def test_titles_count_in_a_page(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        done(ledger, pen.create(f"{number}", title=f"{number} ".ljust(200, "x")))
    monkeypatch.setattr(index_feed, "FEED_BYTES_MAX", 450)
    assert [len(page.memories) for page in pages(ledger)] == [2, 2]


def test_one_memory_beyond_the_bound_is_a_page_of_its_own(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_feed, "FEED_BYTES_MAX", 100)
    large = done(ledger, pen.create("x" * 3000)).memory
    done(ledger, pen.create("y" * 3000))
    done(ledger, pen.forget(large))
    assert [[(seq, memory.content[0]) for seq, memory in page.memories] for page in pages(ledger)] == [
        [(1, "x")],
        [(2, "y")],
        [(3, "x")],
    ]


def test_a_full_page_is_of_bounded_size_by_default(ledger: Ledger, pen: Pen) -> None:
    contents = [f"{number} ".ljust(limits.CONTENT_BYTES_MAX, "x") for number in range(140)]
    all_done(ledger, *(pen.create(content) for content in contents))
    counts = [len(page.memories) for page in pages(ledger)]
    assert sum(counts) == len(contents)
    assert max(counts) == index_feed.FEED_BYTES_MAX // limits.CONTENT_BYTES_MAX


# ---- vectors --------------------------------------------------------------------------------------------------------


def test_the_feed_brings_the_vectors_that_came_with_the_write(ledger: Ledger, pen: Pen) -> None:
    kept = (content_hash("one"), b"\x00\x01" * 768)
    done(ledger, pen.create("one", vectors=KeptVectors(generation=GENERATION, items=(kept,))))
    done(ledger, pen.create("two"))
    assert ledger.feed(0, 10, GENERATION).vectors == dict([kept])
    assert ledger.feed(0, 10, "another.generation").vectors == {}
    assert ledger.vectors([kept[0], content_hash("two")], GENERATION) == dict([kept])


def test_the_feed_asks_for_the_vectors_of_every_part_of_a_long_memory(ledger: Ledger, pen: Pen) -> None:
    content = "".join(f"Sentence {number} says something of its own. " for number in range(300))
    memory = done(ledger, pen.create(content, title="Long")).memory
    hashes = [content_hash(dense) for dense, _ in index_texts(memory)]
    assert len(hashes) > 3
    ledger.keep_vectors(KeptVectors(generation=GENERATION, items=tuple((digest, b"v") for digest in hashes)))
    assert set(ledger.feed(0, 10, GENERATION).vectors) == set(hashes)


def test_a_vector_made_again_takes_the_place_of_the_one_there_and_many_can_be_asked_for(ledger: Ledger) -> None:
    hashes = [content_hash(str(number)) for number in range(1200)]
    ledger.keep_vectors(KeptVectors(generation=GENERATION, items=tuple((digest, b"first") for digest in hashes)))
    ledger.keep_vectors(KeptVectors(generation=GENERATION, items=((hashes[0], b"second"),)))
    kept = dict.fromkeys(hashes, b"first") | {hashes[0]: b"second"}
    assert ledger.vectors([*hashes, hashes[0], content_hash("unknown")], GENERATION) == kept


def test_vectors_survive_a_restart_and_those_of_a_refused_write_do_not(home: Home, pen: Pen) -> None:
    one, two = content_hash("one"), content_hash("two")
    with home.opened() as ledger:
        first, second = (KeptVectors(generation=GENERATION, items=((digest, b"v"),)) for digest in (one, two))
        refused = pen.create("two", supersedes=("ffffffff",), vectors=second)
        ledger.commit([pen.create("one", vectors=first), refused])
    with home.opened() as ledger:
        assert ledger.vectors([one, two], GENERATION) == {one: b"v"}


# ---- vectors ---------------------------------------------------------------------------------------------------------
# The cached vectors that a ledger keeps: those of present texts, made by a model in use.


OTHER = "another-model.fp32"


def vectors(*texts: str, stale: tuple[str, ...] = (), generation: str = GENERATION) -> KeptVectors:
    return KeptVectors(
        generation=generation,
        items=tuple((content_hash(text), text.encode()) for text in texts),
        stale=tuple(content_hash(text) for text in stale),
    )


def kept(ledger: Ledger, *texts: str, generation: str = GENERATION) -> list[str]:
    """The members of `texts` with a vector, and the given vector."""
    found = ledger.vectors([content_hash(text) for text in texts], generation)
    assert all(found[content_hash(text)] == text.encode() for text in texts if content_hash(text) in found)
    return [text for text in texts if content_hash(text) in found]


def born(ledger: Ledger, pen: Pen, text: str, **fields: str | bool) -> Memory:
    return done(ledger, pen.create(text, vectors=vectors(text), **fields)).memory


def change(pen: Pen, memory: Memory, text: str) -> Revise:
    return replace(pen.revise(memory, content=text), vectors=vectors(text, stale=(memory.content,)))


def stored(home: Home) -> int:
    with home.looked_into() as db:
        return int(db.execute("SELECT count(*) FROM vector").fetchone()[0])


# ---- texts that are not said any more -------------------------------------------------------------------------------


def test_an_update_drops_the_vector_of_the_text_that_it_replaces(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = born(ledger, pen, "one")
    for text in ("two", "three", "one"):
        memory = done(ledger, change(pen, memory, text)).memory
        assert (kept(ledger, "one", "two", "three"), stored(home)) == ([text], 1)


def test_a_text_that_two_memories_share_keeps_its_vector_whichever_changes(ledger: Ledger, pen: Pen) -> None:
    first, second = born(ledger, pen, "one"), born(ledger, pen, "one", space=OTHER_SPACE)
    done(ledger, change(pen, first, "two"))
    assert kept(ledger, "one", "two") == ["one", "two"]
    third, fourth = born(ledger, pen, "three"), born(ledger, pen, "three", space=OTHER_SPACE)
    done(ledger, change(pen, fourth, "four"))
    assert kept(ledger, "three", "four") == ["three", "four"]
    assert {second.content, third.content} == {"one", "three"}


def test_a_text_that_stands_twice_in_one_memory_is_not_shared(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one", vectors=vectors("one", "one"))).memory
    done(ledger, change(pen, memory, "two"))
    assert kept(ledger, "one", "two") == ["two"]


def test_a_forgotten_memory_keeps_its_vector_for_its_restoration(ledger: Ledger, pen: Pen) -> None:
    memory = born(ledger, pen, "one")
    done(ledger, pen.forget(memory))
    assert kept(ledger, "one") == ["one"]
    done(ledger, pen.restore(memory))
    assert set(ledger.feed(0, 10, GENERATION).vectors) == {content_hash("one")}


def test_a_superseded_memory_keeps_its_vector_because_it_is_searched_too(ledger: Ledger, pen: Pen) -> None:
    memory = born(ledger, pen, "one")
    done(ledger, pen.create("two", supersedes=(memory.id,), vectors=vectors("two")))
    assert kept(ledger, "one", "two") == ["one", "two"]


def test_an_update_that_is_refused_drops_nothing(ledger: Ledger, pen: Pen) -> None:
    born(ledger, pen, "two")
    memory = born(ledger, pen, "one")
    with pytest.raises(AlreadyExists):
        done(ledger, change(pen, memory, "two"))
    assert kept(ledger, "one", "two") == ["one", "two"]


# ---- vectors of another model ---------------------------------------------------------------------------------------


def swept(ledger: Ledger, *used: str) -> int:
    """How many steps it took to remove what was made by other models."""
    after: Key | None = FIRST
    steps = 0
    while after is not None:
        after, steps = ledger.sweep_vectors(after, used), steps + 1
    return steps


def test_the_vectors_of_two_models_stand_side_by_side_until_a_sweep(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = born(ledger, pen, "one")
    ledger.keep_vectors(vectors("one", generation=OTHER))
    assert ledger.vector_generations() == sorted((GENERATION, OTHER))
    swept(ledger, GENERATION, OTHER)
    assert (kept(ledger, "one"), kept(ledger, "one", generation=OTHER)) == (["one"], ["one"])
    swept(ledger, OTHER)
    assert (kept(ledger, "one"), kept(ledger, "one", generation=OTHER)) == ([], ["one"])
    assert (ledger.vector_generations(), stored(home)) == ([OTHER], 1)
    done(ledger, replace(change(pen, memory, "two"), vectors=vectors("two", stale=("one",), generation=OTHER)))
    assert stored(home) == 1


def test_a_text_that_goes_loses_its_vectors_of_both_models(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = born(ledger, pen, "one")
    ledger.keep_vectors(vectors("one", generation=OTHER))
    done(ledger, change(pen, memory, "two"))
    assert (kept(ledger, "one", generation=OTHER), stored(home)) == ([], 1)


def test_sweeping_takes_bounded_steps(home: Home, ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "VECTORS_A_STEP", 4)
    texts = [str(number) for number in range(20)]
    ledger.keep_vectors(vectors(*texts, generation=OTHER))
    for text in texts[:10]:
        born(ledger, pen, text)
    assert swept(ledger, GENERATION) == 30 // 4 + 1
    assert kept(ledger, *texts) == texts[:10]
    assert stored(home) == 10


def test_shared_texts_keep_their_mark_while_another_model_takes_over(home: Home, ledger: Ledger, pen: Pen) -> None:
    texts = [f"text {number}" for number in range(30)]
    pairs = [(born(ledger, pen, text), born(ledger, pen, text, space=OTHER_SPACE)) for text in texts]
    seq = 0
    while (page := ledger.feed(seq, 9, OTHER)).memories:
        missing = {m.content for _, m in page.memories if content_hash(m.content) not in page.vectors}
        ledger.keep_vectors(vectors(*missing, generation=OTHER))
        seq = page.seq
    swept(ledger, OTHER)
    for number, (first, _) in enumerate(pairs):
        changed = vectors(f"changed {number}", stale=(first.content,), generation=OTHER)
        done(ledger, replace(pen.revise(first, content=f"changed {number}"), vectors=changed))
    assert kept(ledger, *texts, generation=OTHER) == texts
    assert kept(ledger, *texts) == []


def test_a_text_becomes_shared_for_both_models_when_another_memory_says_it(ledger: Ledger, pen: Pen) -> None:
    born(ledger, pen, "one")
    ledger.keep_vectors(vectors("one", generation=OTHER))
    again = born(ledger, pen, "one", space=OTHER_SPACE)
    done(ledger, change(pen, again, "two"))
    assert (kept(ledger, "one"), kept(ledger, "one", generation=OTHER)) == (["one"], ["one"])


def test_a_text_that_a_new_memory_says_too_is_shared_before_the_other_model_made_it_anew(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        born(ledger, pen, "one")
    with home.opened() as ledger:
        again = done(ledger, pen.create("one", space=OTHER_SPACE, vectors=vectors("one", generation=OTHER))).memory
        ledger.keep_vectors(vectors("one", generation=OTHER))
        changed = vectors("two", stale=("one",), generation=OTHER)
        done(ledger, replace(pen.revise(again, content="two"), vectors=changed))
        assert kept(ledger, "one", generation=OTHER) == ["one"]


# ---- directories of before ------------------------------------------------------------------------------------------


def test_a_ledger_of_the_first_format_opens_with_its_vectors(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        memory = born(ledger, pen, "one")
    home.rewrite_in_format(1)
    with home.opened() as ledger:
        assert kept(ledger, "one") == ["one"]
        done(ledger, change(pen, memory, "two"))
        assert kept(ledger, "one", "two") == ["one", "two"], "whether others say it too was not written down then"
        assert ledger.read([memory.id])[memory.id].by == AGENT


# ---- activity --------------------------------------------------------------------------------------------------------
# The count and times of uses: noted without a write of their own, and there after a restart.


def test_uses_are_counted_and_survive_a_restart(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        one, two = (result.memory.id for result in all_done(ledger, pen.create("one"), pen.create("two")))
        ledger.touch([one, two], 10)
        ledger.touch([one], 20)
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
    with home.opened() as ledger:
        assert ledger.activity([one, two]) == {one: (2, 20), two: (1, 10)}
        ledger.touch([one], 15)
        assert ledger.activity([one]) == {one: (3, 20)}
        done(ledger, pen.create("three"))
        assert ledger.activity([one]) == {one: (3, 20)}
    with home.opened() as ledger:
        assert ledger.activity([one]) == {one: (3, 20)}
        assert ledger.activity([]) == {}


def test_noting_a_use_writes_nothing_until_the_next_commit(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    before = ledger._db.total_changes
    for moment in range(100):
        ledger.touch([memory.id], moment)
        ledger.activity([memory.id])
    assert ledger._db.total_changes == before
    done(ledger, pen.create("two"))
    assert home.sql("SELECT accesses, last_used FROM activity") == [(100, 99)]


def test_of_too_many_uses_that_wait_the_oldest_are_lost_and_a_read_writes_nothing(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
    memory = done(ledger, pen.create("one")).memory
    before = ledger._db.total_changes
    ledger.touch([memory.id, *(f"id-{number}" for number in range(commit_notes.PENDING_MAX - 1))], 5)
    ledger.touch([memory.id], 6)
    ledger.touch(["one too many"], 7)
    assert ledger._db.total_changes == before
    asked = [memory.id, "id-0", "id-1", "one too many"]
    assert ledger.activity(asked) == {memory.id: (2, 6), "id-1": (1, 5), "one too many": (1, 7)}
    done(ledger, pen.create("two"))
    with home.looked_into() as db:
        assert db.execute("SELECT count(*) FROM activity").fetchone()[0] == commit_notes.PENDING_MAX


def test_a_use_can_be_noted_when_nothing_can_be_written(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger._db.execute("PRAGMA query_only=ON")
    for number in range(3 * commit_notes.PENDING_MAX):
        ledger.touch([f"id-{number}"], number)
    ledger.touch([memory.id], 9)
    assert ledger.activity([memory.id]) == {memory.id: (1, 9)}
    ledger._db.execute("PRAGMA query_only=OFF")


def test_a_duplicate_in_a_full_list_of_uses_is_written_with_its_commit(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    ledger.touch([f"id-{number}" for number in range(commit_notes.PENDING_MAX)], 5)
    results = all_done(ledger, pen.create("two"), pen.create("one", idempotency_key="k"), pen.create("three"))
    assert [result.action for result in results] == ["ADD", "NOOP", "ADD"]
    assert ledger.activity([memory.id]) == {memory.id: (1, pen.now - 1)}


def test_only_a_write_reinforces_a_duplicate(ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("one")).memory
    lookup = Lookup(AGENT, SPACE, duplicate_key("one"), "", b"", False, 7, touch=False)
    ((known,), _) = ledger.prepare([lookup], [], "")
    assert isinstance(known, Committed)
    assert (known.action, ledger.activity([memory.id])) == ("NOOP", {})
    ledger.prepare([replace(lookup, touch=True)], [], "")
    assert ledger.activity([memory.id]) == {memory.id: (1, 7)}
