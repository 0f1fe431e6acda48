"""The judgement of a change from elsewhere, by its operations, before Automerge sees them.

A look at the document after the change would come too late: nothing is left to see of an overwritten revision. So a
change may do the following and nothing else, in the one way that Automerge writes:

- Make one complete revision with its own number and actor, by the agent of its entry.

- Name parents that the change builds on. None are named when the memory's id says that this principal begins it here.

- Put and remove tags and links.

- Put and remove the pin and the feedback of its own agent on its own node.

- Write a few texts, numbers and maps below keys of the root that begin with `x/`, for newer versions.

A change may say only what a door would accept from an agent. Each field has its limit. One call's number of tags and
links is the most. No memory links to itself, and no new credential enters. Every edit writes the whole revision, and an
earlier detector may have accepted its text. So a text of the change's ancestors may come again.

The judgement depends on the entry and on the change's ancestors alone, never on the rest of the replica. Otherwise
replicas would differ for ever. For the same reason no rule here asks a table of Unicode. Two things are left to the
replica: the entry's signature, and changes that are not here yet. Two changes of one actor that do not know of each
other may both enter (equivocation.py). A change that builds on both may not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from mnemesh_crdt.admission import foreign_fields
from mnemesh_crdt.admission.ancestry import GENESIS, GENESIS_PATHS, REVISIONS, Ancestry, Path
from mnemesh_crdt.admission.foreign_fields import NEWER, TIMES, Tree, Value
from mnemesh_crdt.changes.chunk import ChangeHead
from mnemesh_crdt.changes.envelope import CHANGE, Entry, Key, Refused
from mnemesh_crdt.changes.operations import (
    DELETE,
    MAKE_MAP,
    ChangeContent,
    ChangeOperation,
    OpId,
    Scalar,
    read_operations,
)
from mnemesh_crdt.document.document import genesis_hash
from mnemesh_crdt.document.shape import GENESIS_KEYS, MARK, rank
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.validation.field_checks import memory_id
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import MnemeshError, shorten
from mnemesh_memory.values.ids import belongs
from mnemesh_memory.values.kinds import LINK_TYPES
from mnemesh_memory.values.spaces import space_path

__all__ = ["RULES", "Judge", "Refused", "admit"]

# Counts the versions of these rules, with the detector of credentials. The next version judges anew after a refusal.
RULES: Final = 3
_SHORT_CHARS: Final = 80  # texts that come again and again: tags, titles, names of spaces
_SHORT_KEPT: Final = 4_096

_NODE: Final = re.compile("[0-9a-f]{32}")
# `admit`, or another function that decides the same.
Judge: TypeAlias = Callable[[Key, Entry, Mapping[str, bytes] | None], ChangeHead]


def admit(key: Key, entry: Entry, earlier: Mapping[str, bytes] | None = None) -> ChangeHead:
    """The head of the change in `entry` if it may enter document `key`. Raises Refused otherwise.

    `earlier` are the document's accepted changes by hash, with all ancestors of this change. Without `earlier` only
    rules that need no other change apply: the change has to wait, and is judged again later. An ordinary change takes
    0.1 ms.
    """
    try:
        return _judged(key, entry, earlier)
    except Refused:
        raise
    except MnemeshError as error:
        raise Refused(error.message) from error
    except Exception as error:  # boundary: what can not be judged is refused
        raise Refused(f"it can not be judged ({type(error).__name__})") from error


def _judged(key: Key, entry: Entry, earlier: Mapping[str, bytes] | None) -> ChangeHead:
    _check_entry(key, entry)
    change = read_operations(entry.raw)
    head = change.head
    _check_head(change, entry)
    past = None if earlier is None else Ancestry(genesis_hash(key.id, key.space), head, earlier)
    if past is not None and change.first != past.last + 1:
        raise Refused(f"its operations begin at {change.first}; after what it builds on comes {past.last + 1}")
    revisions = 0
    touches = _touches(change, past, f"{entry.agent}@{entry.node}")
    for touch in touches:
        _check_value(touch, entry, head, past)
        revisions += touch.path == ("rev",)
    if revisions > 1:
        raise Refused("it makes more than one revision")
    if past is not None and past.is_empty and not revisions:
        raise Refused("nothing was there before it, and it makes no revision")
    _check_amounts(touches)
    if past is not None and earlier is not None:  # once: what waits is judged again
        _check_credentials(touches, head, earlier, entry.space if past.is_empty else "")
    return head


def _check_entry(key: Key, entry: Entry) -> None:
    """The entry is a change of this very document, by an agent and a node that can be named."""
    if entry.type != CHANGE:
        raise Refused(f"an entry of type {shorten(entry.type)} is no change")
    if (entry.doc, entry.space) != (key.id, key.space):
        raise Refused(f"it is a change of {shorten(entry.doc)} in {shorten(entry.space)}, not of this memory")
    if memory_id("doc", entry.doc) != entry.doc or space_path("space", entry.space) != entry.space:
        raise Refused("its memory id or its space is not written as Mnemesh writes it")
    _agent(entry.agent)
    if not _NODE.fullmatch(entry.node):
        raise Refused(f"node {shorten(entry.node)} is no id of a node")


def _check_head(change: ChangeContent, entry: Entry) -> None:
    head = change.head
    if head.hash != entry.hash:
        raise Refused(f"its hash is {head.hash[:16]}, the entry says {shorten(entry.hash[:16])}")
    if head.seq != 1:
        raise Refused(f"it is change {head.seq} of its actor; every change has a fresh actor")
    if len(head.actor) != len(GENESIS) or head.actor == GENESIS:
        raise Refused(f"actor {head.actor[:40]} is not 16 random bytes")
    if not head.deps or any(left >= right for left, right in pairwise(head.deps)):
        raise Refused("what it builds on is missing, named twice or not in order")
    if change.message or change.time or change.extra:
        raise Refused("it carries a message, a time or other bytes that no memory has")
    if change.first <= len(GENESIS_KEYS):
        raise Refused(f"its operations begin at {change.first}, among those of every document's first change")


@dataclass(frozen=True, slots=True)
class _Touch:
    """The new value at one key of the map at `path`, which the change did not make. `replaced` are the operations in
    whose place it stands, None when nobody looked for them."""

    path: Path
    key: str
    value: Value
    replaced: tuple[ChangeOperation, ...] | None


def _touches(change: ChangeContent, past: Ancestry | None, own: str) -> list[_Touch]:
    """The operations, those within a new map gathered into its value. Raises Refused for a key written twice, and for a
    place that is missing or not for `own` to write. Also for a replaced operation that is missing."""
    made: dict[OpId, Tree] = {}
    written: set[tuple[OpId | None, str]] = set()
    touches: list[_Touch] = []
    for counter, operation in enumerate(change.operations, change.first):
        home, key = operation.object, operation.key
        if (home, key) in written:
            raise Refused(f"it writes {shorten(key)} twice")
        written.add((home, key))
        if operation.action == DELETE and not operation.replaced:
            raise Refused(f"it removes {shorten(key)}, which is not there")
        value: Value = operation.value
        if operation.action == MAKE_MAP:
            value = made[counter, change.head.actor] = {}
        tree = None if home is None else made.get(home)
        if tree is None:
            if past is not None:
                path = past.path(home)
            elif home in GENESIS_PATHS:
                path = GENESIS_PATHS[home]
            else:
                continue  # to be judged when what it builds on is here
            _check_place(path, operation, own)
            touches.append(_Touch(path, key, value, _replaced(operation, past)))
        elif operation.replaced or value is None:
            raise Refused(f"it replaces {shorten(key)} in a map of its own")
        else:
            tree[key] = value
    return touches


def _replaced(operation: ChangeOperation, past: Ancestry | None) -> tuple[ChangeOperation, ...] | None:
    if past is None and operation.replaced:
        return None
    replaced = []
    for counter, actor in operation.replaced:
        old = past.operation((counter, actor)) if past is not None else None
        if old is None or old.action == DELETE or (old.object, old.key) != (operation.object, operation.key):
            raise Refused(f"it replaces {counter}@{actor}, which is not at {shorten(operation.key)}")
        replaced.append(old)
    return tuple(replaced)


def _check_place(path: Path, operation: ChangeOperation, own: str) -> None:
    """Whether a change by `own` ("agent@node") may write at this key at all."""
    key = operation.key
    if not path or path[0].startswith(NEWER):
        if not (path[0] if path else key).startswith(NEWER):
            raise Refused(f"it changes {shorten(key)} of the document itself; only keys below {NEWER} are free")
    elif path[0] == "rev":
        if len(path) > 1 or operation.replaced:
            raise Refused(f"it changes {shorten(key)} of {'/'.join(path)[:80]}; revisions are never changed")
    elif path == ("tags",):
        foreign_fields.word("tag", key, limits.TAG_BYTES_MAX)
    elif path == ("links",):
        kind, _, target = key.partition(":")
        if kind not in LINK_TYPES or memory_id("link", target) != target:
            raise Refused(f"link {shorten(key)} is not of a known type to the id of a memory")
    elif (path[1] if len(path) > 1 else key) != own:
        raise Refused(f"{path[0]} {shorten((*path, key)[1])} belongs to another than {shorten(own)}")


def _check_value(touch: _Touch, entry: Entry, head: ChangeHead, past: Ancestry | None) -> None:
    path, key, value = touch.path, touch.key, touch.value
    if not path or path[0].startswith(NEWER):
        foreign_fields.check_newer(key, value, len(path) + 1)
    elif path == ("rev",):
        if not isinstance(value, dict):
            raise Refused(f"revision {shorten(key)} is no map")
        parents = foreign_fields.check_revision(key, value, entry.agent, head.actor)
        if not parents:
            _check_beginning(entry, value, head)
        elif past is not None:
            _check_parents(parents, past)
    elif path == ("feedback",):
        if value is not None:
            foreign_fields.check_votes(value)
    elif path[0] == "feedback":
        foreign_fields.check_votes({key: value} if value is not None else None)
    elif value is not None:
        if path == ("links",) and key.endswith(f":{entry.doc}"):
            raise Refused("it links the memory to itself")
        _check_put_time(touch)


def _check_amounts(touches: Sequence[_Touch]) -> None:
    """As many tags, links and keys of newer versions as one call may write, whatever is there already."""
    for name, most in (("tags", limits.CHANGE_TAGS_MAX), ("links", limits.CHANGE_LINKS_MAX)):
        put = sum(touch.value is not None for touch in touches if touch.path == (name,))
        if put > most:
            raise Refused(f"it puts {put} {name}, at most {most} are allowed in one change")
    removed = sum(touch.value is None for touch in touches)
    if removed > limits.CHANGE_REMOVALS_MAX:
        raise Refused(f"it removes {removed} keys, at most {limits.CHANGE_REMOVALS_MAX} are allowed in one change")
    newer = [foreign_fields.newer_size(key, value) for key, value in _newer(touches)]
    if newer:
        keys, size = sum(keys for keys, _ in newer), sum(size for _, size in newer)
        if keys > limits.NEWER_KEYS_MAX or size > limits.NEWER_BYTES_MAX:
            most_keys = f"{limits.NEWER_KEYS_MAX} keys and {limits.NEWER_BYTES_MAX} bytes"
            raise Refused(f"it has {keys} keys and {size} bytes below {NEWER}, at most {most_keys} are allowed")


def _newer(touches: Sequence[_Touch]) -> Iterator[tuple[str, Value]]:
    """The values below keys of newer versions, in the document or in the revision."""
    for touch in touches:
        if not touch.path or touch.path[0].startswith(NEWER):
            yield touch.key, touch.value
        elif touch.path == ("rev",) and isinstance(touch.value, dict):
            yield from ((key, value) for key, value in touch.value.items() if key.startswith(NEWER))


def _check_credentials(touches: Sequence[_Touch], head: ChangeHead, earlier: Mapping[str, bytes], space: str) -> None:
    """No text holds a credential but those that the change builds on; the reason names field and type alone."""
    secrets: dict[str, str] = {}
    for field, text in (("space", space), *_texts(touches)):
        if type := _short_secret(text) if len(text) <= _SHORT_CHARS else find_secret(text):
            secrets.setdefault(text, f"its {field} holds a credential ({type})")
    if secrets and (reason := _said_first(secrets, head, earlier)):
        raise Refused(reason)


def _said_first(secrets: Mapping[str, str], head: ChangeHead, earlier: Mapping[str, bytes]) -> str:
    """The reason for the first text of `secrets` that is new, "" when the change builds on all of them. The search goes
    back through as many bytes as a document is read from, so that no long history makes a refusal dear."""
    left, room = dict(secrets), limits.DOCUMENT_BYTES_MAX
    hashes, seen = list(head.deps), set(head.deps)
    for hash in hashes:  # grows on the way: the nearest ones first
        if not left or room < 0:
            break
        if hash not in earlier:  # the document's first change
            continue
        change = read_operations(earlier[hash])
        room -= max(change.size, limits.DOCUMENT_BYTES_MAX // limits.DOCUMENT_CHANGES_MAX)
        for operation in change.operations:
            for text in _said(operation.key, operation.value):
                left.pop(text, None)
        hashes += [dep for dep in change.head.deps if dep not in seen]
        seen.update(change.head.deps)
    return next(iter(left.values()), "")


def _said(key: str, value: Scalar | None) -> tuple[str, ...]:
    """The texts of one operation, in the form of `_texts`."""
    if not isinstance(value, str):
        return (key,)
    return key, value if key in ("title", "content") else f"{key.removeprefix(NEWER)}={value}"


def _texts(touches: Sequence[_Touch]) -> Iterator[tuple[str, str]]:
    for touch in touches:
        if touch.value is None:
            continue
        if touch.path == ("tags",):
            yield "tag", touch.key
        elif touch.path == ("rev",) and isinstance(touch.value, dict):
            yield from foreign_fields.revision_texts(touch.value)
        elif not touch.path or touch.path[0].startswith(NEWER):
            yield NEWER, touch.key
            yield from ((NEWER, text) for _, text in foreign_fields.texts_of(touch.key, touch.value))


@lru_cache(maxsize=_SHORT_KEPT)
def _short_secret(text: str) -> str | None:
    return find_secret(text)


@lru_cache(maxsize=_SHORT_KEPT)  # a refusal is not kept
def _agent(agent: str) -> None:
    foreign_fields.check_agent(agent)
    if find_secret(agent):
        raise Refused("its agent's name holds a credential")


def _check_put_time(touch: _Touch) -> None:
    """The value of a put is its time, or one more than the replaced put: a renewal has to go past any clock."""
    value = touch.value
    if type(value) is not int:
        raise Refused(f"{touch.path[0]} {shorten(touch.key)}: a put is a time, a whole number of ms")
    known = touch.replaced is not None
    if known and value not in TIMES and all(put.value != value - 1 for put in touch.replaced or ()):
        raise Refused(f"{touch.path[0]} {shorten(touch.key)}: put at {value}, which no clock says")


def _check_beginning(entry: Entry, revision: Tree, head: ChangeHead) -> None:
    principal, mark = principal_of(entry.agent), revision.get(MARK)
    shown = mark if isinstance(mark, str) else ""
    if not belongs(entry.doc, entry.space, principal, bytes.fromhex(head.actor), shown):
        raise Refused(f"its id is not one that {shorten(principal)} can begin in {shorten(entry.space)}")


def _check_parents(parents: tuple[str, ...], past: Ancestry) -> None:
    for parent in parents:
        change = past.change(rank(parent)[1])
        if change is None or all((op.object, op.key) != (REVISIONS, parent) for op in change.operations):
            raise Refused(f"its revision names {parent}, which it does not build on")
