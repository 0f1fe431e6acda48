"""JSON objects to protobuf messages and back, strictly: every refusal names the path of the field at fault.

The form is proto3 JSON with the field names of the .proto files, and seven differences that suit people and agents:
StringList and StringMap are a plain list and object. 64-bit numbers are JSON numbers while exact (below 2**53). A time
may be a date, the start of that day in UTC. `space` may be a list where there are `spaces`. A text that stands beside a
message is left out of the message. A query of a batch may be its text alone. Nothing is coerced: "5" is not 5. Knows
messages by their descriptors only. Judges no value that the type allows.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from mnemesh_gateway.contract.descriptors import (
    TIMESTAMP,
    descriptor_of,
    fields_of,
    inner_message,
    is_map,
    is_message,
    map_value,
)  # fmt: skip
from mnemesh_gateway.contract.request_rules import rules_of
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.secrets.credential_values import is_random
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import NOT_SHOWN, SHOWN_CHARS_SEARCHED, InvalidArgument
from mnemesh_proto.json_text import NotJson, read_json
from mnemesh_proto.times import TIME_RULE, set_time

Writer = Callable[[Any], Any]
AnyMessage = TypeVar("AnyMessage", bound=Message)

# Messages whose one field `values` stands for the whole message in JSON.
BARE_MESSAGES: Final = ("mnemesh.v1.StringList", "mnemesh.v1.StringMap")
# Of the message in a field, what stands beside that field already and is not repeated.
STANDS_BESIDE: Final = {"mnemesh.v1.RecallResult.memory": "content"}
# The field that a text stands for, in messages that may be given as a text.
TEXT_ALONE: Final = {"mnemesh.v1.RecallBatchRequest.queries": "query"}
# Proto3 JSON's words for what JSON can't write.
NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
EXACT_INTEGERS_BELOW: Final = 2**53
SCALAR_CHARS_MAX: Final = 40  # of a number or boolean in a query string
NAME_CHARS_MAX: Final = 80  # of a field name that an error repeats
UNSIGNED_BITS: Final = {FieldDescriptor.TYPE_UINT32: 32, FieldDescriptor.TYPE_UINT64: 64}


def parse_body(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Empty is {}. Raises InvalidArgument for other than one object in UTF-8, for
    a key given twice and for anything too deep to read."""
    if len(body) > limits.HTTP_BODY_BYTES_MAX:
        raise InvalidArgument("body", f"{len(body)} bytes", f"at most {limits.HTTP_BODY_BYTES_MAX} bytes")
    if not body.strip(b" \t\r\n"):
        return {}
    try:
        value = read_json(body.decode("utf-8"), _unique)
    except UnicodeDecodeError as error:
        raise InvalidArgument("body", f"byte {error.start}", "JSON in UTF-8") from None
    except NotJson as error:
        place = f"line {error.line} column {error.column}" if error.line else "this text"
        raise InvalidArgument("body", place, f"JSON: {error.fault}") from None
    return _object("body", value)


def from_json(cls: type[AnyMessage], value: Mapping[str, Any]) -> AnyMessage:
    """A message of type `cls` from a JSON object. null means not given. Raises InvalidArgument naming the
    field."""
    message = cls()
    _fill(message, value, "")
    return message


