"""`python -m bench.speed.hook_times`: the time that a host waits for a hook at a prompt and at a session's start.

A node with 1,000 memories of the project corpus answers. Each round has a recall over an open HTTP connection, the hook
`UserPromptSubmit` with the same question, and the hook `SessionStart`. A hook runs in a process of its own, as hosts
start hooks. The calls take turns, so that a busy machine slows all. The figures are medians by the clock. The hook at a
prompt stands beside a recall and 40 ms, the hook at a session's start beside four recalls and 40 ms.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.command_start import ENVIRON
from bench.node import NodeProcess
from bench.texts.corpora import TEAM

from mnemesh import Client

ROUNDS: Final = 21
MEMORIES: Final = 1_000
SPACE: Final = "bench/hooks"
PROJECT: Final = TEAM.parent / "project"
MS: Final = 1_000
START_MS: Final = 40.0
RECALLS_MAX: Final = 4.0
CALL_TIMEOUT_S: Final = 30.0


def rows(name: str) -> list[dict[str, Any]]:
    """The lines of a file of the project corpus."""
    return [json.loads(line) for line in (PROJECT / name).read_text("utf-8").splitlines()]


def clock_ms(work: Callable[[], None]) -> float:
    """The time of `work` by the clock, in milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * MS


def hook(event: str, told: dict[str, str], project: Path, data_dir: Path) -> None:
    """Run a hook as Claude Code does. Raises CalledProcessError when it does not end well."""
    command = (sys.executable, "-m", "mnemesh", "hook", "claude-code", event, "--data", str(data_dir))
    event_in = json.dumps({"hook_event_name": event, "cwd": str(project), **told}).encode()
    subprocess.run(
        command, input=event_in, stdout=subprocess.DEVNULL, cwd=project, env=ENVIRON, check=True, timeout=CALL_TIMEOUT_S
    )


def recall(connection: http.client.HTTPConnection, token: str, question: str) -> None:
    """One recall over the open connection. Raises RuntimeError when the node refuses it."""
    body = json.dumps({"query": question, "spaces": [SPACE]})
    connection.request("POST", "/v1/recall", body, {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != http.client.OK:
        raise RuntimeError(f"recall answered {answer.status}: {said[:200]!r}")


def medians(node: NodeProcess, project: Path, rounds: int) -> dict[str, float]:
    """The median time of each call in milliseconds, after a round of warming up."""
    questions = [row["question"] for row in rows("questions.jsonl") if row["label"] == "answerable"]
    host, _, port = node.address.http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=CALL_TIMEOUT_S)
    times: dict[str, list[float]] = {}
    for number, question in enumerate(questions[: rounds + 1]):
        session = {"session_id": f"bench-{number}"}
        prompt = {**session, "prompt": question}
        begun = {**session, "source": "startup"}
        turn: dict[str, Callable[[], None]] = {
            "recall over HTTP": partial(recall, connection, node.token, question),
            "UserPromptSubmit": partial(hook, "UserPromptSubmit", prompt, project, node.data_dir),
            "SessionStart": partial(hook, "SessionStart", begun, project, node.data_dir),
        }
        for name, work in turn.items():
            times.setdefault(name, []).append(clock_ms(work))
    return {name: statistics.median(samples[1:]) for name, samples in times.items()}


def main(argv: Sequence[str]) -> int:
    """Print the times; 1 when one is above its limit."""
    parser = argparse.ArgumentParser(description="Hooks of a host beside a recall over HTTP, by the clock.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args(argv).rounds
    with tempfile.TemporaryDirectory(prefix="mnemesh-bench-") as folder:
        data_dir, project = Path(folder) / "data", Path(folder) / "project"
        project.mkdir()
        (project / ".mnemesh.toml").write_text(f'space = "{SPACE}"\n', "utf-8")
        with NodeProcess(data_dir) as node:
            with Client(node.address.grpc, node.token) as client:
                memories = rows("memories.jsonl")[:MEMORIES]
                client.remember_batch(
                    [{"content": row["content"], "space": SPACE} for row in memories], judge_at_rest=True
                )
            times = medians(node, project, rounds)
    for name, taken in times.items():
        print(f"{name}: {taken:.1f} ms, median of {rounds}")
    recalled = times["recall over HTTP"]
    more = times["UserPromptSubmit"] - recalled
    recalls = (times["SessionStart"] - START_MS) / recalled
    print(f"UserPromptSubmit: a recall and {more:.1f} ms (at most {START_MS:g} ms)")
    print(f"SessionStart: {recalls:.1f} recalls and {START_MS:g} ms (at most {RECALLS_MAX:g} recalls)")
    return 1 if more > START_MS or recalls > RECALLS_MAX else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
