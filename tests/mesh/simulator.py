"""One seed drives a whole mesh: nodes, clocks, messages, partitions, crashes, restores, grants, erasures, forgers.

A world is a list of actions made from the seed, with a few random steps of the network in between. Each action has its
own random numbers, so a failing seed is made small by leaving actions out. After the chaos everything is mended, and
the mesh settles in a bounded number of steps. Then all nodes that share a space must hold the same: every acknowledged
write, and no erased memory. At last one node loses a document to a bad disk, digests are compared, and the document
must come back.

    python tests/mesh/simulator.py 1 2000       all seeds from 1 to 2,000
    python tests/mesh/simulator.py 7            seed 7 alone, with its trace
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any, Final

from forging import BEGINNING, FORGED_CHANGES, equivocal_changes, forged_change, forger
from mesh_node import DUTIES, KEYS_ONCE, Crash, Disk, Memo, Node, Violation, check_signature, key_of, planted, prove
from mirror import Mirror

from mnemesh_crdt.changes.chunk import read_head
from mnemesh_crdt.changes.envelope import CHANGE, ERASE, ERASURES, RETRACT, Entry, Key
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, RevisionFields
from mnemesh_crdt.document.shape import link_key
from mnemesh_crdt.sync import messages
from mnemesh_crdt.sync.audience import common_patterns, feed_name
from mnemesh_crdt.sync.greeting import DIALER, LISTENER, hello_of
from mnemesh_crdt.sync.proof import NONCE_BYTES, Claim
from mnemesh_crdt.sync.stream import Stream
from mnemesh_memory.access.grants import PeerGrant, any_matches, principal_of
from mnemesh_memory.values.ids import derived_id, fresh_id, key_mark
from mnemesh_memory.values.model import Link

WRITES: Final = 52
STEPS_BETWEEN: Final = 7
SETTLE_ROUNDS_MAX: Final = 80
YEAR_MS: Final = 365 * 24 * 3600 * 1000
PRIVATE: Final = "@p0"
SPACES: Final = ("team/a", "team/b")
PATTERNS: Final = (("team/*",), ("*",), ("team/a",), ("team/b", "team/a"), ("*", PRIVATE), ("team/*", PRIVATE), ())
VERBS: Final = (
    "edit", "edit", "edit one head", "forget", "restore", "tag", "untag", "link", "unlink", "supersede", "rate",
)  # fmt: skip
TAGS: Final = ("db", "net", "ui")
NETWORK_FAULTS: Final = ("drop", "duplicate", "reorder", "delay")
FAULTS: Final = (
    *NETWORK_FAULTS,
    "partition",
    "one-way partition",
    "reset",
    *(f"crash before {duty}" for duty in DUTIES),
    "restore",
    "erase",
    "regrant",
    "repeat",
    "forge",
    "equivocate",
    "impersonate",
)
FORGERIES: Final = ("signature", "raw", "agent", "space", *ERASURES, *FORGED_CHANGES)
KEYED: Final = "p0/import"
MALLORY: Final = PeerGrant(read=(), write=("team/*", PRIVATE), principal="mallory", relay=True)


@dataclass(frozen=True, slots=True)
class Action:
    """`number` seeds the action's own random numbers."""

    number: int
    name: str


@dataclass(slots=True)
class Side:
    node: Node
    stream: Stream
    inbox: list[messages.Message] = field(default_factory=list)
    jobs: deque[Any] = field(default_factory=deque)
    named: set[str] = field(default_factory=set)  # for KEYS_ONCE


@dataclass(slots=True, eq=False)
class Wire:
    """One stream between two nodes. Its end loses the messages on the way."""

    sides: tuple[Side, Side]
    is_open: bool = True

    def other(self, side: Side) -> Side:
        return self.sides[self.sides[0] is side]


@dataclass(slots=True)
class Failure:
    seed: int
    what: str
    trace: list[str]

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}: {self.what}", *(f"  {line}" for line in self.trace)])


