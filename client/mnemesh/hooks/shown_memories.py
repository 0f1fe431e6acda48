"""The memories that a session has been shown, an id a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mnemesh.hooks.session_file import SessionFile

FOLDER: Final = "hosts/sessions"
IDS_MAX: Final = 1_000


class ShownMemories(SessionFile):
    """The ids of one session. A session without an id is shown memories again."""

    def __init__(self, data_dir: Path, host: str, session: str) -> None:
        super().__init__(data_dir / FOLDER, host, session)

    def ids(self) -> frozenset[str]:
        """The memories that the session has been shown."""
        return frozenset(self.lines()[-IDS_MAX:])

    def add(self, ids: Iterable[str]) -> None:
        """Note more."""
        self.append(ids)
