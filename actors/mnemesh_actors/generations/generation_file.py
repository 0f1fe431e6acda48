"""The model of a node's memories, and its successor: the states and the file for both.

A generation is a vector space: a model of certain weights, pooling, precision and width. `embedding.json` in the data
directory names the one that answers (`active`), the one in the making (`next`), and those with an index to remove
(`leaving`). Each step is one replacement of that file, so a crash leaves the state before or after the step. The file
decides, not the settings: they name the model that a new node begins with.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mnemesh_actors.models.embedding_model import MODEL_NAME, ModelConfig, ModelInfo
from mnemesh_actors.storage.data_directory import lost, replace_file
from mnemesh_actors.storage.file_format import refuse_newer
from mnemesh_memory.values.errors import Unavailable

FILE = "embedding.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model as asked for: a folder (`/...`, `~...`), a name, or "" for the node's own choice."""

    model: str = ""
    precision: str = "fp32"

    @property
    def by_itself(self) -> bool:
        """The node finds the model, and takes any revision."""
        return self.model in ("", MODEL_NAME)

    @property
    def shown(self) -> str:
        """As people see it."""
        return f"{self.model or MODEL_NAME}{'' if self.precision == 'fp32' else f' in {self.precision}'}"

    def config(self, common: ModelConfig) -> ModelConfig:
        """The configuration of a worker; threads, cache and the leave to download are those of `common`."""
        folder = self.model if self.model.startswith(("/", "~")) else ""
        return replace(common, model_dir=folder, name="" if folder else self.model, precision=self.precision)


def choice_of(config: ModelConfig) -> ModelChoice:
    """The choice in the settings."""
    folder = config.model_dir
    if folder and not folder.startswith("~"):
        folder = str(Path(folder).absolute())
    return ModelChoice(folder or config.name, config.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A vector space. `fingerprint` names it, `model` and `precision` name its model, `slot` the place of its index: ""
    is the place for a node that never changed its model."""

    fingerprint: str
    name: str
    dimensions: int
    model: str = ""
    precision: str = "fp32"
    slot: str = ""

    @classmethod
    def of(cls, model: ModelInfo, choice: ModelChoice, slot: str) -> Generation:
        """The generation of a loaded model."""
        return cls(
            fingerprint=model.generation,
            name=model.name,
            dimensions=model.dimensions,
            model=choice.model,
            precision=choice.precision,
            slot=slot,
        )

    @property
    def choice(self) -> ModelChoice:
        """How its model is asked for."""
        return ModelChoice(self.model, self.precision)

    @property
    def suffix(self) -> str:
        """The end of the names of its index, collection and actors."""
        return f"-{self.slot}" if self.slot else ""


@dataclass(frozen=True, slots=True)
class Generations:
    """The state. Each method gives the state after one step; it raises nothing and does nothing."""

    active: Generation
    next: Generation | None = None
    leaving: tuple[Generation, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """The fingerprints whose vectors are kept."""
        return (self.active.fingerprint, *((self.next.fingerprint,) if self.next else ()))

    def begun(self, next: Generation) -> Generations:
        """`next` is being made."""
        return replace(self, next=next)

    def switched(self) -> Generations:
        """The next generation answers from now on; the former one leaves."""
        assert self.next is not None
        return Generations(self.next, None, (*self.leaving, self.active))

    def cancelled(self) -> Generations:
        """The next generation leaves."""
        assert self.next is not None
        return Generations(self.active, None, (*self.leaving, self.next))

    def removed(self, gone: Generation) -> Generations:
        """Nothing is left of the index of `gone`."""
        return replace(self, leaving=tuple(generation for generation in self.leaving if generation.slot != gone.slot))

    def with_active(self, active: Generation) -> Generations:
        """The model that a node finds by itself has changed: its index is made anew in the same place."""
        if self.next is not None and self.next.fingerprint == active.fingerprint:
            return replace(self.cancelled(), active=active)
        return replace(self, active=active)


class GenerationFile:
    """The state as it is on disk. `directory` is the data directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE

    def read(self) -> Generations | None:
        """The state, None for a node that has none yet. Raises DataLoss when the file is damaged, FailedPrecondition
        when a newer version wrote it."""
        try:
            stored = json.loads(self.path.read_text("utf-8"))
            refuse_newer(FORMAT, stored["format"], self.path)
            next_ = stored["next"]
            return Generations(
                Generation(**stored["active"]),
                None if next_ is None else Generation(**next_),
                tuple(Generation(**row) for row in stored["leaving"]),
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            way_out = "delete it, and start with the model that the memories are embedded with: no memory is lost"
            raise lost(self.path, f"is damaged ({error}); {way_out}. Another model makes the index anew") from error

    def write(self, state: Generations) -> None:
        """Replace the file, durably. Raises Unavailable when the disk does not take it; the old one stands then."""
        value: dict[str, Any] = {"format": FORMAT, **asdict(state)}
        try:
            replace_file(self.path, json.dumps(value, indent=1) + "\n")
        except OSError as error:
            raise Unavailable(f"{self.path} can not be written: {error}", part="embedder") from error
