"""Cursors of a watch as clients see them: sealed, because the numbers inside tell how busy the node is.

AES-SIV (RFC 5297) with a key that follows from the node's own, so a cursor outlives a restart. The principal is bound
in: nobody goes on with the cursor of another. Each cursor has a random nonce and a padded length, so two cursors don't
tell whether anything was written between them.
"""

from __future__ import annotations

import base64
import binascii
import os
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

_PREFIX: Final = "w2."
# Cursors of earlier nodes, sealed without a nonce. They are read and no longer written.
_PREFIX_WITHOUT_NONCE: Final = "w1."
_KEY_BYTES: Final = 32
_CHECK_BYTES: Final = 4
_NONCE_BYTES: Final = 16
# The highest position of a ledger fits.
_PAD_BYTES: Final = 80
_PURPOSE: Final = b"mnemesh cursors of watches"


class CursorSeal:
    """Seals by a key made of the node's `key`."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(key.private_bytes_raw())
        self._cipher = AESSIV(derived)

    def write(self, positions: Mapping[str, int], principal: str) -> str:
        """The token of `positions` for `principal`."""
        token = watch_values.write_cursor(positions).encode()
        plain = token.ljust(-(-len(token) // _PAD_BYTES) * _PAD_BYTES)
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(plain, [principal.encode(), nonce])
        whole = zlib.crc32(sealed).to_bytes(_CHECK_BYTES, "big") + sealed
        return _PREFIX + base64.urlsafe_b64encode(whole).decode().rstrip("=")

    def opened(self, token: str, principal: str) -> str:
        """The token as it was before it was sealed. One of an older version, of another node or of another principal
        says nothing here, as that of another ledger does. Anything else than a cursor is returned unchanged."""
        nothing = watch_values.write_cursor({})
        if not token.startswith((_PREFIX, _PREFIX_WITHOUT_NONCE)):
            return nothing if watch_values.is_cursor(token) else token
        if len(token) > limits.WATCH_CURSOR_CHARS_MAX:
            return token
        text = token[len(_PREFIX) :]
        try:
            whole = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return token
        sealed = whole[_CHECK_BYTES:]
        if zlib.crc32(sealed) != int.from_bytes(whole[:_CHECK_BYTES], "big"):
            return token
        bound = [principal.encode()]
        if token.startswith(_PREFIX):
            nonce, sealed = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            bound.append(nonce)
        try:
            return self._cipher.decrypt(sealed, bound).decode().rstrip()
        except (InvalidTag, ValueError):
            return nothing
