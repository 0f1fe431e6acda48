import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Source(_message.Message):
    __slots__ = ("session", "dir", "seq")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    session: str
    dir: str
    seq: int
    def __init__(self, session: _Optional[str] = ..., dir: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("type", "id")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    type: str
    id: str
    def __init__(self, type: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Linked(_message.Message):
    __slots__ = ("type", "direction", "id", "title", "space", "kind", "state", "snippet")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    type: str
    direction: str
    id: str
    title: str
    space: str
    kind: str
    state: str
    snippet: str
    def __init__(self, type: _Optional[str] = ..., direction: _Optional[str] = ..., id: _Optional[str] = ..., title: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., state: _Optional[str] = ..., snippet: _Optional[str] = ...) -> None: ...

class Replaced(_message.Message):
    __slots__ = ("id", "since")
    ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Head(_message.Message):
    __slots__ = ("revision", "content", "title", "by", "at")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    revision: str
    content: str
    title: str
    by: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[str] = ..., content: _Optional[str] = ..., title: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "space", "kind", "title", "content", "state", "tags", "importance", "tier", "paths", "source", "valid_from", "valid_to", "keywords", "attrs", "links", "by", "created_at", "updated_at", "heads", "version", "conflicts", "superseded_by", "useful", "not_useful", "linked", "linked_more", "notes", "shown", "anchor", "stale", "trust", "replaces", "older_than", "may_be_replaced_by", "suspicious")
    class AttrsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    USEFUL_FIELD_NUMBER: _ClassVar[int]
    NOT_USEFUL_FIELD_NUMBER: _ClassVar[int]
    LINKED_FIELD_NUMBER: _ClassVar[int]
    LINKED_MORE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    REPLACES_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    MAY_BE_REPLACED_BY_FIELD_NUMBER: _ClassVar[int]
    SUSPICIOUS_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    kind: str
    title: str
    content: str
    state: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    importance: float
    tier: str
    paths: _containers.RepeatedScalarFieldContainer[str]
    source: Source
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    keywords: _containers.RepeatedScalarFieldContainer[str]
    attrs: _containers.ScalarMap[str, str]
    links: _containers.RepeatedCompositeFieldContainer[Link]
    by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    heads: _containers.RepeatedScalarFieldContainer[str]
    version: int
    conflicts: _containers.RepeatedCompositeFieldContainer[Head]
    superseded_by: str
    useful: int
    not_useful: int
    linked: _containers.RepeatedCompositeFieldContainer[Linked]
    linked_more: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    shown: str
    anchor: str
    stale: _containers.RepeatedScalarFieldContainer[str]
    trust: str
    replaces: _containers.RepeatedCompositeFieldContainer[Replaced]
    older_than: _containers.RepeatedScalarFieldContainer[str]
    may_be_replaced_by: _containers.RepeatedScalarFieldContainer[str]
    suspicious: bool
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., content: _Optional[str] = ..., state: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., importance: _Optional[float] = ..., tier: _Optional[str] = ..., paths: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., keywords: _Optional[_Iterable[str]] = ..., attrs: _Optional[_Mapping[str, str]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., heads: _Optional[_Iterable[str]] = ..., version: _Optional[int] = ..., conflicts: _Optional[_Iterable[_Union[Head, _Mapping]]] = ..., superseded_by: _Optional[str] = ..., useful: _Optional[int] = ..., not_useful: _Optional[int] = ..., linked: _Optional[_Iterable[_Union[Linked, _Mapping]]] = ..., linked_more: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ..., shown: _Optional[str] = ..., anchor: _Optional[str] = ..., stale: _Optional[_Iterable[str]] = ..., trust: _Optional[str] = ..., replaces: _Optional[_Iterable[_Union[Replaced, _Mapping]]] = ..., older_than: _Optional[_Iterable[str]] = ..., may_be_replaced_by: _Optional[_Iterable[str]] = ..., suspicious: _Optional[bool] = ...) -> None: ...

class RelatedMemory(_message.Message):
    __slots__ = ("id", "title", "snippet", "similarity", "alike")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    ALIKE_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    snippet: str
    similarity: float
    alike: bool
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., snippet: _Optional[str] = ..., similarity: _Optional[float] = ..., alike: _Optional[bool] = ...) -> None: ...

