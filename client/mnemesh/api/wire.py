"""The one place of the client that turns Python values into messages of the contract, and messages into values.

Judges form, not meaning. A value that the message can't carry at all is refused here, and nothing is sent. Examples are
a naive datetime, a number out of the wire's range, and a name that is no field. Everything else the node judges. `path`
is put before a field's name in errors, such as `items[3].`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from mnemesh.api import values
from mnemesh.errors import InvalidArgument
from mnemesh_proto.times import TIME_RULE, set_time

AnyMessage = TypeVar("AnyMessage", bound=Message)
Value = TypeVar("Value")

TIMESTAMP: Final = "google.protobuf.Timestamp"
LINK: Final = "mnemesh.v1.Link"
# The field that may be given as a moment or a duration.
LASTING: Final = "expires"
# The node's limits of whole numbers, in the node's own words.
RANGES: Final[Mapping[str, str]] = {
    "limit": " from 1 to 200", "before": " from 0 to 50", "after": " from 0 to 50", "token_budget": " from 1 to 100000",
    "max_memories": " from 0 (no limit) to 1,000,000,000", "max_bytes": " from 0 (no limit) to 1,125,899,906,842,624",
}  # fmt: skip


def to_value(message: Message, cls: Callable[..., Value]) -> Value:
    """`message` as a `cls` of mnemesh.api.values, whose fields have the message's names."""
    return cls(**{name: _value(message, field) for name, field in _fields(message).items()})


def to_message(cls: type[AnyMessage], fields: Mapping[str, object], path: str = "") -> AnyMessage:
    """A message of type `cls` from values by field name; None means not given. Raises InvalidArgument."""
    message = cls()
    _fill(message, fields, path)
    return message


def _fields(message: Message) -> Mapping[str, FieldDescriptor]:
    return _fields_of(cast(Descriptor, message.DESCRIPTOR))


@lru_cache(maxsize=64)
def _fields_of(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    return dict(descriptor.fields_by_name)


def _entry(map_field: FieldDescriptor) -> FieldDescriptor:
    return cast(Descriptor, map_field.message_type).fields_by_name["value"]


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _value(message: Message, field: FieldDescriptor) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if _is_map(field):
        return dict(value)
    if field.is_repeated:
        return tuple(_single(field, item) for item in value)
    return _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is None:
        return value
    if field.message_type.full_name == TIMESTAMP:
        return value.ToDatetime(tzinfo=UTC)
    return to_value(value, getattr(values, values.MESSAGES[field.message_type.full_name]))


def _fill(message: Message, fields: Mapping[str, object], path: str) -> None:
    known = _fields(message)
    for name, value in fields.items():
        if name not in known:
            import difflib

            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(known) or 'none'}"
            raise InvalidArgument(f"{path}{name}", value, f"no such field, {hint}")
        if value is not None:
            _set(message, known[name], value, path + name)


def _set(message: Message, field: FieldDescriptor, value: Any, path: str) -> None:
    target = getattr(message, field.name)
    if _is_map(field):
        if not isinstance(value, Mapping):
            raise InvalidArgument(path, value, "a mapping")
        for key, item in value.items():
            _assign(target, key, _entry(field), item, f"{path}.{key}")
    elif field.is_repeated:
        _extend(target, field, value, path)
    elif field.message_type is None:
        _assign(message, field.name, field, _lasting(value, path) if field.name == LASTING else value, path)
    elif field.message_type.full_name == TIMESTAMP:
        target.CopyFrom(timestamp(path, value))
    else:
        target.SetInParent()
        _set_message(target, value, path)


def _lasting(value: Any, path: str) -> Any:
    """The contract's text for a moment or a duration. Raises InvalidArgument for a datetime without zone."""
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())}s"
    return timestamp(path, value).ToJsonString() if isinstance(value, datetime) else value


def _set_message(target: Message, value: Any, path: str) -> None:
    inner = _fields(target)
    if list(inner) == ["values"]:  # StringList and StringMap stand for their only field
        _set(target, inner["values"], value, path)
    else:
        _fill(target, _mapping(value, path), path + ".")


def _extend(target: Any, field: FieldDescriptor, value: Any, path: str) -> None:
    for position, item in enumerate(listed(path, value)):
        place = f"{path}[{position}]"
        if field.message_type is not None:
            is_link = field.message_type.full_name == LINK
            _set_message(target.add(), _link(item, place) if is_link else item, place)
        else:
            _append(target, item, place)


def listed(path: str, value: Any) -> Iterable[Any]:
    """The items of a list that was given as `path`. One alone is a list of one. Raises InvalidArgument."""
    if isinstance(value, str | Mapping | values.Link):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise InvalidArgument(path, value, "a list")
    return value


def _link(item: Any, path: str) -> Any:
    """A link given as "TYPE:ID" or (TYPE, ID) as a mapping; others as they are. Raises InvalidArgument."""
    if isinstance(item, Mapping | values.Link):
        return item
    pair = tuple(item.split(":", 1)) if isinstance(item, str) else item
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidArgument(path, item, "TYPE:ID, such as see-also:018f6f0e-7c1a-7000-8000-3f1f8d2f6a11")
    return {"type": pair[0], "id": pair[1]}


def _mapping(value: Any, path: str) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, values.Source | values.Link):
        return {name: getattr(value, name) for name in value.__slots__}
    raise InvalidArgument(path, value, "a mapping of its fields")


def _append(target: Any, value: Any, path: str) -> None:
    try:
        if isinstance(value, bytes):  # protobuf takes bytes for text
            raise TypeError
        target.append(value)
    except (TypeError, ValueError):  # UnicodeEncodeError, of a lone surrogate, is a ValueError
        raise InvalidArgument(path, value, "well-formed text" if isinstance(value, str) else "a text") from None


def _assign(target: Any, name: Any, field: FieldDescriptor, value: Any, path: str) -> None:
    """Set an attribute of a message or an entry of a map; the wire's own types and ranges judge."""
    # protobuf takes True for 1, any number for a bool, and bytes for a text.
    if isinstance(value, bool) != (field.type == FieldDescriptor.TYPE_BOOL) or isinstance(value, bytes):
        raise InvalidArgument(path, value, _rule(field))
    try:
        if isinstance(target, Message):
            setattr(target, name, value)
        else:
            target[name] = value
    except (TypeError, ValueError):
        raise InvalidArgument(path, value, _rule(field)) from None


def _rule(field: FieldDescriptor) -> str:
    if field.type == FieldDescriptor.TYPE_STRING:
        return "well-formed text"
    if field.type == FieldDescriptor.TYPE_BOOL:
        return "true or false"
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return "a number"
    most = 2**32 - 1 if field.type == FieldDescriptor.TYPE_UINT32 else 2**64 - 1
    return f"a whole number{RANGES.get(field.name, f' from 0 to {most}')}"


def timestamp(path: str, value: object) -> Timestamp:
    """A Timestamp from an aware datetime, an RFC 3339 text, or a date, which means its midnight in UTC."""
    result = Timestamp()
    try:
        if isinstance(value, str):
            set_time(result, value)
        elif isinstance(value, datetime):
            if value.tzinfo is None:
                raise ValueError
            result.FromDatetime(value)
        elif isinstance(value, date):
            result.FromDatetime(datetime(value.year, value.month, value.day, tzinfo=UTC))
        else:
            raise ValueError
    except (ValueError, OverflowError):
        allowed = "a time with a zone" if isinstance(value, datetime) and value.tzinfo is None else TIME_RULE
        raise InvalidArgument(path, value, allowed) from None
    return result
