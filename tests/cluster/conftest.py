"""Nodes that end with their test, and the builders of the ledger's own tests."""

from __future__ import annotations

import sys
from pathlib import Path

from node_process import nodes as nodes

sys.path.append(str(Path(__file__).parents[1] / "kernel"))
