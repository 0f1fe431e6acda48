"""Why a change from elsewhere does not enter its document."""

from __future__ import annotations


class Refused(Exception):
    """The change must not enter its document; `reason` says why, for the quarantine."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
