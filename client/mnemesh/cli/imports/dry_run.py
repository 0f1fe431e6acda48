"""The dry run of an import: every item is judged as in the real run. Stores nothing.

The node's own `check` judges while a node answers, for the first CHECKED_MAX items. The others, and all without a
node, are judged here by what the client can know: types, times, sizes, an empty text. The report says which it was.
"""

from __future__ import annotations

import math
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from mnemesh.api.batch import CONTENT_BYTES_MAX
from mnemesh.api.calls.writes import remember_request
from mnemesh.cli.imports.report import Report
from mnemesh.cli.imports.state import ImportState
from mnemesh.errors import InvalidArgument, MnemeshError, NotReachable, Overloaded
from mnemesh.importing.items import Entry

if TYPE_CHECKING:
    from mnemesh.api.client import Client

# Each check embeds the text: about 10 ms an item.
CHECKED_MAX: Final = 1000
BUSY_TRIES_MAX: Final = 20
BUSY_PAUSE_MIN_S: Final = 0.05
BUSY_PAUSE_MAX_S: Final = 5.0


@dataclass(slots=True)
class DryRun:
    """Judges items one after the other into `report`. `client` None: no node answers."""

    client: Client | None
    done: ImportState
    report: Report
    texts: set[tuple[object, str]] = field(default_factory=set)

    def look(self, file: str, entry: Entry) -> None:
        """Put `entry` of `file` where the real run would."""
        if str(entry.fields["idempotency_key"]) in self.done:
            self.report.done_before += 1
            return
        try:
            judge(entry.fields)
            is_there = self._is_there(entry.fields)
        except MnemeshError as error:
            self.report.outcome(file, entry.line, error)
            return
        text = entry.fields.get("space"), normal_form(str(entry.fields["content"]))
        if is_there or text in self.texts:
            self.report.already_there += 1
        else:
            self.texts.add(text)
            self.report.would_store(file, entry)

    def _is_there(self, fields: Mapping[str, Any]) -> bool:
        """Whether the node has the text already. Raises what it refuses."""
        if self.client is None or self.report.checked == CHECKED_MAX:
            self.report.judged_here += 1
            return False
        described = {name: value for name, value in fields.items() if name != "content"}
        for _ in range(BUSY_TRIES_MAX):
            try:
                action = self.client.check(fields["content"], **described).action
            except Overloaded as error:
                time.sleep(min(BUSY_PAUSE_MAX_S, max(BUSY_PAUSE_MIN_S, error.retry_after_s)))
            except NotReachable:
                self.client = None
                return self._is_there(fields)
            except MnemeshError:
                self.report.checked += 1
                raise
            else:
                self.report.checked += 1
                return action == "NOOP"
        raise Overloaded("the node is too busy to check this item")


def judge(fields: Mapping[str, Any]) -> None:
    """The facts of an item that need no node. Raises InvalidArgument."""
    request = remember_request(fields)
    size = len(request.content.encode())
    if not request.content.strip():
        raise InvalidArgument("content", request.content, f"1 to {CONTENT_BYTES_MAX} bytes of text, not only blanks")
    if size > CONTENT_BYTES_MAX:
        raise InvalidArgument("content", f"{size} bytes", f"at most {CONTENT_BYTES_MAX} bytes of UTF-8")
    if request.HasField("importance") and not (math.isfinite(request.importance) and 0 <= request.importance <= 1):
        raise InvalidArgument("importance", request.importance, "a number from 0 to 1")


def normal_form(text: str) -> str:
    """Equal for two texts that are one to the node, as by mnemesh_memory.text.text.normalise, which no client has."""
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    starts = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    alike = (len(set(chars)) == 1 for chars in zip(*starts, strict=False))
    shared = sum(1 for _ in takewhile(bool, alike))
    folded: list[str] = []
    for line in lines:
        words = line.split()
        indentation = line[shared : len(line) - len(line.lstrip())] if words else ""
        if words or (folded and folded[-1]):
            folded.append(indentation + " ".join(words))
    return "\n".join(folded).rstrip("\n")
