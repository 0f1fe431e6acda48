"""Mnemesh for Python: `from mnemesh import Client`, or `AsyncClient` under asyncio.

Importing this package costs milliseconds: gRPC and protobuf are loaded when a client is first named.
"""

from __future__ import annotations
