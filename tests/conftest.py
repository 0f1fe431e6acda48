"""Property tests everywhere: without deadlines, and with a blob that runs a failed example again.

A shared machine may pause for longer than hypothesis expects. A fresh clone builds tables of characters before the
first example. Ctrl-C reaches every child: a shell starts what it puts in the background with that signal ignored.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("mnemesh", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mnemesh")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
