"""The retrieval shard: its finds, its secrets, and the absence of content. Over both backends."""

from __future__ import annotations

import json
import math
import pickle
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from doubles import killed_in, noted, vector_traces
from plain_memories import memory_id

from mnemesh_actors.index.engine_port import Filter, Match, MatchAny, QueryRequest
from mnemesh_actors.index.neighbours import of_words
from mnemesh_actors.index.scope import (
    ARCHIVE,
    EVERYTHING,
    FORGOTTEN,
    SEARCH_LIMIT_MAX,
    SUPERSEDED,
    in_spaces,
    scope_of,
    superseded_of,
)
from mnemesh_actors.index.shard import (
    PREPARED_MAX,
    IndexItem,
    IndexText,
    RetrievalShard,
    Search,
    ShardConfig,
    ShardStatus,
)
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_memory.ranking.candidates import Candidate, Candidates
from mnemesh_memory.times.window import Window
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

DIMENSIONS = 8
SPACE = "team/x"
KNOWN = 400


def config(path: Path, **changes: str) -> ShardConfig:
    return replace(ShardConfig(str(path / "shard"), "model-1", DIMENSIONS, "life-1"), **changes)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetrievalShard]:
    one = RetrievalShard(config(tmp_path_factory.mktemp("shard")))
    assert one.open() == ShardStatus(0, 0, "absent")
    yield one
    one.close()


@pytest.fixture
def shard(opened: RetrievalShard) -> RetrievalShard:
    """An empty shard; to make one for each test would cost most of the time."""
    opened.apply([], [memory_id(n) for n in range(KNOWN)], 0)
    assert opened.status().points == 0
    return opened


def direction(n: int) -> np.ndarray:
    """Unit vectors of which no two different n < KNOWN are equal."""
    vector = np.random.default_rng(n).normal(size=DIMENSIONS).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def text(n: int, words: str) -> IndexText:
    return IndexText(direction(n), words)


def item(n: int, words: str = "green apples", **changes: object) -> IndexItem:
    whole = IndexItem(id=memory_id(n), space=SPACE, kind="fact", created_at=n, updated_at=n, texts=(text(n, words),))
    return replace(whole, **changes)


def ask(words: str = "apple", near: int | None = None, spaces: tuple[str, ...] = (SPACE,), **changes: object) -> Search:
    vector = None if near is None else direction(near)
    return replace(Search(words, vector, spaces, generation="model-1"), **changes)


def ids(shard: RetrievalShard, search: Search) -> set[int]:
    found = {candidate.id for candidate in shard.search(search)}
    return {n for n in range(KNOWN) if memory_id(n) in found}


def test_a_memory_is_found_by_meaning_and_by_words_once_it_is_applied(shard: RetrievalShard) -> None:
    shard.apply([item(1, "green apples"), item(2, "the database listens on port 5433")], [], 7)
    assert shard.status().points == 2
    (first, second) = shard.search(ask("which ports do databases use?", near=1))
    assert (first.id, second.id) == (memory_id(1), memory_id(2))
    assert first.dense == pytest.approx(1.0, abs=1e-4)
    assert first.bm25 is None
    assert second.bm25 is not None
    assert second.bm25 > 0
    assert ids(shard, ask("APPLE")) == {1}


def test_each_list_can_be_left_out(shard: RetrievalShard) -> None:
    shard.apply([item(1, "apples"), item(2, "pears")], [], 1)
    assert [candidate.bm25 for candidate in shard.search(ask("apples", near=1, bm25=False))] == [None, None]
    (only,) = shard.search(ask("apples"))
    assert only.dense is None
    assert shard.search(ask("apples", bm25=False)) == []


