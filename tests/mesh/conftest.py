from __future__ import annotations

from node_process import nodes as nodes
