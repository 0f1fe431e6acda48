import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Revision(_message.Message):
    __slots__ = ("id", "op", "kind", "title", "content", "by", "at", "parents", "node", "head", "shown", "importance", "tier", "paths", "source", "valid_from", "valid_to", "keywords", "attrs")
    class AttrsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    id: str
    op: str
    kind: str
    title: str
    content: str
    by: str
    at: _timestamp_pb2.Timestamp
    parents: _containers.RepeatedScalarFieldContainer[str]
    node: str
    head: bool
    shown: bool
    importance: float
    tier: str
    paths: _containers.RepeatedScalarFieldContainer[str]
    source: _memory_pb2.Source
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    keywords: _containers.RepeatedScalarFieldContainer[str]
    attrs: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., op: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., parents: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., head: _Optional[bool] = ..., shown: _Optional[bool] = ..., importance: _Optional[float] = ..., tier: _Optional[str] = ..., paths: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[_memory_pb2.Source, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., keywords: _Optional[_Iterable[str]] = ..., attrs: _Optional[_Mapping[str, str]] = ...) -> None: ...

class HistoryRequest(_message.Message):
    __slots__ = ("id", "limit", "cursor")
    ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    limit: int
    cursor: str
    def __init__(self, id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class HistoryResponse(_message.Message):
    __slots__ = ("id", "space", "state", "revisions", "cursor", "total", "notes")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    state: str
    revisions: _containers.RepeatedCompositeFieldContainer[Revision]
    cursor: str
    total: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., state: _Optional[str] = ..., revisions: _Optional[_Iterable[_Union[Revision, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class BlameRequest(_message.Message):
    __slots__ = ("id", "revision")
    ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    id: str
    revision: str
    def __init__(self, id: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class BlamedLines(_message.Message):
    __slots__ = ("first", "text", "revision", "by", "at", "node")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    first: int
    text: str
    revision: str
    by: str
    at: _timestamp_pb2.Timestamp
    node: str
    def __init__(self, first: _Optional[int] = ..., text: _Optional[str] = ..., revision: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., node: _Optional[str] = ...) -> None: ...

class BlamedField(_message.Message):
    __slots__ = ("field", "value", "revision", "by", "at", "node")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    field: str
    value: str
    revision: str
    by: str
    at: _timestamp_pb2.Timestamp
    node: str
    def __init__(self, field: _Optional[str] = ..., value: _Optional[str] = ..., revision: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., node: _Optional[str] = ...) -> None: ...

class BlameResponse(_message.Message):
    __slots__ = ("id", "revision", "lines", "fields")
    ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    id: str
    revision: str
    lines: _containers.RepeatedCompositeFieldContainer[BlamedLines]
    fields: _containers.RepeatedCompositeFieldContainer[BlamedField]
    def __init__(self, id: _Optional[str] = ..., revision: _Optional[str] = ..., lines: _Optional[_Iterable[_Union[BlamedLines, _Mapping]]] = ..., fields: _Optional[_Iterable[_Union[BlamedField, _Mapping]]] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("id", "to", "expected_heads", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_HEADS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    to: str
    expected_heads: _containers.RepeatedScalarFieldContainer[str]
    wait: str
    def __init__(self, id: _Optional[str] = ..., to: _Optional[str] = ..., expected_heads: _Optional[_Iterable[str]] = ..., wait: _Optional[str] = ...) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "indexed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: _memory_pb2.Memory
    reason: str
    indexed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., reason: _Optional[str] = ..., indexed: _Optional[bool] = ...) -> None: ...

class ConflictsRequest(_message.Message):
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

class Conflict(_message.Message):
    __slots__ = ("id", "space", "versions", "state", "notes")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    versions: _containers.RepeatedCompositeFieldContainer[Revision]
    state: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[Revision, _Mapping]]] = ..., state: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class Opponent(_message.Message):
    __slots__ = ("id", "space", "says")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SAYS_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    says: Revision
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., says: _Optional[_Union[Revision, _Mapping]] = ...) -> None: ...

class Contradiction(_message.Message):
    __slots__ = ("newer", "older", "commands", "relation")
    NEWER_FIELD_NUMBER: _ClassVar[int]
    OLDER_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    newer: Opponent
    older: Opponent
    commands: _containers.RepeatedScalarFieldContainer[str]
    relation: str
    def __init__(self, newer: _Optional[_Union[Opponent, _Mapping]] = ..., older: _Optional[_Union[Opponent, _Mapping]] = ..., commands: _Optional[_Iterable[str]] = ..., relation: _Optional[str] = ...) -> None: ...

class ConflictsResponse(_message.Message):
    __slots__ = ("conflicts", "cursor", "total", "contradictions", "contradictions_total", "marks_total")
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTIONS_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MARKS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    conflicts: _containers.RepeatedCompositeFieldContainer[Conflict]
    cursor: str
    total: int
    contradictions: _containers.RepeatedCompositeFieldContainer[Contradiction]
    contradictions_total: int
    marks_total: int
    def __init__(self, conflicts: _Optional[_Iterable[_Union[Conflict, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ..., contradictions: _Optional[_Iterable[_Union[Contradiction, _Mapping]]] = ..., contradictions_total: _Optional[int] = ..., marks_total: _Optional[int] = ...) -> None: ...

class ResolveRequest(_message.Message):
    __slots__ = ("id", "keep", "content", "expected_heads", "wait", "other")
    ID_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_HEADS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    id: str
    keep: str
    content: str
    expected_heads: _containers.RepeatedScalarFieldContainer[str]
    wait: str
    other: str
    def __init__(self, id: _Optional[str] = ..., keep: _Optional[str] = ..., content: _Optional[str] = ..., expected_heads: _Optional[_Iterable[str]] = ..., wait: _Optional[str] = ..., other: _Optional[str] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "indexed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: _memory_pb2.Memory
    reason: str
    indexed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., reason: _Optional[str] = ..., indexed: _Optional[bool] = ...) -> None: ...
