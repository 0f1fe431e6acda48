"""The tokens of this node's agents: issued, listed, revoked, looked up. One small SQLite file, `access.sqlite` (0600).

Grants are local to a node and never synced, so the file belongs to the gateway and no ledger knows it. One process owns
the file, by the node's lock. A call is judged from memory, without a look at the disk, and a change is on disk before
it counts. So a revocation holds from the next call on, also of streams that are open, and after a kill.

A token is `mnm_` and 256 random bits, and only its SHA-256 is kept. Slow, salted hashes are for passwords of people.
Among 2^256 equally likely tokens there is nothing to guess and no table to make, however fast the hash is. The hash has
to be fast, because every call pays for it. The prefix lets detectors of secrets, ours among them, find a token in a
text.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from mnemesh_actors.ledger.store.schema import read_only
from mnemesh_actors.storage.data_directory import lost
from mnemesh_actors.storage.file_format import Migrations, migrate, settled
from mnemesh_memory.access import grants
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    FailedPrecondition,
    InvalidArgument,
    Overloaded,
    PermissionDenied,
    Unavailable,
)
from mnemesh_memory.values.model import Agent, Caller
from mnemesh_memory.values.quotas import DEFAULT, MOST, NO_OWN, UNLIMITED, Quota

ACCESS_FILE: Final = "access.sqlite"
TOKEN_PREFIX: Final = "mnm_"
TOKEN_BYTES: Final = 32
COLUMNS: Final = (
    "name", "hash", "role", "spaces", "toolsets", "created_at", "created_by", "expires_at", "revoked_at", "calls",
    "last_used_at", *MOST,
)  # fmt: skip
_NAMES: Final = ", ".join(COLUMNS)


@dataclass(slots=True)
class _Kept:
    """An agent, the digest of its token, and its uses: in all, and on disk."""

    agent: Agent
    digest: bytes
    calls: int
    last_used_at: int | None
    written: int

    @classmethod
    def of(cls, agent: Agent, digest: bytes) -> _Kept:
        """As it is on disk."""
        return cls(agent, digest, agent.calls, agent.last_used_at, agent.calls)

    def now(self) -> Agent:
        """The agent with all its uses."""
        return replace(self.agent, calls=self.calls, last_used_at=self.last_used_at)


def _first(db: sqlite3.Connection) -> None:
    db.execute(
        """CREATE TABLE agent (
             name TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, role TEXT NOT NULL, spaces TEXT NOT NULL,
             toolsets TEXT NOT NULL, created_at INTEGER NOT NULL, created_by TEXT NOT NULL, expires_at INTEGER,
             revoked_at INTEGER, calls INTEGER NOT NULL, last_used_at INTEGER) WITHOUT ROWID"""
    )


def _quotas(db: sqlite3.Connection) -> None:
    # NULL is what the node gives everybody, 0 is no limit.
    for column in ("max_memories INTEGER", "max_bytes INTEGER", "writes_per_second REAL"):
        db.execute(f"ALTER TABLE agent ADD COLUMN {column}")


MIGRATIONS: Final[Migrations] = (_first, _quotas)
# EXTRA: after a power cut a revocation must not be undone by a journal whose removal was not on disk yet.
PRAGMAS: Final = ("journal_mode=DELETE", "synchronous=EXTRA", "secure_delete=ON")


def digest_of(token: str) -> bytes:
    """The digest of a token, as it is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def refuse_open(path: Path) -> None:
    """Raise FailedPrecondition for a file that others can read."""
    if path.stat().st_mode & 0o077:
        said = f"{path} can be read by others; run: chmod 600 {path}"
        raise FailedPrecondition(said, field=path.name, value=str(path), limit="0600")


