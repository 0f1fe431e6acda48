"""The shape of a memory document as plain values and plain nested dictionaries.

Pure translation in both directions, without Automerge: what the document holds, how a revision is laid out in it, and
which layouts are damage. Unknown keys are left alone, so that what a newer minor version writes under `x/` survives.

    v: 1, id, space
    rev{"n@actor": {op, kind, title, content, by, at, parents{id: i}, attrs{key: value}, valid_from, valid_to,
                    importance, tier, source{session, dir, seq}, keywords{word: i}, refs{path: i}}}
    tags{tag: put time}, links{"type:id": put time}, pins{"agent@node": time}, feedback{"agent@node": {useful, not}}

Ordered lists are maps from the item to its position, because lists merge badly. An absent key means the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from mnemesh_memory.errors import DataLoss, FailedPrecondition
from mnemesh_memory.model import Link, Revision, Source

FORMAT_MAJOR: Final = 1
COLLECTIONS: Final = ("rev", "tags", "links", "pins", "feedback")
PUT: Final = "put"
FORGET: Final = "forget"
_REVISION_ID: Final = re.compile(r"([1-9][0-9]{0,9})@([0-9a-f]{32})")

Scalar: TypeAlias = str | int | float
Tree: TypeAlias = Mapping[str, "Scalar | Tree"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """One Automerge change: its hash and its fresh actor in hex, and the bytes to log and send (at most
    limits.CHANGE_BYTES_MAX)."""

    hash: str
    raw: bytes
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFields:
    """A complete revision before it has an id: all fields of model.Revision but the id. `op` is put or forget."""

    op: str
    kind: str
    title: str
    content: str
    by: str
    at: int
    parents: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    valid_from: int | None = None
    valid_to: int | None = None
    importance: float | None = None
    tier: str = "normal"
    source: Source = Source()
    keywords: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What one change does: at most one revision, and tags and links put or removed, at the time `at`.

    Something both removed and put ends up put. A put of what is there already renews it, so that it survives a
    removal made at the same time elsewhere.
    """

    revision: RevisionFields | None = None
    tags_put: tuple[str, ...] = ()
    tags_remove: tuple[str, ...] = ()
    links_put: tuple[Link, ...] = ()
    links_remove: tuple[Link, ...] = ()
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """What a document holds after all its changes; equal for equal sets of changes, whatever their order.

    `tagged_at` and `linked_at` give the time of the last put of each tag and link; `feedback` sums (useful, not)
    over all writers; `pins` are the writers ("agent@node") that pin.
    """

    id: str
    space: str
    revisions: Mapping[str, Revision] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    pins: tuple[str, ...] = ()
    feedback: tuple[int, int] = (0, 0)
    tagged_at: Mapping[str, int] = field(default_factory=dict)
    linked_at: Mapping[Link, int] = field(default_factory=dict)


def rank(revision_id: str) -> tuple[int, str]:
    """(n, actor) of a revision id: the order among heads, the same on every replica whatever its clock says."""
    match = _REVISION_ID.fullmatch(revision_id)
    if match is None:
        raise DataLoss(f"{revision_id[:80]!r} is no revision id; its document is damaged", field="rev")
    return int(match[1]), match[2]


def next_revision_id(parents: tuple[str, ...], actor: str) -> str:
    """The id of a revision by `actor` (hex) that names `parents`: n is 1 + the largest parent's n."""
    return f"{1 + max((rank(parent)[0] for parent in parents), default=0)}@{actor}"


def link_key(link: Link) -> str:
    """The key of a link in the document's `links` map."""
    return f"{link.type}:{link.id}"


def revision_tree(fields: RevisionFields) -> Tree:
    """The revision as the document stores it; defaults are left out."""
    tree: dict[str, Scalar | Tree] = {
        "op": fields.op, "kind": fields.kind, "title": fields.title, "content": fields.content,
        "by": fields.by, "at": fields.at, "tier": fields.tier,
    }  # fmt: skip
    source: dict[str, Scalar | Tree] = {}
    if fields.source.session:
        source["session"] = fields.source.session
    if fields.source.dir:
        source["dir"] = fields.source.dir
    if fields.source.seq is not None:
        source["seq"] = fields.source.seq
    maps: tuple[tuple[str, Tree], ...] = (
        ("parents", _positions(fields.parents)), ("attrs", dict(fields.attrs)), ("source", source),
        ("keywords", _positions(fields.keywords)), ("refs", _positions(fields.refs)),
    )  # fmt: skip
    tree.update({key: value for key, value in maps if value})
    if fields.valid_from is not None:
        tree["valid_from"] = fields.valid_from
    if fields.valid_to is not None:
        tree["valid_to"] = fields.valid_to
    if fields.importance is not None:
        tree["importance"] = float(fields.importance)
    return tree