@pytest.mark.parametrize(
    "change", [None, "apples again", "pears"], ids=["nothing", "a memory that matches", "one that does not"]
)
def test_words_that_were_counted_ahead_of_the_vector_give_what_one_search_gives(
    shard: RetrievalShard, change: str | None
) -> None:
    shard.apply([item(1, "apples"), item(2, "apples and pears")], [], 1)
    shard.prepare(replace(ask("apples"), limit=5))
    if change is not None:
        shard.apply([item(3, change)], [], 2)
    apart = shard.search(replace(ask("apples", near=2), limit=5))
    assert apart == shard.search(ask("apples", near=2, limit=6))
    assert {one.bm25 is None for one in apart} == ({False} if change != "pears" else {False, True})


def test_words_that_were_counted_ahead_serve_no_other_search(shard: RetrievalShard) -> None:
    shard.apply([item(1, "apples"), item(2, "apples", space="other")], [], 1)
    shard.prepare(ask("apples"))
    assert ids(shard, ask("apples", spaces=("other",))) == {2}
    assert ids(shard, ask("apples", tags_any=("fruit",))) == set()


@pytest.mark.parametrize("change", [None, "apples and figs"], ids=["nothing", "a memory that shares them"])
def test_neighbours_by_words_that_were_looked_for_ahead_are_those_of_one_call(
    shard: RetrievalShard, change: str | None
) -> None:
    shard.apply([item(n, "apples" if n % 3 else "pears") for n in range(12)], [], 1)
    shard.apply([item(20, "apples", space="other"), item(21, "apples", state="superseded")], [], 2)
    for space in (SPACE, "other"):
        shard.prepare(of_words("apples figs", space))
    if change is not None:
        shard.apply([item(3, change)], [], 3)
    asked, words = [(direction(5), space) for space in (SPACE, "other", "none")], ["apples figs"] * 3
    ahead = shard.neighbours_batch(asked, 1, "model-1", words)
    shard._prepared.clear()
    assert ahead == shard.neighbours_batch(asked, 1, "model-1", words)
    assert [len(found) for found in ahead] == [8, 1, 0]
    assert (memory_id(3) in dict(ahead[0])) == (change is not None)


def test_only_so_many_searches_are_counted_ahead(shard: RetrievalShard) -> None:
    shard.apply([item(1, "apples")], [], 1)
    for number in range(PREPARED_MAX + 1):
        shard.prepare(ask(f"apples {number}"))
    assert len(shard._prepared) == PREPARED_MAX


def test_a_window_has_a_list_of_its_own_or_lets_nothing_else_through(shard: RetrievalShard) -> None:
    better = [item(n, "apples", created_at=1_000 + n) for n in range(20)]
    shard.apply([*better, item(30, "pears", created_at=5), item(31, "pears", created_at=9_000, valid_from=6)], [], 1)
    crowded = ask("apples", near=1, limit=1)
    assert ids(shard, crowded).isdisjoint({30, 31})
    within = Window(5, 7)
    assert ids(shard, replace(crowded, limit=2, window=within)) > {30, 31}
    assert ids(shard, replace(crowded, limit=5, window=within._replace(only=True))) == {30, 31}
    assert ids(shard, replace(crowded, limit=5, window=Window(None, 6, only=True))) == {30}
    assert ids(shard, replace(crowded, limit=30, window=Window(1_000, None, only=True))) == set(range(20))


def test_a_long_memory_is_one_candidate_with_its_best_passage(shard: RetrievalShard) -> None:
    long = item(1, texts=(text(1, "beginning"), text(2, "middle apples"), text(3, "end apples apples")))
    shard.apply([long, item(4, "apples")], [], 1)
    assert shard.status().points == 4
    found = {candidate.id: candidate for candidate in shard.search(ask("apples", near=2))}
    assert found.keys() == {memory_id(1), memory_id(4)}
    assert found[memory_id(1)].dense == pytest.approx(1.0, abs=1e-4)
    alone = {c.id: c for c in shard.search(ask("beginning"))}
    assert alone.keys() == {memory_id(1)}


