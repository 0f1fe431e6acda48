import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SyncHello(_message.Message):
    __slots__ = ("protocol", "node_id", "node_key", "spaces", "cursors", "incarnation", "only_by", "nonce", "life")
    class CursorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    ONLY_BY_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    node_id: str
    node_key: bytes
    spaces: _containers.RepeatedScalarFieldContainer[str]
    cursors: _containers.ScalarMap[str, int]
    incarnation: str
    only_by: str
    nonce: bytes
    life: str
    def __init__(self, protocol: _Optional[int] = ..., node_id: _Optional[str] = ..., node_key: _Optional[bytes] = ..., spaces: _Optional[_Iterable[str]] = ..., cursors: _Optional[_Mapping[str, int]] = ..., incarnation: _Optional[str] = ..., only_by: _Optional[str] = ..., nonce: _Optional[bytes] = ..., life: _Optional[str] = ...) -> None: ...

class SyncProof(_message.Message):
    __slots__ = ("signature",)
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    def __init__(self, signature: _Optional[bytes] = ...) -> None: ...

class SyncEntry(_message.Message):
    __slots__ = ("doc", "space", "type", "hash", "raw", "agent", "node_id", "signature", "at")
    DOC_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    doc: str
    space: str
    type: str
    hash: bytes
    raw: bytes
    agent: str
    node_id: str
    signature: bytes
    at: _timestamp_pb2.Timestamp
    def __init__(self, doc: _Optional[str] = ..., space: _Optional[str] = ..., type: _Optional[str] = ..., hash: _Optional[bytes] = ..., raw: _Optional[bytes] = ..., agent: _Optional[str] = ..., node_id: _Optional[str] = ..., signature: _Optional[bytes] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SyncBatch(_message.Message):
    __slots__ = ("feed", "entries", "last_seq", "head", "keys", "after")
    class KeysEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    FEED_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    feed: str
    entries: _containers.RepeatedCompositeFieldContainer[SyncEntry]
    last_seq: int
    head: int
    keys: _containers.ScalarMap[str, bytes]
    after: int
    def __init__(self, feed: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[SyncEntry, _Mapping]]] = ..., last_seq: _Optional[int] = ..., head: _Optional[int] = ..., keys: _Optional[_Mapping[str, bytes]] = ..., after: _Optional[int] = ...) -> None: ...

class SyncAck(_message.Message):
    __slots__ = ("feed", "seq", "full")
    FEED_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    feed: str
    seq: int
    full: bool
    def __init__(self, feed: _Optional[str] = ..., seq: _Optional[int] = ..., full: _Optional[bool] = ...) -> None: ...

class SyncDigest(_message.Message):
    __slots__ = ("space", "buckets")
    class BucketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: bytes
        def __init__(self, key: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    space: str
    buckets: _containers.ScalarMap[int, bytes]
    def __init__(self, space: _Optional[str] = ..., buckets: _Optional[_Mapping[int, bytes]] = ...) -> None: ...

class SyncDigestsEnd(_message.Message):
    __slots__ = ("number", "back", "serves")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BACK_FIELD_NUMBER: _ClassVar[int]
    SERVES_FIELD_NUMBER: _ClassVar[int]
    number: int
    back: bool
    serves: int
    def __init__(self, number: _Optional[int] = ..., back: _Optional[bool] = ..., serves: _Optional[int] = ...) -> None: ...

class SyncCompared(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class SyncResend(_message.Message):
    __slots__ = ("number", "space", "buckets")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    number: int
    space: str
    buckets: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, number: _Optional[int] = ..., space: _Optional[str] = ..., buckets: _Optional[_Iterable[int]] = ...) -> None: ...

class SyncResent(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class SyncPing(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class SyncPong(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class SyncRefusal(_message.Message):
    __slots__ = ("code", "reason")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    code: str
    reason: str
    def __init__(self, code: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SyncRequest(_message.Message):
    __slots__ = ("hello", "batch", "ack", "digest", "refusal", "proof", "digests_end", "compared", "ping", "pong", "resend", "resent")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_END_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    RESEND_FIELD_NUMBER: _ClassVar[int]
    RESENT_FIELD_NUMBER: _ClassVar[int]
    hello: SyncHello
    batch: SyncBatch
    ack: SyncAck
    digest: SyncDigest
    refusal: SyncRefusal
    proof: SyncProof
    digests_end: SyncDigestsEnd
    compared: SyncCompared
    ping: SyncPing
    pong: SyncPong
    resend: SyncResend
    resent: SyncResent
    def __init__(self, hello: _Optional[_Union[SyncHello, _Mapping]] = ..., batch: _Optional[_Union[SyncBatch, _Mapping]] = ..., ack: _Optional[_Union[SyncAck, _Mapping]] = ..., digest: _Optional[_Union[SyncDigest, _Mapping]] = ..., refusal: _Optional[_Union[SyncRefusal, _Mapping]] = ..., proof: _Optional[_Union[SyncProof, _Mapping]] = ..., digests_end: _Optional[_Union[SyncDigestsEnd, _Mapping]] = ..., compared: _Optional[_Union[SyncCompared, _Mapping]] = ..., ping: _Optional[_Union[SyncPing, _Mapping]] = ..., pong: _Optional[_Union[SyncPong, _Mapping]] = ..., resend: _Optional[_Union[SyncResend, _Mapping]] = ..., resent: _Optional[_Union[SyncResent, _Mapping]] = ...) -> None: ...

class SyncResponse(_message.Message):
    __slots__ = ("hello", "batch", "ack", "digest", "refusal", "proof", "digests_end", "compared", "ping", "pong", "resend", "resent")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_END_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    RESEND_FIELD_NUMBER: _ClassVar[int]
    RESENT_FIELD_NUMBER: _ClassVar[int]
    hello: SyncHello
    batch: SyncBatch
    ack: SyncAck
    digest: SyncDigest
    refusal: SyncRefusal
    proof: SyncProof
    digests_end: SyncDigestsEnd
    compared: SyncCompared
    ping: SyncPing
    pong: SyncPong
    resend: SyncResend
    resent: SyncResent
    def __init__(self, hello: _Optional[_Union[SyncHello, _Mapping]] = ..., batch: _Optional[_Union[SyncBatch, _Mapping]] = ..., ack: _Optional[_Union[SyncAck, _Mapping]] = ..., digest: _Optional[_Union[SyncDigest, _Mapping]] = ..., refusal: _Optional[_Union[SyncRefusal, _Mapping]] = ..., proof: _Optional[_Union[SyncProof, _Mapping]] = ..., digests_end: _Optional[_Union[SyncDigestsEnd, _Mapping]] = ..., compared: _Optional[_Union[SyncCompared, _Mapping]] = ..., ping: _Optional[_Union[SyncPing, _Mapping]] = ..., pong: _Optional[_Union[SyncPong, _Mapping]] = ..., resend: _Optional[_Union[SyncResend, _Mapping]] = ..., resent: _Optional[_Union[SyncResent, _Mapping]] = ...) -> None: ...
