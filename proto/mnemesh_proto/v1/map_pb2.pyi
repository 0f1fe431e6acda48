import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StoryRequest(_message.Message):
    __slots__ = ("spaces", "space", "since", "before", "limit")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    limit: int
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class StoryResponse(_message.Message):
    __slots__ = ("sentences", "chapters", "examined", "left_out", "degraded", "degraded_reasons")
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    CHAPTERS_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    sentences: _containers.RepeatedCompositeFieldContainer[StorySentence]
    chapters: _containers.RepeatedScalarFieldContainer[int]
    examined: int
    left_out: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sentences: _Optional[_Iterable[_Union[StorySentence, _Mapping]]] = ..., chapters: _Optional[_Iterable[int]] = ..., examined: _Optional[int] = ..., left_out: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class StorySentence(_message.Message):
    __slots__ = ("at", "type", "text", "ids")
    AT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    type: str
    text: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., type: _Optional[str] = ..., text: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GapsRequest(_message.Message):
    __slots__ = ("spaces", "space", "limit")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class GapsResponse(_message.Message):
    __slots__ = ("gaps", "total", "examined", "degraded", "degraded_reasons")
    GAPS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    gaps: _containers.RepeatedCompositeFieldContainer[OpenPoint]
    total: int
    examined: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, gaps: _Optional[_Iterable[_Union[OpenPoint, _Mapping]]] = ..., total: _Optional[int] = ..., examined: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class OpenPoint(_message.Message):
    __slots__ = ("type", "text", "count", "ids")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    type: str
    text: str
    count: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, type: _Optional[str] = ..., text: _Optional[str] = ..., count: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CoverageRequest(_message.Message):
    __slots__ = ("query", "spaces", "space")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    query: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    def __init__(self, query: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ...) -> None: ...

class CoverageResponse(_message.Message):
    __slots__ = ("coverage", "abstain", "missing_terms", "ids", "degraded", "degraded_reasons", "answered")
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ABSTAIN_FIELD_NUMBER: _ClassVar[int]
    MISSING_TERMS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    coverage: float
    abstain: bool
    missing_terms: _containers.RepeatedScalarFieldContainer[str]
    ids: _containers.RepeatedScalarFieldContainer[str]
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    answered: float
    def __init__(self, coverage: _Optional[float] = ..., abstain: _Optional[bool] = ..., missing_terms: _Optional[_Iterable[str]] = ..., ids: _Optional[_Iterable[str]] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ..., answered: _Optional[float] = ...) -> None: ...

class RecallHierarchicalRequest(_message.Message):
    __slots__ = ("query", "spaces", "space", "level", "limit")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    query: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    level: int
    limit: int
    def __init__(self, query: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., level: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class RecallHierarchicalResponse(_message.Message):
    __slots__ = ("clusters", "total", "examined", "degraded", "degraded_reasons")
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[Cluster]
    total: int
    examined: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, clusters: _Optional[_Iterable[_Union[Cluster, _Mapping]]] = ..., total: _Optional[int] = ..., examined: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class Cluster(_message.Message):
    __slots__ = ("id", "level", "label", "size", "memories", "examples", "score")
    ID_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    id: str
    level: int
    label: str
    size: int
    memories: _containers.RepeatedScalarFieldContainer[str]
    examples: _containers.RepeatedScalarFieldContainer[str]
    score: float
    def __init__(self, id: _Optional[str] = ..., level: _Optional[int] = ..., label: _Optional[str] = ..., size: _Optional[int] = ..., memories: _Optional[_Iterable[str]] = ..., examples: _Optional[_Iterable[str]] = ..., score: _Optional[float] = ...) -> None: ...

class DrillDownRequest(_message.Message):
    __slots__ = ("cluster", "spaces", "space", "limit")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    def __init__(self, cluster: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class DrillDownResponse(_message.Message):
    __slots__ = ("cluster", "children", "memories", "examples", "degraded", "degraded_reasons")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    children: _containers.RepeatedCompositeFieldContainer[Cluster]
    memories: _containers.RepeatedScalarFieldContainer[str]
    examples: _containers.RepeatedScalarFieldContainer[str]
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ..., children: _Optional[_Iterable[_Union[Cluster, _Mapping]]] = ..., memories: _Optional[_Iterable[str]] = ..., examples: _Optional[_Iterable[str]] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class NavigateRequest(_message.Message):
    __slots__ = ("query", "id", "spaces", "space", "limit")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    query: str
    id: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    def __init__(self, query: _Optional[str] = ..., id: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class NavigateResponse(_message.Message):
    __slots__ = ("points", "examined", "degraded", "degraded_reasons")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[MapPoint]
    examined: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, points: _Optional[_Iterable[_Union[MapPoint, _Mapping]]] = ..., examined: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class MapPoint(_message.Message):
    __slots__ = ("id", "text", "score", "x", "y", "start", "reasons")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    score: float
    x: float
    y: float
    start: bool
    reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., x: _Optional[float] = ..., y: _Optional[float] = ..., start: _Optional[bool] = ..., reasons: _Optional[_Iterable[str]] = ...) -> None: ...
