"""Recall over a real mesh: nothing that should be found is crowded out, hidden by a filter, or missing without a word.

Each test has a space of its own.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio
from doubles import failing, hanging, noted
from follower_scene import until
from recall_scene import READER, Here, found, judged, running, signals_of

from mnemesh_actors.consumers.follower import IndexFollower
from mnemesh_actors.index.shard import Search
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.recall import recall as module
from mnemesh_actors.recall import retrieval, search_calls
from mnemesh_actors.recall.search_calls import SEARCHES_A_CALL_MAX, IndexCalls, behind
from mnemesh_gateway.operations.gate import MeshGate
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation
from mnemesh_memory.access.grants import READ
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.ranking.candidates import Candidate, Candidates
from mnemesh_memory.transcripts.sessions import TranscriptDraft, TurnDraft
from mnemesh_memory.values.errors import (
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from mnemesh_memory.values.model import Caller, Draft, Link, ListQuery, Patch, Query, Source

UNKNOWN = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11"
PATIENCE_S = 60.0


# ---- versions -------------------------------------------------------------------------------------------------------


async def test_few_versions_cost_one_question_to_the_index(here: Here) -> None:
    await here.chain(*(f"The window is on day {number}" for number in range(5)))
    asked = noted(here.patch, here.mesh._parts.follower._shard, "search")
    assert found(await here.recall("which day is the window")) == ["The window is on day 4"]
    assert len(asked) == 1


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_many_versions_hide_no_active_memory(here: Here, mode: str) -> None:
    versions = [f"The deploy window of payments is Monday, version {number}" for number in range(130)]
    await here.chain(*versions)
    await here.remember("Payments are booked at night")
    answer = await here.recall("deploy window of payments", mode=mode)
    assert found(answer) == [versions[-1], "Payments are booked at night"]
    if mode == "keyword":  # in meaning some version is nearer by a hair, in words none fits better than the last
        assert answer.results[0].redirected_from == ""


async def test_a_long_chain_leads_to_its_end_in_one_question(here: Here) -> None:
    versions = await here.chain("Zanzibar is the origin", *(f"Successor {number}" for number in range(15)))
    asked = noted(here.patch, here.mesh._parts.ledger, "successors")
    (hit,) = (await here.recall("zanzibar origin", mode="keyword")).results
    assert (hit.memory.id, hit.redirected_from) == (versions[-1].id, versions[0].id)
    assert len(asked) == 1


async def test_a_successor_that_the_filters_leave_out_is_not_shown(here: Here) -> None:
    old = await here.remember("Zebras graze in the park", tags=("animals",))
    await here.mesh.supersede(READER, old.id, here.draft("Nothing of the kind", tags=("other",)))
    assert found(await here.recall("zebras graze", mode="keyword")) == ["Nothing of the kind"]
    assert found(await here.recall("zebras graze", mode="keyword", tags_any=("animals",))) == []


@pytest.mark.parametrize("how", ["forgotten", "erased"])
async def test_a_memory_that_is_restored_after_its_successor_went_is_found_again(here: Here, how: str) -> None:
    old, new = await here.chain("Zebras graze in the park", "Zebras graze no more")
    await (here.mesh.forget if how == "forgotten" else here.mesh.purge)(READER, new.id)
    assert found(await here.recall("zebras graze")) == []
    assert (await here.mesh.restore(READER, old.id)).action == "RESTORE"
    assert found(await here.recall("zebras graze")) == ["Zebras graze in the park"]


async def test_of_the_past_the_version_of_that_time_is_shown(here: Here) -> None:
    first, second, third = await here.chain("Zanzibar is the origin", "It is Pemba", "It is Mafia")
    for memory in (first, second, third):
        answer = await here.recall("zanzibar origin", mode="keyword", as_of=memory.created_at)
        assert found(answer) == [memory.content]
        assert found(await here.recall("", as_of=memory.created_at)) == [memory.content]
    assert found(await here.recall("zanzibar origin", mode="keyword")) == ["It is Mafia"]


STAGING = "The staging database password rotation happens on Tuesday"
MOVED = "It moved to Thursday, see the ops calendar"
ROTATION = "when does the staging database password rotation happen?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backups(mesh: Mesh) -> Here:
    """50 memories near the question, the answer among them. All of them are candidates."""
    here = Here(mesh, "test/backups")
    where = ("staging", "production")
    texts = [f"The {where[n % 2]} server {n} has its backup window on day {n % 7}" for n in range(49)]
    await here.mesh.remember_batch(READER, [here.draft(text, wait="durable") for text in texts])
    await here.remember("The ops calendar is a page of the wiki")
    return here


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_who_replaced_the_best_match_stands_at_its_place_in_whatever_words(backups: Here, mode: str) -> None:
    old = await backups.remember(f"{STAGING} ({mode})")
    before = await backups.recall(ROTATION, mode=mode)
    assert before.results[0].memory.id == old.id
    new = (await backups.mesh.supersede(READER, old.id, backups.draft(f"{MOVED} ({mode})")))[0].memory
    after = await backups.recall(ROTATION, mode=mode, explain=True)
    ids = [hit.memory.id for hit in after.results]
    assert (ids[0], ids.count(new.id), old.id in ids) == (new.id, 1, False)
    best = after.results[0]
    assert best.redirected_from == old.id
    assert best.score == pytest.approx(before.results[0].score, abs=0.02)
    assert round(min(1.0, sum(share.share for share in best.signals)), 6) == best.score
    # The successor of the answer is the answer.
    assert after.coverage == pytest.approx(before.coverage, abs=0.02)
    assert not after.abstain
    # Among all candidates, some read later, it still appears once.
    everything = [hit.memory.id for hit in (await backups.recall(ROTATION, mode=mode, limit=60)).results]
    assert len(everything) == len(set(everything))
    assert everything[0] == new.id
    # Asked for by its own words, it comes as itself. The old memory comes by itself only on request.
    asked = (await backups.recall(f"what moved to Thursday ({mode})?", mode=mode)).results[0]
    assert (asked.memory.id, asked.redirected_from) == (new.id, "")
    both = await backups.recall(ROTATION, mode=mode, include_superseded=True)
    assert {hit.memory.id: hit.redirected_from for hit in both.results}[old.id] == ""
    assert (await backups.recall(ROTATION, mode=mode, as_of=old.created_at)).results[0].memory.id == old.id
    await backups.mesh.forget(READER, new.id)
    assert not {old.id, new.id} & {hit.memory.id for hit in (await backups.recall(ROTATION, mode=mode)).results}


async def test_of_a_chain_the_last_stands_at_the_best_place_of_all(backups: Here) -> None:
    first, _, last = await backups.chain(STAGING, "The staging database password is in the vault", MOVED)
    answer = await backups.recall(ROTATION)
    assert (answer.results[0].memory.id, answer.results[0].redirected_from) == (last.id, first.id)
    assert [hit.memory.id for hit in answer.results].count(last.id) == 1
    await backups.mesh.forget(READER, last.id)


# ---- filters that only the ledger can judge -------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowd(mesh: Mesh) -> Here:
    """600 expired memories that match a question better than the memory from another place."""
    here = Here(mesh, "test/crowd")
    drafts = [
        here.draft(f"Payments deploy from pipeline {number}", valid_to=5, wait="durable") for number in range(600)
    ]
    for start in range(0, len(drafts), 200):
        await here.mesh.remember_batch(READER, drafts[start : start + 200])
    await here.remember("The ship sails", paths=("src/ship.py",), source=Source("", "/harbour/quay"))
    return here


@pytest.mark.parametrize(
    "place",
    [
        {"paths": ("src/ship.py",)},
        {"paths": ("src",)},
        {"paths": ("*.py",)},
        {"source_dir": "/harbour"},
        {"valid_at": 5},
    ],
)
@pytest.mark.parametrize("text", ["where do payments deploy", ""])
async def test_the_one_memory_of_a_place_or_time_is_found(crowd: Here, place: dict[str, Any], text: str) -> None:
    answer = await crowd.recall(text, **place)
    assert (found(answer), answer.degraded) == (["The ship sails"], ())


async def test_a_place_without_memories_gives_nothing(crowd: Here) -> None:
    answer = await crowd.recall("where do payments deploy", paths=("src/other.py",))
    assert (found(answer), answer.abstain, answer.degraded) == ([], True, ())


async def test_a_filter_that_lets_too_many_through_is_judged_late_and_says_so(
    crowd: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_calls, "IDS_MAX", 0)
    answer = await crowd.recall("where do payments deploy", mode="keyword", paths=("src/ship.py",))
    assert found(answer) == []
    assert "best 500 matches only" in answer.degraded[0]


async def test_a_replaced_memory_leads_to_the_successor_that_has_the_path(here: Here) -> None:
    old = await here.remember("Zanzibar is the origin")
    await here.mesh.supersede(READER, old.id, here.draft("It is Pemba", paths=("src/a.py",)))
    long = await here.remember("Zanzibar. " + "The harbour lies in the east. " * 400, paths=("src/a.py",))
    answer = await here.recall("zanzibar origin", mode="keyword", paths=("src/a.py",))
    assert set(found(answer)) == {"It is Pemba", long.content}


async def test_heat_is_judged_of_all_and_not_of_the_best_alone(crowd: Here) -> None:
    pinned = await crowd.remember("Pinned above the quay", tier="pinned")
    answer = await crowd.recall("where do payments deploy", min_heat=0.99, mode="semantic")
    assert found(answer) == [pinned.content]
    assert found(await crowd.recall("", min_heat=0.99)) == [pinned.content]


# ---- what held in the world ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["who is the head of Acme", ""])
async def test_what_was_known_then_of_what_held_is_judged_by_the_revision_of_then(here: Here, text: str) -> None:
    ann = await here.remember("The head of Acme is Ann", valid_from=20)
    corrected = (await here.mesh.update(READER, ann.id, Patch(valid_to=24))).memory
    known = ann.updated_at
    assert found(await here.recall(text, valid_at=30)) == []
    assert found(await here.recall(text, valid_at=30, as_of=known)) == [ann.content]
    assert found(await here.recall(text, valid_at=30, as_of=corrected.updated_at)) == []
    assert found(await here.recall(text, valid_at=22, as_of=corrected.updated_at)) == [ann.content]
    empty = await here.recall(text, valid_at=19, as_of=known)
    assert (empty.results, empty.notes) == ((), ("valid_at: each match is left out",))


async def test_what_was_superseded_held_until_then(here: Here) -> None:
    ann = await here.remember("The head of Acme is Ann")
    draft = here.draft("The head of Acme is Bob", valid_from=ann.created_at + 5000)
    _, closed = await here.mesh.supersede(READER, ann.id, draft)
    until = closed.valid_to or 0
    for text in ("who is the head of Acme", ""):
        assert found(await here.recall(text, valid_at=until - 1)) == [ann.content]
        assert found(await here.recall(text, valid_at=until)) == []
        assert found(await here.recall(text, valid_at=until - 1, include_superseded=True)) == [ann.content]
        assert found(await here.recall(text, valid_at=until, include_superseded=True)) == []
        (hit,) = (await here.recall(text, valid_at=ann.created_at + 5000)).results
        assert hit.memory.content == draft.content


# ---- without words --------------------------------------------------------------------------------------------------


async def test_without_words_the_same_filters_hold(here: Here) -> None:
    first, _ = await here.chain("one", "two")
    await here.remember("archived", tier="archive")
    assert found(await here.recall("")) == ["two"]
    assert set(found(await here.recall(" ", include_superseded=True))) == {"one", "two"}
    assert set(found(await here.recall("", include_archive=True))) == {"archived", "two"}
    assert found(await here.recall("", as_of=first.created_at - 1)) == []


async def test_without_words_the_past_shows_the_text_of_that_time(here: Here) -> None:
    memory = await here.remember("The first wording", tags=("old",))
    await here.mesh.update(READER, memory.id, Patch(content="The second wording", kind="decision"))
    await here.remember("Later")
    for text in ("", "wording"):
        assert found(await here.recall(text, as_of=memory.updated_at)) == ["The first wording"]
        assert found(await here.recall(text, as_of=memory.updated_at, kinds=("decision",))) == []


# ---- what is behind or busy -----------------------------------------------------------------------------------------


async def test_a_model_that_is_busy_leaves_the_words(here: Here) -> None:
    await here.remember("The harbour closes at nine")
    here.patch.setattr(here.mesh._parts.embedder, "embed_one", hanging)
    here.patch.setattr(retrieval, "EMBEDDING_SHARE", 0.002)
    answer = await here.recall("when does the harbour close")
    assert found(answer) == ["The harbour closes at nine"]
    assert "matched by words only" in answer.degraded[0]
    with pytest.raises(DeadlineExceeded, match="embedded"):
        await here.recall("when does the harbour close", mode="semantic")


async def test_a_question_is_answered_while_long_texts_are_stored(here: Here) -> None:
    await here.remember("The harbour closes at nine")
    drafts = [here.draft(f"Long text {n}. " + f"Word{n} and other. " * 900) for n in range(4)]
    storing = asyncio.create_task(here.mesh.remember_batch(READER, drafts))
    asked = 0
    while not storing.done():
        assert found(await here.recall(f"harbour closes {asked}", limit=1)) == ["The harbour closes at nine"]
        asked += 1
    await storing
    assert asked > 1


async def test_an_index_that_is_made_anew_is_never_silent(tmp_path: Path) -> None:
    async with running(tmp_path) as first:
        drafts = [Draft(content=f"Lighthouse {number}", space="test/x") for number in range(40)]
        await first.remember_batch(READER, drafts)
    shutil.rmtree(tmp_path / "index")
    async with running(tmp_path) as mesh:
        here = Here(mesh, "test/x")
        answer = await here.recall("lighthouse 5")
        assert len(answer.results) == 10 or ("not searchable yet" in answer.degraded[0] and answer.abstain)
        await asyncio.wait_for(mesh._parts.follower.wait_for(40), PATIENCE_S)
        assert (await here.recall("lighthouse 5")).degraded == ()
        shard: Any = mesh._parts.follower._shard
        actor, search = shard._actor, shard._actor.search

        def torn(asked: Any) -> Any:
            actor.search = search
            with actor._damage_noted():
                raise DataLoss("a torn page")

        actor.search = torn
        answer = await here.recall("lighthouse 5")
        assert answer.degraded
        assert answer.degraded[0].startswith("index: ")


# ---- weights --------------------------------------------------------------------------------------------------------


async def test_one_weight_leaves_the_other_as_configured(here: Here) -> None:
    await here.remember("The harbour closes at nine")
    (hit,) = (await here.recall("harbour", weights={"dense": 0.0}, explain=True)).results
    form = ["substance", "time", "date", "speaker", "person", "opening"]
    assert [share.name for share in hit.signals] == ["words", *form, "relevance"]
    (hit,) = (await here.recall("harbour", weights={"bm25": 0.0}, explain=True)).results
    assert [share.name for share in hit.signals] == ["meaning", *form, "relevance"]
    with pytest.raises(InvalidArgument, match="above 0"):
        await here.recall("harbour", weights={"dense": 0.0, "bm25": 0.0})


# ---- the second look ------------------------------------------------------------------------------------------------

HARBOUR = (
    "The harbour is closed at nine, the gate",
    "Closed is the harbour gate at nine",
    "A lamp burns in the harbour",
)


@pytest_asyncio.fixture(loop_scope="module")
async def harbour(here: Here) -> Here:
    for content in HARBOUR:
        await here.mesh.remember(READER, here.draft(content, force=True, tags=("night",) if "lamp" in content else ()))
    return here


@pytest.mark.parametrize("at", [0, 1])
async def test_who_holds_a_quoted_phrase_word_for_word_comes_first(harbour: Here, at: int) -> None:
    phrase = ("harbour is closed", "harbour gate at")[at]
    answer = await harbour.recall(f'what says "{phrase.upper()}" about nine?', explain=True)
    assert answer.results[0].memory.content == HARBOUR[at]
    assert [signals_of(hit).get("phrases", 0.0) > 0 for hit in answer.results] == [True, False, False]
    for hit in answer.results:
        assert sum(signals_of(hit).values()) == pytest.approx(hit.score, abs=1e-6)
    off = await harbour.recall(f'what says "{phrase}" about nine?', weights={"phrases": 0.0}, explain=True)
    assert not any("phrases" in signals_of(hit) for hit in off.results)


async def test_a_question_that_needs_no_second_look_reads_no_memory_twice(harbour: Here) -> None:
    await until(lambda: not any(one.lag for one in harbour.mesh._consumers.status()))  # they read, too
    reads = noted(harbour.patch, harbour.mesh._parts.ledger, "read")
    await harbour.recall("when is the harbour closed?")
    assert len(reads) == 1


@pytest.mark.parametrize("signal", ["structure", "completion", "diversity"])
async def test_what_is_off_can_be_asked_for(harbour: Here, signal: str) -> None:
    asked = "when is the harbour closed at night?"
    plain = await harbour.recall(asked, explain=True)
    assert not any(signal in signals_of(hit) for hit in plain.results)
    answer = await harbour.recall(asked, explain=True, weights={signal: 0.5})
    assert answer.degraded == ()
    assert any(signals_of(hit).get(signal) for hit in answer.results)
    scores = [hit.score for hit in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert set(found(answer)) == set(found(plain))


async def test_a_verb_is_looked_for_as_it_was_stated_unless_that_is_off(here: Here) -> None:
    await here.remember("Ana wrote")
    weights = {"dense": 0.0, "bm25": 1.0}
    assert found(await here.recall("what did she write?", weights=weights)) == ["Ana wrote"]
    assert found(await here.recall("what did she write?", weights={**weights, "statement": 0.0})) == []
    assert found(await here.recall("what did she write?", mode="keyword")) == []


async def test_an_akin_word_is_found_with_less_weight_than_the_word_itself_unless_that_is_off(here: Here) -> None:
    await here.remember("the puppy sleeps")
    await here.remember("the dog sleeps")
    weights = {"dense": 0.0, "bm25": 1.0}
    assert found(await here.recall("whose dog?", weights=weights)) == ["the dog sleeps", "the puppy sleeps"]
    assert found(await here.recall("whose dog?", weights={**weights, "akin": 0.0})) == ["the dog sleeps"]
    assert found(await here.recall("whose dog?", mode="keyword")) == ["the dog sleeps"]


async def test_an_akin_word_brings_no_neighbour_of_its_memory(here: Here) -> None:
    for number, text in enumerate(("the puppy sleeps", "she laughed", "he left")):
        await here.remember(text, source=Source(session="s", seq=number))
    weights = {"dense": 0.0, "bm25": 1.0}
    assert found(await here.recall("whose puppy?", weights=weights)) == ["the puppy sleeps", "she laughed", "he left"]
    assert found(await here.recall("whose dog?", weights=weights)) == ["the puppy sleeps"]


async def test_a_cross_encoder_has_its_say_when_there_is_one(harbour: Here) -> None:
    weights = {"rerank": 1.0}
    with pytest.raises(InvalidArgument, match="no reranker_model"):
        await harbour.recall("harbour", weights=weights)

    class LikesLamps:
        async def relevance(self, question: str, texts: list[str]) -> list[float]:
            return [0.9 if "lamp" in text else 0.2 for text in texts]

    class IsAway:
        async def relevance(self, question: str, texts: list[str]) -> list[float]:
            raise Unavailable("it has died", part="reranker")

    plain = await harbour.recall("when is the harbour closed?")
    harbour.with_parts(reranker=LikesLamps())
    answer = await harbour.recall("when is the harbour closed?", weights=weights, explain=True)
    assert (found(answer)[0], answer.results[0].score) == (HARBOUR[2], 0.9)
    assert signals_of(answer.results[0])["rerank"] > 0
    harbour.with_parts(reranker=IsAway())
    answer = await harbour.recall("when is the harbour closed?", weights=weights)
    assert found(answer) == found(plain)
    assert answer.degraded == ("reranker: it has died",)

    class Hangs:
        async def relevance(self, question: str, texts: list[str]) -> list[float]:
            await asyncio.Event().wait()
            raise AssertionError

    harbour.with_parts(reranker=Hangs(), config=replace(harbour.mesh._parts.config, recall_timeout_s=2.0))
    answer = await harbour.recall("when is the harbour closed?", weights=weights)
    assert (found(answer), answer.degraded) == (found(plain), ("reranker: it has not answered in time",))


async def test_the_rules_of_the_owner_raise_lower_and_hide(harbour: Here) -> None:
    asked = "when is the harbour closed?"
    assert found(await harbour.recall(asked))[-1] == HARBOUR[2]
    harbour.ruled("tag=night +1")
    raised = await harbour.recall(asked, explain=True)
    assert found(raised)[0] == HARBOUR[2]
    assert signals_of(raised.results[0])["rules"] > 0
    harbour.ruled("kind=fact -1; tag=night +1")
    lowered = await harbour.recall(asked)
    assert [hit.score for hit in lowered.results] == [0, 0, 0]
    harbour.ruled("tag=night hide")
    assert HARBOUR[2] not in found(await harbour.recall(asked))
    assert HARBOUR[2] not in found(await harbour.recall(""))
    assert found(await harbour.recall(asked, tags_any=("night",))) == [HARBOUR[2]]


async def test_a_budget_ends_the_list_and_never_trades_the_best_for_weaker_ones(here: Here) -> None:
    best = "The stripe webhook secret is rotated by the payments team. " * 12
    await here.mesh.remember(READER, here.draft(best))
    await here.mesh.remember(READER, here.draft("Webhooks exist."))
    answer = await here.mesh.recall(
        READER, Query(text="who rotates the stripe webhook secret?", spaces=(here.space,), token_budget=80)
    )
    assert answer.results[0].memory.content == ""
    assert "stripe webhook secret" in answer.results[0].snippet
    assert answer.tokens_used <= 80
    tiny = await here.mesh.recall(
        READER, Query(text="who rotates the stripe webhook secret?", spaces=(here.space,), token_budget=2)
    )
    assert tiny.results == ()
    assert tiny.truncated_by_budget == 2


# ---- words of time --------------------------------------------------------------------------------------------------

# The node's clock stands in the night of 2023-11-14.
YESTERDAY = 1_699_876_800_000


async def test_without_an_index_the_time_counts_as_well(here: Here) -> None:
    await here.remember("Kettles were bought")
    await here.remember("Kettles were sold", valid_from=YESTERDAY)
    here.patch.setitem(here.mesh._parts.follower.__dict__, "read", failing(Unavailable("not now", part="index")))
    answer = await here.recall("what of kettles yesterday", time_zone="UTC", time_words="only")
    assert found(answer) == ["Kettles were sold"]


# ---- use ------------------------------------------------------------------------------------------------------------


async def test_what_was_shown_counts_as_used_and_a_use_that_cannot_be_noted_spoils_no_answer(here: Here) -> None:
    kept = await here.remember("The kettle whistles at noon")
    ledger: Any = here.mesh._parts.ledger
    assert found(await here.recall("kettle")) == [kept.content]
    await asyncio.wait_for(asyncio.gather(*here.mesh._recalling._noting), 10)
    assert (await ledger.activity([kept.id]))[kept.id][0] == 1
    here.patch.setitem(ledger.__dict__, "touch", failing(Unavailable("the disk is full", part="ledger")))
    assert found(await here.recall("kettle")) == [kept.content]
    await asyncio.wait_for(asyncio.gather(*here.mesh._recalling._noting), 10)
    assert (await ledger.activity([kept.id]))[kept.id][0] == 1


# ---- links and ratings ----------------------------------------------------------------------------------------------


def attached(answer: Recalled, position: int = 0) -> list[tuple[str, str, str]]:
    """Type, direction and text of what came with a result."""
    return [(end.type, end.direction, end.snippet) for end in answer.results[position].attached]


async def test_the_three_latest_resolutions_and_contradictions_both_ways_come_with_a_result(here: Here) -> None:
    other = await here.remember("It never makes a sound")
    problem = await here.remember("The turbine whistles")
    for number in range(4):
        fix = await here.remember(f"Fix {number}")
        await here.mesh.link(READER, problem.id, "resolved-by", fix.id, wait="durable")
    await here.mesh.link(READER, other.id, "contradicts", problem.id)
    await here.mesh.link(READER, problem.id, "see-also", other.id)
    answer = await here.recall("turbine whistles", mode="keyword")
    assert attached(answer) == [
        ("resolved-by", "out", "Fix 3"), ("resolved-by", "out", "Fix 2"), ("resolved-by", "out", "Fix 1"),
        ("contradicts", "in", "It never makes a sound"),
    ]  # fmt: skip
    await here.mesh.link(READER, problem.id, "contradicts", other.id)
    assert attached(await here.recall("turbine whistles", mode="keyword"))[3:] == [
        ("contradicts", "out", "It never makes a sound")
    ]


async def test_what_came_with_a_result_is_as_current_as_the_results(here: Here) -> None:
    problem = await here.remember("The gearbox hums")
    old, gone = await here.remember("Old grease"), await here.remember("Prayer")
    for fix in (old, gone):
        await here.mesh.link(READER, problem.id, "resolved-by", fix.id)
    before = (await here.remember("A milestone")).created_at
    await here.mesh.supersede(READER, old.id, here.draft("New grease"))
    await here.mesh.forget(READER, gone.id)
    assert attached(await here.recall("gearbox hums", mode="keyword")) == [("resolved-by", "out", "New grease")]
    then = await here.recall("gearbox hums", mode="keyword", as_of=before)
    assert attached(then) == [("resolved-by", "out", "Prayer"), ("resolved-by", "out", "Old grease")]


async def test_what_comes_with_a_result_counts_in_the_budget_and_stands_once(here: Here) -> None:
    problem = await here.remember("The compressor rattles")
    fix = await here.remember("Tighten the third bolt of the compressor")
    await here.mesh.link(READER, problem.id, "resolved-by", fix.id)
    (hit, second) = (await here.recall("compressor rattles", mode="keyword")).results
    assert (hit.memory.id, hit.attached[0].id, hit.attached[0].snippet) == (problem.id, fix.id, "")
    assert second.attached == ()
    alone = await here.recall("compressor rattles", mode="keyword", limit=1)
    cost = alone.tokens_used - (await here.recall("rattles", mode="keyword", snippets_only=True)).tokens_used
    assert attached(alone) == [("resolved-by", "out", fix.content)]
    tight = await here.recall("compressor rattles", mode="keyword", limit=1, token_budget=alone.tokens_used - 1)
    assert [(end.id, end.snippet) for end in tight.results[0].attached] == [(fix.id, "")]
    assert (cost >= 0, tight.tokens_used < alone.tokens_used) == (True, True)


async def test_neither_text_nor_id_of_a_space_that_is_not_granted_comes_through_a_link(here: Here) -> None:
    problem = await here.remember("The furnace smokes")
    hidden = Here(here.mesh, f"hidden/{here.space.replace('/', '-')}")
    secret = await hidden.remember("Because of the mayor, see the furnace")
    await here.mesh.link(READER, problem.id, "resolved-by", secret.id)
    await here.mesh.link(READER, secret.id, "contradicts", problem.id)
    stranger = Caller("bob/reader", "bob", role="writer", spaces=(here.space,))
    answer = await here.mesh.recall(stranger, Query(text="furnace smokes", spaces=(here.space,), mode="keyword"))
    assert secret.id not in str(answer)
    seen: list[object] = [
        await here.mesh.get(stranger, [problem.id]),
        await here.mesh.get(stranger, [problem.id], as_of=secret.created_at + 1000),
        await here.mesh.timeline(stranger, problem.id),
        (await here.mesh.blame(stranger, problem.id)).fields,
        [memory async for memory in here.mesh.export(stranger, ListQuery(spaces=(here.space,)))],
        await here.mesh.update(stranger, problem.id, Patch(tags=("smoke",))),
    ]
    assert secret.id not in str(seen)
    (link,) = [one for one in (await here.mesh.get(READER, [problem.id]))[0][0].links if one.id == secret.id]
    with pytest.raises(NotFound):
        await here.mesh.unlink(stranger, problem.id, link.type, secret.id)
    assert secret.id in str(await here.mesh.get(READER, [problem.id]))


async def test_links_given_with_a_memory_may_dangle_and_rates_pass_over_what_is_not_there(here: Here) -> None:
    nowhere = "018f6f0e-7c1a-7000-8000-00000000dead"
    one = await here.remember("It leans on nothing", links=(Link("depends-on", nowhere),))
    ((read,), _) = await here.mesh.get(READER, [one.id])
    assert [(end.type, end.id, end.state) for end in read.linked] == [("depends-on", nowhere, "missing")]
    assert (await here.mesh.unlink(READER, one.id, "depends-on", nowhere)).memory.links == ()
    for call in (here.mesh.link, here.mesh.unlink):
        with pytest.raises(NotFound) as caught:
            await call(READER, one.id, "see-also", "no such memory")
        assert (caught.value.fields["field"], caught.value.message[:11]) == ("to", "to: memory ")
    cited = await here.mesh.rate(READER, answer=f"See {one.id.upper()}, {nowhere} and {one.id}0.")
    assert [(rated.id, rated.useful, rated.changed) for rated in cited] == [(one.id, 1, True)]
    assert await here.mesh.rate(READER, answer="It cites nothing") == []
    with pytest.raises(InvalidArgument, match="useful: missing; true or false"):
        await here.mesh.rate(READER, one.id)
    for wrong in ({}, {"key": one.id, "answer": "x"}, {"answer": "x", "useful": True}):
        with pytest.raises(InvalidArgument):
            await here.mesh.rate(READER, **wrong)  # type: ignore[arg-type]  # what a caller may get wrong


async def test_of_texts_that_match_alike_the_useful_one_is_first(here: Here) -> None:
    made = [await here.remember("The same words", force=True) for _ in range(3)]
    await here.mesh.rate(READER, made[0].id, useful=False)
    for who in (READER, Caller("owner/other", "owner")):
        await here.mesh.rate(who, made[1].id, useful=True)
    await here.mesh.rate(READER, made[2].id, useful=True)
    for text in ("the same words", "words of which some are the same"):
        answer = await here.recall(text)
        assert [hit.memory.id for hit in answer.results] == [made[1].id, made[2].id, made[0].id]


def log_of(mesh: Mesh) -> str:
    """Everything that the ledger's file holds of memories. Counts of accesses are left out, and the places that
    consumers note after their work."""
    directory = Path(mesh._parts.ledger._actor.path)  # type: ignore[attr-defined]  # the local runtime's own
    with closing(sqlite3.connect(directory)) as db:
        left = tuple(f'INSERT INTO "{table}"' for table in ("activity", "consumer"))
        return "\n".join(line for line in db.iterdump() if not line.startswith(left))


@pytest.mark.parametrize(
    "row",
    # Transcripts lie apart from the ledger.
    [row for row in OPERATIONS if "Transcript" not in row.service and (row.needs == READ or row.name == "check")],
    ids=lambda row: row.name,
)
async def test_reading_changes_nothing_but_the_count_of_accesses(here: Here, row: Operation) -> None:
    one = await here.remember("Nobody wears this out", links=(Link("see-also", UNKNOWN),))
    gate = MeshGate(version="test", data_dir="", pid=1, ready_timeout_s=5)
    gate.open(here.mesh)
    names = {field.name for field in row.request.DESCRIPTOR.fields}
    asked = {"query": "nobody wears this out", "space": here.space}
    turns = (TurnDraft(id="u1", role="user", text="nobody wears this out"),)
    await here.mesh.transcripts.add(READER, TranscriptDraft(session=f"said in {one.id}", turns=turns, space=here.space))
    said = {"session": f"said in {one.id}", "name": one.id}
    if row.name == "causal_chain":
        await here.remember("The quayside cache uses Redis.")
        said["name"] = "Redis"
    if row.name == "drill_down":
        topics = await here.mesh.recall_hierarchical(READER, "", (here.space,))
        said["cluster"] = topics.clusters[0].id
    words = {"id": one.id, "ids": [one.id], **asked, "queries": [asked], **said}
    if row.name == "navigate":  # from a memory or from a question
        del words["id"]
    if row.name == "validate":  # of one memory, or of spaces
        del words["space"]
    fields = {name: value for name, value in words.items() if name in names}
    if row.flatten:
        fields = {"content": "Nobody wears this out", "space": here.space}
    await judged(here.mesh)  # at rest the guard writes what it finds
    before = log_of(here.mesh)
    told = row.run(gate, READER, row.read_json(fields))
    if row.streaming:
        async with aclosing(told) as stream:
            assert await asyncio.wait_for(anext(stream), PATIENCE_S)
    else:
        # A causal chain over so few events is refused.
        with suppress(FailedPrecondition):
            await told
    assert log_of(here.mesh) == before


# ---- what an answer says --------------------------------------------------------------------------------------------


async def test_a_batch_has_more_time_the_more_calls_of_the_index_it_needs() -> None:
    given: list[float] = []

    class Patient:
        async def recall(self, caller: Caller, query: Query, patience: float = 1.0) -> Recalled:
            given.append(patience)
            return Recalled(results=(), coverage=0.0, abstain=True, tokens_used=0)

    for number in (1, 8, 9, 32):
        queries = [Query(text="x", spaces=("s",))] * number
        await module.Recalling.recall_batch(cast(module.Recalling, Patient()), READER, queries)
        assert set(given[-number:]) == {-(-number // SEARCHES_A_CALL_MAX)}


async def test_of_searches_in_one_call_only_who_is_at_fault_is_refused() -> None:
    class Follower:
        """Refuses a search for the word bad, and with it the whole call."""

        away = ""

        async def read(self, ask: Callable[[Any], Any]) -> Any:
            return ask(self)

        def search(self, one: Search) -> Candidates:
            if one.text == "bad":
                raise InvalidArgument("text", one.text, "a good one")
            return Candidates.of([Candidate(one.text, 0.5)])

        def search_batch(self, searches: Sequence[Search]) -> list[Candidates]:
            return [self.search(one) for one in searches]

    follower = cast(IndexFollower, Follower())
    index = IndexCalls(PATIENCE_S)
    asked = [index.ask(follower, Search(text, None, ("s",))) for text in ("first", "good", "bad", "fine")]
    first, good, bad, fine = await asyncio.gather(*asked, return_exceptions=True)
    assert [one[0].id for one in (first, good, fine) if isinstance(one, Candidates)] == ["first", "good", "fine"]
    assert isinstance(bad, InvalidArgument)


async def test_a_recall_that_runs_out_of_time_declares_nobody_away(here: Here) -> None:
    await here.remember("The harbour key hangs in the shed")
    follower = here.mesh._parts.follower
    read, away = follower.read, list[str]()
    here.patch.setattr(follower, "read", hanging)
    here.patch.setattr(follower, "went_away", lambda error: away.append(error.message))
    config = replace(here.mesh._parts.config, recall_timeout_s=3.0)
    recalling = module.Recalling(replace(here.mesh._parts, config=config), here.mesh._recalling._attached)
    recalling._index = IndexCalls(PATIENCE_S)  # what the index itself may take
    answer = await recalling.recall(READER, Query(text="harbour key", spaces=(here.space,)))
    assert found(answer) == ["The harbour key hangs in the shed"]
    assert answer.degraded == ("index: it has not answered in time; matched by words only",)
    assert away == []
    here.patch.setattr(follower, "read", read)


@pytest.mark.parametrize("field", ["title", "keywords", "tags", "paths"])
async def test_what_is_found_by_a_word_beside_its_text_is_an_answer(here: Here, field: str) -> None:
    await here.remember("Note 17 of the ops team", **{field: "backoff" if field == "title" else ("backoff",)})
    answer = await here.recall("backoff", mode="keyword")
    assert [hit.score > 0.5 for hit in answer.results] == [True]
    assert (answer.coverage, answer.abstain) == (1.0, False)


async def test_whether_there_is_an_answer_is_judged_by_what_passes_the_filters(here: Here) -> None:
    await here.remember("Ana rode her bicycle to Bern", kind="fact")
    await here.remember("The printer is out of paper", kind="project")
    for as_of in (None, here.mesh._parts.clock()):
        answer = await here.recall("Ana bicycle Bern", kinds=("project",), as_of=as_of)
        assert found(answer) == ["The printer is out of paper"]
        assert answer.abstain
        assert answer.coverage < 0.2


async def test_another_order_than_relevance_leaves_out_what_hardly_fits(here: Here) -> None:
    old = await here.remember("The bicycle stands in the cellar", importance=0.1)
    new = await here.remember("My bicycle has a flat tyre", importance=0.9)
    await here.remember("The tax office wrote a letter", importance=1.0)
    for sort in ("recency", "importance"):
        answer = await here.recall("bicycle", sort=sort)
        assert [hit.memory.id for hit in answer.results] == [new.id, old.id]


async def test_a_list_without_words_abstains_only_when_it_is_empty(here: Here) -> None:
    assert (await here.recall("")).abstain
    await here.remember("There is something")
    assert not (await here.recall("")).abstain
    assert found(await here.recall("", min_score=0.1)) == []


async def test_the_queries_of_a_batch_ask_for_so_many_results_together(here: Here) -> None:
    with pytest.raises(InvalidArgument, match=r"^queries: "):
        await here.mesh.recall_batch(READER, [Query(text="x", limit=200)] * 6)


async def test_the_queries_of_a_batch_go_to_the_index_together(here: Here) -> None:
    await here.remember("The harbour closes at nine")
    batches = noted(here.patch, here.mesh._parts.follower._shard, "search_batch")
    await here.mesh.recall_batch(READER, [Query(text="harbour", spaces=(here.space,), mode="keyword")] * 5)
    assert [len(searches) for (searches,) in batches] == [5]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"kinds": ("decision",)}, "kinds"),
        ({"tags_all": ("a", "b")}, "tags_all"),
        ({"tags_none": ("a",), "tags_any": ("a",)}, "tags_none"),
        ({"since": 5, "before": 5}, "before"),
        ({"agent": "nobody/x"}, "agent"),
        ({"before": 5}, "before"),
        ({"min_score": 1.0}, "min_score"),
        ({"paths": ("src",)}, "paths"),
        ({"token_budget": 1}, "token_budget"),
    ],
)
@pytest.mark.parametrize("text", ["harbour", ""])
async def test_an_empty_answer_names_the_filter(here: Here, fields: dict[str, Any], named: str, text: str) -> None:
    await here.remember("The harbour closes at nine", tags=("a",))
    answer = await here.recall(text, **fields)
    assert answer.results == ()
    # A memory left out only by the reader's own limits is there all the same.
    assert answer.abstain is not (named == "token_budget" or (named == "min_score" and bool(text)))
    assert answer.notes[0].startswith(f"{named}: ")
    assert (await here.recall(text)).notes == ()


@pytest.mark.parametrize("text", ["harbour", ""])
async def test_what_rules_hide_is_not_blamed_on_filters(here: Here, text: str) -> None:
    here.ruled("kind=run hide; tag=draft hide")
    await here.remember("The harbour closes at nine", kind="run")
    told = ("recall_rules: this node hides the matches by kind=run hide; name that kind or tag to see them",)
    assert (await here.recall(text)).notes == told
    await here.remember("Ferries leave at ten", kind="fact")
    assert (await here.recall("harbour", mode="keyword")).notes == told
    assert (await here.recall(text, kinds=("decision",))).notes == (
        f"kinds: there is no 'decision' in the space '{here.space}'",
    )
    assert len((await here.recall(text, kinds=("run",))).results) == 1


async def test_the_archive_is_named_only_when_it_holds_what_matches(here: Here) -> None:
    await here.remember("The harbour closes at nine")
    mode = "mode: keyword finds only what holds a word of the query; hybrid and semantic go by meaning, too"
    asked = {"text": "ferries", "mode": "keyword"}
    assert (await here.recall(**asked)).notes == (mode,)
    await here.remember("Ferries leave at ten", tier="archive")
    told = ("include_archive: the matches are in the archive tier, which needs include_archive",)
    assert (await here.recall(**asked)).notes == told
    assert (await here.recall("lanterns", mode="keyword")).notes == (mode,)
    other = Here(here.mesh, f"{here.space}/archive")
    await other.remember("Ferries leave at ten", tier="archive")
    assert (await other.recall("ferries")).notes == told


async def test_words_of_time_that_leave_nothing_are_named_with_their_stretch(here: Here) -> None:
    await here.remember("Kettles were bought")
    stretch = '"yesterday" read as 2023-11-13 up to 2023-11-14 (UTC)'
    asked = {"text": "kettles yesterday", "time_words": "only", "time_zone": "UTC"}
    assert (await here.recall(**asked)).notes == (f"time_words: nothing lies in {stretch} in the space '{here.space}'",)
    await here.remember("Lanterns were sold", valid_from=YESTERDAY)
    assert (await here.recall(**asked, mode="keyword")).notes[0] == (
        f"time_words: nothing that matches lies in {stretch}"
    )


@pytest.mark.parametrize("time_words", ["prefer", "only"])
async def test_a_query_of_stop_words_says_so_when_only_words_are_matched(here: Here, time_words: str) -> None:
    await here.remember("The harbour closes at nine")
    answer = await here.recall("what is it", mode="keyword", time_words=time_words)
    assert answer.notes == (
        "query: 'what is it' has only stop words, which the index leaves out; mode keyword goes by words, "
        "hybrid and semantic by meaning",
    )


async def test_a_space_without_memories_is_named(here: Here) -> None:
    assert (await here.recall("anything", kinds=("fact",))).notes == (
        f"spaces: there is no memory in the space '{here.space}'",
    )


async def test_a_space_of_nothing_active_is_named_as_such(here: Here) -> None:
    versions = await here.chain("The kettle is blue", "The kettle is red")
    await here.mesh.forget(READER, versions[-1].id)
    assert (await here.recall("kettle", mode="keyword")).notes == (
        f"spaces: what is in the space '{here.space}' is forgotten or superseded, and so left out",
    )


# ---- what has to do with a memory -----------------------------------------------------------------------------------


async def test_related_are_the_linked_the_near_and_those_beside_it_in_its_session(here: Here) -> None:
    far = await here.remember("Invoices are booked at night")
    near = await here.remember("The harbour of Pemba closes at nine in winter")
    gone = await here.remember("The harbour of Pemba closes at nine sharp")
    await here.mesh.forget(READER, gone.id)
    before = await here.remember("Who has the keys?", source=Source("quay", "", 1))
    middle = await here.remember(
        "The harbour of Pemba closes at nine", links=(Link("see-also", far.id),), source=Source("quay", "", 2)
    )
    never = failing(AssertionError("nothing is embedded anew"))
    here.patch.setattr(here.mesh._parts.embedder, "embed", never)
    here.patch.setattr(here.mesh._parts.embedder, "embed_one", never)
    answer = await here.mesh.related(READER, middle.id)
    assert answer.id == middle.id
    assert [one.memory.id for one in answer.results] == [far.id, near.id, before.id]
    assert answer.results[0].reasons[0] == "linked by it: see-also"
    assert answer.results[1].reasons[-1] == "similar text"
    assert answer.results[2].reasons[0] == "same session: 1 before"
    assert answer.results[1].score > 0.7 > answer.results[2].score
    assert [one.memory.id for one in (await here.mesh.related(READER, middle.id, 2)).results] == [far.id, near.id]


async def test_related_without_an_index_says_so_and_gives_the_rest(here: Here) -> None:
    other = await here.remember("The ferry leaves at ten")
    middle = await here.remember("The ferry leaves at nine", links=(Link("supports", other.id),))
    here.patch.setattr(here.mesh._parts.follower, "read", failing(Unavailable("it is away", part="index")))
    answer = await here.mesh.related(READER, middle.id)
    assert [(one.memory.id, one.reasons[0]) for one in answer.results] == [(other.id, "linked by it: supports")]
    assert answer.results[0].score > 0.5
    assert answer.degraded[0].startswith("index: it is away")


async def test_related_says_of_each_linked_memory_which_of_the_two_links_to_the_other(here: Here) -> None:
    answer = await here.remember("Wax the lids twice")
    part = await here.remember("Seven jars of quince")
    middle = await here.remember(
        "Lids let in air; see [[Cellar]]", title="Lids", links=(Link("resolved-by", answer.id),)
    )
    await here.mesh.link(READER, answer.id, "see-also", middle.id)
    await here.mesh.link(READER, part.id, "part-of", middle.id)
    named = await here.remember("Count them as [[Lids]] say")
    cellar = await here.remember("Nine steps down", title="Cellar")
    old = await here.remember("Jars of plums", links=(Link("part-of", middle.id),))
    await here.mesh.forget(READER, old.id)
    found = (await here.mesh.related(READER, middle.id)).results
    links = {one.memory.id: [reason for reason in one.reasons if "link" in reason.split(":")[0]] for one in found[:4]}
    assert links == {
        answer.id: ["linked by it: resolved-by", "links to it: see-also"],
        cellar.id: ["linked by it: wikilink"],
        part.id: ["links to it: part-of"],
        named.id: ["links to it: wikilink"],
    }
    assert old.id not in {one.memory.id for one in found}


async def test_related_shows_nothing_of_spaces_that_the_caller_may_not_read(here: Here) -> None:
    secret = (await here.mesh.remember(READER, Draft(content="The code of the quay", space="test/elsewhere"))).memory
    middle = await here.remember("The quay", links=(Link("see-also", secret.id),))
    await here.mesh.link(READER, secret.id, "part-of", middle.id)
    guest = Caller("bob/x", "bob", role="reader", spaces=(here.space,))
    assert (await here.mesh.related(guest, middle.id)).results == ()
    (seen,) = (await here.mesh.related(READER, middle.id)).results
    assert seen.reasons == ("linked by it: see-also", "links to it: part-of")
    with pytest.raises(NotFound):
        await here.mesh.related(guest, secret.id)


async def test_an_index_that_lacks_one_entry_says_so_in_the_singular() -> None:
    follower = SimpleNamespace(fault="", lag=1, catching_up=True, gaps=0)
    assert behind(cast(IndexFollower, follower)) == ("index: 1 entry not searchable yet",)
    follower.fault = "no answer"
    assert behind(cast(IndexFollower, follower)) == ("index: no answer; 1 entry not searchable yet",)