class World:
    """The mesh of one seed. `run` plays it; `left_out` are numbers of actions that do not happen; `bug` is planted in
    every node. With `mirrors` each node keeps the ledger's shelf on SQLite beside its own."""

    def __init__(
        self, seed: int, bug: str = "", left_out: frozenset[int] = frozenset(), *, mirrors: bool = False
    ) -> None:
        self.seed = seed
        self.left_out = left_out
        rng = random.Random(seed)
        self.bug = bug
        memo = Memo(bug)
        count = rng.choice((3, 3, 3, 4, 4, 5))
        self.nodes = [Node(n, memo, rng.randint(-YEAR_MS, YEAR_MS), bug) for n in range(count)]
        for node in self.nodes if mirrors else ():
            node.disk.mirror = Mirror(node.id)
            node.disk.mirror.trust(node.id, node.key)
        self.backups: dict[int, Disk] = {n.number: n.disk.backup("") for n in self.nodes}
        for node in self.nodes:
            node.publish = self._publish
        self.edges = _topology(("line", "star", "full")[seed % 3], count)
        self.grants: dict[tuple[int, int], PeerGrant] = {}
        self.wires: dict[tuple[int, int], Wire] = {}
        self.blocked: set[tuple[int, int]] = set()
        self.acknowledged: dict[str, tuple[Key, Node | None]] = {}  # None: on some node, its own was put back
        self.erased: set[Key] = set()
        self.seen: Counter[str] = Counter()
        self.trace: list[str] = []
        self.now = 1_700_000_000_000
        self.lossy = True  # messages are lost, doubled, mixed up
        self.faulty = True  # and streams may see what only a bad network does
        self.steps = 0
        self.actions = _schedule(rng)
        for edge in self.edges:
            self._regrant(edge, rng)

    def run(self) -> Counter[str]:
        """Play all of it. Raises Violation; returns what faults there were."""
        with planted(self.bug):
            self._play()
        return self.seen

    def _play(self) -> None:
        for action in self.actions:
            if action.number not in self.left_out:
                rng = random.Random(self.seed * 1_000_003 + action.number)
                self._act(action.name, rng)
                for _ in range(rng.randrange(2 * STEPS_BETWEEN)):
                    self._step(rng)
        if not self.left_out:
            self._make_sure_of_every_fault()
        self._audit()
        self._lull()
        self._mend()
        self._settle()
        self._audit()
        self._check()
        self._drift()

    # ---- actions -----------------------------------------------------------------------------------------------------

    def _act(self, name: str, rng: random.Random) -> None:
        node = rng.choice(self.nodes)
        edge = rng.choice(self.edges)
        self.now += rng.randrange(60_000)
        if name.startswith("crash"):
            return self._crash_at(node, name.rpartition(" ")[2], rng)
        alone = {
            "write": self._write, "erase": self._erase, "repeat": self._repeat, "forge": self._forge,
            "equivocate": self._equivocate,
        }  # fmt: skip
        if name in alone:
            return alone[name](node, rng)
        match name:
            case "partition":
                self._note(name, f"{edge}")
                self.blocked |= {edge, edge[::-1]}
            case "one-way partition":
                way = edge if rng.random() < 0.5 else edge[::-1]
                self._note(name, f"{way}")
                self.blocked.add(way)
            case "mend":
                self._note(name, "")
                self.blocked.clear()
            case "reset":
                self._note(name, f"{edge}")
                self._close(self.wires.get(edge))
            case "backup":
                self._note(name, f"{node.number} at {node.disk.head}")
                self.backups[node.number] = node.disk.backup("")
            case "restore":
                self._restore(node)
            case "regrant":
                self._regrant(edge, rng)
            case "impersonate":
                self._impersonate(node, rng.choice(self.nodes), rng)
            case "audit":
                self._audit()
        return None

    def _note(self, name: str, what: str) -> None:
        self.seen[name] += 1
        self.trace.append(f"{name} {what}")

    def _write(self, node: Node, rng: random.Random) -> None:
        self._wake(node)
        known = node.disk.memories()
        verb = rng.choice(VERBS)
        if known and rng.random() < 0.8:
            key, actor = rng.choice(known[:5] if rng.random() < 0.6 else known), rng.randbytes(16)
            self._commit(node, key, verb, actor, self._edit(node, key, verb, rng))
        elif rng.random() < 0.4:
            self._begin(node, rng.choice(SPACES), rng.choice("kl"), rng)
        else:
            self._begin(node, rng.choice((*SPACES, PRIVATE) if node.number < 2 else SPACES), "", rng)

    def _begin(self, node: Node, space: str, word: str, rng: random.Random) -> Key:
        """A new memory; the idempotency key `word`, unless it is "", is used by somebody who writes at every door. Its
        id is chosen as a ledger chooses it."""
        own, actor = node.agent, rng.randbytes(16)
        node.agent = KEYED if word else own
        who, mark = principal_of(node.agent), key_mark(node.agent, word) if word else ""
        key = Key(space, derived_id(space, who, mark))
        if not mark or node.taken(key):
            key, mark = Key(space, fresh_id(self.now + node.skew_ms, space, who, actor)), ""
        try:
            self._commit(node, key, "begin", actor, replace(self._edit(node, key, "edit", rng), mark=mark))
        finally:
            node.agent = own
        return key

    @contextmanager
    def _mortal(self, node: Node) -> Iterator[None]:
        """The node may die inside."""
        try:
            yield
        except Crash as crash:
            self._die(node, crash)

    def _commit(self, node: Node, key: Key, verb: str, actor: bytes, edit: Edit) -> None:
        self._note("write", f"{node.number} {verb} {key.id[-4:]}")
        with self._mortal(node):
            node.write(key, edit, actor, lambda entry: self._acknowledged(node, entry))

    def _repeat(self, node: Node, rng: random.Random) -> None:
        """A memory with an idempotency key is erased at one node and written again at another.

        The other node may have heard of the erasure alone, over a stream that may not relay.
        """
        first, space = self.nodes[0], rng.choice(SPACES)
        self._note("repeat", f"{node.number}")
        self._wake(first)
        key = self._begin(first, space, word := f"k{self.steps}", rng)
        if first.up and key in first.disk.memories():
            self._erase_at(first, key)
        for _ in range(rng.randrange(80)):
            self._step(rng)
        self._wake(node)
        self._begin(node, space, word, rng)

    def _acknowledged(self, node: Node, entry: Entry) -> None:
        key = key_of(entry)
        if entry.type == CHANGE and node.is_retracted(key):
            raise Violation(f"node {node.number} acknowledged a write of {key.id[-4:]}, which a retraction waits for")
        if entry.type == CHANGE:
            self.acknowledged[entry.hash] = (key, node)
        else:
            self.erased.add(key)

    def _edit(self, node: Node, key: Key, verb: str, rng: random.Random) -> Edit:
        at, by = self.now + node.skew_ms, node.agent
        state = node.state(key)
        names = revisions.heads(state) if state else ()
        link = Link("see-also", f"018f6f0e-7c1a-7000-8000-{rng.randrange(3):012d}")
        tag = rng.choice(TAGS)
        edit: Edit | None = None
        if state and names:
            match verb:
                case "forget":
                    edit = revisions.forget(state, by, at)
                case "restore":
                    edit = revisions.restore(state, by, at)
                case "supersede":
                    edit = revisions.supersede(state, link.id, by, at)
                case "tag":
                    edit = Edit(tags_put=(tag,), at=at)
                case "untag" if state.tags:
                    edit = Edit(tags_remove=state.tags[:1], at=at)
                case "link":
                    edit = Edit(links_put=(link,), at=at)
                case "unlink" if state.links:
                    edit = Edit(links_remove=state.links[:1], at=at)
                case "rate":
                    edit = Edit(vote=(f"{by}@{node.id}", rng.random() < 0.5), at=at)
                case "edit one head":
                    names = names[:1]
        if edit is not None:
            return edit
        text = f"text {rng.getrandbits(40):x}"
        revision = RevisionFields(op="put", kind="fact", title="", content=text, by=by, at=at, parents=names)
        return Edit(revision=revision, at=at)

    def _erase(self, node: Node, rng: random.Random) -> None:
        self._erase_at(node, self._some(node, rng))

    def _some(self, node: Node, rng: random.Random) -> Key:
        """A memory of the node, which is up."""
        self._wake(node)
        while not node.disk.memories():
            self._write(node, rng)
            self._wake(node)
        return rng.choice(node.disk.memories())

    def _erase_at(self, node: Node, key: Key) -> None:
        self._note("erase", f"{node.number} {key.id[-4:]}")
        with self._mortal(node):
            node.erase(key, lambda entry: self._acknowledged(node, entry))

    def _crash_at(self, node: Node, duty: str, rng: random.Random) -> None:
        """Let the node die before a duty: of this write, or of what it takes in next, if anything comes."""
        self._wake(node)
        node.crash_before = duty
        self.trace.append(f"crash {node.number} before {duty}")
        if rng.random() < 0.6:
            for _ in range(40):
                if not (node.up and node.crash_before):
                    return
                self._step(rng)
        while node.up and node.crash_before:
            self._write(node, rng)

    def _die(self, node: Node, crash: Crash | None = None) -> None:
        if crash is not None:
            self.seen[f"crash before {crash}"] += 1
        self.trace.append(f"{node.number} dies at {node.disk.head}")
        node.up = False
        for edge, wire in list(self.wires.items()):
            if node.number in edge:
                self._close(wire)

    def _wake(self, node: Node) -> None:
        if not node.up:
            node.start()

    def _restore(self, node: Node) -> None:
        """Put an old backup back. Later writes that no other node has are lost, and nobody's fault."""
        before, erased = self._durable()
        self._die(node)
        node.crash_before = ""
        self._note("restore", f"{node.number} from {node.disk.head} to {self.backups[node.number].head}")
        node.restore(self.backups[node.number])
        after, still_erased = self._durable()
        for hash, (key, owner) in list(self.acknowledged.items()):
            if (hash in before or key in erased) and not (hash in after or key in still_erased):
                del self.acknowledged[hash]
            elif owner is node:
                self.acknowledged[hash] = (key, None)
        self.erased -= erased - still_erased

    def _durable(self) -> tuple[set[str], set[Key]]:
        return (
            {hash for node in self.nodes for hash in node.disk.seqs},
            {key for node in self.nodes for key in node.disk.erased()},
        )

    def _regrant(self, edge: tuple[int, int], rng: random.Random, final: bool = False) -> None:
        mutual = rng.choice(PATTERNS[:-1])
        for ours, theirs in (edge, edge[::-1]):
            read = mutual if final else rng.choice(PATTERNS)
            write = mutual if final else rng.choice(PATTERNS)
            grant = PeerGrant(read=read, write=write, principal=f"p{theirs}", relay=final or rng.random() < 0.7)
            self.grants[ours, theirs] = grant
            wire = self.wires.get(edge)
            if wire is not None and wire.is_open:
                side = next(side for side in wire.sides if side.node.number == ours)
                self._tell(wire, side, messages.Granted(grant))
        self._note("regrant", f"{edge} {[(one.read, one.write, one.relay) for one in self._both(edge)]}")

    def _both(self, edge: tuple[int, int]) -> tuple[PeerGrant, PeerGrant]:
        return self.grants[edge], self.grants[edge[::-1]]

    def _forge(self, node: Node, rng: random.Random) -> None:
        """A peer with a token brings entries that are not allowed, or that nobody signed."""
        self._wake(node)
        honest = {one.id for one in self.nodes}  # the entries of an equivocal writer are no forgery
        known = [
            [one for one in other.disk.logged_entries() if one.node in honest and one.type == CHANGE]
            for other in self.nodes
        ]
        source = rng.choice(known) or [one for entries in known for one in entries]
        if not source:
            return None
        entry = rng.choice(source)
        kind = rng.choice(FORGERIES)
        self._note("forge", f"{kind} of {entry.hash[:6]} to {node.number}")
        self.seen[f"forged {kind}"] += 1
        grant, keys = MALLORY, self._keys()
        if kind in ERASURES:
            return self._usurp(node, kind, rng)
        if kind in FORGED_CHANGES:
            if not (known := node.disk.memories()):
                return None
            mallory, victim = forger(node), rng.choice(self.nodes)
            key = rng.choice(known)
            if kind == BEGINNING:  # of what the node has, or has not heard of, or has in another space
                key = Key(rng.choice((*SPACES, key.space)), rng.choice((key.id, entry.doc)))
                if key in node.disk.erased():
                    return None
            entry = forged_change(kind, mallory, node, key, victim, self.now, rng)
            keys[mallory.id] = mallory.key
        elif kind == "signature":
            entry = replace(entry, signature=rng.randbytes(64))
        elif kind == "raw":
            entry = replace(entry, raw=rng.randbytes(40))
        elif kind == "agent":
            grant = replace(grant, relay=False)
        else:
            grant = replace(grant, write=("other/*",))
        had = entry.hash in node.disk.seqs
        self._bring(node, entry, keys, grant, rng.randrange(9))
        if not had and entry.hash in node.disk.seqs:
            raise Violation(f"node {node.number} took in a forged entry: {kind}")
        reasons = _reasons(node, entry)
        if kind in FORGED_CHANGES and node.up and not any(FORGED_CHANGES[kind] in reason for reason in reasons):
            raise Violation(f"node {node.number} did not set aside a forged entry for what it is, {kind}: {reasons}")
        return None

    def _keys(self, *more: Node) -> dict[str, bytes]:
        return {one.id: one.key for one in (*self.nodes, *more)}

    def _bring(
        self, node: Node, entry: Entry, keys: dict[str, bytes], grant: PeerGrant = MALLORY, last_seq: int = 0
    ) -> None:
        """Mallory brings an entry to the node."""
        with self._mortal(node):
            node.take_in("mallory", "mallory", grant, "mallory/x", last_seq, (entry,), keys, lambda: None)

    def _equivocate(self, node: Node, rng: random.Random) -> None:
        """A writer with a token gives one actor two changes, for different nodes or for the same node.

        Each change is allowed by itself.
        """
        key = self._some(node, rng)
        mallory = forger(node)
        told = equivocal_changes(mallory, node, key, self.now, rng)
        self._note("equivocate", f"{[one.hash[:6] for one in told]} of {key.id[-4:]}, seen at {node.number}")
        others = [other for other in self.nodes if other.up and key not in other.disk.erased()]
        # The first face is out before honest edits. The other face comes late, or never.
        for entry in told:
            at = rng.choice(others)
            self._bring(at, entry, self._keys(mallory))
            for _ in range(rng.randrange(STEPS_BETWEEN)):
                self._write(at, rng)
                self._step(rng)

    def _usurp(self, node: Node, kind: str, rng: random.Random) -> None:
        """A writer erases memories of others, as if the writer had begun them or were an admin."""
        if not (known := node.disk.memories()):
            return
        key = rng.choice(known)
        mallory = forger(node)
        grant = replace(MALLORY, relay=kind == RETRACT and rng.random() < 0.5)
        self._bring(node, mallory.erasure(key, kind), {mallory.id: mallory.key}, grant)
        if key in node.disk.erased():
            raise Violation(f"node {node.number} erased {key.id[-4:]} for who did not begin it")

    def _impersonate(self, node: Node, other: Node, rng: random.Random) -> None:
        """Somebody without a key says Hello in the name of another node, and is told nothing.

        The proof was made by this node elsewhere, or by nobody.
        """
        if node is other:
            return self._impersonate(node, self.nodes[(other.number + 1) % len(self.nodes)], rng)
        self._wake(node)
        self._note("impersonate", f"{other.number} towards {node.number}")
        nonce, key = rng.randbytes(NONCE_BYTES), rng.choice((b"nobody's", node.key))
        stream = node.stream(replace(MALLORY, read=("*",)))
        stream.handle(messages.Opened(role=LISTENER, head=node.disk.head, nonce=rng.randbytes(NONCE_BYTES)))
        hello = hello_of(other.me, replace(MALLORY, read=("*",)), {}, nonce)
        effects = [effect for event in (messages.Got(hello), messages.Met({})) for effect in stream.handle(event)]
        (greeting,) = [effect.message for effect in effects if isinstance(effect, messages.Send)]
        life = other.disk.incarnation
        claim = Claim(
            node_id=other.id, incarnation=life, life=life, role=DIALER, nonce=nonce, peer_id=node.id,
            peer_nonce=greeting.nonce,
        )  # fmt: skip
        said = [
            effect
            for effect in stream.handle(messages.Got(messages.Proof(prove(key, claim))))
            if isinstance(effect, messages.Send | messages.Prove)
        ]
        if stream.status.code != "identity" or [type(one.message) for one in said] != [messages.Refusal]:
            raise Violation(f"node {node.number} believed somebody who said to be {other.number}: {said}")
        return None

    # ---- network -----------------------------------------------------------------------------------------------------

    def _step(self, rng: random.Random) -> None:
        """One small thing happens somewhere."""
        self.steps += 1
        edge = rng.choice(self.edges)
        wire = self.wires.get(edge)
        if wire is None or not wire.is_open:
            if rng.random() < 0.5:
                self._dial(edge, rng)
            return
        side = wire.sides[rng.random() < 0.5]
        luck = rng.random()
        if luck < 0.04:
            self._tell(wire, side, messages.Tick())
        elif luck < 0.05:
            self._tell(wire, side, messages.Compare())
        elif side.jobs and (luck < 0.5 or not side.inbox):
            self._work(wire, side)
        elif side.inbox:
            self._deliver(wire, side, rng)

    def _dial(self, edge: tuple[int, int], rng: random.Random) -> None:
        left, right = (self.nodes[n] for n in edge)
        for node in (left, right):
            if not node.up:
                if self.lossy and rng.random() < 0.7:
                    return
                node.start()
        sides = (
            Side(left, left.stream(self.grants[edge], right.id)),
            Side(right, right.stream(self.grants[edge[::-1]])),
        )
        wire = self.wires[edge] = Wire(sides)
        cursors = left.disk.cursors_of(right.id)
        nonces = rng.randbytes(NONCE_BYTES), rng.randbytes(NONCE_BYTES)
        self._tell(wire, sides[1], messages.Opened(role=LISTENER, head=right.disk.head, nonce=nonces[1]))
        self._tell(wire, sides[0], messages.Opened(role=DIALER, head=left.disk.head, nonce=nonces[0], cursors=cursors))

    def _deliver(self, wire: Wire, side: Side, rng: random.Random) -> None:
        sender = wire.other(side).node.number
        at = 0
        if self.lossy and len(side.inbox) > 1 and rng.random() < 0.2:
            at = rng.randrange(1, min(4, len(side.inbox)))
            self.seen["reorder"] += 1
        message = side.inbox[at]
        luck = rng.random() if self.lossy else 1.0
        if luck < 0.05:
            self.seen["delay"] += 1
            return
        if luck < 0.10:
            self.seen["duplicate"] += 1
        else:
            del side.inbox[at]
        if (sender, side.node.number) in self.blocked:
            self.seen["swallowed"] += 1
        elif 0.10 < luck < 0.15:
            self.seen["drop"] += 1
        else:
            self._tell(wire, side, messages.Got(message))

    def _tell(self, wire: Wire, side: Side, event: messages.Event) -> None:
        if isinstance(event, messages.Tick):
            side.named.clear()  # what is said again is said with its keys
        for effect in side.stream.handle(event):
            match effect:
                case messages.Send(message):
                    if self.bug == KEYS_ONCE and isinstance(message, messages.Batch):
                        fresh = message.keys.keys() - side.named
                        side.named |= fresh
                        message = replace(message, keys={node: message.keys[node] for node in fresh})
                    self._watch_what_leaves(side.node, wire.other(side).node, message)
                    if wire.is_open:
                        wire.other(side).inbox.append(message)
                case messages.Close(code, reason):
                    self._ended(code, reason, wire, side)
                case messages.Status():
                    pass
                case _:
                    side.jobs.append(effect)

    def _ended(self, code: str, reason: str, wire: Wire, side: Side) -> None:
        if code in ("identity", "protocol") or (code == "fault" and not self.faulty):
            raise Violation(f"node {side.node.number} refused {wire.other(side).node.number}: {code}: {reason}")
        if code:
            self.seen[f"refusal {code}"] += 1
            last = wire.other(side).inbox[-1]
            if (
                isinstance(last, messages.Refusal)
                and (side.node.number, wire.other(side).node.number) not in self.blocked
            ):
                wire.other(side).stream.handle(messages.Got(last))
        self._close(wire)

    def _close(self, wire: Wire | None) -> None:
        if wire is not None and wire.is_open:
            wire.is_open = False
            for side in wire.sides:
                side.jobs.clear()
                side.stream.handle(messages.Closed("reset"))

    def _publish(self, node: Node) -> None:
        event = messages.News(node.disk.head)
        for edge, wire in list(self.wires.items()):
            if node.number in edge and wire.is_open:
                self._tell(wire, wire.sides[edge[1] == node.number], event)

    def _work(self, wire: Wire, side: Side) -> None:
        """The shell does the oldest thing that it was asked for."""
        node, job = side.node, side.jobs.popleft()
        match job:
            case messages.Ask():
                self._tell(wire, side, node.page(job))
            case messages.Reask():
                self._tell(wire, side, node.again(job))
            case messages.Measure(patterns):
                self._tell(wire, side, node.measured(patterns))
            case messages.Meet(node_id):
                self._tell(wire, side, messages.Met(node.disk.cursors_of(node_id)))
            case messages.Admit():
                self._tell(wire, side, messages.Admitted())
            case messages.Prove(claim):
                self._tell(wire, side, messages.Proved(prove(node.key, claim)))
            case messages.TakeIn():
                self._take_in(wire, side, job)

    def _take_in(self, wire: Wire, side: Side, job: messages.TakeIn) -> None:
        node, batch = side.node, job.batch
        before = set(node.disk.seqs)

        def took() -> None:
            if wire.is_open:
                self._tell(wire, side, messages.Took(batch.feed, batch.last_seq))

        try:
            node.take_in(
                job.node_id, job.origin, job.grant, batch.feed, batch.last_seq, batch.entries, batch.keys, took
            )
        except Crash as crash:
            self.seen[f"{crash} of a batch"] += 1
            self._die(node, crash)
        grant = self.grants[node.number, wire.other(side).node.number]
        for entry in batch.entries:
            if keyless := [reason for reason in _reasons(node, entry) if "no key of node" in reason]:
                raise Violation(f"node {node.number} put aside {entry.hash[:8]} of an honest peer: {keyless}")
            stored = node.disk.seqs.get(entry.hash)
            allowed = any_matches(grant.write, entry.space) and grant.may_speak_for(entry.agent)
            fresh = stored and entry.hash not in before
            if fresh and entry.type == ERASE and not job.grant.relay:
                raise Violation(f"node {node.number} took in an admin's erasure over a stream that may not relay")
            if stored and node.disk.log[stored].origin == job.origin and not allowed:
                raise Violation(f"node {node.number} stored {entry.agent}'s entry of {entry.space} against its grant")

    # ---- invariants --------------------------------------------------------------------------------------------------

    def _watch_what_leaves(self, node: Node, peer: Node, message: messages.Message) -> None:
        """No entry of a space that the peer may not read, and not even that there is such a space."""
        match message:
            case messages.Batch(entries=entries):
                spaces, reader, source = {entry.space for entry in entries}, peer, node
            case messages.Digest(space):
                spaces, reader, source = {space}, peer, node
            case messages.Resend(_, space):  # which the other told of
                spaces, reader, source = {space}, node, peer
            case _:
                return
        self.seen[type(message).__name__] += 1
        allowed = self.grants[source.number, reader.number].read
        if told := [space for space in spaces if not any_matches(allowed, space)]:
            raise Violation(f"node {node.number} told {peer.number} of {told} with a {type(message).__name__}")

    def _audit(self) -> None:
        """No saved cursor stands behind an entry that its reader does not have."""
        for edge in self.edges:
            for ours, theirs in (edge, edge[::-1]):
                reader, source = self.nodes[ours], self.nodes[theirs]
                grant = self.grants[ours, theirs]
                patterns = common_patterns(self.grants[theirs, ours].read, grant.write)
                feed = feed_name(source.disk.incarnation, patterns, "" if grant.relay else grant.principal)
                cursor = reader.disk.cursors.get((source.id, feed), 0)
                for seq, one in source.disk.log.items():
                    if seq > cursor:
                        break
                    entry = one.entry
                    known = reader.disk.knows(key_of(entry), entry.hash)
                    if not known and any_matches(patterns, entry.space) and grant.may_speak_for(entry.agent):
                        raise Violation(
                            f"node {ours} read {theirs} up to {cursor}, but has not got {entry.hash[:8]} at {seq}"
                        )

    def _check(self) -> None:
        """After all was mended and came to rest."""
        fresh = Memo(self.bug)  # nothing that was remembered before; nodes that hold the same are read once
        for node in self.nodes:
            self._check_node(node, fresh)
        self._check_acknowledged()
        self._check_actors()
        for space in (*SPACES, PRIVATE):
            for group in self._groups(space):
                self._check_group(space, group)
                self._check_erased(space, group)

    def _check_erased(self, space: str, group: Sequence[Node]) -> None:
        """A memory erased on one node of a group lies on no disk of the group: not in log, pending or quarantine."""
        erased = {key for node in group for key in node.disk.erased()}
        for node in group:
            for entry in node.disk.kept():
                if entry.raw and entry.space == space and key_of(entry) in erased:
                    raise Violation(f"node {node.number} keeps what was erased of {entry.doc[-4:]}")

    def _check_node(self, node: Node, fresh: Memo) -> None:
        """The memories of a node follow from its log."""
        keys = self._keys()
        logged = node.disk.logged_entries()
        keys |= node.disk.node_keys({one.node for one in logged} - keys.keys())
        for entry in logged:
            check_signature(entry, keys[entry.node])
        if set(node.disk.erased()) != {key_of(entry) for entry in logged if entry.type in ERASURES}:
            raise Violation(f"node {node.number} forgot what was erased")
        documents = node.disk.memories()
        if set(documents) != set(node.disk.view):
            raise Violation(f"node {node.number}: the view and the log hold different memories")
        for key in documents:
            changes = node.disk.raws(key)
            if fresh.memory(key, changes) != node.disk.view[key]:
                raise Violation(f"node {node.number}: the view of {key.id} is not what its log says")
            links = {link_key(link) for link in node.disk.view[key].links}
            if links != node.memo.links(key, changes):
                raise Violation(f"node {node.number}: the links of {key.id[-4:]} are not those that stand in its log")

    def _groups(self, space: str) -> list[list[Node]]:
        """Nodes that share a space, directly or through others."""
        groups = [{node.number} for node in self.nodes]
        for edge in self.edges:
            if all(any_matches(one.read, space) and any_matches(one.write, space) for one in self._both(edge)):
                joined = set().union(*(group for group in groups if group & set(edge)))
                groups = [*(group for group in groups if not group & set(edge)), joined]
        return [[self.nodes[n] for n in sorted(group)] for group in groups]

    def _check_group(self, space: str, group: Sequence[Node]) -> None:
        first = group[0]
        expected = _holdings(first, space)
        for node in group[1:]:
            if (found := _holdings(node, space)) != expected:
                differing = [key for key in {*expected, *found} if expected.get(key) != found.get(key)]
                raise Violation(
                    f"nodes {first.number} and {node.number} differ in {space}: {[key.id[-4:] for key in differing]}"
                )
            if first.disk.digest(space) != node.disk.digest(space):
                raise Violation(f"nodes {first.number} and {node.number} hold the same, but their digests differ")

    def _check_actors(self) -> None:
        """No honest node gives one actor two changes, also none that was put back from a backup."""
        honest = {node.id for node in self.nodes}
        changes = {
            entry.hash: entry
            for node in self.nodes
            for entry in node.disk.logged_entries()
            if entry.type == CHANGE and entry.node in honest
        }
        actors = Counter(read_head(entry.raw).actor for entry in changes.values())
        if repeated := [actor for actor, count in actors.items() if count > 1]:
            raise Violation(f"honest nodes repeated the actors {repeated}")

    def _check_acknowledged(self) -> None:
        """An acknowledged write is on the node that took it, and so on every node of the group, or is erased."""
        for hash, (key, owner) in self.acknowledged.items():
            holders = self.nodes if owner is None else [owner]
            if not any(hash in node.disk.seqs or key in node.disk.erased() for node in holders):
                raise Violation(f"the acknowledged write {hash[:8]} of {key.id[-4:]} is lost")
        for key in self.erased:
            if not any(key in node.disk.erased() for node in self.nodes):
                raise Violation(f"the acknowledged erasure of {key.id[-4:]} is lost")

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _make_sure_of_every_fault(self) -> None:
        """Network faults come by chance; go on until each came once, with something to say to everybody."""
        rng = random.Random(self.seed * 1_000_003 - 1)
        for extra in range(5_000):
            if all(self.seen[fault] for fault in NETWORK_FAULTS):
                return
            self.blocked.clear()
            if extra % 20 == 0:
                self._act("write", rng)
            if extra % 200 == 0:
                self._regrant(rng.choice(self.edges), rng, final=True)
            self._step(rng)
        raise Violation(f"no chance for {[fault for fault in NETWORK_FAULTS if not self.seen[fault]]}")

    def _lull(self) -> None:
        """The network is good for a while: standing streams make up for what they lost, by time alone."""
        self.trace.append("a lull")
        self.lossy = False
        self.blocked.clear()
        for node in self.nodes:
            node.crash_before = ""
        self._settle()
        self._audit()

    def _mend(self) -> None:
        rng = random.Random(-self.seed)
        self.trace.append("all is mended")
        self.faulty = False
        self.blocked.clear()
        for node in self.nodes:
            node.crash_before = ""
            self._wake(node)
        for wire in self.wires.values():
            self._close(wire)
        for edge in self.edges:
            self._regrant(edge, rng, final=True)

    def _settle(self) -> None:
        """Everything on the way arrives, until nothing is; Violation when that takes too long."""
        rng = random.Random(self.seed)
        for _ in range(SETTLE_ROUNDS_MAX):
            for edge in self.edges:
                wire = self.wires.get(edge)
                if wire is None or not wire.is_open:
                    self._dial(edge, rng)
            busy = False
            for wire, side in self._sides():
                while wire.is_open and (side.inbox or side.jobs):
                    busy = True
                    if side.jobs:
                        self._work(wire, side)
                    else:
                        self._deliver(wire, side, rng)
            if not busy and all(self._is_at_rest(side) for _, side in self._sides()):
                return
            for wire, side in self._sides():
                if wire.is_open:
                    self._tell(wire, side, messages.Tick())
        raise Violation(f"the mesh does not come to rest in {SETTLE_ROUNDS_MAX} rounds")

    def _is_at_rest(self, side: Side) -> bool:
        status = side.stream.status
        # A lost announcement is never heard of when the other side sends nothing. So only a lossless stream must know
        # that all is caught up.
        return side.stream.caught_up() or (self.faulty and status.phase == "open" and not status.sending)

    def _drift(self) -> None:
        """A document disappears from a disk; comparing digests brings it back."""
        rng = random.Random(self.seed)
        shared = [
            (group, key)
            for space in SPACES
            for group in self._groups(space)
            if len(group) > 1
            for key in group[0].disk.memories()
            if key.space == space
        ]
        if shared:
            group, key = rng.choice(shared)
            node = rng.choice(group)
            self.trace.append(f"{node.number} loses {key.id[-4:]} to a bad disk")
            node.disk.mirror = None  # which would have lost nothing
            node.disk.lose(key)
            node.start()
        for wire, side in self._sides():
            self._tell(wire, side, messages.Compare())
        self._settle()
        self._check()
        for _, side in self._sides():
            if side.stream.status.differs:
                raise Violation(f"node {side.node.number} says that it differs from a node that holds the same")

    def _sides(self) -> list[tuple[Wire, Side]]:
        """Both ends of every stream."""
        return [(wire, side) for wire in self.wires.values() for side in wire.sides]


