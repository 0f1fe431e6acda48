import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Checkpoint(_message.Message):
    __slots__ = ("id", "session", "space", "by", "at", "number", "task", "files", "decisions", "questions", "next_steps", "errors", "custom")
    ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEPS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    id: str
    session: str
    space: str
    by: str
    at: _timestamp_pb2.Timestamp
    number: int
    task: str
    files: _containers.RepeatedScalarFieldContainer[str]
    decisions: _containers.RepeatedScalarFieldContainer[str]
    questions: _containers.RepeatedScalarFieldContainer[str]
    next_steps: _containers.RepeatedScalarFieldContainer[str]
    errors: _containers.RepeatedScalarFieldContainer[str]
    custom: str
    def __init__(self, id: _Optional[str] = ..., session: _Optional[str] = ..., space: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., number: _Optional[int] = ..., task: _Optional[str] = ..., files: _Optional[_Iterable[str]] = ..., decisions: _Optional[_Iterable[str]] = ..., questions: _Optional[_Iterable[str]] = ..., next_steps: _Optional[_Iterable[str]] = ..., errors: _Optional[_Iterable[str]] = ..., custom: _Optional[str] = ...) -> None: ...

class CheckpointRequest(_message.Message):
    __slots__ = ("session", "task", "files", "decisions", "questions", "next_steps", "errors", "custom", "space", "merge", "mask")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEPS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    session: str
    task: str
    files: _containers.RepeatedScalarFieldContainer[str]
    decisions: _containers.RepeatedScalarFieldContainer[str]
    questions: _containers.RepeatedScalarFieldContainer[str]
    next_steps: _containers.RepeatedScalarFieldContainer[str]
    errors: _containers.RepeatedScalarFieldContainer[str]
    custom: str
    space: str
    merge: bool
    mask: bool
    def __init__(self, session: _Optional[str] = ..., task: _Optional[str] = ..., files: _Optional[_Iterable[str]] = ..., decisions: _Optional[_Iterable[str]] = ..., questions: _Optional[_Iterable[str]] = ..., next_steps: _Optional[_Iterable[str]] = ..., errors: _Optional[_Iterable[str]] = ..., custom: _Optional[str] = ..., space: _Optional[str] = ..., merge: _Optional[bool] = ..., mask: _Optional[bool] = ...) -> None: ...

class CheckpointResponse(_message.Message):
    __slots__ = ("checkpoint",)
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    checkpoint: Checkpoint
    def __init__(self, checkpoint: _Optional[_Union[Checkpoint, _Mapping]] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("session", "spaces", "space", "agent", "token_budget")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    session: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    agent: str
    token_budget: int
    def __init__(self, session: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., agent: _Optional[str] = ..., token_budget: _Optional[int] = ...) -> None: ...

class ResumeResponse(_message.Message):
    __slots__ = ("checkpoint", "groups", "tokens_used", "left_out", "degraded")
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_USED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    checkpoint: Checkpoint
    groups: _containers.RepeatedCompositeFieldContainer[ContextGroup]
    tokens_used: int
    left_out: int
    degraded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, checkpoint: _Optional[_Union[Checkpoint, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[ContextGroup, _Mapping]]] = ..., tokens_used: _Optional[int] = ..., left_out: _Optional[int] = ..., degraded: _Optional[_Iterable[str]] = ...) -> None: ...

class ContextRequest(_message.Message):
    __slots__ = ("query", "session", "task", "spaces", "space", "dir", "paths", "token_budget", "anew")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    ANEW_FIELD_NUMBER: _ClassVar[int]
    query: str
    session: str
    task: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    dir: str
    paths: _containers.RepeatedScalarFieldContainer[str]
    token_budget: int
    anew: bool
    def __init__(self, query: _Optional[str] = ..., session: _Optional[str] = ..., task: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., dir: _Optional[str] = ..., paths: _Optional[_Iterable[str]] = ..., token_budget: _Optional[int] = ..., anew: _Optional[bool] = ...) -> None: ...

class ContextGroup(_message.Message):
    __slots__ = ("name", "memories")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    memories: _containers.RepeatedCompositeFieldContainer[ContextMemory]
    def __init__(self, name: _Optional[str] = ..., memories: _Optional[_Iterable[_Union[ContextMemory, _Mapping]]] = ...) -> None: ...

class ContextMemory(_message.Message):
    __slots__ = ("id", "kind", "title", "content", "shortened", "space", "updated_at", "replaces", "older_than", "may_be_replaced_by", "suspicious")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SHORTENED_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    REPLACES_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    MAY_BE_REPLACED_BY_FIELD_NUMBER: _ClassVar[int]
    SUSPICIOUS_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    title: str
    content: str
    shortened: bool
    space: str
    updated_at: _timestamp_pb2.Timestamp
    replaces: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Replaced]
    older_than: _containers.RepeatedScalarFieldContainer[str]
    may_be_replaced_by: _containers.RepeatedScalarFieldContainer[str]
    suspicious: bool
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., shortened: _Optional[bool] = ..., space: _Optional[str] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., replaces: _Optional[_Iterable[_Union[_memory_pb2.Replaced, _Mapping]]] = ..., older_than: _Optional[_Iterable[str]] = ..., may_be_replaced_by: _Optional[_Iterable[str]] = ..., suspicious: _Optional[bool] = ...) -> None: ...