def _opened(file: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(file, isolation_level=None, check_same_thread=False)


def _in_memory(path: Path) -> sqlite3.Connection:
    """A copy of the file, which is read alone."""
    copy = _opened(":memory:")
    with closing(read_only(path)) as source:
        source.backup(copy)
    return copy


@dataclass(eq=False)
class Access:
    """`path` is the file, made when it is missing. `clock` gives milliseconds since the epoch. `owner` is the owner's
    name, which no agent bears. `defaults` is the quota of agents without their own. Methods that write may be called
    from any thread. `dry`: a copy in memory is opened, and the file is left as it is. Raises FailedPrecondition for a
    file that others can read or of a newer format, or when an agent bears the owner's name. Raises DataLoss for a
    damaged file, Unavailable when the disk fails. Nothing has changed then."""

    path: Path
    clock: Callable[[], int]
    owner: str = grants.OWNER
    defaults: Quota = DEFAULT
    _: KW_ONLY
    dry: bool = False

    def __post_init__(self) -> None:
        self._writing = threading.Lock()
        with self._explained():
            # Made by us and not by SQLite, so that nobody else can open it in between.
            if not self.dry:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            refuse_open(self.path)
            self._db = _in_memory(self.path) if self.dry else _opened(self.path)
            try:
                settled(self._db, self.path, MIGRATIONS, PRAGMAS)
                migrate(self._db, MIGRATIONS)
                kept = [_from_row(row) for row in self._db.execute(f"SELECT {_NAMES} FROM agent")]
            except BaseException:  # boundary: closed, then raised again
                self._db.close()
                raise
        self._by_digest = {item.digest: item for item in kept}
        self._by_name = {item.agent.name: item for item in kept}
        if self.owner in self._by_name:
            self._db.close()
            raise FailedPrecondition(
                f"owner: a token was issued to {self.owner}, whose private space the owner would read; give the owner "
                "another name",
                field="owner",
                value=self.owner,
                limit="a name that no token was issued to",
            )

    # ---- every call ---------------------------------------------------------------------------------------------

    def holder(self, token: str) -> Agent | None:
        """The owner of a token, be it expired or revoked. None for a token from elsewhere."""
        digest = digest_of(token)
        kept = self._by_digest.get(digest)
        # Compared in constant time also when there is none. The look-up before tells nothing: who could choose the
        # first bytes of a SHA-256 would have to know the token.
        same = hmac.compare_digest(kept.digest if kept else bytes(len(digest)), digest)
        return kept.agent if kept and same else None

    def note_use(self, name: str) -> None:
        """Count a call. Written later, by `flush`."""
        kept = self._by_name.get(name)
        if kept is not None:
            kept.calls += 1
            kept.last_used_at = self.clock()

    def knows(self, name: str) -> bool:
        """Whether a token was issued to that name."""
        return name in self._by_name

    def revoked(self, name: str) -> bool:
        """Whether the token of that name was revoked."""
        kept = self._by_name.get(name)
        return kept is not None and kept.agent.revoked_at is not None

    def quota(self, name: str) -> Quota:
        """The quota of the principal `name`: of an agent its own, with the defaults."""
        kept = self._by_name.get(name)
        return (kept.agent.quota if kept else NO_OWN).over(self.defaults)

    def has_own_quota(self, name: str) -> bool:
        """Whether an agent was given totals of its own."""
        kept = self._by_name.get(name)
        own = kept.agent.quota if kept else NO_OWN
        return own.max_memories is not None or own.max_bytes is not None

    # ---- administration -----------------------------------------------------------------------------------------

    def add(
        self,
        issuer: Caller,
        *,
        name: str,
        role: str,
        spaces: tuple[str, ...] = (),
        toolsets: tuple[str, ...] = (),
        expires: str = "",
        inhabited: bool = False,
        quota: Quota = NO_OWN,
    ) -> tuple[Agent, str]:
        """Issue a token. It is given back here and kept nowhere. Raises as grants.new_agent, and InvalidArgument for
        the owner's name."""
        if name == self.owner:
            raise InvalidArgument("name", name, "another name than the owner's")
        token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        with self._writing:
            before = self._by_name.get(name)
            agent = grants.new_agent(
                issuer, name=name, role=role, spaces=spaces, toolsets=toolsets, expires=expires, now=self.clock(),
                before=before.agent if before else None, inhabited=inhabited,
            )  # fmt: skip
            agent = replace(agent, quota=grants.new_quota(issuer, quota, self._of_issuer(issuer), self.defaults))
            if before is None and len(self._by_name) >= limits.AGENTS_MAX:
                raise Overloaded("the list of agents", limits.AGENTS_MAX)
            kept = _Kept.of(agent, digest_of(token))
            with self._explained():
                self._db.execute(f"INSERT OR REPLACE INTO agent ({_NAMES}) VALUES ({_MARKS})", _to_row(kept))
            if before is not None:
                del self._by_digest[before.digest]
            self._by_digest[kept.digest] = self._by_name[name] = kept
        return agent, token

    def list(self, caller: Caller) -> tuple[Agent, ...]:
        """The agents that `caller` may see, by name, ended ones included."""
        agents = (kept.now() for _, kept in sorted(self._by_name.items()))
        return tuple(agent for agent in agents if grants.may_see(caller, agent))

    def revoke(self, caller: Caller, name: str) -> Agent:
        """End a token, from the next call on. An ended token stays as it is. Raises NotFound."""
        with self._writing:
            kept = self._by_name.get(name)
            agent = grants.require_seen(caller, name, kept.agent if kept else None)
            if kept is not None and agent.revoked_at is None:
                ended = replace(agent, revoked_at=self.clock())
                with self._explained():
                    self._db.execute("UPDATE agent SET revoked_at = ? WHERE name = ?", (ended.revoked_at, name))
                kept.agent = ended
            return self._by_name[name].now()

    def set_quota(self, caller: Caller, name: str, quota: Quota) -> Agent:
        """Change what `quota` names of how much an agent may write, from the next call on. Raises NotFound,
        InvalidArgument, and PermissionDenied for more than the caller has, or for the caller itself."""
        with self._writing:
            kept = self._by_name.get(name)
            agent = grants.require_seen(caller, name, kept.agent if kept else None)
            if agent.name == caller.principal:
                raise PermissionDenied(caller.principal, "change its own quota", grants.granted(caller))
            wanted = quota.over(agent.quota)
            changed = replace(agent, quota=grants.new_quota(caller, wanted, self._of_issuer(caller), self.defaults))
            own = changed.quota
            with self._explained():
                columns = ", ".join(f"{column} = ?" for column in MOST)
                self._db.execute(
                    f"UPDATE agent SET {columns} WHERE name = ?", (*(getattr(own, column) for column in MOST), name)
                )
            assert kept is not None
            kept.agent = changed
            return kept.now()

    def _of_issuer(self, caller: Caller) -> Quota:
        """The quota of an issuer."""
        return UNLIMITED if caller.role == grants.OWNER else self.quota(caller.principal)

    def standing(self) -> tuple[Agent, ...]:
        """All whose tokens have neither ended nor been revoked."""
        agents = (kept.agent for kept in self._by_name.values())
        return tuple(agent for agent in agents if self.state(agent) == "active")

    def state(self, agent: Agent) -> str:
        """active, expired or revoked, now."""
        return agent.state(self.clock())

    # ---- life ---------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the uses that were counted since. Without any, nothing."""
        with self._writing:
            used = [(kept, kept.now()) for kept in self._by_name.values() if kept.calls != kept.written]
            if not used:
                return
            with self._explained():
                self._db.execute("BEGIN IMMEDIATE")
                with self._db:
                    self._db.executemany(
                        "UPDATE agent SET calls = ?, last_used_at = ? WHERE name = ?",
                        [(agent.calls, agent.last_used_at, agent.name) for _, agent in used],
                    )
            for kept, agent in used:
                kept.written = agent.calls

    def close(self) -> None:
        """No more writing. Unflushed uses are not counted."""
        with self._writing:
            self._db.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of SQLite and the disk, as errors of ours."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            absent = str(error).startswith("no such ")  # table or column: SQLite calls that no damage
            if isinstance(error, OSError | sqlite3.OperationalError) and not absent:
                raise Unavailable(f"{self.path}: {error}; nothing was changed", part="access") from error
            way_out = "restore it from a backup, or delete it and issue the tokens anew"
            raise lost(self.path, f"is damaged ({error}); {way_out}") from error


_MARKS: Final = ", ".join("?" for _ in COLUMNS)


def _to_row(kept: _Kept) -> tuple[Any, ...]:
    agent = kept.agent
    lists = {"spaces": json.dumps(agent.spaces), "toolsets": json.dumps(agent.toolsets)}
    values = asdict(agent) | asdict(agent.quota) | lists | {"hash": kept.digest}
    return tuple(values[name] for name in COLUMNS)


def _from_row(row: tuple[Any, ...]) -> _Kept:
    values = dict(zip(COLUMNS, row, strict=True))
    if values["role"] not in grants.ROLES:
        raise ValueError(f"role {values['role']!r} of {values['name']!r}")
    quota, digest = Quota(**{name: values.pop(name) for name in MOST}), values.pop("hash")
    lists = {name: tuple(json.loads(values[name])) for name in ("spaces", "toolsets")}
    return _Kept.of(Agent(**values | lists, quota=quota), digest)
