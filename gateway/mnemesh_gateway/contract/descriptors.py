"""A typed view of protobuf descriptors, as far as translation and schemas read them."""

from __future__ import annotations

from typing import Final, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

TIMESTAMP: Final = "google.protobuf.Timestamp"


def descriptor_of(message: Message | type[Message]) -> Descriptor:
    """The descriptor of a message or of its class."""
    return cast(Descriptor, message.DESCRIPTOR)


def fields_of(message: Descriptor) -> list[FieldDescriptor]:
    """The fields in the order of the .proto file."""
    return cast("list[FieldDescriptor]", list(message.fields))


def inner_message(field: FieldDescriptor) -> Descriptor:
    """The message that `field` holds. Raises TypeError for a scalar field."""
    if field.message_type is None:
        raise TypeError(f"{field.full_name} holds no message")
    return field.message_type


def is_message(field: FieldDescriptor) -> bool:
    """Whether `field` holds messages."""
    return field.type == FieldDescriptor.TYPE_MESSAGE


def is_map(field: FieldDescriptor) -> bool:
    """Whether `field` is a map<,>. Its keys are always texts in our contract."""
    return is_message(field) and bool(inner_message(field).GetOptions().map_entry)


def map_value(field: FieldDescriptor) -> FieldDescriptor:
    """The field that describes the values of a map."""
    return inner_message(field).fields_by_name["value"]
