"""JSON schemas (draft 2020-12) of messages, read from their descriptors and the comments of the .proto files.

MCP shows them with every tool, OpenAPI with every path. Both describe exactly what message_json accepts and
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from mnemesh_gateway.contract.descriptors import TIMESTAMP, fields_of, inner_message, is_map, is_message, map_value
from mnemesh_gateway.contract.message_json import BARE_MESSAGES, STANDS_BESIDE, TEXT_ALONE, several
from mnemesh_gateway.contract.request_rules import REQUIRED, rules_of
from mnemesh_proto.v1.field_help import FIELD_HELP

Schema = dict[str, Any]
Reference = Callable[[Descriptor], Schema]

SCALARS: Final[Mapping[int, Schema]] = MappingProxyType(
    {
        FieldDescriptor.TYPE_STRING: {"type": "string"},
        FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
        FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
        FieldDescriptor.TYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
        FieldDescriptor.TYPE_UINT64: {"type": "integer", "minimum": 0},
    }
)


def request_schema(message: Descriptor, flatten: str = "") -> Schema:
    """The fields that a caller may send. `flatten` names a message field whose own fields stand beside the others."""
    properties: dict[str, Schema] = {}
    required = list(REQUIRED.get(message.name, ()))
    for field in fields_of(message):
        if field.name == flatten:
            inner = request_schema(inner_message(field))
            properties |= inner["properties"]
            required += inner.get("required", ())
        else:
            properties[field.name] = field_schema(field, request_schema)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def response_schema(message: Descriptor, reference: Reference | None = None) -> Schema:
    """The output of `to_json` for a message: fields without presence are always there. `reference` says how a message
    within it is shown. Without, it is written out in place, because some MCP hosts don't follow references."""
    refer = reference or response_schema
    schema: Schema = {
        "type": "object",
        "properties": {field.name: field_schema(field, refer) for field in fields_of(message)},
    }
    if always := [field.name for field in fields_of(message) if not field.has_presence]:
        schema["required"] = always
    if help_text := FIELD_HELP.get(message.full_name):
        schema["description"] = help_text
    return schema


def brief_response_schema(message: Descriptor) -> Schema:
    """The same without help texts, and with every inner message once, under `$defs`. An MCP host puts this into the
    context of its model with every tool."""
    definitions: dict[str, Schema] = {}

    def refer(inner: Descriptor) -> Schema:
        if inner.name not in definitions:
            definitions[inner.name] = {}  # holds the place while the message itself is read
            definitions[inner.name] = without_help(response_schema(inner, refer))
        return {"$ref": f"#/$defs/{inner.name}"}

    schema = without_help(response_schema(message, refer))
    return {**schema, "$defs": definitions} if definitions else schema


def without_help(schema: Schema) -> Schema:
    """`schema` and its direct parts without descriptions. A property called `description` stays."""
    bare = {name: value for name, value in schema.items() if name != "description"}
    if "properties" in bare:
        bare["properties"] = {name: without_help(value) for name, value in bare["properties"].items()}
    if "items" in bare:
        bare["items"] = without_help(bare["items"])
    return bare


def field_schema(field: FieldDescriptor, reference: Reference) -> Schema:
    """The schema of a field, with comment and rules."""
    if is_map(field):
        value = map_value(field)
        schema: Schema = {"type": "object", "additionalProperties": dict(SCALARS[value.type])}
    else:
        schema = _value_schema(field, reference)
        if field.is_repeated:
            schema = {"type": "array", "items": schema}
    listed = several(field)
    if listed.is_repeated and not field.is_repeated:  # a list may stand under the name of the one, too
        schema = {"anyOf": [schema, {"type": "array", "items": _value_schema(listed, reference)}]}
    rules = rules_of(field)
    help_text = FIELD_HELP.get(field.full_name)
    return {**schema, **rules} if help_text is None else {**schema, **rules, "description": help_text}


def _value_schema(field: FieldDescriptor, reference: Reference) -> Schema:
    if not is_message(field):
        return dict(SCALARS[field.type])
    message = inner_message(field)
    if message.full_name == TIMESTAMP:
        # A request may give a date, too. A response has a time always.
        if field.full_name.rpartition(".")[0].endswith("Request"):
            return {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]}
        return {"type": "string", "format": "date-time"}
    if message.full_name in BARE_MESSAGES:
        values = field_schema(fields_of(message)[0], reference)
        values.pop("description", None)
        return values
    if left_out := STANDS_BESIDE.get(field.full_name):
        schema = response_schema(message, reference)
        del schema["properties"][left_out]
        return {**schema, "required": [name for name in schema["required"] if name != left_out]}
    if text := TEXT_ALONE.get(field.full_name):
        alone = field_schema(message.fields_by_name[text], reference)
        return {"anyOf": [alone, reference(message)]}
    return reference(message)
