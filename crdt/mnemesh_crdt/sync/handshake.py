"""The first message of a stream, its check, and the ways to refuse a stream.

A Hello names its node; greeting.py holds the proof. Each refusal has a code and a reason that a person can act on. Both
nodes stay up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_crdt.changes.envelope import KEY_BYTES, node_id_of
from mnemesh_crdt.sync.messages import Hello
from mnemesh_crdt.sync.proof import NONCE_BYTES
from mnemesh_memory.access.grants import EVERY_SPACE, PATTERNS_MAX, PeerGrant, check_pattern
from mnemesh_memory.values.errors import InvalidArgument, shorten
from mnemesh_memory.values.limits import SYNC_CURSORS_MAX

PROTOCOL: Final = 3_000  # major * 1000 + minor
DIALER: Final = "dialer"
LISTENER: Final = "listener"
# The causes in order: another major protocol, a wrong or doubled node id, changed grants (connect again at once), no
# answer (connect later), a message that no honest peer sends.
REFUSALS: Final = ("protocol", "identity", "changed", "silent", "fault")
SEQ_MAX: Final = 2**63 - 1
ONE_IS_A_COPY: Final = (
    "two nodes with one id: one is a copy; give the copy a new identity with `mnemesh node new-identity`"
)
THIS_NODE: Final = "this is this node itself; give the address of another one"
_NAME_CHARS_MAX: Final = 64  # of an incarnation, a life, a principal, the scope in a feed's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """This node in its Hello: id, raw public key, the incarnation of its log, and the random life of its process."""

    node_id: str
    key: bytes
    incarnation: str
    life: str


class StreamRefused(Exception):
    """The stream is ended by this side; `code` is one of REFUSALS."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def hello_of(me: Me, grant: PeerGrant, cursors: Mapping[str, int], nonce: bytes) -> Hello:
    """The Hello to a peer with that grant. `cursors` are our cursors in the peer's feeds, `nonce` is random and new for
    this stream."""
    return Hello(
        protocol=PROTOCOL,
        node_id=me.node_id,
        key=me.key,
        incarnation=me.incarnation,
        life=me.life,
        wants=grant.write,
        only_by="" if grant.relay else grant.principal,
        cursors=cursors,
        nonce=nonce,
    )


def check_hello(hello: Hello, me: Me, expects: str, grant: PeerGrant) -> None:
    """Raises StreamRefused when no stream may stand with the sender of this Hello. `expects` is the required node
    id."""
    theirs, ours = hello.protocol // 1000, PROTOCOL // 1000
    if theirs != ours:
        # The other node shows the same words, so they name no "this node".
        (old, older), (new, newer) = sorted([(hello.protocol, shorten(hello.node_id)), (PROTOCOL, shorten(me.node_id))])
        raise StreamRefused(
            "protocol",
            f"node {older} speaks protocol {old} and node {newer} protocol {new}, which do not fit; upgrade Mnemesh on "
            f"node {older} (`mnemesh sync status` begins with a node's own id)",
        )
    if hello.node_id == me.node_id:
        raise StreamRefused("identity", THIS_NODE if hello.life == me.life else ONE_IS_A_COPY)
    if len(hello.key) != KEY_BYTES or node_id_of(hello.key) != hello.node_id:
        raise StreamRefused("identity", f"node id {shorten(hello.node_id)} is not that of the key shown with it")
    if expects not in ("", hello.node_id):
        raise StreamRefused(
            "identity",
            f"this is node {hello.node_id}, not {expects} as when the peer was added; if that is right, remove the "
            "peer and add it again",
        )
    if len(hello.nonce) != NONCE_BYTES:
        raise StreamRefused("fault", f"a nonce has {NONCE_BYTES} bytes")
    if not (is_name(hello.incarnation) and is_name(hello.life)) or len(hello.only_by) > _NAME_CHARS_MAX:
        raise StreamRefused(
            "fault", f"an incarnation, a life and a principal are names of at most {_NAME_CHARS_MAX} characters"
        )
    if len(hello.wants) > PATTERNS_MAX or len(hello.cursors) > SYNC_CURSORS_MAX:
        raise StreamRefused(
            "fault", f"at most {PATTERNS_MAX} patterns of spaces and {SYNC_CURSORS_MAX} cursors are allowed"
        )
    if not all(0 <= seq <= SEQ_MAX for seq in hello.cursors.values()):
        raise StreamRefused("fault", "a cursor is out of range")
    try:
        # EVERY_SPACE is only for the ledgers of one node, and needs the grant.
        if not (hello.wants == grant.read == (EVERY_SPACE,)):
            for pattern in hello.wants:
                check_pattern("wants", pattern)
    except InvalidArgument as error:
        raise StreamRefused("fault", error.message) from error


def is_name(text: str) -> bool:
    """Whether the text may name an incarnation or the scope of a feed."""
    return 0 < len(text) <= _NAME_CHARS_MAX and text.isascii() and text.replace("-", "").isalnum()
