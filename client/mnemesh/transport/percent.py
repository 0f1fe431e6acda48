"""Percent-encoding of names for headers and file names. Most names need none, and then nothing is imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Never encoded (RFC 3986, unreserved characters).
UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Of an address without anything to decode.
PLAIN: Final = UNRESERVED | frozenset("/:@+")


def quoted(text: str, safe: str = "", errors: str = "strict") -> str:
    """`text` in ASCII: characters outside `safe` and UNRESERVED as percent-encoded UTF-8."""
    if UNRESERVED.union(safe).issuperset(text):
        return text
    from urllib.parse import quote

    return quote(text, safe=safe, errors=errors)
