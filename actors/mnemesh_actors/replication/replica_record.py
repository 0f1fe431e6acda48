"""replicas.json: the last places of the ledgers of a node, the primary, and the ledgers that may hold more than it.

Reads and writes one file, and decides from it about the ledgers to wait for at a start. Knows no machine and no actor.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from mnemesh_actors.storage.data_directory import DataDirectory, replace_file
from mnemesh_memory.values.errors import FailedPrecondition

REPLICAS_FILE: Final = "replicas.json"


@dataclass(frozen=True, slots=True)
class Known:
    """A ledger as the file has it."""

    node_id: str
    address: str
    directory: str
    ahead: bool = False  # it may hold acknowledged writes that the primary lacks
    level: bool = False  # it holds all that the primary has acknowledged: nothing is before another record says so

    @property
    def place(self) -> str:
        """For a person."""
        return f"{self.directory} on {self.address}"


@dataclass(frozen=True, slots=True)
class ReplicaRecord:
    """The content of the file. Without `replicas` for a node that never had any."""

    primary: str = ""
    replicas: tuple[Known, ...] = ()

    def awaited(self, present: Collection[str]) -> tuple[Known, ...]:
        """The ledgers that are known to hold more than those `present`. The primary counts as such, unless one `level`
        with it is present. One that is `ahead` is in any case."""
        whole = any(replica.level and replica.node_id in present for replica in self.replicas)
        return tuple(
            replica
            for replica in self.replicas
            if (replica.ahead or (replica.node_id == self.primary and not whole)) and replica.node_id not in present
        )

    def first(self, heads: Mapping[str, int]) -> str:
        """The next primary among the ledgers with these log ends: the former one, else one level with it, else one
        ahead, else the longest."""
        level = {replica.node_id for replica in self.replicas if replica.level}
        ahead = {replica.node_id for replica in self.replicas if replica.ahead}
        return max(heads, key=lambda id_: (id_ == self.primary, id_ in level, id_ in ahead, heads[id_]))

    def following(
        self, primary: str, members: Iterable[Known], ahead: Collection[str], level: Collection[str], wanted: int
    ) -> ReplicaRecord:
        """The next record: the present ledgers, those `ahead`, and the former ones while there are fewer than
        `wanted`."""
        shown = list(members)
        here = {known.node_id for known in shown}
        short = len(shown) < wanted
        shown += [old for old in self.replicas if old.node_id not in here and (short or old.node_id in ahead)]
        return ReplicaRecord(
            primary, tuple(replace(item, ahead=item.node_id in ahead, level=item.node_id in level) for item in shown)
        )

    def write(self, path: Path) -> None:
        """Durable when it returns."""
        value = {"primary": self.primary, "replicas": [asdict(replica) for replica in self.replicas]}
        replace_file(path / REPLICAS_FILE, json.dumps(value, indent=1) + "\n")


def read_record(path: Path) -> ReplicaRecord:
    """The record in the data directory `path`, an empty one without a file. Raises FailedPrecondition when the file is
    damaged."""
    file = path / REPLICAS_FILE
    try:
        value = json.loads(file.read_text("utf-8"))
        return ReplicaRecord(str(value["primary"]), tuple(Known(**row) for row in value["replicas"]))
    except FileNotFoundError:
        return ReplicaRecord()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FailedPrecondition(
            f"{file} is damaged ({error}); it names the machines that hold this node's memories. Remove it when all of "
            "them are in the cluster: they are found again",
            field="data_dir",
            value=str(file),
        ) from error


def has_entries(directory: DataDirectory) -> bool:
    """Whether the ledger in the data directory itself was ever used."""
    return directory.ledger(0).exists()


def refuse_elsewhere(directory: DataDirectory) -> None:
    """Raise FailedPrecondition when this node's memories lie on other machines alone."""
    record = read_record(directory.path)
    if record.replicas and not has_entries(directory):
        raise FailedPrecondition(
            f"runtime: this node's memories lie on machines of a Ray cluster ({places(record.replicas)}); start it "
            "with --runtime ray and --ray-address",
            field="runtime",
            value="local",
            limit="ray",
        )


def places(replicas: Sequence[Known]) -> str:
    """Where they were, for a person."""
    return ", ".join(replica.place for replica in replicas)
