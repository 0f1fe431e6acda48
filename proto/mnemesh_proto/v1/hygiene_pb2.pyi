import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DuplicatesRequest(_message.Message):
    __slots__ = ("spaces", "threshold", "limit", "space")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    threshold: float
    limit: int
    space: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., threshold: _Optional[float] = ..., limit: _Optional[int] = ..., space: _Optional[str] = ...) -> None: ...

class DuplicatesResponse(_message.Message):
    __slots__ = ("pairs", "total", "examined", "unexamined", "degraded", "degraded_reasons")
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    UNEXAMINED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[DuplicatePair]
    total: int
    examined: int
    unexamined: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pairs: _Optional[_Iterable[_Union[DuplicatePair, _Mapping]]] = ..., total: _Optional[int] = ..., examined: _Optional[int] = ..., unexamined: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class DuplicatePair(_message.Message):
    __slots__ = ("older", "newer", "similarity", "verdict", "reason", "command")
    OLDER_FIELD_NUMBER: _ClassVar[int]
    NEWER_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    older: TidyMemory
    newer: TidyMemory
    similarity: float
    verdict: str
    reason: str
    command: str
    def __init__(self, older: _Optional[_Union[TidyMemory, _Mapping]] = ..., newer: _Optional[_Union[TidyMemory, _Mapping]] = ..., similarity: _Optional[float] = ..., verdict: _Optional[str] = ..., reason: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class HygieneRequest(_message.Message):
    __slots__ = ("spaces", "stale_days", "limit", "space")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    STALE_DAYS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    stale_days: int
    limit: int
    space: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., stale_days: _Optional[int] = ..., limit: _Optional[int] = ..., space: _Optional[str] = ...) -> None: ...

class HygieneResponse(_message.Message):
    __slots__ = ("findings", "counts", "examined", "unexamined", "degraded", "degraded_reasons")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    UNEXAMINED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    counts: _containers.ScalarMap[str, int]
    examined: int
    unexamined: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., counts: _Optional[_Mapping[str, int]] = ..., examined: _Optional[int] = ..., unexamined: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("type", "memory", "others", "verdict", "command", "choices")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    type: str
    memory: TidyMemory
    others: _containers.RepeatedScalarFieldContainer[str]
    verdict: str
    command: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, type: _Optional[str] = ..., memory: _Optional[_Union[TidyMemory, _Mapping]] = ..., others: _Optional[_Iterable[str]] = ..., verdict: _Optional[str] = ..., command: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ...) -> None: ...

class TidyMemory(_message.Message):
    __slots__ = ("id", "title", "snippet", "space", "kind", "state", "created_at", "heat")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    snippet: str
    space: str
    kind: str
    state: str
    created_at: _timestamp_pb2.Timestamp
    heat: Heat
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., snippet: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., state: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., heat: _Optional[_Union[Heat, _Mapping]] = ...) -> None: ...

class Heat(_message.Message):
    __slots__ = ("value", "strength", "half_life_days", "usage", "usefulness", "age_days", "uses", "valence")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    HALF_LIFE_DAYS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    USEFULNESS_FIELD_NUMBER: _ClassVar[int]
    AGE_DAYS_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    VALENCE_FIELD_NUMBER: _ClassVar[int]
    value: float
    strength: float
    half_life_days: float
    usage: float
    usefulness: float
    age_days: float
    uses: int
    valence: float
    def __init__(self, value: _Optional[float] = ..., strength: _Optional[float] = ..., half_life_days: _Optional[float] = ..., usage: _Optional[float] = ..., usefulness: _Optional[float] = ..., age_days: _Optional[float] = ..., uses: _Optional[int] = ..., valence: _Optional[float] = ...) -> None: ...
