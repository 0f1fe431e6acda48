"""The memories that a session has been shown, an id a line, behind it the marks by which a quotation is known."""

from __future__ import annotations

from mnemesh.hooks.kept.session_file import SessionFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

IDS_MAX: Final = 1_000


class ShownMemories(SessionFile):
    """The ids of one session. A session without an id is shown memories again."""

    folder = "hosts/sessions"

    def ids(self) -> frozenset[str]:
        """The memories that the session has been shown."""
        return frozenset(self.marked())

    def marked(self) -> dict[str, frozenset[str]]:
        """The same, with the marks of each text."""
        parts = (line.partition(":") for line in self.lines()[-IDS_MAX:])
        return {id_: frozenset(filter(None, marks.split(","))) for id_, _, marks in parts}

    def add(self, ids: list[str], block: str = "") -> None:
        """Note more, which stand in `block`."""
        from mnemesh.hooks.kept.text_marks import with_marks  # most prompts bring nothing new

        self.append(with_marks(ids, block))
