"""The candidates of the write guard, with the times in which memories hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from plain_memories import plain_memory

from mnemesh_memory.policy.neighbourhood import candidates, says_no_more
from mnemesh_memory.policy.rules import triggers
from mnemesh_memory.values.model import Caller, Draft

OWNER = Caller("owner/ana", "owner")
NOW, LATER, PAST = 2_000, 3_000, 1_000


@pytest.mark.parametrize(
    ("begins", "text_begins", "later"),
    [
        (LATER, None, []),
        (LATER, NOW, []),
        (LATER, LATER, [True]),
        (PAST, None, [False]),
        (None, PAST, [False]),
        (NOW, PAST, [True]),
        (PAST, NOW, [False]),
    ],
)
def test_a_text_of_today_ends_no_memory_that_only_begins_later(
    begins: int | None, text_begins: int | None, later: list[bool]
) -> None:
    memory = plain_memory("old", "The limit is 5", valid_from=begins)
    text = Draft(content="The limit is 9", space=memory.space, valid_from=text_begins)
    beside = candidates(OWNER, text, {"old": 0.9}, {"old": memory}, NOW)
    assert [one.later for one in beside] == later


def test_a_memory_with_a_field_of_its_own_says_more_than_another_of_its_text() -> None:
    plain = plain_memory("old", "The limit is 5")
    own: tuple[dict[str, Any], ...] = (
        {"tier": "pinned"},
        {"kind": "decision"},
        {"attrs": {"ticket": "7"}},
        {"paths": ("a.py",)},
        {"valid_from": PAST},
        {"valid_to": LATER},
        {"tags": (triggers.TAG,)},
    )
    for fields in own:
        assert not says_no_more(replace(plain, id="new", **fields), plain)
    rich = replace(plain, tier="pinned", kind="decision", attrs={"ticket": "7"}, paths=("a.py", "b.py"))
    less: tuple[dict[str, Any], ...] = (
        {},
        {"paths": ("a.py",)},
        {"attrs": {"trust": "imported", "ticket": "7"}},
        {"tier": "archive"},
    )
    for fields in less:
        assert says_no_more(replace(plain, id="new", **fields), rich)
    assert not says_no_more(plain, replace(plain, tier="archive"))
