"""The hash of a file below a root, as git gives it to the content. A file is read again only when its stat changed.

The guard of paths: a symbolic link that leads out of the root, a device and a pipe are never opened.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import OrderedDict
from threading import Lock
from typing import Final

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
CACHED_MAX: Final = 20_000
GONE: Final = ""
_Stat = tuple[int, int, int, int]


class FileStates:
    """The files that were looked at, by their real paths."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[_Stat, str]] = OrderedDict()
        self._lock = Lock()

    def hash_of(self, root: str, path: str) -> str | None:
        """The hash of the file, GONE when there is none, None when it can't be judged: outside of the root, no plain
        file, too large, not to be read."""
        base = os.path.realpath(root)
        real = os.path.realpath(os.path.join(base, path))
        if os.path.commonpath((base, real)) != base or real == base:
            return None
        try:
            found = os.stat(real, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return GONE
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
            return None
        mark = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        with self._lock:
            known = self._known.get(real)
            if known is not None and known[0] == mark:
                self._known.move_to_end(real)
                return known[1]
        return self._read(real, mark)

    def _read(self, real: str, mark: _Stat) -> str | None:
        try:
            with open(os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
        except OSError:
            return None
        if len(content) > FILE_BYTES_MAX:
            return None
        digest = blob_hash(content)
        with self._lock:
            self._known[real] = (mark, digest)
            while len(self._known) > CACHED_MAX:
                self._known.popitem(last=False)
        return digest


def blob_hash(content: bytes) -> str:
    """The name of this content as a git blob. It names content and proves nothing, so SHA-1 does."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