class BulkForgetRequest(_message.Message):
    __slots__ = ("which", "purge", "dry_run")
    WHICH_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    which: ListRequest
    purge: bool
    dry_run: bool
    def __init__(self, which: _Optional[_Union[ListRequest, _Mapping]] = ..., purge: _Optional[bool] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class BulkForgetResponse(_message.Message):
    __slots__ = ("matched", "ids", "dry_run", "refused", "pending", "backups", "not_told", "cursor", "left_out", "behind")
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    NOT_TOLD_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    matched: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    dry_run: bool
    refused: _containers.RepeatedCompositeFieldContainer[Refused]
    pending: _containers.RepeatedScalarFieldContainer[str]
    backups: _containers.RepeatedScalarFieldContainer[str]
    not_told: _containers.RepeatedScalarFieldContainer[str]
    cursor: str
    left_out: int
    behind: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, matched: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ..., dry_run: _Optional[bool] = ..., refused: _Optional[_Iterable[_Union[Refused, _Mapping]]] = ..., pending: _Optional[_Iterable[str]] = ..., backups: _Optional[_Iterable[str]] = ..., not_told: _Optional[_Iterable[str]] = ..., cursor: _Optional[str] = ..., left_out: _Optional[int] = ..., behind: _Optional[_Iterable[str]] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("id", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("id", "space", "changes", "pending", "backups", "not_told", "behind")
    ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    NOT_TOLD_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    space: str
    changes: int
    pending: str
    backups: _containers.RepeatedScalarFieldContainer[str]
    not_told: _containers.RepeatedScalarFieldContainer[str]
    behind: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., space: _Optional[str] = ..., changes: _Optional[int] = ..., pending: _Optional[str] = ..., backups: _Optional[_Iterable[str]] = ..., not_told: _Optional[_Iterable[str]] = ..., behind: _Optional[_Iterable[str]] = ...) -> None: ...

class RememberRequest(_message.Message):
    __slots__ = ("content", "kind", "title", "space", "tags", "importance", "paths", "source", "valid_from", "valid_to", "keywords", "attrs", "links", "tier", "supersedes", "sensitive", "force", "idempotency_key", "wait", "created_at")
    class AttrsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    content: str
    kind: str
    title: str
    space: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    importance: float
    paths: _containers.RepeatedScalarFieldContainer[str]
    source: Source
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    keywords: _containers.RepeatedScalarFieldContainer[str]
    attrs: _containers.ScalarMap[str, str]
    links: _containers.RepeatedCompositeFieldContainer[Link]
    tier: str
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    sensitive: bool
    force: bool
    idempotency_key: str
    wait: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, content: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., space: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., importance: _Optional[float] = ..., paths: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., keywords: _Optional[_Iterable[str]] = ..., attrs: _Optional[_Mapping[str, str]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., tier: _Optional[str] = ..., supersedes: _Optional[_Iterable[str]] = ..., sensitive: _Optional[bool] = ..., force: _Optional[bool] = ..., idempotency_key: _Optional[str] = ..., wait: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RememberResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "novelty", "related", "conflicts", "triggered", "deduplicated", "restorable", "replayed", "indexed", "hint", "surprisal", "novelty_reason")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NOVELTY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    TRIGGERED_FIELD_NUMBER: _ClassVar[int]
    DEDUPLICATED_FIELD_NUMBER: _ClassVar[int]
    RESTORABLE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    SURPRISAL_FIELD_NUMBER: _ClassVar[int]
    NOVELTY_REASON_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: Memory
    reason: str
    novelty: float
    related: _containers.RepeatedCompositeFieldContainer[RelatedMemory]
    conflicts: _containers.RepeatedCompositeFieldContainer[Head]
    triggered: _containers.RepeatedScalarFieldContainer[str]
    deduplicated: bool
    restorable: bool
    replayed: bool
    indexed: bool
    hint: str
    surprisal: float
    novelty_reason: str
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., reason: _Optional[str] = ..., novelty: _Optional[float] = ..., related: _Optional[_Iterable[_Union[RelatedMemory, _Mapping]]] = ..., conflicts: _Optional[_Iterable[_Union[Head, _Mapping]]] = ..., triggered: _Optional[_Iterable[str]] = ..., deduplicated: _Optional[bool] = ..., restorable: _Optional[bool] = ..., replayed: _Optional[bool] = ..., indexed: _Optional[bool] = ..., hint: _Optional[str] = ..., surprisal: _Optional[float] = ..., novelty_reason: _Optional[str] = ...) -> None: ...

