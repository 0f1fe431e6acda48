"""Stand-ins for one method of a part: it notes its calls, fails, or never answers. A process that is killed, and the
growth of a cost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def noted(patch: pytest.MonkeyPatch, owner: object, method: str) -> list[tuple[Any, ...]]:
    """The arguments of every call of `method` from now on. It answers as before."""
    calls: list[tuple[Any, ...]] = []
    usual = getattr(owner, method)

    def call(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return usual(*args, **named)

    patch.setitem(vars(owner), method, call)
    return calls


def failing(error: Exception) -> Callable[..., Awaitable[Any]]:
    async def fail(*_: Any) -> None:
        raise error

    return fail


@contextmanager
def any_umask() -> Iterator[None]:
    """A process whose umask lets everybody read and write."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


async def hanging(*_: Any) -> None:
    await asyncio.Event().wait()


def killed_in(code: str) -> None:
    """Run `code` in a process of its own, which ends where the code calls `die()`, as after a kill -9."""
    start = (
        f"import os, signal, sys; from pathlib import Path; sys.path[:0] = {sys.path!r}\n"
        "def die(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", start + code], cwd=Path(__file__).parent, timeout=60, check=False)
    assert child.returncode == -signal.SIGKILL


def grows_with_length(call: Callable[[str], object], quarter: str, whole: str, least_s: float) -> bool:
    """Whether a text takes far less than the square of its length. The best of two counts, because a busy machine
    spoils a measurement now and then. Below `least_s` nothing is compared."""

    def seconds(text: str) -> float:
        start = time.process_time()
        call(text)
        return time.process_time() - start

    def best(text: str) -> float:
        return min(seconds(text), seconds(text))

    return any(best(whole) < max(best(quarter), least_s) * 9 for _ in range(5))


def vector_traces(path: Path, *vectors: np.ndarray) -> set[str]:
    """Files with a vector: as it lies in memory, or as CBOR, in the log."""
    forms = [form for one in vectors for form in (one.tobytes(), b"".join(b"\xfa" + x.tobytes()[::-1] for x in one))]
    files = [file for file in path.rglob("*") if file.is_file()]
    return {file.name for file in files if any(form in file.read_bytes() for form in forms)}
