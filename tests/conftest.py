"""Property tests everywhere: a shared machine may pause for longer than hypothesis expects, in an example and while it
draws one (a fresh clone builds its tables of characters first), and what failed can be run again."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("mnemesh", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mnemesh")