def state_of(doc: str, space: str, tree: Tree) -> DocumentState:
    """The state that `tree` (the whole document) stands for.

    Raises DataLoss when it is not the document of `doc` in `space` or breaks the shape, FailedPrecondition when a
    newer major version wrote it.
    """
    major = _get(tree, "v", int, 0)
    if major > FORMAT_MAJOR:
        raise FailedPrecondition(
            f"memory {doc} was written in format {major}; this node reads up to format {FORMAT_MAJOR}. "
            "Nothing was changed; upgrade Mnemesh to read it",
            field="v", value=major, limit=FORMAT_MAJOR,
        )  # fmt: skip
    if (major, tree.get("id"), tree.get("space")) != (FORMAT_MAJOR, doc, space):
        raise DataLoss(f"the document of memory {doc} names another memory, space or format; it is damaged", field="id")
    tagged = _times(tree, "tags")
    linked = {_link(key): at for key, at in _times(tree, "links").items()}
    feedback = [_map(_map(tree, "feedback"), who) for who in _map(tree, "feedback")]
    return DocumentState(
        id=doc,
        space=space,
        revisions={key: _revision(key, _map(_map(tree, "rev"), key)) for key in _map(tree, "rev")},
        tags=tuple(sorted(tagged)),
        links=tuple(sorted(linked, key=lambda link: (link.type, link.id))),
        pins=tuple(sorted(_times(tree, "pins"))),
        feedback=(sum(_get(one, "useful", int, 0) for one in feedback), sum(_get(one, "not", int, 0) for one in feedback)),
        tagged_at=tagged,
        linked_at=linked,
    )


def _revision(key: str, tree: Tree) -> Revision:
    op = _get(tree, "op", str, "")
    parents = _listed(tree, "parents")
    n = rank(key)[0]
    # A parent is always older, so there is always a head and every walk along parents ends.
    if op not in (PUT, FORGET) or any(rank(parent)[0] >= n for parent in parents):
        raise DataLoss(f"revision {key} has a bad op or a parent that is not older; its document is damaged", field="rev")
    source = _map(tree, "source")
    return Revision(
        id=key,
        op=op,
        kind=_get(tree, "kind", str, ""),
        title=_get(tree, "title", str, ""),
        content=_get(tree, "content", str, ""),
        by=_get(tree, "by", str, ""),
        at=_get(tree, "at", int, 0),
        parents=parents,
        attrs={name: _get(_map(tree, "attrs"), name, str, "") for name in _map(tree, "attrs")},
        valid_from=_get(tree, "valid_from", int, None),
        valid_to=_get(tree, "valid_to", int, None),
        importance=_get(tree, "importance", float, None),
        tier=_get(tree, "tier", str, "normal"),
        source=Source(_get(source, "session", str, ""), _get(source, "dir", str, ""), _get(source, "seq", int, None)),
        keywords=_listed(tree, "keywords"),
        refs=_listed(tree, "refs"),
    )


def _positions(items: tuple[str, ...]) -> Tree:
    return {item: position for position, item in enumerate(items)}


def _listed(tree: Tree, key: str) -> tuple[str, ...]:
    positions = _times(tree, key)
    return tuple(sorted(positions, key=lambda item: (positions[item], item)))


def _times(tree: Tree, key: str) -> dict[str, int]:
    found = _map(tree, key)
    return {name: _get(found, name, int, 0) for name in found}


def _link(key: str) -> Link:
    kind, colon, target = key.partition(":")
    if not (kind and colon and target):
        raise DataLoss(f"{key[:80]!r} is no link; its document is damaged", field="links")
    return Link(kind, target)


def _map(tree: Tree, key: str) -> Tree:
    value = tree.get(key, {})
    if not isinstance(value, Mapping):
        raise DataLoss(f"{key[:80]!r} is not a map; its document is damaged", field=key)
    return value


def _get(tree: Tree, key: str, wanted: type[T], default: T | None) -> T:
    value = tree.get(key, default)
    if value is not default and type(value) is not wanted:
        raise DataLoss(f"{key[:80]!r} is not of type {wanted.__name__}; its document is damaged", field=key)
    return value  # type: ignore[return-value]
