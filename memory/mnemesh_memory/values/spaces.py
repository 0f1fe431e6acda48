"""The form of a space path. Knows nothing of rights to read or write: see grants."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument

SPACES_KEPT: Final = 256


def well_formed(field: str, value: str) -> str:
    """Text that can be written as UTF-8: no lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(field, value, "well-formed Unicode without lone surrogates") from None
    return value


@lru_cache(maxsize=SPACES_KEPT)  # a call names the same few again and again; what is refused is not kept
def space_path(field: str, value: str) -> str:
    """A space such as `team/payments` or `@alice`, or InvalidArgument naming `field` and the broken rule."""
    value = unicodedata.normalize("NFC", well_formed(field, value))
    if not value:
        raise InvalidArgument(field, value, "a space path such as team/payments or @alice")
    if len(value.encode()) > limits.SPACE_BYTES_MAX:
        raise InvalidArgument(field, value, f"at most {limits.SPACE_BYTES_MAX} bytes")
    segments = value.split("/")
    if len(segments) > limits.SPACE_SEGMENTS_MAX:
        raise InvalidArgument(field, value, f"at most {limits.SPACE_SEGMENTS_MAX} segments")
    for position, segment in enumerate(segments):
        if segment in ("", ".", "..", "@"):
            raise InvalidArgument(field, value, "no empty segment, `.`, `..` or bare `@`")
        if segment != segment.strip() or not all(ch.isprintable() for ch in segment):
            raise InvalidArgument(field, value, "no control characters, no blanks at the ends of a segment")
        if any(ch in '\\*?"<>|' for ch in segment) or ("@" in segment[1:]) or (segment[0] == "@" and position):
            raise InvalidArgument(field, value, 'none of \\ * ? " < > |, and @ only at the very start')
    return value