def test_passages_of_a_text_that_got_shorter_are_gone(shard: RetrievalShard) -> None:
    shard.apply([item(1, texts=(text(1, "one"), text(2, "two"), text(3, "three")))], [], 1)
    shard.apply([item(1, texts=(text(1, "one"), text(5, "four")))], [], 2)
    assert shard.status().points == 2
    assert [ids(shard, ask(word)) for word in ("one", "two", "three", "four")] == [{1}, set(), set(), {1}]
    shard.apply([item(1, "five")], [], 3)
    assert shard.status().points == 1
    assert [ids(shard, ask(word)) for word in ("one", "four", "five")] == [set(), set(), {1}]


def test_a_removed_memory_leaves_no_point(shard: RetrievalShard) -> None:
    shard.apply([item(1, texts=(text(1, "one"), text(2, "two"))), item(2)], [], 1)
    shard.apply([item(2, "changed")], [memory_id(1), memory_id(2), memory_id(99)], 2)
    assert shard.status().points == 0
    assert shard.search(ask("one two changed", near=1)) == []


def test_applying_the_same_again_changes_nothing(shard: RetrievalShard) -> None:
    batch = [item(1, texts=(text(1, "one apple"), text(2, "two"))), item(2, "apple")]
    shard.apply(batch, [], 5)
    before = shard.search(ask("apple", near=2))
    shard.apply(batch, [memory_id(7)], 3)
    assert shard.search(ask("apple", near=2)) == before
    assert shard.status().points == 3


def test_of_two_states_of_a_memory_in_one_batch_the_later_counts(shard: RetrievalShard) -> None:
    shard.apply([item(1, texts=(text(1, "old"), text(2, "older"))), item(1, "new")], [], 1)
    assert shard.status().points == 1
    assert ids(shard, ask("old new older")) == {1}
    assert ids(shard, ask("old older")) == set()


def test_forgotten_superseded_and_archived_memories_come_only_when_asked_for(shard: RetrievalShard) -> None:
    shard.apply(
        [
            item(1),
            item(2, state="forgotten"),
            item(3, state="superseded"),
            item(4, tier="archive"),
            item(5, tier="archive", state="superseded"),
            item(6, tier="pinned"),
        ],
        [],
        1,
    )
    assert ids(shard, ask()) == {1, 6}
    assert ids(shard, ask(include_forgotten=True)) == {1, 2, 6}
    assert ids(shard, ask(include_superseded=True)) == {1, 3, 6}
    assert ids(shard, ask(include_archive=True)) == {1, 4, 6}
    assert ids(shard, ask(include_archive=True, include_superseded=True)) == {1, 3, 4, 5, 6}
    assert ids(shard, ask(include_archive=True, include_superseded=True, include_forgotten=True)) == {1, 2, 3, 4, 5, 6}
    shard.apply([item(2), item(1, state="forgotten")], [], 2)
    assert ids(shard, ask()) == {2, 6}


def test_every_filter_is_judged_by_the_index(shard: RetrievalShard) -> None:
    shard.apply(
        [
            item(1, kind="decision", tags=("a", "b"), agent="owner/x", session="s1", created_at=100),
            item(2, kind="error", tags=("b",), agent="owner/x", session="s2", created_at=200),
            item(3, kind="fact", tags=("c",), agent="owner/y", session="s1", created_at=300),
            item(4, kind="fact", created_at=400),
        ],
        [],
        1,
    )
    assert ids(shard, ask(kinds=("decision",))) == {1}
    assert ids(shard, ask(kinds=("decision", "fact"))) == {1, 3, 4}
    assert ids(shard, ask(tags_any=("a", "c"))) == {1, 3}
    assert ids(shard, ask(tags_all=("a", "b"))) == {1}
    assert ids(shard, ask(tags_none=("b",))) == {3, 4}
    assert ids(shard, ask(tags_none=("a", "c"))) == {2, 4}
    assert ids(shard, ask(agent="owner/x")) == {1, 2}
    assert ids(shard, ask(session="s1", agent="owner/x")) == {1}
    assert ids(shard, ask(since=200)) == {2, 3, 4}
    assert ids(shard, ask(before=200)) == {1}
    assert ids(shard, ask(since=200, before=400)) == {2, 3}
    assert ids(shard, ask(near=4, tags_any=("a",), kinds=("fact",))) == set()


