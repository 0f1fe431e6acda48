"""The candidates of the write guard, with the times in which memories hold."""

from __future__ import annotations

import pytest
from plain_memories import plain_memory

from mnemesh_memory.policy.neighbourhood import candidates
from mnemesh_memory.values.model import Caller, Draft

OWNER = Caller("owner/ana", "owner")
NOW, LATER, PAST = 2_000, 3_000, 1_000


@pytest.mark.parametrize(
    ("begins", "text_begins", "later"),
    [
        (LATER, None, True),
        (LATER, NOW, True),
        (PAST, None, False),
        (None, PAST, False),
        (NOW, PAST, True),
        (PAST, NOW, False),
    ],
)
def test_a_text_of_today_ends_no_memory_that_only_begins_later(
    begins: int | None, text_begins: int | None, later: bool
) -> None:
    memory = plain_memory("old", "The limit is 5", 0, valid_from=begins)
    text = Draft(content="The limit is 9", space=memory.space, valid_from=text_begins)
    (candidate,) = candidates(OWNER, text, {"old": 0.9}, {"old": memory}, NOW)
    assert candidate.later is later
