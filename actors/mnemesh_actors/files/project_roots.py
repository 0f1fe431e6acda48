"""The folders of a space's project on this machine, as the owner's own clients name them with their calls.

One project may have several: work trees, clones. The latest come first. `roots.json` in the data directory keeps them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import structlog

from mnemesh_memory.access import grants
from mnemesh_memory.values.model import Caller

FILE: Final = "roots.json"
ROOTS_MAX: Final = 8  # Of one space.
SPACES_MAX: Final = 1_000
ROOT_CHARS_MAX: Final = 1_024
# A folder without one of these is no project.
MARKS: Final = (".git", ".mnemesh.toml")
log = structlog.get_logger("mnemesh.files")


class ProjectRoots:
    """The book of one node. Without a directory nothing outlives the process."""

    def __init__(self, home: Path | None = None) -> None:
        self._file = home / FILE if home else None
        self._roots = self._read()

    def of(self, space: str) -> tuple[str, ...]:
        """The folders of a space, the latest first."""
        return self._roots.get(space, ())

    def items(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every space with its folders."""
        return list(self._roots.items())

    def teaches(self, caller: Caller) -> bool:
        """Whether a call names a folder that is not known as the latest. Only the node's owner names folders."""
        return bool(
            caller.root
            and caller.default_space
            and caller.role == grants.OWNER
            and self.of(caller.default_space)[:1] != (caller.root,)
        )

    def learn(self, space: str, root: str) -> None:
        """Note a folder of a space, if there is such a project."""
        if not os.path.isabs(root) or len(root) > ROOT_CHARS_MAX or os.path.normpath(root) != root:
            return
        if not any(os.path.exists(os.path.join(root, mark)) for mark in MARKS):
            return
        known = self._roots.pop(space, ())
        self._roots[space] = (root, *(one for one in known if one != root))[:ROOTS_MAX]
        while len(self._roots) > SPACES_MAX:
            del self._roots[next(iter(self._roots))]
        self._write()

    def _read(self) -> dict[str, tuple[str, ...]]:
        if self._file is None:
            return {}
        try:
            value = json.loads(self._file.read_text("utf-8"))
            return {str(space): tuple(map(str, roots)) for space, roots in value.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError) as error:  # the clients name them again
            log.warning("roots_not_read", file=str(self._file), reason=str(error))
            return {}

    def _write(self) -> None:
        if self._file is None:
            return
        temporary = self._file.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(self._roots, indent=1), "utf-8")
            os.replace(temporary, self._file)
        except OSError as error:
            log.warning("roots_not_kept", file=str(self._file), reason=str(error))
