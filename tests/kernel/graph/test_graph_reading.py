"""Relations that the graph reads in a text: right on labelled sentences, bounded on every other."""

from __future__ import annotations

import pytest
from bench.knowledge.graph import PRECISION_MIN, RECALL_MIN, SETS, labelled, score
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh_memory.graph.extraction import extract
from mnemesh_memory.graph.relations import (
    ENTITIES_A_TEXT_MAX,
    FAN_A_TEXT_MAX,
    RELATIONS,
    RELATIONS_A_TEXT_MAX,
    entity_key,
)
from mnemesh_memory.graph.words import STOP_WORDS


def triples(text: str, paths: tuple[str, ...] = ()) -> set[tuple[str, str, str]]:
    return {(one.subject, one.type, one.object) for one in extract(text, paths=paths).relations}


@pytest.mark.parametrize("name", SETS)
def test_labelled_sentences_are_read_within_the_floors(name: str) -> None:
    rows = labelled(name)
    assert len(rows) >= 100
    assert all(relation in RELATIONS for _, labels in rows for _, relation, _ in labels)
    whole, _ = score(rows)
    assert whole.precision >= PRECISION_MIN
    assert whole.recall >= RECALL_MIN


def test_lines_of_code_belong_to_the_one_file_of_the_memory() -> None:
    lines = ("from decimal import Decimal", "import stripe", "class Invoice(Base):", "    def total(self) -> Decimal:")
    code = "\n".join(lines)
    assert triples(code, ("src/billing.py",)) == {
        ("src/billing.py", "imports", "decimal"),
        ("src/billing.py", "imports", "stripe"),
        ("src/billing.py", "defines", "Invoice"),
        ("src/billing.py", "defines", "total"),
    }
    assert triples(code) == set(), "nobody says which file it is"
    assert triples('import { verify } from "jose";\n', ("auth.ts",)) == {("auth.ts", "imports", "jose")}
    assert triples("numpy==1.26.4\n") == {("numpy", "has_version", "1.26.4")}


def test_a_name_ends_with_its_sentence_and_begins_behind_its_owner() -> None:
    found = extract("The parser was written by Kim. Fixes go to Lee. Node.js 20 runs it, and Vue.js too.")
    assert {entity.name for entity in found.entities} == {"Kim", "parser", "Lee", "Node.js", "Vue.js"}
    assert triples("The planner depends on Ana's secret AardvarkPlan.") == {("planner", "depends_on", "AardvarkPlan")}
    assert triples("The planner depends on Ana's laptop.") == {("planner", "depends_on", "Ana's laptop")}


POOL = "PoolExhaustedError"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "PoolExhaustedError: no connection is free. Cause: pool size 5. Fix: raise pool size to 20.",
            {(POOL, "caused_by", "pool size 5"), (POOL, "fixed_by", "raise pool size to 20")},
        ),
        (
            "# PoolExhaustedError\n- **Root cause:** a leaked session; fix: close it in `finally`\n",
            {(POOL, "caused_by", "leaked session"), (POOL, "fixed_by", "close it in `finally")},
        ),
        ("PoolExhaustedError again. Fixed by migration 0042.", {(POOL, "fixed_by", "migration 0042")}),
        ("Fix: retry.\nOSError on Monday, then PoolExhaustedError.", {("OSError", "fixed_by", "retry")}),
        ("PoolExhaustedError again. Cause: unknown. Fix: none yet. Fixed by Kim.", set()),
        ("POOL_SIZE is 5. Fix: raise it to 20.", set()),
    ],
)
def test_a_cause_and_a_fix_belong_to_the_error_that_the_text_names(text: str, found: set[tuple[str, str, str]]) -> None:
    assert triples(text) == found


def test_a_stop_word_a_pronoun_and_a_day_are_never_entities() -> None:
    texts = (
        "It depends on the weather.",
        "Everyone owns quality.",
        "She uses it.",
        "The other one replaced that thing.",
    )
    assert [triples(text) for text in texts] == [set()] * len(texts)
    for word in STOP_WORDS:
        assert entity_key(word) == ""
    assert entity_key("Monday") == entity_key("The 42") == ""
    assert entity_key("the `Billing` Service") == entity_key("billing service") == "billing service"


def test_a_text_that_makes_itself_the_cause_of_everything_gets_a_bounded_share() -> None:
    hostile = "\n".join(f"Blackbird caused outage{number} and crash{number}." for number in range(500))
    found = extract(hostile)
    assert len(found.relations) <= FAN_A_TEXT_MAX
    assert len(found.entities) <= ENTITIES_A_TEXT_MAX
    spread = "\n".join(f"Service{number}a depends on Base{number}b." for number in range(500))
    assert len(extract(spread).relations) == RELATIONS_A_TEXT_MAX


def test_binary_looking_text_and_a_line_of_30_kb_give_next_to_nothing() -> None:
    assert extract("\x00\x01\x7fELF\x02uses\x00\x03 depends on \x04" * 400) == extract("")
    assert extract("x" * 30_000).relations == ()
    assert len(extract("a uses b " * 3_400).relations) <= FAN_A_TEXT_MAX
    assert len(extract(("lorem ipsum, " * 2_500) + ".").entities) <= ENTITIES_A_TEXT_MAX


def test_languages_without_spaces_give_paths_and_identifiers_and_no_sentence_as_a_name() -> None:
    japanese = "パーサーは src/parse.rs にあり、parse_args を使う。データベースは重要です。"
    assert {entity.name for entity in extract(japanese).entities} == {"src/parse.rs", "parse_args"}
    assert extract("这是一个没有空格的很长的句子" * 200).entities == ()
    assert extract("ระบบนี้ใช้ฐานข้อมูล" * 50).relations == ()


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_no_text_breaks_the_reader_or_its_bounds(text: str) -> None:
    found = extract(text, paths=("a.py",))
    assert len(found.relations) <= RELATIONS_A_TEXT_MAX
    assert len(found.entities) <= ENTITIES_A_TEXT_MAX
    assert all(relation.type in RELATIONS for relation in found.relations)


WORDS = st.sampled_from(
    [
        "Dana",
        "owns",
        "the",
        "uses",
        "billing",
        "service",
        "and",
        "depends",
        "on",
        "Redis",
        "because",
        ",",
        "caused",
        "by",
        "over",
        "chose",
        "replaced",
        "in",
        "4.2",
        ",",
        "not",
        "was",
        "is",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=60).map(" ".join))
def test_words_in_any_order_break_nothing_and_name_no_stop_word(text: str) -> None:
    for relation in extract(f"{text}.").relations:
        assert entity_key(relation.subject)
        assert entity_key(relation.object) or relation.type == "has_version"