class RememberBatchRequest(_message.Message):
    __slots__ = ("items", "judge_at_rest")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    JUDGE_AT_REST_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[RememberRequest]
    judge_at_rest: bool
    def __init__(self, items: _Optional[_Iterable[_Union[RememberRequest, _Mapping]]] = ..., judge_at_rest: _Optional[bool] = ...) -> None: ...

class BatchResult(_message.Message):
    __slots__ = ("ok", "error")
    OK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ok: RememberResponse
    error: ItemError
    def __init__(self, ok: _Optional[_Union[RememberResponse, _Mapping]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "message", "field", "value", "limit", "reason")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    field: str
    value: str
    limit: str
    reason: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., value: _Optional[str] = ..., limit: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RememberBatchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BatchResult]
    def __init__(self, results: _Optional[_Iterable[_Union[BatchResult, _Mapping]]] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ("item",)
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: RememberRequest
    def __init__(self, item: _Optional[_Union[RememberRequest, _Mapping]] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("action", "target_id", "similarity", "reason", "novelty", "related", "hint", "surprisal", "novelty_reason")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NOVELTY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    SURPRISAL_FIELD_NUMBER: _ClassVar[int]
    NOVELTY_REASON_FIELD_NUMBER: _ClassVar[int]
    action: str
    target_id: str
    similarity: float
    reason: str
    novelty: float
    related: _containers.RepeatedCompositeFieldContainer[RelatedMemory]
    hint: str
    surprisal: float
    novelty_reason: str
    def __init__(self, action: _Optional[str] = ..., target_id: _Optional[str] = ..., similarity: _Optional[float] = ..., reason: _Optional[str] = ..., novelty: _Optional[float] = ..., related: _Optional[_Iterable[_Union[RelatedMemory, _Mapping]]] = ..., hint: _Optional[str] = ..., surprisal: _Optional[float] = ..., novelty_reason: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("ids", "include_forgotten", "spaces", "space", "as_of")
    IDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    include_forgotten: bool
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    as_of: _timestamp_pb2.Timestamp
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., include_forgotten: _Optional[bool] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("memory", "memories", "missing")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    memories: _containers.RepeatedCompositeFieldContainer[Memory]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("spaces", "kinds", "tags_any", "tags_all", "tags_none", "since", "before", "agent", "session", "state", "order", "limit", "cursor", "space", "everywhere", "valid_at", "trust")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    TAGS_ALL_FIELD_NUMBER: _ClassVar[int]
    TAGS_NONE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    EVERYWHERE_FIELD_NUMBER: _ClassVar[int]
    VALID_AT_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    tags_all: _containers.RepeatedScalarFieldContainer[str]
    tags_none: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    agent: str
    session: str
    state: str
    order: str
    limit: int
    cursor: str
    space: str
    everywhere: bool
    valid_at: _timestamp_pb2.Timestamp
    trust: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., tags_any: _Optional[_Iterable[str]] = ..., tags_all: _Optional[_Iterable[str]] = ..., tags_none: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ..., state: _Optional[str] = ..., order: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., space: _Optional[str] = ..., everywhere: _Optional[bool] = ..., valid_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., trust: _Optional[_Iterable[str]] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("memories", "cursor", "total", "degraded_reasons")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_REASONS_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[Memory]
    cursor: str
    total: int
    degraded_reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., cursor: _Optional[str] = ..., total: _Optional[int] = ..., degraded_reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class TimelineRequest(_message.Message):
    __slots__ = ("id", "before", "after", "spaces", "space")
    ID_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    id: str
    before: int
    after: int
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    def __init__(self, id: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ...) -> None: ...

class TimelineResponse(_message.Message):
    __slots__ = ("memories", "position")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[Memory]
    position: int
    def __init__(self, memories: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., position: _Optional[int] = ...) -> None: ...

class StringList(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class StringMap(_message.Message):
    __slots__ = ("values",)
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.ScalarMap[str, str]
    def __init__(self, values: _Optional[_Mapping[str, str]] = ...) -> None: ...

class UpdateRequest(_message.Message):
    __slots__ = ("id", "content", "kind", "title", "tags", "importance", "paths", "valid_from", "valid_to", "keywords", "attrs", "tier", "sensitive", "force", "expected_heads", "idempotency_key", "wait", "clear")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_HEADS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    CLEAR_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: str
    kind: str
    title: str
    tags: StringList
    importance: float
    paths: StringList
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    keywords: StringList
    attrs: StringMap
    tier: str
    sensitive: bool
    force: bool
    expected_heads: _containers.RepeatedScalarFieldContainer[str]
    idempotency_key: str
    wait: str
    clear: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., content: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., tags: _Optional[_Union[StringList, _Mapping]] = ..., importance: _Optional[float] = ..., paths: _Optional[_Union[StringList, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., keywords: _Optional[_Union[StringList, _Mapping]] = ..., attrs: _Optional[_Union[StringMap, _Mapping]] = ..., tier: _Optional[str] = ..., sensitive: _Optional[bool] = ..., force: _Optional[bool] = ..., expected_heads: _Optional[_Iterable[str]] = ..., idempotency_key: _Optional[str] = ..., wait: _Optional[str] = ..., clear: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "replayed", "indexed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: Memory
    reason: str
    replayed: bool
    indexed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., reason: _Optional[str] = ..., replayed: _Optional[bool] = ..., indexed: _Optional[bool] = ...) -> None: ...

class SupersedeRequest(_message.Message):
    __slots__ = ("id", "item")
    ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    id: str
    item: RememberRequest
    def __init__(self, id: _Optional[str] = ..., item: _Optional[_Union[RememberRequest, _Mapping]] = ...) -> None: ...

class SupersedeResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "superseded", "indexed", "replayed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: Memory
    reason: str
    superseded: Memory
    indexed: bool
    replayed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., reason: _Optional[str] = ..., superseded: _Optional[_Union[Memory, _Mapping]] = ..., indexed: _Optional[bool] = ..., replayed: _Optional[bool] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("id", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    wait: str
    def __init__(self, id: _Optional[str] = ..., wait: _Optional[str] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "indexed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: Memory
    reason: str
    indexed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., reason: _Optional[str] = ..., indexed: _Optional[bool] = ...) -> None: ...

class RestoreRequest(_message.Message):
    __slots__ = ("id", "wait")
    ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    wait: str
    def __init__(self, id: _Optional[str] = ..., wait: _Optional[str] = ...) -> None: ...

class RestoreResponse(_message.Message):
    __slots__ = ("action", "memory", "reason", "indexed")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    action: str
    memory: Memory
    reason: str
    indexed: bool
    def __init__(self, action: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., reason: _Optional[str] = ..., indexed: _Optional[bool] = ...) -> None: ...

class StatsRequest(_message.Message):
    __slots__ = ("spaces", "space")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    space: str
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ...) -> None: ...

class Count(_message.Message):
    __slots__ = ("name", "memories")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    memories: int
    def __init__(self, name: _Optional[str] = ..., memories: _Optional[int] = ...) -> None: ...

class StatsResponse(_message.Message):
    __slots__ = ("memories", "forgotten", "superseded", "conflicted", "kinds", "tags", "spaces", "agents", "tags_total", "spaces_total", "agents_total")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    CONFLICTED_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    TAGS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    SPACES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    AGENTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    memories: int
    forgotten: int
    superseded: int
    conflicted: int
    kinds: _containers.RepeatedCompositeFieldContainer[Count]
    tags: _containers.RepeatedCompositeFieldContainer[Count]
    spaces: _containers.RepeatedCompositeFieldContainer[Count]
    agents: _containers.RepeatedCompositeFieldContainer[Count]
    tags_total: int
    spaces_total: int
    agents_total: int
    def __init__(self, memories: _Optional[int] = ..., forgotten: _Optional[int] = ..., superseded: _Optional[int] = ..., conflicted: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., tags: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., spaces: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., agents: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., tags_total: _Optional[int] = ..., spaces_total: _Optional[int] = ..., agents_total: _Optional[int] = ...) -> None: ...

class ExportRequest(_message.Message):
    __slots__ = ("spaces", "include_forgotten", "include_superseded", "space", "tags_any", "kinds", "since", "before")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedScalarFieldContainer[str]
    include_forgotten: bool
    include_superseded: bool
    space: str
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    def __init__(self, spaces: _Optional[_Iterable[str]] = ..., include_forgotten: _Optional[bool] = ..., include_superseded: _Optional[bool] = ..., space: _Optional[str] = ..., tags_any: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ExportResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...
