"""`python -m bench.writing.mining`: precision and recall of transcript mining on labelled sessions, a table a half.

Each session becomes a session file, every second one in Codex's form, and the miner's reader reads the file. Nobody
tunes the rules on the half held_out, and its texts are never printed. Last comes the CPU time beside json.loads
of the same lines, with results of tools of 3,000 characters. Before it stand the sentences of forms.jsonl, half of them
rules by their form and half reports, alone in a session each. Rules are never tuned on those kept back.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from mnemesh.mining.sentence_rules.rules import CLASSES, CONVENTION
from mnemesh.mining.session import Extraction, MinedSession
from mnemesh.mining.transcript import EDITING_TOOLS, events_of

DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "mining"
# Sessions of the half `tuned` were written after the rules. Its first misses changed the rules.
HALVES: Final = ("given", "tuned", "traps", "fresh", "held_out")
FORMS: Final = ("tuned", "kept back")  # the parts of forms.jsonl
PRECISION_MIN: Final = 0.8
RECALL_MIN: Final = 0.5
COST_MAX: Final = 5.0
COST_BYTES: Final = 20 * 1024 * 1024
OUTPUT_CHARS: Final = 3_000  # of a tool's result in the lines that the cost is measured on
# Fields of a host's lines that say nothing to the miner.
HOST_FIELDS: Final = {
    "parentUuid": "0b6ff1c0-7c51-4b0e-9a57-5a6d4f0a6e11", "isSidechain": False, "userType": "external",
    "entrypoint": "cli", "version": "2.1.167", "gitBranch": "main",
}  # fmt: skip
AGENT_FIELDS: Final = {
    "id": "msg_01", "type": "message", "role": "assistant", "model": "a-model", "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "output_tokens": 329, "cache_read_input_tokens": 16679},
}  # fmt: skip
Turn = Sequence[Any]


def claude_lines(session: dict[str, Any]) -> Iterator[bytes]:
    """The session as Claude Code writes it."""
    base = {**HOST_FIELDS, "sessionId": session["id"], "cwd": session["cwd"], "timestamp": "2026-11-01T10:00:00.000Z"}
    for number, turn in enumerate(session["turns"]):
        yield from (
            json.dumps({**base, "uuid": f"u{number}", **record}).encode() + b"\n" for record in _claude(number, turn)
        )


def _claude(number: int, turn: Turn) -> Iterator[dict[str, Any]]:
    kind = turn[0]
    if kind == "tool":
        _, name, given, result, failed = turn
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result, "is_error": failed}
        yield {"type": "assistant", "message": {**AGENT_FIELDS, "content": [use]}}
        told = {"stdout": result, "stderr": "", "interrupted": False, "isImage": False}
        yield {"type": "user", "toolUseResult": told, "message": {"role": "user", "content": [answer]}}
    elif kind in ("assistant", "side"):
        block = {"type": "text", "text": turn[1]}
        aside = {"isSidechain": True, "agentId": "a1"} if kind == "side" else {}
        yield {"type": "assistant", **aside, "message": {**AGENT_FIELDS, "content": [block]}}
    else:
        marks = {"meta": {"isMeta": True}, "summary": {"isCompactSummary": True}}.get(kind, {})
        yield {"type": "user", **marks, "message": {"role": "user", "content": turn[1]}}


def codex_lines(session: dict[str, Any]) -> Iterator[bytes]:
    """The session as Codex writes it. Codex has neither meta lines nor words of sub-agents in the same file."""
    yield _codex("session_meta", {"id": session["id"], "cwd": session["cwd"]})
    for number, turn in enumerate(session["turns"]):
        kind = turn[0]
        if kind in ("user", "assistant"):
            block = {"type": "input_text" if kind == "user" else "output_text", "text": turn[1]}
            yield _codex("response_item", {"type": "message", "role": kind, "content": [block]})
        elif kind == "summary":
            yield _codex("compacted", {"message": turn[1]})
        elif kind == "tool":
            yield from _codex_call(f"c{number}", *turn[1:])


def _codex_call(id_: str, name: str, given: dict[str, Any], result: str, failed: bool) -> Iterator[bytes]:
    path = given.get("file_path") or given.get("notebook_path")
    if path and name in EDITING_TOOLS:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"
        yield _codex(
            "response_item", {"type": "custom_tool_call", "name": "apply_patch", "call_id": id_, "input": patch}
        )
        text = json.dumps({"output": result, "metadata": {"exit_code": int(failed)}})
        yield _codex("response_item", {"type": "custom_tool_call_output", "call_id": id_, "output": text})
        return
    command = given.get("command", f"cat {path}")
    arguments = json.dumps({"cmd": command})
    yield _codex(
        "response_item", {"type": "function_call", "name": "exec_command", "call_id": id_, "arguments": arguments}
    )
    text = f"Wall time: 0.1 seconds\nProcess exited with code {int(failed)}\nOutput:\n{result}"
    yield _codex("response_item", {"type": "function_call_output", "call_id": id_, "output": text})


def _codex(kind: str, payload: dict[str, Any]) -> bytes:
    return json.dumps({"timestamp": "2026-11-01T10:00:00.000Z", "type": kind, "payload": payload}).encode() + b"\n"


def mined(lines: Iterator[bytes]) -> list[Extraction]:
    """The findings of a session file."""
    session = MinedSession()
    for line in lines:
        session.take(events_of(line))
    return session.extractions()


class Tally:
    """The counts of one half."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.notes: list[str] = []

    def add(self, session: dict[str, Any], found: list[Extraction]) -> None:
        """Judge the findings of a session."""
        open_labels = [(class_, [term.lower() for term in terms]) for class_, terms in session["labels"]]
        self.labels.update(class_ for class_, _ in open_labels)
        met: set[int] = set()
        for extraction in found:
            fitting = [
                number for number, (class_, terms) in enumerate(open_labels)
                if class_ == extraction.class_ and all(term in extraction.text.lower() for term in terms)
            ]  # fmt: skip
            if not fitting:
                self.wrong[extraction.class_] += 1
                self.notes.append(f"{session['id']} wrong {extraction.class_}: {extraction.text}")
            met.update(fitting)
        for number, (class_, terms) in enumerate(open_labels):
            if number in met:
                self.right[class_] += 1
            else:
                self.notes.append(f"{session['id']} missed {class_}: {terms}")

    def figures(self, class_: str) -> tuple[float, float]:
        """Precision and recall of a class."""
        right = self.right[class_]
        return right / max(1, right + self.wrong[class_]), right / max(1, self.labels[class_])


