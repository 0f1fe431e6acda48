"""One settings file of a host on disk: read and written whole, through symbolic links, or refused with the reason."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from mnemesh.errors import why

BYTES_MAX: Final = 32 * 1024 * 1024


class RefusedFile(Exception):
    """A file that can't be read or must not be written. The message says which and why."""


class SettingsFile(NamedTuple):
    """The bytes of a file, None for a missing one. `real` is where its symbolic links lead."""

    path: Path
    real: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """The text, "" for a missing file. Raises RefusedFile."""
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise RefusedFile(f"{self.path} was left as it is: {why(error)}") from None


def read_file(path: Path) -> SettingsFile:
    """The file at `path`. Raises RefusedFile."""
    real = Path(os.path.realpath(path))
    try:
        state = real.stat()
        if not stat.S_ISREG(state.st_mode):
            raise RefusedFile(f"{path} is no regular file")
        if state.st_size > BYTES_MAX:
            raise RefusedFile(f"{path} has more than {BYTES_MAX} bytes")
        return SettingsFile(path, real, real.read_bytes())
    except FileNotFoundError:
        return SettingsFile(path, real, None)
    except OSError as error:
        raise RefusedFile(f"{path} can't be read: {why(error)}") from error


def check_writable(file: SettingsFile) -> None:
    """Raises RefusedFile for a file that is read-only or another user's, and for a folder that takes no file."""
    try:
        if file.data is not None:
            state = file.real.stat()
            if state.st_uid != os.geteuid():
                raise RefusedFile(f"{file.path} belongs to another user")
            if not state.st_mode & 0o222 or not os.access(file.real, os.W_OK):
                raise RefusedFile(f"{file.path} is read-only; `chmod u+w` it to have it changed")
        folder = next(place for place in file.real.parents if place.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise RefusedFile(f"{folder}, the folder of {file.path}, takes no new file")
    except OSError as error:
        raise RefusedFile(f"{file.path} can't be looked at: {why(error)}") from error


def write_file(file: SettingsFile, data: bytes | None) -> list[str]:
    """Replace the file in one step, or remove it for None. The folders that had to be made. Raises RefusedFile when it
    changed since it was read."""
    if read_file(file.path).data != file.data:
        raise RefusedFile(f"{file.path} changed in this moment; run the command again")
    try:
        if data is None:
            file.real.unlink(missing_ok=True)
            return []
        made = [str(place) for place in file.real.parents if not place.exists()]
        file.real.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(file.real.stat().st_mode) if file.data is not None else _new_mode()
        handle, temporary = tempfile.mkstemp(prefix=f".{file.real.name}.", dir=file.real.parent)
        try:
            with open(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, file.real)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise RefusedFile(f"{file.path} can't be written: {why(error)}") from error
    return made


def _new_mode() -> int:
    """The mode of a new file by the user's mask."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
