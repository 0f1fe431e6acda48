from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
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
