"""Ids on the command line: short, and never so short that two of one answer look alike."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mnemesh.api import values, wire
from mnemesh.cli.people.memories import remembered
from mnemesh.cli.people.memory_notes import note_lines
from mnemesh.short_id import CHARS, TIMED_CHARS, WHOLE_CHARS, short_id, shortened, with_short_ids
from mnemesh_memory.values.ids import derived_id, fresh_id
from mnemesh_proto.v1 import memory_pb2

# Ids of one millisecond begin alike.
alike = st.integers(0, 2**62).map(lambda number: f"018f6f0e-7c1a-7000-8000-{number:012x}"[:36])


@given(st.lists(st.uuids(version=4).map(str) | alike, max_size=6, unique=True))
def test_every_id_of_an_answer_stays_the_only_one_that_begins_so(named: list[str]) -> None:
    for id_, line in zip(named, shortened((f"mnemesh get {one}" for one in named), named), strict=True):
        short = line.removeprefix("mnemesh get ")
        assert len(short) in (CHARS, TIMED_CHARS, WHOLE_CHARS)
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


def test_a_reason_of_a_node_has_the_form_of_the_other_lines_and_a_quoted_text_stays() -> None:
    id_ = derived_id("team", "ana", "1")
    said = with_short_ids(f"replaces {id_} “the ticket {id_}”: another value")
    assert said == f"replaces {short_id(id_)} “the ticket {id_}”: another value"


def test_every_line_about_a_write_names_a_memory_in_one_form() -> None:
    old, new = (derived_id("team", "ana", text) for text in ("old", "new"))
    message = memory_pb2.RememberResponse(
        action="SUPERSEDE",
        memory=memory_pb2.Memory(id=new, space="team", content="Tokens expire after 60 minutes"),
        reason=f"replaces {old} “Tokens expire after 15 minutes”: another value",
        related=[memory_pb2.RelatedMemory(id=old, title="Tokens expire after 15 minutes", similarity=0.9)],
        hint=f'restore(id="{old}") if both hold',
    )
    done = wire.to_value(message, values.Remembered)
    told = "\n".join(remembered(done))
    assert set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]+", told)) == {short_id(old), short_id(new)}


def test_a_result_names_what_it_replaces_in_the_same_form() -> None:
    old, newer = (derived_id("team", "ana", text) for text in ("old", "newer"))
    message = memory_pb2.Memory(replaces=[memory_pb2.Replaced(id=old)], older_than=[newer], may_be_replaced_by=[newer])
    lines = list(note_lines(wire.to_value(message, values.Memory)))
    assert [re.findall(r"[0-9a-f]{8}-[0-9a-f-]+", line) for line in lines] == [
        [short_id(old)],
        [short_id(newer)],
        [short_id(newer)],
    ]
