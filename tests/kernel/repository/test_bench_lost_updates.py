"""The state that `bench.lost_updates` compares between nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bench.lost_updates.verdict import state_of

from mnemesh.api.values.history import Revision
from mnemesh.api.values.memories import Memory

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
REVISION = Revision(
    id="1@a", op="put", kind="fact", title="", content="text", by="ana", at=NOON, parents=(), node="node-a", head=True,
    shown=True, importance=None, tier="normal", paths=(), source=None, valid_from=None, valid_to=None, keywords=(),
    attrs={},
)  # fmt: skip
MEMORY = Memory(
    id="m", space="s", kind="fact", title="", content="text", state="active", tags=(), importance=None, tier="normal",
    paths=(), source=None, valid_from=None, valid_to=None, keywords=(), attrs={}, links=(), by="ana", created_at=NOON,
    updated_at=NOON, heads=("1@a",), version=1, conflicts=(), superseded_by="", trust="own", suspicious=False,
)  # fmt: skip


def state(memory: Memory, *revisions: Revision) -> str:
    return state_of({memory.id: memory}, {memory.id: revisions})


def test_nodes_that_hold_the_same_have_one_state_whoever_of_them_knows_the_writer() -> None:
    other = replace(REVISION, id="2@b", head=False)
    assert state(MEMORY, REVISION, other) == state(replace(MEMORY, trust="peer"), other, REVISION)


def test_another_text_winner_vote_or_past_is_another_state() -> None:
    changed = [
        state(MEMORY, REVISION),
        state(replace(MEMORY, content="another text"), REVISION),
        state(replace(MEMORY, heads=("2@b", "1@a")), REVISION),
        state(replace(MEMORY, useful=1), REVISION),
        state(MEMORY, replace(REVISION, node="node-b")),
        state(MEMORY, REVISION, replace(REVISION, id="2@b")),
    ]
    assert len(set(changed)) == len(changed)
