"""The reader of a sentence: values, negations, old values and cues of change."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.policy.judge.sameness import says_the_same
from mnemesh_memory.policy.judge.slots import Statement, is_decision, statement, statements

WORDS: Final = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
)


def shown(one: Statement, places: frozenset[int]) -> list[str]:
    return [one.tokens[place].text for place in sorted(places) if place in one.content]


def values(text: str) -> list[tuple[str, str]]:
    return [(token.dimension, token.key) for token in statement(text).tokens if token.dimension]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It takes 60 minutes", "It takes one hour"),
        ("It is kept for seven days", "It is kept for a week"),
        ("It holds 2 GB", "It holds 2000 MB"),
        ("It runs every night", "It runs nightly"),
        ("It runs twice a week", "It runs 2 times per week"),
        ("It is on 12 April", "It is on April 12"),
        ("It has three nodes", "It has 3 nodes"),
    ],
)
def test_two_spellings_of_a_value_are_one_value(one: str, other: str) -> None:
    assert values(one) == values(other) != []


def spelled(number: int, joiner: str) -> str:
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            word = joiner if 0 < rest < 100 else " "
            return f"{spelled(number // size, joiner)} {name}{word * bool(rest)}{spelled(rest, joiner) * bool(rest)}"
    return WORDS[number] if number < 20 else f"{WORDS[number // 10 + 18]}{f'-{WORDS[number % 10]}' * bool(number % 10)}"


@given(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.sampled_from((" ", " and ")))
@settings(max_examples=200, derandomize=True, database=None, deadline=None)
def test_a_number_in_words_is_the_number_in_digits_and_no_other(one: int, other: int, joiner: str) -> None:
    in_words = values(f"It has {spelled(one, joiner)} racks")
    assert in_words == values(f"It has {spelled(one, joiner).replace('-', ' ')} racks")
    assert in_words == values(f"It has {one} racks")
    assert (in_words == values(f"It has {other} racks")) == (one == other)
    assert says_the_same(f"It has {spelled(one, joiner)} racks", f"It has {one} racks")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It takes one and a half thousand", ["1500"]),
        ("It takes two and a half hours", ["9000 duration"]),
        ("It has two dozen", ["24"]),
        ("It has one hundred and two hundred", ["100", "200"]),
        ("It has five thousand and two thousand", ["5000", "2000"]),
        ("It is between one hundred and fifty", ["100-50"]),
        ("It takes twenty, thirty or two three", ["20", "30", "2", "3"]),
        ("It had a hundred once", ["100", "1"]),
        ("It has 20 five pane windows", ["20", "5"]),
        ("It has 1234567", ["1234567"]),
    ],
)
def test_numbers_that_stand_for_themselves_are_not_added_up(text: str, numbers: list[str]) -> None:
    assert [key for _, key in values(text)] == numbers


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("It is at https://a.example/b?c=1", "url"),
        ("It is in /etc/app.toml", "path"),
        ("It is ana@shop.example", "mail"),
        ("It is #incidents", "channel"),
        ("It is 2027-03-01", "date"),
        ("It is at 09:30", "time"),
        ("It is v1.2", "version"),
        ("It is 10.0.0.1/16", "address"),
        ("It is +49 30 5550 121", "phone"),
        ("It is 85 %", "share"),
        ("It is on Tuesdays", "weekday"),
        ("It is open from 7 to 15", "range"),
    ],
)
def test_a_value_has_its_dimension(text: str, dimension: str) -> None:
    assert [found for found, _ in values(text)] == [dimension]


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("Billing moved from Oracle to MySQL", ["Oracle"]),
        ("We use Redis instead of Memcached", ["Memcached"]),
        ("The images no longer go to Quay", ["go", "Quay"]),
        ("We dropped Bazel for the monorepo", ["Bazel"]),
        ("Confluence was retired", ["Confluence"]),
        ("Traefik has replaced nginx as the ingress", ["nginx"]),
        ("The old broker was RabbitMQ", []),
        ("I work from 7 to 15", []),
        ("The janitor removes old builds", []),
    ],
)
def test_a_state_that_the_sentence_calls_past_is_known(text: str, old: list[str]) -> None:
    one = statement(text)
    assert shown(one, one.old) == old


def test_a_negation_reaches_to_the_end_of_its_clause() -> None:
    one = statement("Sofia doesn't eat meat but she eats fish")
    assert shown(one, one.negated) == ["eat", "meat"]


def test_a_habit_is_no_change_and_a_report_of_a_change_is_one() -> None:
    assert not statement("The load balancer switches nodes").strong
    assert statement("The load balancer was switched to HAProxy").strong
    assert statement("From now on answer in English").strong


def test_titles_and_initials_end_no_sentence() -> None:
    assert len(statements("Dr. Chen advises us. She is here on Mondays.")) == 2


@pytest.mark.parametrize(
    ("text", "kind", "decided"),
    [
        ("We decided to use gRPC between services", "fact", True),
        ("Decision: one repository for all services", "fact", True),
        ("gRPC between services", "decision", True),
        ("The gateway decides which node answers", "fact", False),
    ],
)
def test_a_decision_is_known_by_kind_or_words(text: str, kind: str, decided: bool) -> None:
    assert is_decision(text, kind) is decided
