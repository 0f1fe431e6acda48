"""Laws of agreement: likeness never merges, order of arguments never matters, a plan is a function of its portion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_memory.consolidation.agreement import consistent, read, restates
from mnemesh_memory.consolidation.portions import plan
from mnemesh_memory.consolidation.steps import MERGE, PROMOTE, Portion
from mnemesh_memory.values.model import Memory, Source

SUBJECTS = st.sampled_from(["gateway", "mailer", "search index", "staging database", "Ana's parser"])
VERBS = st.sampled_from(["listens on port", "keeps", "drops", "retries after", "holds"])
NUMBERS = st.integers(0, 9_999)
SENTENCES = st.builds(lambda subject, verb, number: f"The {subject} {verb} {number}.", SUBJECTS, VERBS, NUMBERS)


def memory(number: int, text: str, kind: str = "episode") -> Memory:
    id_, source = f"018bcfe5-0000-8000-8000-{number:012x}", Source(session=f"s{number}")
    return plain_memory(id_, text, number, space="team", kind=kind, by="owner", source=source)


def portion(memories: list[Memory], fresh: list[str] | None = None) -> Portion:
    near = {one.id: tuple((other.id, 0.9) for other in memories if other is not one) for one in memories}
    ids = [one.id for one in memories] if fresh is None else fresh
    return Portion(
        space="team", principal="owner", domain="general", fresh=tuple(ids),
        memories={one.id: one for one in memories}, near=near,
    )  # fmt: skip


@given(SENTENCES, SENTENCES)
def test_who_restates_whom_does_not_depend_on_the_order(one: str, other: str) -> None:
    assert restates(one, other) == restates(other, one)
    assert consistent(read(one), read(other), 0.9) == consistent(read(other), read(one), 0.9)


@given(SENTENCES, NUMBERS)
def test_another_number_or_a_negation_is_never_the_same(text: str, number: int) -> None:
    other = text.rsplit(" ", 1)[0] + f" {number}."
    assert restates(text, other) == (text == other)
    assert not restates(text, text.replace("The ", "No ", 1))
    assert not consistent(read(text), read(f"It is not so that {text}"), 0.9)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Retry when the load is < 5.", "Retry when the load is > 5."),
        ("The parser is written in C++.", "The parser is written in C."),
        ("The offset is -5.", "The offset is 5."),
        ("Stop when x != y.", "Stop when x == y."),
        ("The stand costs 5 \u20ac.", "The stand costs 5 $."),
    ],
)
def test_another_sign_is_never_the_same(one: str, other: str) -> None:
    assert not restates(one, other)
    assert restates(one, one.rstrip("."))


@pytest.mark.parametrize("sentence", ["Ana reviews the change of the parser", "Ana reviews it, Ben ships it"])
def test_an_end_beyond_what_is_compared_is_never_the_same(sentence: str) -> None:
    text = ". ".join([sentence] * 20)
    assert not restates(f"{text}. Always call Ana first.", f"{text}. Never call Ana first.")
    assert not restates(f"{text}. Never use the old key.", f"{text}.")
    assert restates(f"{text}. Ben owns it.", f"{text}, Ben owns it")


@given(st.permutations(range(4)), SENTENCES)
def test_the_same_group_gives_the_same_fact_in_whatever_order_it_comes(order: list[int], text: str) -> None:
    texts = [
        text,
        f"Again {text[0].lower()}{text[1:]}",
        text.replace(".", ", again."),
        text.replace("The", "Today the"),
    ]
    memories = [memory(number, words) for number, words in enumerate(texts)]
    (step,) = plan(portion(memories)).steps
    (other,) = plan(portion([memories[place] for place in order])).steps
    assert (step.action, step.id, step.others) == (PROMOTE, other.id, other.others)


@given(st.lists(SENTENCES, min_size=2, max_size=6))
def test_a_merge_keeps_one_of_each_statement(texts: list[str]) -> None:
    memories = [memory(number, text, "fact") for number, text in enumerate(texts)]
    hidden = {other for step in plan(portion(memories)).steps if step.action == MERGE for other in step.others}
    assert {one.content for one in memories if one.id not in hidden} == set(texts)
    assert len(memories) - len(hidden) == len(set(texts))


def test_a_single_disagreement_stops_a_promotion() -> None:
    agree = [
        "The mailer drops mails at night.",
        "At night the mailer drops mails.",
        "The mailer dropped mails at night.",
    ]
    memories = [memory(number, text) for number, text in enumerate(agree)]
    assert [step.action for step in plan(portion(memories)).steps] == [PROMOTE]
    against = memory(9, "The mailer does not drop mails at night.")
    assert plan(portion([*memories, against])).steps == ()


def test_three_episodes_of_one_session_are_no_repetition() -> None:
    memories = [memory(number, f"The mailer drops mails at night{'!' * number}") for number in range(3)]
    assert plan(portion([replace(one, source=Source(session="s")) for one in memories])).steps == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The gateway listens on port 8443.", "On port 8443 the gateway is listening.", True),
        ("The data team owns the orders topic.", "The orders topic is owned by the data team.", True),
        ("Backups are kept for 30 days in the archive.", "The backups are kept in the archive for 30 days.", True),
        ("Re billing exports, ask Ivo", "ask Ivo re billing exports", True),
        ("The orders topic is owned by the data team.", "The data team is owned by the orders topic.", False),
        ("Traffic goes from eu to us.", "Traffic goes from us to eu.", False),
        ("Billing calls the auth service.", "The auth service calls billing.", False),
        ("The cache sits in front of the api.", "The api sits in front of the cache.", False),
        ("The gateway keeps 5 tokens.", "The gateway drops 5 tokens.", False),
        ("PR 17 is blocked by the security review.", "PR 29 is blocked by the security review.", False),
        ("Week 12 on-call is Ivan.", "Week 40 on-call is Ivan.", False),
        ("PR 17 blocks PR 29.", "PR 29 blocks PR 17.", False),
        ("PR 17 waits for the security review.", "For the security review PR 17 waits.", True),
    ],
)
def test_phrases_may_change_their_place_and_roles_may_not(one: str, other: str, same: bool) -> None:
    assert restates(one, other) is same


def test_errors_with_other_numbers_are_other_errors() -> None:
    texts = [f"Payment webhook returned HTTP 500, ticket {ticket}." for ticket in (101, 102, 103)]
    texts += ["The mailer gave up after 3 attempts.", "The mailer gave up after three attempts."]
    memories = [memory(number, text, "error") for number, text in enumerate(texts)]
    assert [step for step in plan(portion(memories)).steps if step.action == MERGE] == []
    facts = [memory(number, text, "fact") for number, text in enumerate(texts)]
    (step,) = [step for step in plan(portion(facts)).steps if step.action == MERGE]
    assert (step.id, step.others) == (facts[3].id, (facts[4].id,))