def tally_of(half: str) -> Tally:
    """The counts of the sessions in a file of labelled sessions."""
    tally = Tally()
    for number, line in enumerate((DATA / f"{half}.jsonl").read_text("utf-8").splitlines()):
        session = json.loads(line)
        lines: Callable[[dict[str, Any]], Iterator[bytes]] = codex_lines if number % 2 else claude_lines
        tally.add(session, mined(lines(session)))
    return tally


def forms_tally(part: str) -> Tally:
    """The counts of the sentences of one part of forms.jsonl, each the only words of a session."""
    tally = Tally()
    for line in (DATA / "forms.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["half"] != part:
            continue
        labels = [[CONVENTION, [row["text"]]]] if row["label"] == CONVENTION else []
        session = {"id": part, "cwd": "~/src", "turns": [["user", row["text"]]], "labels": labels}
        tally.add(session, mined(claude_lines(session)))
    return tally


def cost() -> tuple[float, float]:
    """CPU seconds of mining lines, and of json.loads of the same lines."""
    sessions = [json.loads(line) for line in (DATA / "given.jsonl").read_text("utf-8").splitlines()]
    for session in sessions:
        for turn in session["turns"]:
            if turn[0] == "tool":
                turn[3] = (turn[3] + "\n") * max(1, OUTPUT_CHARS // (len(turn[3]) + 1))
    lines = [line for number, one in enumerate(sessions) for line in (codex_lines if number % 2 else claude_lines)(one)]
    lines *= max(1, COST_BYTES // sum(map(len, lines)))
    begun = time.process_time()
    for line in lines:
        json.loads(line)
    bare = time.process_time() - begun
    begun = time.process_time()
    session = MinedSession()
    for line in lines:
        session.take(events_of(line))
    session.extractions()
    return time.process_time() - begun, bare


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables. Ends with 1 below a floor."""
    parser = argparse.ArgumentParser(prog="bench.writing.mining", description=__doc__)
    parser.add_argument("--half", choices=HALVES, action="append", help="only this half")
    parser.add_argument("--notes", action="store_true", help="print what was missed or wrong, except on held_out")
    given = parser.parse_args(argv)
    console, below = Console(), False
    for half in given.half or HALVES:
        tally = tally_of(half)
        table = Table(
            "class", "labels", "right", "wrong", f"precision (>= {PRECISION_MIN})", f"recall (>= {RECALL_MIN})"
        )
        for class_ in CLASSES:
            precision, recall = tally.figures(class_)
            if not tally.labels[class_]:
                continue
            below |= precision < PRECISION_MIN or recall < RECALL_MIN
            counts = (tally.labels[class_], tally.right[class_], tally.wrong[class_])
            table.add_row(class_, *map(str, counts), f"{precision:.2f}", f"{recall:.2f}")
        console.print(f"[bold]{half}")
        console.print(table)
        if given.notes and half != "held_out":
            console.print(*tally.notes, sep="\n", markup=False)
    for part in () if given.half else FORMS:
        tally = forms_tally(part)
        precision, recall = tally.figures(CONVENTION)
        below |= precision < PRECISION_MIN or recall < RECALL_MIN
        wrong, labels = tally.wrong[CONVENTION], tally.labels[CONVENTION]
        console.print(f"forms, {part}: {labels} rules, {wrong} reports wrong, {precision:.2f} / {recall:.2f}")
    mining_s, bare_s = cost()
    console.print(f"CPU time: {mining_s:.2f} s, {mining_s / bare_s:.1f} x json.loads (at most {COST_MAX:.0f})")
    return int(below or mining_s > COST_MAX * bare_s)


if __name__ == "__main__":
    sys.exit(main())
