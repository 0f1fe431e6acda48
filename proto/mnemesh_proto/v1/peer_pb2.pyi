import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AddPeerRequest(_message.Message):
    __slots__ = ("url", "token", "spaces", "direction", "name")
    URL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    url: str
    token: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    direction: str
    name: str
    def __init__(self, url: _Optional[str] = ..., token: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., direction: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class AddPeerResponse(_message.Message):
    __slots__ = ("peer", "note")
    PEER_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    peer: PeerStatus
    note: str
    def __init__(self, peer: _Optional[_Union[PeerStatus, _Mapping]] = ..., note: _Optional[str] = ...) -> None: ...

class SetPeerTokenRequest(_message.Message):
    __slots__ = ("name", "token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    token: str
    def __init__(self, name: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class SetPeerTokenResponse(_message.Message):
    __slots__ = ("peer", "note")
    PEER_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    peer: PeerStatus
    note: str
    def __init__(self, peer: _Optional[_Union[PeerStatus, _Mapping]] = ..., note: _Optional[str] = ...) -> None: ...

class RemovePeerRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RemovePeerResponse(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class SyncStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SyncStatusResponse(_message.Message):
    __slots__ = ("node_id", "head", "peers", "pending", "quarantined")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    head: int
    peers: _containers.RepeatedCompositeFieldContainer[PeerStatus]
    pending: int
    quarantined: int
    def __init__(self, node_id: _Optional[str] = ..., head: _Optional[int] = ..., peers: _Optional[_Iterable[_Union[PeerStatus, _Mapping]]] = ..., pending: _Optional[int] = ..., quarantined: _Optional[int] = ...) -> None: ...

class SyncNowRequest(_message.Message):
    __slots__ = ("name", "wait_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    wait_s: float
    def __init__(self, name: _Optional[str] = ..., wait_s: _Optional[float] = ...) -> None: ...

class SyncNowResponse(_message.Message):
    __slots__ = ("peers",)
    PEERS_FIELD_NUMBER: _ClassVar[int]
    peers: _containers.RepeatedCompositeFieldContainer[PeerStatus]
    def __init__(self, peers: _Optional[_Iterable[_Union[PeerStatus, _Mapping]]] = ...) -> None: ...

class ListQuarantineRequest(_message.Message):
    __slots__ = ("limit", "cursor", "space", "peer", "oldest_first")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    space: str
    peer: str
    oldest_first: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., space: _Optional[str] = ..., peer: _Optional[str] = ..., oldest_first: _Optional[bool] = ...) -> None: ...

class ListQuarantineResponse(_message.Message):
    __slots__ = ("entries", "total", "cursor")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[QuarantinedEntry]
    total: int
    cursor: str
    def __init__(self, entries: _Optional[_Iterable[_Union[QuarantinedEntry, _Mapping]]] = ..., total: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class RetryQuarantineRequest(_message.Message):
    __slots__ = ("ids", "everything", "space", "peer", "trust")
    IDS_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    everything: bool
    space: str
    peer: str
    trust: bool
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., everything: _Optional[bool] = ..., space: _Optional[str] = ..., peer: _Optional[str] = ..., trust: _Optional[bool] = ...) -> None: ...

class RetryQuarantineResponse(_message.Message):
    __slots__ = ("accepted", "waiting", "left")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    accepted: int
    waiting: int
    left: int
    def __init__(self, accepted: _Optional[int] = ..., waiting: _Optional[int] = ..., left: _Optional[int] = ...) -> None: ...

class DiscardQuarantineRequest(_message.Message):
    __slots__ = ("ids", "everything", "space", "peer")
    IDS_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    everything: bool
    space: str
    peer: str
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., everything: _Optional[bool] = ..., space: _Optional[str] = ..., peer: _Optional[str] = ...) -> None: ...

class DiscardQuarantineResponse(_message.Message):
    __slots__ = ("discarded",)
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    discarded: int
    def __init__(self, discarded: _Optional[int] = ...) -> None: ...

class ListPendingRequest(_message.Message):
    __slots__ = ("limit", "cursor", "space", "peer", "oldest_first")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    space: str
    peer: str
    oldest_first: bool
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., space: _Optional[str] = ..., peer: _Optional[str] = ..., oldest_first: _Optional[bool] = ...) -> None: ...

class ListPendingResponse(_message.Message):
    __slots__ = ("entries", "total", "cursor")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[PendingEntry]
    total: int
    cursor: str
    def __init__(self, entries: _Optional[_Iterable[_Union[PendingEntry, _Mapping]]] = ..., total: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class DiscardPendingRequest(_message.Message):
    __slots__ = ("ids", "everything", "space", "peer")
    IDS_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    everything: bool
    space: str
    peer: str
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., everything: _Optional[bool] = ..., space: _Optional[str] = ..., peer: _Optional[str] = ...) -> None: ...

class DiscardPendingResponse(_message.Message):
    __slots__ = ("discarded",)
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    discarded: int
    def __init__(self, discarded: _Optional[int] = ...) -> None: ...

class PeerStatus(_message.Message):
    __slots__ = ("name", "incoming", "target", "direction", "spaces", "state", "node_id", "caught_up", "pending_out", "pending_in", "cursor_out", "cursor_in", "last_contact", "last_error", "attempts", "auth", "lag_s", "comparing", "effective_direction", "only_by", "not_taken", "differs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INCOMING_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    PENDING_OUT_FIELD_NUMBER: _ClassVar[int]
    PENDING_IN_FIELD_NUMBER: _ClassVar[int]
    CURSOR_OUT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_IN_FIELD_NUMBER: _ClassVar[int]
    LAST_CONTACT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    AUTH_FIELD_NUMBER: _ClassVar[int]
    LAG_S_FIELD_NUMBER: _ClassVar[int]
    COMPARING_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_DIRECTION_FIELD_NUMBER: _ClassVar[int]
    ONLY_BY_FIELD_NUMBER: _ClassVar[int]
    NOT_TAKEN_FIELD_NUMBER: _ClassVar[int]
    DIFFERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    incoming: bool
    target: str
    direction: str
    spaces: _containers.RepeatedScalarFieldContainer[str]
    state: str
    node_id: str
    caught_up: bool
    pending_out: int
    pending_in: int
    cursor_out: int
    cursor_in: int
    last_contact: _timestamp_pb2.Timestamp
    last_error: str
    attempts: int
    auth: str
    lag_s: float
    comparing: bool
    effective_direction: str
    only_by: str
    not_taken: int
    differs: int
    def __init__(self, name: _Optional[str] = ..., incoming: _Optional[bool] = ..., target: _Optional[str] = ..., direction: _Optional[str] = ..., spaces: _Optional[_Iterable[str]] = ..., state: _Optional[str] = ..., node_id: _Optional[str] = ..., caught_up: _Optional[bool] = ..., pending_out: _Optional[int] = ..., pending_in: _Optional[int] = ..., cursor_out: _Optional[int] = ..., cursor_in: _Optional[int] = ..., last_contact: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[str] = ..., attempts: _Optional[int] = ..., auth: _Optional[str] = ..., lag_s: _Optional[float] = ..., comparing: _Optional[bool] = ..., effective_direction: _Optional[str] = ..., only_by: _Optional[str] = ..., not_taken: _Optional[int] = ..., differs: _Optional[int] = ...) -> None: ...

class QuarantinedEntry(_message.Message):
    __slots__ = ("doc", "space", "hash", "agent", "node_id", "peer", "reason", "at", "id", "brought_by", "builds_on")
    DOC_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    BROUGHT_BY_FIELD_NUMBER: _ClassVar[int]
    BUILDS_ON_FIELD_NUMBER: _ClassVar[int]
    doc: str
    space: str
    hash: str
    agent: str
    node_id: str
    peer: str
    reason: str
    at: _timestamp_pb2.Timestamp
    id: str
    brought_by: str
    builds_on: str
    def __init__(self, doc: _Optional[str] = ..., space: _Optional[str] = ..., hash: _Optional[str] = ..., agent: _Optional[str] = ..., node_id: _Optional[str] = ..., peer: _Optional[str] = ..., reason: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., id: _Optional[str] = ..., brought_by: _Optional[str] = ..., builds_on: _Optional[str] = ...) -> None: ...

class PendingEntry(_message.Message):
    __slots__ = ("id", "doc", "space", "type", "hash", "agent", "node_id", "brought_by", "awaits", "at")
    ID_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    BROUGHT_BY_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    doc: str
    space: str
    type: str
    hash: str
    agent: str
    node_id: str
    brought_by: str
    awaits: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., doc: _Optional[str] = ..., space: _Optional[str] = ..., type: _Optional[str] = ..., hash: _Optional[str] = ..., agent: _Optional[str] = ..., node_id: _Optional[str] = ..., brought_by: _Optional[str] = ..., awaits: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
