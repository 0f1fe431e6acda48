"""The files of small changes to the embedder's weights (`mnemesh_actors.models.changed_weights`), written and read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from bench.training.pair_reader import Tree, base
from numpy.typing import NDArray


def rounded(changes: Tree) -> Tree:
    """The changes as the file holds them: all but a head in half precision."""
    halves = jax.tree_util.tree_map(
        lambda values: np.asarray(values, np.float16), {part: changes[part] for part in ("lora", "plus")}
    )
    found: Tree = jax.tree_util.tree_map(lambda values: np.asarray(values, np.float32), halves)
    head = changes.get("head")
    return found if head is None else {**found, "head": {part: np.asarray(head[part], np.float32) for part in head}}


def write(changes: Tree, target: Path, described: Mapping[str, Any]) -> None:
    """Write the changes with what the file says of itself."""
    with base().path.open("rb") as file:
        told = {"base": hashlib.file_digest(file, "sha256").hexdigest(), **described}
    arrays: dict[str, NDArray[Any]] = {"meta": np.frombuffer(json.dumps(told).encode(), np.uint8)}
    for name, change in changes["lora"].items():
        arrays |= {f"{name}.{side}": np.asarray(change[side], np.float16) for side in ("a", "b")}
    arrays |= {f"{name}.plus": np.asarray(values, np.float16) for name, values in changes["plus"].items()}
    arrays |= {f"head.{part}": np.asarray(values, np.float32) for part, values in changes.get("head", {}).items()}
    np.savez_compressed(target, allow_pickle=False, **arrays)


def read(source: Path) -> Tree:
    """The changes of a file that `write` has written."""
    with np.load(source) as file:
        arrays = {name: np.asarray(file[name], np.float32) for name in file.files if name != "meta"}
    found: Tree = {"lora": {}, "plus": {}, "head": {}}
    for name, values in arrays.items():
        if name.startswith("head."):
            found["head"][name.removeprefix("head.")] = values
        elif name.endswith(".plus"):
            found["plus"][name.removesuffix(".plus")] = values
        else:
            found["lora"].setdefault(name[:-2], {})[name[-1]] = values
    return found
