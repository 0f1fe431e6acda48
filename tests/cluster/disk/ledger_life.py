"""A process that lives a ledger's life in a child, again and again, so a child can be killed or fail alone.

Standard input: `live DIRECTORY` forks a child that waits for SIGUSR1 (a tracer attaches meanwhile), opens the
directory, takes all steps and closes it. `check DIRECTORY` forks a child that judges the directory of another. The
answers are the child's pid, and its exit status after the end. A child writes to `DIRECTORY/said`:

- done N: step N is acknowledged
- error N ...: step N was refused, and is tried again
- readable N: after the refusal everything is there as before the step
- written N: after the refusal everything is there as after the step
- half N: neither
- closed: the ledger was closed
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "kernel"))  # the builders of the ledger's own tests

from ledger_builders import Home
from ledger_steps import state_of, steps, view_of

from mnemesh_actors.ledger.integrity.scrub import ViewComparison
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.values.errors import MnemeshError

TRIES = 4
STEPS_AFTER_ERROR = 2
FAILED = 1
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)


def main() -> None:
    """Answer until the input ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    known = _known_states()
    for line in sys.stdin:
        word, path = line.rstrip("\n").split(" ", 1)
        directory = Path(path)
        work: Callable[[], int] = (
            (lambda at=directory: live(at, known)) if word == "live" else (lambda at=directory: check(at, known))
        )
        pid = os.fork()
        if pid == 0:
            _child(directory, work)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _child(directory: Path, work: Callable[[], int]) -> None:
    """Never returns."""
    status = FAILED
    try:
        directory.mkdir(exist_ok=True)
        said = os.open(directory / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        status = work()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)


def say(text: str) -> None:
    """One line, out of this process before anything else happens."""
    os.write(1, text.encode() + b"\n")


# ---- living ---------------------------------------------------------------------------------------------------


def live(directory: Path, known: list[dict[str, Any]]) -> int:
    """Take all steps, or STEPS_AFTER_ERROR after one that was refused. An error must be one of ours, and a step must
    succeed when it is tried again."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    signal.sigwait({signal.SIGUSR1})
    ledger = _opened(directory)
    left = len(known)
    for number, step in enumerate(steps()):
        if _take(ledger, number, step.take, known) > 1:
            left = STEPS_AFTER_ERROR + 1
        left -= 1
        if not left:
            break
    _closed(ledger)
    say("closed")
    return 0


def _opened(directory: Path) -> Ledger:
    for _ in range(TRIES):
        try:
            return Home.at(directory / "data").open()
        except MnemeshError as error:
            say(f"error open {type(error).__name__} {error}")
    raise AssertionError("the ledger does not open")


def _take(ledger: Ledger, number: int, take: Callable[[Ledger], None], known: list[dict[str, Any]]) -> int:
    """How often it was tried."""
    for tries in range(1, TRIES + 1):
        try:
            take(ledger)
        except MnemeshError as error:
            say(f"error {number} {type(error).__name__} {error}")
            found = state_of(ledger)
            word = "readable" if found == known[number] else "written" if found == known[number + 1] else "half"
            say(f"{word} {number}")
        else:
            say(f"done {number}")
            return tries
    raise AssertionError(f"step {number} is never taken")


def _closed(ledger: Ledger) -> None:
    try:
        ledger.close()
    except MnemeshError as error:
        say(f"error close {type(error).__name__} {error}")


# ---- judging --------------------------------------------------------------------------------------------------


def check(directory: Path, known: list[dict[str, Any]]) -> int:
    """Print a judgement as JSON, and go on from there to the end.

    `acknowledged` counts steps, `lost` says whether an acknowledged step is missing, `half` why a step is visible in
    part, `beyond` whether an unanswered step is there.
    """
    told = (directory / "said").read_text("utf-8").splitlines()
    acknowledged = sum(line.startswith("done ") for line in told)
    ledger = Home.at(directory / "data").open()
    found = state_of(ledger)
    here = [number for number, state in enumerate(known) if state == found]
    lost = bool(here) and max(here) < acknowledged
    half = "" if here else f"after {acknowledged} steps: {_difference(found, known, acknowledged)}"
    if here and not lost and max(here) > acknowledged + 1:
        half = f"{acknowledged} steps were acknowledged, {max(here)} are there"
    if differing := list(ViewComparison(ledger._db).damaged()):
        half = half or f"the scrub finds {differing}"
    if alarms := ledger.status().alarms:
        half = half or f"an alarm without damage: {alarms}"
    shown = view_of(ledger)
    ledger.rebuild_view()
    if view_of(ledger) != shown:
        half = half or "the view is not what follows from the log"
    for step in steps()[acknowledged:]:
        step.take(ledger)
    if state_of(ledger) != known[-1]:
        half = half or f"goes on differently: {_difference(state_of(ledger), known, len(known) - 1)}"
    ledger.close()
    beyond = bool(here) and max(here) == acknowledged + 1
    (directory / "found").write_text(
        json.dumps({"acknowledged": acknowledged, "lost": lost, "half": half, "beyond": beyond})
    )
    return 0


def _difference(found: dict[str, Any], known: list[dict[str, Any]], number: int) -> str:
    expected = known[min(number, len(known) - 1)]
    return "; ".join(f"{key} is {found[key]}, not {expected[key]}" for key in found if found[key] != expected[key])


def _known_states() -> list[dict[str, Any]]:
    """The states after no step, after the first, and so on."""
    with tempfile.TemporaryDirectory(prefix="mnemesh-steps-") as path, Home.at(Path(path) / "data").opened() as ledger:
        states = [state_of(ledger)]
        for step in steps():
            step.take(ledger)
            states.append(state_of(ledger))
    return states


if __name__ == "__main__":
    main()