def test_nothing_of_another_space_is_ever_found(shard: RetrievalShard) -> None:
    shard.apply([item(n, space=space) for n, space in enumerate(["a", "b", "a/b", "@a", "A", "a "])], [], 1)
    for n, space in enumerate(["a", "b", "a/b", "@a", "A", "a "]):
        everything = ask(near=9, spaces=(space,), include_forgotten=True, include_superseded=True, include_archive=True)
        assert ids(shard, everything) == {n}
        assert ids(shard, ask(near=9, spaces=(space,))) == {n}
        assert [one for one, _ in shard.neighbours_batch([(direction(9), space)], 50, "model-1")[0]] == [memory_id(n)]
    assert ids(shard, ask(near=9, spaces=("a", "@a", "none"))) == {0, 3}


def test_equal_texts_are_asked_for_once_and_each_gets_its_answer(
    shard: RetrievalShard, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard.apply([item(n, space="a") for n in range(3)], [], 1)
    asked = noted(monkeypatch, shard._backend, "query")
    texts = [(direction(1), "a"), (direction(2), "a"), (direction(1), "a"), (direction(1), "b")]
    first, second, again, elsewhere = shard.neighbours_batch(texts, 1, "model-1")
    assert [len(requests) for (requests,) in asked] == [3]
    assert (first, again, elsewhere) == ([(memory_id(1), 1.0)], first, [])
    assert second == [(memory_id(2), 1.0)]


@pytest.mark.parametrize("spaces", [(), ("",), ("a", ""), "a"])
def test_a_question_without_a_space_is_refused(shard: RetrievalShard, spaces: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgument):
        shard.search(ask(near=1, spaces=spaces))
    with pytest.raises(InvalidArgument):
        in_spaces(spaces, 0)
    with pytest.raises(InvalidArgument):
        shard.neighbours_batch([(direction(1), "")], 5, "model-1")


@pytest.mark.parametrize("allowed", range(EVERYTHING + 1))
def test_a_memory_is_seen_with_all_that_it_takes_and_a_superseded_one_also_apart(allowed: int) -> None:
    taken = {"active": 0, "forgotten": FORGOTTEN, "superseded": SUPERSEDED}
    search = Search(
        "x", None, ("a",), include_forgotten=bool(allowed & FORGOTTEN), include_archive=bool(allowed & ARCHIVE)
    )
    for state, tier in product(taken, ("normal", "archive")):
        needed = taken[state] | (ARCHIVE if tier == "archive" else 0)
        assert lets_through(in_spaces(("b", "a"), allowed), scope_of("a", state, tier)) == (needed & ~allowed == 0)
        assert not lets_through(in_spaces(("b",), allowed), scope_of("a", state, tier))
        apart = state == "superseded" and needed & ~(allowed | SUPERSEDED) == 0
        assert lets_through(superseded_of(search), scope_of("a", state, tier)) == apart


def lets_through(where: Filter, words: tuple[str, ...]) -> bool:
    (only,) = where.must
    assert isinstance(only, Match | MatchAny)
    return not {only.value}.isdisjoint(words) if isinstance(only, Match) else not set(only.values).isdisjoint(words)


def test_every_query_that_reaches_the_backend_names_the_spaces(
    shard: RetrievalShard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(monkeypatch, shard._backend, "query")
    for changes in ({}, {"include_forgotten": True}, {"include_archive": True}, {"kinds": ("fact",), "since": 5}):
        shard.search(ask(near=1, **changes))
        shard.search(ask(near=1, spaces=("a", "b"), **changes))
    shard.neighbours_batch([(direction(1), "a"), (direction(2), "b")], 3, "model-1")
    seen: list[QueryRequest] = [request for (requests,) in asked for request in requests]

    def spaces_of(where: Filter | None) -> tuple[str, ...]:
        first = where.must[0]
        assert isinstance(first, Match | MatchAny)
        assert first.field == "scope"
        words = (first.value,) if isinstance(first, Match) else first.values
        return tuple(dict.fromkeys(str(word).partition(":")[2] for word in words))

    each = [(SPACE,), (SPACE,), ("a", "b"), ("a", "b")]
    assert [spaces_of(one.filter) for one in seen] == each * 4 + [("a",), ("b",)]
    assert all(spaces_of(one.idf_corpus) == spaces_of(one.filter) for one in seen if one.using == "bm25")


def test_rare_words_of_a_space_are_rare_whatever_other_spaces_say(shard: RetrievalShard) -> None:
    shard.apply([item(1, "apple"), item(2, "pear"), *(item(n, "apple", space="b") for n in range(10, 40))], [], 1)
    (apple,) = shard.search(ask("apple"))
    (pear,) = shard.search(ask("pear"))
    assert apple.bm25 == pear.bm25


QUESTIONS = [
    "", " ", "\n\t", "?", "'", '"', "-", "+", "*", "( ) : ^ ~ [ ] { } / \\ && || !", "AND NEAR OR NOT", "the of and",
    "\x00", "a\x00b", "🎉🎉👩\u200d👩\u200d👧", "日本語のテキスト", "中文搜索", "한국어 검색", "مرحبا بالعالم", "Ω≈ç√∫",
    "e\u0301 ﬁ ①", "\u200b\ufeff", "\ud800 lone", "\udfff", "x" * 10_000, "word " * 2_000, "?" * 10_000, "語" * 10_000,
    " ".join(f"w{n}" for n in range(1_700)),
]  # fmt: skip


@pytest.mark.parametrize("near", [None, 1])
def test_no_question_fails_whatever_its_characters(shard: RetrievalShard, near: int | None) -> None:
    shard.apply([item(1, "green apples"), item(2, "日本語のテキスト"), item(3, "\ud800 lone 🎉")], [], 1)
    for question in QUESTIONS:
        found = shard.search(ask(question, near=near))
        assert near is None or len(found) == 3, question
        assert all(c.bm25 is None or math.isfinite(c.bm25) for c in found), question
    assert ids(shard, ask("日本語のテキスト")) == {2}
    assert ids(shard, ask("?!")) == set()


def test_a_memory_without_a_word_is_found_by_meaning(shard: RetrievalShard) -> None:
    shard.apply([item(1, "!?"), item(2, "")], [], 1)
    assert ids(shard, ask("anything", near=1)) == {1, 2}


def test_the_answer_does_not_depend_on_the_order_of_writing(tmp_path: Path) -> None:
    seed = 11
    print("seed", seed)
    chance = random.Random(seed)
    words = ["red", "green", "blue"]
    items = [item(n, texts=(text(n % 40, " ".join(chance.choices(words, k=2))),)) for n in range(300)]
    items += [item(n, "red green") for n in range(300, 330)]
    answers = []
    for order in range(3):
        chance.shuffle(items)
        one = RetrievalShard(config(tmp_path / str(order)))
        one.open()
        one.apply(items, [], 1)
        near = one.neighbours_batch([(direction(3), SPACE)], 5, "model-1")
        answers.append((one.search(ask("red", near=5, limit=50)), near))
        one.close()
    assert answers[0] == answers[1] == answers[2]
    assert sum(candidate.bm25 is not None for candidate in answers[0][0]) == 50
    assert all(candidate.dense is not None for candidate in answers[0][0])


def test_one_long_memory_does_not_crowd_out_the_others(shard: RetrievalShard) -> None:
    passages = tuple(IndexText(direction(1), f"apple apple apple {n}") for n in range(150))
    shard.apply([item(1, texts=passages), *(item(n, "an apple among other fruit") for n in range(2, 12))], [], 1)
    assert len(shard.search(ask("", near=1, limit=10))) == 10
    found = shard.search(ask("apple", near=1, limit=10))
    assert sum(candidate.bm25 is not None for candidate in found) == 10
    assert memory_id(1) in {candidate.id for candidate in found}


def test_neighbours_are_the_nearest_that_are_neither_forgotten_nor_superseded(shard: RetrievalShard) -> None:
    shard.apply(
        [
            item(1, state="forgotten"), item(2, state="superseded"), item(3, tier="archive"), item(4),
            item(5, texts=(text(50, "x"), text(3, "y"))), item(6, space="other"),
        ],
        [], 1,
    )  # fmt: skip
    asked = [(direction(3), SPACE), (direction(4), SPACE), (direction(4), "no")]
    (near3, near4, none) = shard.neighbours_batch(asked, 2, "model-1")
    assert [one for one, _ in near3] == [memory_id(3), memory_id(5)]
    assert [cosine for _, cosine in near3] == pytest.approx([1.0, 1.0], abs=1e-4)
    assert near4[0] == (memory_id(4), pytest.approx(1.0, abs=1e-4))
    assert [near4] == shard.neighbours_batch([(direction(4), SPACE)], 2, "model-1")
    assert none == shard.neighbours_batch([], 3, "model-1") == []


@pytest.mark.parametrize("limit", [0, -1, SEARCH_LIMIT_MAX + 1])
def test_a_limit_out_of_range_is_refused(shard: RetrievalShard, limit: int) -> None:
    with pytest.raises(InvalidArgument, match="limit"):
        shard.search(ask(near=1, limit=limit))
    with pytest.raises(InvalidArgument, match="limit"):
        shard.neighbours_batch([(direction(1), SPACE)], limit, "model-1")


@pytest.mark.parametrize(
    "bad",
    [
        {"texts": ()},
        {"space": ""},
        {"id": "no uuid"},
        {"id": "no uuid", "texts": (text(1, "a"), text(2, "b"))},
        {"texts": (IndexText(np.zeros(3, np.float32), "short"),)},
        {"texts": (text(1, "fine"), IndexText(np.full(DIMENSIONS, np.nan, np.float32), "NaN"))},
        {"created_at": 2**60},
        {"tags": ("\ud800",)},
    ],
)
def test_an_item_that_does_not_fit_changes_nothing(shard: RetrievalShard, bad: dict[str, object]) -> None:
    shard.apply([item(1, "one")], [], 1)
    before = shard.status()
    with pytest.raises(InvalidArgument):
        shard.apply([item(1, "two"), item(2, "three"), item(3, **bad)], [memory_id(1)], 2)
    with pytest.raises(InvalidArgument):
        shard.apply([item(2, "three")], [memory_id(1), "no uuid"], 2)
    assert shard.status() == before
    assert ids(shard, ask("one")) == {1}


def test_no_word_of_a_memory_is_in_any_file_of_the_shard(tmp_path: Path) -> None:
    words = "zebrasecret quaggawhisper"
    one = RetrievalShard(config(tmp_path))
    one.open()
    one.apply([item(n, words, texts=(text(n, words), text(n + 100, words))) for n in range(1, 80)], [], 1)
    one.search(ask(words, near=1))
    one.flush()
    one.apply([item(1, words, state="forgotten")], [memory_id(2)], 2)
    one.close()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        data = file.read_bytes().lower()
        assert b"zebrasecret" not in data, file
        assert b"quagga" not in data, file
        assert "zebrasecret".encode("utf-16-le") not in data, file


def test_no_tag_agent_or_session_of_a_memory_is_in_any_file_of_the_shard(tmp_path: Path) -> None:
    names = {"tags": ("zebratag", "other"), "agent": "quaggaagent", "session": "okapisession"}
    one = RetrievalShard(config(tmp_path))
    one.open()
    one.apply([item(n, **names, place=n) for n in range(1, 80)], [], 1)
    assert ids(one, ask(tags_all=("zebratag",), agent="quaggaagent", session="okapisession")) == set(range(1, 80))
    assert ids(one, ask(tags_all=("zebratag",), agent="quaggaagent", session="another")) == set()
    one.flush()
    one.apply([], [memory_id(2)], 2)
    one.close()
    for file in tmp_path.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert [word for word in (b"zebrat", b"quaggaa", b"okapis") if word in data] == [], file


def test_after_a_flush_the_vectors_of_an_erased_memory_are_in_no_file(tmp_path: Path) -> None:
    one = RetrievalShard(config(tmp_path))
    one.open()
    one.apply([item(n, texts=(text(n, "apple"), text(n + 100, "pear"))) for n in range(1, 80)], [], 1)
    one.close()
    one.open()
    assert vector_traces(tmp_path, direction(2), direction(102)) >= {"chunk_0.mmap", "open-1"}
    one.apply([], [memory_id(2)], 2)
    assert one.flush() == 2
    assert vector_traces(tmp_path, direction(2), direction(102)) == set()
    assert vector_traces(tmp_path, direction(3)) == {"chunk_0.mmap"}
    one.apply([item(3, "plum")], [], 3)
    for _ in range(2):
        assert ids(one, ask("plum")) == {3}
        assert ids(one, ask("apple")) == set(range(1, 80)) - {2, 3}
        assert one.status().points == 77 * 2 + 1
        one.close()
        assert one.open().rebuilt == ""
    one.close()


@pytest.mark.parametrize("call", ["_fill", "_harmless"])
def test_a_node_that_is_killed_while_it_erases_does_so_again(tmp_path: Path, call: str) -> None:
    killed_in(
        "from test_shard import *\n"
        "from mnemesh_actors.index.engines.edge import EdgeBackend\n"
        f"one = RetrievalShard(config(Path({str(tmp_path)!r})))\n"
        "one.open(); one.apply([item(n) for n in range(1, 9)], [], 1); one.flush()\n"
        f"usual = EdgeBackend.{call}\n"
        f"EdgeBackend.{call} = lambda self, what: (usual(self, what), die())\n"
        "one.apply([], [memory_id(2)], 2); one.flush()"
    )
    one = RetrievalShard(config(tmp_path))
    status = one.open()
    assert (status.seq, status.rebuilt) == (1, "")
    one.apply([], [memory_id(2)], 2)
    one.flush()
    assert vector_traces(tmp_path, direction(2)) == set()
    assert ids(one, ask()) == set(range(1, 9)) - {2}
    one.close()


def test_each_index_hashes_with_a_key_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    def key(path: Path) -> str:
        return json.loads((path / "shard" / "meta.json").read_text())["key"]

    seen = []
    for path in (tmp_path / "a", tmp_path / "b"):
        for _ in range(2):
            one = RetrievalShard(config(path))
            one.open()
            one.apply([item(1, tags=("x",), session="s", place=1), item(2, tags=("y",), session="s", place=2)], [], 1)
            one.rebase("life-2", 1, 1)
            one.rebase("life-1", 1, 1)
            one.close()
            seen.append(key(path))
        again = RetrievalShard(config(path))
        again.open()
        assert ids(again, ask(tags_any=("x",))) == {1}
        assert ids(again, ask(tags_none=("x",), session="s")) == {2}
        assert again.followed([], [((SPACE, "s"), (0, 0, memory_id(9)))]) == [memory_id(1), memory_id(2)]
        again.close()
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert "" not in seen


def test_a_shard_that_is_not_open_is_unavailable(tmp_path: Path) -> None:
    one = RetrievalShard(config(tmp_path))
    for _ in range(2):
        for use in (
            lambda: one.apply([], [], 1),
            lambda: one.search(ask(near=1)),
            lambda: one.neighbours_batch([(direction(1), SPACE)], 1, "model-1"),
            one.flush,
            one.status,
        ):
            with pytest.raises(Unavailable):
                use()
        one.open()
        one.close()
        one.close()


def test_what_crosses_between_processes_survives_pickle(tmp_path: Path) -> None:
    for value in (config(tmp_path), ShardStatus(3, 4, "why"), Candidates.of([Candidate(memory_id(1), 0.5, None)])):
        assert pickle.loads(pickle.dumps(value)) == value
    there = pickle.loads(pickle.dumps(item(1, "words", tags=("a",))))
    assert there.texts[0].lexical == "words"
    assert there.texts[0].dense == pytest.approx(direction(1))
    question = pickle.loads(pickle.dumps(ask("words", near=2)))
    assert question.vector == pytest.approx(direction(2))
    assert question.spaces == (SPACE,)


def test_superseded_memories_come_beside_the_others_and_crowd_none_out(shard: RetrievalShard) -> None:
    shard.apply([item(n, "apple", state="superseded") for n in range(20, 40)], [], 1)
    shard.apply([item(1, "apple pear"), item(2, "apple", state="superseded", space="team/y")], [], 2)
    shard.apply([item(3, "apple", state="superseded", tier="archive"), item(4, "apple", state="forgotten")], [], 3)
    assert ids(shard, ask("apple", limit=2)) == {1}
    both = ids(shard, ask("apple", limit=2, superseded_limit=5))
    assert 1 in both
    assert len(both) == 6
    assert both - {1} <= set(range(20, 40))
    assert 3 in ids(shard, ask("apple", superseded_limit=100, include_archive=True))


def test_a_search_among_given_memories_sees_all_their_passages_and_no_other(shard: RetrievalShard) -> None:
    shard.apply([item(1, texts=(text(1, "one"), text(2, "two"))), item(2, "two"), item(3, "two")], [], 1)
    assert ids(shard, ask("two", ids=(memory_id(1), memory_id(3), memory_id(9)))) == {1, 3}
    assert ids(shard, ask("two", ids=())) == set()


def test_what_holds_the_interpreter_for_a_moment_is_quick_and_what_a_server_answers_never(tmp_path: Path) -> None:
    server = ServerConfig(url="http://127.0.0.1:1", owner="a" * 32)
    edge = RetrievalShard(config(tmp_path))
    remote = RetrievalShard(replace(config(tmp_path), server=server))
    one = ask("deploy")
    vector = np.zeros(DIMENSIONS, np.float32)
    short, long = item(1), item(2, texts=(text(1, "a"), text(2, "b")))
    quick: list[tuple[str, tuple[object, ...]]] = [
        ("prepare", (one,)),
        ("prepare", (of_words("deploy", SPACE),)),
        ("search", (one,)),
        ("search_batch", ([one, one],)),
        ("neighbours_batch", ([(vector, SPACE)], 5, "model-1")),
        ("apply", ([short], [], 1, 0)),
        ("apply", ([], [], 1, 0)),
    ]
    slow: list[tuple[str, tuple[object, ...]]] = [
        ("search", (replace(one, limit=SEARCH_LIMIT_MAX),)),
        ("search", (replace(one, ids=(memory_id(1),)),)),
        ("neighbours_batch", ([(vector, SPACE)] * 2, 5, "model-1")),
        ("apply", ([short, short], [], 1, 0)),
        ("apply", ([short], [memory_id(3)], 1, 0)),
        ("apply", ([long], [], 1, 0)),
        ("flush", ()),
        ("open", ()),
    ]
    assert [edge.quick(*call) for call in (*quick, *slow)] == [True] * len(quick) + [False] * len(slow)
    assert not any(remote.quick(*call) for call in quick)
