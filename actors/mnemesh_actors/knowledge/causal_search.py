"""The search for causes in a process of its own: the library takes 200 MB and seconds to load, and leaves with it.

    python -m mnemesh_actors.knowledge.causal_search < question > answer

The question is a JSON object with `rows` (0 and 1), `forbidden` edges and `alpha`. The answer has `directed` and
`undirected` edges as pairs of columns.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from contextlib import suppress
from typing import Any, Final

from mnemesh_actors.runtime.low_priority import command
from mnemesh_memory.graph.causes import ALPHA, Edge, WindowTable
from mnemesh_memory.values.errors import DeadlineExceeded, FailedPrecondition, Unavailable

LIBRARY: Final = "causallearn"
SEARCH_S: Final = 30.0


async def search(table: WindowTable) -> tuple[list[Edge], list[Edge]]:
    """Directed and undirected edges between the columns of a table. Raises FailedPrecondition without the library,
    Unavailable, DeadlineExceeded."""
    if importlib.util.find_spec(LIBRARY) is None:
        raise FailedPrecondition(
            "causal chains need the extra `sleep` on the node: pip install 'mnemesh[sleep]', then restart the node",
            field="name",
        )
    question = {"rows": table.present.astype(int).tolist(), "forbidden": table.forbidden, "alpha": ALPHA}
    process = await asyncio.create_subprocess_exec(
        *command(__name__), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(json.dumps(question).encode()), SEARCH_S)
    except TimeoutError:
        raise DeadlineExceeded(f"the search for causes took longer than {SEARCH_S:g} s", part="causes") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        raise Unavailable(f"the search for causes ended with {process.returncode}: {last[:200]}", part="causes")
    answer = json.loads(out)
    return [(one, other) for one, other in answer["directed"]], [(one, other) for one, other in answer["undirected"]]


def causal_edges(question: dict[str, Any]) -> dict[str, list[Edge]]:
    """The edges by the PC algorithm with G tests."""
    import numpy as np
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    rows = np.array(question["rows"], dtype=int)
    nodes = [GraphNode(f"X{column + 1}") for column in range(rows.shape[1])]
    order = BackgroundKnowledge()
    for cause, effect in question["forbidden"]:
        order.add_forbidden_by_node(nodes[cause], nodes[effect])
    marks = pc(rows, question["alpha"], "gsq", background_knowledge=order, show_progress=False).G.graph
    # marks[i, j] is the mark at i of the edge between i and j: -1 a tail, 1 a head.
    pairs = [(i, j) for i in range(len(nodes)) for j in range(len(nodes)) if marks[i, j]]
    return {
        "directed": [(i, j) for i, j in pairs if marks[i, j] == -1 and marks[j, i] == 1],
        "undirected": [(i, j) for i, j in pairs if i < j and marks[i, j] == marks[j, i]],
    }


if __name__ == "__main__":
    print(json.dumps(causal_edges(json.loads(sys.stdin.read()))))
