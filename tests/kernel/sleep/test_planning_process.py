"""The child that plans: it answers as the node itself would, and a child that is gone is begun anew."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from plain_memories import plain_memory
from structlog.testing import capture_logs

from mnemesh_actors.astrocytes import planning_process
from mnemesh_actors.astrocytes.astrocyte import SMALL, Astrocyte
from mnemesh_actors.astrocytes.planning_process import PlanningProcess
from mnemesh_actors.runtime.local import LocalHandle
from mnemesh_memory.consolidation.portions import plan
from mnemesh_memory.consolidation.steps import PROMOTE, Portion
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Memory, Source

CORPUS = Path(__file__).resolve().parents[2] / "data" / "sleep" / "consistent.jsonl"


@pytest.fixture
def child() -> Iterator[PlanningProcess]:
    with closing(PlanningProcess()) as process:
        yield process


def portion(groups: int) -> Portion:
    """Groups of episodes that agree, each the neighbour of the others of its group."""
    memories: dict[str, Memory] = {}
    near = {}
    for number, line in enumerate(CORPUS.read_text("utf-8").splitlines()[:groups]):
        ids = [f"{number:02d}-{place}" for place, _ in enumerate(json.loads(line)["texts"])]
        for place, text in enumerate(json.loads(line)["texts"]):
            source = Source(session=f"s{place}")
            memories[ids[place]] = plain_memory(ids[place], text, number, space="team", kind="episode", source=source)
            near[ids[place]] = tuple((other, 0.9) for other in ids if other != ids[place])
    return Portion(space="team", principal="a", domain="general", fresh=tuple(memories), memories=memories, near=near)


def test_a_plan_of_the_child_is_that_of_the_node(child: PlanningProcess) -> None:
    asked = portion(20)
    assert len(asked.fresh) >= SMALL
    planned = child.plan(asked)
    assert planned == plan(asked)
    assert any(step.action == PROMOTE for step in planned.steps)


def test_a_child_that_was_killed_is_begun_anew(child: PlanningProcess) -> None:
    asked = portion(2)
    child.plan(asked)
    assert child._child is not None
    first = child._child.pid
    os.kill(first, signal.SIGKILL)
    assert child.plan(asked) == plan(asked)
    assert child._child.pid != first


def test_a_child_runs_no_code_of_the_working_directory(
    child: PlanningProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mnemesh_actors").mkdir()
    (tmp_path / "mnemesh_actors" / "__init__.py").write_text("raise SystemExit('a stranger')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked = portion(2)
    assert child.plan(asked) == plan(asked)


def test_no_program_begins_a_module_that_the_working_directory_could_replace() -> None:
    root = Path(__file__).resolve().parents[3]
    sources = [path for top in ("actors", "gateway", "client") for path in (root / top).rglob("*.py")]
    assert len(sources) > 100
    begun = re.compile(r'(executable|"python"\)), *"-m"')
    assert [path.name for path in sources if begun.search(path.read_text("utf-8"))] == []


def test_an_interrupt_of_the_terminal_is_left_to_the_node() -> None:
    words = (
        "import os, signal",
        "from mnemesh_actors.runtime.low_priority import step_down",
        "step_down()",
        "os.kill(os.getpid(), signal.SIGINT)",
        "print('still here')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(words)], capture_output=True, text=True, check=True)
    assert done.stdout == "still here\n"


def test_an_error_of_a_plan_is_that_of_the_node(child: PlanningProcess) -> None:
    with pytest.raises(AttributeError):
        child.plan("no portion")  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [["/no/such/program"], [sys.executable, "-P", "-c", "raise SystemExit(3)"]])
def test_the_node_plans_when_no_child_can(
    child: PlanningProcess, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning_process, "command", lambda module: words)
    monkeypatch.setattr(planning_process, "END_S", 60.0)
    asked = portion(2)
    with capture_logs() as told:
        assert child.plan(asked) == plan(asked)
    assert {line["status"] for line in told} == {3 if len(words) > 1 else "not begun"}


def test_the_node_plans_when_the_child_runs_another_version(
    child: PlanningProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = (
        "import pickle, sys; sys.stdout.buffer.write(b'cmnemesh_memory.values\\nNoSuchThing\\n.'); sys.stdout.flush()"
    )
    monkeypatch.setattr(planning_process, "command", lambda module: [sys.executable, "-P", "-c", other])
    asked = portion(2)
    assert child.plan(asked) == plan(asked)


@pytest.mark.parametrize("weight", [1, 100_000])  # more than a pipe holds, too
def test_a_child_that_stalls_is_ended(child: PlanningProcess, weight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_process, "PLAN_S", 0.1)
    os.kill(child.start(), signal.SIGSTOP)
    with pytest.raises(Unavailable, match="took longer than"):
        child.plan(replace(portion(1), principal="a" * weight))
    assert child._child is None


async def test_the_end_of_a_node_waits_for_no_child_that_stalls() -> None:
    worker: LocalHandle[Astrocyte] = LocalHandle("astrocyte-0")
    await worker.construct(Astrocyte)
    os.kill(worker._actor._child.start(), signal.SIGSTOP)
    plans = [asyncio.create_task(worker.plan(portion(20))) for _ in range(2)]
    await asyncio.sleep(0)
    await worker.shut()
    for outcome in await asyncio.gather(*plans, return_exceptions=True):
        assert isinstance(outcome, Unavailable)


def test_a_child_that_has_rested_leaves_no_zombie(child: PlanningProcess) -> None:
    child.plan(portion(2))
    assert child._child is not None
    os.kill(child._child.pid, signal.SIGTERM)
    for thread in threading.enumerate():
        if thread.name == "planning-child":
            thread.join(60)
    with pytest.raises(ProcessLookupError):
        os.kill(child._child.pid, 0)


def test_a_worker_of_the_node_plans_a_large_portion_in_its_child_and_ends_the_child() -> None:
    worker = Astrocyte()
    small, large = portion(1), portion(20)
    assert worker.plan(small) == plan(small)
    assert worker._child is not None
    assert worker._child._child is None
    assert worker.plan(large) == plan(large)
    begun = worker._child._child
    assert begun is not None
    worker.close()
    assert begun.poll() is not None
