"""A child of low priority that plans, so that the node's interpreter stays with whoever waits for an answer.

    python -m mnemesh_actors.astrocytes.planning_process

Portions come in and proposals go out, as pickles between two processes of one node. The child ends with its parent, and
after REST_S without a portion. A plan that was lost with its child is made again by another child, and then by the node
itself. A child that takes longer than PLAN_S is ended.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

import structlog

from mnemesh_actors.runtime.low_priority import command, step_down
from mnemesh_memory.consolidation.portions import plan
from mnemesh_memory.consolidation.steps import Portion, Proposal
from mnemesh_memory.values.errors import Unavailable

REST_S: Final = 10.0
PLAN_S: Final = 60.0  # A memory takes about 1 ms.
END_S: Final = 1.0  # From the closed pipe of a child to its end.
CHILDREN_MAX: Final = 2  # A plan asks no more children.
# A child that has ended, or runs other code than the node since an upgrade.
UNABLE: Final = (OSError, EOFError, AttributeError, ImportError, pickle.UnpicklingError)
log = structlog.get_logger("mnemesh.sleep")


class PlanningProcess:
    """At most one child, begun with the first plan."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._beginning = threading.Lock()
        self._interrupted = False

    def plan(self, portion: Portion) -> Proposal:
        """The steps for a portion. The node plans when no child can. Raises Unavailable when a child takes too long,
        and after `interrupt`."""
        for _ in range(CHILDREN_MAX):
            try:
                return self._asked(portion)
            except UNABLE as error:
                if status := self._status():  # 0: it had rested
                    log.warning("planning_child_ended", status=status, reason=str(error) or type(error).__name__)
        return plan(portion)

    def start(self) -> int:
        """Begin the child, unless there is one. Its process id."""
        return self._begun().pid

    def _begun(self) -> subprocess.Popen[bytes]:
        with self._beginning:
            if self._interrupted:
                raise Unavailable("the process that plans was ended with its node", part="astrocyte")
            if self._child is None:
                self._child = subprocess.Popen(command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                # A child that ends while nobody asks leaves no zombie.
                threading.Thread(target=self._child.wait, name="planning-child", daemon=True).start()
            return self._child

    def _asked(self, portion: Portion) -> Proposal:
        child = self._begun()
        assert child.stdin is not None
        assert child.stdout is not None
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            child.kill()  # a full pipe and an empty one both let go

        clock = threading.Timer(PLAN_S, end)
        clock.daemon = True
        clock.start()
        try:
            pickle.dump(portion, child.stdin, pickle.HIGHEST_PROTOCOL)
            child.stdin.flush()
            proposal = pickle.load(child.stdout)
        except UNABLE:
            if not overdue.is_set():
                raise
            self.close()
            log.warning("planning_child_overdue", seconds_max=PLAN_S)
            raise Unavailable(f"the process that plans took longer than {PLAN_S:g} s", part="astrocyte") from None
        finally:
            clock.cancel()
        assert isinstance(proposal, Proposal)
        return proposal

    def _status(self) -> int | str:
        """End the child. Its exit status, and "not begun" without a child."""
        if (child := self._child) is None:
            return "not begun"
        with suppress(subprocess.TimeoutExpired):
            child.wait(END_S)
        self.close()
        return child.returncode

    def interrupt(self) -> None:
        """End the child and the plan under way, out of any thread. No other child is begun."""
        with self._beginning:
            self._interrupted = True
            if (child := self._child) is not None:
                child.kill()

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
