"""Candidates to tidy up: pairs of like texts, idle memories, orphaned links, contradictions and superseded chains."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from plain_memories import plain_memory
from recall_scene import READER, Here

from mnemesh_actors.recall import hygiene_report
from mnemesh_memory.policy import hygiene
from mnemesh_memory.policy.dynamics.heat import DAY_MS
from mnemesh_memory.policy.hygiene import Finding, is_idle, near_pairs, tidy
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, PermissionDenied
from mnemesh_memory.values.kinds import KINDS, TIERS
from mnemesh_memory.values.model import Caller, Draft, Link, Query

PROPERTY = settings(max_examples=100, derandomize=True, database=None)
GUEST_SPACE = "test/guests"
GUEST = Caller("guest/x", "guest", role="reader", spaces=(GUEST_SPACE,))


async def report(here: Here, **fields: Any) -> dict[str, list[Finding]]:
    found = (await here.mesh.hygiene(READER, (here.space,), **fields)).findings
    return {type_: [one for one in found if one.type == type_] for type_ in hygiene.TYPES}


@PROPERTY
@given(
    arrays(np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=st.sampled_from((0.0, 1.0, -1.0, 0.5))),
    st.integers(1, 3),
    st.sampled_from((0.5, 0.9, 1.0)),
    st.integers(1, 8),
)
async def test_near_pairs_are_the_best_of_each_space_and_all_are_counted(
    rows: np.ndarray, spaces: int, threshold: float, limit: int
) -> None:
    vectors = rows + np.float32(0.01)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = np.arange(len(vectors), dtype=np.int64) % spaces
    found, total = near_pairs(vectors, groups, threshold, limit)
    every = {
        (one, other): float(vectors[one] @ vectors[other])
        for one in range(len(vectors))
        for other in range(one + 1, len(vectors))
        if groups[one] == groups[other]
    }
    # Exactly at the threshold rounding may fall on either side.
    least = sum(cosine >= threshold - hygiene.COSINE_SLACK / 2 for cosine in every.values())
    most = sum(cosine >= threshold - 2 * hygiene.COSINE_SLACK for cosine in every.values())
    assert least <= total <= most
    assert len(found) == min(limit, total)
    best = sorted(every.values(), reverse=True)[: len(found)]
    assert [cosine for _, _, cosine in found] == pytest.approx([min(1.0, cosine) for cosine in best], abs=1e-5)
    assert all(groups[one] == groups[other] and one < other for one, other, _ in found)


async def test_pairs_do_not_depend_on_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    groups = np.zeros(60, np.int64)
    whole = near_pairs(vectors, groups, 0.6, 200)
    monkeypatch.setattr(hygiene, "BLOCK_ROWS", 7)
    parts = near_pairs(vectors, groups, 0.6, 200)
    assert [pair[:2] for pair in parts[0]] == [pair[:2] for pair in whole[0]]
    assert parts[1] == whole[1]


@PROPERTY
@given(st.sampled_from(KINDS), st.sampled_from(TIERS), st.integers(0, 2000), st.integers(0, 5), st.integers(1, 400))
async def test_an_idle_memory_is_cold_and_was_never_used_whatever_the_clock(
    kind: str, tier: str, age: int, uses: int, stale_days: int
) -> None:
    memory = plain_memory(kind=kind, tier=tier)
    used = {"m": (uses, 0)} if uses else {}
    item = tidy(memory, used, age * DAY_MS)
    if is_idle(item, stale_days):
        assert (uses, tier == "pinned") == (0, False)
        assert age >= stale_days
        assert item.heat.value <= item.heat.strength / 2
        assert is_idle(tidy(memory, used, (age + 1) * DAY_MS), stale_days)
    assert not is_idle(tidy(memory, used, -age * DAY_MS), stale_days)


async def test_like_texts_come_in_pairs_with_a_verdict_and_nothing_is_embedded_or_changed(here: Here) -> None:
    first = await here.remember("The nightly backup of the ledger goes to the vault in Oslo.")
    again = await here.remember("The nightly backup of the ledger goes to the vault in Oslo.", force=True, title="Twin")
    monday = await here.remember("Invoices for Acme are sent by post on the first Monday")
    before = await here.mesh._parts.ledger.position()
    found = await here.mesh.duplicates(READER, (here.space,))
    (pair,) = found.pairs
    assert (pair.older.memory.id, pair.newer.memory.id, pair.verdict) == (first.id, again.id, "same")
    assert pair.similarity == 1.0
    assert pair.command.startswith("mnemesh forget ")
    assert (found.total, found.examined, found.unexamined, found.degraded) == (1, 3, 0, ())
    low = await here.mesh.duplicates(READER, (here.space,), 0.5, 200)
    assert low.pairs[0] == replace(pair, older=low.pairs[0].older, newer=low.pairs[0].newer)
    assert await here.mesh._parts.ledger.position() == before
    assert await here.mesh._parts.ledger.activity([first.id, again.id, monday.id]) == {}


async def test_a_pair_that_differs_in_one_number_is_no_duplicate(here: Here) -> None:
    items = [
        tidy(plain_memory(id_, f"The cache keeps an entry for {minutes} minutes.", at), {}, 0)
        for at, (id_, minutes) in enumerate((("old", 15), ("new", 60)))
    ]
    pair = hygiene.judged(*items, similarity=0.97)
    assert (pair.older.memory.id, pair.verdict, pair.command) == ("old", "contested", "mnemesh forget old")
    pinned = replace(items[0], memory=replace(items[0].memory, tier="pinned"))
    assert hygiene.judged(pinned, items[1], similarity=0.97).command == "mnemesh get old new"
    assert hygiene.contradiction(pinned, items[1]).command.startswith("mnemesh get ")
    ports = [
        tidy(plain_memory(id_, f"The {name} service listens on port {port}."), {}, 0)
        for id_, name, port in (("a", "billing", 8001), ("b", "search", 8002))
    ]
    assert hygiene.judged(*ports, similarity=0.95).verdict == "near"


async def test_duplicates_of_two_spaces_are_no_pair(here: Here) -> None:
    await here.remember("The harbour office opens at seven.")
    elsewhere = Draft(content="The harbour office opens at seven.", space=f"{here.space}/below")
    await here.mesh.remember(READER, elsewhere)
    assert (await here.mesh.duplicates(READER, (here.space, elsewhere.space))).total == 0


async def test_texts_without_vectors_are_compared_word_for_word_and_the_answer_says_so(here: Here) -> None:
    first = await here.remember("Lamps are trimmed at dusk.")
    await here.remember("Lamps are trimmed at dusk.", force=True)

    here.patch.setattr(here.mesh._parts.embedder, "stored", lambda kept: {})
    found = await here.mesh.duplicates(READER, (here.space,))
    assert [(pair.older.memory.id, pair.similarity) for pair in found.pairs] == [(first.id, 1.0)]
    assert (found.total, "2 texts are not embedded yet" in found.degraded[0]) == (1, True)


async def test_only_the_newest_are_looked_at_and_the_rest_is_counted(here: Here) -> None:
    for number in range(5):
        await here.remember(f"Berth {number} is {'long' * number} and {number} fathoms deep")
    here.patch.setattr(hygiene_report, "PAGE", 2)
    here.patch.setattr(limits, "HYGIENE_MEMORIES_MAX", 4)
    found, told = await here.mesh.duplicates(READER, (here.space,)), await here.mesh.hygiene(READER, (here.space,))
    assert (found.examined, found.unexamined) == (told.examined, told.unexamined) == (4, 1)


async def test_what_was_never_shown_and_is_cold_is_idle_until_it_is_shown(here: Here) -> None:
    kept = await here.remember("The old ferry timetable", kind="episode")
    await here.remember("Always greet the pilot", kind="preference")
    await here.remember("A trigger that waits", kind="episode", tags=("trigger",))
    await here.remember("Pinned timetable of the pilots", kind="episode", tier="pinned")
    now = here.mesh._parts.clock()
    here.patch.setattr(here.mesh, "hygiene", report_at(here, now + 90 * DAY_MS))
    (idle,) = (await report(here))[hygiene.IDLE]
    assert (idle.subject.memory.id, idle.command) == (kept.id, f"mnemesh forget {kept.id}")
    assert (idle.subject.heat.half_life_days, idle.subject.heat.uses) == (14.0, 0)
    assert idle.subject.heat.age_days == pytest.approx(90.0, abs=0.01)
    assert (await report(here, stale_days=91))[hygiene.IDLE] == []
    await here.mesh.get(READER, [kept.id])
    assert (await report(here))[hygiene.IDLE] == []


async def test_an_old_note_is_not_idle_the_minute_it_is_imported(here: Here) -> None:
    now = here.mesh._parts.clock()
    old = await here.remember("The ferry was late", kind="episode", created_at=now - 400 * DAY_MS)
    assert (await report(here))[hygiene.IDLE] == []
    here.patch.setattr(here.mesh, "hygiene", report_at(here, now + 91 * DAY_MS))
    (idle,) = (await report(here))[hygiene.IDLE]
    assert idle.subject.memory.id == old.id
    assert idle.subject.heat.age_days == pytest.approx(91.0, abs=0.01)


def report_at(here: Here, now: int) -> Any:
    """The report of a node whose clock says `now`."""
    return hygiene_report.Hygiene(replace(here.mesh._parts, clock=lambda: now)).hygiene


async def test_links_to_nowhere_and_contradictions_are_found_once_and_commands_end_them(here: Here) -> None:
    gone = await here.remember("Use the north gate", force=True)
    erased = await here.remember("Use the south gate", force=True)
    older = await here.remember("The gate code is on the board", force=True)
    newer = await here.remember("Nobody writes the gate code down", force=True, links=(Link("contradicts", older.id),))
    await here.mesh.link(READER, older.id, "contradicts", newer.id)
    lists = await here.remember(
        "All gates", force=True, links=(Link("see-also", gone.id), Link("depends-on", erased.id))
    )
    await here.mesh.forget(READER, gone.id)
    await here.mesh.purge(READER, erased.id)
    found = await report(here)
    assert {one.command for one in found[hygiene.ORPHANED]} == {
        f"mnemesh unlink {lists.id} see-also {gone.id}",
        f"mnemesh unlink {lists.id} depends-on {erased.id}",
    }
    (contradiction,) = found[hygiene.CONTRADICTION]
    assert {contradiction.subject.memory.id, *contradiction.others} == {older.id, newer.id}
    for orphan in found[hygiene.ORPHANED]:
        _, _, source, type_, target = orphan.command.split()
        await here.mesh.unlink(READER, source, type_, target)
    assert (await report(here))[hygiene.ORPHANED] == []


async def test_long_chains_and_chains_that_end_nowhere_are_found(here: Here) -> None:
    long = await here.chain("Tide table 1", "Tide table 2", "Tide table 3", "Tide table 4")
    lost = await here.chain("The buoy is red", "The buoy is green")
    await here.mesh.forget(READER, lost[1].id)
    broken, chain = (await report(here))[hygiene.SUPERSEDED]
    assert (broken.subject.memory.id, broken.others) == (lost[0].id, (lost[1].id,))
    assert broken.command == f"mnemesh restore {lost[0].id}"
    assert (chain.subject.memory.id, set(chain.others)) == (long[3].id, {one.id for one in long[:3]})
    await here.mesh.restore(READER, lost[0].id)
    (only,) = (await report(here))[hygiene.SUPERSEDED]
    assert only == replace(chain, subject=only.subject)


async def test_a_reader_sees_nothing_of_other_spaces_in_any_report(here: Here) -> None:
    secret = await here.remember("The vault code is in the blue book", force=True)
    await here.remember("The vault code is in the blue book", force=True)
    shared = Draft(content="Ask the keeper", space=GUEST_SPACE, links=(Link("contradicts", secret.id),))
    seen = (await here.mesh.remember(READER, shared)).memory
    await here.mesh.forget(READER, secret.id)
    assert (await here.mesh.duplicates(GUEST)).total == 0
    found = await here.mesh.hygiene(GUEST)
    assert (found.findings, found.examined) == ((), 1)
    (orphan,) = (await here.mesh.hygiene(READER, (GUEST_SPACE,))).findings
    assert (orphan.type, orphan.subject.memory.id, orphan.others) == ("orphaned", seen.id, (secret.id,))
    for ask in (here.mesh.duplicates, here.mesh.hygiene):
        with pytest.raises(PermissionDenied):
            await ask(GUEST, (here.space,))


@pytest.mark.parametrize(
    ("operation", "field", "value"),
    [
        *(("duplicates", "threshold", value) for value in (0.49, 1.01, math.nan, math.inf)),
        *(("duplicates", "limit", value) for value in (0, 201)),
        *(("hygiene", "limit", value) for value in (0, 201)),
        *(("hygiene", "stale_days", value) for value in (0, 36_501)),
    ],
)
async def test_bad_input_is_refused_with_field_and_limit(here: Here, operation: str, field: str, value: float) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await getattr(here.mesh, operation)(READER, (here.space,), **{field: value})
    assert refused.value.fields["field"] == field
    assert "from" in refused.value.message


async def test_two_reports_at_once_and_a_recall_beside_them_all_answer(here: Here) -> None:
    await here.remember("The pilot boat is yellow")
    query = Query(text="pilot boat", spaces=(here.space,))
    duplicates, told, recalled = await asyncio.gather(
        here.mesh.duplicates(READER, (here.space,)), here.mesh.hygiene(READER, (here.space,)),
        here.mesh.recall(READER, query),
    )  # fmt: skip
    assert (duplicates.examined, told.examined, len(recalled.results)) == (1, 1, 1)
