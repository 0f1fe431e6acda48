"""`python -m mnemesh` is the command `mnemesh`."""

from __future__ import annotations

import sys

from mnemesh.entry import main

if __name__ == "__main__":
    sys.exit(main())
