"""An index on a Qdrant server, over REST: one collection, with node and place in the log in the metadata.

A collection that this node has not made is never written, cleared or read. Every request is bounded. A passing failure
is tried again with a growing, random pause within that bound, since qdrant-client tries nothing again. A caller that
gets Unavailable in the end comes back later: nothing is lost, the ledger holds all.
"""

from __future__ import annotations

import random
import secrets
import ssl
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException

from mnemesh_actors.index.engines.directory import Storage
from mnemesh_actors.index.engines.qdrant_client import ClientBackend, translated
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_actors.storage.index_state import IndexMeta, meta_of
from mnemesh_memory.values.errors import FailedPrecondition, Unavailable

# Of the features used, term statistics within a filter came last: https://qdrant.tech/blog/qdrant-1.19.x
VERSION_MIN = (1, 19)
MARKS = "mnemesh"
ATTEMPTS_MAX = 5
PAUSE_S = 0.05
PAUSE_MAX_S = 1.0
PASSING = (429, 502, 503, 504)
READS = ("/points/query/batch", "/points/scroll", "/points/count")


@dataclass(frozen=True, slots=True)
class PatientSender:
    """Sends a request of qdrant-client (as its middleware) until an answer comes, or time or tries run out.

    Twenty lines of our own: the libraries for retrying know neither Retry-After nor one bound over all tries. Every
    request of ours may be repeated: it says what the state is to be.
    """

    config: ServerConfig
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, request: httpx.Request, send: Callable[[httpx.Request], httpx.Response]) -> httpx.Response:
        reads = request.method == "GET" or request.url.path.endswith(READS)
        until = self.now() + (self.config.read_s if reads else self.config.write_s)
        for attempt in range(ATTEMPTS_MAX):
            left = max(until - self.now(), 0.001)
            timeout = httpx.Timeout(left, connect=min(left, self.config.connect_s))
            request.extensions = {**request.extensions, "timeout": timeout.as_dict()}
            asked_for = 0.0
            try:
                response = send(request)
            except ResponseHandlingException as error:
                gone = isinstance(error.source, httpx.TransportError)
                if not gone or isinstance(error.source, httpx.TimeoutException):
                    raise
                failed: Exception | httpx.Response = error
            else:
                if response.status_code not in PASSING:
                    return response
                failed, asked_for = response, _retry_after(response)
            # Full jitter: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
            pause = max(random.uniform(0, min(PAUSE_MAX_S, PAUSE_S * 2**attempt)), asked_for)
            if attempt == ATTEMPTS_MAX - 1 or self.now() + pause >= until:
                break
            self.sleep(pause)
        if isinstance(failed, Exception):
            raise failed
        return failed


def _retry_after(response: httpx.Response) -> float:
    """The seconds that the server asks to wait; 0 for a date, the other form of this header."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0


class ServerStorage(Storage):
    """The collection of one shard of one node. The directory `path` holds the lock against a second process here;
    `holder`, written into the metadata, tells a process elsewhere that took over."""

    remote = True

    def __init__(self, config: ServerConfig, path: Path) -> None:
        super().__init__(path)
        self._config = config
        self._client: QdrantClient | None = None
        self._holder = ""
        self._where = f"Qdrant at {config.host}"
        self._lost_to = ""  # why this process stood down, for good

    def require_room(self) -> None:
        """The server minds its own disk."""

    def release(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
        super().release()

    def read(self) -> tuple[IndexMeta | None, str]:
        if self._lost_to:
            raise FailedPrecondition(self._lost_to, field="qdrant_url", value=self._config.host)
        self._client, self._holder = self._connected(), ""
        self._check_version()
        stored = self._stored()
        if stored is None:
            return None, "absent"
        marks = stored.get(MARKS)
        if not isinstance(marks, Mapping) or marks.get("node") != self._config.owner:
            raise FailedPrecondition(
                f"the collection {self._config.collection} on {self._config.host} was not made by this node; nothing "
                "in it was touched. Remove or rename it there, or set qdrant_url to another server",
                field="qdrant_url",
                value=self._config.host,
            )
        return meta_of(marks.get("index"), f"the mark of the collection {self._config.collection}")

    def write(self, meta: IndexMeta) -> None:
        """Raises FailedPrecondition when another process has taken over, DataLoss when the collection is gone."""
        client = self._reached()
        if self._holder:
            stored = self._stored() or {}
            marks = stored.get(MARKS)
            if isinstance(marks, Mapping) and marks.get("holder") != self._holder:
                self._lost_to = (
                    f"another process writes the collection {self._config.collection} on {self._config.host}: a copy "
                    "of this data directory runs as a node too. Stop one of them, then restart this node"
                )
                raise FailedPrecondition(self._lost_to, field="qdrant_url", value=self._config.host)
        else:
            self._holder = secrets.token_hex(8)
        with translated(self._where):
            client.update_collection(self._config.collection, metadata=self._marks(meta))

    def clear(self) -> None:
        with translated(self._where):
            self._reached().delete_collection(self._config.collection)

    def remove(self) -> None:
        if self.read()[1] != "absent":
            self.clear()
        super().remove()

    def backend(self, meta: IndexMeta) -> ClientBackend:
        return ClientBackend(
            self._reached(),
            self._config.collection,
            metadata=self._marks(meta),
            where=self._where,
            replicas=self._config.replicas,
            consistency=self._config.consistency,
        )

    def _marks(self, meta: IndexMeta) -> dict[str, Any]:
        marks = {"node": self._config.owner, "holder": self._holder, "index": asdict(meta)}
        return {MARKS: marks}

    def _stored(self) -> Mapping[str, Any] | None:
        """The collection's metadata, None without the collection."""
        client, name = self._reached(), self._config.collection
        with translated(self._where):
            if not client.collection_exists(name):
                return None
            return client.get_collection(name).config.metadata or {}

    def _check_version(self) -> None:
        with translated(self._where):
            version = self._reached().info().version
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if numbers < VERSION_MIN:
            needed = ".".join(str(number) for number in VERSION_MIN)
            raise FailedPrecondition(
                f"{self._where} is version {version}; {needed} or newer is needed, since older ones "
                "count the words of all spaces together",
                field="qdrant_url",
                value=version,
                limit=needed,
            )

    def _reached(self) -> QdrantClient:
        if self._client is None:
            raise Unavailable(f"the collection {self._config.collection} is not open", part="index")
        return self._client

    def _trusted(self) -> ssl.SSLContext | bool:
        """The trusted certificates for the server. Raises FailedPrecondition for a file that holds none."""
        if not self._config.ca_file:
            return True
        try:
            return ssl.create_default_context(cafile=self._config.ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise FailedPrecondition(
                f"qdrant_ca_file: {self._config.ca_file} holds no certificate that can be read ({error}); give a file "
                "in PEM form",
                field="qdrant_ca_file",
                value=self._config.ca_file,
            ) from error

    def _connected(self) -> QdrantClient:
        """A fresh client each time: no state of an outage survives in the old one."""
        if self._client is not None:
            self._client.close()
        with warnings.catch_warnings():
            # qdrant-client warns of a key without TLS. The settings refuse that beyond loopback unless it was allowed.
            warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
            client = QdrantClient(
                url=self._config.url,
                port=None,  # else an address without a port means 6333, also after https
                api_key=self._config.api_key or None,
                check_compatibility=False,
                verify=self._trusted(),
                trust_env=False,  # no proxy and no password file that a variable names
            )
        client.http.client.add_middleware(PatientSender(self._config))
        return client
