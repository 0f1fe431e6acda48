"""Rules of recall that are memories: their grammar, their effect, and the one meaning of a hard rule in index, ledger
and policy."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory
from recall_scene import READER, Here, found

from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.recall.search_calls import IndexCalls
from mnemesh_memory.policy.rules import stored_rules
from mnemesh_memory.policy.rules.rule_grammar import conditions
from mnemesh_memory.policy.rules.stored_rules import RULES_MAX, RuleTable
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, PermissionDenied, SecretRefused
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Memory, Query
from mnemesh_memory.values.rules import RuleComparison

PROPERTY = settings(max_examples=300, derandomize=True, database=None)
ANA = Caller("ana", "ana", role="writer", spaces=("team",))
RITA = Caller("rita", "rita", role="reader", spaces=("team",))
BOB = Caller("bob", "bob", role="writer", spaces=("team", "other"))


def memory(number: int = 1, **fields: Any) -> Memory:
    return plain_memory(f"m{number:03}", **{"at": number, "space": "team", **fields})


# ---- grammar ---------------------------------------------------------------------------------------------------------


def test_a_condition_is_read_as_it_is_written() -> None:
    assert conditions("condition", ' kind=bug  and tag != "in review" and importance >= .5') == (
        RuleComparison("kind", "=", "error"), RuleComparison("tag", "!=", "in review"),
        RuleComparison("importance", ">=", "0.5"),
    )  # fmt: skip
    assert conditions("condition", r'title contains "a \"b\""') == (RuleComparison("title", "contains", 'a "b"'),)


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("size = 3", 1, "one of kind"),
        ("kind run", 6, "= !="),
        ("kind < run", 6, "= !="),
        ("kind =", 7, "a value of kind"),
        ("kind = = run", 8, "a value of kind"),
        ("kind = nonsense", 8, "fact"),
        ("importance > 2", 14, "from 0 to 1"),
        ("tag = on hold", 10, "`and` or the end"),
        ("tag = x and", 12, "one of kind"),
        ("tag = x and and = y", 13, "one of kind"),
        ('tag = "x', 7, "a value of tag"),
        ("path = " + "*" * 9, 8, "at most 8"),
        ("tag=a and tag=b and tag=c and tag=d and tag=e", 37, "at most 4"),
        ("content ~ .*", 9, "contains lacks"),
    ],
)
def test_a_fault_is_refused_with_its_place(text: str, place: int, wanted: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        conditions("condition", text)
    assert f"at character {place}," in refused.value.message
    assert wanted in refused.value.message


@PROPERTY
@given(st.text(max_size=80) | st.from_regex(r'(kind|tag|path|content) ?(=|!=|contains|<) ?["\w* ]{0,20}( and )?'))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidArgument):
        assert 1 <= len(conditions("condition", text)) <= 4


@pytest.mark.parametrize(
    ("condition", "effect", "field"),
    [
        ("", "hide", "condition"), ("tag = x", "", "effect"), ("tag = x", "boost", "effect"),
        ("tag = x", "+2", "effect"), ("tag = x", "+nan", "effect"), ("tag = x", "0.3", "effect"),
        ("content contains x", "hide", "condition"), ("title lacks x", "only", "condition"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(condition: str, effect: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        stored_rules.checked(condition, effect)
    assert refused.value.fields["field"] == field


def test_a_memory_with_words_that_no_door_takes_is_no_rule() -> None:
    good = memory(tags=("rule",), attrs={"rule": "kind = run", "rule.effect": "hide"})
    assert stored_rules.rule_of(good) is not None
    for attrs in ({}, {"rule": "kind ~ run", "rule.effect": "hide"}, {"rule": "kind = run", "rule.effect": "+9"}):
        assert stored_rules.rule_of(replace(good, attrs=attrs)) is None
    assert stored_rules.rule_of(replace(good, state="forgotten")) is None
    assert stored_rules.rule_of(replace(good, tags=())) is None


# ---- the table -------------------------------------------------------------------------------------------------------


def test_the_oldest_rules_of_a_space_count_in_whatever_order_they_come() -> None:
    rules = [
        memory(n, tags=("rule",), attrs={"rule": f"tag = t{n}", "rule.effect": "+0.1"}) for n in range(RULES_MAX + 5)
    ]
    orders = (rules, rules[::-1])
    kept = []
    for order in orders:
        table = RuleTable()
        for one in order:
            table.take(one)
        kept.append([rule.id for rule in table.of(("team",), "@ana")])
        with pytest.raises(FailedPrecondition, match="delete some"):
            table.check_room("team")
        table.end("m000")
        assert next(rule.id for rule in table.of(("team",), "@ana")) == "m001"
    assert kept[0] == kept[1] == [f"m{n:03}" for n in range(RULES_MAX)]


def test_a_rule_of_a_private_space_is_about_all_that_its_owner_recalls() -> None:
    table = RuleTable()
    table.take(memory(space="@ana", tags=("rule",), attrs={"rule": "kind = run", "rule.effect": "hide"}))
    assert [rule.space for rule in table.of(("team",), "@ana")] == [""]
    assert table.of(("team", "@bob"), "@bob") == ()


def test_a_rule_of_a_revoked_token_does_not_count_and_takes_no_room() -> None:
    table = RuleTable()
    for n in range(RULES_MAX):
        attrs = {"rule": f"tag = t{n}", "rule.effect": "+0.1"}
        table.take(memory(n, tags=("rule",), attrs=attrs, by="bob/codex" if n else "ana"))
    gone = {"bob"}
    table.revoked = gone.__contains__
    assert [rule.id for rule in table.of(("team",), "@ana")] == ["m000"]
    table.check_room("team")
    shown = stored_rules.shown(memory(tags=("rule",), attrs={"rule": "tag = t", "rule.effect": "hide"}, by="bob/codex"))
    assert shown is not None
    assert table.counting(shown).revoked
    gone.clear()  # a new token for the same name
    assert len(table.of(("team",), "@ana")) == RULES_MAX
    assert not table.counting(shown).revoked


# ---- recall ----------------------------------------------------------------------------------------------------------

HARD = (
    "kind = run", "kind != run", "tag = a and kind = fact", "tag != a", "agent = owner/test", "agent != owner/test",
    "importance < 0.3", "path = src/*", "path != src/* and tag = a", "tier = pinned",
)  # fmt: skip


def drafts() -> Iterator[dict[str, object]]:
    for kind, tags, importance in itertools.product(("run", "fact"), ((), ("a",), ("a", "b")), (0.1, 0.9)):
        paths = ("src/x.py",) if importance > 0.5 and tags else ()
        yield {"kind": kind, "tags": tags, "importance": importance, "paths": paths}


@pytest.mark.parametrize("text", ["harbour", ""])
async def test_a_hard_rule_leaves_out_what_it_says_in_index_and_ledger_alike(here: Here, text: str) -> None:
    for number, fields in enumerate(drafts()):
        await here.remember(f"harbour {number} is {fields['kind']}", force=True, **fields)
    for condition in HARD:
        by_effect = []
        for effect in ("hide", "only"):
            rule = await here.mesh.add_rule(READER, condition, effect, space=here.space)
            answer = await here.recall(text, limit=50)
            shown = {content for content in found(answer) if not content.startswith("Rule of")}
            by_effect.append(shown)
            await here.mesh.delete_rule(READER, rule.id)
        everything = {content for content in found(await here.recall(text, limit=50)) if "harbour" in content}
        hidden, only = by_effect
        assert hidden | only == everything, condition
        assert not hidden & only, condition
    assert len(everything) == 12


async def test_a_soft_rule_moves_a_memory_down_and_says_so(here: Here) -> None:
    low = await here.remember("the kiln is fired on Monday", tags=("draft",))
    other = await here.remember("oak wood heats the kiln in the yard")
    assert (await here.recall("when is the kiln fired")).results[0].memory.id == low.id
    rule = await here.mesh.add_rule(READER, "content contains KILN and tag = draft", "-1", space=here.space)
    answer = await here.recall("when is the kiln fired", explain=True)
    ids = [hit.memory.id for hit in answer.results]
    assert ids.index(other.id) < ids.index(low.id)
    (hit,) = [hit for hit in answer.results if hit.memory.id == low.id]
    assert any(share.name == "rules" and share.share < 0 for share in hit.signals)
    await here.mesh.delete_rule(READER, rule.id)


async def test_a_rule_counts_also_where_words_alone_are_matched(here: Here) -> None:
    await here.remember("The kiln cools for nine hours", tags=("draft",))
    await here.remember("The kiln of the annex cools for six hours")

    async def away(*_: object) -> str:
        return "the index is away"

    here.patch.setattr(IndexCalls, "candidates", away)
    before = {hit.memory.content: hit.score for hit in (await here.recall("kiln cools hours nine")).results}
    await here.mesh.add_rule(READER, "tag = draft", "-0.9", space=here.space)
    after = {hit.memory.content: hit.score for hit in (await here.recall("kiln cools hours nine")).results}
    first, other = before
    assert list(after) == [other, first]
    assert (after[first], after[other]) == pytest.approx((before[first] / 10, before[other]), abs=0.02)


async def test_what_a_rule_hides_is_named_when_nothing_else_is_there(here: Here) -> None:
    rule = await here.mesh.add_rule(READER, "kind != preference", "hide", space=here.space)
    await here.remember("the harbour closes at nine", kind="run")
    answer = await here.recall("harbour", mode="keyword")
    assert answer.results == ()
    assert answer.notes == (
        f"rules: the matches are hidden by kind != preference hide (rule {rule.id}); name that kind or tag to see them",
    )


async def test_only_who_may_write_a_space_gives_rules_to_it_and_a_rule_shows_nothing(mesh: Mesh) -> None:
    await mesh.remember(BOB, Draft(content="bob fires the kiln", space="other"))
    await mesh.remember(ANA, Draft(content="the kiln was run", kind="run", space="team"))
    for caller, space in ((RITA, "team"), (ANA, "other")):
        with pytest.raises(PermissionDenied):
            await mesh.add_rule(caller, "kind = run", "hide", space=space)
    with pytest.raises(SecretRefused):
        await mesh.add_rule(ANA, "tag = x", "hide", reason="key AKIA" + "Z7Q5XK2M4N6P8R3T", space="team")
    rule = await mesh.add_rule(ANA, "kind != fact", "only", space="team")
    other = await mesh.add_rule(BOB, "agent = bob", "+1", space="@bob")
    with pytest.raises(PermissionDenied):
        await mesh.delete_rule(RITA, rule.id)
    seen = await mesh.recall(RITA, Query(text="kiln", spaces=("team",)))
    assert "bob fires the kiln" not in found(seen)
    assert (await mesh.get_rules(RITA, ("team",)))[0] == (rule,)
    await mesh.delete_rule(ANA, rule.id)
    await mesh.delete_rule(BOB, other.id)


async def test_a_memory_that_says_what_a_rule_gives_as_its_reason_is_stored_and_recalled(here: Here) -> None:
    text = "Deploy on Friday is not allowed."
    rule = await here.mesh.add_rule(READER, "tag = x", "hide", reason=text, space=here.space)
    written = await here.mesh.remember(READER, here.draft(text))
    assert (written.action, written.memory.id != rule.id, written.related) == ("ADD", True, ())
    assert found(await here.recall("Friday deploy")) == [text]
    again = await here.mesh.remember(READER, here.draft(text))
    assert (again.action, again.memory.id) == ("NOOP", written.memory.id)
    await here.mesh.delete_rule(READER, rule.id)
    await here.mesh.restore(READER, rule.id)
    await here.mesh.delete_rule(READER, rule.id)


async def test_a_rule_is_in_no_listing_removal_timeline_or_neighbourhood_but_by_its_tag(here: Here) -> None:
    wish = await here.remember("Ana likes the harbour at dawn.", kind="preference")
    rule = await here.mesh.add_rule(READER, "tag = x", "hide", reason="Ana hides the harbour.", space=here.space)
    odd = {"rule": "kind ~ run", "rule.effect": "hide"}  # words that no door takes, as another node may send them
    broken = await here.remember("Ana hides harbours.", kind="preference", tags=("rule",), attrs=odd, force=True)
    here_alone = ListQuery(spaces=(here.space,), kinds=("preference",))
    for query in (here_alone, replace(here_alone, spaces=(), everywhere=True)):
        listed = [one.id for one in (await here.mesh.list(READER, query)).memories]
        assert wish.id in listed
        assert not {rule.id, broken.id} & set(listed)
    assert (await here.mesh.bulk_forget(READER, here_alone, purge=False, dry_run=True)).ids == (wish.id,)
    named = replace(here_alone, tags_any=("rule",))
    by_tag = await here.mesh.bulk_forget(READER, named, purge=False, dry_run=True)
    assert set(by_tag.ids) == {rule.id, broken.id}
    line, place = await here.mesh.timeline(READER, wish.id)
    assert ([one.id for one in line], place) == ([wish.id], 0)
    assert (await here.mesh.related(READER, wish.id)).results == ()
    assert found(await here.recall("harbour")) == [wish.content]
    await here.mesh.delete_rule(READER, rule.id)
