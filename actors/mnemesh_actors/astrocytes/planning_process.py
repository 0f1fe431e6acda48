"""A child of low priority that plans, so that the node's interpreter stays with whoever waits for an answer.

    python -m mnemesh_actors.astrocytes.planning_process

Portions come in and proposals go out, as pickles between two processes of one node. The child ends with its parent, and
after REST_S without a portion. A plan that was lost with its child is made again by another child.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from typing import Final

from mnemesh_actors.runtime.low_priority import command, step_down
from mnemesh_memory.consolidation.portions import plan
from mnemesh_memory.consolidation.steps import Portion, Proposal
from mnemesh_memory.values.errors import Unavailable

REST_S: Final = 10.0
CHILDREN_MAX: Final = 2  # of one plan


class PlanningProcess:
    """At most one child, begun with the first plan."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def plan(self, portion: Portion) -> Proposal:
        """The steps for a portion. Raises Unavailable when no child can plan."""
        reason = ""
        for _ in range(CHILDREN_MAX):
            try:
                return self._asked(portion)
            except (OSError, EOFError, pickle.UnpicklingError) as error:  # the child has ended, or ended meanwhile
                reason = str(error) or type(error).__name__
                self.close()
        raise Unavailable(f"the process that plans can't answer: {reason}", part="astrocyte")

    def start(self) -> int:
        """Begin the child, unless there is one. Its process id."""
        return self._begun().pid

    def _begun(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._child = subprocess.Popen(command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._child

    def _asked(self, portion: Portion) -> Proposal:
        child = self._begun()
        assert child.stdin is not None
        assert child.stdout is not None
        pickle.dump(portion, child.stdin, pickle.HIGHEST_PROTOCOL)
        child.stdin.flush()
        proposal = pickle.load(child.stdout)
        assert isinstance(proposal, Proposal)
        return proposal

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            child, self._child = self._child, None
            child.kill()
            child.communicate()


def serve() -> None:
    """Answer portion after portion."""
    step_down()
    portions, proposals = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a print of a library is no answer
    while select.select([portions], [], [], REST_S)[0]:
        try:
            portion = pickle.load(portions)
        except EOFError:
            return
        pickle.dump(plan(portion), proposals, pickle.HIGHEST_PROTOCOL)
        proposals.flush()


if __name__ == "__main__":
    serve()