class ContextResponse(_message.Message):
    __slots__ = ("groups", "tokens_used", "left_out", "continued", "degraded")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_USED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    CONTINUED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[ContextGroup]
    tokens_used: int
    left_out: int
    continued: bool
    degraded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[_Union[ContextGroup, _Mapping]]] = ..., tokens_used: _Optional[int] = ..., left_out: _Optional[int] = ..., continued: _Optional[bool] = ..., degraded: _Optional[_Iterable[str]] = ...) -> None: ...

class RecordRunRequest(_message.Message):
    __slots__ = ("session", "prompts", "files", "errors", "outcome", "status", "model", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost_usd", "started_at", "ended_at", "space", "mask", "prompt_id")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOKENS_IN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_OUT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CACHED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CACHE_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    PROMPT_ID_FIELD_NUMBER: _ClassVar[int]
    session: str
    prompts: _containers.RepeatedScalarFieldContainer[str]
    files: _containers.RepeatedScalarFieldContainer[str]
    errors: _containers.RepeatedScalarFieldContainer[str]
    outcome: str
    status: str
    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    tokens_cache_written: int
    cost_usd: float
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    space: str
    mask: bool
    prompt_id: str
    def __init__(self, session: _Optional[str] = ..., prompts: _Optional[_Iterable[str]] = ..., files: _Optional[_Iterable[str]] = ..., errors: _Optional[_Iterable[str]] = ..., outcome: _Optional[str] = ..., status: _Optional[str] = ..., model: _Optional[str] = ..., tokens_in: _Optional[int] = ..., tokens_out: _Optional[int] = ..., tokens_cached: _Optional[int] = ..., tokens_cache_written: _Optional[int] = ..., cost_usd: _Optional[float] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., space: _Optional[str] = ..., mask: _Optional[bool] = ..., prompt_id: _Optional[str] = ...) -> None: ...

class SessionRun(_message.Message):
    __slots__ = ("id", "session", "space", "by", "at", "status", "content", "model", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost_usd", "started_at", "ended_at", "prompt_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOKENS_IN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_OUT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CACHED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CACHE_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    session: str
    space: str
    by: str
    at: _timestamp_pb2.Timestamp
    status: str
    content: str
    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    tokens_cache_written: int
    cost_usd: float
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    prompt_id: str
    def __init__(self, id: _Optional[str] = ..., session: _Optional[str] = ..., space: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[str] = ..., content: _Optional[str] = ..., model: _Optional[str] = ..., tokens_in: _Optional[int] = ..., tokens_out: _Optional[int] = ..., tokens_cached: _Optional[int] = ..., tokens_cache_written: _Optional[int] = ..., cost_usd: _Optional[float] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., prompt_id: _Optional[str] = ...) -> None: ...

class RecordRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: SessionRun
    def __init__(self, run: _Optional[_Union[SessionRun, _Mapping]] = ...) -> None: ...

class RunsRequest(_message.Message):
    __slots__ = ("spaces", "space", "session", "limit", "cursor")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    session: str
    limit: int
    cursor: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., session: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class RunsResponse(_message.Message):
    __slots__ = ("runs", "cursor", "total")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[SessionRun]
    cursor: str
    total: int
    def __init__(self, runs: _Optional[_Iterable[_Union[SessionRun, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class Requirement(_message.Message):
    __slots__ = ("id", "content", "status", "note", "space", "by", "created_at", "updated_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: str
    status: str
    note: str
    space: str
    by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., content: _Optional[str] = ..., status: _Optional[str] = ..., note: _Optional[str] = ..., space: _Optional[str] = ..., by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SettleRequest(_message.Message):
    __slots__ = ("id", "status", "note")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: str
    note: str
    def __init__(self, id: _Optional[str] = ..., status: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class SettleResponse(_message.Message):
    __slots__ = ("requirement",)
    REQUIREMENT_FIELD_NUMBER: _ClassVar[int]
    requirement: Requirement
    def __init__(self, requirement: _Optional[_Union[Requirement, _Mapping]] = ...) -> None: ...

class RequirementsRequest(_message.Message):
    __slots__ = ("spaces", "space", "status", "limit", "cursor")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    status: str
    limit: int
    cursor: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., status: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class RequirementsResponse(_message.Message):
    __slots__ = ("requirements", "cursor", "total")
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    requirements: _containers.RepeatedCompositeFieldContainer[Requirement]
    cursor: str
    total: int
    def __init__(self, requirements: _Optional[_Iterable[_Union[Requirement, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...
