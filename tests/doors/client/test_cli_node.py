"""The command line and the Python client against a real node, as a new user has them: up, remember, recall, files.

Every Python example of docs/python.md, docs/history.md and docs/hygiene.md runs here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from bench.recall import beam, longmemeval
from quality_files import BEAM_CHAT, BEAM_QUESTIONS, write_beam, write_longmemeval
from second_model import cut_model

from mnemesh import AsyncClient, Client, Memory, errors
from mnemesh.cli import app as cli_app
from mnemesh.entry import main
from mnemesh.transport.local_node import stop_node
from mnemesh_proto.rendezvous import read_node

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT_S = 60.0
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a node that `mnemesh up` runs."""
    directory = tmp_path_factory.mktemp("node")
    words = ("up", "--data", str(directory), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with (directory / "out").open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "mnemesh", *words], stdout=out, stderr=out, cwd="/")
    deadline = time.monotonic() + START_TIMEOUT_S
    with Client(data_dir=directory, space="") as client:
        while not (read_node(directory) and client.status().state == "ready"):
            assert process.poll() is None, (directory / "out").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield directory
    assert stop_node(directory) == process.pid
    assert process.wait(START_TIMEOUT_S) == 0


@pytest.fixture
def cli(data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with --json in an empty directory; gives the object, and asserts the exit status."""
    monkeypatch.chdir(tmp_path)

    def run(command: str, *words: str, status: int = 0) -> Any:
        ended = main([command, "--json", "--data", str(data), *words])
        out = capsys.readouterr().out
        assert ended == status, out
        (line,) = out.splitlines()
        return json.loads(line)

    return run


def test_what_one_command_remembers_another_recalls(cli: Run) -> None:
    done = cli("remember", "The staging database listens on port 5433", "--space", "t/a", "--kind", "infra")
    assert (done["action"], done["memory"]["kind"], done["indexed"]) == ("ADD", "reference", True)
    found = cli("recall", "which", "port", "does", "staging", "use?", "--space", "t/a")
    assert found["results"][0]["id"] == done["memory"]["id"]
    refused = cli("remember", "x", "--kind", "nonsense", status=2)
    assert refused["error"]["field"] == "kind"
    assert refused["error"]["limit"].startswith("one of fact")


def test_another_model_of_another_width_takes_over_while_the_node_serves_and_gives_way_again(
    cli: Run, data: Path, tmp_path: Path
) -> None:
    text = "The tide gauge in the harbour reports every six minutes"
    cli("remember", text, "--space", "t/tide")
    before = cli("status")["model"]
    for words, dimensions in (
        (("--model", str(cut_model(tmp_path / "cut", 256))), 256),
        (("--model", "sentence-transformers/all-MiniLM-L6-v2"), 384),
    ):
        told = cli("reembed", *words)
        assert (told["model"]["dimensions"], told["reembed"]["state"]) == (dimensions, "idle")
        found = cli("recall", "how often is the water level measured?", "--space", "t/tide", "--mode", "semantic")
        assert ([one["content"] for one in found["results"]], found["degraded"]) == ([text], False)
        assert cli("status")["model"] == told["model"]
    assert told["model"] == before
    refused = cli("reembed", "--model", "no-such-model", status=2)
    assert refused["error"]["field"] == "model"
    assert "a folder with model.onnx" in refused["error"]["message"]
    assert cli("reembed")["reembed"]["state"] == "idle"


def test_longmemeval_and_beam_are_asked_of_a_real_node(data: Path, tmp_path: Path) -> None:
    entries = [(one, longmemeval.corpus_of(one, "turn")) for one in longmemeval.load(write_longmemeval(tmp_path))]
    with Client(data_dir=data) as client:
        rows, refused = longmemeval.measured(client, entries[:1], "turn")
        assert refused == 0
        assert rows["multi-session"][0]["turn recall_all@5"] == 1
        abilities, refused = beam.measured(client, beam.load(write_beam(tmp_path, BEAM_CHAT, BEAM_QUESTIONS)))
    assert refused == 0
    assert {name: [one["share@5"] for one in found] for name, found in abilities.items()} == {
        "contradiction_resolution": [1], "event_ordering": [1],
    }  # fmt: skip


def test_the_documents_of_this_repository_are_imported_once_and_found(cli: Run) -> None:
    words = (str(ROOT / "docs" / "decisions"), "--space", "t/docs", "--tag", "adr")
    first = cli("import", *words)
    assert first["stored"] > 5
    assert (first["refused"], first["indexed"]) == ([], True)
    assert cli("import", *words)["done_before"] == first["stored"]
    again = cli("import", *words, "--again")
    assert (again["stored"], again["already_there"]) == (0, first["stored"])
    assert cli("stats", "--space", "t/docs")["memories"] == first["stored"]
    found = cli("recall", "why is the log SQLite?", "--space", "t/docs", "--limit", "3")
    assert any("SQLite" in result["content"] for result in found["results"])


def test_a_secret_in_a_file_is_refused_by_line_and_not_repeated(cli: Run, tmp_path: Path) -> None:
    secret = "AKIA" + "IOSFODNN7" + "QX3MPLW"
    (tmp_path / "a.jsonl").write_text(json.dumps({"content": "fine"}) + "\n" + json.dumps({"content": f"key {secret}"}))
    words = ("a.jsonl", "--space", "t/secret")
    dry = cli("import", *words, "--dry-run", status=4)
    assert [place["line"] for place in dry["refused"]] == [2]
    assert len(dry["items"]) == 1
    assert secret not in json.dumps(dry)
    summary = cli("import", *words, status=4)
    (refused,) = summary["refused"]
    assert (refused["line"], summary["stored"]) == (2, 1)
    assert secret not in json.dumps(summary)


CONTENTS = (
    "plain", "two\n\nparagraphs\n", "# heading\n\nand text\n## more", "---\nfake: front\n---\nmatter",
    "  leading\tand trailing  ", "emoji 😀, עברית, 数据库\u2028separator\u0085", "windows\r\nlines\r\n", "\ufeffmark",
)  # fmt: skip


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_memories_come_back_from_files_as_they_were(cli: Run, data: Path, tmp_path: Path, form: str) -> None:
    items: list[Any] = [
        {
            "content": content, "kind": "decision", "title": f"Title: #{number} \"quoted\" / 'x'",
            "tags": ["a b", "c,d"], "importance": number / 10, "space": f"t/out-{form}", "keywords": ["k"],
            "attrs": {"key: x": "- value"}, "paths": ["src/*.py"], "tier": "pinned",
            "valid_from": "2026-05-01T12:00:00.250Z", "source": {"session": "s", "dir": "/d", "seq": number},
        }
        for number, content in enumerate(CONTENTS)
    ]  # fmt: skip
    with Client(data_dir=data, space="") as client:
        assert not [done for done in client.remember_batch(items) if isinstance(done, errors.MnemeshError)]
        before = {memory.content: _described(memory) for memory in client.export(space=f"t/out-{form}")}
        cli("export", "--space", f"t/out-{form}", "--format", form, "--output", "out")
        assert cli("import", "out", "--space", f"t/in-{form}", "--format", form)["refused"] == []
        after = {memory.content: _described(memory) for memory in client.export(space=f"t/in-{form}")}
    assert len(before) == len(CONTENTS)
    assert after == before


def _described(memory: Memory) -> tuple[Any, ...]:
    return (
        memory.content, memory.kind, memory.title, memory.tags, memory.importance, memory.keywords, dict(memory.attrs),
        memory.paths, memory.tier, memory.valid_from, memory.source,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("page", "examples_min"), [("docs/python.md", 5), ("docs/history.md", 1), ("docs/hygiene.md", 1)]
)
def test_the_python_examples_of_a_page_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, examples_min: int
) -> None:
    monkeypatch.setenv("MNEMESH_DATA_DIR", str(data))
    monkeypatch.delenv("MNEMESH_ENDPOINT", raising=False)
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.M | re.S)
    assert len(examples) >= examples_min
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples:
        exec(compile(example, page, "exec"), names)


def test_the_python_page_names_every_method_and_every_error() -> None:
    page = (ROOT / "docs/python.md").read_text("utf-8")
    methods = [name for name in dir(Client) if not name.startswith("_")]
    assert [name for name in methods if f"`{name}(" not in page] == []
    assert [leaf.__name__ for leaf in errors.LEAVES.values() if f"`{leaf.__name__}`" not in page] == []
    assert set(dir(AsyncClient)) >= set(methods)


def test_the_page_about_files_names_every_format_and_option_of_import_and_export() -> None:
    page = (ROOT / "docs/import-export.md").read_text("utf-8")
    commands = typer.main.get_command(cli_app._app()).commands  # type: ignore[attr-defined]  # a group has commands
    own = {flag for name in ("import", "export") for param in commands[name].params for flag in param.opts}
    shared = {flag for param in commands["status"].params for flag in param.opts}
    assert [flag for flag in own - shared if flag.startswith("--") and flag not in page] == []
    assert [ending for ending in (".md", ".txt", ".jsonl") if f"`{ending}`" not in page] == []


def test_a_node_answers_a_command_within_a_second_or_two(data: Path) -> None:
    """A bound for a loaded machine; bench measures the real figure."""
    words = [sys.executable, "-m", "mnemesh", "status", "--json", "--data", str(data)]
    done = subprocess.run(words, capture_output=True, timeout=60, check=True, env={**os.environ, "LANG": "C"})
    assert json.loads(done.stdout)["state"] == "ready"


def test_a_project_writes_to_its_remotes_space_and_reads_its_folders_name_along(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = cli("remember", "The atlas service pages the night shift", "--space", "atlas")["memory"]
    tree = tmp_path / "a" / "atlas"
    (tree / ".git").mkdir(parents=True)
    (tree / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/atlas.git\n')
    monkeypatch.chdir(tree)
    assert cli("space")["space"] == "acme/atlas"
    assert cli("remember", "The atlas service runs on two machines")["memory"]["space"] == "acme/atlas"
    answer = cli("recall", "who is paged by the atlas service?")
    assert answer["results"][0]["id"] == old["id"]
    assert set(answer["spaces"]) == {"acme/atlas", "@owner", "atlas"}
    assert cli("whoami")["alias_space"] == "atlas"


def test_remember_says_when_another_project_has_the_name(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "borealis" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "borealis")
    first = cli("remember", "The first borealis keeps its name")
    assert (first["memory"]["space"], "another project" in first["reason"]) == ("borealis", False)
    monkeypatch.chdir(tmp_path / "b" / "borealis")
    second = cli("remember", "The second borealis has a name of its own")
    assert second["memory"]["space"] == cli("space")["space"] != "borealis"
    assert "the name borealis is another project's on this machine" in second["reason"]
    assert [result["content"] for result in cli("recall", "borealis")["results"]] == [second["memory"]["content"]]


def test_an_import_keeps_the_time_of_writing_that_the_source_tells(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("---\ndate: 2021-03-04\n---\nThe lighthouse runs on solar power\n")
    (tmp_path / "old.jsonl").write_text(
        '{"content": "The pier closes at dusk", "created_at": "2020-02-02T10:00:00Z"}\n'
        '{"content": "The ferry is rebuilt in spring", "created_at": "2222-01-01T00:00:00Z"}\n'
    )
    report = cli("import", "note.md", "old.jsonl", "--space", "t/dated")
    assert (report["stored"], report["refused"]) == (3, [])
    assert any("2222-01-01T00:00:00Z is in the future, not used" in note["message"] for note in report["notices"])
    listed = {one["content"]: one["created_at"] for one in cli("list", "--space", "t/dated")["memories"]}
    assert listed["The lighthouse runs on solar power"] == "2021-03-04T00:00:00Z"
    assert listed["The pier closes at dusk"] == "2020-02-02T10:00:00Z"
    cli("export", "--space", "t/dated", "--output", "again.jsonl")
    cli("import", "again.jsonl", "--space", "t/dated-again")
    assert {one["content"]: one["created_at"] for one in cli("list", "--space", "t/dated-again")["memories"]} == listed
    early = cli("list", "--space", "t/dated", "--before", "2022-01-01")["memories"]
    assert {one["content"] for one in early} == {"The lighthouse runs on solar power", "The pier closes at dusk"}


def test_a_time_of_writing_in_the_future_is_refused_by_its_field(cli: Run) -> None:
    refused = cli("remember", "Later", "--created-at", "2222-01-01", status=2)["error"]
    assert (refused["field"], refused["limit"]) == ("created_at", "a time that is not in the future")
    assert cli("remember", "Long ago", "--created-at", "1969-07-20")["memory"]["created_at"] == "1969-07-20T00:00:00Z"


def test_a_successor_keeps_the_title_unless_it_is_given_another(cli: Run) -> None:
    old = cli("remember", "We pay on the first", "--title", "Pay day", "--space", "t/pay")["memory"]["id"]
    new = cli("supersede", old, "We pay on the second")["memory"]
    assert new["title"] == "Pay day"
    assert cli("supersede", new["id"], "We pay weekly", "--title", "Pay week")["memory"]["title"] == "Pay week"


def test_a_doctor_finds_nothing_wrong_with_a_loaded_backup(cli: Run, data: Path, tmp_path: Path) -> None:
    def mnemesh(*words: str | Path) -> str:
        program = [sys.executable, "-P", "-m", "mnemesh", *map(str, words)]
        done = subprocess.run(program, capture_output=True, text=True, timeout=START_TIMEOUT_S, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    cli("remember", "A backup holds no index", "--space", "t/backup")
    made, loaded = tmp_path / "made.tar.gz", tmp_path / "loaded"
    mnemesh("backup", "create", "--to", made, "--data", data)
    mnemesh("backup", "load", made, "--data", loaded)
    report = json.loads(mnemesh("doctor", "--json", "--data", loaded))
    assert (report["healthy"], report["findings"]) == (True, [])
    assert "there is no index" in str(report["remarks"])
