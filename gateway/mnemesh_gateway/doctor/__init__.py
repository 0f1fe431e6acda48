"""`mnemesh doctor`: faults of a node's directory, settings and installation, and how to mend them.

Reads only, and works whether a node runs or not. Prints every finding with its fix, then where each setting's value
comes from. Exit code 0 healthy or remarks alone, 1 findings, 2 bad usage.
"""

from mnemesh_gateway.doctor.report import main

__all__ = ["main"]
