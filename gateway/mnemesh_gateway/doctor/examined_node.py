"""The node that `mnemesh doctor` examines: its directory, its settings, and the clock."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mnemesh_gateway.node.settings import Settings
from mnemesh_proto.rendezvous import NodeAddress, read_node


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedNode:
    """A node, running or not, in one examination. `now_ms` is the clock's time in ms since the epoch, and `free_bytes`
    tells the free space of the disk that holds a path. `silent` gathers addresses that gave no answer, so that a
    hanging node is waited for once."""

    data_dir: Path
    settings: Settings
    now_ms: int
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    silent: set[str] = field(default_factory=set, compare=False)

    @property
    def node(self) -> NodeAddress | None:
        """The node that has published itself here, when its process lives."""
        return read_node(self.data_dir)

    @property
    def addresses(self) -> dict[str, str]:
        """Address of each door: where the running node listens, else where the settings say."""
        node = self.node or self.settings
        return {"grpc": node.grpc, "http": node.http}

    @property
    def ledger(self) -> Path:
        """The SQLite file of the log."""
        return self.data_dir / "ledger" / "0.sqlite"

    @property
    def transcripts(self) -> Path:
        """The SQLite file of the transcripts."""
        return self.data_dir / "transcripts" / "0.sqlite"
