"""Which memories a query lets through. Knows nothing of relevance, and nothing of where memories are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from mnemesh_memory.text.traits import happened_at
from mnemesh_memory.values.model import Memory, Query


def passes(query: Query, memory: Memory) -> bool:
    """Whether `memory`, now or at `as_of`, passes every filter of the query but `min_score`, `min_heat` and `valid_at`.
    These three need more than the memory itself."""
    return (
        memory.space in query.spaces
        and memory.state != "forgotten"
        and (memory.state != "superseded" or query.include_superseded or _past(query))
        and (memory.tier != "archive" or query.include_archive)
        and _words_match(query, memory)
        and (not query.agent or memory.by == query.agent)
        and (not query.session or memory.source.session == query.session)
        and (query.since is None or memory.created_at >= query.since)
        and (query.before is None or memory.created_at < query.before)
        and (query.window is None or not query.window.only or query.window.holds(happened_at(memory), memory.id))
        and in_place(query, memory.paths, memory.source.dir)
    )


def _past(query: Query) -> bool:
    """Whether a query asks for what held at a moment, and judges superseded memories by it."""
    return query.valid_at is not None or query.asked_at is not None


def in_place(query: Query, paths: Iterable[str], folder: str) -> bool:
    """Whether a memory about `paths`, written from `folder`, passes the query's `paths` and `source_dir`."""
    if query.paths and not any(_concern(path, wanted) for path in paths for wanted in query.paths):
        return False
    return not query.source_dir or _below(folder, query.source_dir)


def _words_match(query: Query, memory: Memory) -> bool:
    tags = set(memory.tags)
    return (
        (not query.kinds or memory.kind in query.kinds)
        and (not query.tags_any or bool(tags & set(query.tags_any)))
        and tags >= set(query.tags_all)
        and not tags & set(query.tags_none)
    )


def _concern(path: str, wanted: str) -> bool:
    """A memory's path or glob and an asked path or glob concern each other."""
    return path == wanted or matches(wanted, path) or matches(path, wanted) or _below(path, wanted)


def matches(path: str, glob: str) -> bool:
    """Whether a path fits a glob. `*` stands for any text, also across folders, and `**/` for any number of folders,
    also for none."""
    return fnmatchcase(path, glob) or ("**/" in glob and _fits(path.split("/"), glob.split("/")))


def _fits(names: Sequence[str], globs: Sequence[str]) -> bool:
    ends = {0}  # how many of the names those globs can take in that were looked at
    for glob in globs:
        if glob == "**":
            ends = set(range(min(ends), len(names) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(names) and fnmatchcase(names[end], glob)}
        if not ends:
            return False
    return len(names) in ends


def _below(path: str, folder: str) -> bool:
    stem = folder.rstrip("/")
    return path == stem or path.startswith(stem + "/")
