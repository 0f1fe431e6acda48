"""A ledger that dies, or whose disk fails, at every single moment: nothing acknowledged is lost, nothing is half there.

The n-th system call is hit for n = 1, 2, ... until a life ends unharmed, so no moment is left out. The life begins with
an empty directory and has every kind of write, ours (`commit`, `erase`, `keep_vectors`) and a peer's (`take_in`).
Afterwards the ledger must be as after the last acknowledged step, or as after the step under way. The view must follow
from the log, and the steps must go on to the same end.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from signal import SIGKILL
from threading import Lock

import pytest
from fault_injection import Lives, need_strace
from ledger_steps import steps

SIDE_BY_SIDE = 2
# More would mean that the load does not end.
CALLS_MAX = 5_000
LEDGER_FILES = ("0.sqlite", "0.sqlite-wal", "0.sqlite-shm", "0.lock")
# The findings of a hit at the n-th call, or None when there was no such call any more.
Hit = Callable[[Lives, Path, int], Counter[str] | None]

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]


@pytest.fixture
def lives() -> Iterator[list[Lives]]:
    need_strace()
    with ExitStack() as started:
        yield [started.enter_context(Lives()) for _ in range(SIDE_BY_SIDE)]


def sweep(lives: list[Lives], folder: Path, hit: Hit, first: int = 1, step: int = 1) -> Counter[str]:
    """Hit call `first`, and every `step`th later call, each in a directory of its own, until none is left.

    The sum of the findings, with the number of `hits` and the `seconds` of all.
    """
    numbers = count(first, step)
    ends: set[int] = set()
    figures: Counter[str] = Counter()
    writing = Lock()
    began = time.monotonic()

    def work(one: Lives) -> None:
        while not ends and (number := next(numbers)) < CALLS_MAX:
            directory = folder / str(number)
            directory.mkdir()
            try:
                found = hit(one, directory, number)
            except BaseException:  # boundary: the other worker is told to end, then raised again
                ends.add(number)
                raise
            if found is None:
                ends.add(number)
                return
            with writing:
                figures.update(found, hits=1)
            shutil.rmtree(directory)

    with ThreadPoolExecutor(len(lives)) as both:
        list(both.map(work, lives))
    assert ends, f"after {CALLS_MAX} calls the load has not ended"
    figures["seconds"] = round(time.monotonic() - began)
    return figures


# Of the many writes every tenth, from a place that chance gives: they lie between two of the others.
@pytest.mark.parametrize(("call", "step"), [("fdatasync", 1), ("fsync", 1), ("ftruncate", 1), ("pwrite64", 10)])
def test_a_kill_at_any_call_that_reaches_the_disk_loses_nothing_acknowledged(
    lives: list[Lives], tmp_path: Path, call: str, step: int
) -> None:
    first = random.SystemRandom().randint(1, step)

    def kill(one: Lives, directory: Path, number: int) -> Counter[str] | None:
        lived = one.live(directory, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
        if lived.status == 0:
            assert lived.count("done") == len(steps())
            return None
        assert lived.status == -SIGKILL, lived.said
        found = one.check(directory)
        assert not found["lost"], f"kill at {call} {number}: an acknowledged step is lost"
        assert not found["half"], f"kill at {call} {number}: {found['half']}"
        return Counter(acknowledged=found["acknowledged"], beyond=found["beyond"])

    figures = sweep(lives, tmp_path, kill, first, step)
    print(
        f"SIGKILL at {figures['hits']} {call}, from {first} by {step}: {figures['acknowledged']} steps acknowledged, "
        f"lost 0, half-visible 0, the step under way wholly there {figures['beyond']} times; {figures['seconds']} s"
    )
    assert figures["hits"] > 0


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("call", ["fdatasync", "fsync", "ftruncate", "write", "pwrite64"])
def test_a_disk_that_fails_at_any_call_gives_an_error_and_never_an_acknowledgement(
    lives: list[Lives], tmp_path: Path, call: str, error: str
) -> None:
    def fail(one: Lives, directory: Path, number: int) -> Counter[str] | None:
        folder = directory / "data" / "ledger"
        only = [word for name in LEDGER_FILES for word in ("-P", str(folder / name))]
        lived = one.live(directory, *only, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}")
        assert lived.status == 0, f"{error} at {call} {number}: {lived.said}"
        assert lived.count("half") == 0, f"{error} at {call} {number}: {lived.said}"
        if not lived.hit:
            assert lived.count("done") == len(steps())
            return None
        found = one.check(directory)
        assert not found["lost"], f"{error} at {call} {number}: an acknowledged step is lost"
        assert not found["half"], f"{error} at {call} {number}: {found['half']}"
        return Counter(
            acknowledged=found["acknowledged"], errors=lived.count("error"), written=lived.count("written"),
            readable=lived.count("readable") + lived.count("written"),
        )  # fmt: skip

    figures = sweep(lives, tmp_path, fail)
    print(
        f"{error} at {call} 1..{figures['hits']} of the ledger's files: {figures['errors']} refused, "
        f"{figures['readable']} times readable after, {figures['written']} refused steps were there; "
        f"{figures['acknowledged']} steps acknowledged, lost 0, half-visible 0; {figures['seconds']} s"
    )
    assert figures["hits"] > 0


def test_no_step_is_acknowledged_while_a_byte_of_its_log_is_not_synced(lives: list[Lives], tmp_path: Path) -> None:
    lived = lives[0].live(tmp_path, "-y", "-e", "trace=pwrite64,fdatasync,write")
    assert lived.status == 0
    unsynced = synced = acknowledged = 0
    for line in (tmp_path / "trace").read_text("utf-8", "replace").splitlines():
        call, _, rest = line.partition("(")
        if call == "write" and '"done ' in rest:
            assert unsynced == 0, f"{unsynced} writes are not synced: {line}"
            assert synced > 0, f"nothing was synced for it: {line}"
            acknowledged += 1
            synced = 0
        elif "0.sqlite-wal>" in rest:
            unsynced, synced = (unsynced + 1, synced) if call == "pwrite64" else (0, synced + 1)
    print(f"{acknowledged} steps acknowledged, each after its log was synced")
    assert acknowledged == len(steps())
