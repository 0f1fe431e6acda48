"""The feed of the index: each changed memory once, in order, with the vectors that are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ledger_builders import GENERATION, SPACE, Home, Pen, all_done, done

from mnemesh_actors.ledger.commit.commands import FeedPage, Vectors
from mnemesh_actors.ledger.feeds import index_feed
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.text.passages import index_texts
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values import limits
from mnemesh_memory.values.model import ListQuery, Memory


def listed(ledger: Ledger, **query: Any) -> list[Memory]:
    return list(ledger.page(ListQuery(**{"spaces": (SPACE,), "limit": 200, **query})).memories)


def names(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


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


def test_a_page_of_the_feed_is_bounded_by_bytes_and_still_covers_every_entry(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_feed, "FEED_BYTES_MAX", 10_000)
    memories = [done(ledger, pen.create(f"{number} " + "x" * 3000)).memory for number in range(10)]
    done(ledger, pen.revise(memories[0], content="now short"))
    seen: dict[str, Memory] = {}
    for page in pages(ledger):
        assert 0 < sum(len(memory.content) for _, memory in page.memories) <= 10_000
        seen |= {memory.id: memory for _, memory in page.memories}
    assert seen == ledger.read([memory.id for memory in memories])


def test_vectors_and_letters_of_several_bytes_count_in_a_page(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = b"v" * 6000
    for text in ("one", "two", "three"):
        kept = Vectors(generation=GENERATION, items=((content_hash(text), vector),))
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
    done(ledger, pen.create("one", vectors=Vectors(generation=GENERATION, items=(kept,))))
    done(ledger, pen.create("two"))
    assert ledger.feed(0, 10, GENERATION).vectors == dict([kept])
    assert ledger.feed(0, 10, "another.generation").vectors == {}
    assert ledger.vectors([kept[0], content_hash("two")], GENERATION) == dict([kept])


def test_the_feed_asks_for_the_vectors_of_every_part_of_a_long_memory(ledger: Ledger, pen: Pen) -> None:
    content = "".join(f"Sentence {number} says something of its own. " for number in range(300))
    memory = done(ledger, pen.create(content, title="Long")).memory
    hashes = [content_hash(dense) for dense, _ in index_texts(memory)]
    assert len(hashes) > 3
    ledger.keep_vectors(Vectors(generation=GENERATION, items=tuple((digest, b"v") for digest in hashes)))
    assert set(ledger.feed(0, 10, GENERATION).vectors) == set(hashes)


def test_a_vector_made_again_takes_the_place_of_the_one_there_and_many_can_be_asked_for(ledger: Ledger) -> None:
    hashes = [content_hash(str(number)) for number in range(1200)]
    ledger.keep_vectors(Vectors(generation=GENERATION, items=tuple((digest, b"first") for digest in hashes)))
    ledger.keep_vectors(Vectors(generation=GENERATION, items=((hashes[0], b"second"),)))
    kept = dict.fromkeys(hashes, b"first") | {hashes[0]: b"second"}
    assert ledger.vectors([*hashes, hashes[0], content_hash("unknown")], GENERATION) == kept


def test_vectors_survive_a_restart_and_those_of_a_refused_write_do_not(home: Home, pen: Pen) -> None:
    one, two = content_hash("one"), content_hash("two")
    with home.opened() as ledger:
        first, second = (Vectors(generation=GENERATION, items=((digest, b"v"),)) for digest in (one, two))
        refused = pen.create("two", supersedes=("ffffffff",), vectors=second)
        ledger.commit([pen.create("one", vectors=first), refused])
    with home.opened() as ledger:
        assert ledger.vectors([one, two], GENERATION) == {one: b"v"}
