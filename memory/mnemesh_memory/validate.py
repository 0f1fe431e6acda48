"""Every field of every request is judged here and nowhere else; a refusal names field, value and limit.

Returns cleaned copies (folded kind, sorted unique tags); never cuts, never guesses. Knows nothing about storage.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from mnemesh_memory import grants, limits
from mnemesh_memory.errors import InvalidArgument, SecretRefused, shown_time
from mnemesh_memory.kinds import (
    DEFAULT_KIND,
    KINDS,
    LEDGER_LINK_TYPES,
    MODES,
    SORTS,
    STATES,
    TIERS,
    WAITS,
    WRITABLE_LINK_TYPES,
    fold_kind,
)
from mnemesh_memory.model import Caller, Draft, Link, ListQuery, Patch, Query, Source
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.spaces import space_path as space_path
from mnemesh_memory.spaces import well_formed as well_formed

Item = TypeVar("Item")
RECALL_SIGNALS = ("dense", "bm25")
ORDERS = ("newest", "oldest")
# What an update may clear: fields that can be absent, and texts and sets that can be empty.
NULLABLE: Final = ("importance", "valid_from", "valid_to")
EMPTY: Final[Mapping[str, Any]] = MappingProxyType({"title": "", "tags": (), "paths": (), "keywords": (), "attrs": {}})
CLEARABLE: Final = (*NULLABLE, *EMPTY)
REVISION_KEY: Final = re.compile(r"[1-9][0-9]{0,9}(@[0-9a-f]{0,32})?")


def draft(given: Draft, caller: Caller) -> Draft:
    """A clean copy of `given` with its space resolved for `caller`. Raises InvalidArgument or SecretRefused."""
    not_sensitive(given.sensitive)
    bounded_text("content", given.content, limits.CONTENT_BYTES_MAX, empty=False)
    times_in_order(given.valid_from, given.valid_to)
    clean = replace(
        given,
        kind=kind("kind", given.kind or DEFAULT_KIND),
        title=line("title", given.title, limits.TITLE_BYTES_MAX),
        space=write_space(given.space, caller),
        tags=tags("tags", given.tags),
        importance=unit_interval("importance", given.importance),
        paths=lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        source=source(given.source),
        keywords=lines("keywords", given.keywords, limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        attrs=attrs("attrs", given.attrs),
        links=links("links", given.links),
        tier=one_of("tier", given.tier or "normal", TIERS),
        supersedes=lines("supersedes", given.supersedes, limits.SUPERSEDES_MAX, limits.TITLE_BYTES_MAX),
        idempotency_key=line("idempotency_key", given.idempotency_key, limits.IDEMPOTENCY_KEY_BYTES_MAX),
        wait=one_of("wait", given.wait or "indexed", WAITS),
    )
    no_secrets(
        content=clean.content,
        title=clean.title,
        space=clean.space,
        tags=clean.tags,
        paths=clean.paths,
        keywords=clean.keywords,
        attrs=clean.attrs,
        supersedes=clean.supersedes,
        idempotency_key=clean.idempotency_key,
        **{"source.session": clean.source.session, "source.dir": clean.source.dir},
    )
    return clean


def patch(given: Patch) -> Patch:
    """A clean copy of `given`; at least one field must be set. Raises InvalidArgument or SecretRefused."""
    not_sensitive(given.sensitive)
    changed = (
        given.content, given.kind, given.title, given.tags, given.importance, given.paths, given.valid_from,
        given.valid_to, given.keywords, given.attrs, given.tier,
    )  # fmt: skip
    if all(value is None for value in changed) and not given.clear:
        raise InvalidArgument("update", "nothing", "at least one field must be given")
    given = _cleared(given)
    if given.content is not None:
        bounded_text("content", given.content, limits.CONTENT_BYTES_MAX, empty=False)
    times_in_order(given.valid_from, given.valid_to)
    clean = replace(
        given,
        kind=None if given.kind is None else kind("kind", given.kind),
        title=None if given.title is None else line("title", given.title, limits.TITLE_BYTES_MAX),
        tags=None if given.tags is None else tags("tags", given.tags),
        importance=unit_interval("importance", given.importance),
        paths=None if given.paths is None else lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        keywords=None
        if given.keywords is None
        else lines("keywords", given.keywords, limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        attrs=None if given.attrs is None else attrs("attrs", given.attrs),
        tier=None if given.tier is None else one_of("tier", given.tier, TIERS),
        expected_heads=heads("expected_heads", given.expected_heads),
        idempotency_key=line("idempotency_key", given.idempotency_key, limits.IDEMPOTENCY_KEY_BYTES_MAX),
        wait=one_of("wait", given.wait or "indexed", WAITS),
    )
    no_secrets(
        content=clean.content or "",
        title=clean.title or "",
        tags=clean.tags or (),
        paths=clean.paths or (),
        keywords=clean.keywords or (),
        attrs=clean.attrs or {},
        idempotency_key=clean.idempotency_key,
    )
    return clean


def _cleared(given: Patch) -> Patch:
    """`given` with the texts and sets that it clears as empty ones; only NULLABLE names are left in `clear`."""
    at_most("clear", tuple(dict.fromkeys(given.clear)), len(CLEARABLE))  # one given twice is cleared once
    for position, name in enumerate(given.clear):
        one_of(f"clear[{position}]", name, CLEARABLE)
        if getattr(given, name) is not None:
            raise InvalidArgument(f"clear[{position}]", name, "a field that the same update does not set")
    empty = {name: value for name, value in EMPTY.items() if name in given.clear}
    return replace(given, clear=tuple(name for name in NULLABLE if name in given.clear), **empty)


def query(given: Query, caller: Caller) -> Query:
    """A clean copy of `given` with its spaces resolved for `caller`. The text may be any Unicode."""
    if len(given.text) > limits.QUERY_CHARS_MAX:
        raise InvalidArgument("query", f"{len(given.text)} characters", f"at most {limits.QUERY_CHARS_MAX} characters")
    well_formed("query", given.text)
    whole("limit", given.limit, 1, limits.RECALL_LIMIT_MAX)
    if given.token_budget is not None:
        whole("token_budget", given.token_budget, 1, limits.TOKEN_BUDGET_MAX)
    for name, value in given.weights.items():
        if name not in RECALL_SIGNALS:
            raise InvalidArgument("weights", name, f"signals are {', '.join(RECALL_SIGNALS)}")
        if not math.isfinite(value) or value < 0 or value > 100:
            raise InvalidArgument(f"weights.{name}", value, "a number from 0 to 100")
    # A weight that is not given is the configured one.
    if all(given.weights.get(signal) == 0 for signal in RECALL_SIGNALS):
        raise InvalidArgument("weights", dict(given.weights), "at least one must be above 0")
    window("since", given.since, "before", given.before)
    moment("as_of", given.as_of)
    return replace(
        given,
        spaces=read_spaces(given.spaces, caller),
        mode=one_of("mode", given.mode or "hybrid", MODES),
        kinds=kinds("kinds", given.kinds),
        tags_any=tags("tags_any", given.tags_any),
        tags_all=tags("tags_all", given.tags_all),
        tags_none=tags("tags_none", given.tags_none),
        min_score=unit_interval("min_score", given.min_score) or 0.0,
        min_heat=unit_interval("min_heat", given.min_heat) or 0.0,
        sort=one_of("sort", given.sort or "relevance", SORTS),
        paths=lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        agent=line("agent", given.agent, limits.AGENT_BYTES_MAX),
        session=line("session", given.session, limits.SESSION_BYTES_MAX),
        source_dir=line("source_dir", given.source_dir, limits.PATH_BYTES_MAX),
    )


def list_query(given: ListQuery, caller: Caller) -> ListQuery:
    """A clean copy of `given` with its spaces resolved for `caller`."""
    whole("limit", given.limit, 1, limits.LIST_LIMIT_MAX)
    window("since", given.since, "before", given.before)
    return replace(
        given,
        spaces=read_spaces(given.spaces, caller),
        kinds=kinds("kinds", given.kinds),
        tags_any=tags("tags_any", given.tags_any),
        tags_all=tags("tags_all", given.tags_all),
        tags_none=tags("tags_none", given.tags_none),
        agent=line("agent", given.agent, limits.AGENT_BYTES_MAX),
        session=line("session", given.session, limits.SESSION_BYTES_MAX),
        state=one_of("state", given.state or "active", (*STATES, "all")),
        order=one_of("order", given.order or "newest", ORDERS),
    )


def batch(drafts: Sequence[Draft]) -> None:
    """Bounds of a whole batch: items and bytes of content."""
    if not 1 <= len(drafts) <= limits.BATCH_ITEMS_MAX:
        raise InvalidArgument("items", f"{len(drafts)} items", f"1 to {limits.BATCH_ITEMS_MAX} items")
    size = sum(len(item.content.encode("utf-8", "surrogatepass")) for item in drafts)
    if size > limits.BATCH_BYTES_MAX:
        raise InvalidArgument("items", f"{size} bytes of content", f"at most {limits.BATCH_BYTES_MAX} bytes in all")


def write_space(given: str, caller: Caller) -> str:
    """Where a write of `caller` goes: the named space, else the client's default, else the private one. Raises
    PermissionDenied for one that it may not write to."""
    space = space_path("space", given or caller.default_space or caller.private_space)
    grants.require_space(caller, grants.WRITE, space)
    return space


def read_spaces(given: Iterable[str], caller: Caller) -> tuple[str, ...]:
    """Which spaces a read of `caller` searches: the named ones, else the client's default and the private one. Raises
    PermissionDenied for one that it may not read."""
    named = tuple(given)
    if len(named) > limits.SPACES_PER_QUERY_MAX:
        raise InvalidArgument("spaces", f"{len(named)} spaces", f"at most {limits.SPACES_PER_QUERY_MAX}")
    if not named:
        named = (caller.default_space, caller.private_space) if caller.default_space else (caller.private_space,)
    clean = tuple(dict.fromkeys(space_path("spaces", name) for name in named))
    for space in clean:
        grants.require_space(caller, grants.READ, space)
    return clean


def title_spaces(given: Iterable[str], caller: Caller) -> tuple[str, ...]:
    """Where a title is looked up. Whoever names a memory by its id need not be granted the client's default space."""
    if named := tuple(given):
        return read_spaces(named, caller)
    around = (caller.default_space, caller.private_space)
    return tuple(space for space in dict.fromkeys(around) if space and grants.may_read(caller, space))


