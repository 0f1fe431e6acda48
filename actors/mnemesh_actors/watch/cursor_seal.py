"""Cursors of a watch as clients see them: sealed, because the numbers inside tell how busy the node is.

AES-SIV (RFC 5297) with a key that follows from the node's own, so a cursor outlives a restart. The principal is bound
in: nobody goes on with the cursor of another.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemesh_memory.values import limits
from mnemesh_memory.watch import watch_values

_PREFIX: Final = "w1."
_KEY_BYTES: Final = 32
_CHECK_BYTES: Final = 4
_PURPOSE: Final = b"mnemesh cursors of watches"


class CursorSeal:
    """Seals by a key made of the node's `key`."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(key.private_bytes_raw())
        self._cipher = AESSIV(derived)

    def write(self, positions: Mapping[str, int], principal: str) -> str:
        """The token of `positions` for `principal`."""
        plain = watch_values.write_cursor(positions).encode()
        sealed = self._cipher.encrypt(plain, [principal.encode()])
        whole = zlib.crc32(sealed).to_bytes(_CHECK_BYTES, "big") + sealed
        return _PREFIX + base64.urlsafe_b64encode(whole).decode().rstrip("=")

    def opened(self, token: str, principal: str) -> str:
        """The token as it was before it was sealed. One of an older version, of another node or of another principal
        says nothing here, as that of another ledger does. Anything else than a cursor is returned unchanged."""
        nothing = watch_values.write_cursor({})
        if not token.startswith(_PREFIX):
            return nothing if watch_values.is_cursor(token) else token
        if len(token) > limits.WATCH_CURSOR_CHARS_MAX:
            return token
        text = token.removeprefix(_PREFIX)
        try:
            whole = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return token
        sealed = whole[_CHECK_BYTES:]
        if zlib.crc32(sealed) != int.from_bytes(whole[:_CHECK_BYTES], "big"):
            return token
        try:
            return self._cipher.decrypt(sealed, [principal.encode()]).decode()
        except (InvalidTag, ValueError):
            return nothing
