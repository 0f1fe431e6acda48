from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AnchorRequest(_message.Message):
    __slots__ = ("id", "reason", "release", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    release: bool
    wait: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ..., release: _Optional[bool] = ..., wait: _Optional[str] = ...) -> None: ...

class AnchorResponse(_message.Message):
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

class ValidateRequest(_message.Message):
    __slots__ = ("id", "spaces", "space", "limit", "cursor")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    cursor: str
    def __init__(self, id: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ValidateResponse(_message.Message):
    __slots__ = ("memories", "examined", "cursor", "roots")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[ValidatedMemory]
    examined: int
    cursor: str
    roots: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[_Iterable[_Union[ValidatedMemory, _Mapping]]] = ..., examined: _Optional[int] = ..., cursor: _Optional[str] = ..., roots: _Optional[_Iterable[str]] = ...) -> None: ...

class ValidatedMemory(_message.Message):
    __slots__ = ("id", "title", "space", "references")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    space: str
    references: _containers.RepeatedCompositeFieldContainer[FileReference]
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., space: _Optional[str] = ..., references: _Optional[_Iterable[_Union[FileReference, _Mapping]]] = ...) -> None: ...

class FileReference(_message.Message):
    __slots__ = ("path", "state", "renamed_to")
    PATH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RENAMED_TO_FIELD_NUMBER: _ClassVar[int]
    path: str
    state: str
    renamed_to: str
    def __init__(self, path: _Optional[str] = ..., state: _Optional[str] = ..., renamed_to: _Optional[str] = ...) -> None: ...

class TidyRequest(_message.Message):
    __slots__ = ("finding", "action", "spaces", "space", "stale_days", "limit", "dry_run")
    FINDING_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STALE_DAYS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    finding: str
    action: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    stale_days: int
    limit: int
    dry_run: bool
    def __init__(self, finding: _Optional[str] = ..., action: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., stale_days: _Optional[int] = ..., limit: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class TidyResponse(_message.Message):
    __slots__ = ("matched", "ids", "refused", "dry_run")
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    matched: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    refused: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Refused]
    dry_run: bool
    def __init__(self, matched: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ..., refused: _Optional[_Iterable[_Union[_memory_pb2.Refused, _Mapping]]] = ..., dry_run: _Optional[bool] = ...) -> None: ...
