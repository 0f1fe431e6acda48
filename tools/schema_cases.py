"""Requests made from the schema of the HTTP door, valid and not: every one answered as the schema says.

`make schema-cases` installs schemathesis beside the project and runs this file; `make schema-few` makes fewer requests.
A node of its own runs meanwhile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 1200
# Phases, examples of an operation and requests at least: of the whole run, and of the few in every check.
WHOLE = ("fuzzing,coverage", 5, 2000)
FEW = ("fuzzing", 5, 300)


def main(schemathesis: str, few: bool) -> int:
    """The exit status of schemathesis, or 1 when it made too few requests."""
    from mnemesh.transport.local_node import ensure_node, stop_node
    from mnemesh_proto.rendezvous import read_token

    phases, examples, requests_min = FEW if few else WHOLE
    with tempfile.TemporaryDirectory() as place:
        data_dir = Path(place)
        ports = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        command = (sys.executable, "-P", "-m", "mnemesh_gateway", "up", *ports)
        node = ensure_node(data_dir, command=command)
        try:
            done = subprocess.run(
                [str(Path(schemathesis).absolute()), "run", f"http://{node.http}/v1/openapi.json", "--header",
                 f"Authorization: Bearer {read_token(data_dir)}", "--mode", "all", "--phases", phases,
                 "--max-examples", str(examples), "--suppress-health-check", "too_slow", "--seed", "1",
                 "--request-timeout", "20", "--exclude-path", "/v1/watch", "--no-color"],
                env={**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(ROOT / "tools")},
                stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, cwd=data_dir,
            )  # fmt: skip
        finally:
            stop_node(data_dir)
    print(done.stdout)
    made = re.search(r"(\d+) generated", done.stdout)
    if made is None or int(made[1]) < requests_min:
        print(f"schemathesis made fewer than {requests_min} requests", file=sys.stderr)
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], few="few" in sys.argv[2:]))
