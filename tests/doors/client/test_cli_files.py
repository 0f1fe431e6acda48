"""`mnemesh import` and `mnemesh export` against a recording node: batches, going on, refusals, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_support import SECRET, TOKEN, WAIT_S, Failure, RecordingNode, serving

from mnemesh import entry, exit_status
from mnemesh.cli.imports import memories as importing
from mnemesh_memory.values.model import Memory

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def node(node: RecordingNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RecordingNode:
    """The node, asked from an empty directory."""
    monkeypatch.setattr(importing, "INDEX_POLL_S", 0.001)
    monkeypatch.setenv("MNEMESH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return node


@pytest.fixture
def cli(node: RecordingNode, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with --json; gives exit status and the object."""

    def run(command: str, *words: str) -> tuple[int, Any]:
        status = entry.main([command, "--json", "--endpoint", node.endpoint, "--token", TOKEN, *words])
        (line,) = capsys.readouterr().out.splitlines()
        return status, json.loads(line)

    return run


def lines(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps({"content": f"line {i}"}) + "\n" for i in range(count)))
    return path


def test_a_directory_is_stored_section_by_section_and_a_second_time_nothing(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("# A\n\none\n\n# B\n\ntwo\n")
    (tmp_path / "in" / "b.txt").write_text("three\n")
    (tmp_path / "in" / "c.py").write_text("no\n")
    words = ("in", "--space", "team/x", "--kind", "reference", "--tag", "docs")
    status, first = cli("import", *words)
    assert (status, first["stored"], first["already_there"], first["refused"]) == (0, 3, 0, [])
    assert (first["files"], first["skipped"], first["indexed"]) == (2, {"other type": 1}, True)
    assert first["spaces"] == ["team/x"]
    (request,) = node.requests("RememberBatch")
    assert {(item.space, item.kind, tuple(item.tags), item.wait) for item in request.items} == {
        ("team/x", "reference", ("docs",), "durable")
    }
    assert [item.title for item in request.items] == ["A", "B", "b.txt"]
    status, second = cli("import", *words)
    assert (status, second["stored"], second["done_before"]) == (0, 0, 3)
    assert len(node.requests("RememberBatch")) == 1
    status, third = cli("import", *words, "--again")
    assert (third["stored"], third["already_there"], len(node.memories)) == (0, 3, 3)
    again = node.requests("RememberBatch")[1]
    assert [item.idempotency_key for item in again.items] == [item.idempotency_key for item in request.items]


def test_a_batch_that_a_busy_node_refuses_is_stored_before_the_next_one(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    node.fail["RememberBatch"] += [Failure("RESOURCE_EXHAUSTED", "full", {"retry_after_s": "0.2"})] * 3
    status, report = cli("import", str(lines(tmp_path / "many.jsonl", 600)))
    assert (status, report["stored"]) == (0, 600)
    assert [memory.content for memory in node.memories] == [f"line {number}" for number in range(600)]


def test_files_that_a_shell_names_are_stored_together_and_each_is_done_once(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    for name in ("A.md", "B.md", "C.md"):
        (tmp_path / name).write_text(f"about {name}\n")
    status, first = cli("import", "A.md", "B.md")
    assert (status, first["files"], first["stored"], first["refused"]) == (0, 2, 2, [])
    assert len(node.requests("RememberBatch")) == 1
    status, second = cli("import", "C.md", "A.md", "B.md")
    assert (status, second["files"], second["stored"], second["done_before"]) == (0, 3, 1, 2)
    assert cli("import", "B.md")[1]["done_before"] == 1


def test_the_state_belongs_to_the_life_of_a_node_or_to_the_file_that_was_named(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    lines(tmp_path / "a.jsonl", 2)
    cli("import", "a.jsonl")
    assert (tmp_path / "data" / "imports" / "fake-1.keys").exists()
    assert cli("import", "a.jsonl", "--state", "mine.keys")[1]["done_before"] == 0
    assert cli("import", "a.jsonl", "--state", "mine.keys")[1]["done_before"] == 2
    assert len((tmp_path / "mine.keys").read_text().split()) == 2


def test_many_items_go_in_batches_of_256(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    _, summary = cli("import", str(lines(tmp_path / "a.jsonl", 600)))
    assert summary["stored"] == 600
    assert sorted(len(request.items) for request in node.requests("RememberBatch")) == [88, 256, 256]


def test_what_is_refused_is_listed_with_file_and_line_and_the_rest_is_stored(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    secret = json.dumps({"content": SECRET})
    texts = ['{"content": "good"}', "broken", secret, '{"content": "x", "links": ["bad"]}']
    (tmp_path / "a.jsonl").write_text("\n".join(texts))
    status, summary = cli("import", "a.jsonl")
    assert (status, summary["stored"]) == (4, 1)
    refused = {item["line"]: item.get("code", "") for item in summary["refused"]}
    assert refused == {2: "", 3: "INVALID_ARGUMENT", 4: "INVALID_ARGUMENT"}
    assert {item["file"] for item in summary["refused"]} == {"a.jsonl"}
    status, again = cli("import", "a.jsonl")
    assert (status, again["done_before"], len(again["refused"])) == (4, 1, 3)


def test_a_dry_run_says_what_it_would_store_and_needs_no_node(
    node: RecordingNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("# A\n\none\n\n# B\n\ntwo\n")
    assert entry.main(["import", "a.md", "--dry-run", "--json", "--space", "s"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [(item["line"], item["title"], item["bytes"]) for item in summary["items"]] == [(1, "A", 8), (5, "B", 8)]
    assert entry.main(["import", "a.md", "--dry-run"]) == 0
    assert "would store 2 items" in capsys.readouterr().out
    assert node.calls == []
    assert not (tmp_path / "data").exists()


BAD_LINES = (
    '{"content": ""}', '{"content": "x", "importance": NaN}', '{"content": "x", "valid_from": "soon"}',
    '{"content": 7}', '{"kind": "fact"}',
)  # fmt: skip


def test_a_dry_run_without_a_node_refuses_what_can_be_known_here_and_says_so(
    node: RecordingNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(('{"content": "good"}', *BAD_LINES)))
    assert entry.main(["import", "a.jsonl", "--dry-run"]) == 4
    out = capsys.readouterr().out
    assert "1 file: would store 1 item," in out
    assert f"{len(BAD_LINES)} refused" in out
    assert "no node answers" in out
    assert "a.jsonl:1  4 bytes  good" in out
    assert node.calls == []


def test_a_dry_run_asks_the_node_about_each_item_and_says_what_an_earlier_run_did(
    cli: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lines(tmp_path / "a.jsonl", 2)
    cli("import", str(path))
    with path.open("a") as file:
        file.write('{"content": "a secret"}\n{"content": "new"}\n{"content": " new "}\n{"content": "New"}\n')
    busy = Failure("RESOURCE_EXHAUSTED", "full", {"field": "inbox"}, retry_after_s=0.01)
    node.fail["Check"].extend([Failure("INVALID_ARGUMENT", "content: secret", {"field": "content"}), busy])
    status, summary = cli("import", str(path), "--dry-run")
    assert (status, [place["line"] for place in summary["refused"]]) == (4, [3])
    assert [item["snippet"] for item in summary["items"]] == ["new", "New"]
    assert (summary["done_before"], summary["already_there"]) == (2, 1)
    assert (summary["checked_by_node"], summary["judged_here"]) == (4, 0)
    assert len(node.memories) == 2
    monkeypatch.setattr(importing, "CHECKED_MAX", 1)
    status, summary = cli("import", str(path), "--dry-run")
    assert (summary["checked_by_node"], summary["judged_here"]) == (1, 3)


def test_an_import_goes_on_where_the_node_went_away(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    path = str(lines(tmp_path / "a.jsonl", 600))
    node.fail["RememberBatch"].extend([None, *[Failure("UNAVAILABLE")] * 99])
    status, error = cli("import", path)
    assert (status, error["error"]["code"]) == (3, "UNAVAILABLE")
    assert len(node.memories) == 256
    node.fail["RememberBatch"].clear()
    status, summary = cli("import", path)
    assert (status, summary["done_before"], summary["stored"]) == (0, 256, 344)
    assert len(node.memories) == 600


@contextmanager
def interrupted(node: RecordingNode, path: Path) -> Iterator[tuple[subprocess.Popen[bytes], bytes]]:
    """An import of `a.jsonl` that was sent SIGINT while the node holds a batch, and what it said then."""
    words = [sys.executable, "-m", "mnemesh", "import", "a.jsonl", "--endpoint", node.endpoint, "--token", TOKEN]
    with subprocess.Popen(words, cwd=path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert node.arrived.wait(WAIT_S)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        yield process, process.stderr.readline()


def test_an_interrupted_import_notes_what_was_stored_and_goes_on(node: RecordingNode, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", 1000)
    node.hold("RememberBatch", 1)
    with interrupted(node, tmp_path) as (process, said):
        node.release.set()
        out, rest = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out) == (exit_status.EXIT_INTERRUPTED, b"")
    assert b"Traceback" not in said + rest
    keys = (tmp_path / "data" / "imports" / "fake-1.keys").read_text().split()
    assert 256 <= len(keys) == len(node.memories) < 1000
    subprocess.run(process.args, cwd=tmp_path, timeout=60, capture_output=True, check=True)
    assert len(node.memories) == 1000


def test_a_second_ctrl_c_ends_an_import_at_once(node: RecordingNode, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", 10)
    node.hold("RememberBatch")
    with interrupted(node, tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        # The node still holds the call: only breaking it off lets the command end.
        out, rest = process.communicate(timeout=WAIT_S / 2)
        assert (process.returncode, out, rest) == (exit_status.EXIT_INTERRUPTED, b"", b"")
    node.release.set()


def test_the_end_waits_until_the_index_has_caught_up(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    node.mesh.lags.extend([0, 7, 3, 0])
    _, summary = cli("import", str(lines(tmp_path / "a.jsonl", 1)))
    assert (summary["indexed"], len(node.requests("Status"))) == (True, 4)


def test_the_bounded_wait_for_the_index_is_no_failure(
    cli: Run, node: RecordingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "INDEX_WAIT_S", 0.0)
    node.mesh.lags.extend([0, 7, 7, 7])
    status, summary = cli("import", str(lines(tmp_path / "a.jsonl", 1)))
    assert (status, summary["stored"], summary["indexed"]) == (0, 1, False)


def fill(cli: Run) -> None:
    deploys = ("--title", "Deploys/CI", "--tag", "a b", "--space", "t/x")
    cli("remember", "Deploys: run from CI\n\n---\n# not a heading?", *deploys)
    second = ("--importance", "0.25", "--attr", "k=v: w", "--space", "@owner", "--session", "s", "--seq", "1")
    cli("remember", "second", *second)


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_an_export_comes_back_as_it_was(cli: Run, node: RecordingNode, tmp_path: Path, form: str) -> None:
    fill(cli)
    before = sorted(_described(memory) for memory in node.memories)
    output = "out.jsonl" if form == "jsonl" else "out"
    status, done = cli("export", "--format", form, "--output", output)
    assert (status, done) == (0, {"exported": 2, "format": form, "output": output})
    with serving(RecordingNode()) as other:
        words = ["import", output, "--json", "--endpoint", other.endpoint, "--token", TOKEN]
        assert entry.main(words) == 0
        assert sorted(_described(memory) for memory in other.memories) == before


def test_lines_go_to_standard_output(node: RecordingNode, cli: Run, capsys: pytest.CaptureFixture[str]) -> None:
    fill(cli)
    assert entry.main(["export", "--endpoint", node.endpoint, "--token", TOKEN, "--space", "t/x"]) == 0
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [memory["title"] for memory in exported] == ["Deploys/CI"]
    assert list(node.requests("Export")[0].spaces) == ["t/x"]
    narrowed = ("--tags-any", "ci", "--kind", "decision", "--since", "2026-01-01")
    assert entry.main(["export", "--endpoint", node.endpoint, "--token", TOKEN, *narrowed]) == 0
    asked = node.requests("Export")[1]
    assert (asked.tags_any, asked.kinds, asked.since.seconds) == (["ci"], ["decision"], 1_767_225_600)


def test_markdown_files_have_readable_names_and_a_full_directory_is_left_alone(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    fill(cli)
    cli("export", "--format", "md", "--output", "vault")
    names = sorted(str(path.relative_to(tmp_path / "vault")) for path in (tmp_path / "vault").rglob("*.md"))
    assert [name.rpartition(" ")[0] for name in names] == ["@owner/second", "t/x/Deploys CI"]
    status, refused = cli("export", "--format", "md", "--output", "vault")
    assert (status, refused["error"]["field"]) == (2, "--output")
    assert cli("export", "--format", "md", "--output", "vault", "--overwrite")[0] == 0


def test_a_file_that_is_not_empty_is_replaced_only_when_that_is_said(
    cli: Run, node: RecordingNode, tmp_path: Path
) -> None:
    fill(cli)
    file = tmp_path / "out.jsonl"
    file.write_text("mine")
    status, refused = cli("export", "--output", "out.jsonl")
    assert (status, refused["error"]["field"], file.read_text()) == (2, "--output", "mine")
    assert "--overwrite" in refused["error"]["message"]
    assert cli("export", "--output", "out.jsonl", "--overwrite")[0] == 0
    assert len(file.read_text().splitlines()) == 2
    file.write_text("")
    assert cli("export", "--output", "out.jsonl")[0] == 0


def test_an_export_of_nothing_says_so_beside_standard_output(
    node: RecordingNode, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", "--endpoint", node.endpoint, "--token", TOKEN]
    assert entry.main([*words, "--space", "t/x", "-s", "other"]) == 0
    assert capsys.readouterr() == ("", "mnemesh: no memory to export in t/x, other\n")
    assert entry.main(words) == 0
    assert capsys.readouterr() == ("", "mnemesh: no memory to export\n")


def test_a_broken_export_leaves_no_half_file(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    fill(cli)
    (tmp_path / "out.jsonl").write_text("old")
    node.fail["Export"].append(Failure("UNAVAILABLE", after=True))
    assert cli("export", "--output", "out.jsonl", "--overwrite")[0] == 3
    assert (tmp_path / "out.jsonl").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_an_export_into_a_pipe_leaves_the_pipe(cli: Run, node: RecordingNode, tmp_path: Path) -> None:
    fill(cli)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert cli("export", "--output", "pipe", "--overwrite")[0] == 0
        assert os.read(reader, 1) == b"{"
        assert (tmp_path / "pipe").is_fifo()
    finally:
        os.close(reader)


def test_an_output_that_can_not_be_written_is_bad_usage(cli: Run, node: RecordingNode) -> None:
    status, error = cli("export", "--output", "no/such/dir/out.jsonl")
    assert (status, error["error"]["field"]) == (2, "--output")


def _described(memory: Memory) -> str:
    return repr(replace(memory, id="", created_at=0, updated_at=0, heads=()))
