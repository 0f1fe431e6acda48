"""The capture buffer of a session: files that its tools changed, and commands that failed. It feeds checkpoints.

A command is kept up to its first word that is no plain word. So no option, address, assignment or quoted text reaches
the disk, and no credential inside them.
"""

from __future__ import annotations

import os
import re

from mnemesh.hooks.kept.session_file import SessionFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

FILES_MAX: Final = 40
FAILURES_MAX: Final = 20
PATH_CHARS_MAX: Final = 400
# A checkpoint is stored after so many tool calls that changed a file or failed.
CHECKPOINT_EVERY: Final = 25
_FILE: Final = "file "
_FAILURE: Final = "failed "
_PLAIN_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,40}")
_COMMAND_WORDS_MAX: Final = 6
_PATH_NAMES: Final = ("file_path", "notebook_path", "path")


class Captured:
    """A buffer as it is read: each file and failure once, the latest last, and the number of calls."""

    __slots__ = ("calls", "failures", "files")

    def __init__(self, files: tuple[str, ...], failures: tuple[str, ...], calls: int) -> None:
        self.files = files
        self.failures = failures
        self.calls = calls


class CaptureBuffer(SessionFile):
    """The buffer of one session."""

    folder = "hosts/captures"

    def add(self, given: Mapping[str, Any], *, failed: bool) -> Captured:
        """Note a call of a tool by the host's JSON. The buffer then."""
        item = failure_of(given) if failed else file_of(given)
        if not item:
            return Captured((), (), 0)
        self.append([(_FAILURE if failed else _FILE) + item])
        return self.read()

    def read(self) -> Captured:
        """The buffer."""
        lines = self.lines()
        files = [line.removeprefix(_FILE) for line in lines if line.startswith(_FILE)]
        failures = [line.removeprefix(_FAILURE) for line in lines if line.startswith(_FAILURE)]
        return Captured(_last(files, FILES_MAX), _last(failures, FAILURES_MAX), len(lines))


def file_of(given: Mapping[str, Any]) -> str:
    """The file that a call reads or changed, "" for none."""
    asked = given.get("tool_input")
    places = (asked, given) if isinstance(asked, dict) else (given,)
    values = (place.get(name) for place in places for name in _PATH_NAMES)
    path = next((value for value in values if isinstance(value, str) and value), "")
    return relative(path, given.get("cwd"))


def paths_of(given: Mapping[str, Any], cwd: str, tree: str) -> list[str]:
    """The file of a call as memories name it: from the project's `tree`, then as `file_of` does. Each form once."""
    named = file_of(given)
    from_tree = relative(os.path.normpath(os.path.join(cwd, named)), tree) if named and tree else ""
    return list(dict.fromkeys(filter(None, (from_tree, named))))


def relative(path: str, folder: object) -> str:
    """`path` as seen from the folder of the session, on one line."""
    clean = "".join(ch for ch in path if ch.isprintable())[:PATH_CHARS_MAX]
    inside = isinstance(folder, str) and folder and clean.startswith(folder.rstrip("/") + "/")
    return clean[len(str(folder).rstrip("/")) + 1 :] if inside else clean


def failure_of(given: Mapping[str, Any]) -> str:
    """The plain words of a command that failed, "" for none."""
    asked = given.get("tool_input")
    command = asked.get("command") if isinstance(asked, dict) else None
    words: list[str] = []
    for word in command.split() if isinstance(command, str) else ():
        if not _PLAIN_WORD.fullmatch(word) or len(words) == _COMMAND_WORDS_MAX:
            break
        words.append(word)
    return " ".join(words)


def _last(items: list[str], most: int) -> tuple[str, ...]:
    """The last items, each once at its last place."""
    return tuple(reversed(dict.fromkeys(reversed(items))))[-most:]
