import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from mnemesh_proto.v1 import hygiene_pb2 as _hygiene_pb2
from mnemesh_proto.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecallRequest(_message.Message):
    __slots__ = ("query", "spaces", "limit", "mode", "kinds", "tags_any", "tags_all", "tags_none", "since", "before", "as_of", "min_score", "min_heat", "token_budget", "include_superseded", "include_archive", "sort", "weights", "paths", "agent", "session", "source_dir", "explain", "snippets_only", "space", "time_words", "time_zone", "valid_at", "current_session", "trust", "probe", "verify")
    class WeightsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    TAGS_ALL_FIELD_NUMBER: _ClassVar[int]
    TAGS_NONE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    MIN_HEAT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_DIR_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    SNIPPETS_ONLY_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TIME_WORDS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    CURRENT_SESSION_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    VERIFY_FIELD_NUMBER: _ClassVar[int]
    query: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    mode: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    tags_all: _containers.RepeatedScalarFieldContainer[str]
    tags_none: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    as_of: _timestamp_pb2.Timestamp
    min_score: float
    min_heat: float
    token_budget: int
    include_superseded: bool
    include_archive: bool
    sort: str
    weights: _containers.ScalarMap[str, float]
    paths: _containers.RepeatedScalarFieldContainer[str]
    agent: str
    session: str
    source_dir: str
    explain: bool
    snippets_only: bool
    space: str
    time_words: str
    time_zone: str
    valid_at: _timestamp_pb2.Timestamp
    current_session: str
    trust: _containers.RepeatedScalarFieldContainer[str]
    probe: bool
    verify: bool
    def __init__(self, query: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ..., mode: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., tags_any: _Optional[_Iterable[str]] = ..., tags_all: _Optional[_Iterable[str]] = ..., tags_none: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., min_score: _Optional[float] = ..., min_heat: _Optional[float] = ..., token_budget: _Optional[int] = ..., include_superseded: _Optional[bool] = ..., include_archive: _Optional[bool] = ..., sort: _Optional[str] = ..., weights: _Optional[_Mapping[str, float]] = ..., paths: _Optional[_Iterable[str]] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ..., source_dir: _Optional[str] = ..., explain: _Optional[bool] = ..., snippets_only: _Optional[bool] = ..., space: _Optional[str] = ..., time_words: _Optional[str] = ..., time_zone: _Optional[str] = ..., valid_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., current_session: _Optional[str] = ..., trust: _Optional[_Iterable[str]] = ..., probe: _Optional[bool] = ..., verify: _Optional[bool] = ...) -> None: ...

class TimeRead(_message.Message):
    __slots__ = ("words", "since", "before", "zone", "event_id", "inside", "told")
    WORDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    INSIDE_FIELD_NUMBER: _ClassVar[int]
    TOLD_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    zone: str
    event_id: str
    inside: int
    told: str
    def __init__(self, words: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., zone: _Optional[str] = ..., event_id: _Optional[str] = ..., inside: _Optional[int] = ..., told: _Optional[str] = ...) -> None: ...

class RecallResult(_message.Message):
    __slots__ = ("id", "content", "score", "title", "snippet", "space", "kind", "tags", "memory", "redirected_from", "attached", "signals", "marks", "heat", "estimate")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REDIRECTED_FROM_FIELD_NUMBER: _ClassVar[int]
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    MARKS_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: str
    score: float
    title: str
    snippet: str
    space: str
    kind: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    memory: _memory_pb2.Memory
    redirected_from: str
    attached: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Linked]
    signals: _containers.RepeatedCompositeFieldContainer[Signal]
    marks: _containers.RepeatedScalarFieldContainer[int]
    heat: _hygiene_pb2.Heat
    estimate: Estimate
    def __init__(self, id: _Optional[str] = ..., content: _Optional[str] = ..., score: _Optional[float] = ..., title: _Optional[str] = ..., snippet: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., redirected_from: _Optional[str] = ..., attached: _Optional[_Iterable[_Union[_memory_pb2.Linked, _Mapping]]] = ..., signals: _Optional[_Iterable[_Union[Signal, _Mapping]]] = ..., marks: _Optional[_Iterable[int]] = ..., heat: _Optional[_Union[_hygiene_pb2.Heat, _Mapping]] = ..., estimate: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ("parts", "probability")
    PARTS_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[Signal]
    probability: float
    def __init__(self, parts: _Optional[_Iterable[_Union[Signal, _Mapping]]] = ..., probability: _Optional[float] = ...) -> None: ...

class Signal(_message.Message):
    __slots__ = ("name", "raw", "value", "weight", "share")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    name: str
    raw: float
    value: float
    weight: float
    share: float
    def __init__(self, name: _Optional[str] = ..., raw: _Optional[float] = ..., value: _Optional[float] = ..., weight: _Optional[float] = ..., share: _Optional[float] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("results", "coverage", "abstain", "tokens_used", "truncated_by_budget", "degraded", "degraded_reasons", "spaces", "notes", "time", "triggered", "answered")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ABSTAIN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_USED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_BY_BUDGET_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TRIGGERED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RecallResult]
    coverage: float
    abstain: bool
    tokens_used: int
    truncated_by_budget: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    notes: _containers.RepeatedScalarFieldContainer[str]
    time: TimeRead
    triggered: _containers.RepeatedScalarFieldContainer[str]
    answered: float
    def __init__(self, results: _Optional[_Iterable[_Union[RecallResult, _Mapping]]] = ..., coverage: _Optional[float] = ..., abstain: _Optional[bool] = ..., tokens_used: _Optional[int] = ..., truncated_by_budget: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ..., spaces: _Optional[_Iterable[str]] = ..., notes: _Optional[_Iterable[str]] = ..., time: _Optional[_Union[TimeRead, _Mapping]] = ..., triggered: _Optional[_Iterable[str]] = ..., answered: _Optional[float] = ...) -> None: ...

class RecallBatchRequest(_message.Message):
    __slots__ = ("queries",)
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[RecallRequest]
    def __init__(self, queries: _Optional[_Iterable[_Union[RecallRequest, _Mapping]]] = ...) -> None: ...

class RecallBatchResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[RecallResponse]
    def __init__(self, answers: _Optional[_Iterable[_Union[RecallResponse, _Mapping]]] = ...) -> None: ...

class RelatedRequest(_message.Message):
    __slots__ = ("id", "limit", "spaces", "space")
    ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    id: str
    limit: int
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    def __init__(self, id: _Optional[str] = ..., limit: _Optional[int] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ...) -> None: ...

class RelatedResponse(_message.Message):
    __slots__ = ("id", "results", "degraded", "degraded_reasons")
    ID_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    results: _containers.RepeatedCompositeFieldContainer[RelatedResult]
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., results: _Optional[_Iterable[_Union[RelatedResult, _Mapping]]] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class RelatedResult(_message.Message):
    __slots__ = ("id", "title", "snippet", "space", "kind", "score", "reasons", "replaces", "older_than", "may_be_replaced_by")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    REPLACES_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    MAY_BE_REPLACED_BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    snippet: str
    space: str
    kind: str
    score: float
    reasons: _containers.RepeatedScalarFieldContainer[str]
    replaces: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Replaced]
    older_than: _containers.RepeatedScalarFieldContainer[str]
    may_be_replaced_by: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., snippet: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., score: _Optional[float] = ..., reasons: _Optional[_Iterable[str]] = ..., replaces: _Optional[_Iterable[_Union[_memory_pb2.Replaced, _Mapping]]] = ..., older_than: _Optional[_Iterable[str]] = ..., may_be_replaced_by: _Optional[_Iterable[str]] = ...) -> None: ...
