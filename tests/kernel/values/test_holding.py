"""The memories that held at a moment when memories replaced one another, in chains of any shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_memory.policy import validity
from mnemesh_memory.policy.validity import held, stood_instead, successors
from mnemesh_memory.values.model import Link, Memory

MOMENT: Final = 5
TIMES: Final = st.none() | st.integers(0, 9)


@st.composite
def chains(draw: st.DrawFn) -> dict[str, Memory]:
    """Some memories each of which may have been replaced by any other: chains that meet, and circles."""
    names = [f"m{number}" for number in range(draw(st.integers(1, 9)))]
    after = {name: draw(st.sampled_from(["", *names, "gone"])) for name in names}
    return {
        name: plain_memory(
            name, name, space=draw(st.sampled_from(["a", "a", "a", "b"])), superseded_by=after[name],
            state=draw(st.sampled_from(["forgotten", "superseded"])) if after[name] else "active",
            valid_from=draw(TIMES), valid_to=draw(TIMES),
            links=tuple(Link("supersedes", old) for old in names if after[old] == name),
        )
        for name in names
    }  # fmt: skip


def one_by_one(memory: Memory, others: Mapping[str, Memory]) -> Memory | None:
    """As the words say it."""
    walked = [one for one in successors(memory, others) if one.state != "forgotten" and held(one, MOMENT, others)]
    return walked[-1] if walked else None


@settings(max_examples=400, derandomize=True, database=None)
@given(everything=chains(), data=st.data())
def test_all_at_once_gives_what_each_alone_gives(everything: dict[str, Memory], data: st.DataObject) -> None:
    asked = [everything[name] for name in data.draw(st.permutations(sorted(everything)))]
    expected = {one.id: instead for one in asked if (instead := one_by_one(one, everything)) is not None}
    assert stood_instead(asked, MOMENT, everything) == expected


def test_a_chain_is_judged_once_for_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 500
    everything = {
        f"{place}": plain_memory(f"{place}", space="a", state="superseded", superseded_by=f"{place + 1}", valid_from=9)
        for place in range(number)
    }  # fmt: skip
    judged = 0

    def counted(memory: Memory, moment: int, others: Mapping[str, Memory]) -> bool:
        nonlocal judged
        judged += 1
        return held(memory, moment, others)

    monkeypatch.setattr(validity, "held", counted)
    assert not stood_instead(everything.values(), MOMENT, everything)
    assert 0 < judged < number