def not_sensitive(sensitive: bool) -> None:
    """Refuse a write that is marked sensitive, before anything else looks at it."""
    if sensitive:
        raise SecretRefused("sensitive", "marked as sensitive; encrypted storage does not exist yet")


def no_secrets(*, attrs: Mapping[str, str], **fields: str | Iterable[str]) -> None:
    """Refuse a write that holds a credential; the error carries field and type only."""
    for field, value in fields.items():
        for part in (value,) if isinstance(value, str) else value:
            if part and (found := find_secret(part)):
                raise SecretRefused(field, found)
    for key, value in attrs.items():
        # Key and value together, because `password: hunter2...` is a secret only when both are seen.
        if found := find_secret(f"{key}={value}"):
            raise SecretRefused("attrs", found)


def bounded_text(field: str, value: str, bytes_max: int, *, empty: bool) -> str:
    """Any well-formed Unicode of at most `bytes_max` bytes; blank text is refused unless `empty`."""
    well_formed(field, value)
    if not empty and not value.strip():
        raise InvalidArgument(field, value, f"1 to {bytes_max} bytes of text, not only blanks")
    if (size := len(value.encode())) > bytes_max:
        raise InvalidArgument(
            field, f"{size} bytes", f"at most {bytes_max} bytes of UTF-8; split it, for example with `mnemesh import`"
        )
    return value


