"""The register of installations in the data directory: each changed file, its bytes before, and a digest of its bytes
after. One process at a time holds it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mnemesh.hooks.installation.settings_file import RefusedFile

FOLDER: Final = "hosts"
REGISTER: Final = "register.json"


@dataclass(frozen=True, slots=True)
class RegisterEntry:
    """An installation in one file. `project` is "" for the user's own file."""

    host: str
    kind: str
    project: str
    # Digest of the bytes that were written.
    installed: str
    # Whether there was a file before. Its bytes lie beside the register.
    existed: bool
    # Folders that the installation made, the innermost first.
    folders: list[str]


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class Register:
    """Entries by the path of their files. Changes are on disk when a method returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            rows = json.loads((folder / REGISTER).read_text("utf-8"))
            self.entries = {path: RegisterEntry(**row) for path, row in rows.items()}
        except FileNotFoundError:
            self.entries = {}
        except (ValueError, TypeError, AttributeError) as error:
            raise RefusedFile(f"{folder / REGISTER} is damaged: {error}; delete it to begin anew") from error

    def original(self, path: str) -> bytes | None:
        """The bytes of a registered file before the installation; None when there was none."""
        return self._kept(path).read_bytes() if self.entries[path].existed else None

    def add(self, path: str, entry: RegisterEntry, original: bytes | None) -> None:
        """Note an installation before it is carried out."""
        if original is not None:
            self._write(self._kept(path), original)
        self.entries[path] = entry
        self._save()

    def remove(self, path: str) -> None:
        """Forget an installation that was taken back."""
        del self.entries[path]
        self._save()
        self._kept(path).unlink(missing_ok=True)

    def _kept(self, path: str) -> Path:
        return self._folder / f"{digest(os.fsencode(path))[:16]}-{Path(path).name}"

    def _save(self) -> None:
        rows = {path: asdict(entry) for path, entry in sorted(self.entries.items())}
        self._write(self._folder / REGISTER, json.dumps(rows, indent=1).encode())

    def _write(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(path.name + ".tmp")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)


@contextmanager
def held_register(data_dir: Path, *, only_read: bool) -> Iterator[Register]:
    """The register of `data_dir`, which no other process changes meanwhile unless it is only read."""
    folder = data_dir / FOLDER
    if only_read:
        yield Register(folder)
        return
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    with open(folder / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Register(folder)
