"""A recalled memory is open to new evidence for a while: updated, replaced or reinforced, never merged with another."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import READER, Here

from mnemesh_memory.policy.dynamics.reconsolidation import (
    LABILE_MAX,
    MINUTE_MS,
    Labile,
    LabileWindow,
    mismatch,
    reconsolidated,
)
from mnemesh_memory.policy.judge.guard import OlderText, judge
from mnemesh_memory.values.model import Caller, Memory, Patch

DATA = Path(__file__).resolve().parents[2] / "data" / "guard"
PAIRS = [json.loads(line) for name in ("given", "tuned") for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
ASIDE = " Petra answers questions about invoices."
OTHER = Caller("ben/agent", "ben", role="writer", spaces=("test/*",))


def outcomes(label: str, aside: str = "", cosine: float | None = None) -> Counter[tuple[str, str]]:
    """How often a verdict of the guard became another in the window."""
    found: Counter[tuple[str, str]] = Counter()
    for pair in PAIRS:
        if pair["label"] == label:
            text = pair["older"].rstrip(". ") + "." + aside if aside else pair["older"]
            old = OlderText(
                id="old", text=text, kind="fact", cosine=cosine or pair["cosine"], replaceable=True, heads=("1@a",)
            )
            verdict = judge(pair["newer"], "fact", [old])
            after = reconsolidated(pair["newer"], "fact", verdict, [Labile(old, 0)])
            before = "contradicts" if verdict.contradicts else verdict.action
            found[before, after.verdict.action] += 1
            if after.verdict.action == "UPDATE":
                assert ASIDE.strip() in after.content
                assert pair["newer"].strip() in after.content
    return found


@pytest.mark.parametrize("label", ["distinct", "elaboration"])
@pytest.mark.parametrize("aside", ["", ASIDE])
def test_distinct_facts_are_not_merged_in_an_open_window(label: str, aside: str) -> None:
    found = outcomes(label, aside)
    changed = sum(count for (before, after), count in found.items() if before == "contradicts" and after != "ADD")
    assert changed <= 0.005 * found.total()
    assert not found["ADD", "UPDATE"]
    assert not found["ADD", "SUPERSEDE"]
    assert not found["ADD", "NOOP"]


@pytest.mark.parametrize("label", ["update", "contradiction"])
def test_an_open_window_decides_contests_that_the_guard_leaves_open(label: str) -> None:
    whole, part = outcomes(label, cosine=0.75), outcomes(label, ASIDE, cosine=0.75)
    left_open = sum(count for (before, _), count in whole.items() if before == "contradicts")
    assert whole["contradicts", "SUPERSEDE"] >= 0.6 * left_open
    assert part["contradicts", "UPDATE"] >= 100
    assert not part["contradicts", "SUPERSEDE"], "an uncontested sentence stays"


numbers = st.integers(1, 999)


@settings(max_examples=60)
@example(2, 1, 1, "Valve")  # The number of the older one comes back as the value of the newer one.
@given(numbers, numbers, numbers, st.sampled_from(["Valve", "Rack", "Ticket", "Sensor"]))
def test_things_with_other_numbers_stay_apart(one: int, other: int, value: int, noun: str) -> None:
    older = OlderText(
        id="old", text=f"{noun} {one} holds {value} bar.", kind="fact", cosine=0.95, replaceable=True, heads=("1@a",)
    )
    text = f"{noun} {other + 1000} holds {value + 1} bar."
    after = reconsolidated(text, "fact", judge(text, "fact", [older]), [Labile(older, 0)])
    assert after.verdict.action == "ADD"


@settings(max_examples=60)
@given(st.text(max_size=200), st.text(max_size=200))
def test_a_mismatch_is_a_share(one: str, other: str) -> None:
    assert 0.0 <= mismatch(one, other, 0.9)[0] <= 1.0


@pytest.mark.parametrize(
    ("older", "content"),
    [
        (
            "- The gateway listens on port 8080.\n- Petra answers questions about invoices.\n",
            "- The gateway listens on port 9090.\n- Petra answers questions about invoices.\n",
        ),
        ("The gateway listens on port 8080.\n```\nlisten 8080\n```\nPetra answers questions.", ""),
    ],
)
def test_a_list_keeps_its_form_and_code_is_left_alone(older: str, content: str) -> None:
    text = "The gateway listens on port 9090."
    old = OlderText(id="old", text=older, kind="fact", cosine=0.8, replaceable=True, heads=("1@a",))
    after = reconsolidated(text, "fact", judge(text, "fact", [old]), [Labile(old, 0)])
    assert after.content == content


def shown(id_: str, *heads: str) -> Memory:
    return plain_memory(id_, heads=heads or ("1@a",))


def test_a_window_ends_with_time_a_new_head_or_a_clock_that_goes_back() -> None:
    window = LabileWindow()
    window.open("ann", [shown("m")], MINUTE_MS, minutes=10)
    assert window.age_of("ann", "m", ("1@a",), 3 * MINUTE_MS) == 2 * MINUTE_MS
    for principal, head, now in (("ben", "1@a", 2), ("ann", "2@b", 2), ("ann", "1@a", 12), ("ann", "1@a", 0)):
        assert window.age_of(principal, "m", (head,), now * MINUTE_MS) is None
    closed = LabileWindow()
    closed.open("ann", [shown("m")], 0, minutes=0)
    assert len(closed) == 0


def test_windows_are_bounded() -> None:
    window = LabileWindow()
    window.open("ann", (shown(str(number)) for number in range(LABILE_MAX + 5)), now=0)
    assert len(window) == LABILE_MAX
    assert window.age_of("ann", "0", ("1@a",), 1) is None


RUNBOOK = "The gateway listens on port 8080. Petra answers questions about invoices. The runbook lies in docs/gate.md."
CHANGED = "The gateway listens on port 9090."


async def test_evidence_after_a_recall_updates_the_memory_and_a_rollback_brings_it_back(here: Here) -> None:
    old = await here.remember(RUNBOOK, tags=("gate",))
    await here.recall("where does the gateway listen?")
    checked = await here.mesh.check(READER, here.draft(CHANGED))
    done = await here.mesh.remember(READER, here.draft(CHANGED, tags=("port",)))
    assert (checked.action, done.action, done.memory.id) == ("UPDATE", "UPDATE", old.id)
    assert done.memory.content == RUNBOOK.replace("8080", "9090")
    assert set(done.memory.tags) == {"gate", "port"}
    assert "mismatch 0." in done.reason
    history = await here.mesh.history(READER, old.id)
    assert [one.revision.content for one in history.revisions] == [done.memory.content, RUNBOOK]
    await here.mesh.rollback(READER, old.id, history.revisions[-1].revision.id)
    ((back,), _) = await here.mesh.get(READER, [old.id])
    assert back.content == RUNBOOK


async def test_evidence_that_leaves_nothing_of_a_recalled_memory_replaces_it_and_a_restore_brings_it_back(
    here: Here,
) -> None:
    old, new = "Priyanka works with Vim.", "Priyanka works with Emacs."
    first = await here.remember(old)
    assert (await here.mesh.check(READER, here.draft(new))).action == "ADD"
    await here.recall("what does Priyanka work with?")
    done = await here.mesh.remember(READER, here.draft(new))
    assert done.action == "SUPERSEDE"
    assert f"replaces {first.id}; recalled 0 min ago, mismatch 1.00" in done.reason
    assert [hit.memory.content for hit in (await here.recall("Priyanka")).results] == [new]
    assert (await here.mesh.restore(READER, first.id)).memory.state == "active"


async def test_a_sentence_that_a_recalled_memory_says_already_reinforces_it(here: Here) -> None:
    first = await here.remember(RUNBOOK)
    await here.recall("where does the gateway listen?")
    done = await here.mesh.remember(READER, here.draft("the gateway listens on port 8080"))
    assert (done.action, done.memory.id, done.deduplicated) == ("NOOP", first.id, True)


async def test_a_draft_with_fields_of_its_own_stays_a_memory_of_its_own(here: Here) -> None:
    old = await here.remember(RUNBOOK)
    await here.recall("where does the gateway listen?")
    for fields in ({"title": "Gate"}, {"importance": 0.9}, {"attrs": {"a": "b"}}, {"created_at": old.created_at}):
        for text in (CHANGED, "The gateway listens on port 8080."):
            checked = await here.mesh.check(READER, here.draft(text, **fields))
            assert checked.action == "ADD"


async def test_an_update_keeps_no_old_value_beside_the_new_one_and_a_repetition_changes_nothing(here: Here) -> None:
    old = await here.remember("The staging URL is https://blue.example. Petra answers questions about it.")
    for url in ("https://green.example", "https://green.example", "https://red.example"):
        await here.recall("what is the staging URL?")
        await here.remember(f"The staging URL is {url}.")
    ((now,), _) = await here.mesh.get(READER, [old.id])
    assert now.content == "The staging URL is https://red.example. Petra answers questions about it."
    assert now.version == 3


async def test_two_writers_with_one_window_lose_no_text(here: Here) -> None:
    old = await here.remember(RUNBOOK)
    await here.recall("where does the gateway listen?")
    texts = [f"The gateway listens on port {port}." for port in (9001, 9002, 9003)]
    done = await asyncio.gather(*(here.mesh.remember(READER, here.draft(text)) for text in texts))
    history = await here.mesh.history(READER, old.id)
    kept = [one.revision.content for one in history.revisions] + [one.memory.content for one in done]
    assert all(any(text.rstrip(".") in content for content in kept) for text in texts)
    assert RUNBOOK in kept


async def test_a_retried_update_is_answered_from_the_first(here: Here) -> None:
    old = await here.remember(RUNBOOK)
    await here.recall("where does the gateway listen?")
    first = await here.mesh.remember(READER, here.draft(CHANGED, idempotency_key="k1"))
    again = await here.mesh.remember(READER, here.draft(CHANGED, idempotency_key="k1"))
    assert (first.action, again.replayed, again.memory.id, again.memory.version) == ("UPDATE", True, old.id, 2)


async def test_memories_of_many_days_are_all_recalled_with_their_ids(here: Here) -> None:
    day = 86_400_000
    ids = {
        (await here.remember(f"The lamp of pier {number} was painted.", created_at=1_600_000_000_000 + number * day)).id
        for number in range(12)
    }
    answer = await here.recall("lamp of a pier painted", limit=12)
    assert {hit.memory.id for hit in answer.results} == ids


async def test_without_a_recall_both_stand(here: Here) -> None:
    await here.remember(RUNBOOK)
    assert (await here.mesh.remember(READER, here.draft(CHANGED))).action == "ADD"


async def test_with_the_window_off_both_stand(here: Here) -> None:
    await here.remember(RUNBOOK)
    here.with_parts(config=replace(here.mesh._parts.config, labile_minutes=0))
    await here.recall("where does the gateway listen?")
    assert (await here.mesh.remember(READER, here.draft("The gateway listens on port 9191."))).action == "ADD"


async def test_a_memory_of_another_principal_is_never_changed(here: Here) -> None:
    theirs = await here.mesh.remember(OTHER, here.draft(RUNBOOK))
    await here.recall("where does the gateway listen?")
    done = await here.mesh.remember(READER, here.draft(CHANGED))
    assert (done.action, done.memory.id == theirs.memory.id) == ("ADD", False)


async def test_a_hundred_recalls_write_no_document(here: Here) -> None:
    await here.remember(RUNBOOK)
    before = await here.mesh._parts.ledger.position()
    for _ in range(100):
        await here.recall("where does the gateway listen?")
    assert await here.mesh._parts.ledger.position() == before
    page = await here.recall("", limit=50)
    assert [hit.memory.content for hit in page.results] == [RUNBOOK]


async def test_a_memory_that_changed_since_the_recall_is_left_alone(here: Here) -> None:
    old = await here.remember(RUNBOOK)
    await here.recall("where does the gateway listen?")
    other = replace(READER, agent="owner/second")
    await here.mesh.update(other, old.id, Patch(content=RUNBOOK + " It is green."))
    assert (await here.mesh.remember(READER, here.draft(CHANGED))).action == "ADD"
