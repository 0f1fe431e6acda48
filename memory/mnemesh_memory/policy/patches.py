"""The fields of a memory after an update, and the fields that a successor takes from its predecessor. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Draft, Memory, Patch

Value = TypeVar("Value")


def patched(patch: Patch, name: str, now: Value | None) -> Value | None:
    """The field `name` after `patch`, from its value `now`: None when the patch clears it, `now` when the patch is
    silent."""
    if name in patch.clear:
        return None
    given: Value | None = getattr(patch, name)
    return now if given is None else given


def succeeding(draft: Draft, old: Memory) -> Draft:
    """`draft` as the successor of `old`: in the same space, under the same title, kind and tags unless the draft names
    others. Importance, times and everything else come from the draft, because they belong to the text. Raises
    InvalidArgument when `old` has more tags, of several writers, than one draft may give."""
    if not draft.tags and len(old.tags) > limits.TAGS_MAX:
        limit = f"at most {limits.TAGS_MAX}; {old.id} has gathered more, so name those of the new memory"
        raise InvalidArgument("tags", f"{len(old.tags)} values", limit)
    title, kind, tags = draft.title or old.title, draft.kind or old.kind, draft.tags or old.tags
    return replace(draft, space=old.space, title=title, kind=kind, tags=tags)
