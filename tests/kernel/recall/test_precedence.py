"""Outdated memories step back on every read surface. A successor names its predecessor. Of two contradicting memories
the newer comes first, and the older is marked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import READER, Here

from mnemesh_actors.recall.newer_results import NEWER_MAX, answering, further, led, newest_first
from mnemesh_actors.recall.results import FoundMemory
from mnemesh_actors.remember.history_operations import MARKS_PAGE
from mnemesh_memory.policy import precedence
from mnemesh_memory.policy.sessions.session_context import ContextQuery
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE
from mnemesh_memory.values.model import Caller, Link, Memory, Patch, Query
from mnemesh_memory.values.past import BOTH

OLD, NEW = "The billing service stores invoices in PostgreSQL", "The billing service stores invoices in MySQL"


async def opposed(here: Here) -> tuple[Memory, Memory]:
    """An older and a newer memory that both stand."""
    older = await here.remember("Deploys of the billing service run on Jenkins every night", force=True)
    newer = await here.remember(
        "Deploys of the billing service run on Spinnaker", force=True, links=(Link(CONTRADICTS, older.id),)
    )
    return older, newer


async def marked(here: Here) -> tuple[Memory, Memory]:
    """An older memory, and a newer one that may replace it."""
    older = await here.remember("Alice is on the hiring panel")
    done = await here.mesh.remember(READER, here.draft("Zuzana sits on the hiring panel too"))
    assert done.reason.startswith(f"may replace {older.id}")
    assert done.memory.links == (Link(MAY_REPLACE, older.id),)
    return older, done.memory


async def test_a_marked_memory_stays_first_when_the_newer_one_says_nothing_of_the_question(here: Here) -> None:
    older = await here.remember("The billing service logs to Loki", force=True)
    newer = await here.remember("Quay eleven floods in autumn", force=True, links=(Link(MAY_REPLACE, older.id),))
    shown = (await here.recall("where does the billing service log to")).results
    assert shown[0].memory.id == older.id
    assert shown[0].memory.may_be_replaced_by == (newer.id,)


async def test_a_marked_memory_comes_after_a_newer_one_that_may_answer_and_scores_agree(here: Here) -> None:
    older = await here.remember("Ships are told their berth by radio", force=True)
    newer = await here.remember("Berth numbers reach ships in an app", force=True)
    question = "how are ships told their berth"
    before = (await here.recall(question)).results
    assert [hit.memory.id for hit in before] == [older.id, newer.id]
    await here.mesh.link(READER, newer.id, MAY_REPLACE, older.id)
    for limit in (1, 5):
        shown = (await here.recall(question, limit=limit)).results
        assert [hit.memory.id for hit in shown] == [newer.id, older.id][:limit]
        assert {hit.score for hit in shown} == {before[0].score}
        assert shown[0].redirected_from == older.id


async def test_a_newer_memory_needs_a_share_of_the_evidence_only_where_it_merely_may_replace(here: Here) -> None:
    older, newer = [await here.remember(f"berth {number}", force=True) for number in (1, 2)]
    query, newest = Query(text="quay"), {older.id: [newer]}

    def order(cosine: float, *, surely: bool) -> list[Memory]:
        found = [FoundMemory(one, Fused(one.id, at, cosine=at)) for one, at in ((older, 0.8), (newer, cosine))]
        first = answering(query, found, newest if surely else {}, {} if surely else newest)
        return [item.memory for item in newest_first(led(found, first), (), first)]

    assert order(0.4, surely=False) == order(0.4, surely=True) == order(0.02, surely=True) == [newer, older]
    assert order(0.02, surely=False) == [older, newer]


async def test_a_marked_memory_stays_first_for_a_question_with_its_number(here: Here) -> None:
    older = await here.remember("Writer 3 feeds the fox at gate 5", force=True)
    newer = await here.remember("Writer 6 feeds the fox at gate 5", force=True, links=(Link(MAY_REPLACE, older.id),))
    for question, first in (("what does writer 3 feed", older), ("who feeds the fox at gate 5", newer)):
        assert (await here.recall(question)).results[0].memory.id == first.id, question


async def test_a_mark_brings_in_nothing_that_does_not_match(here: Here) -> None:
    older = await here.remember("Alice is on the hiring panel")
    newer = await here.remember("Quay eleven floods in autumn", force=True, links=(Link(MAY_REPLACE, older.id),))
    results = (await here.recall("Alice is on the hiring panel", limit=1)).results
    assert [(hit.memory.id, hit.memory.may_be_replaced_by) for hit in results] == [(older.id, (newer.id,))]


@pytest.mark.parametrize("side", ["older", "newer"])
async def test_a_mark_ends_when_either_text_is_revised(here: Here, side: str) -> None:
    older, newer = await marked(here)
    changed = older if side == "older" else newer
    await here.mesh.update(READER, changed.id, Patch(content="Quay eleven floods in autumn"))
    ((one,), _) = await here.mesh.get(READER, [older.id])
    assert one.may_be_replaced_by == ()
    assert not (await here.mesh.conflicts(READER, [here.space])).contradictions_total
    assert not [one for one in (await here.mesh.hygiene(READER, (here.space,))).findings if one.type == "contradiction"]


async def test_a_text_that_was_revised_before_the_newer_one_was_written_is_marked(here: Here) -> None:
    older = await here.remember("Carol is on the hiring panel")
    await here.mesh.update(READER, older.id, Patch(content="Alice is on the hiring panel"))
    done = await here.mesh.remember(READER, here.draft("Zuzana sits on the hiring panel too"))
    ((one,), _) = await here.mesh.get(READER, [older.id])
    assert one.may_be_replaced_by == (done.memory.id,)


@pytest.mark.parametrize("type_", [CONTRADICTS, MAY_REPLACE])
async def test_a_link_to_another_space_marks_nothing_as_nobody_could_settle_the_pair(here: Here, type_: str) -> None:
    older = await here.remember("Quay twelve is free", force=True)
    elsewhere = f"{here.space}x"
    draft = here.draft("Quay twelve is taken", force=True, links=(Link(type_, older.id),))
    await here.mesh.remember(READER, replace(draft, space=elsewhere))
    ((one,), _) = await here.mesh.get(READER, [older.id])
    assert (one.older_than, one.may_be_replaced_by) == ((), ())
    assert not (await here.mesh.conflicts(READER, [here.space, elsewhere])).contradictions_total


async def test_a_context_puts_a_contradicting_and_a_likely_newer_memory_before_an_older_one(here: Here) -> None:
    older = await here.remember("Quay seven is free", force=True, tier="pinned")
    links = {type_: (Link(type_, older.id),) for type_ in (CONTRADICTS, MAY_REPLACE)}
    sure = await here.remember("Quay seven is taken", force=True, tier="pinned", links=links[CONTRADICTS])
    likely = await here.remember("Quay seven is let", force=True, tier="pinned", links=links[MAY_REPLACE])
    newer = precedence.unsettled([older, sure, likely])
    assert [one.id for one in newer[older.id]] == [sure.id, likely.id]
    context = await here.mesh.context(READER, ContextQuery(spaces=(here.space,)))
    (pinned,) = [group for group in context.groups if group.name == "pinned"]
    assert [one.id for one in pinned.memories][-1] == older.id


@pytest.mark.parametrize("way", ["resolve", "unlink", "supersede"])
async def test_one_call_settles_a_mark(here: Here, way: str) -> None:
    older, newer = await marked(here)
    page = await here.mesh.conflicts(READER, [here.space])
    (pair,) = page.contradictions
    assert (pair.newer.memory.id, pair.older.memory.id, pair.relation) == (newer.id, older.id, MAY_REPLACE)
    if way == "supersede":
        done, _ = await here.mesh.supersede(READER, older.id, here.draft(newer.content))
        assert (done.action, done.memory.id) == ("SUPERSEDE", newer.id)
    elif way == "resolve":
        await here.mesh.resolve(READER, older.id, other=newer.id, keep=BOTH)
    else:
        await here.mesh.unlink(READER, newer.id, MAY_REPLACE, older.id)
    ((one, other), _) = await here.mesh.get(READER, [older.id, newer.id])
    assert one.state == ("superseded" if way == "supersede" else "active")
    assert (one.may_be_replaced_by, other.may_be_replaced_by) == ((), ())
    assert not (await here.mesh.conflicts(READER, [here.space])).contradictions_total
    assert {link.type for link in (*one.links, *other.links)} <= {BOTH_HOLD, MAY_REPLACE, "supersedes", "superseded-by"}


async def test_pairs_that_contradict_each_other_are_listed_before_mere_marks(here: Here) -> None:
    await marked(here)
    await opposed(here)
    pages = [await here.mesh.conflicts(READER, [here.space], limit=1)]
    pages.append(await here.mesh.conflicts(READER, [here.space], limit=1, cursor=pages[0].cursor))
    assert [pair.relation for page in pages for pair in page.contradictions] == [CONTRADICTS, MAY_REPLACE]
    assert [page.contradictions_total for page in pages] == [2, 2]
    assert pages[1].cursor == ""


async def test_a_page_has_few_marks_unless_its_size_is_asked_for(here: Here) -> None:
    older, newer = await opposed(here)
    for number in range(MARKS_PAGE + 2):
        first = await here.remember(f"berth {number} is free", force=True)
        await here.remember(f"berth {number} is taken", force=True, links=(Link(MAY_REPLACE, first.id),))
    page = await here.mesh.conflicts(READER, [here.space])
    relations = [pair.relation for pair in page.contradictions]
    assert relations == [CONTRADICTS] + [MAY_REPLACE] * MARKS_PAGE
    assert (page.contradictions_total, page.marks_total) == (MARKS_PAGE + 3, MARKS_PAGE + 2)
    rest = await here.mesh.conflicts(READER, [here.space], cursor=page.cursor)
    whole = await here.mesh.conflicts(READER, [here.space], limit=20)
    assert (rest.cursor, whole.cursor) == ("", "")
    assert page.contradictions + rest.contradictions == whole.contradictions
    assert {whole.contradictions[0].newer.memory.id, whole.contradictions[0].older.memory.id} == {newer.id, older.id}


async def test_the_order_follows_the_time_since_when_a_statement_holds(here: Here) -> None:
    first = await here.remember("The gate of quay nine opens at 5", force=True, valid_from=1_600_000_000_000)
    second = await here.remember(
        "The gate of quay nine opens at 6",
        force=True,
        valid_from=1_500_000_000_000,
        links=(Link(CONTRADICTS, first.id),),
    )
    results = (await here.recall("The gate of quay nine opens at 6")).results
    assert [hit.memory.id for hit in results] == [first.id, second.id]
    assert results[1].memory.older_than == (first.id,)


async def test_a_reader_without_a_grant_hears_of_no_other_memory(here: Here) -> None:
    secret = await here.mesh.remember(READER, replace(here.draft("secret", force=True), space="test/hidden"))
    shared = await here.remember("Ask the keeper of quay ten", links=(Link(CONTRADICTS, secret.memory.id),))
    guest = Caller("guest/a", "guest", role="reader", spaces=(here.space,))
    ((seen,), _) = await here.mesh.get(guest, [shared.id])
    ((own,), _) = await here.mesh.get(READER, [shared.id])
    assert (seen.links, own.links) == ((), (Link(CONTRADICTS, secret.memory.id),))


async def test_words_of_the_past_find_what_held_then(here: Here) -> None:
    day = 86_400_000
    now = (await here.remember("start")).created_at
    old = await here.remember("We use flake8 as linter", created_at=now - 30 * day)
    new = (await here.mesh.supersede(READER, old.id, here.draft("We use ruff as linter")))[0].memory
    assert (await here.recall("which linter do we use")).results[0].memory.id == new.id
    past = await here.recall("which linter did we use last week")
    assert past.results[0].memory.id == old.id
    assert past.results[0].redirected_from == ""
    await here.remember("The release of the harbour app went out", created_at=now - 3 * day)
    before = await here.recall("which linter did we use before the release of the harbour app")
    shown = [hit.memory.id for hit in before.results]
    assert old.id in shown
    assert new.id not in shown or shown.index(old.id) < shown.index(new.id)
    today = await here.recall("which linter do we use today")
    assert old.id not in [hit.memory.id for hit in today.results]


async def test_a_context_marks_the_older_and_puts_the_newer_first(here: Here) -> None:
    older, newer = await opposed(here)
    await here.mesh.update(READER, older.id, Patch(tier="pinned"))
    await here.mesh.update(READER, newer.id, Patch(tier="pinned"))
    context = await here.mesh.context(READER, ContextQuery(spaces=(here.space,)))
    (pinned,) = [group for group in context.groups if group.name == "pinned"]
    assert [(one.id, one.older_than) for one in pinned.memories] == [(newer.id, ()), (older.id, (newer.id,))]


async def test_a_report_leaves_a_decided_pair_alone(here: Here) -> None:
    older, newer = await opposed(here)
    report = await here.mesh.hygiene(READER, (here.space,))
    (found,) = [one for one in report.findings if one.type == "contradiction"]
    assert found.command == f"mnemesh resolve {older.id} --other {newer.id} --keep {newer.id}"
    await here.mesh.link(READER, older.id, BOTH_HOLD, newer.id)
    assert not [one for one in (await here.mesh.hygiene(READER, (here.space,))).findings if one.type == "contradiction"]


# ---- decisions ------------------------------------------------------------------------------------------------------


async def test_pages_of_conflicts_go_on_into_the_pairs(here: Here) -> None:
    for number in range(3):
        older = await here.remember(f"berth {number} is free", force=True)
        await here.remember(f"berth {number} is taken", force=True, links=(Link(CONTRADICTS, older.id),))
    seen, cursor = [], ""
    while True:
        page = await here.mesh.conflicts(READER, [here.space], 1, cursor)
        assert page.contradictions_total == 3
        seen += [pair.older.memory.content for pair in page.contradictions]
        if not (cursor := page.cursor):
            break
    assert seen == [f"berth {number} is free" for number in range(3)]
    with pytest.raises(InvalidArgument, match="cursor"):
        await here.mesh.conflicts(READER, [here.space], 1, "pairs_x_y")


@pytest.mark.parametrize("keep", ["older", "newer"])
async def test_resolve_keeps_the_one_that_holds_and_the_other_is_superseded(here: Here, keep: str) -> None:
    older, newer = await opposed(here)
    kept, gone = (older, newer) if keep == "older" else (newer, older)
    done = await here.mesh.resolve(READER, older.id, other=newer.id, keep=kept.id)
    assert (done.action, done.memory.id, done.memory.state) == ("RESOLVE", kept.id, "active")
    assert [one.id for one in done.memory.replaces] == [gone.id]
    assert not (await here.mesh.conflicts(READER, [here.space])).contradictions
    assert [hit.memory.id for hit in (await here.recall("deploys billing service")).results] == [kept.id]
    with pytest.raises(FailedPrecondition):
        await here.mesh.resolve(READER, older.id, other=newer.id, keep=kept.id)


async def test_resolve_keeps_both_and_neither_is_marked_any_more(here: Here) -> None:
    older, newer = await opposed(here)
    done = await here.mesh.resolve(READER, older.id, other=newer.id, keep=BOTH)
    reason = f"{older.id} and {newer.id} both hold; the pair is not judged again"
    assert (done.action, done.reason) == ("RESOLVE", reason)
    ((one, other), _) = await here.mesh.get(READER, [older.id, newer.id])
    assert (one.links, other.links) == ((Link(BOTH_HOLD, newer.id),), ())
    assert (one.older_than, other.older_than) == ((), ())
    assert not (await here.mesh.conflicts(READER, [here.space])).contradictions_total
    with pytest.raises(FailedPrecondition, match="do not contradict"):
        await here.mesh.resolve(READER, older.id, other=newer.id, keep=BOTH)
    with pytest.raises(InvalidArgument, match="keep"):
        await here.mesh.resolve(READER, older.id, other=newer.id)
    with pytest.raises(NotFound):
        await here.mesh.resolve(READER, older.id, other="nowhere", keep=BOTH)


async def test_restore_undoes_a_wrong_replacement_and_the_pair_is_not_judged_again(here: Here) -> None:
    old = await here.remember(OLD)
    new = (await here.mesh.remember(READER, here.draft(NEW))).memory
    back = await here.mesh.restore(READER, old.id)
    assert (back.action, back.memory.state) == ("RESTORE", "active")
    ((one, other), _) = await here.mesh.get(READER, [old.id, new.id])
    assert (one.state, other.state, one.older_than, other.older_than) == ("active", "active", (), ())
    assert other.links == (Link(BOTH_HOLD, old.id),)
    assert {hit.memory.id for hit in (await here.recall(OLD)).results} == {old.id, new.id}
    again = await here.mesh.remember(READER, here.draft(f"{NEW} these days"))
    ((one,), _) = await here.mesh.get(READER, [old.id])
    assert (one.state, one.older_than) == ("active", ()), again.reason


async def test_a_memory_that_holds_beside_another_is_linked_to_a_third_and_not_replaced(here: Here) -> None:
    old = await here.remember(OLD)
    new = (await here.mesh.remember(READER, here.draft(NEW))).memory
    await here.mesh.restore(READER, old.id)
    third = await here.mesh.remember(READER, here.draft("The billing service stores invoices in SQLite"))
    assert third.action == "ADD", third.reason
    (both, _) = await here.mesh.get(READER, [old.id, new.id])
    assert [one.state for one in both] == ["active", "active"]


ASKED = "Ships are told their berth by radio"


async def contradicted(here: Here, *texts: str, **fields: Any) -> tuple[Memory, list[Memory]]:
    """A memory that says ASKED, and newer ones that contradict it."""
    older = await here.remember(ASKED, force=True)
    links = (Link(CONTRADICTS, older.id),)
    return older, [await here.remember(text, force=True, links=links, **fields) for text in texts]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_a_contradiction_leads_to_the_newer_memory_that_matches_in_no_word(
    here: Here, mode: str, limit: int
) -> None:
    for number in range(6):
        await here.remember(f"Ships are told their berth number {number}", force=True)
    older, (newer,) = await contradicted(here, "Quay eleven floods")
    shown = (await here.recall(ASKED, limit=limit, mode=mode, min_score=0.3)).results
    assert [hit.memory.id for hit in shown[:2]] == [newer.id, older.id][:limit]
    assert shown[0].redirected_from == older.id
    assert {hit.score for hit in shown[:2]} == {shown[0].score}
    assert all(hit.memory.older_than == (newer.id,) for hit in shown[1:2])
    await here.mesh.forget(READER, newer.id)
    assert (await here.recall(ASKED, limit=limit, mode=mode)).results[0].memory.id == older.id


async def test_many_words_on_one_matter_leave_room_for_what_they_contest(here: Here) -> None:
    older, newer = await contradicted(here, *(f"Pie {number} is sold" for number in range(5)))
    shown = [hit.memory.id for hit in (await here.recall(ASKED, limit=NEWER_MAX + 1)).results]
    assert shown == [*(memory.id for memory in newer[: -NEWER_MAX - 1 : -1]), older.id]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("limit", [2, 3, 11])
async def test_a_fact_that_changed_often_is_told_by_its_latest_values(here: Here, mode: str, limit: int) -> None:
    chain = [await here.remember(ASKED, force=True)]
    for number in range(8):
        await here.remember(f"Crates are counted at gate {number}", force=True)
    for text in ("Pilots ring up", "Quay eleven floods", "Pies are sold"):
        chain.append(await here.remember(text, force=True, links=(Link(CONTRADICTS, chain[-1].id),)))
    shown = [hit.memory.id for hit in (await here.recall(ASKED, limit=limit, mode=mode)).results]
    assert shown[:3] == [chain[3].id, chain[2].id, chain[0].id][:limit]


async def test_a_match_that_a_rule_took_all_score_from_can_be_explained(here: Here) -> None:
    older, (newer,) = await contradicted(here, "Quay eleven floods")
    found = [FoundMemory(older, Fused(older.id, 0.0))]
    (more,) = further(found, {older.id: [newer]}, [found[0].fused])
    assert (more.memory, more.fused, more.redirected_from) == (newer, found[0].fused, older.id)


async def test_a_memory_that_led_to_another_one_leads_on_to_what_contests_that_one(here: Here) -> None:
    first = await here.remember(ASKED, force=True)
    second = (await here.mesh.supersede(READER, first.id, here.draft("Pilots ring up", force=True)))[0].memory
    third = await here.remember("Quay eleven floods", force=True, links=(Link(CONTRADICTS, second.id),))
    shown = (await here.recall(ASKED, limit=2, mode="keyword")).results
    assert [hit.memory.id for hit in shown] == [third.id, second.id]
    assert {hit.redirected_from for hit in shown} == {first.id}


async def test_a_question_about_the_past_and_one_about_an_event_are_answered_by_what_held_then(here: Here) -> None:
    day, now = 86_400_000, (await here.remember("start")).created_at
    old = await here.remember("We moved the cluster to Frankfurt", force=True, created_at=now - 60 * day)
    noisy = await here.remember("Alerts were noisy for a week", force=True, created_at=now - 50 * day)
    links = (Link(CONTRADICTS, old.id),)
    new = await here.remember("The region is Oslo", force=True, links=links, created_at=now - 3 * day)
    assert (await here.recall("where is the cluster")).results[0].memory.id == new.id
    assert (await here.recall("where did we have the cluster last month")).results[0].memory.id == old.id
    after = await here.recall("what happened after we moved the cluster to Frankfurt")
    assert after.time
    assert after.time.event_id == old.id
    assert noisy.id in [hit.memory.id for hit in after.results]


async def test_a_contest_takes_no_place_from_the_memory_of_the_asked_month(here: Here) -> None:
    may = 1_684_000_000_000
    of_may = await here.remember("The dry dock was painted", force=True, created_at=may)
    older = await here.remember("The dry dock is painted red", force=True, created_at=may + 100 * 86_400_000)
    await here.remember("Quay eleven floods", force=True, links=(Link(CONTRADICTS, older.id),))
    shown = (await here.recall("what of the dry dock in May 2023", limit=2)).results
    assert of_may.id in [hit.memory.id for hit in shown]


async def test_a_time_at_which_both_hold_leads_to_the_newer_one_too(here: Here) -> None:
    older, (newer,) = await contradicted(here, "Quay eleven floods")
    shown = (await here.recall(ASKED, limit=2, valid_at=newer.created_at)).results
    assert [hit.memory.id for hit in shown] == [newer.id, older.id]
    early = await here.remember(
        "The crane is painted green", force=True, created_at=newer.created_at - 100 * 86_400_000
    )
    await here.remember("All is violet", force=True, links=(Link(CONTRADICTS, early.id),))
    shown = (await here.recall("the crane is painted", limit=1, valid_at=newer.created_at - 86_400_000)).results
    assert [hit.memory.id for hit in shown] == [early.id]


async def test_a_newer_memory_that_a_filter_leaves_out_is_not_led_to(here: Here) -> None:
    older = await here.remember("Ships are told their berth by radio", force=True, tags=("harbour",))
    await here.remember("Quay eleven floods", force=True, links=(Link(CONTRADICTS, older.id),))
    shown = (await here.recall("Ships are told their berth by radio", tags_any=("harbour",))).results
    assert [hit.memory.id for hit in shown] == [older.id]


# ---- laws -----------------------------------------------------------------------------------------------------------

IDS = [f"m{number}" for number in range(5)]
MEMORIES = st.lists(
    st.builds(
        lambda number, at, links: plain_memory(
            IDS[number], "", at, links=tuple(Link(type_, IDS[to]) for type_, to in links if to != number)
        ),
        st.integers(0, 4), st.integers(0, 3),
        st.lists(st.tuples(st.sampled_from([CONTRADICTS, MAY_REPLACE, BOTH_HOLD]), st.integers(0, 4)), max_size=3),
    ),
    unique_by=lambda memory: memory.id,
)  # fmt: skip


@given(MEMORIES, st.randoms())
async def test_the_older_of_a_pair_is_the_same_in_whatever_order_memories_come(
    memories: list[Memory], random: st.DrawFn
) -> None:
    shuffled = list(memories)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    newer = precedence.contested(memories)
    assert newer == precedence.contested(shuffled)
    for id_, found in newer.items():
        assert all(id_ not in [one.id for one in newer.get(later.id, ())] for later in found)


@given(MEMORIES)
async def test_each_newer_memory_comes_before_the_ones_that_it_contradicts(memories: list[Memory]) -> None:
    newer = precedence.contested(memories)
    ids = [memory.id for memory in memories]
    shown = precedence.newer_first(ids, ids, newer)
    assert sorted(shown) == sorted(ids)
    for id_, found in newer.items():
        assert all(shown.index(later.id) < shown.index(id_) for later in found)


@given(MEMORIES)
async def test_two_nodes_write_the_same_link(memories: list[Memory]) -> None:
    for one in memories:
        for other in memories:
            if one.id != other.id:
                assert precedence.contradiction(one, other) == precedence.contradiction(other, one)
