"""Which index a shard has, where it lies, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass

from mnemesh_actors.index.storage import ServerConfig

BACKENDS = ("edge", "local", "server")
MACHINE = "{ip}"


@dataclass(frozen=True, slots=True)
class ShardConfig:
    """`path` is the shard's own directory; {ip} in it stands for the machine where the shard lives. `generation` and
    `dimensions` are the embedding model's, `incarnation` the ledger's. `backend`: edge, server (the Qdrant that
    `server` names), or local (qdrant-client in memory, for tests and comparison).
    Less than `reserve_bytes` free on the disk of an index in a directory, and nothing more is taken in."""

    path: str
    generation: str
    dimensions: int
    incarnation: str
    backend: str = "edge"
    server: ServerConfig | None = None
    reserve_bytes: int = 0

    @property
    def shown(self) -> str:
        """The backend as people see it: of a server its host, never its key."""
        return f"server at {self.server.host}" if self.server else self.backend


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """`seq` is the last ledger entry applied, `points` how many points there are. `rebuilt` says why the index was
    made new when it was opened ("absent" when there was none), "" when it was not; `seq` then began at 0."""

    seq: int
    points: int
    rebuilt: str = ""
    backend: str = "edge"
