from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LinkRequest(_message.Message):
    __slots__ = ("id", "type", "to", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    to: str
    wait: str
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., to: _Optional[str] = ..., wait: _Optional[str] = ...) -> None: ...

class LinkResponse(_message.Message):
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

class UnlinkRequest(_message.Message):
    __slots__ = ("id", "type", "to", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    to: str
    wait: str
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., to: _Optional[str] = ..., wait: _Optional[str] = ...) -> None: ...

class UnlinkResponse(_message.Message):
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

class RateRequest(_message.Message):
    __slots__ = ("id", "useful", "answer")
    ID_FIELD_NUMBER: _ClassVar[int]
    USEFUL_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    id: str
    useful: bool
    answer: str
    def __init__(self, id: _Optional[str] = ..., useful: _Optional[bool] = ..., answer: _Optional[str] = ...) -> None: ...

class RateResponse(_message.Message):
    __slots__ = ("rated",)
    RATED_FIELD_NUMBER: _ClassVar[int]
    rated: _containers.RepeatedCompositeFieldContainer[RatedMemory]
    def __init__(self, rated: _Optional[_Iterable[_Union[RatedMemory, _Mapping]]] = ...) -> None: ...

class RatedMemory(_message.Message):
    __slots__ = ("id", "useful", "not_useful", "changed")
    ID_FIELD_NUMBER: _ClassVar[int]
    USEFUL_FIELD_NUMBER: _ClassVar[int]
    NOT_USEFUL_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    id: str
    useful: int
    not_useful: int
    changed: bool
    def __init__(self, id: _Optional[str] = ..., useful: _Optional[int] = ..., not_useful: _Optional[int] = ..., changed: _Optional[bool] = ...) -> None: ...
