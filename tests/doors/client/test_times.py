"""A time as text means the same to the client and to the doors."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from mnemesh import errors
from mnemesh.api.wire import timestamp
from mnemesh_gateway.contract.message_json import from_json
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_proto.times import TIME_RULE
from mnemesh_proto.v1 import recall_pb2


def at_a_door(text: str) -> Timestamp:
    return from_json(recall_pb2.RecallRequest, {"since": text}).since


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400),
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01t01:00:10.5+01:00", 10),
        ("1970-01-01t00:00:10z", 10),
    ],
)
def test_a_time_as_text_is_the_same_to_the_client_and_to_the_doors(text: str, seconds: int) -> None:
    assert timestamp("since", text) == at_a_door(text)
    assert at_a_door(text).seconds == seconds


@pytest.mark.parametrize("text", ["soon", "2026-02-30", "2026-05-01T12:00:00", "20260501", ""])
def test_a_text_that_is_no_time_is_refused_by_both_with_the_same_rule(text: str) -> None:
    with pytest.raises(errors.InvalidArgument) as ours:
        timestamp("since", text)
    with pytest.raises(InvalidArgument) as theirs:
        at_a_door(text)
    assert TIME_RULE in str(ours.value)
    assert TIME_RULE in str(theirs.value)
