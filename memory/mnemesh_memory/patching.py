"""What a field of a memory is after an update, and what a memory keeps of the one that it replaces. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from mnemesh_memory import limits
from mnemesh_memory.errors import InvalidArgument
from mnemesh_memory.model import Draft, Memory, Patch

Value = TypeVar("Value")


def patched(patch: Patch, name: str, now: Value | None) -> Value | None:
    """The field `name` after `patch`, when it is `now` before: none when it is cleared, `now` when it is not given."""
    if name in patch.clear:
        return None
    given: Value | None = getattr(patch, name)
    return now if given is None else given


def succeeding(draft: Draft, old: Memory) -> Draft:
    """`draft` as the successor of `old`: filed as that was, in its space and under its title, kind and tags unless it
    names its own. What belongs to the text is said anew: importance, times and all else are the draft's. Raises
    InvalidArgument when `old` has more tags, of several writers, than one may give."""
    if not draft.tags and len(old.tags) > limits.TAGS_MAX:
        limit = f"at most {limits.TAGS_MAX}; {old.id} has gathered more, so name those of the new memory"
        raise InvalidArgument("tags", f"{len(old.tags)} values", limit)
    title, kind, tags = draft.title or old.title, draft.kind or old.kind, draft.tags or old.tags
    return replace(draft, space=old.space, title=title, kind=kind, tags=tags)
