"""Errors of the client: one base class, one leaf a gRPC status. Catch the leaf that you can act on.

`refused` says whether the node answered with it (True) or the client found it before sending (False). Knows
nothing of gRPC; mnemesh.transport.refusals translates.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final


class MnemeshError(Exception):
    """Base of every error that Mnemesh raises on purpose.

    `code` is the gRPC status name, `message` one sentence with the fault and the remedy. `field`, `value` and `limit`
    name the input at fault where there is one; `details` holds all that the node said.
    """

    code: str = "INTERNAL"

    def __init__(self, message: str, *, refused: bool = False, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.refused = refused
        self.details: Mapping[str, str] = dict(details or {})

    @property
    def field(self) -> str:
        """The field at fault, such as `tags[3]`; "" when none is."""
        return self.details.get("field", "")

    @property
    def value(self) -> str:
        """The value at fault, shortened; "" when there is none or it must not be shown."""
        return self.details.get("value", "")

    @property
    def limit(self) -> str:
        """The rule that the value broke; "" when there is none."""
        return self.details.get("limit", "")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.code, self.message, self.refused, dict(self.details))


def _rebuild(cls: type[MnemeshError], code: str, message: str, refused: bool, details: dict[str, str]) -> MnemeshError:
    error = cls.__new__(cls)
    MnemeshError.__init__(error, message, refused=refused, details=details)
    error.code = code
    return error


class InvalidArgument(MnemeshError):
    """The input is wrong; `field`, `value` and `limit` say what and why. Sending it again will not help. Where it is
    `missing`, `value` says so in words of ours, unquoted."""

    code = "INVALID_ARGUMENT"

    def __init__(self, field: str, value: object, limit: str, *, missing: bool = False) -> None:
        shown = str(value) if missing else shorten(value)
        fault = "missing" if missing else f"{shown} is not allowed"
        super().__init__(
            f"{field}: {fault}; {limit}",
            details={"field": field, "value": shown, "limit": limit},
        )


class NotFound(MnemeshError):
    """No such memory, or not for this caller to see."""

    code = "NOT_FOUND"


class AlreadyExists(MnemeshError):
    """The same idempotency key came with other content."""

    code = "ALREADY_EXISTS"


class Aborted(MnemeshError):
    """The memory changed in between: read it again and decide again."""

    code = "ABORTED"


class FailedPrecondition(MnemeshError):
    """The request is well formed, but the memory's state forbids it."""

    code = "FAILED_PRECONDITION"


class Unauthenticated(MnemeshError):
    """No token, or a wrong one."""

    code = "UNAUTHENTICATED"


class PermissionDenied(MnemeshError):
    """A valid token that may not do this."""

    code = "PERMISSION_DENIED"


class Overloaded(MnemeshError):
    """The node is busy; come back after `retry_after_s` seconds."""

    code = "RESOURCE_EXHAUSTED"

    @property
    def retry_after_s(self) -> float:
        """Seconds to wait, as the node said; 0 when it named none."""
        return float(self.details.get("retry_after_s", "0"))


class OutOfRange(MnemeshError):
    """A cursor beyond the end of the node's log, or a watch that did not keep up; the message says what to do."""

    code = "OUT_OF_RANGE"


class NotReachable(MnemeshError):
    """No node answers: none runs, it is still starting, or the connection broke. A write may be done."""

    code = "UNAVAILABLE"


class NotAnswering(NotReachable):
    """The node is there and hangs. Another attempt would wait as long; the message says what to do."""


class DeadlineExceeded(MnemeshError):
    """No answer within the time. Earlier acknowledged writes stay; a write may have been done."""

    code = "DEADLINE_EXCEEDED"


class DataLoss(MnemeshError):
    """The node's stored bytes are damaged; the message says what to do there."""

    code = "DATA_LOSS"


LEAVES: Final[Mapping[str, type[MnemeshError]]] = {
    leaf.code: leaf
    for leaf in (
        InvalidArgument, NotFound, AlreadyExists, Aborted, FailedPrecondition, Unauthenticated,
        PermissionDenied, Overloaded, OutOfRange, NotReachable, DeadlineExceeded, DataLoss,
    )
}  # fmt: skip


def from_node(code: str, message: str, details: Mapping[str, str]) -> MnemeshError:
    """The error that a node answered. A status without a leaf of its own (INTERNAL, UNIMPLEMENTED, ...) gives
    the base class with that code."""
    return _rebuild(LEAVES.get(code, MnemeshError), code, message, True, dict(details))


def why(error: OSError | UnicodeDecodeError) -> str:
    """The words of the system or a file, for people."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8"
    return error.strerror or "the system refused"


def shorten(value: object, limit: int = 80) -> str:
    """One line of at most `limit` characters that is safe to show: quoted, control characters escaped."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
