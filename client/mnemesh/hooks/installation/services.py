"""The files by which the system of a user starts the node, mines at intervals and makes backups: systemd or launchd.

The last line of a file has a mark with the hash of the lines before. So a file that somebody has edited, or that was
there before, is neither replaced nor removed.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mnemesh.hooks.installation.settings_file import RefusedFile
from mnemesh.hooks.kept.notes import MINING_ON

NODE: Final = "node"
MINE: Final = "mine"
BACKUP: Final = "backup"
MINE_EVERY_MIN: Final = 30
FILE_BYTES_MAX: Final = 64 * 1024
WRITTEN, UNCHANGED, REMOVED, EDITED = "written", "unchanged", "removed", "left out"
WANTS: Final = ("default.target.wants", "timers.target.wants")
MARK: Final = "Made by mnemesh service"
_MARKED: Final = re.compile(rb"(.*?)(?:# |<!-- )Made by mnemesh service ([0-9a-f]{16})(?: -->)?\n", re.DOTALL)
_UNIT: Final = """[Unit]
Description={title}
{condition}
[Service]
{service}{install}"""
_TIMER: Final = """[Unit]
Description={title}

[Timer]
{when}

[Install]
WantedBy=timers.target
"""
# The words of a program, the title, and the settings of its unit of systemd.
PROGRAMS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    NODE: (("up",), "Mnemesh: the memory of this user's agents"),
    MINE: (("mine", "now"), "Mnemesh: learn from the sessions of agents"),
    BACKUP: (("backup", "create"), "Mnemesh: a backup of the node"),
}
TIMERS: Final[Mapping[str, str]] = {
    MINE: f"OnStartupSec=10min\nOnUnitActiveSec={MINE_EVERY_MIN}min",
    BACKUP: "OnCalendar=weekly\nPersistent=true",
}


class ServiceFile(NamedTuple):
    """One file before and after a run; None for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def action(self) -> str:
        """In a word."""
        if self.before == self.after:
            return UNCHANGED if self.before is None or is_ours(self.before) else EDITED
        return REMOVED if self.after is None else WRITTEN


