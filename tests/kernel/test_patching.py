"""The fields a memory inherits from its predecessor."""

from __future__ import annotations

import pytest

from mnemesh_memory.policy.patches import succeeding
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.limits import TAGS_MAX
from mnemesh_memory.values.model import Draft, Memory


def old(*tags: str) -> Memory:
    return Memory(
        id="018f6f0e-7c1a-7000-8000-000000000001",
        space="team/a",
        kind="decision",
        title="Pay day",
        content="We pay on the first.",
        state="active",
        by="ana",
        created_at=0,
        updated_at=0,
        heads=("1@00",),
        tags=tags,
        importance=0.9,
        tier="pinned",
    )


def test_a_successor_takes_over_space_title_kind_and_tags_alone() -> None:
    draft = Draft(content="We pay on the second.")
    assert succeeding(draft, old("pay")) == Draft(
        content="We pay on the second.", title="Pay day", space="team/a", kind="decision", tags=("pay",)
    )


def test_what_a_successor_names_is_its_own() -> None:
    draft = Draft(content="x", title="Bank", kind="fact", tags=("bank",), space="team/a")
    assert succeeding(draft, old("pay")) == draft


def test_tags_that_several_writers_gathered_beyond_the_limit_are_to_be_named_anew() -> None:
    gathered = old(*(f"tag {n}" for n in range(TAGS_MAX + 1)))
    with pytest.raises(InvalidArgument, match="tags: 65 values is not allowed; at most 64; 018f6f0e"):
        succeeding(Draft(content="x"), gathered)
    assert succeeding(Draft(content="x", tags=("pay",)), gathered).tags == ("pay",)
