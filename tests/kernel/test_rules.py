"""The owner's rules: what counts more, less or not at all."""

from __future__ import annotations

import pytest

from mnemesh_memory.policy.recall_rules import RULES_MAX, Rule, narrowed, rules_of, weighed
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.kinds import KINDS
from mnemesh_memory.values.model import Memory, Query

RULES = "tag=decision +0.3; kind=bug -0.5;path=docs/* +1; kind=run hide ; tag=draft hide;"


def test_rules_are_read_as_they_are_written() -> None:
    assert rules_of(RULES) == (
        Rule("tag", "decision", 0.3), Rule("kind", "error", -0.5), Rule("path", "docs/*", 1.0),
        Rule("kind", "run", None), Rule("tag", "draft", None),
    )  # fmt: skip
    assert rules_of(" ; ") == ()


@pytest.mark.parametrize(
    "text",
    [
        "tag=x", "tag= +1", "tag +1", "size=x +1", "tag=x 0.5", "tag=x +2", "tag=x -1.1", "tag=x +nan", "tag=x +inf",
        "tag=x +", "path=docs/* hide", "kind=nonsense +1", "tag=x hidden",
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="recall_rules"):
        rules_of(text)


def test_rules_are_bounded() -> None:
    assert len(rules_of("tag=x +1;" * RULES_MAX)) == RULES_MAX
    with pytest.raises(InvalidArgument, match=f"at most {RULES_MAX}"):
        rules_of("tag=x +1;" * (RULES_MAX + 1))


def test_of_several_that_hold_the_strongest_counts_and_hiding_weighs_nothing() -> None:
    memory = Memory(
        id="m", space="s", kind="error", title="", content="x", state="active", by="ana", created_at=0, updated_at=0,
        heads=("h",), tags=("decision", "draft"), paths=("docs/a.md",),
    )  # fmt: skip
    assert weighed(memory, rules_of(RULES)) == (1.0, 0.5)
    assert weighed(memory, rules_of("tag=decision +0.3; tag=other -1")) == (0.3, 0.0)
    assert weighed(memory, ()) == (0.0, 0.0)


def test_what_is_hidden_is_filtered_unless_it_is_asked_for_by_name() -> None:
    rules = rules_of(RULES)
    plain = narrowed(Query(text="x"), rules)
    assert plain.tags_none == ("draft",)
    assert set(KINDS) - set(plain.kinds) == {"run"}
    assert narrowed(Query(text="x", tags_any=("draft",)), rules).tags_none == ()
    assert narrowed(Query(text="x", kinds=("run",)), rules).kinds == ("run",)
    assert narrowed(Query(text="x"), rules_of("tag=x +1")) == Query(text="x")
