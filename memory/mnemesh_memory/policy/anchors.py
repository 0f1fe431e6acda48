"""Anchors: a pinned memory with the reason why it stays. Pure.

The reason is an attribute, so peers get it, and the history shows who gave it. A memory that is pinned no longer has no
anchor, whatever its attributes say.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.marks import ANCHOR
from mnemesh_memory.values.model import Memory, Patch

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
