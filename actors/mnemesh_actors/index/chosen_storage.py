"""The storage that a configuration names: a server's, or a directory's."""

from __future__ import annotations

from pathlib import Path

from mnemesh_actors.index.engines.directory import Storage
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_memory.values.errors import FailedPrecondition


def storage_of(server: ServerConfig | None, path: Path, reserve_bytes: int = 0) -> Storage:
    """The place of an index: on `server`, or in the directory `path`. Raises FailedPrecondition when a server's client
    is not installed."""
    if server is None:
        return Storage(path, reserve_bytes)
    try:
        from mnemesh_actors.index.engines.server import ServerStorage
    except ModuleNotFoundError as error:
        raise FailedPrecondition(
            f"qdrant_url: {error.name} is not installed; pip install 'mnemesh[qdrant]'", field="qdrant_url"
        ) from error
    return ServerStorage(server, path)
