"""The items that an import has stored already. A later run goes on from there.

An append-only file of idempotency keys, one a line, each followed by the id of its memory, if any. A key is written
only after the node has acknowledged. A half-written last line is no key and does no harm, because a second storing of
its item changes nothing. A file that begins with anything else is somebody's, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from mnemesh.errors import InvalidArgument, why
from mnemesh.importing.items import KEY_PREFIX

# The mark of an item once its links lead to the new ids.
DONE: Final = "links-"
ID_CHARS: Final = 36
BEGINNINGS: Final = (KEY_PREFIX, DONE + KEY_PREFIX)


class ImportState:
    """The keys in the file `path`, which is made when the first one is added. Raises InvalidArgument when it can't
    be read or written. Without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: TextIO | None = None
        self._keys: dict[str, str] = {}
        if path is not None:
            try:
                text = path.read_text("utf-8")
            except FileNotFoundError:
                text = ""
            except (OSError, UnicodeDecodeError) as error:
                raise _unusable(path, error) from error
            first = text.lstrip().partition("\n")[0]
            # The first line may be a half-written one.
            if not any(first.startswith(begin) or begin.startswith(first) for begin in BEGINNINGS):
                raise InvalidArgument("--state", str(path), "a file that an import has written, or none yet")
            lines = (line.partition(" ") for line in text.splitlines())
            self._keys = {key: id_ for key, _, id_ in lines if key and len(id_) in (0, ID_CHARS)}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def id_of(self, key: str) -> str:
        """The memory that the item with this key became; "" when that was not noted."""
        return self._keys.get(key, "")

    def add(self, keys: Mapping[str, str] | Iterable[str]) -> None:
        """Note that the items with these keys are stored. Of a mapping, each as the memory with that id."""
        ids = keys if isinstance(keys, Mapping) else dict.fromkeys(keys, "")
        fresh = {key: id_ for key, id_ in ids.items() if key not in self._keys}
        if self.path is None or not fresh:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._file = self.path.open("a", encoding="utf-8")
                self._file.write("\n")  # ends a line that an earlier run left half-written
            self._file.write("".join(f"{key} {id_}".rstrip() + "\n" for key, id_ in fresh.items()))
            self._file.flush()
        except OSError as error:
            raise _unusable(self.path, error) from error
        self._keys.update(fresh)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def _unusable(path: Path, error: OSError | UnicodeDecodeError) -> InvalidArgument:
    return InvalidArgument("--state", str(path), f"a file that can be read and written ({why(error)})")
