"""Questions that recall had no answer to, by who asked and in which space.

In memory only, because a question is no memory of anybody. Nobody else is shown a question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from mnemesh_memory.consolidation.steps import UNANSWERED, Gap

SPACES_MAX: Final = 1_000
QUESTIONS_MAX: Final = 50
QUESTION_CHARS: Final = 300


class UnansweredQuestions:
    """The latest such questions of each principal in each space, with how often each was asked."""

    def __init__(self) -> None:
        self._asked: OrderedDict[tuple[str, str], OrderedDict[str, int]] = OrderedDict()

    def note(self, principal: str, question: str, spaces: Sequence[str], *, abstained: bool) -> None:
        """Recall answered a question of a principal in these spaces, or abstained. An answered one is no gap any
        more."""
        if not abstained and not self._asked:
            return
        text = " ".join(question[:QUESTION_CHARS].split())
        for space in spaces:
            known = self._asked.get((principal, space))
            if not abstained:
                if known is not None:
                    known.pop(text, None)
                continue
            if known is None:
                known = self._asked[principal, space] = OrderedDict()
                if len(self._asked) > SPACES_MAX:
                    self._asked.popitem(last=False)
            known[text] = known.pop(text, 0) + 1
            if len(known) > QUESTIONS_MAX:
                known.popitem(last=False)

    def gaps(self, principal: str, space: str) -> list[Gap]:
        """The open questions of a principal in a space, the most asked first."""
        asked = sorted(self._asked.get((principal, space), {}).items(), key=lambda item: (-item[1], item[0]))
        return [Gap(type=UNANSWERED, text=text, count=count) for text, count in asked]
