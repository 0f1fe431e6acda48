"""Communities of the graph: nodes that have more edges between each other than chance gives.

The Leiden algorithm (Traag, Waltman and van Eck 2019) of igraph maximises modularity. The library stands in the extra
`sleep`. A community is named after its most connected entity, so the id stays while this entity does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemesh_memory.values.errors import FailedPrecondition

LIBRARY: Final = "igraph"
SEED: Final = 2019  # the same graph has the same communities
STEPS: Final = 10  # more change next to nothing
ID_CHARS: Final = 12


def require_library() -> None:
    """Raises FailedPrecondition without the library."""
    if importlib.util.find_spec(LIBRARY) is None:
        raise FailedPrecondition(
            "communities need the extra `sleep` on the node: pip install 'mnemesh[sleep]', then restart the node",
            field="community",
        )


def communities(
    nodes: int, ends: NDArray[np.int64], others: NDArray[np.int64], weights: NDArray[np.float64]
) -> list[int]:
    """The number of each node's community in a graph with an edge between `ends[i]` and `others[i]` for each i."""
    import igraph  # 20 MB that only this question needs

    graph = igraph.Graph(n=nodes, edges=np.stack((ends, others), axis=1).tolist())
    igraph.set_random_number_generator(random.Random(SEED))
    clustering = graph.community_leiden("modularity", weights=weights.tolist(), n_iterations=STEPS)
    return list(clustering.membership)


def community_id(key: str) -> str:
    """The id of the community around the entity with this key."""
    return f"c-{hashlib.sha256(key.encode()).hexdigest()[:ID_CHARS]}"
