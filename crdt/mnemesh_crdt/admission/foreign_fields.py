"""Bounds of every field of a change from elsewhere: the bounds of our own doors, whatever program wrote the change.

No rule asks a table of Unicode: tables differ from one version of Python to the next, and replicas must judge alike.
Two rules of the doors are absent. Tags need not be in NFC, which such a table defines. A memory may end before it
begins, because an agent may supersede a memory of next year now.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from mnemesh_crdt.changes.envelope import Refused
from mnemesh_crdt.changes.operations import Scalar
from mnemesh_crdt.document.shape import ENDS, FORGET, PUT, next_revision_id, rank
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import DataLoss, shorten
from mnemesh_memory.values.kinds import KINDS, TIERS

Tree: TypeAlias = "dict[str, Scalar | Tree]"
Value: TypeAlias = "Scalar | Tree | None"  # None: deleted
Check: TypeAlias = Callable[[str, object], None]

NEWER: Final = "x/"  # keys of newer minor versions begin so
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")  # category Cc, to which no version of Unicode adds
_REQUIRED: Final = ("op", "kind", "title", "content", "by", "at", "tier")
_VOTES: Final = ("useful", "not")
TIMES: Final = range(limits.TIME_MS_MIN, limits.TIME_MS_MAX + 1)
_COUNTS: Final = range(2**32)
_VOTE_COUNTS: Final = range(limits.FEEDBACK_COUNT_MAX + 1)
# Of str.strip(), written out.
_BLANKS: Final = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_PRINCIPAL: Final = rf"[a-z0-9][a-z0-9._-]{{0,{limits.PRINCIPAL_BYTES_MAX - 1}}}"
_AGENT: Final = re.compile(rf"{_PRINCIPAL}(?:/[a-z0-9._-]+)?")  # a token's name, and the client's own behind it


def check_revision(key: str, tree: Tree, agent: str, actor: str) -> tuple[str, ...]:
    """The parents of a complete revision by `agent` in a change by `actor`, laid out as shape.revision_tree does it.
    Raises Refused when it is anything else."""
    missing = [name for name in _REQUIRED if name not in tree]
    if missing:
        raise Refused(f"its revision has no {missing[0]}")
    for name, value in tree.items():
        if name.startswith(NEWER):
            check_newer(name, value, 1)
        elif name in _FIELDS:
            _FIELDS[name](name, value)
        else:
            raise Refused(f"a revision has no {shorten(name)}")
    if tree["by"] != agent:
        raise Refused(f"its revision is by {shorten(tree['by'])}, the entry by {shorten(agent)}")
    content, title = str(tree["content"]), tree["title"]
    if not content.strip(_BLANKS) if tree["op"] == PUT else (content or title):
        raise Refused("a revision that puts has content; one that forgets has neither content nor title")
    named, ended = tree.get("parents", {}), tree.get(ENDS, {})
    parents = tuple(named) if isinstance(named, dict) else ()
    ends = tuple(ended) if isinstance(ended, dict) else ()
    try:
        next_one = rank(key)[1] == actor and key == next_revision_id((*parents, *ends), actor)
    except DataLoss:
        next_one = False
    if not next_one:
        raise Refused(f"revision {shorten(key)} is not the next after its parents, by the actor of its change")
    if tree["op"] == FORGET and not parents:
        raise Refused("it forgets what was never there")
    return parents


def check_votes(value: Value) -> None:
    """Feedback of one writer. Raises Refused."""
    if not isinstance(value, dict) or not set(value) <= set(_VOTES):
        raise Refused(f"feedback is a map of {' and '.join(_VOTES)}")
    for name, count in value.items():
        _whole(f"feedback {name}", count, _VOTE_COUNTS)


def check_agent(agent: str) -> None:
    """The name of an agent, as the doors make it. Raises Refused."""
    line("agent", agent, limits.AGENT_BYTES_MAX)
    if not _AGENT.fullmatch(agent):
        raise Refused(f"agent {shorten(agent)} is not a token's name of a-z 0-9 . _ -, with or without a /client")


def revision_texts(tree: Tree) -> Iterator[tuple[str, str]]:
    """(field, text) of all that a revision says in texts of its writer's own."""
    for name, value in tree.items():
        if name in ("title", "content"):
            yield name, str(value)
        elif isinstance(value, dict) and name in ("keywords", "refs"):
            yield from ((name, item) for item in value)
        elif name in ("attrs", "source") or name.startswith(NEWER):
            yield from texts_of(name, value)


def texts_of(field: str, value: Value) -> Iterator[tuple[str, str]]:
    """(field, text) of each text of a map and of those in it, key and value together: `password` and what it is are a
    credential only when both are seen."""
    if isinstance(value, str):
        yield field, f"{field.removeprefix(NEWER)}={value}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield field, f"{name}={inner}"
            else:
                yield field, name
                yield from texts_of(field, inner)


