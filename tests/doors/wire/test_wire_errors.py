"""Every leaf of MnemeshError has one form on each door."""

from __future__ import annotations

import json

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo

from mnemesh_gateway.contract import status
from mnemesh_memory.values import errors
from mnemesh_memory.values.errors import MnemeshError

TABLE: list[tuple[MnemeshError, str, int]] = [
    (errors.InvalidArgument("content", "", "1 to 9 bytes"), "INVALID_ARGUMENT", 422),
    (errors.SecretRefused("content", "AWS key"), "INVALID_ARGUMENT", 422),
    (errors.NotFound("memory", "x"), "NOT_FOUND", 404),
    (errors.FailedPrecondition("no", field="x"), "FAILED_PRECONDITION", 409),
    (errors.AlreadyExists("no"), "ALREADY_EXISTS", 409),
    (errors.Aborted("changed", heads=("1@a", "2@b")), "ABORTED", 409),
    (errors.OutOfRange("nothing was read", field="cursor", cursor="abc"), "OUT_OF_RANGE", 410),
    (errors.Unauthenticated("no token"), "UNAUTHENTICATED", 401),
    (errors.PermissionDenied("ana", "write", "reader of @ana", space="ops"), "PERMISSION_DENIED", 403),
    (errors.Overloaded("inbox", 1024, 0.2), "RESOURCE_EXHAUSTED", 429),
    (errors.QuotaReached("enough", field="max_memories", limit=3, retry_after_s=9.5), "RESOURCE_EXHAUSTED", 429),
    (errors.DiskFull(5 << 20, 16 << 20), "RESOURCE_EXHAUSTED", 429),
    (errors.Unavailable("starting", part="node"), "UNAVAILABLE", 503),
    (errors.DeadlineExceeded("late"), "DEADLINE_EXCEEDED", 504),
    (errors.DataLoss("damaged"), "DATA_LOSS", 500),
    (MnemeshError("base"), "INTERNAL", 500),
]
IDS = [type(error).__name__ for error, _, _ in TABLE]


def leaves(cls: type[MnemeshError] = MnemeshError) -> set[type[MnemeshError]]:
    return {cls}.union(*(leaves(sub) for sub in cls.__subclasses__()))


def test_the_table_holds_every_leaf() -> None:
    assert {type(error) for error, _, _ in TABLE} == {leaf for leaf in leaves() if leaf.__module__ == errors.__name__}


@pytest.mark.parametrize(("error", "code", "http"), TABLE, ids=IDS)
def test_an_error_has_its_grpc_status_its_http_status_and_one_json_object(
    error: MnemeshError, code: str, http: int
) -> None:
    assert status.grpc_code(error) is grpc.StatusCode[code]
    assert status.http_status(error) == http
    body = json.loads(json.dumps(status.error_body(error), allow_nan=False))["error"]
    assert (body["code"], body["message"]) == (code, error.message)
    assert {"code", "reason", "message", *error.fields} == set(body)


@pytest.mark.parametrize(("error", "code", "http"), TABLE, ids=IDS)
def test_an_error_carries_google_rpc_details(error: MnemeshError, code: str, http: int) -> None:
    rich = status.rpc_status(error)
    assert (rich.code, rich.message) == (grpc.StatusCode[code].value[0], error.message)
    info = ErrorInfo()
    assert rich.details[0].Unpack(info)
    assert (info.domain, info.reason) == ("mnemesh", status.reason(error))
    assert dict(info.metadata) == {name: str(value) for name, value in error.fields.items()}


def test_a_bad_field_is_a_field_violation_with_its_limit() -> None:
    rich = status.rpc_status(errors.InvalidArgument("content", "", "1 to 9 bytes"))
    bad = BadRequest()
    assert rich.details[1].Unpack(bad)
    assert [(v.field, v.description) for v in bad.field_violations] == [("content", "1 to 9 bytes")]


def test_a_full_queue_says_when_to_come_back_on_both_doors() -> None:
    error = errors.Overloaded("inbox", 1024, 1.2)
    retry = RetryInfo()
    assert status.rpc_status(error).details[-1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1200
    assert status.http_headers(error) == {"retry-after": "2"}


def test_401_names_the_scheme() -> None:
    assert status.http_headers(errors.Unauthenticated("no")) == {"www-authenticate": 'Bearer realm="mnemesh"'}


def test_a_reason_tells_leaves_of_one_code_apart() -> None:
    assert status.reason(errors.SecretRefused("content", "AWS key")) == "SECRET_REFUSED"
    assert status.reason(errors.NotFound("memory", "x")) == "NOT_FOUND"


def test_an_error_with_huge_fields_stays_small_enough_for_trailing_metadata() -> None:
    error = errors.Aborted("changed", **{f"field{i}": "x" * 10_000 for i in range(50)})
    assert len(status.rpc_status(error).SerializeToString()) < 6_000