def line(field: str, value: str, bytes_max: int) -> str:
    """One line without control characters, blanks trimmed, at most `bytes_max` bytes; may be empty."""
    well_formed(field, value)
    trimmed = value.strip()
    if any(unicodedata.category(ch) == "Cc" for ch in trimmed):
        raise InvalidArgument(field, value, "no control characters or line breaks")
    if len(trimmed.encode()) > bytes_max:
        raise InvalidArgument(field, value, f"at most {bytes_max} bytes of UTF-8")
    return trimmed


def lines(field: str, values: Iterable[str], count_max: int, bytes_max: int) -> tuple[str, ...]:
    """At most `count_max` non-empty lines, duplicates dropped, order kept."""
    given = at_most(field, tuple(values), count_max)
    clean = tuple(line(f"{field}[{i}]", value, bytes_max) for i, value in enumerate(given))
    for i, value in enumerate(clean):
        if not value:
            raise InvalidArgument(f"{field}[{i}]", given[i], "not empty")
    return tuple(dict.fromkeys(clean))


def tags(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Tags, normalised to NFC, sorted, unique."""
    normal = (unicodedata.normalize("NFC", value) for value in values)
    return tuple(sorted(lines(field, normal, limits.TAGS_MAX, limits.TAG_BYTES_MAX)))


def kind(field: str, value: str) -> str:
    """The canonical kind, folding known aliases."""
    well_formed(field, value)
    folded = fold_kind(value)
    if folded is None:
        raise InvalidArgument(field, value, f"one of {', '.join(KINDS)}")
    return folded


def kinds(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """Canonical kinds of a filter, unique."""
    return tuple(dict.fromkeys(kind(field, value) for value in at_most(field, tuple(values), len(KINDS) * 4)))


def one_of(field: str, value: str, allowed: Sequence[str]) -> str:
    """`value` if it is one of `allowed`."""
    if value not in allowed:
        raise InvalidArgument(field, value, f"one of {', '.join(allowed)}")
    return value


def unit_interval(field: str, value: float | None) -> float | None:
    """A finite number from 0 to 1, or None."""
    if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise InvalidArgument(field, value, "a number from 0 to 1")
    return value


def whole(field: str, value: int, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if not low <= value <= high:
        raise InvalidArgument(field, value, f"a whole number from {low} to {high}")
    return value


def moment(field: str, value: int | None) -> int | None:
    """Milliseconds since the epoch, negative before it, within the years that a Timestamp holds."""
    if value is not None and not limits.TIME_MS_MIN <= value <= limits.TIME_MS_MAX:
        raise InvalidArgument(field, shown_time(value), "a time from 0001-01-01 to 9999-12-31")
    return value


def times_in_order(valid_from: int | None, valid_to: int | None) -> None:
    """valid_to is not before valid_from."""
    window("valid_from", valid_from, "valid_to", valid_to, equal=True)


def window(low: str, start: int | None, high: str, end: int | None, *, equal: bool = False) -> None:
    """Two moments in order; `equal` lets them be the same."""
    moment(low, start)
    moment(high, end)
    if start is not None and end is not None and (end < start or (end == start and not equal)):
        raise InvalidArgument(high, shown_time(end), f"after {low}" if not equal else f"not before {low}")


def attrs(field: str, values: Mapping[str, str]) -> dict[str, str]:
    """Free attributes, keys sorted."""
    if len(values) > limits.ATTRS_MAX:
        raise InvalidArgument(field, f"{len(values)} attributes", f"at most {limits.ATTRS_MAX}")
    clean: dict[str, str] = {}
    for key in sorted(values):
        name = line(f"{field} key", key, limits.ATTR_KEY_BYTES_MAX)
        if not name or name in clean:
            raise InvalidArgument(f"{field} key", key, "not empty, and each key once")
        clean[name] = bounded_text(f"{field}.{name}", values[key], limits.ATTR_VALUE_BYTES_MAX, empty=True)
    return clean


def links(field: str, values: Iterable[Link]) -> tuple[Link, ...]:
    """Typed links to memory ids, sorted, unique; those that the ledger writes itself are refused."""
    given = at_most(field, tuple(values), limits.LINKS_MAX)
    clean = {Link(link_type(f"{field}.type", item.type), memory_id(f"{field}.id", item.id)) for item in given}
    return tuple(sorted(clean, key=lambda item: (item.type, item.id)))


def link_type(field: str, value: str) -> str:
    """A type of link that a writer may put."""
    if value in LEDGER_LINK_TYPES:
        how = "the ledger writes these links when a memory is replaced: name it in `supersedes`, or call `supersede`"
        raise InvalidArgument(field, value, how)
    return one_of(field, value, WRITABLE_LINK_TYPES)


def source(given: Source) -> Source:
    """Session, directory and position."""
    if given.seq is not None:
        whole("source.seq", given.seq, 0, 2**32 - 1)
    return Source(
        session=line("source.session", given.session, limits.SESSION_BYTES_MAX),
        dir=line("source.dir", given.dir, limits.PATH_BYTES_MAX),
        seq=given.seq,
    )


def memory_id(field: str, value: str) -> str:
    """A whole UUID in text form, lower-cased."""
    lowered = value.strip().lower()
    parts = lowered.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12] or any(ch not in "0123456789abcdef-" for ch in lowered):
        raise InvalidArgument(field, value, "a memory id such as 018f6f0e-7c1a-7000-8000-3f1f8d2f6a11")
    return lowered


def heads(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """The heads that a writer saw, as whole revision ids."""
    return lines(field, values, limits.EXPECTED_HEADS_MAX, limits.REVISION_ID_BYTES_MAX)


def revision_key(field: str, value: str) -> str:
    """A revision id, or the beginning of one: "n" or "n@" and hex digits, lower-cased."""
    lowered = value.strip().lower()
    if REVISION_KEY.fullmatch(lowered) is None:
        raise InvalidArgument(field, value, "a revision id such as 2@9f86d081884c7d65, or its beginning, such as 2")
    return lowered


def at_most(field: str, values: tuple[Item, ...], count_max: int) -> tuple[Item, ...]:
    """`values` if there are at most `count_max`."""
    if len(values) > count_max:
        raise InvalidArgument(field, f"{len(values)} values", f"at most {count_max}")
    return values
