"""Whether this Python was built without optimisation, as pyenv does unless it is told otherwise.

Such a build runs Python's own code in 1.5 to 1.7 times the time (3.11 on one machine). `make` runs this as a program,
with `-I` by any Python, to choose one. The exit code is 0 for a good Python and PLAIN for a slow one, BARE without
pip's bootstrap, and something else for an unusable one. It imports the standard library alone.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any, Final

OLDEST: Final = (3, 11)
PLAIN: Final = 10
BARE: Final = 11
TOO_OLD: Final = 12


def plainly_built(variables: Mapping[str, Any]) -> bool:
    """Whether CPython's own build (`variables` as in `sysconfig.get_config_vars`) left its profile out. Debian's recipe
    asks for the profile without `configure`, and so records no flag that would use one. Windows records nothing."""
    arguments = str(variables.get("CONFIG_ARGS") or "")
    return bool(variables.get("PGO_PROF_USE_FLAG")) and "--enable-optimizations" not in arguments


def verdict() -> int:
    """The exit code for the Python that runs this."""
    if sys.version_info < OLDEST:
        return TOO_OLD
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        return BARE
    return PLAIN if plainly_built(sysconfig.get_config_vars()) else 0


if __name__ == "__main__":
    sys.exit(verdict())
