"""The opening of one stream: the identity that the other side claims, and its proof.

Hello and Hello, then the dialer's Proof, then the listener's. A listener signs nothing for a caller without a proof, or
for the copy of a node whose stream stands. Until `done` nothing else is said, and nothing of the other side's Hello is
believed. The dialer is the last to ask whether the other side is a copy. Messages of the listener are held meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mnemesh_crdt.sync.handshake import DIALER, LISTENER, Me, StreamRefused, check_hello, hello_of
from mnemesh_crdt.sync.messages import Admit, Hello, Message, Proof, Prove
from mnemesh_crdt.sync.proof import Claim
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.errors import DataLoss

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
                "answers at the address, and who holds the token; revoke it when it is in other hands",
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
