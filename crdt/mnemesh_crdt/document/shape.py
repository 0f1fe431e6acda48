"""The shape of a memory document as plain values and plain nested dictionaries.

Pure translation in both directions, without Automerge: the content of a document, the layout of a revision in it, and
the layouts that are damage. Unknown keys are left alone, so values of a newer minor version under `x/` survive. A newer
major version announces itself by a larger `v` and is refused.

    v: 1, id, space

    rev{"n@actor": {op, kind, title, content, by, at, tier, parents{id: i}, attrs{key: value}, valid_from, valid_to,
    importance, source{session, dir, seq}, keywords{word: i}, refs{path: i}, x/key, x/force, x/ends{"n@change": i}}}

    tags{tag: put time}, links{"type:id": put time}, pins{"agent@node": time},
    feedback{"agent@node": {useful, not}}

Ordered lists are maps from the item to its position, because lists merge badly. An absent key means the default.
`x/key` is the mark of an idempotency key, in the first revision of a memory whose id is derived from that key
(mnemesh_memory.values.ids). `x/force` is 1 in a revision whose writer passed the write guard with `force`. `x/ends` and
the root's `x/removed/actor` reach into the branches of a repeated actor (equivocation.py). Older versions leave all
three alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mnemesh_memory.values.errors import DataLoss, FailedPrecondition
from mnemesh_memory.values.model import Link, Revision, RevisionFields, Source

FORMAT_MAJOR: Final = 1
COLLECTIONS: Final = ("rev", "tags", "links", "pins", "feedback")
GENESIS_KEYS: Final = ("v", "id", "space", *COLLECTIONS)  # one operation each, in this order
PUT: Final = "put"
FORGET: Final = "forget"
MARK: Final = "x/key"
FORCED: Final = "x/force"
ENDS: Final = "x/ends"
_REVISION_ID: Final = re.compile(r"([1-9][0-9]{0,9})@([0-9a-f]{32})")

Written: TypeAlias = Mapping[str, "str | int | float | Written"]  # what we write
Tree: TypeAlias = Mapping[str, object]  # what may be found


@dataclass(frozen=True, slots=True)
class AutomergeChange:
    """One Automerge change: hash and fresh actor in hex, and the bytes to log and send, at most
    limits.CHANGE_BYTES_MAX."""

    hash: str
    raw: bytes
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The content of one change: at most one revision, and tags and links put or removed, at the time `at` (ms). `vote`
    is a writer ("agent@node") and its new vote, useful or not, in the place of the last vote. `mark` stands in the
    first revision of a memory whose id is derived from an idempotency key. `forced`: the writer of the revision passed
    the write guard. A tag or link both removed and put ends up put. A second put renews the first, and survives a
    removal at the same time elsewhere.
    """

    revision: RevisionFields | None = None
    tags_put: tuple[str, ...] = ()
    tags_remove: tuple[str, ...] = ()
    links_put: tuple[Link, ...] = ()
    links_remove: tuple[Link, ...] = ()
    vote: tuple[str, bool] | None = None
    mark: str = ""
    forced: bool = False
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """The content of a document after all its changes: equal for equal sets of changes, whatever their order.
    `tagged_at` and `linked_at` give the time (ms) of the last put of each tag and link. `pins` are the writers
    ("agent@node") that pin. `votes` holds each writer's vote, True for useful. `unread` counts changes that are kept
    and not read. `put_by` names the operation that put each key of `tags` and `links`, when there are more than a
    reader is shown. `renamed` are changes by hash (hex) that share their actor with another change, and so have another
    name (equivocation.py). `read` are the hashes (hex) of the read changes, when some are unread.
    """

    id: str
    space: str
    revisions: Mapping[str, Revision] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    pins: tuple[str, ...] = ()
    votes: Mapping[str, bool] = field(default_factory=dict)
    tagged_at: Mapping[str, int] = field(default_factory=dict)
    linked_at: Mapping[Link, int] = field(default_factory=dict)
    unread: int = 0
    put_by: Mapping[str, Mapping[str, tuple[int, str]]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    read: frozenset[str] = field(default=frozenset(), repr=False)

    def name_of(self, hash: str, actor: str) -> str:
        """The name of the change `hash` by `actor` (hex) in ids of revisions. An unread change is named by its hash: a
        read change may have the same actor."""
        if self.unread and hash not in self.read:
            return hash
        return self.renamed.get(hash, actor) if self.renamed else actor


def rank(revision_id: str) -> tuple[int, str]:
    """(n, actor) of a revision id: the order among heads, the same on every replica whatever its clock
    says."""
    match = _REVISION_ID.fullmatch(revision_id)
    if match is None:
        raise _misshapen(revision_id, "a revision id")
    return int(match[1]), match[2]


def next_revision_id(parents: tuple[str, ...], actor: str) -> str:
    """The id of a revision by `actor` (hex) that names `parents`: n is 1 + the largest parent's n."""
    return f"{1 + max((rank(parent)[0] for parent in parents), default=0)}@{actor}"


def link_key(link: Link) -> str:
    """The key of a link in the document's `links` map."""
    return f"{link.type}:{link.id}"


def revision_tree(fields: RevisionFields) -> Written:
    """The revision as the document stores it; absent values and empty collections are left out."""
    source = {"session": fields.source.session, "dir": fields.source.dir, "seq": fields.source.seq}
    tree: dict[str, str | int | float | Written | None] = {
        "op": fields.op,
        "kind": fields.kind,
        "title": fields.title,
        "content": fields.content,
        "by": fields.by,
        "at": fields.at,
        "tier": fields.tier,
        "parents": positions(fields.parents),
        "attrs": dict(fields.attrs),
        "valid_from": fields.valid_from,
        "valid_to": fields.valid_to,
        "importance": None if fields.importance is None else float(fields.importance),
        "source": {key: value for key, value in source.items() if value is not None and value != ""},
        "keywords": positions(fields.keywords),
        "refs": positions(fields.refs),
    }
    return {key: value for key, value in tree.items() if value is not None and value != {}}


def state_of(doc: str, space: str, tree: Tree) -> DocumentState:
    """The state that `tree` (the whole document) stands for.

    Raises DataLoss when it is not the document of `doc` in `space` or breaks the shape, FailedPrecondition
    when a newer major version wrote it.
    """
    major = _number(tree, "v")
    if major is not None and major > FORMAT_MAJOR:
        raise FailedPrecondition(
            f"memory {doc} was written in format {major}; this node reads up to format {FORMAT_MAJOR}. "
            "Nothing was changed; upgrade Mnemesh to read it",
            field="v",
            value=major,
            limit=FORMAT_MAJOR,
        )
    if (major, tree.get("id"), tree.get("space")) != (FORMAT_MAJOR, doc, space):
        raise _misshapen("id", f"memory {doc} of space {space} in format {FORMAT_MAJOR}")
    revisions = _map(tree, "rev")
    tagged_at = _numbers(tree, "tags")
    linked_at = {_link(key): at for key, at in _numbers(tree, "links").items()}
    feedback = _map(tree, "feedback")
    counts = {writer: _counts(_map(feedback, writer)) for writer in sorted(feedback)}
    return DocumentState(
        id=doc,
        space=space,
        revisions={key: _revision(key, _map(revisions, key)) for key in revisions},
        tags=tuple(sorted(tagged_at)),
        links=tuple(sorted(linked_at, key=lambda link: (link.type, link.id))),
        pins=tuple(sorted(_numbers(tree, "pins"))),
        # One writer, one vote: a count lets nobody outvote the others.
        votes={writer: useful > against for writer, (useful, against) in counts.items() if useful != against},
        tagged_at=tagged_at,
        linked_at=linked_at,
    )


def _revision(key: str, tree: Tree) -> Revision:
    op = _text(tree, "op")
    parents = _listed(tree, "parents")
    n, _ = rank(key)
    # A parent is always older, so there is always a head and every walk along parents ends.
    if op not in (PUT, FORGET) or any(rank(parent)[0] >= n for parent in parents):
        raise _misshapen(key, "a revision that puts or forgets and whose parents are older")
    at, importance = _number(tree, "at"), tree.get("importance")
    if at is None or not (importance is None or isinstance(importance, float)):
        raise _misshapen(key, "a revision with a time and, if any, a fractional importance")
    attrs, source = _map(tree, "attrs"), _map(tree, "source")
    return Revision(
        id=key,
        op=op,
        kind=_text(tree, "kind"),
        title=_text(tree, "title"),
        content=_text(tree, "content"),
        by=_text(tree, "by"),
        at=at,
        parents=parents,
        attrs={name: _text(attrs, name) for name in attrs},
        valid_from=_number(tree, "valid_from"),
        valid_to=_number(tree, "valid_to"),
        importance=importance,
        tier=_text(tree, "tier"),
        source=Source(_text(source, "session"), _text(source, "dir"), _number(source, "seq")) if source else Source(),
        keywords=_listed(tree, "keywords"),
        refs=_listed(tree, "refs"),
        forced=tree.get(FORCED) == 1,
    )


def vote_tree(useful: bool) -> Written:
    """A vote as the document stores it."""
    return {"useful" if useful else "not": 1}


def _counts(vote: Tree) -> tuple[int, int]:
    return _number(vote, "useful") or 0, _number(vote, "not") or 0


def positions(items: tuple[str, ...]) -> Written:
    """An ordered list as the document stores it."""
    return {item: position for position, item in enumerate(items)}


def _listed(tree: Tree, key: str) -> tuple[str, ...]:
    positions = _numbers(tree, key)
    return tuple(sorted(positions, key=lambda item: (positions[item], item)))


def _link(key: str) -> Link:
    kind, _, target = key.partition(":")
    if not (kind and target):
        raise _misshapen(key, "a link")
    return Link(kind, target)


def _numbers(tree: Tree, key: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name, value in _map(tree, key).items():
        if type(value) is not int:
            raise _misshapen(key, "a map of whole numbers")
        numbers[name] = value
    return numbers


def _map(tree: Tree, key: str) -> Tree:
    value = tree.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _misshapen(key, "a map")
    return value


def _text(tree: Tree, key: str) -> str:
    value = tree.get(key, "")
    if not isinstance(value, str):
        raise _misshapen(key, "text")
    return value


def _number(tree: Tree, key: str) -> int | None:
    value = tree.get(key)
    if value is None or type(value) is int:
        return value
    raise _misshapen(key, "a whole number")


def _misshapen(key: str, wanted: str) -> DataLoss:
    return DataLoss(f"{key[:80]!r} is not {wanted}; its document is damaged", field=key[:80])
