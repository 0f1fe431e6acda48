"""Ids on the command line: short, and never so short that two of one answer look alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemesh.cli.people.short_ids import CHARS, shortened
from mnemesh.short_id import short_id
from mnemesh_memory.values.ids import derived_id, fresh_id

# Ids of one millisecond begin alike.
alike = st.integers(0, 2**62).map(lambda number: f"018f6f0e-7c1a-7000-8000-{number:012x}"[:36])


@given(st.lists(st.uuids(version=4).map(str) | alike, max_size=6, unique=True))
def test_every_id_of_an_answer_stays_the_only_one_that_begins_so(named: list[str]) -> None:
    for id_, line in zip(named, shortened((f"mnemesh get {one}" for one in named), named), strict=True):
        short = line.removeprefix("mnemesh get ")
        assert len(short) in CHARS
        assert [one for one in named if one.startswith(short)] == [id_]


def test_an_id_in_a_text_that_is_not_of_the_answer_stays_whole() -> None:
    one, other = "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", "018f6f0e-9b02-7000-8000-3f1f8d2f6a11"
    assert list(shortened([f"{one} {other}"], [one])) == [f"018f6f0e-7c1a-7000-8000 {other}"]


def test_a_command_about_one_memory_of_a_batch_names_that_memory_alone() -> None:
    batch = [fresh_id(1_700_000_000_000, "team", "ana", number.to_bytes(16)) for number in range(200)]
    for id_ in batch:
        (line,) = shortened([f"mnemesh forget {id_}"], [id_])
        assert [one for one in batch if one.startswith(line.removeprefix("mnemesh forget "))] == [id_]


def test_a_listing_of_a_batch_shows_of_each_id_what_the_next_command_finds_alone() -> None:
    batch = [fresh_id(1_790_000_000_000, "team", "ana", number.to_bytes(16)) for number in range(200)]
    batch += [derived_id("team", "ana", str(number)) for number in range(200)]
    for id_ in batch:
        assert [other for other in batch if other.startswith(short_id(id_))] == [id_]
    assert min(len(short_id(id_)) for id_ in batch) == 13
