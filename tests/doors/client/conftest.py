"""A recording node for every test of the clients and the command line that has no node of its own."""

from __future__ import annotations

from client_support import node as node
