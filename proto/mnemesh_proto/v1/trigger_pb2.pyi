import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Trigger(_message.Message):
    __slots__ = ("id", "on", "pattern", "repeating", "fired", "space", "title", "content", "by", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    ON_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    REPEATING_FIELD_NUMBER: _ClassVar[int]
    FIRED_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    on: str
    pattern: str
    repeating: bool
    fired: bool
    space: str
    title: str
    content: str
    by: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., on: _Optional[str] = ..., pattern: _Optional[str] = ..., repeating: _Optional[bool] = ..., fired: _Optional[bool] = ..., space: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateTriggerRequest(_message.Message):
    __slots__ = ("on", "pattern", "content", "id", "space", "repeating")
    ON_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    REPEATING_FIELD_NUMBER: _ClassVar[int]
    on: str
    pattern: str
    content: str
    id: str
    space: str
    repeating: bool
    def __init__(self, on: _Optional[str] = ..., pattern: _Optional[str] = ..., content: _Optional[str] = ..., id: _Optional[str] = ..., space: _Optional[str] = ..., repeating: _Optional[bool] = ...) -> None: ...

class CreateTriggerResponse(_message.Message):
    __slots__ = ("trigger",)
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    trigger: Trigger
    def __init__(self, trigger: _Optional[_Union[Trigger, _Mapping]] = ...) -> None: ...

class ListTriggersRequest(_message.Message):
    __slots__ = ("spaces", "space", "limit", "cursor")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    cursor: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListTriggersResponse(_message.Message):
    __slots__ = ("triggers", "cursor", "total")
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    triggers: _containers.RepeatedCompositeFieldContainer[Trigger]
    cursor: str
    total: int
    def __init__(self, triggers: _Optional[_Iterable[_Union[Trigger, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class DeleteTriggerRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class DeleteTriggerResponse(_message.Message):
    __slots__ = ("trigger", "kept")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    trigger: Trigger
    kept: bool
    def __init__(self, trigger: _Optional[_Union[Trigger, _Mapping]] = ..., kept: _Optional[bool] = ...) -> None: ...
