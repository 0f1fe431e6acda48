from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Seed(_message.Message):
    __slots__ = ("topic", "action", "id", "title", "content", "files", "suspicious", "reason")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    SUSPICIOUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    topic: str
    action: str
    id: str
    title: str
    content: str
    files: _containers.RepeatedScalarFieldContainer[str]
    suspicious: bool
    reason: str
    def __init__(self, topic: _Optional[str] = ..., action: _Optional[str] = ..., id: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., files: _Optional[_Iterable[str]] = ..., suspicious: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class SeedProjectRequest(_message.Message):
    __slots__ = ("dir", "space", "dry_run")
    DIR_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    dir: str
    space: str
    dry_run: bool
    def __init__(self, dir: _Optional[str] = ..., space: _Optional[str] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class SeedProjectResponse(_message.Message):
    __slots__ = ("seeds", "dir", "space", "files_read", "dry_run")
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FILES_READ_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    seeds: _containers.RepeatedCompositeFieldContainer[Seed]
    dir: str
    space: str
    files_read: int
    dry_run: bool
    def __init__(self, seeds: _Optional[_Iterable[_Union[Seed, _Mapping]]] = ..., dir: _Optional[str] = ..., space: _Optional[str] = ..., files_read: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...
