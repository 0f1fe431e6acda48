"""Every limit has a name and a unit. Doors quote them, tests break them one by one."""

from __future__ import annotations

CONTENT_BYTES_MAX = 32 * 1024
TITLE_BYTES_MAX = 200
SPACE_BYTES_MAX = 200
SPACE_SEGMENTS_MAX = 8
TAGS_MAX = 64
TAG_BYTES_MAX = 80
KEYWORDS_MAX = 64
KEYWORD_BYTES_MAX = 80
PATHS_MAX = 64
PATH_BYTES_MAX = 512
ATTRS_MAX = 64
ATTR_KEY_BYTES_MAX = 80
ATTR_VALUE_BYTES_MAX = 1024
LINKS_MAX = 64
LINKED_MAX = 200  # memories that link to one, shown with it
ANSWER_BYTES_MAX = 256 * 1024  # of an answer whose citations count
CITATIONS_MAX = 64  # of one answer
SUPERSEDES_MAX = 16
EXPECTED_HEADS_MAX = 64
REVISIONS_MAX = 1_000  # of one memory; what forgets, restores, replaces and resolves may still add one
CHANGES_MAX = 2_000  # of one memory, links and ratings among them, until it takes only what may still be added
LAST_CHANGES_MAX = 3_000  # of one memory, until it can only be erased; the rest of what peers take in is for merges
REVISION_ID_BYTES_MAX = 43  # "n@actor": a counter of at most 10 digits, 16 bytes in hex
BLAME_LINES_MAX = 2_000  # of a text; a longer one is blamed as a whole
SESSION_BYTES_MAX = 200
AGENT_BYTES_MAX = 80
PRINCIPAL_BYTES_MAX = 40  # of the name that a token is issued to; a client's own name comes behind it
AGENTS_MAX = 1_000  # tokens of a node, ended ones among them
AGENT_USES_FLUSH_S = 30.0  # counts of calls reach the disk this late
IDEMPOTENCY_KEY_BYTES_MAX = 200
IDEMPOTENCY_DAYS = 7
CHANGE_BYTES_MAX = 160 * 1024  # as logged and sent, deflated when large: a memory at every maximum fits, in any script
CHANGE_INFLATED_BYTES_MAX = 256 * 1024
CHANGE_OPERATIONS_MAX = 4_096  # a revision with every list full takes some 600
NEWER_KEYS_DEPTH_MAX = 8  # of maps below `x/`, which newer versions may write
PENDING_CHANGES_MAX = 10_000  # that wait for a change they build on
PENDING_SHARE_MAX = PENDING_CHANGES_MAX // 4  # of them that one peer brought; its streams wait then
PENDING_ERASURES_MAX = 4_000  # that wait for the memory they erase, beside the changes
PENDING_ERASURES_SHARE_MAX = 1_000  # of them that one peer brought; its oldest gives way to its next
CHUNK_TOKENS_MAX = 200  # of the embedding model, which reads 256
TITLE_CHARS_MAX = 80  # of a title made from the content
SNIPPET_CHARS_MAX = 240

BATCH_ITEMS_MAX = 256
BATCH_BYTES_MAX = 1024 * 1024
QUERY_CHARS_MAX = 10_000
RECALL_LIMIT_MAX = 200
RECALL_BATCH_MAX = 32  # queries in one call
RECALL_BATCH_RESULTS_MAX = 1_000  # of all of them together: each may have a text of CONTENT_BYTES_MAX
RELATED_LIMIT_MAX = 50
LIST_LIMIT_MAX = 200
CURSOR_CHARS_MAX = 200
GET_IDS_MAX = 200
TIMELINE_MAX = 50
SPACES_PER_QUERY_MAX = 32
TOKEN_BUDGET_MAX = 100_000
ID_PREFIX_CHARS_MIN = 6

INBOX_MESSAGES_MAX = 1024
RECALL_TIMEOUT_S = 2.0
DISK_RESERVE_BYTES = 256 << 20  # free on the disk of the data directory; below it nothing more is written
DISK_RESERVE_BYTES_MIN = 16 << 20  # more than one commit and the index of it take
WRITE_TIMEOUT_S = 20.0  # of one part of the node, without progress; less than a client waits
TIME_MS_MIN = -62_135_596_800_000  # 0001-01-01T00:00:00Z, where RFC 3339 and Timestamp begin
TIME_MS_MAX = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the end of RFC 3339

