"""Errors say whose fault it is and carry fields.

One base class, few leaves. A door maps `code` to its own status in exactly one place. Every error survives pickle,
because it may cross from an actor's process to the gateway's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar, Final

from mnemesh_memory.secrets import find_secret

# Far more than is ever shown, so that a credential that begins in the shown part is seen whole.
SHOWN_CHARS_SEARCHED: Final = 4096
NOT_SHOWN: Final = "(not shown)"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MEASURE: Final = re.compile(
    re.escape(NOT_SHOWN) + r"|a list|an object"
    r"|[0-9]{1,20} (?:bytes|characters|items|queries|results|spaces|ids|values|attributes)(?: of content)?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9.]{2,6}Z|-?[0-9]{1,30} ms since 1970"
)


# The field of a request that names a thing, where it is not called as the thing is.
NAMED_BY: Final = MappingProxyType({"memory": "id", "agent": "name", "peer": "name"})


class MnemeshError(Exception):
    """Base of all errors that Mnemesh raises on purpose. `code` is a gRPC status name."""

    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields

    def at(self, place: str) -> MnemeshError:
        """The same of one of several that were given at once, such as queries[3]."""
        field = self.fields.get("field")
        if field is None:
            return _rebuild(type(self), f"{place}: {self.message}", self.fields)
        return _rebuild(type(self), f"{place}.{self.message}", {**self.fields, "field": f"{place}.{field}"})

    def named(self, field: str) -> MnemeshError:
        """The same error for a name in `field`, where requests use another field than usual."""
        said = self.message.removeprefix(f"{self.fields.get('field')}: ")
        return _rebuild(type(self), f"{field}: {said}", {**self.fields, "field": field})

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.fields)


def _rebuild(cls: type[MnemeshError], message: str, fields: dict[str, Any]) -> MnemeshError:
    error = cls.__new__(cls)
    MnemeshError.__init__(error, message, **fields)
    return error


class InvalidArgument(MnemeshError):
    """The caller's input is wrong. Names the field, the value (shortened) and the broken limit. For `missing`, the
    value stands unquoted in words of ours and the message leaves it out."""

    code = "INVALID_ARGUMENT"

    def __init__(self, field: str, value: object, limit: str, *, missing: bool = False) -> None:
        shown = str(value) if missing else shorten(value)
        fault = "missing" if missing or value == "" else f"{shown} is not allowed"
        super().__init__(f"{field}: {fault}; {limit}", field=field, value=shown, limit=limit)


class SecretRefused(MnemeshError):
    """The text holds a credential, or was marked sensitive. Carries field and type, never the text itself."""

    code = "INVALID_ARGUMENT"

    def __init__(self, field: str, secret_type: str, advice: str = "Remove it and try again") -> None:
        super().__init__(
            f"{field}: holds a secret ({secret_type}); nothing was stored. {advice}",
            field=field,
            value=NOT_SHOWN,
            limit=f"no secrets: {secret_type}",
            secret_type=secret_type,
        )


class NotFound(MnemeshError):
    """No such thing, or not for this caller to see. `field` held the name, "" for the usual field of `what`."""

    code = "NOT_FOUND"

    def __init__(self, what: str, key: str, hint: str = "", *, field: str = "") -> None:
        said = f"{what} {shorten(key)} not found" + (f"; {hint}" if hint else "")
        super().__init__(said, field=field or NAMED_BY.get(what, what), value=shorten(key))


class FailedPrecondition(MnemeshError):
    """The request is well formed, but the state of the memory or of the node forbids it."""

    code = "FAILED_PRECONDITION"


class AlreadyExists(MnemeshError):
    """The same idempotency key came with other content."""

    code = "ALREADY_EXISTS"


class Aborted(MnemeshError):
    """The memory changed under the caller (expected heads differ); read it again and decide again."""

    code = "ABORTED"


class Unauthenticated(MnemeshError):
    """No token, or a wrong one."""

    code = "UNAUTHENTICATED"


class PermissionDenied(MnemeshError):
    """A valid token without this right. Names the caller, the action, the space ("" when none is at stake) and the
    grants of the token."""

    code = "PERMISSION_DENIED"

    def __init__(self, principal: str, action: str, granted: str, *, space: str = "") -> None:
        where = f" in space {shorten(space)}" if space else ""
        super().__init__(
            f"{principal} may not {action}{where}; its token grants: {granted}",
            principal=principal,
            action=action,
            space=plain(space),
            granted=granted,
        )


class Overloaded(MnemeshError):
    """A bounded queue is full. `retry_after_s` says when to come back."""

    code = "RESOURCE_EXHAUSTED"

    def __init__(self, what: str, limit: int, retry_after_s: float = 0.2) -> None:
        super().__init__(
            f"{what} is full ({limit}); try again in {retry_after_s:g} s",
            field=what,
            limit=limit,
            retry_after_s=retry_after_s,
        )


class QuotaReached(MnemeshError):
    """A principal or a peer has written what it may. `field` names the quota, `value` what there is, `limit` the quota;
    `retry_after_s` says when to come back."""

    code = "RESOURCE_EXHAUSTED"


class DiskFull(MnemeshError):
    """The disk of the node has `free` bytes left, less than the `reserve`. Nothing was written."""

    code = "RESOURCE_EXHAUSTED"

    def __init__(self, free: int, reserve: int) -> None:
        super().__init__(
            f"disk_reserve_bytes: the disk of the node has {free >> 20} MiB free and keeps {reserve >> 20} MiB back; "
            "nothing was written, reads go on. Free space on that disk: writes then go on by themselves",
            field="disk_reserve_bytes",
            value=f"{free} bytes free",
            limit=f"{reserve} bytes kept back",
            part="disk",
        )


class OutOfRange(MnemeshError):
    """A place in a stream beyond its end, or left behind by a slow reader."""

    code = "OUT_OF_RANGE"


class Unavailable(MnemeshError):
    """A part of the node is down or still starting."""

    code = "UNAVAILABLE"


class DeadlineExceeded(MnemeshError):
    """A bounded wait ran out. Acknowledged work stays."""

    code = "DEADLINE_EXCEEDED"


class DataLoss(MnemeshError):
    """Stored bytes are damaged. The message says what to do; nothing was changed."""

    code = "DATA_LOSS"


def shorten(value: object, limit: int = 80) -> str:
    """One line of at most `limit` characters, safe to show. A text is quoted, control characters are escaped, and a
    text with a credential is not shown at all. Not quoted are a measure such as "32769 bytes" or "a list", a time and
    NOT_SHOWN."""
    if isinstance(value, str) and find_secret(value[:SHOWN_CHARS_SEARCHED]):
        return NOT_SHOWN
    if isinstance(value, str) and MEASURE.fullmatch(value):
        return value
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def plain(text: str) -> str:
    """The same of a text, without quotes: for a field that never holds anything else."""
    shown = shorten(text)
    return shown if shown in (text, NOT_SHOWN) else shown[1:].removesuffix(shown[0])


def count_of(number: int, noun: str) -> str:
    """`1 entry`, `2 entries`, `2 nodes`."""
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else several}"


def shown_time(ms: int) -> str:
    """`ms` since the epoch as people and doors write it: RFC 3339 in UTC; as a number where that has no words for
    it."""
    try:
        time = EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms since 1970"
    return time.isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")
