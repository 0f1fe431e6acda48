"""The cached vectors that a ledger keeps: those of present texts, made by a model in use."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_builders import AGENT, GENERATION, OTHER_SPACE, Home, Pen, done

from mnemesh_actors.ledger.commit.commands import Revise, Vectors
from mnemesh_actors.ledger.feeds import feeds
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store.vectors import FIRST, Key
from mnemesh_memory.text.text import content_hash
from mnemesh_memory.values.errors import AlreadyExists
from mnemesh_memory.values.model import Memory

OTHER = "another-model.fp32"


def vectors(*texts: str, stale: tuple[str, ...] = (), generation: str = GENERATION) -> Vectors:
    return Vectors(
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


def test_the_vectors_of_two_models_stand_beside_each_other_until_one_is_swept(
    home: Home, ledger: Ledger, pen: Pen
) -> None:
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


def test_sweeping_takes_bounded_steps_and_leaves_what_is_used(
    home: Home, ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
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
