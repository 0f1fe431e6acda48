"""A quick copy is what `dataclasses.replace` makes."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from mnemesh_memory.ranking.answers import Hit, hit_with
from mnemesh_memory.values.model import Memory
from mnemesh_memory.values.quick_copy import memory_with

MEMORY = Memory(
    id="a", space="s", kind="fact", title="", content="text", state="active", by="me", created_at=1, updated_at=2,
    heads=("1",), tags=("t",), attrs={"k": "v"}, tied=False, arrived_at=7,
)  # fmt: skip


def test_a_quick_copy_has_each_field_of_the_usual_one_and_leaves_the_first_as_it_is() -> None:
    before = replace(MEMORY)
    quick, usual = memory_with(MEMORY, trust="own", version=3), replace(MEMORY, trust="own", version=3)
    assert all(getattr(quick, one.name) == getattr(usual, one.name) for one in fields(Memory))
    assert before == MEMORY
    hit = Hit(memory=MEMORY, score=0.5, marks=((0, 2),))
    assert hit_with(hit, memory=quick) == replace(hit, memory=quick)


def test_a_quick_copy_knows_no_other_field() -> None:
    with pytest.raises(KeyError):
        memory_with(MEMORY, nothing=1)
