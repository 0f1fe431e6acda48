"""As bench.nodes.mixed_host, but nothing follows the log except the index, to measure recall alone: verdicts on 300,000
memories of an import take an hour."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from unittest.mock import patch

from bench.host import serve
from bench.nodes.mixed_host import MixedRuntime

from mnemesh_actors.consumers.consumer import ConsumerRunner

if __name__ == "__main__":
    with patch.object(ConsumerRunner, "start"):
        asyncio.run(serve(Path(sys.argv[1]), MixedRuntime()))
