"""Memory that was freed, given back to the system: glibc keeps it for the process otherwise."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Some 20 MB after a model was loaded, and the room of a model that was let go. Does nothing beside glibc."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
