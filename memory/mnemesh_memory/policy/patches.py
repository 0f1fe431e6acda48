"""The fields of a memory after an update, and the fields that a successor takes from its predecessor. Pure.

Anchors: a pinned memory with the reason why it stays. Pure. The reason is an attribute, so peers get it, and the
history shows who gave it. A memory that is pinned no longer has no anchor, whatever its attributes say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.marks import ANCHOR
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


REASON_BYTES_MAX: Final = 512


def reason_of(reason: str, release: bool) -> str:
    """The checked reason, "" for a release. Raises InvalidArgument and SecretRefused."""
    clean = field_checks.line("reason", reason, REASON_BYTES_MAX).strip()
    if bool(clean) == release:
        raise InvalidArgument("reason", clean or "nothing", "a reason, or release without one", missing=not clean)
    request_checks.no_secrets(reason=clean, attrs={})
    return clean


def anchored(memory: Memory, reason: str) -> Patch:
    """The change that anchors a memory for `reason`, or that lets it go with ""."""
    attrs = {name: value for name, value in memory.attrs.items() if name != ANCHOR}
    if reason:
        return Patch(tier="pinned", attrs={**attrs, ANCHOR: reason})
    tier = "normal" if memory.tier == "pinned" else memory.tier
    return Patch(tier=tier, attrs=attrs)
