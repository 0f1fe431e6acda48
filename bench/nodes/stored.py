"""The data of a node: the index, texts and vectors of a stopped one, the segments of one that runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_actors.index.engine_port import EXACT_POINTS_MAX
from mnemesh_actors.index.engines.segment_files import segments_of
from mnemesh_actors.index.engines.segments import SEGMENT_SHARE, small_ones
from mnemesh_actors.index.shard import RetrievalShard, ShardConfig
from mnemesh_actors.storage.index_state import read_meta
from mnemesh_memory.text.text import content_hash

DIMENSIONS: Final = 384


def open_shard(data_dir: Path) -> RetrievalShard:
    """The node's index. Raises RuntimeError when there is none, or one of another version, which would be made anew."""
    folder = data_dir / "index" / "0"
    meta, why = read_meta(folder / "meta.json")
    if meta is None:
        raise RuntimeError(f"{folder}: {why}")
    shard = RetrievalShard(ShardConfig(str(folder), meta.generation, meta.dimensions, meta.incarnation))
    if rebuilt := shard.open().rebuilt:
        shard.close()
        raise RuntimeError(f"{folder} can not be used: {rebuilt}")
    return shard


def seals_left(index: Path) -> bool:
    """Whether a segment of the folder `index` is to be sealed or merged, or on its way."""
    try:
        segments = segments_of(index / "points")
    except FileNotFoundError:  # one is taking its place
        return True
    if sum(one.present for one in segments) <= EXACT_POINTS_MAX:
        return False
    full = int(EXACT_POINTS_MAX * SEGMENT_SHARE)
    return bool(small_ones(segments, full, DIMENSIONS)) or any(index.glob("points.next-*"))


def kept(data_dir: Path, space: str, states: str = "%") -> tuple[list[str], NDArray[np.float32]]:
    """The texts of `space` in the ledger, and their kept vectors, (n, dimensions). A search leaves out superseded
    memories, which verdicts at rest make, so exact search beside it takes the state `active` alone."""
    path = data_dir / "ledger" / "0.sqlite"
    asked = "SELECT content FROM memory WHERE space = ? AND state LIKE ? ORDER BY id"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        texts = [row[0] for row in db.execute(asked, (space, states))]
        vectors = dict(db.execute("SELECT hash, data FROM vector"))
    rows = [np.frombuffer(vectors[bytes.fromhex(content_hash(text))], np.float32) for text in texts]
    return texts, np.stack(rows)
