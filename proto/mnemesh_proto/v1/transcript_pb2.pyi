import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TranscriptTurnDraft(_message.Message):
    __slots__ = ("id", "role", "text", "at")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    role: str
    text: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., role: _Optional[str] = ..., text: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AddTranscriptRequest(_message.Message):
    __slots__ = ("session", "turns", "space", "part_of", "source", "dir", "title")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PART_OF_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    session: str
    turns: _containers.RepeatedCompositeFieldContainer[TranscriptTurnDraft]
    space: str
    part_of: str
    source: str
    dir: str
    title: str
    def __init__(self, session: _Optional[str] = ..., turns: _Optional[_Iterable[_Union[TranscriptTurnDraft, _Mapping]]] = ..., space: _Optional[str] = ..., part_of: _Optional[str] = ..., source: _Optional[str] = ..., dir: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class MaskedTurn(_message.Message):
    __slots__ = ("id", "types")
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    id: str
    types: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., types: _Optional[_Iterable[str]] = ...) -> None: ...

class AddTranscriptResponse(_message.Message):
    __slots__ = ("session", "space", "stored", "known", "turns", "masked")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    session: str
    space: str
    stored: int
    known: int
    turns: int
    masked: _containers.RepeatedCompositeFieldContainer[MaskedTurn]
    def __init__(self, session: _Optional[str] = ..., space: _Optional[str] = ..., stored: _Optional[int] = ..., known: _Optional[int] = ..., turns: _Optional[int] = ..., masked: _Optional[_Iterable[_Union[MaskedTurn, _Mapping]]] = ...) -> None: ...

class TranscriptTurn(_message.Message):
    __slots__ = ("session", "space", "position", "id", "role", "text", "at")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    session: str
    space: str
    position: int
    id: str
    role: str
    text: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, session: _Optional[str] = ..., space: _Optional[str] = ..., position: _Optional[int] = ..., id: _Optional[str] = ..., role: _Optional[str] = ..., text: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SearchTranscriptsRequest(_message.Message):
    __slots__ = ("query", "spaces", "space", "session", "agent", "roles", "since", "before", "limit", "context")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    query: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    session: str
    agent: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    limit: int
    context: int
    def __init__(self, query: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., session: _Optional[str] = ..., agent: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., context: _Optional[int] = ...) -> None: ...

class TranscriptHit(_message.Message):
    __slots__ = ("turn", "score", "before", "after")
    TURN_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    turn: TranscriptTurn
    score: float
    before: _containers.RepeatedCompositeFieldContainer[TranscriptTurn]
    after: _containers.RepeatedCompositeFieldContainer[TranscriptTurn]
    def __init__(self, turn: _Optional[_Union[TranscriptTurn, _Mapping]] = ..., score: _Optional[float] = ..., before: _Optional[_Iterable[_Union[TranscriptTurn, _Mapping]]] = ..., after: _Optional[_Iterable[_Union[TranscriptTurn, _Mapping]]] = ...) -> None: ...

class SearchTranscriptsResponse(_message.Message):
    __slots__ = ("results", "spaces")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[TranscriptHit]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, results: _Optional[_Iterable[_Union[TranscriptHit, _Mapping]]] = ..., spaces: _Optional[_Iterable[str]] = ...) -> None: ...

class ReadTranscriptRequest(_message.Message):
    __slots__ = ("session", "space", "first", "count")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    session: str
    space: str
    first: int
    count: int
    def __init__(self, session: _Optional[str] = ..., space: _Optional[str] = ..., first: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class TranscriptSession(_message.Message):
    __slots__ = ("session", "space", "part_of", "source", "dir", "title", "by", "turns", "bytes", "masked", "started_at", "ended_at", "stored_at")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PART_OF_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    STORED_AT_FIELD_NUMBER: _ClassVar[int]
    session: str
    space: str
    part_of: str
    source: str
    dir: str
    title: str
    by: str
    turns: int
    bytes: int
    masked: int
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    stored_at: _timestamp_pb2.Timestamp
    def __init__(self, session: _Optional[str] = ..., space: _Optional[str] = ..., part_of: _Optional[str] = ..., source: _Optional[str] = ..., dir: _Optional[str] = ..., title: _Optional[str] = ..., by: _Optional[str] = ..., turns: _Optional[int] = ..., bytes: _Optional[int] = ..., masked: _Optional[int] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stored_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReadTranscriptResponse(_message.Message):
    __slots__ = ("session", "turns")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    session: TranscriptSession
    turns: _containers.RepeatedCompositeFieldContainer[TranscriptTurn]
    def __init__(self, session: _Optional[_Union[TranscriptSession, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[TranscriptTurn, _Mapping]]] = ...) -> None: ...

class ListTranscriptsRequest(_message.Message):
    __slots__ = ("spaces", "space", "agent", "since", "before", "limit", "cursor")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    agent: str
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    limit: int
    cursor: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., agent: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListTranscriptsResponse(_message.Message):
    __slots__ = ("sessions", "cursor", "total")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[TranscriptSession]
    cursor: str
    total: int
    def __init__(self, sessions: _Optional[_Iterable[_Union[TranscriptSession, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class EraseTranscriptRequest(_message.Message):
    __slots__ = ("session", "space")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    session: str
    space: str
    def __init__(self, session: _Optional[str] = ..., space: _Optional[str] = ...) -> None: ...

class EraseTranscriptResponse(_message.Message):
    __slots__ = ("sessions", "turns", "pending", "backups")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[TranscriptSession]
    turns: int
    pending: str
    backups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sessions: _Optional[_Iterable[_Union[TranscriptSession, _Mapping]]] = ..., turns: _Optional[int] = ..., pending: _Optional[str] = ..., backups: _Optional[_Iterable[str]] = ...) -> None: ...