def query_object(cls: type[Message], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The JSON object that the name=value pairs of a query string stand for."""
    value: dict[str, Any] = {}
    for name, text in pairs:
        field = _field(descriptor_of(cls), name, text, "")
        item = _query_value(field, name, text)
        if field.is_repeated:
            value.setdefault(name, []).append(item)
        elif name in value and several(field).is_repeated:
            before = value[name]
            value[name] = [*before, item] if isinstance(before, list) else [before, item]
        elif name in value:
            raise InvalidArgument(name, text, "given once")
        else:
            value[name] = item
    return value


def to_json(message: Message) -> dict[str, Any]:
    """A JSON object of `message`: lists, numbers and texts always, optional fields and messages when they are
    set."""
    result: dict[str, Any] = {}
    for name, optional, write in _writers(descriptor_of(message)):
        if not optional or message.HasField(name):
            result[name] = write(getattr(message, name))
    return result


@cache
def _writers(message: Descriptor) -> tuple[tuple[str, bool, Writer], ...]:
    """Name, whether it can be absent, and how its value is written, for each field. Kept, because descriptors
    never change and reading them costs more than writing the values."""
    return tuple((field.name, field.has_presence, _writer(field)) for field in fields_of(message))


def _writer(field: FieldDescriptor) -> Writer:
    if is_map(field):
        write = _value_writer(map_value(field))
        return lambda value: {key: write(value[key]) for key in sorted(value)}
    write = _value_writer(field)
    return (lambda value: [write(item) for item in value]) if field.is_repeated else write


def _value_writer(field: FieldDescriptor) -> Writer:
    if is_message(field):
        name = inner_message(field).full_name
        if name == TIMESTAMP:
            return Timestamp.ToJsonString
        if left_out := STANDS_BESIDE.get(field.full_name):
            return lambda value: {name: item for name, item in to_json(value).items() if name != left_out}
        return (lambda value: to_json(value)["values"]) if name in BARE_MESSAGES else to_json
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return lambda value: value if math.isfinite(value) else NOT_FINITE[str(value)]
    if field.type == FieldDescriptor.TYPE_UINT64:
        return lambda value: value if value < EXACT_INTEGERS_BELOW else str(value)
    return lambda value: value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(printable(twice), "given twice", "each field once")
    return value


def _object(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgument(path, shown(value), "a JSON object")
    return value


def _fill(message: Message, value: Mapping[str, Any], path: str) -> None:
    for name, item in value.items():
        field = _field(descriptor_of(message), name, item, path)
        if item is not None:
            _set(message, several(field) if isinstance(item, list) else field, item, f"{path}{name}")


def _field(descriptor: Descriptor, name: str, value: Any, path: str) -> FieldDescriptor:
    known = {field.name: field for field in fields_of(descriptor)}
    require_known(name, value, known, path)
    return known[name]


def several(field: FieldDescriptor) -> FieldDescriptor:
    """Where a list goes that is given as `field`: of `space` into the `spaces` beside it, where there are some."""
    beside = field.containing_type.fields_by_name if field.name == "space" and field.containing_type else {}
    return beside.get("spaces", field)


def require_known(name: str, value: Any, known: Collection[str], path: str = "") -> None:
    """Refuse the field `name` with this `value` unless the name is among `known`. The error names the nearest known
    field."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        help_text = f"did you mean {near[0]}?" if near else f"fields are {', '.join(known) or 'none'}"
        # A name such as password makes a secret of a value that is none by itself.
        text = NOT_SHOWN if find_secret(f"{name}={value}"[:SHOWN_CHARS_SEARCHED]) else shown(value)
        raise InvalidArgument(path + _safe_name(name), text, f"no such field, {help_text}")


def _safe_name(name: str) -> str:
    """The name of an unknown field as it may be told. It may be a credential that slipped into the wrong place."""
    safe = len(name) <= NAME_CHARS_MAX and not find_secret(name) and not is_random(name)
    return printable(name) if safe else NOT_SHOWN


def _set(message: Message, field: FieldDescriptor, value: Any, path: str) -> None:
    if is_map(field):
        target, item = getattr(message, field.name), map_value(field)
        for key, entry in _object(path, value).items():
            target[_string(key, path)] = _scalar(item, entry, f"{path}.{_safe_name(key)}")
    elif field.is_repeated:
        if not isinstance(value, list):
            raise InvalidArgument(path, shown(value), "a list")
        target = getattr(message, field.name)
        for i, entry in enumerate(value):
            if is_message(field):
                _message(target.add(), _unfolded(field, entry, f"{path}[{i}]"), f"{path}[{i}]")
            else:
                target.append(_scalar(field, entry, f"{path}[{i}]"))
    elif is_message(field):
        target = getattr(message, field.name)
        target.SetInParent()
        _message(target, value, path)
    else:
        setattr(message, field.name, _scalar(field, value, path))


def _unfolded(field: FieldDescriptor, value: Any, path: str) -> Any:
    """The object for a text, where a text may stand for an object."""
    whole = TEXT_ALONE.get(field.full_name)
    if whole is None or isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise InvalidArgument(path, shown(value), "a string, or a JSON object")
    return {whole: value}


def _message(target: Message, value: Any, path: str) -> None:
    name = descriptor_of(target).full_name
    if isinstance(target, Timestamp):
        _timestamp(target, value, path)
    elif name in BARE_MESSAGES:
        _set(target, fields_of(descriptor_of(target))[0], value, path)
    else:
        _fill(target, _object(path, value), path + ".")


def _timestamp(target: Timestamp, value: Any, path: str) -> None:
    try:
        if not isinstance(value, str):
            raise ValueError
        set_time(target, value)
    except (ValueError, OverflowError):
        raise InvalidArgument(path, shown(value), TIME_RULE) from None


def _scalar(field: FieldDescriptor, value: Any, path: str) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return _string(value, path)
    if field.type == FieldDescriptor.TYPE_BOOL:
        if not isinstance(value, bool):
            raise InvalidArgument(path, shown(value), "true or false")
        return value
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return _double(value, path)
    if bits := UNSIGNED_BITS.get(field.type):
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        if not whole or not 0 <= value < 2**bits:
            rules = rules_of(field)
            low, high = rules.get("minimum", 0), rules.get("maximum", 2**bits - 1)
            raise InvalidArgument(path, shown(value), f"a whole number from {low} to {high}")
        return int(value)
    raise TypeError(f"{field.full_name} has a type that no request uses")


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(path, shown(value), "a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(path, shown(value), "well-formed Unicode without lone surrogates") from None
    return value


def _double(value: Any, path: str) -> float:
    # Whether a number that is none is allowed is the Mesh's to say.
    if value in NOT_FINITE.values():
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(path, shown(value), "a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidArgument(path, "a very large integer", "a number") from None


def _query_value(field: FieldDescriptor, name: str, text: str) -> Any:
    if is_map(field) or (is_message(field) and inner_message(field).full_name != TIMESTAMP):
        raise InvalidArgument(name, text, "in the JSON body of a POST; a query string can't carry it")
    if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
        return text
    if len(text) > SCALAR_CHARS_MAX:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


class _Word(str):
    """A word of JSON, which an error shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def shown(value: Any) -> Any:
    """A JSON value as an error shows it: a scalar as in JSON, an object or list by its type only."""
    if value is None or isinstance(value, bool):
        return _Word(json.dumps(value))
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return value


def printable(name: str) -> str:
    """A key of the caller's, short and safe to show in an error: what can't be printed is escaped."""
    short = name[:NAME_CHARS_MAX]
    if not short:
        return "''"
    return short if short.isprintable() else repr(short)[1:-1]
