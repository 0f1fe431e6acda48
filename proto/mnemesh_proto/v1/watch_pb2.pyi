import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchRequest(_message.Message):
    __slots__ = ("spaces", "space", "kinds", "not_agent", "cursor", "from_start", "include_content")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    NOT_AGENT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FROM_START_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CONTENT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    not_agent: str
    cursor: str
    from_start: bool
    include_content: bool
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., not_agent: _Optional[str] = ..., cursor: _Optional[str] = ..., from_start: _Optional[bool] = ..., include_content: _Optional[bool] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("type", "cursor", "id", "space", "kind", "title", "content", "revision", "agent", "node_id", "merged", "at", "spaces", "reason")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MERGED_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    type: str
    cursor: str
    id: str
    space: str
    kind: str
    title: str
    content: str
    revision: str
    agent: str
    node_id: str
    merged: bool
    at: _timestamp_pb2.Timestamp
    spaces: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    def __init__(self, type: _Optional[str] = ..., cursor: _Optional[str] = ..., id: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., revision: _Optional[str] = ..., agent: _Optional[str] = ..., node_id: _Optional[str] = ..., merged: _Optional[bool] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., spaces: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ...) -> None: ...
