"""Whether a stream may bring an entry, and whether the entry is what its node signed. Says nothing about operations.

A key counts when it hashes to the id of its node. It is kept once a signature was found good. Another ledger of the
same node proves every signature before it takes an entry in. Of its entries one of each node is proved in each batch,
so that a wrong key or a damaged log shows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from mnemesh_crdt.admission.erasure import misshapen, not_granted
from mnemesh_crdt.changes.envelope import CHANGE, ERASURES, SIGNATURE_BYTES, Entry, node_id_of
from mnemesh_crdt.intake.shelf import NODE_KEY, Shelf
from mnemesh_memory.access.grants import PeerGrant, any_matches
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, InvalidArgument
from mnemesh_memory.values.spaces import space_path

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_NODE: Final = re.compile(r"[0-9a-f]{32}")
_SHOWN_CHARS: Final = 200
# `verify`, or another function that raises DataLoss for a bad signature.
Verifier: TypeAlias = Callable[[Entry, bytes], None]


class Sender:
    """One stream with its `grant` while one batch is taken in. `name` is the sender. `whole` marks another ledger of
    this node, which may bring any number of keys."""

    def __init__(
        self, shelf: Shelf, verify: Verifier, grant: PeerGrant, name: str = "", *, whole: bool = False
    ) -> None:
        self._shelf = shelf
        self._verify = verify
        self._grant = grant
        self._name = name
        self._whole = whole
        self._keys: dict[str, bytes] = {}
        self._shown: dict[str, bytes] = {}
        self._proved: set[str] = set()

    def show(self, keys: Mapping[str, bytes], nodes: set[str]) -> None:
        """The stream brought these keys, by node id. Entries of `nodes` are coming."""
        self._keys = dict(self._shelf.node_keys(nodes))
        fresh = {node: bytes(keys[node]) for node in nodes if node in keys and node not in self._keys}
        self._shown = {node: key for node, key in fresh.items() if node_id_of(key) == node}

    def not_kept(self, node: str) -> bytes:
        """The key of a node that the stream brought and that is not kept, b"" for none."""
        return self._shown.get(node, b"")

    def misshapen(self, entry: Entry) -> str:
        """The part of an entry that no honest node sends, or ""."""
        if entry.type not in (CHANGE, *ERASURES):
            return f"its type is none of {CHANGE}, {', '.join(ERASURES)}"
        if not (_HASH.fullmatch(entry.hash) and _NODE.fullmatch(entry.node)):
            return "its hash or node is not in hex of the right length"
        if len(entry.signature) != SIGNATURE_BYTES:
            return f"its signature has {len(entry.signature)} bytes instead of {SIGNATURE_BYTES}"
        if len(entry.raw) > limits.CHANGE_BYTES_MAX:
            return f"its change has {len(entry.raw)} bytes, at most {limits.CHANGE_BYTES_MAX} are allowed"
        if not limits.TIME_MS_MIN <= entry.at <= limits.TIME_MS_MAX:
            return "its time is no time"
        names = (("doc", entry.doc), ("space", entry.space), ("agent", entry.agent))
        return next(filter(None, (_misnamed(what, name) for what, name in names)), "")

    def objection(self, entry: Entry) -> str:
        """Why a well-shaped entry may not come this way, or ""."""
        if why := self._unsigned(entry):
            return why
        if not any_matches(self._grant.write, entry.space):
            return f"this peer may not write to {entry.space}"
        if not self._grant.may_speak_for(entry.agent):
            return f"this peer may not speak for {entry.agent}"
        return (misshapen(entry) or not_granted(entry, self._grant)) if entry.type in ERASURES else ""

    def _unsigned(self, entry: Entry) -> str:
        key = self._keys.get(entry.node) or self._shown.get(entry.node)
        if key is None:
            return f"no key of node {entry.node} came with it"
        if self._whole and entry.type == CHANGE and entry.node in self._proved:
            return ""
        try:
            self._verify(entry, key)
        except DataLoss as error:
            return error.message
        self._proved.add(entry.node)
        if entry.node in self._shown:
            if why := self._too_many_keys():
                return why
            self._shelf.keep_key(entry.node, key, self._name)
            self._keys[entry.node] = self._shown.pop(entry.node)
        return ""

    def _too_many_keys(self) -> str:
        if self._shelf.count(NODE_KEY) >= limits.NODE_KEYS_MAX:
            return f"keys of {limits.NODE_KEYS_MAX} nodes are kept, no more are allowed"
        most = limits.NODE_KEYS_SHARE_MAX if self._grant.relay else limits.NODE_KEYS_OF_WRITER_MAX
        if self._shelf.count(NODE_KEY, self._name) >= most and not self._whole:
            return f"keys of {most} nodes that this peer brought are kept, no more are allowed"
        return ""


@lru_cache(maxsize=4096)
def _misnamed(what: str, name: str) -> str:
    try:
        if what == "doc":
            clean = field_checks.memory_id(what, name)
        elif what == "space":
            clean = space_path(what, name)
        else:
            clean = field_checks.line(what, name, limits.AGENT_BYTES_MAX)
    except InvalidArgument as error:
        return error.message
    return "" if clean == name and name else f"its {what} is not written as we write it"


def presentable(entry: Entry) -> Entry:
    """A misshapen entry in a form for keeping and showing, with a hash of its content."""
    texts = {name: getattr(entry, name) for name in ("doc", "space", "type", "agent", "node")}
    held = repr((tuple(texts.values()), entry.hash, entry.signature, entry.raw)).encode("utf-8", "replace")
    return replace(
        entry,
        **{name: text[:_SHOWN_CHARS].encode("utf-8", "replace").decode() for name, text in texts.items()},
        hash=hashlib.sha256(held).hexdigest(),
        raw=entry.raw if len(entry.raw) <= limits.CHANGE_BYTES_MAX else b"",
        signature=entry.signature[:SIGNATURE_BYTES],
        at=min(max(entry.at, limits.TIME_MS_MIN), limits.TIME_MS_MAX),
    )
