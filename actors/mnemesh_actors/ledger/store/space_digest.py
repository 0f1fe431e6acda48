"""The digest of a space: 4,096 XOR buckets over (document, heads or erased), kept in step with the log.

Equal digests mean equal documents. Unequal buckets say where to look. The tests compare with a shelf in memory. Waiting
and quarantined entries do not count.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from mnemesh_crdt.changes.envelope import Key
from mnemesh_crdt.document.digest import bucket_of, fingerprint

VALUE_BYTES = 32


class SpaceDigest:
    """Moves are gathered in memory and written once, at the end of the caller's transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._moves: list[tuple[str, int, int]] = []

    def begin(self) -> None:
        """A transaction begins; what one before gathered and did not write is void."""
        self._moves.clear()

    def mark(self) -> int:
        """Where a savepoint stands."""
        return len(self._moves)

    def undo(self, mark: int) -> None:
        """Forget what was gathered after `mark`."""
        del self._moves[mark:]

    def change(self, key: Key, heads: Iterable[str], *, erased: bool = False, new: bool = False) -> None:
        """A document has these heads now (hashes of its changes, in hex), or is erased. Notes both the document and
        its bucket's move. `new`: nothing was here of it before."""
        after = set(heads)
        row = None if new else self._known(key)
        bucket = bucket_of(key.id)
        move = fingerprint(key.id, after)
        if row is not None:
            move ^= fingerprint(key.id, _split(row[0]))
        self._moves.append((key.space, bucket, move))
        self._db.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)",
            (key.id, key.space, bucket, bytes.fromhex("".join(sorted(after))), int(erased)),
        )

    def _known(self, key: Key) -> tuple[bytes] | None:
        row: tuple[bytes] | None = self._db.execute(
            "SELECT heads FROM document WHERE doc = ? AND space = ?", (key.id, key.space)
        ).fetchone()
        return row

    def write(self) -> None:
        """Add what was gathered to the file, inside the caller's transaction."""
        sums: dict[tuple[str, int], int] = {}
        for space, bucket, move in self._moves:
            sums[space, bucket] = sums.get((space, bucket), 0) ^ move
        self._moves.clear()
        rows = []
        for (space, bucket), move in sums.items():
            row = self._db.execute(
                "SELECT value FROM digest WHERE space = ? AND bucket = ?", (space, bucket)
            ).fetchone()
            value = (int.from_bytes(row[0], "big") if row else 0) ^ move
            rows.append((space, bucket, value.to_bytes(VALUE_BYTES, "big")))
        self._db.executemany("INSERT OR REPLACE INTO digest VALUES (?, ?, ?)", rows)

    def clear(self) -> None:
        """Nothing is known, before the log is read anew."""
        self._moves.clear()
        self._db.execute("DELETE FROM document")
        self._db.execute("DELETE FROM digest")

    def of(self, space: str) -> dict[int, str]:
        """The hash (hex) of each bucket of a space that holds any document."""
        rows = self._db.execute("SELECT bucket, value FROM digest WHERE space = ? ORDER BY bucket", (space,))
        return {bucket: value.hex() for bucket, value in rows if any(value)}


def _split(heads: bytes) -> set[str]:
    return {heads[start : start + VALUE_BYTES].hex() for start in range(0, len(heads), VALUE_BYTES)}