def _reasons(node: Node, entry: Entry) -> list[str]:
    """Why the node keeps copies of an entry in quarantine."""
    return [one.reason for one in node.disk.refused(key_of(entry), entry.hash).values()]


def _holdings(node: Node, space: str) -> dict[Key, Any]:
    """All that a node says of a space: heads and memories, and what was erased."""
    held: dict[Key, Any] = {
        key: (frozenset(node.disk.raws(key)), node.memory(key)) for key in node.disk.memories() if key.space == space
    }
    return held | {key: "erased" for key in node.disk.erased() if key.space == space}


def _topology(name: str, count: int) -> list[tuple[int, int]]:
    match name:
        case "line":
            return [(n, n + 1) for n in range(count - 1)]
        case "star":
            return [(0, n) for n in range(1, count)]
        case _:
            return [(a, b) for a in range(count) for b in range(a + 1, count)]


def _schedule(rng: random.Random) -> list[Action]:
    """The actions of a world in their order: enough writes, every fault at least once."""
    faults = [
        *(f"crash before {duty}" for duty in DUTIES),
        *["partition", "one-way partition", "mend", "mend", "reset", "reset", "erase", "erase", "erase"],
        *["backup", "backup", "backup", "restore", "restore", "regrant", "regrant", "regrant"],
        *["repeat", "repeat", "repeat", "forge", "forge", "forge", "impersonate", "impersonate", "audit", "audit"],
        *["equivocate"] * 2,
    ]
    names = ["write"] * (WRITES - 10) + faults
    rng.shuffle(names)
    return [Action(number, name) for number, name in enumerate(["write"] * 10 + names)]


