"""The searched parts of a memory, and the fields it inherits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_actors.index.points import PASSAGES_MAX
from mnemesh_memory.policy.patches import succeeding
from mnemesh_memory.text.passages import EMBEDDED_TOKENS_MAX, VERSIONS_SEARCHED_MAX, index_texts
from mnemesh_memory.text.text import chunks, estimate_wordpieces
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.limits import CHUNK_TOKENS_MAX, CONTENT_BYTES_MAX, TAGS_MAX
from mnemesh_memory.values.model import Draft, Memory, Revision

PLAIN = plain_memory("018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", "The ledger commits before it answers.", 1)
LONG = "".join(f"Sentence {number} says something of its own. " for number in range(400))


def test_a_short_text_is_one_text_as_it_is() -> None:
    assert index_texts(PLAIN) == ((PLAIN.content, PLAIN.content),)


def test_the_title_is_embedded_and_matched() -> None:
    ((dense, words),) = index_texts(replace(PLAIN, title="Order of duties"))
    assert dense == words == "Order of duties\n" + PLAIN.content


def test_keywords_tags_and_paths_are_matched_by_word_but_not_embedded() -> None:
    memory = replace(PLAIN, keywords=("fsync",), tags=("durability", "sqlite"), paths=("actors/ledger.py",))
    ((dense, words),) = index_texts(memory)
    assert dense == PLAIN.content
    for word in ("fsync", "durability", "sqlite", "actors/ledger.py"):
        assert word in words
        assert word not in dense
    assert words.startswith(PLAIN.content)


def version(content: str, title: str = "") -> Revision:
    return Revision(id="2@" + "a" * 32, op="put", kind="fact", title=title, content=content, by="b", at=2, parents=())


def test_every_version_of_a_memory_in_conflict_is_searched() -> None:
    other = version("It answers before it commits.", "Order")
    memory = replace(PLAIN, tags=("duty",), conflicts=(other,))
    assert index_texts(memory) == (
        (PLAIN.content, f"{PLAIN.content}\nduty"),
        (f"Order\n{other.content}", f"Order\n{other.content}\nduty"),
    )


def test_what_versions_in_conflict_have_in_common_is_searched_once() -> None:
    texts = index_texts(replace(PLAIN, content=LONG, conflicts=(version(LONG + "And more."),)))
    assert len(texts) == len(set(texts)) < len(chunks(LONG)) + 3
    assert texts[: len(chunks(LONG))] == index_texts(replace(PLAIN, content=LONG))


def test_however_many_versions_there_are_their_number_in_the_index_is_bounded() -> None:
    worst = "!" * CONTENT_BYTES_MAX
    memory = replace(PLAIN, content=worst, conflicts=tuple(version(f"{n}{worst[9:]}") for n in range(20)))
    texts = index_texts(memory)
    assert len(texts) <= VERSIONS_SEARCHED_MAX * len(chunks(worst)) <= PASSAGES_MAX
    assert (
        len(index_texts(replace(PLAIN, conflicts=tuple(version(str(n)) for n in range(20))))) == VERSIONS_SEARCHED_MAX
    )


def test_a_word_of_one_list_does_not_run_into_the_next() -> None:
    ((_, words),) = index_texts(replace(PLAIN, keywords=("alpha",), tags=("beta", "gamma"), paths=("delta",)))
    assert {"alpha", "beta", "gamma", "delta"} <= set(words.split())


def test_every_part_of_a_long_text_carries_title_and_words() -> None:
    memory = replace(PLAIN, content=LONG, title="A long one", tags=("chapter",))
    texts = index_texts(memory)
    assert len(texts) > 5
    for dense, words in texts:
        assert dense.startswith("A long one\n")
        assert words.startswith(dense)
        assert words.endswith("chapter")


@settings(max_examples=50, derandomize=True, database=None)
@given(st.text(max_size=3000))
def test_no_character_of_a_text_is_lost_to_the_index(content: str) -> None:
    parts = [dense for dense, _ in index_texts(replace(PLAIN, content=content))]
    assert "".join(parts) == content
    assert all(estimate_wordpieces(part) <= CHUNK_TOKENS_MAX for part in parts)


TITLE = "How the payments team rolls a release back: who decides, which dashboards to look at"


def test_a_title_that_fits_beside_a_full_part_is_embedded_whole() -> None:
    for dense, _ in index_texts(replace(PLAIN, content=LONG, title=TITLE)):
        assert dense.startswith(TITLE + "\n")


def test_a_long_title_of_a_short_text_is_embedded_whole() -> None:
    title = "支払い" * 20
    ((dense, _),) = index_texts(replace(PLAIN, title=title))
    assert dense == f"{title}\n{PLAIN.content}"


def test_a_title_too_long_for_a_full_part_is_embedded_by_its_beginning_and_matched_whole() -> None:
    title = "支払い" * 22
    for (dense, words), chunk in zip(index_texts(replace(PLAIN, content=LONG, title=title)), chunks(LONG), strict=True):
        head, rest = dense.split("\n", 1)
        assert rest == chunk
        assert title.startswith(head)
        assert len(head) >= EMBEDDED_TOKENS_MAX - CHUNK_TOKENS_MAX
        assert words == f"{title}\n{chunk}"


@settings(max_examples=50, derandomize=True, database=None)
@given(st.text(max_size=200), st.text(max_size=3000))
def test_title_and_part_together_stay_below_what_the_model_reads(title: str, content: str) -> None:
    for dense, words in index_texts(replace(PLAIN, title=title, content=content)):
        assert estimate_wordpieces(dense) <= EMBEDDED_TOKENS_MAX
        assert words.startswith(title)


# ---- patching --------------------------------------------------------------------------------------------------------
# The fields a memory inherits from its predecessor.


def old(*tags: str) -> Memory:
    fields = {"space": "team/a", "kind": "decision", "title": "Pay day", "importance": 0.9, "tier": "pinned"}
    return plain_memory("018f6f0e-7c1a-7000-8000-000000000001", "We pay on the first.", tags=tags, **fields)


def test_a_successor_takes_over_space_title_kind_and_tags_alone() -> None:
    draft = Draft(content="We pay on the second.")
    assert succeeding(draft, old("pay")) == Draft(
        content="We pay on the second.", title="Pay day", space="team/a", kind="decision", tags=("pay",)
    )


def test_what_a_successor_names_is_its_own() -> None:
    draft = Draft(content="x", title="Bank", kind="fact", tags=("bank",), space="team/a")
    assert succeeding(draft, old("pay")) == draft


def test_tags_that_several_writers_gathered_beyond_the_limit_are_to_be_named_anew() -> None:
    gathered = old(*(f"tag {n}" for n in range(TAGS_MAX + 1)))
    with pytest.raises(InvalidArgument, match="tags: 65 values is not allowed; at most 64; 018f6f0e"):
        succeeding(Draft(content="x"), gathered)
    assert succeeding(Draft(content="x", tags=("pay",)), gathered).tags == ("pay",)
