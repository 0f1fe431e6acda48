"""One writer in a process of its own: `python -m bench.lost_updates.node_writer DATA_DIR SEED WRITER`.

Standard input holds the ids of the shared memories as a JSON list. Every acknowledged write is one JSON line on
standard output, printed after the answer came. A write with a lost answer is repeated with its key until an answer
comes: the node is killed meanwhile, and comes back.
"""

from __future__ import annotations

import json
import sys
import time

from bench.lost_updates.load import SPACE, Write, plan

from mnemesh import Client
from mnemesh.api.values.writes import Updated
from mnemesh.errors import DeadlineExceeded, NotReachable, Overloaded, Unauthenticated

ANSWER_S = 180.0
CALL_S = 15.0
PAUSE_S = 0.1
# Ends of a call while its node is dead or starts: the address and token are read anew each time.
AGAIN = (DeadlineExceeded, NotReachable, Overloaded, Unauthenticated)


def main(argv: list[str]) -> int:
    """0 when every write was acknowledged."""
    data_dir, seed, writer = argv[0], int(argv[1]), int(argv[2])
    shared: list[str] = json.load(sys.stdin)
    with Client(data_dir=data_dir, agent=f"writer-{writer}", space=SPACE, timeout_s=CALL_S) as client:
        for write in plan(seed, writer):
            tries, done = _until_answered(client, write, shared)
            told = {"number": write.number, "id": done.memory.id, "replayed": done.replayed, "tries": tries}
            print(json.dumps(told), flush=True)
    return 0


def _until_answered(client: Client, write: Write, shared: list[str]) -> tuple[int, Updated]:
    deadline = time.monotonic() + ANSWER_S
    tries = 0
    while True:
        tries += 1
        try:
            if write.shared is None:
                return tries, client.remember(write.text, idempotency_key=write.key)
            return tries, client.update(shared[write.shared], content=write.text, idempotency_key=write.key)
        except AGAIN:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
