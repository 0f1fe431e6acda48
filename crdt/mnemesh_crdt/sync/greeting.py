"""The opening of one stream: the identity that the other side claims, and its proof.

Hello and Hello, then the dialer's Proof, then the listener's. A listener signs nothing for a caller without a proof, or
for the copy of a node whose stream stands. Until `done` nothing else is said, and nothing of the other side's Hello is
believed. The dialer is the last to ask whether the other side is a copy. Messages of the listener are held meanwhile.
A stream is refused with a code and a reason that a person can act on. Both nodes stay up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from mnemesh_crdt.changes.envelope import KEY_BYTES, node_id_of
from mnemesh_crdt.sync.messages import Admit, Hello, Message, Proof, Prove
from mnemesh_crdt.sync.proof import NONCE_BYTES, Claim
from mnemesh_memory.access.grants import EVERY_SPACE, PATTERNS_MAX, PeerGrant, check_pattern
from mnemesh_memory.values.errors import DataLoss, InvalidArgument, shorten
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


ProofCheck: TypeAlias = Callable[[Claim, bytes, bytes], None]


class Greeting:
    """The first messages of both sides. `expects` is the node id that the other must have, "" for any. `check` is
    proof.check_proof or an equivalent."""

    def __init__(self, me: Me, grant: PeerGrant, expects: str, check: ProofCheck) -> None:
        self._me = me
        self._grant = grant
        self._expects = expects
        self._check = check
        self._role = ""
        self._nonce = b""
        self._peer: Hello | None = None
        self._greeted = False
        self._admitted = False
        self._asked = False
        self._said = False
        self._proof: Proof | None = None
        self.held: list[Message] = []

    @property
    def done(self) -> bool:
        """Both sides have proved their identity, and the other side is no copy."""
        return self._said and self._proof is not None and self._admitted

    @property
    def is_dialer(self) -> bool:
        """Whether this side opened the stream."""
        return self._role == DIALER

    @property
    def peer(self) -> Hello:
        """The other side's Hello, to be believed once `done`."""
        assert self._peer is not None
        return self._peer

    def open(self, role: str, nonce: bytes) -> None:
        """The stream stands."""
        self._role, self._nonce = role, nonce

    def hello(self, cursors: Mapping[str, int]) -> Hello:
        """The first message of this side."""
        self._greeted = True
        return hello_of(self._me, self._grant, cursors, self._nonce)

    def heard(self, hello: Hello) -> bool:
        """Whether the other side's Hello is news. Raises StreamRefused."""
        if self._peer is not None:
            if hello != self._peer:
                raise StreamRefused("fault", "a second Hello says something else")
            return False
        check_hello(hello, self._me, self._expects, self._grant)
        self._peer = hello
        return True

    def admit(self) -> Admit:
        """The question whether the peer, which has proved its identity, is a copy. A listener asks before its own
        proof."""
        return Admit(self.peer.node_id, self.peer.life)

    def admitted(self, reason: str) -> None:
        """Raises StreamRefused for a copy."""
        if reason:
            raise StreamRefused("identity", reason)
        self._admitted = True

    def hold(self, message: Message) -> None:
        """Keep a message of a listener with a proof until Admitted. Raises StreamRefused for a peer that may not go on
        yet."""
        if not (self.is_dialer and self._said and self._proof is not None):
            raise StreamRefused("fault", f"{type(message).__name__} came before Hello and its proof")
        self.held.append(message)

    def prove(self) -> Prove | None:
        """The claim for this side to sign, when its turn has come."""
        turn = self._peer is not None and (self.is_dialer or self._admitted)
        if not turn or self._asked:
            return None
        self._asked = True
        return Prove(self._claim(ours=True))

    def proved(self, signature: bytes) -> Proof:
        """The second message of this side."""
        self._said = True
        return Proof(signature)

    def believe(self, proof: Proof) -> bool:
        """Whether the other side's proof is news. Raises StreamRefused for a wrong one."""
        if self._peer is None or not self._greeted:
            raise StreamRefused("fault", "Proof came before Hello")
        if self._proof is not None:
            if proof != self._proof:
                raise StreamRefused("fault", "a second Proof says something else")
            return False
        try:
            self._check(self._claim(ours=False), self._peer.key, proof.signature)
        except DataLoss as error:
            raise StreamRefused(
                "identity",
                f"who says to be node {self._peer.node_id} has not proved it: {error.message}. Look who "
                "answers at the address, and who holds the token; revoke a token in other hands",
            ) from error
        self._proof = proof
        return True

    def _claim(self, *, ours: bool) -> Claim:
        me, peer = self._me, self.peer
        mine, theirs = (me, self._role, self._nonce), (peer, LISTENER if self.is_dialer else DIALER, peer.nonce)
        (side, role, nonce), (other, _, other_nonce) = (mine, theirs) if ours else (theirs, mine)
        return Claim(
            node_id=side.node_id,
            incarnation=side.incarnation,
            life=side.life,
            role=role,
            nonce=nonce,
            peer_id=other.node_id,
            peer_nonce=other_nonce,
        )
