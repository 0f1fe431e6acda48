"""The place of an index: its marks, its lock, how it is opened and cleared. In a directory here, or on a server.

Knows no engine until one is asked for: it is imported when its backend is made.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from mnemesh_actors.index.engine_port import IndexBackend
from mnemesh_actors.storage.disk import DiskRoom, allocate
from mnemesh_actors.storage.index_state import DirectoryLock, IndexMeta, read_meta, write_meta

MACHINE = "{ip}"
DEFAULT_PORTS = {"http": 80, "https": 443}
# Of an empty index Edge maps 250 MiB, and each file that is full is followed by one of up to 32 MiB.
PLENTY_BYTES = 2 << 30
ALLOCATED_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """A Qdrant server: `url` as http(s)://HOST[:PORT][/PREFIX], never with a name or password in it.

    `ca_file` holds the certificates of the server's signers, "" for the ones that the system trusts. A new collection
    has `replicas` copies on the server's machines, of which `consistency` take a change before it counts.

    Longest in seconds: `connect_s` until it takes the connection, `read_s` a question, `write_s` a change, each with
    all its tries. `owner` is the node's id. Owner and the generation's `suffix` name the collection.
    """

    url: str
    owner: str = ""
    suffix: str = ""
    api_key: str = field(default="", repr=False)
    ca_file: str = ""
    replicas: int = 1
    consistency: int = 1
    connect_s: float = 1.0
    read_s: float = 2.0
    write_s: float = 5.0

    @property
    def host(self) -> str:
        """HOST:PORT, which may be shown."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port or DEFAULT_PORTS[parts.scheme]}"

    @property
    def collection(self) -> str:
        """Several nodes may share a server: each of their shards has a collection of its own."""
        return f"mnemesh_{self.owner}_0{self.suffix}"


@dataclass(frozen=True, slots=True)
class ShardConfig:
    """`path` is the shard's own directory; {ip} in it stands for the machine where the shard lives. `generation` and
    `dimensions` are the embedding model's, `incarnation` the ledger's. The index lies on `server`, if there is one.
    Less than `reserve_bytes` free on the disk of an index in a directory, and nothing more is taken in."""

    path: str
    generation: str
    dimensions: int
    incarnation: str
    server: ServerConfig | None = None
    reserve_bytes: int = 0

    @property
    def shown(self) -> str:
        """The backend in words for people: for a server its host, never its key."""
        return f"server at {self.server.host}" if self.server else "edge"


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """`seq` is the last ledger entry applied, `points` how many points there are. `rebuilt` says why the index was made
    new when it was opened, "absent" without an index before. It is "" when the index was kept; else `seq` began at
    0."""

    seq: int
    points: int
    rebuilt: str = ""
    backend: str = "edge"


class Storage:
    """The place of one index: the directory `path` with `meta.json`, `lock`, and the points of Qdrant Edge in `points`.
    Used by one thread. Of `reserve_bytes` of its disk half stays free: the ledger's entries from before the disk was
    full fit there. A `remote` place may go away and come back by itself."""

    remote = False

    def __init__(self, path: Path, reserve_bytes: int = 0) -> None:
        self._path = path
        self._room = DiskRoom(path, reserve_bytes // 2)
        self._before_full = DiskRoom(path, 2 * reserve_bytes)  # down to this, mapped files get their blocks
        self._whole_reserve = DiskRoom(path, reserve_bytes)
        self._allocate_at = 0.0
        self._lock = DirectoryLock(path / "lock")

    def require_room(self) -> None:
        """Raises DiskFull while nothing more may be written."""
        self._room.require()
        if (now := time.monotonic()) >= self._allocate_at:
            allocate(self._path, self._before_full, PLENTY_BYTES)
            self._allocate_at = now + ALLOCATED_AGAIN_S

    def acquire(self) -> None:
        """Keep others out. Raises Unavailable when another process or object is in."""
        self._path.mkdir(parents=True, exist_ok=True)
        self._lock.acquire()

    def release(self) -> None:
        """Let others in, and let go of everything open."""
        self._lock.release()

    def read(self) -> tuple[IndexMeta | None, str]:
        """The marks, or None and why they cannot be used. Raises FailedPrecondition for an index that is not ours."""
        return read_meta(self._path / "meta.json")

    def write(self, meta: IndexMeta) -> None:
        """Replace the marks, durably."""
        write_meta(self._path / "meta.json", meta)

    def clear(self) -> None:
        """Remove the points."""
        for entry in self._path.glob("points*"):
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def remove(self) -> None:
        """Remove everything here, in whatever state. Called by the holder of the lock."""
        shutil.rmtree(self._path)

    def backend(self, meta: IndexMeta) -> IndexBackend:
        """The reader and writer of the points, not open yet. A collection that this creates is marked with `meta`."""
        from mnemesh_actors.index.engines.segments import SegmentedEdge

        return SegmentedEdge(self._path / "points", room=self._whole_reserve)
