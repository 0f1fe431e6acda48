"""Every error names the party at fault, carries its fields, and survives the way between two processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from mnemesh_memory.values import errors
from mnemesh_memory.values.errors import (
    DiskFull,
    InvalidArgument,
    MnemeshError,
    NotFound,
    Overloaded,
    PermissionDenied,
    SecretRefused,
    count_of,
    plain,
    shorten,
)

GRPC_STATUS_NAMES = {
    "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "ALREADY_EXISTS", "ABORTED", "UNAUTHENTICATED",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "DATA_LOSS", "INTERNAL",
    "OUT_OF_RANGE",
}  # fmt: skip


def leaves(base: type[MnemeshError] = MnemeshError) -> Iterator[type[MnemeshError]]:
    """Every class below `base` that the errors module defines."""
    for cls in base.__subclasses__():
        if cls.__module__ == errors.__name__:
            yield cls
            yield from leaves(cls)


def example(cls: type[MnemeshError]) -> MnemeshError:
    """One error of each class, made as the code makes it."""
    if cls is InvalidArgument:
        return InvalidArgument("limit", 0, "1 to 200")
    if cls is SecretRefused:
        return SecretRefused("content", "github-token")
    if cls is NotFound:
        return NotFound("memory", "018f6f0e", "look again")
    if cls is PermissionDenied:
        return PermissionDenied("ana", "write", "reader of team/*, @ana", space="team/a")
    if cls is Overloaded:
        return Overloaded("inbox of ledger-0", 1024, retry_after_s=1.5)
    if cls is DiskFull:
        return DiskFull(5 << 20, 16 << 20)
    return cls("the message", field="data_dir", value="/data", limit=3)


ALL = sorted(leaves(), key=lambda cls: cls.__name__)


def test_there_are_the_leaves_that_the_doors_know() -> None:
    assert len(ALL) >= 12
    assert {cls.code for cls in ALL} <= GRPC_STATUS_NAMES


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickle_with_its_class_message_and_fields(cls: type[MnemeshError], protocol: int) -> None:
    error = example(cls)
    back = pickle.loads(pickle.dumps(error, protocol))
    assert type(back) is cls
    assert (back.message, back.fields, str(back), back.code) == (error.message, error.fields, str(error), cls.code)
    assert error.fields, "an error without fields would make this test blind"


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_error_that_was_copied_can_be_pickled_again(cls: type[MnemeshError]) -> None:
    error = example(cls)
    twice = pickle.loads(pickle.dumps(copy.copy(pickle.loads(pickle.dumps(error)))))
    assert (type(twice), twice.message, twice.fields) == (cls, error.message, error.fields)


def test_a_bad_argument_names_field_value_and_limit() -> None:
    error = InvalidArgument("limit", 0, "a whole number from 1 to 200")
    assert error.fields == {"field": "limit", "value": "0", "limit": "a whole number from 1 to 200"}
    for part in ("limit", "0", "a whole number from 1 to 200"):
        assert part in error.message


def test_a_denial_names_who_asked_for_what_where_and_what_is_granted() -> None:
    error = PermissionDenied("ana", "write", "reader of team/*, @ana", space="ops")
    assert error.message == "ana may not write in space 'ops'; its token grants: reader of team/*, @ana"
    assert error.fields == {
        "principal": "ana", "action": "write", "space": "ops", "granted": "reader of team/*, @ana"
    }  # fmt: skip


def test_a_refused_secret_is_an_invalid_argument_that_does_not_show_it() -> None:
    error = SecretRefused("content", "github-token")
    assert error.code == "INVALID_ARGUMENT"
    assert error.fields["field"] == "content"
    assert error.fields["secret_type"] == "github-token"
    assert error.fields["value"] == "(not shown)"


def test_a_full_queue_says_when_to_come_back() -> None:
    error = Overloaded("inbox of ledger-0", 1024, retry_after_s=0.2)
    assert error.fields["retry_after_s"] == 0.2
    assert error.fields["limit"] == 1024
    assert "try again in 0.2 s" in error.message


def test_an_error_about_a_name_says_which_field_held_it() -> None:
    for error in (NotFound("memory", "abc"), InvalidArgument("id", "abc", "a prefix that fits one memory only")):
        named = error.named("to")
        assert (type(named), named.fields["field"], named.message.count("to: ")) == (type(error), "to", 1)
        assert "id:" not in named.message


def test_not_found_tells_what_was_looked_for_and_the_hint() -> None:
    assert "'abc'" in NotFound("memory", "abc", "look again").message
    assert NotFound("memory", "abc", "look again").message.endswith("; look again")
    assert not NotFound("memory", "abc").message.endswith(";")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("short", "'short'"),
        (0, "0"),
        (float("nan"), "nan"),
        ("a\nb\x00\x1b[31m", r"'a\nb\x00\x1b[31m'"),
        ("\ud800", r"'\ud800'"),
    ],
)
def test_a_value_is_shown_on_one_line_without_control_characters(value: object, shown: str) -> None:
    assert shorten(value) == shown
    shorten(value).encode()


def test_a_long_value_is_cut_to_the_limit_and_says_so() -> None:
    for length in (77, 78, 79, 80, 10_000):
        shown = shorten("x" * length)
        assert len(shown) <= 80
        assert shown.endswith("...") == (length > 78)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("32769 bytes", "32769 bytes"),
        ("33 spaces", "33 spaces"),
        ("1048577 bytes of content", "1048577 bytes of content"),
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"),
        ("-5 ms since 1970", "-5 ms since 1970"),
        ("5 apples", "'5 apples'"),
        ("32769 bytes\n", "'32769 bytes\\n'"),
    ],
)
def test_a_measure_or_a_time_is_shown_without_quotes_and_any_other_text_with_them(value: str, shown: str) -> None:
    assert InvalidArgument("content", value, "less").fields["value"] == shown


def test_what_is_missing_is_not_quoted_as_if_it_had_been_typed() -> None:
    missing = InvalidArgument("update", "nothing", "at least one field must be given", missing=True)
    assert missing.message == "update: missing; at least one field must be given"
    assert missing.fields == {"field": "update", "value": "nothing", "limit": "at least one field must be given"}
    assert InvalidArgument("title", "nothing", "another").message == "title: 'nothing' is not allowed; another"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("team/nope", "team/nope"), ("it's", "it's"), ("32769 bytes", "32769 bytes"), ("a\nb", "a\\nb")],
)
def test_a_field_that_is_always_a_text_has_no_quotes(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert plain("x" * 200).strip("x") == "..."


def test_one_of_a_thing_is_not_called_by_its_plural() -> None:
    assert [count_of(number, "entry") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert [count_of(number, "node") for number in (1, 2)] == ["1 node", "2 nodes"]