# ---- seeds -----------------------------------------------------------------------------------------------------------


def failure_of(seed: int, bug: str = "", left_out: frozenset[int] = frozenset()) -> Failure | None:
    """Play a seed; None when every invariant held and, with nothing left out, every class of fault was there."""
    world = World(seed, bug, left_out)
    try:
        seen = world.run()
        if not left_out:
            missing = [fault for fault in FAULTS if not seen[fault]]
            if missing or seen["write"] < WRITES:
                raise Violation(f"the seed has {seen['write']} writes and lacks {missing}")
    except (Violation, ValueError) as problem:
        return Failure(seed, str(problem), world.trace)
    return None


def smallest(failure: Failure, bug: str = "", tries_max: int = 150) -> Failure:
    """The same seed failing with fewer actions: stretches are left out, then smaller ones, while it still fails."""
    numbers = [action.number for action in World(failure.seed, bug).actions]
    left_out: frozenset[int] = frozenset()
    size, tries = len(numbers) // 2, 0
    while size >= 1 and tries < tries_max:
        for start in range(0, len(numbers), size):
            without = left_out | set(numbers[start : start + size])
            tries += without != left_out
            if without != left_out and (found := failure_of(failure.seed, bug, without)):
                failure, left_out = found, without
        size //= 2
    return failure


def failures_in(seeds: Sequence[int], bug: str = "") -> list[Failure]:
    return [failure for seed in seeds if (failure := failure_of(seed, bug))]


def run(first: int, last: int, workers: int = os.cpu_count() or 1) -> list[Failure]:
    """Play the seeds from `first` to `last` in several processes; the failures, the smallest seed first."""
    chunk = 25
    parts = [range(start, min(start + chunk, last + 1)) for start in range(first, last + 1, chunk)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [failure for found in pool.map(failures_in, parts) for failure in found]


def main(arguments: Sequence[str]) -> int:
    first = int(arguments[0])
    last = int(arguments[1]) if len(arguments) > 1 else first
    bug = arguments[2] if len(arguments) > 2 else ""
    started = time.perf_counter()
    failures = run(first, last) if last > first and not bug else failures_in(range(first, last + 1), bug)
    took = time.perf_counter() - started
    print(f"seeds {first} to {last}: {len(failures)} failed, {took:.1f} s")
    if failures:
        print(smallest(failures[0], bug))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
