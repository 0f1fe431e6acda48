"""The shown form of a cold memory: shorter, within a bound of distortion, and the whole text one call away."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import running
from set_clock import Clock
from test_heat_life import BEGUN, READER

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.policy.dynamics.forgetting import (
    DISTORTION_MAX,
    FULL,
    GAP,
    GIST,
    GIST_BELOW,
    TAGS,
    TAGS_BELOW,
    is_kept_whole,
    level_of,
    shown,
    term_weights,
)
from mnemesh_memory.text.text import estimate_tokens, sentences
from mnemesh_memory.values.model import Draft, ListQuery, Memory, Query

LONG = (
    "The payments service runs on Kubernetes 1.29 in eu-west-1. Alice moved it there in March 2024 after the outage of "
    "the old data centre. We looked at several options at that time and talked a lot. The rollback plan is documented "
    "in docs/rollback.md and has to be tested each quarter. In general everyone was happy with how things went and the "
    "weather was fine. Bob maintains the Helm charts, and the alert channel is #pay-alerts. The p95 latency must stay "
    "below 250 ms. Never deploy on Fridays without the approval of the on-call engineer. And so on and so forth, as "
    "everyone knows already."
)
YEARS_MS = 2 * 365 * 86_400_000

words = st.sampled_from(
    ["alpha", "Berlin", "beta", "17", "the", "of", "not", "gamma", "delta", "v1.2", "it", "zeta", "is"]
)
sentence = st.lists(words, min_size=1, max_size=14).map(lambda some: " ".join(some) + ". ")
texts = st.lists(sentence, min_size=1, max_size=40).map("".join) | st.text(max_size=600)
heats = st.floats(0.0, 1.0)


@settings(max_examples=150)
@given(texts, heats, texts | st.just(""))
@example(LONG, 0.01, "when may we deploy?")
def test_a_form_keeps_within_the_distortion_of_its_level(text: str, heat: float, question: str) -> None:
    form, weights = shown(text, heat, question), term_weights(text)
    lost = sum(weights[term] for term in weights.keys() - term_weights(form.text).keys())
    assert lost <= DISTORTION_MAX[form.level] * sum(weights.values()) + 1e-9
    assert estimate_tokens(form.text) <= estimate_tokens(text)


@settings(max_examples=100)
@given(texts, heats, heats)
def test_less_heat_never_shows_more(text: str, one: float, other: float) -> None:
    colder, warmer = sorted((one, other))
    assert estimate_tokens(shown(text, colder).text) <= estimate_tokens(shown(text, warmer).text)


@settings(max_examples=100)
@given(texts)
def test_a_gist_is_made_of_whole_sentences_in_their_order(text: str) -> None:
    form = shown(text, GIST_BELOW - 0.01)
    if form.level == GIST:
        rest = text
        for part in form.text.split(GAP.strip()):
            assert part.strip() in rest
            rest = rest[rest.index(part.strip()) + len(part.strip()) :]
        assert "".join(sentences(text)) == text


def test_the_sentence_that_answers_stays_whatever_the_heat() -> None:
    for heat in (GIST_BELOW - 0.01, TAGS_BELOW - 0.01):
        form = shown(LONG, heat, "when may we not deploy?")
        assert form.level != FULL
        assert "Never deploy on Fridays" in form.text


def test_a_short_text_a_warm_one_and_one_without_a_heat_are_whole() -> None:
    assert shown("We use Redis for sessions.", 0.0).level == FULL
    assert shown(LONG, GIST_BELOW).level == FULL
    assert level_of(float("nan")) == FULL


def memory_of(**fields: Any) -> Memory:
    return plain_memory(**{"content": LONG, **fields})


@pytest.mark.parametrize(
    "fields", [{"tier": "pinned"}, {"kind": "decision"}, {"content": f"We decided on Kubernetes. {LONG}"}]
)
def test_pins_and_decisions_stay_whole(fields: dict[str, object]) -> None:
    assert is_kept_whole(memory_of(**fields))
    assert not is_kept_whole(memory_of())


async def listed(mesh: Mesh) -> dict[str, Memory]:
    return {memory.id: memory for memory in (await mesh.list(READER, ListQuery(spaces=("s",)))).memories}


@pytest.mark.asyncio
async def test_a_recall_shortens_a_cold_memory_around_its_answer_and_warms_it(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock) as mesh:
        written = (await mesh.remember(READER, Draft(content=LONG, space="s"))).memory
        clock.now += YEARS_MS
        asked = Query(text="who maintains the Helm charts?", spaces=("s",))
        (hit,) = (await mesh.recall(READER, asked)).results
        assert hit.memory.shown == TAGS
        assert "Bob maintains the Helm charts" in hit.memory.content
        assert "Bob maintains the Helm charts" in hit.snippet
        await mesh._recalling.close()  # the use is noted
        (again,) = (await mesh.recall(READER, asked)).results
        assert (again.memory.content, again.memory.shown) == (LONG, "")
        await mesh.purge(READER, written.id)
        assert not (await mesh.recall(READER, asked)).results


@pytest.mark.asyncio
async def test_a_setting_shows_every_text_whole(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock, mesh=MeshConfig(recall_timeout_s=20.0, shows_gists=False)) as mesh:
        await mesh.remember(READER, Draft(content=LONG, space="s"))
        clock.now += YEARS_MS
        (hit,) = (await mesh.recall(READER, Query(text="who maintains the Helm charts?", spaces=("s",)))).results
        assert hit.memory.content == LONG


@pytest.mark.asyncio
async def test_a_memory_with_an_old_date_cools_from_its_arrival_on(tmp_path: Path) -> None:
    clock = Clock(BEGUN)
    async with running(tmp_path, clock=clock) as mesh:
        written = (await mesh.remember(READER, Draft(content=LONG, space="s", created_at=BEGUN - YEARS_MS))).memory
        assert (await listed(mesh))[written.id].content == LONG
        warm = Query(text="Helm charts", spaces=("s",), min_heat=0.5)
        assert (await mesh.recall(READER, warm)).results
        assert not (await mesh.hygiene(READER, ["s"])).counts["idle"]
        assert written.arrived_at == BEGUN
    with closing(sqlite3.connect(open_directory(tmp_path).ledger(0))) as db, db:
        db.execute("UPDATE meta SET value = '11' WHERE key = 'view_version'")
        db.execute("UPDATE memory SET detail = json_remove(detail, '$.arrived_at')")
    async with running(tmp_path, clock=clock) as mesh:
        # A directory from before the view knew of arrivals.
        assert (await listed(mesh))[written.id].arrived_at == BEGUN
        clock.now += YEARS_MS
        await mesh._recalling.close()
        cold = (await listed(mesh))[written.id]
        assert (cold.shown, cold.notes[-1]) == (TAGS, f"tags; full text: mnemesh get {written.id[:13]}")
        assert [memory.content async for memory in mesh.export(READER, ListQuery(spaces=("s",)))] == [LONG]
        beside = (await mesh.remember(READER, Draft(content="Said beside it.", space="s"))).memory
        around, _ = await mesh.timeline(READER, beside.id)
        assert [memory.shown for memory in around] == [TAGS, ""]
        ((whole,), _) = await mesh.get(READER, [written.id])
        assert (whole.content, whole.shown, whole.notes) == (LONG, "", ())
