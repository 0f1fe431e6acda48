"""The same search done three ways in one process, in turns: our index, qdrant-client's local mode, numpy with bm25s.

All three get the same texts and the same vectors, which the node has made and kept; only the search is timed. Ours and
Qdrant's filter by space, numpy searches everything it has.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench.compared.plain import NAME, PlainSearch
from bench.nodes.stored import kept, open_shard
from bench.report import Row, median_row
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from mnemesh_actors.index.bm25 import Bm25Encoder
from mnemesh_actors.index.shard import RetrievalShard
from mnemesh_actors.models import EmbeddingWorker, ModelConfig
from mnemesh_actors.recall.search_calls import search_of
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.text.traits import question_of
from mnemesh_memory.values.model import Query

OURS = "Mnemesh's index"
LOCAL = "qdrant-client local mode"
CANDIDATES = 100
COLLECTION = "memories"
LOAD_BATCH = 500
WARM_UP = 3
LOCAL_QUERIES_MAX = 40

Vector = NDArray[np.float32]


def measure(questions: Sequence[str], data_dir: Path, space: str) -> list[Row]:
    """Search the memories of `space` in `data_dir`, the directory of a stopped node."""
    texts, vectors = kept(data_dir, space)
    worker = EmbeddingWorker(ModelConfig(download=False))
    worker.load()
    asked = list(zip(questions, worker.embed_questions(list(questions)), strict=True))
    worker.close()
    shard = open_shard(data_dir)
    rows = side_by_side(shard, (texts, vectors), asked, space)
    shard.close()
    return rows


def side_by_side(
    shard: RetrievalShard,
    held: tuple[Sequence[str], Vector],
    asked: Sequence[tuple[str, Vector]],
    space: str,
    *,
    local: bool = True,
) -> list[Row]:
    """Time of each rival to answer `asked`, pairs of a question and its vector. The shard and the others hold the same
    texts and vectors, `held`. `local`: with Qdrant's local mode."""
    texts, vectors = held
    plain = PlainSearch(texts, vectors)
    ways: dict[str, Callable[[str, Vector], object]] = {
        OURS: lambda text, vector: _ours(shard, text, vector, space),
        NAME: lambda text, vector: plain.search(text, vector),
    }
    client, load_rate = _local_mode(texts, vectors, space) if local else (None, 0.0)
    if client is not None:
        ways[LOCAL] = partial(_local_search, client, space)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number, (text, vector) in enumerate(asked):
        for name, search in ways.items():
            if name == LOCAL and number >= LOCAL_QUERIES_MAX:
                continue
            began = time.perf_counter()
            search(text, vector)
            if number >= WARM_UP:
                times[name].append((time.perf_counter() - began) * 1000)
    rows = [median_row(f"search of {len(texts):,}: {name}", rounds, "ms") for name, rounds in times.items()]
    if client is not None:
        client.close()
        ratio = statistics.median(times[LOCAL]) / statistics.median(times[OURS])
        rows.append(median_row(f"our index against {LOCAL}, {len(texts):,}", [ratio], "x faster"))
        rows.append(median_row(f"loading {len(texts):,} vectors into {LOCAL}", [load_rate], "points/s"))
    return rows


def _ours(shard: RetrievalShard, text: str, vector: Vector, space: str) -> object:
    """The searches of recall in the index, and the order from their results."""
    search = search_of(Query(text=text, spaces=(space,)), shard.generation, None, late=False)
    return fuse(shard.search(replace(search, vector=vector)), question=question_of(text))[:10]


def _local_mode(texts: Sequence[str], vectors: Vector, space: str) -> tuple[QdrantClient, float]:
    """A loaded local-mode client in memory, and how many points a second it took."""
    client = QdrantClient(":memory:")
    client.create_collection(
        COLLECTION,
        vectors_config={"dense": models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)},
        sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    encoder = Bm25Encoder()
    began = time.perf_counter()
    for start in range(0, len(texts), LOAD_BATCH):
        points = []
        for number in range(start, min(start + LOAD_BATCH, len(texts))):
            words = encoder.document(texts[number])
            named = {
                "dense": vectors[number].tolist(),
                "bm25": models.SparseVector(indices=list(words.indices), values=list(words.values)),
            }
            points.append(models.PointStruct(id=number, vector=named, payload={"space": space}))
        client.upsert(COLLECTION, points)
    return client, len(texts) / (time.perf_counter() - began)


def _local_search(client: QdrantClient, space: str, text: str, vector: Vector) -> object:
    words = Bm25Encoder().query(text)
    only = models.Filter(must=[models.FieldCondition(key="space", match=models.MatchValue(value=space))])
    sparse = models.SparseVector(indices=list(words.indices), values=list(words.values))
    queries: list[tuple[str, Any]] = [("dense", vector.tolist()), ("bm25", sparse)]
    return client.query_batch_points(
        COLLECTION,
        [models.QueryRequest(query=query, using=name, filter=only, limit=CANDIDATES) for name, query in queries],
    )
