"""The configuration of a shard, and the status that a shard reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

MACHINE = "{ip}"
DEFAULT_PORTS = {"http": 80, "https": 443}


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