def folder_of(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    """The folder that the user's system reads. Raises RefusedFile where there is none."""
    if platform == "darwin":
        return home / "Library" / "LaunchAgents"
    if platform.startswith("linux"):
        return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
    raise RefusedFile(f"{platform} has neither systemd nor launchd; start `mnemesh up` in its own way")


def files_of(
    platform: str, program: str, data_dir: Path, names: Sequence[str], variables: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """The files for some of PROGRAMS by name, with variables of the environment. Raises RefusedFile for a path or value
    that no unit can hold."""
    variables = variables or {}
    for text in (program, str(data_dir), *variables.values()):
        if any(ord(ch) < 32 or ord(ch) == 127 for ch in text):
            raise RefusedFile(f"{text!r} has a character that no unit can hold")
    write = _launchd if platform == "darwin" else _systemd
    return dict(item for name in names for item in write(name, program, str(data_dir), variables))


def planned(folder: Path, wanted: Mapping[str, bytes]) -> list[ServiceFile]:
    """The files of an installation. Raises RefusedFile for one that is somebody else's or was edited."""
    files = [ServiceFile(folder / name, _read(folder / name), text) for name, text in wanted.items()]
    for file in files:
        if file.before is not None and not is_ours(file.before):
            raise RefusedFile(f"{file.path} is not as `mnemesh service` wrote it; move it away first")
    return files


def removable(folder: Path, names: Sequence[str]) -> list[ServiceFile]:
    """The files of an earlier installation. One that was edited stays."""
    files = ((folder / name, _read(folder / name)) for name in names)
    return [
        ServiceFile(path, before, None if is_ours(before) else before) for path, before in files if before is not None
    ]


def carry_out(files: Sequence[ServiceFile]) -> None:
    """Write and remove. Folders that are empty then go as well. Raises OSError."""
    for file in files:
        if file.after is None:
            file.path.unlink(missing_ok=True)
            wants = [file.path.parent / name for name in WANTS]  # links that systemd made when it was enabled
            for link in (place / file.path.name for place in wants):
                if link.is_symlink():
                    link.unlink()
            for folder in (*wants, file.path.parent, file.path.parent.parent):
                with suppress(OSError):  # something else lies in it
                    os.rmdir(folder)
        elif file.after != file.before:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.path.with_name(f".{file.path.name}.{os.getpid()}.tmp")
            temporary.write_bytes(file.after)
            os.replace(temporary, file.path)


def commands_of(platform: str, folder: Path, names: Sequence[str], *, gone: bool) -> list[str]:
    """The commands for a person, after an installation or after its end."""
    if platform == "darwin" and gone:
        return [f"launchctl bootout gui/$(id -u)/{name.removesuffix('.plist')}" for name in names]
    if platform == "darwin":
        return [f"launchctl bootstrap gui/$(id -u) {folder / name}" for name in names]
    units = " ".join(name for name in names if name.endswith(".timer") or name == "mnemesh-node.service")
    if gone:
        return [f"systemctl --user stop {units}", "systemctl --user daemon-reload"]
    return ["systemctl --user daemon-reload", f"systemctl --user enable --now {units}"]


def is_ours(data: bytes) -> bool:
    """Whether a file is as this module wrote it."""
    match = _MARKED.fullmatch(data)
    return match is not None and match[2].decode() == _hash(match[1])


def _systemd(name: str, program: str, data_dir: str, variables: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    words, title = PROGRAMS[name]
    command = " ".join(_quoted(word).replace("$", "$$") for word in (program, *words, "--data", data_dir))
    environment = "".join(f"Environment={_quoted(f'{key}={value}')}\n" for key, value in variables.items())
    if name == NODE:
        service = f"{environment}ExecStart={command}\nRestart=on-failure\nRestartSec=30\n"
        install = "\n[Install]\nWantedBy=default.target\n"
        unit = _UNIT.format(title=title, condition="", service=service, install=install)
        yield f"mnemesh-{name}.service", _marked(unit, "# {}\n")
        return
    service = f"Type=oneshot\n{environment}ExecStart={command}\nNice=10\n"
    condition = ""
    if name == MINE:  # Mining that is off is not run. A node that is not reached loses nothing: the next run reads on.
        condition = f"ConditionPathExists={data_dir.replace('%', '%%')}/{MINING_ON}\n"
        service += "SuccessExitStatus=3\n"
    unit = _UNIT.format(title=title, condition=condition, service=service, install="")
    yield f"mnemesh-{name}.service", _marked(unit, "# {}\n")
    yield f"mnemesh-{name}.timer", _marked(_TIMER.format(title=title, when=TIMERS[name]), "# {}\n")


def _launchd(name: str, program: str, data_dir: str, variables: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    words, _ = PROGRAMS[name]
    about: dict[str, Any] = {"Label": f"mnemesh.{name}", "ProgramArguments": [program, *words, "--data", data_dir]}
    if variables:
        about["EnvironmentVariables"] = dict(variables)
    if name == NODE:
        about |= {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 30}
    elif name == MINE:
        about |= {"StartInterval": MINE_EVERY_MIN * 60, "ProcessType": "Background"}
    else:
        about |= {"StartCalendarInterval": {"Weekday": 1, "Hour": 4, "Minute": 0}, "ProcessType": "Background"}
    yield f"mnemesh.{name}.plist", _marked(plistlib.dumps(about).decode(), "<!-- {} -->\n")


def _quoted(word: str) -> str:
    """A word of a unit: systemd reads quotes, backslashes and `%` in it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _marked(text: str, form: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return data + form.format(f"{MARK} {_hash(data)}").encode()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _read(path: Path) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(FILE_BYTES_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RefusedFile(f"{path} can't be read: {error.strerror}") from None
