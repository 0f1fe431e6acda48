import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ActorStatus(_message.Message):
    __slots__ = ("name", "type", "pid", "node", "state", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    pid: int
    node: str
    state: str
    address: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., pid: _Optional[int] = ..., node: _Optional[str] = ..., state: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class LedgerReplica(_message.Message):
    __slots__ = ("actor", "role", "state", "node_id", "machine", "place", "incarnation", "seq", "lag")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    actor: str
    role: str
    state: str
    node_id: str
    machine: str
    place: str
    incarnation: str
    seq: int
    lag: int
    def __init__(self, actor: _Optional[str] = ..., role: _Optional[str] = ..., state: _Optional[str] = ..., node_id: _Optional[str] = ..., machine: _Optional[str] = ..., place: _Optional[str] = ..., incarnation: _Optional[str] = ..., seq: _Optional[int] = ..., lag: _Optional[int] = ...) -> None: ...

class LedgerStatus(_message.Message):
    __slots__ = ("incarnation", "seq", "memories", "bytes", "replicas", "state")
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    incarnation: str
    seq: int
    memories: int
    bytes: int
    replicas: _containers.RepeatedCompositeFieldContainer[LedgerReplica]
    state: str
    def __init__(self, incarnation: _Optional[str] = ..., seq: _Optional[int] = ..., memories: _Optional[int] = ..., bytes: _Optional[int] = ..., replicas: _Optional[_Iterable[_Union[LedgerReplica, _Mapping]]] = ..., state: _Optional[str] = ...) -> None: ...

class IndexStatus(_message.Message):
    __slots__ = ("name", "backend", "seq", "lag", "points", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    backend: str
    seq: int
    lag: int
    points: int
    state: str
    def __init__(self, name: _Optional[str] = ..., backend: _Optional[str] = ..., seq: _Optional[int] = ..., lag: _Optional[int] = ..., points: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class ConsumerStatus(_message.Message):
    __slots__ = ("name", "seq", "lag", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    seq: int
    lag: int
    state: str
    def __init__(self, name: _Optional[str] = ..., seq: _Optional[int] = ..., lag: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class AstrocyteStatus(_message.Message):
    __slots__ = ("name", "at", "space", "read", "proposed", "applied")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    name: str
    at: _timestamp_pb2.Timestamp
    space: str
    read: int
    proposed: int
    applied: int
    def __init__(self, name: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., space: _Optional[str] = ..., read: _Optional[int] = ..., proposed: _Optional[int] = ..., applied: _Optional[int] = ...) -> None: ...

class TranscriptStatus(_message.Message):
    __slots__ = ("sessions", "turns", "bytes", "state")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    sessions: int
    turns: int
    bytes: int
    state: str
    def __init__(self, sessions: _Optional[int] = ..., turns: _Optional[int] = ..., bytes: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class ModelStatus(_message.Message):
    __slots__ = ("generation", "name", "dimensions", "source", "query_prefix", "passage_prefix", "precision", "pairs", "questions")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    QUERY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    generation: str
    name: str
    dimensions: int
    source: str
    query_prefix: str
    passage_prefix: str
    precision: str
    pairs: str
    questions: str
    def __init__(self, generation: _Optional[str] = ..., name: _Optional[str] = ..., dimensions: _Optional[int] = ..., source: _Optional[str] = ..., query_prefix: _Optional[str] = ..., passage_prefix: _Optional[str] = ..., precision: _Optional[str] = ..., pairs: _Optional[str] = ..., questions: _Optional[str] = ...) -> None: ...

class SettingStatus(_message.Message):
    __slots__ = ("name", "value", "origin")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    origin: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., origin: _Optional[str] = ...) -> None: ...

class StatusResponse(_message.Message):
    __slots__ = ("version", "state", "runtime", "data_dir", "node_id", "pid", "uptime_s", "grpc", "http", "actors", "ledger", "index", "model", "notices", "transcripts", "reembed", "settings", "consumers", "astrocytes", "files")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    DATA_DIR_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    GRPC_FIELD_NUMBER: _ClassVar[int]
    HTTP_FIELD_NUMBER: _ClassVar[int]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPTS_FIELD_NUMBER: _ClassVar[int]
    REEMBED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    ASTROCYTES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    version: str
    state: str
    runtime: str
    data_dir: str
    node_id: str
    pid: int
    uptime_s: float
    grpc: str
    http: str
    actors: _containers.RepeatedCompositeFieldContainer[ActorStatus]
    ledger: LedgerStatus
    index: _containers.RepeatedCompositeFieldContainer[IndexStatus]
    model: ModelStatus
    notices: _containers.RepeatedScalarFieldContainer[str]
    transcripts: TranscriptStatus
    reembed: ReembedStatus
    settings: _containers.RepeatedCompositeFieldContainer[SettingStatus]
    consumers: _containers.RepeatedCompositeFieldContainer[ConsumerStatus]
    astrocytes: _containers.RepeatedCompositeFieldContainer[AstrocyteStatus]
    files: FileWatchStatus
    def __init__(self, version: _Optional[str] = ..., state: _Optional[str] = ..., runtime: _Optional[str] = ..., data_dir: _Optional[str] = ..., node_id: _Optional[str] = ..., pid: _Optional[int] = ..., uptime_s: _Optional[float] = ..., grpc: _Optional[str] = ..., http: _Optional[str] = ..., actors: _Optional[_Iterable[_Union[ActorStatus, _Mapping]]] = ..., ledger: _Optional[_Union[LedgerStatus, _Mapping]] = ..., index: _Optional[_Iterable[_Union[IndexStatus, _Mapping]]] = ..., model: _Optional[_Union[ModelStatus, _Mapping]] = ..., notices: _Optional[_Iterable[str]] = ..., transcripts: _Optional[_Union[TranscriptStatus, _Mapping]] = ..., reembed: _Optional[_Union[ReembedStatus, _Mapping]] = ..., settings: _Optional[_Iterable[_Union[SettingStatus, _Mapping]]] = ..., consumers: _Optional[_Iterable[_Union[ConsumerStatus, _Mapping]]] = ..., astrocytes: _Optional[_Iterable[_Union[AstrocyteStatus, _Mapping]]] = ..., files: _Optional[_Union[FileWatchStatus, _Mapping]] = ...) -> None: ...

class ReembedRequest(_message.Message):
    __slots__ = ("model", "precision", "cancel")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    precision: str
    cancel: bool
    def __init__(self, model: _Optional[str] = ..., precision: _Optional[str] = ..., cancel: _Optional[bool] = ...) -> None: ...

class FileWatchStatus(_message.Message):
    __slots__ = ("state", "folders", "stale", "notes")
    STATE_FIELD_NUMBER: _ClassVar[int]
    FOLDERS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    state: str
    folders: int
    stale: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, state: _Optional[str] = ..., folders: _Optional[int] = ..., stale: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class ReembedStatus(_message.Message):
    __slots__ = ("state", "model", "done", "total", "fault")
    STATE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    state: str
    model: ModelStatus
    done: int
    total: int
    fault: str
    def __init__(self, state: _Optional[str] = ..., model: _Optional[_Union[ModelStatus, _Mapping]] = ..., done: _Optional[int] = ..., total: _Optional[int] = ..., fault: _Optional[str] = ...) -> None: ...

class ReembedResponse(_message.Message):
    __slots__ = ("model", "reembed")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REEMBED_FIELD_NUMBER: _ClassVar[int]
    model: ModelStatus
    reembed: ReembedStatus
    def __init__(self, model: _Optional[_Union[ModelStatus, _Mapping]] = ..., reembed: _Optional[_Union[ReembedStatus, _Mapping]] = ...) -> None: ...

class WhoamiRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoamiResponse(_message.Message):
    __slots__ = ("agent", "principal", "role", "private_space", "default_space", "spaces", "toolsets", "expires_at", "alias_space")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_SPACE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_SPACE_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    TOOLSETS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ALIAS_SPACE_FIELD_NUMBER: _ClassVar[int]
    agent: str
    principal: str
    role: str
    private_space: str
    default_space: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    toolsets: _containers.RepeatedScalarFieldContainer[str]
    expires_at: _timestamp_pb2.Timestamp
    alias_space: str
    def __init__(self, agent: _Optional[str] = ..., principal: _Optional[str] = ..., role: _Optional[str] = ..., private_space: _Optional[str] = ..., default_space: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., toolsets: _Optional[_Iterable[str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., alias_space: _Optional[str] = ...) -> None: ...

class AddAgentRequest(_message.Message):
    __slots__ = ("name", "role", "spaces", "toolsets", "expires", "max_memories", "max_bytes", "writes_per_second")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    TOOLSETS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    MAX_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    toolsets: _containers.RepeatedScalarFieldContainer[str]
    expires: str
    max_memories: int
    max_bytes: int
    writes_per_second: float
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., toolsets: _Optional[_Iterable[str]] = ..., expires: _Optional[str] = ..., max_memories: _Optional[int] = ..., max_bytes: _Optional[int] = ..., writes_per_second: _Optional[float] = ...) -> None: ...

class SetAgentQuotaRequest(_message.Message):
    __slots__ = ("name", "max_memories", "max_bytes", "writes_per_second")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    name: str
    max_memories: int
    max_bytes: int
    writes_per_second: float
    def __init__(self, name: _Optional[str] = ..., max_memories: _Optional[int] = ..., max_bytes: _Optional[int] = ..., writes_per_second: _Optional[float] = ...) -> None: ...

class SetAgentQuotaResponse(_message.Message):
    __slots__ = ("agent",)
    AGENT_FIELD_NUMBER: _ClassVar[int]
    agent: Agent
    def __init__(self, agent: _Optional[_Union[Agent, _Mapping]] = ...) -> None: ...

class AgentQuota(_message.Message):
    __slots__ = ("max_memories", "max_bytes", "writes_per_second", "memories", "bytes")
    MAX_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    max_memories: int
    max_bytes: int
    writes_per_second: float
    memories: int
    bytes: int
    def __init__(self, max_memories: _Optional[int] = ..., max_bytes: _Optional[int] = ..., writes_per_second: _Optional[float] = ..., memories: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("name", "role", "spaces", "private_space", "toolsets", "state", "created_at", "created_by", "expires_at", "revoked_at", "calls", "last_used_at", "quota")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_SPACE_FIELD_NUMBER: _ClassVar[int]
    TOOLSETS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    private_space: str
    toolsets: _containers.RepeatedScalarFieldContainer[str]
    state: str
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    expires_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    calls: int
    last_used_at: _timestamp_pb2.Timestamp
    quota: AgentQuota
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., private_space: _Optional[str] = ..., toolsets: _Optional[_Iterable[str]] = ..., state: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., calls: _Optional[int] = ..., last_used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., quota: _Optional[_Union[AgentQuota, _Mapping]] = ...) -> None: ...

class AddAgentResponse(_message.Message):
    __slots__ = ("agent", "token")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    agent: Agent
    token: str
    def __init__(self, agent: _Optional[_Union[Agent, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class ListAgentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAgentsResponse(_message.Message):
    __slots__ = ("agents",)
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    def __init__(self, agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ...) -> None: ...

class RevokeAgentRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RevokeAgentResponse(_message.Message):
    __slots__ = ("agent",)
    AGENT_FIELD_NUMBER: _ClassVar[int]
    agent: Agent
    def __init__(self, agent: _Optional[_Union[Agent, _Mapping]] = ...) -> None: ...