WATCHERS_MAX = 256  # streams of changes, and each MCP session's subscriptions
WATCH_PAGE_ENTRIES_MAX = 64  # read from the ledger at a time
WATCH_CURSOR_CHARS_MAX = 1_000
WATCH_WRITE_TIMEOUT_S = 30.0  # a watcher that takes nothing for so long is left
WATCH_HEARTBEAT_S = 15.0
SUBSCRIPTIONS_MAX = 1_000  # resources that one MCP session follows

SYNC_WINDOW_BATCHES = 4  # without an acknowledgement, in each direction of a stream
SYNC_SILENT_TICKS_MAX = 3  # without progress until a stream is given up
SYNC_CURSOR_LAG_MAX = 1_024  # entries that are none of the reader's, until its cursor is saved behind them
SYNC_CURSORS_MAX = 256  # saved for one peer, the latest: one a feed
SYNC_DIGEST_SPACES_MAX = 1_000  # compared at a time
SYNC_REFUSED_ENTRIES_MAX = 1_000  # that one stream brings; it is ended then
SYNC_MESSAGES_WAITING_MAX = 8  # of a peer, read and not yet handled
SYNC_QUESTIONS_MAX = 8  # of one stream that the ledger has not answered, until no more is read of its peer
PEER_CONTACTS_MAX = 1_000  # nodes of which is known when they were last heard, the latest
PEER_CONTACT_DAYS = 30  # after which a node that was not heard any more is forgotten
SYNC_OUTBOX_MESSAGES_MAX = 4_096  # that a peer has not read; more than an honest one ever has
QUARANTINE_ENTRIES_MAX = 10_000  # the oldest of the peer that brought most gives way to the next
QUARANTINE_SHARE_MAX = QUARANTINE_ENTRIES_MAX // 4  # that one peer brought; its oldest gives way to its next
DOCUMENT_CHANGES_MAX = 4_000  # of one memory, taken in from peers; our own writers stop at LAST_CHANGES_MAX
NODE_KEYS_MAX = 10_000  # public keys of other nodes
NODE_KEYS_SHARE_MAX = NODE_KEYS_MAX // 4  # of nodes that one peer was the first to bring
NODE_KEYS_OF_WRITER_MAX = 1_000  # the same of a peer that brings only what its own agents wrote
CLOCK_AHEAD_MS_MAX = 5 * 60 * 1000  # a time of another node's clock is shown as at most so long after its receipt

BACKUPS_LISTED_MAX = 1_000  # that a node remembers to have made, the latest
BACKUP_PATH_CHARS_MAX = 4_000
BACKUP_HEAD_BYTES_MAX = 64 * 1024  # of what a backup says of itself

TRANSCRIPT_TURN_BYTES_MAX = CONTENT_BYTES_MAX
TRANSCRIPT_TURN_ID_BYTES_MAX = 200
TRANSCRIPT_TURNS_MAX = 256  # a call
TRANSCRIPT_CALL_BYTES_MAX = 1024 * 1024
TRANSCRIPT_SESSION_TURNS_MAX = 1_000_000
TRANSCRIPT_READ_TURNS_MAX = 200
TRANSCRIPT_CONTEXT_MAX = 5  # turns shown before and after one that was found
TRANSCRIPT_SEARCH_TERMS_MAX = 64  # of a question; its rarest
TRANSCRIPT_POOL_TURNS = 500  # best by their own words, which are then ranked with what stands around them
TRANSCRIPT_SEARCH_TIMEOUT_S = 10.0
TRANSCRIPT_LABEL_BYTES_MAX = 80  # of what names the program that a session was held with

HTTP_BODY_BYTES_MAX = 1536 * 1024
HTTP_BODY_TIMEOUT_S = 30.0
GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024
GRPC_CONCURRENT_RPCS_MAX = 1024
