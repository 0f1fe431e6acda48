"""The part of a ledger for the others of its node, on other machines: its identity, its operations, and the idempotency
keys that are not in the log.

Entries go by the same feeds as between nodes (exchange). A key is told only after the entry that it answers for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemesh_actors.ledger.commands import Command, Committed, Create, Revise
from mnemesh_actors.ledger.ledger_side import LedgerSide
from mnemesh_actors.ledger.store.faults import reading


@dataclass(frozen=True, slots=True)
class Identity:
    """Node id and raw public key by which this ledger signs, and its incarnation."""

    node_id: str
    key: bytes
    incarnation: str


@dataclass(frozen=True, slots=True)
class UsedKey:
    """An idempotency key that `agent` used at `at` (ms): the request's fingerprint, and the action on memory `id`."""

    agent: str
    key: str
    fingerprint: bytes
    id: str
    action: str
    at: int


def keys_of(commands: Sequence[Command], results: Sequence[Committed | Exception]) -> list[UsedKey]:
    """The idempotency keys that these commits answer for from now on."""
    keys = []
    for command, result in zip(commands, results, strict=True):
        if not isinstance(result, Committed) or not isinstance(command, Create | Revise):
            continue
        key = (command.draft if isinstance(command, Create) else command.patch).idempotency_key
        if key:
            done = (result.memory.id, result.action, command.at)
            keys.append(UsedKey(command.agent, key, command.fingerprint, *done))
    return keys


class Twin(LedgerSide):
    """Mixed into Ledger, which has the connection and the identity."""

    _identity: Identity

    def identity(self) -> Identity:
        """The identity of this ledger."""
        return self._identity

    @reading
    def known(self, actors: Sequence[bytes]) -> list[bool]:
        """Which of these operations are in the log."""
        return [
            self._db.execute("SELECT 1 FROM entry WHERE actor = ?", (actor,)).fetchone() is not None for actor in actors
        ]

    @reading
    def used_keys(self, since: int, after: tuple[str, str], limit: int) -> list[UsedKey]:
        """Keys used at `since` (ms) or later, by agent and key, after that pair. At most `limit`."""
        rows = self._db.execute(
            "SELECT agent, key, fingerprint, id, action, at FROM idempotency WHERE (agent, key) > (?, ?) AND at >= ? "
            "ORDER BY agent, key LIMIT ?",
            (*after, since, limit),
        )
        return [UsedKey(*row) for row in rows]

    def learn(self, keys: Sequence[UsedKey]) -> None:
        """Remember keys that another ledger of this node has answered. Of two uses the later counts. Raises Unavailable
        or DataLoss when the disk fails."""
        with self._transaction():
            self._db.executemany(
                "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent, key) DO UPDATE SET "
                "fingerprint = excluded.fingerprint, id = excluded.id, action = excluded.action, at = excluded.at "
                "WHERE excluded.at > at",
                [(used.agent, used.key, used.fingerprint, used.id, used.action, used.at) for used in keys],
            )
