"""Requests made from the schema of the HTTP door, valid and not: every one answered as the schema says.

`make schema-cases` installs schemathesis beside the project and runs this file. A node of its own runs meanwhile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES_MIN = 2000
TIMEOUT_S = 1200


def main(schemathesis: str) -> int:
    """The exit status of schemathesis, or 1 when it made too few requests."""
    from mnemesh.local import ensure_node, stop_node
    from mnemesh_proto.rendezvous import read_token

    with tempfile.TemporaryDirectory() as place:
        data_dir = Path(place)
        ports = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        command = (sys.executable, "-P", "-m", "mnemesh_gateway", "up", *ports)
        node = ensure_node(data_dir, command=command)
        try:
            done = subprocess.run(
                [schemathesis, "run", f"http://{node.http}/v1/openapi.json", "--header",
                 f"Authorization: Bearer {read_token(data_dir)}", "--mode", "all", "--phases", "fuzzing,coverage",
                 "--max-examples", "5", "--seed", "1", "--request-timeout", "20", "--exclude-path", "/v1/watch",
                 "--no-color"],
                env={**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(ROOT / "tools")},
                stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, cwd=data_dir,
            )  # fmt: skip
        finally:
            stop_node(data_dir)
    print(done.stdout[-8000:])
    made = re.search(r"(\d+) generated", done.stdout)
    if made is None or int(made[1]) < CASES_MIN:
        print(f"schemathesis made fewer than {CASES_MIN} requests", file=sys.stderr)
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
