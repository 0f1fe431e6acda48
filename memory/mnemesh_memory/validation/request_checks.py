"""The judge of every request, field by field (field_checks.py). A refusal names field, value and limit.

Returns cleaned copies (folded kind, sorted unique tags); never cuts, never guesses. Knows nothing about storage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from mnemesh_memory.access import grants
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.times.window import TIME_WORDS
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, SecretRefused
from mnemesh_memory.values.kinds import DEFAULT_KIND, MODES, SORTS, STATES, TIERS, WAITS
from mnemesh_memory.values.marks import TRUST_CLASSES
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Patch, Query
from mnemesh_memory.values.spaces import space_path, well_formed

ORDERS = ("newest", "oldest")
# In the place of spaces, where many memories are looked at.
EVERYWHERE: Final = "*"
# Fields that an update may clear: absent values, and texts and sets as empty ones.
NULLABLE: Final = ("importance", "valid_from", "valid_to")
EMPTY: Final[Mapping[str, Any]] = MappingProxyType({"title": "", "tags": (), "paths": (), "keywords": (), "attrs": {}})
CLEARABLE: Final = (*NULLABLE, *EMPTY)


def draft(given: Draft, caller: Caller) -> Draft:
    """A clean copy of `given` with its space resolved for `caller`. Raises InvalidArgument or SecretRefused."""
    not_sensitive(given.sensitive)
    field_checks.kept_text("content", given.content, limits.CONTENT_BYTES_MAX, empty=False)
    field_checks.times_in_order(given.valid_from, given.valid_to)
    clean = replace(
        given,
        kind=field_checks.kind("kind", given.kind or DEFAULT_KIND),
        title=field_checks.line("title", given.title, limits.TITLE_BYTES_MAX),
        space=write_space(given.space, caller),
        tags=field_checks.tags("tags", given.tags),
        importance=field_checks.unit_interval("importance", given.importance),
        paths=field_checks.lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        source=field_checks.source(given.source),
        keywords=field_checks.lines("keywords", given.keywords, limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        attrs=field_checks.attrs("attrs", given.attrs),
        links=field_checks.links("links", given.links),
        tier=field_checks.one_of("tier", given.tier or "normal", TIERS),
        supersedes=field_checks.lines("supersedes", given.supersedes, limits.SUPERSEDES_MAX, limits.TITLE_BYTES_MAX),
        idempotency_key=field_checks.line("idempotency_key", given.idempotency_key, limits.IDEMPOTENCY_KEY_BYTES_MAX),
        wait=field_checks.one_of("wait", given.wait or "indexed", WAITS),
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
        raise InvalidArgument("update", "nothing", "at least one field must be given", missing=True)
    given = _cleared(given)
    if given.content is not None:
        field_checks.kept_text("content", given.content, limits.CONTENT_BYTES_MAX, empty=False)
    field_checks.times_in_order(given.valid_from, given.valid_to)
    clean = replace(
        given,
        kind=None if given.kind is None else field_checks.kind("kind", given.kind),
        title=None if given.title is None else field_checks.line("title", given.title, limits.TITLE_BYTES_MAX),
        tags=None if given.tags is None else field_checks.tags("tags", given.tags),
        importance=field_checks.unit_interval("importance", given.importance),
        paths=None
        if given.paths is None
        else field_checks.lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        keywords=None
        if given.keywords is None
        else field_checks.lines("keywords", given.keywords, limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        attrs=None if given.attrs is None else field_checks.attrs("attrs", given.attrs),
        tier=None if given.tier is None else field_checks.one_of("tier", given.tier, TIERS),
        expected_heads=field_checks.heads("expected_heads", given.expected_heads),
        idempotency_key=field_checks.line("idempotency_key", given.idempotency_key, limits.IDEMPOTENCY_KEY_BYTES_MAX),
        wait=field_checks.one_of("wait", given.wait or "indexed", WAITS),
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
    """`given` with its cleared texts and sets as empty values; only NULLABLE names are left in `clear`."""
    field_checks.at_most("clear", tuple(dict.fromkeys(given.clear)), len(CLEARABLE))  # one given twice is cleared once
    for position, name in enumerate(given.clear):
        field_checks.one_of(f"clear[{position}]", name, CLEARABLE)
        if getattr(given, name) is not None:
            raise InvalidArgument(f"clear[{position}]", name, "a field that the same update does not set")
    empty = {name: value for name, value in EMPTY.items() if name in given.clear}
    return replace(given, clear=tuple(name for name in NULLABLE if name in given.clear), **empty)


def query(given: Query, caller: Caller) -> Query:
    """A clean copy of `given` with its spaces resolved for `caller`. The text may be any Unicode."""
    if len(given.text) > limits.QUERY_CHARS_MAX:
        raise InvalidArgument("query", f"{len(given.text)} characters", f"at most {limits.QUERY_CHARS_MAX} characters")
    well_formed("query", given.text)
    field_checks.whole("limit", given.limit, 1, limits.RECALL_LIMIT_MAX)
    if given.token_budget is not None:
        field_checks.whole("token_budget", given.token_budget, 1, limits.TOKEN_BUDGET_MAX)
    for name, value in given.weights.items():
        if name in OPTIONAL:
            field_checks.unit_interval(f"weights.{name}", value)
            continue
        if name not in DEFAULT_WEIGHTS:
            raise InvalidArgument("weights", name, f"signals are {', '.join((*DEFAULT_WEIGHTS, *OPTIONAL))}")
        if not math.isfinite(value) or value < 0 or value > 100:
            raise InvalidArgument(f"weights.{name}", value, "a number from 0 to 100")
    # A weight that is not given is the configured one.
    if all(given.weights.get(signal) == 0 for signal in DEFAULT_WEIGHTS):
        raise InvalidArgument("weights", dict(given.weights), "at least one must be above 0")
    only = {"semantic": "dense", "keyword": "bm25"}.get(given.mode, "")
    if given.weights.get(only) == 0:
        raise InvalidArgument(f"weights.{only}", 0, f"above 0 with mode {given.mode}, which has no other signal")
    # A window without a moment in it is no mistake of form: the answer is empty and says so.
    for name in ("since", "before", "as_of", "valid_at"):
        field_checks.moment(name, getattr(given, name))
    return replace(
        given,
        spaces=read_spaces(given.spaces, caller),
        mode=field_checks.one_of("mode", given.mode or "hybrid", MODES),
        kinds=field_checks.kinds("kinds", given.kinds),
        tags_any=field_checks.tags("tags_any", given.tags_any),
        tags_all=field_checks.tags("tags_all", given.tags_all),
        tags_none=field_checks.tags("tags_none", given.tags_none),
        min_score=field_checks.unit_interval("min_score", given.min_score) or 0.0,
        min_heat=field_checks.unit_interval("min_heat", given.min_heat) or 0.0,
        sort=field_checks.one_of("sort", given.sort or "relevance", SORTS),
        time_words=field_checks.one_of("time_words", given.time_words or "prefer", TIME_WORDS),
        window=None,
        paths=field_checks.lines("paths", given.paths, limits.PATHS_MAX, limits.PATH_BYTES_MAX),
        agent=field_checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        session=field_checks.line("session", given.session, limits.SESSION_BYTES_MAX),
        trust=_trust(given.trust),
        source_dir=field_checks.line("source_dir", given.source_dir, limits.PATH_BYTES_MAX),
        current_session=field_checks.line("current_session", given.current_session, limits.SESSION_BYTES_MAX),
    )


def queries(given: Sequence[Query], caller: Caller) -> None:
    """Refuse a batch of queries as a whole: for its number, or for its first wrong query, named by place."""
    if not 1 <= len(given) <= limits.RECALL_BATCH_MAX:
        most = f"1 to {limits.RECALL_BATCH_MAX} queries"
        raise InvalidArgument("queries", f"{len(given)} queries", most, missing=not given)
    for place, asked in enumerate(given):
        try:
            query(asked, caller)
        except MnemeshError as error:
            raise error.at(f"queries[{place}]") from None
    results = sum(asked.limit for asked in given)
    if results > limits.RECALL_BATCH_RESULTS_MAX:
        rule = f"limits that sum to at most {limits.RECALL_BATCH_RESULTS_MAX} results"
        raise InvalidArgument("queries", f"{results} results", rule)


def list_query(given: ListQuery, caller: Caller) -> ListQuery:
    """A clean copy of `given` with its spaces resolved for `caller`, those of `everywhere` as patterns in `within`."""
    field_checks.whole("limit", given.limit, 1, limits.LIST_LIMIT_MAX)
    field_checks.window("since", given.since, "before", given.before)
    field_checks.moment("valid_at", given.valid_at)
    if given.everywhere and given.spaces:
        raise InvalidArgument("everywhere", "true", "one of spaces and everywhere")
    return replace(
        given,
        spaces=() if given.everywhere else read_spaces(given.spaces, caller),
        within=grants.readable(caller) if given.everywhere else None,
        kinds=field_checks.kinds("kinds", given.kinds),
        tags_any=field_checks.tags("tags_any", given.tags_any),
        tags_all=field_checks.tags("tags_all", given.tags_all),
        tags_none=field_checks.tags("tags_none", given.tags_none),
        agent=field_checks.line("agent", given.agent, limits.AGENT_BYTES_MAX),
        session=field_checks.line("session", given.session, limits.SESSION_BYTES_MAX),
        state=field_checks.one_of("state", given.state or "active", (*STATES, "all")),
        order=field_checks.one_of("order", given.order or "newest", ORDERS),
        trust=_trust(given.trust),
    )


def refuse_unfiltered(given: ListQuery, clean: ListQuery) -> None:
    """Refuse a removal without a filter, `given` as the caller wrote it. The default space and the state are none."""
    named = (given.spaces, given.everywhere, clean.kinds, clean.tags_any, clean.tags_all, clean.tags_none, clean.trust)
    moments = (clean.since, clean.before, clean.valid_at)
    if not any((*named, clean.agent, clean.session)) and all(at is None for at in moments):
        limit = "at least one of spaces, everywhere, kinds, tags, times, agent, session, trust"
        raise InvalidArgument("filters", "nothing", limit, missing=True)


def _trust(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field_checks.one_of("trust", word, TRUST_CLASSES) for word in given))


def batch(drafts: Sequence[Draft]) -> None:
    """Bounds of a whole batch: items and bytes of content."""
    if not 1 <= len(drafts) <= limits.BATCH_ITEMS_MAX:
        most = f"1 to {limits.BATCH_ITEMS_MAX} items"
        raise InvalidArgument("items", f"{len(drafts)} items", most, missing=not drafts)
    size = sum(len(item.content.encode("utf-8", "surrogatepass")) for item in drafts)
    if size > limits.BATCH_BYTES_MAX:
        raise InvalidArgument("items", f"{size} bytes of content", f"at most {limits.BATCH_BYTES_MAX} bytes in all")


def write_space(given: str, caller: Caller) -> str:
    """The space of a write of `caller`: the named space, else the client's default, else the private one. Raises
    PermissionDenied without a grant to write there."""
    space = space_path("space", given or caller.default_space or caller.private_space)
    grants.require_space(caller, grants.WRITE, space)
    return space


def read_spaces(given: Iterable[str], caller: Caller) -> tuple[str, ...]:
    """The spaces of a read of `caller`: the named ones, else the client's default and the private one. An older name of
    the default is read along where granted. Raises PermissionDenied without a grant to read."""
    named = tuple(given)
    if len(named) > limits.SPACES_PER_QUERY_MAX:
        raise InvalidArgument("spaces", f"{len(named)} spaces", f"at most {limits.SPACES_PER_QUERY_MAX}")
    if not named:
        named = (*_around(caller), *_alias(caller))
    clean = tuple(dict.fromkeys(space_path("spaces", name) for name in named))
    for space in clean:
        grants.require_space(caller, grants.READ, space)
    return clean


def within_of(spaces: Sequence[str], caller: Caller) -> tuple[str, ...]:
    """Patterns of the spaces of a look at many memories: those of a read. EVERYWHERE alone, and a caller without a
    project who names none, mean all that the caller may read. Raises as `read_spaces`."""
    everywhere = tuple(spaces) == (EVERYWHERE,) or not (spaces or caller.default_space)
    return grants.readable(caller) if everywhere else read_spaces(spaces, caller)


def title_spaces(given: Iterable[str], caller: Caller) -> tuple[str, ...]:
    """Where a title is looked up. A caller with an id needs no grant for the client's default space."""
    if (named := tuple(given)) and named != (EVERYWHERE,):
        return read_spaces(named, caller)
    around = (*_around(caller), *_alias(caller))
    return tuple(space for space in dict.fromkeys(around) if grants.may_read(caller, space))


def _around(caller: Caller) -> tuple[str, ...]:
    return (caller.default_space, caller.private_space) if caller.default_space else (caller.private_space,)


def _alias(caller: Caller) -> tuple[str, ...]:
    alias = caller.alias_space
    return (alias,) if alias and grants.may_read(caller, alias) else ()


def not_sensitive(sensitive: bool) -> None:
    """Refuse a write that is marked sensitive, before anything else looks at it."""
    if sensitive:
        raise SecretRefused("sensitive", "marked as sensitive", "Keep it elsewhere: no storage is encrypted yet")


def no_secrets(*, attrs: Mapping[str, str], **fields: str | Iterable[str]) -> None:
    """Refuse a write that holds a credential; the error carries field and type only."""
    for field, value in fields.items():
        for part in (value,) if isinstance(value, str) else value:
            if part and (type_ := find_secret(part)):
                raise SecretRefused(field, type_)
    for key, value in attrs.items():
        # Key and value together, because `password: hunter2...` is a secret only when both are seen.
        if type_ := find_secret(f"{key}={value}"):
            raise SecretRefused("attrs", type_)
