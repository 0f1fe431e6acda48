import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConsolidateRequest(_message.Message):
    __slots__ = ("space", "dry_run")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    space: str
    dry_run: bool
    def __init__(self, space: _Optional[str] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ConsolidateResponse(_message.Message):
    __slots__ = ("run", "space", "dry_run", "read", "proposed", "applied", "counts", "steps", "gaps", "degraded", "degraded_reasons")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RUN_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    GAPS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    run: str
    space: str
    dry_run: bool
    read: int
    proposed: int
    applied: int
    counts: _containers.ScalarMap[str, int]
    steps: _containers.RepeatedCompositeFieldContainer[SleepStep]
    gaps: _containers.RepeatedCompositeFieldContainer[SleepGap]
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run: _Optional[str] = ..., space: _Optional[str] = ..., dry_run: _Optional[bool] = ..., read: _Optional[int] = ..., proposed: _Optional[int] = ..., applied: _Optional[int] = ..., counts: _Optional[_Mapping[str, int]] = ..., steps: _Optional[_Iterable[_Union[SleepStep, _Mapping]]] = ..., gaps: _Optional[_Iterable[_Union[SleepGap, _Mapping]]] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class SleepStep(_message.Message):
    __slots__ = ("action", "id", "others", "why", "domain", "state")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    action: str
    id: str
    others: _containers.RepeatedScalarFieldContainer[str]
    why: str
    domain: str
    state: str
    def __init__(self, action: _Optional[str] = ..., id: _Optional[str] = ..., others: _Optional[_Iterable[str]] = ..., why: _Optional[str] = ..., domain: _Optional[str] = ..., state: _Optional[str] = ...) -> None: ...

class SleepGap(_message.Message):
    __slots__ = ("type", "text", "ids", "count")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    type: str
    text: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    count: int
    def __init__(self, type: _Optional[str] = ..., text: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ...) -> None: ...

class SleepRun(_message.Message):
    __slots__ = ("id", "space", "by", "state", "started_at", "ended_at", "read", "applied", "steps")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    by: str
    state: str
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    read: int
    applied: int
    steps: _containers.RepeatedCompositeFieldContainer[SleepStep]
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., by: _Optional[str] = ..., state: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., read: _Optional[int] = ..., applied: _Optional[int] = ..., steps: _Optional[_Iterable[_Union[SleepStep, _Mapping]]] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("spaces", "space", "limit")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[SleepRun]
    def __init__(self, runs: _Optional[_Iterable[_Union[SleepRun, _Mapping]]] = ...) -> None: ...

class UndoRunRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class UndoRunResponse(_message.Message):
    __slots__ = ("run", "undone")
    RUN_FIELD_NUMBER: _ClassVar[int]
    UNDONE_FIELD_NUMBER: _ClassVar[int]
    run: SleepRun
    undone: int
    def __init__(self, run: _Optional[_Union[SleepRun, _Mapping]] = ..., undone: _Optional[int] = ...) -> None: ...
