"""The log of a node on standard error: bounded, and of one form for the node's events and for libraries.

A line that comes again and again is written REPEATS_MAX times a minute and then counted. The file of a node in the
background is renamed when it is full, and LOG_FILES_OLD of the old ones stay.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO, cast

import structlog

from mnemesh_gateway.node.settings import Loaded
from mnemesh_proto.rendezvous import LOG_FILE

REPEATS_MAX: Final = 20
WINDOW_S: Final = 60.0
LINES_KNOWN_MAX: Final = 1_000
LOG_BYTES_MAX: Final = 8 * 1024 * 1024
LOG_FILES_OLD: Final = 2
KEY_CHARS: Final = 80
MORE: Final = "... and "
STDERR: Final = 2


@dataclass(slots=True)
class _Window:
    """A line: the start of its count, and the count."""

    since: float
    count: int = 0


class Repeats:
    """Which lines are written, and which are only counted. Called from any thread. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[str, _Window] = {}

    def admits(self, line: str) -> tuple[bool, list[str]]:
        """Whether to write `line` now, and reports of unwritten lines to say before it."""
        now = self._clock()
        if line.startswith(MORE):
            return True, []
        key = re.sub(r"0x[0-9a-f]+|[0-9]+", "0", line.partition("\n")[0])[:KEY_CHARS]
        with self._lock:
            lines = self._ended(now)
            if key not in self._windows and len(self._windows) >= LINES_KNOWN_MAX:
                key = "other lines"  # more kinds of lines than a node has: somebody makes them
            window = self._windows.setdefault(key, _Window(now))
            window.count += 1
            return window.count <= REPEATS_MAX, lines

    def flush(self) -> list[str]:
        """Reports of unwritten lines whose minute is over."""
        with self._lock:
            return self._ended(self._clock())

    def _ended(self, now: float) -> list[str]:
        # The windows stand in the order of their beginning, so the first that has not ended stops the walk.
        lines = []
        while self._windows:
            key, window = next(iter(self._windows.items()))
            if now - window.since < WINDOW_S:
                break
            del self._windows[key]
            if window.count > REPEATS_MAX:
                lines.append(f"{MORE}{window.count - REPEATS_MAX:,} more in {WINDOW_S:.0f} s: {key}")
        return lines


class LogFile:
    """Standard error as a stream of text. When standard error is the file at `path`, a file longer than LOG_BYTES_MAX
    is renamed. A new one takes its place, also for libraries that write past Python."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Write, and change over to a new file when this one is full."""
        with self._lock:
            written = self._stream.write(text)
            self._stream.flush()
            self._rotate_if_full()
        return written

    def flush(self) -> None:
        """Nothing is held back here."""

    def isatty(self) -> bool:
        """Whether a person reads along."""
        return self._stream.isatty()

    def _rotate_if_full(self) -> None:
        try:
            here, there = os.fstat(STDERR), self._path.stat()
            if here.st_size < LOG_BYTES_MAX or (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
                return
            for number in range(LOG_FILES_OLD, 0, -1):
                older = self._path.with_name(f"{self._path.name}.{number}")
                newer = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
                if newer.exists():
                    os.replace(newer, older)
            fresh = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                for number in (1, STDERR):
                    standard = os.fstat(number)
                    if (standard.st_dev, standard.st_ino) == (here.st_dev, here.st_ino):
                        os.dup2(fresh, number)
            finally:
                os.close(fresh)
        except OSError:
            return  # the next line tries again, and this one is written


def say(lines: list[str]) -> None:
    """Write lines about lines."""
    log = structlog.get_logger("mnemesh.log")
    for line in lines:
        log.warning(line)


def configure(loaded: Loaded) -> Callable[[], None]:
    """Give standard error one form, for the node and for the libraries in it. The function that comes back tells how
    often repeated lines came: call it now and then, and at the end."""
    repeats = Repeats()
    level = getattr(logging, loaded.settings.log_level.upper())
    stream = cast(TextIO, LogFile(sys.stderr, loaded.data_dir / LOG_FILE))
    # Tracebacks name places only: the values of variables are people's memories, and what was refused as a secret.
    last: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if loaded.settings.log_format == "json"
        else [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        ]
    )
    stamped: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]

    def bounded(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        admitted, lines = repeats.admits(str(event.get("event")))
        say(lines)
        if not admitted:
            raise structlog.DropEvent
        return event

    def bounded_record(record: logging.LogRecord) -> bool:
        if record.exc_info and type(record.exc_info[1]).__name__ == "ClientDisconnect":
            return False  # a client went away: no fault of the node (by name, as starlette is not loaded yet)
        admitted, lines = repeats.admits(f"{record.name}: {record.getMessage()}")
        say(lines)
        return admitted

    handler = logging.StreamHandler(stream)
    handler.addFilter(bounded_record)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *stamped],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler])
    logging.captureWarnings(True)
    structlog.configure(
        processors=[bounded, structlog.contextvars.merge_contextvars, *stamped, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    return lambda: say(repeats.flush())
