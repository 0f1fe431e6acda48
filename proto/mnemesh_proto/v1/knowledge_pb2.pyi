import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GraphRequest(_message.Message):
    __slots__ = ("name", "spaces", "space", "limit", "as_of", "community")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    as_of: _timestamp_pb2.Timestamp
    community: bool
    def __init__(self, name: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., community: _Optional[bool] = ...) -> None: ...

class GraphResponse(_message.Message):
    __slots__ = ("name", "kind", "id", "relations", "relations_total", "entities", "memories", "degraded", "degraded_reasons", "community")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    COMMUNITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    id: str
    relations: _containers.RepeatedCompositeFieldContainer[GraphRelation]
    relations_total: int
    entities: _containers.RepeatedCompositeFieldContainer[GraphEntity]
    memories: _containers.RepeatedScalarFieldContainer[str]
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    community: GraphCommunity
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., id: _Optional[str] = ..., relations: _Optional[_Iterable[_Union[GraphRelation, _Mapping]]] = ..., relations_total: _Optional[int] = ..., entities: _Optional[_Iterable[_Union[GraphEntity, _Mapping]]] = ..., memories: _Optional[_Iterable[str]] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ..., community: _Optional[_Union[GraphCommunity, _Mapping]] = ...) -> None: ...

class GraphCommunity(_message.Message):
    __slots__ = ("id", "entities", "entities_total", "memories_total")
    ID_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    id: str
    entities: _containers.RepeatedScalarFieldContainer[str]
    entities_total: int
    memories_total: int
    def __init__(self, id: _Optional[str] = ..., entities: _Optional[_Iterable[str]] = ..., entities_total: _Optional[int] = ..., memories_total: _Optional[int] = ...) -> None: ...

class GraphRelation(_message.Message):
    __slots__ = ("subject", "type", "object", "memories", "memories_total", "recorded_at", "valid_from", "valid_to")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    subject: str
    type: str
    object: str
    memories: _containers.RepeatedScalarFieldContainer[str]
    memories_total: int
    recorded_at: _timestamp_pb2.Timestamp
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    def __init__(self, subject: _Optional[str] = ..., type: _Optional[str] = ..., object: _Optional[str] = ..., memories: _Optional[_Iterable[str]] = ..., memories_total: _Optional[int] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GraphEntity(_message.Message):
    __slots__ = ("name", "kind", "score", "memories")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    score: float
    memories: int
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., score: _Optional[float] = ..., memories: _Optional[int] = ...) -> None: ...

class GraphAuditRequest(_message.Message):
    __slots__ = ("spaces", "space", "limit")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    limit: int
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class GraphAuditResponse(_message.Message):
    __slots__ = ("memories", "entities", "relations", "counts", "findings", "made", "degraded", "degraded_reasons")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    MADE_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    memories: int
    entities: int
    relations: int
    counts: _containers.ScalarMap[str, int]
    findings: _containers.RepeatedCompositeFieldContainer[GraphFinding]
    made: str
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[int] = ..., entities: _Optional[int] = ..., relations: _Optional[int] = ..., counts: _Optional[_Mapping[str, int]] = ..., findings: _Optional[_Iterable[_Union[GraphFinding, _Mapping]]] = ..., made: _Optional[str] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphFinding(_message.Message):
    __slots__ = ("type", "name", "detail", "memories")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    type: str
    name: str
    detail: str
    memories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, type: _Optional[str] = ..., name: _Optional[str] = ..., detail: _Optional[str] = ..., memories: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphRebuildRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GraphRebuildResponse(_message.Message):
    __slots__ = ("memories", "entities", "relations", "degraded", "degraded_reasons")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    memories: int
    entities: int
    relations: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[int] = ..., entities: _Optional[int] = ..., relations: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class CausalChainRequest(_message.Message):
    __slots__ = ("name", "spaces", "space", "window_hours")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_HOURS_FIELD_NUMBER: _ClassVar[int]
    name: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    window_hours: int
    def __init__(self, name: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., window_hours: _Optional[int] = ...) -> None: ...

class CausalChainResponse(_message.Message):
    __slots__ = ("name", "causes", "effects", "linked", "windows", "window_hours", "events", "names", "degraded", "degraded_reasons")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    LINKED_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_HOURS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    causes: _containers.RepeatedCompositeFieldContainer[CausalLink]
    effects: _containers.RepeatedCompositeFieldContainer[CausalLink]
    linked: _containers.RepeatedCompositeFieldContainer[CausalLink]
    windows: int
    window_hours: int
    events: int
    names: int
    degraded: bool
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., causes: _Optional[_Iterable[_Union[CausalLink, _Mapping]]] = ..., effects: _Optional[_Iterable[_Union[CausalLink, _Mapping]]] = ..., linked: _Optional[_Iterable[_Union[CausalLink, _Mapping]]] = ..., windows: _Optional[int] = ..., window_hours: _Optional[int] = ..., events: _Optional[int] = ..., names: _Optional[int] = ..., degraded: _Optional[bool] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class CausalLink(_message.Message):
    __slots__ = ("cause", "effect", "distance", "p_value", "lift", "windows", "memories")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIFT_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    cause: str
    effect: str
    distance: int
    p_value: float
    lift: float
    windows: int
    memories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cause: _Optional[str] = ..., effect: _Optional[str] = ..., distance: _Optional[int] = ..., p_value: _Optional[float] = ..., lift: _Optional[float] = ..., windows: _Optional[int] = ..., memories: _Optional[_Iterable[str]] = ...) -> None: ...