def newer_size(key: str, value: Value) -> tuple[int, int]:
    """Keys and bytes of what stands at `key` and below it."""
    keys, size = 1, len(key.encode())
    if isinstance(value, str):
        size += len(value.encode())
    elif isinstance(value, dict):
        for name, inner in value.items():
            more, bytes_ = newer_size(name, inner)
            keys, size = keys + more, size + bytes_
    return keys, size


def check_newer(key: str, value: Value, depth: int) -> None:
    """Bounds of the values that a newer version keeps below NEWER. `depth` counts the maps above. Raises Refused."""
    line("key", key, limits.ATTR_KEY_BYTES_MAX)
    if depth > limits.NEWER_KEYS_DEPTH_MAX:
        raise Refused(f"maps within maps below {NEWER} are over {limits.NEWER_KEYS_DEPTH_MAX} deep")
    if isinstance(value, dict):
        for inner in value:
            check_newer(inner, value[inner], depth + 1)
    elif isinstance(value, str):
        _text(shorten(key), value, limits.CONTENT_BYTES_MAX)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Refused(f"{shorten(key)} is not a number")


def _text(field: str, value: object, bytes_max: int) -> None:
    if not isinstance(value, str):
        raise Refused(f"{field} is not a text")
    if len(value) > bytes_max or len(value.encode()) > bytes_max:
        raise Refused(f"{field} has {len(value.encode())} bytes, at most {bytes_max} are allowed")
    if "\0" in value:
        raise Refused(f"{field} holds a NUL character")


def line(field: str, value: object, bytes_max: int) -> None:
    """A text of at most `bytes_max` bytes without control characters. Raises Refused."""
    _text(field, value, bytes_max)
    if isinstance(value, str) and _CONTROL.search(value):
        raise Refused(f"{field} holds a control character")


def word(field: str, value: object, bytes_max: int) -> None:
    """A line that is not empty or blank. Raises Refused."""
    line(field, value, bytes_max)
    if isinstance(value, str) and not value.strip(_BLANKS):
        raise Refused(f"{field} is blank")


def _whole(field: str, value: object, allowed: range) -> None:
    if type(value) is not int or value not in allowed:
        raise Refused(f"{field}: {shorten(value)} is not a whole number from {allowed[0]} to {allowed[-1]}")


def _map(field: str, value: object, items_max: int) -> Tree:
    if not isinstance(value, dict):
        raise Refused(f"{field} is not a map")
    if not 0 < len(value) <= items_max:
        raise Refused(f"{field} has {len(value)} items, 1 to {items_max} are allowed")
    return value


def _choice(words: tuple[str, ...]) -> Check:
    def check(field: str, value: object) -> None:
        if value not in words:
            raise Refused(f"{field} {shorten(value)} is not one of {', '.join(words)}")

    return check


def _list(items_max: int, bytes_max: int) -> Check:
    """An ordered list: a map from each item to its position."""

    def check(field: str, value: object) -> None:
        for position, (item, at) in enumerate(_map(field, value, items_max).items()):
            word(field, item, bytes_max)
            if type(at) is not int or at != position:
                raise Refused(f"{field}: {shorten(item)} is not at its position")

    return check


def _attrs(field: str, value: object) -> None:
    for name, text in _map(field, value, limits.ATTRS_MAX).items():
        word(f"{field} key", name, limits.ATTR_KEY_BYTES_MAX)
        _text(f"{field} {shorten(name)}", text, limits.ATTR_VALUE_BYTES_MAX)


def _source(field: str, value: object) -> None:
    for name, inner in _map(field, value, len(_SOURCE)).items():
        if name not in _SOURCE:
            raise Refused(f"{field} has no {shorten(name)}")
        _SOURCE[name](f"{field}.{name}", inner)


def _importance(field: str, value: object) -> None:
    if not isinstance(value, float) or not 0.0 <= value <= 1.0:
        raise Refused(f"{field} {shorten(value)} is not a fraction from 0 to 1")


def _moment(field: str, value: object) -> None:
    _whole(field, value, TIMES)


_SOURCE: Final[Mapping[str, Check]] = {
    "session": lambda field, value: line(field, value, limits.SESSION_BYTES_MAX),
    "dir": lambda field, value: line(field, value, limits.PATH_BYTES_MAX),
    "seq": lambda field, value: _whole(field, value, _COUNTS),
}
_FIELDS: Final[Mapping[str, Check]] = {
    "op": _choice((PUT, FORGET)),
    "kind": _choice(KINDS),
    "title": lambda field, value: line(field, value, limits.TITLE_BYTES_MAX),
    "content": lambda field, value: _text(field, value, limits.CONTENT_BYTES_MAX),
    "by": lambda field, value: line(field, value, limits.AGENT_BYTES_MAX),
    "at": _moment,
    "tier": _choice(TIERS),
    "parents": _list(limits.REVISIONS_MAX, limits.REVISION_ID_BYTES_MAX),
    "attrs": _attrs,
    "valid_from": _moment,
    "valid_to": _moment,
    "importance": _importance,
    "source": _source,
    "keywords": _list(limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
    "refs": _list(limits.PATHS_MAX, limits.PATH_BYTES_MAX),
}
