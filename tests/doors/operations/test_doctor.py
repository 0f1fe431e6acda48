"""The doctor recognises each planted fault, names its fix, and changes nothing."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from listening import listening

from mnemesh_actors.generations.generation_file import FILE, Generation, GenerationFile, Generations
from mnemesh_actors.ledger.integrity import alarms
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_actors.storage.index_state import IndexMeta, write_meta
from mnemesh_crdt.changes.chunk import chunk_of
from mnemesh_gateway import doctor
from mnemesh_gateway.doctor import directory_checks as doctor_directory
from mnemesh_gateway.doctor import process_checks
from mnemesh_gateway.doctor.check import examine
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_gateway.node.settings import Settings
from mnemesh_gateway.peers.peer_book import PeerBook
from mnemesh_gateway.security.access import ACCESS_FILE, MIGRATIONS, Access
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_proto.rendezvous import NodeAddress, write_node

NOW_MS = 1_800_000_000_000
ENTRIES = 3
DEAD_PID = 2**22 + 1  # above the largest pid that Linux gives out


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting comes from the environment of the tests."""
    for name in [name for name in os.environ if name.startswith("MNEMESH_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def examined(tmp_path: Path) -> ExaminedNode:
    """A healthy directory of a node that has stopped."""
    directory = open_directory(tmp_path / "data")
    token = directory.path / "owner.token"
    token.write_text("mn_owner_0123456789\n", "utf-8")
    token.chmod(0o600)
    db = schema.connect(directory.ledger(0))
    db.execute("INSERT INTO meta VALUES ('incarnation', 'life')")
    for number in range(ENTRIES):
        actor = bytes([number]) * 16
        hash_, raw = chunk_of(bytes([0, len(actor)]) + actor + bytes([1]))
        row = ("team/a", f"doc{number}", "change", bytes.fromhex(hash_), actor, raw, "owner", "n", b"s", NOW_MS)
        db.execute(
            "INSERT INTO entry (space, doc, type, hash, actor, raw, agent, node, signature, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
    db.close()
    directory.ledger(0).with_suffix(".lock").write_text(f"{'0' * 32}:{ENTRIES}", "utf-8")
    directory.index(0).mkdir()
    write_meta(directory.index(0) / "meta.json", IndexMeta("g", 384, "life", seq=ENTRIES, points=ENTRIES))
    settings = Settings(data_dir=str(directory.path), grpc="127.0.0.1:0", http="127.0.0.1:0")
    return ExaminedNode(data_dir=directory.path, settings=settings, now_ms=NOW_MS, free_bytes=lambda path: 2**40)


def found_in(examined: ExaminedNode) -> list[DoctorFinding]:
    """The findings without the remark that no node runs. In most of these tests none runs."""
    return [finding for finding in examine(examined) if finding.check != "node"]


def only(examined: ExaminedNode, check: str) -> DoctorFinding:
    """The one finding of a node with one planted fault."""
    findings = found_in(examined)
    assert [finding.check for finding in findings] == [check], findings
    assert findings[0].fix
    return findings[0]


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


def test_a_healthy_directory_has_no_findings_and_is_left_as_it_was(examined: ExaminedNode) -> None:
    before = fingerprint(examined.data_dir)
    assert found_in(examined) == []
    assert fingerprint(examined.data_dir) == before


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def write_index(examined: ExaminedNode, meta: IndexMeta) -> None:
    write_meta(examined.data_dir / "index/0/meta.json", meta)


def spoil(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def newer_manifest(examined: ExaminedNode) -> None:
    path = examined.data_dir / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "format": 99}), "utf-8")


def new_ledger(examined: ExaminedNode) -> None:
    examined.ledger.unlink()
    schema.connect(examined.ledger).close()


def damaged_page(examined: ExaminedNode) -> None:
    with examined.ledger.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(examined.ledger.stat().st_size - 4096))


def no_ledger(examined: ExaminedNode) -> None:
    for file in (examined.data_dir / "ledger").iterdir():
        file.unlink()


RESTORE = "restore ledger/0.sqlite from a backup"
# A fault, its plant, the check that finds the fault, and words of the finding.
FAULTS: list[tuple[str, Callable[[ExaminedNode], object], str, tuple[str, ...]]] = [
    ("a directory open to others", lambda at: at.data_dir.chmod(0o755), "data directory", ("chmod 700",)),
    ("no token", lambda at: (at.data_dir / "owner.token").unlink(), "owner token", ("missing",)),
    ("an empty token", lambda at: (at.data_dir / "owner.token").write_text("\n"), "owner token", ("empty",)),
    ("a token open to others", lambda at: (at.data_dir / "owner.token").chmod(0o644), "owner token", ("chmod 600",)),
    ("a key open to others", lambda at: (at.data_dir / "node.key").chmod(0o640), "manifest", ("chmod 600",)),
    ("no key", lambda at: (at.data_dir / "node.key").unlink(), "manifest", ("backup",)),
    ("a newer directory", newer_manifest, "format", ("99",)),
    ("a newer ledger", lambda at: sql(at.ledger, "PRAGMA user_version = 99"), "format", ("newer mnemesh",)),
    ("a damaged manifest", lambda at: (at.data_dir / "manifest.json").write_text("?"), "manifest", ("backup",)),
    ("an empty ledger", lambda at: at.ledger.write_bytes(b""), "ledger", ("is empty", RESTORE)),
    ("a ledger of zeros", lambda at: at.ledger.write_bytes(bytes(4096)), "ledger", ("holds no ledger", RESTORE)),
    ("another ledger", new_ledger, "ledger", ("3 were written",)),
    ("no ledger", no_ledger, "ledger", (RESTORE,)),
    ("a damaged page", damaged_page, "ledger", ("damaged", "mnemesh node salvage NEW_DIR --data {data}")),
    ("a ledger without a table", lambda at: sql(at.ledger, "DROP TABLE quarantine"), "ledger", ("quarantine is",)),
    ("no index", lambda at: (at.data_dir / "index/0/meta.json").unlink(), "index", ("no usable index",)),
    ("a damaged index", lambda at: (at.data_dir / "index/0/meta.json").write_text("[]"), "index", ("damaged",)),
    (
        "an index that a node found damaged",
        lambda at: write_index(at, IndexMeta("g", 384, "life", seq=ENTRIES, damage="torn page")), "index",
        ("torn page",),
    ),
    ("an index ahead", lambda at: write_index(at, IndexMeta("g", 384, "life", seq=9)), "index", ("ahead",)),
    (
        "an index of another life", lambda at: write_index(at, IndexMeta("g", 384, "another", seq=ENTRIES)), "index",
        ("another life",),
    ),
    (
        "an index without segments", lambda at: (at.data_dir / "index/0/points/segments/one").mkdir(parents=True),
        "index", ("segments/one",),
    ),
    *(
        (f"garbage in {file}", lambda at, file=file: spoil(at.data_dir / "index/0/points" / file, b"\0x"), "index",
         (name,))
        for file, name in (("edge_config.json", "edge_config"), ("segments/one/segment.json", "segment.json"))
    ),
    *(
        (f"node.json with {text}", lambda at, text=text: (at.data_dir / "node.json").write_text(text), "node file",
         ("damaged",))
        for text in ("{", "[]", "null", "5")
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("plant", "check", "told"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_a_planted_fault_is_found_by_one_check_that_names_the_fix(
    examined: ExaminedNode, plant: Callable[[ExaminedNode], object], check: str, told: tuple[str, ...]
) -> None:
    plant(examined)
    found = only(examined, check)
    for words in told:
        assert words.format(data=examined.data_dir) in f"{found.problem}; {found.fix}"


def test_a_directory_that_does_not_exist(examined: ExaminedNode, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    found = only(replace(examined, data_dir=missing), "data directory")
    assert str(missing) in found.problem
    assert "mnemesh up" in found.fix
    assert not missing.exists()


@pytest.mark.parametrize(
    ("check", "changed", "told"),
    [
        ("data directory", lambda at: {"data_dir": at.ledger}, ("not a directory",)),
        ("exposure", lambda at: {"settings": replace(at.settings, http="0.0.0.0:0")}, ("TLS", "without")),
        ("model", lambda at: {"settings": replace(at.settings, model_dir=str(at.data_dir))}, ("model.onnx",)),
        ("settings", lambda at: {"settings": replace(at.settings, mcp_toolsets="core,corr")}, ("corr",)),
        ("clock", lambda at: {"now_ms": NOW_MS - 3_600_000}, ("3600 s",)),
        ("disk", lambda at: {"free_bytes": lambda path: 12 * 2**20}, ("12 MiB",)),
    ],
)
def test_what_does_not_suit_a_directory_is_found(
    examined: ExaminedNode, check: str, changed: Callable[[ExaminedNode], dict[str, Any]], told: tuple[str, ...]
) -> None:
    found = only(replace(examined, **changed(examined)), check)
    assert all(words in f"{found.problem}; {found.fix}" for words in told)


def test_a_directory_that_cannot_be_written(examined: ExaminedNode) -> None:
    """Root may write everywhere, so the check runs as another user."""
    program = (
        "import os, sys, pathlib\n"
        "from mnemesh_gateway.doctor import directory_checks as checks\n"
        "from mnemesh_gateway.doctor.examined_node import ExaminedNode\n"
        "from mnemesh_gateway.node.settings import Settings\n"
        "examined = ExaminedNode(data_dir=pathlib.Path(sys.argv[1]), settings=Settings(), now_ms=0)\n"
        "os.getuid() or os.setuid(65534)\n"
        "print(*(finding.problem for finding in checks.data_directory(examined)), sep='\\n')\n"
    )
    # pytest keeps its own folders private to root; the fault has to be this directory's mode.
    private = [folder for folder in examined.data_dir.parents if Path(tempfile.gettempdir()) in folder.parents]
    for folder in (examined.data_dir, *private):
        folder.chmod(0o555)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", program, str(examined.data_dir)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        for folder in (examined.data_dir, *private):
            folder.chmod(0o700)
    assert "can't be written" in ran.stdout


def test_tokens_of_agents_that_others_can_read_or_nobody(examined: ExaminedNode) -> None:
    path = examined.data_dir / ACCESS_FILE
    Access(path, lambda: 0).close()
    assert not [finding for finding in found_in(examined) if finding.check == "agents"]
    path.chmod(0o644)
    assert "chmod 600" in only(examined, "agents").fix
    path.chmod(0o600)
    sql(path, "PRAGMA user_version = 99")
    assert "newer mnemesh" in only(examined, "format").fix
    path.write_bytes(b"this is no database " * 300)
    assert "damaged" in only(examined, "agents").problem


def test_a_node_that_was_killed(examined: ExaminedNode) -> None:
    write_node(examined.data_dir, NodeAddress(DEAD_PID, "127.0.0.1:1", "127.0.0.1:2", "0.1.0"))
    found = only(examined, "node file")
    assert str(DEAD_PID) in found.problem
    assert "mnemesh up" in found.fix


def test_that_no_node_runs_is_a_remark_unless_something_worse_says_so(examined: ExaminedNode, tmp_path: Path) -> None:
    (found,) = examine(examined)
    assert (found.check, found.problem, found.remark) == ("node", f"no node runs on {examined.data_dir}", True)
    assert "mnemesh up" in found.fix
    write_node(examined.data_dir, NodeAddress(DEAD_PID, "127.0.0.1:1", "127.0.0.1:2", "0.1.0"))
    assert [finding.check for finding in examine(examined)] == ["node file"]
    missing = replace(examined, data_dir=tmp_path / "nowhere")
    assert [finding.check for finding in examine(missing)] == ["data directory"]


def test_a_node_file_that_came_with_a_copy(examined: ExaminedNode) -> None:
    address = {"pid": os.getpid(), "grpc": "", "http": "", "version": "", "inode": examined.data_dir.stat().st_ino + 1}
    (examined.data_dir / "node.json").write_text(json.dumps(address), "utf-8")
    assert "a copy" in only(examined, "node file").problem


@pytest.mark.parametrize("door", ["grpc", "http"])
def test_another_program_on_the_port(examined: ExaminedNode, door: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        found = only(replace(examined, settings=replace(examined.settings, **{door: address})), "ports")
    assert not found.remark
    assert address in found.problem
    assert f"--{door} 127.0.0.1:0" in found.fix


@contextmanager
def answering(*parts: bytes) -> Iterator[str]:
    """The address of a program that sends these parts to whoever calls, a tenth of a second between two."""
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        while not over.is_set():
            with suppress(OSError):
                called, _ = listener.accept()
                with called:
                    for part in parts:
                        called.sendall(part)
                        if over.wait(0.1):
                            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join(10)


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 1024\r\n\r\n"


@pytest.mark.parametrize("parts", [(OK + b"[" * 1024,), (OK, *[b" "] * 300), (b"HTTP/1.1 200 OK\r\n", *[b"a"] * 300)])
def test_another_program_that_answers_with_garbage_or_without_end(
    examined: ExaminedNode, monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(process_checks, "NEIGHBOUR_TIMEOUT_S", 0.3)
    started = time.monotonic()
    with answering(*parts) as address:
        found = only(replace(examined, settings=replace(examined.settings, http=address)), "ports")
    assert "another program listens" in found.problem
    assert time.monotonic() - started < 15, "it goes on for half a minute"


def test_a_directory_that_nobody_can_look_at(
    examined: ExaminedNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = tmp_path / ("x" * 300)
    assert "File name too long" in only(replace(examined, data_dir=hidden), "data directory").problem
    assert doctor.main(["--data", str(hidden)]) == 1
    assert "File name too long" in capsys.readouterr().out


def test_an_address_that_this_machine_does_not_have(examined: ExaminedNode) -> None:
    settings = replace(examined.settings, grpc="127.0.0.1:0", http="192.0.2.1:7434")
    assert {finding.check for finding in found_in(replace(examined, settings=settings))} == {"ports", "exposure"}


def test_an_entry_that_is_not_what_its_hash_says(examined: ExaminedNode) -> None:
    """The page is as SQLite built it. Only a look at each entry finds the fault."""
    changed = "UPDATE entry SET raw = zeroblob(length(raw)) WHERE seq = 2"
    sql(examined.ledger, changed, "UPDATE entry SET hash = zeroblob(32) WHERE seq = 3")
    found = only(examined, "ledger")
    assert "entry 2: these bytes are not a change" in found.problem
    assert "entry 3: its change has another hash" in found.problem
    assert "`mnemesh sync now` brings back a change" in found.fix
    assert f"mnemesh node salvage NEW_DIR --data {examined.data_dir}" in found.fix


def test_of_many_unsound_entries_the_first_are_named_and_the_rest_are_counted(
    examined: ExaminedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_directory, "FAULTS_SHOWN", 1)
    sql(examined.ledger, "UPDATE entry SET raw = x''")
    problem = only(examined, "ledger").problem
    assert "entry 1: " in problem
    assert "2 more" in problem
    assert "entry 2" not in problem


def test_a_ledger_that_is_no_database(examined: ExaminedNode) -> None:
    examined.ledger.write_bytes(b"not a database" * 1000)
    assert "holds no ledger" in only(examined, "ledger").problem
    examined.ledger.with_suffix(".lock").unlink()  # then nothing says that a ledger lived here
    assert "damaged" in only(examined, "ledger").problem


def test_transcripts_of_a_newer_format_or_damaged_ones(examined: ExaminedNode) -> None:
    examined.transcripts.parent.mkdir()
    sql(examined.transcripts, "PRAGMA user_version = 99")
    assert "newer mnemesh" in only(examined, "format").fix
    examined.transcripts.write_bytes(b"not a database" * 1000)
    assert "delete it and import the sessions again" in only(examined, "transcripts").fix


def test_a_log_that_ends_before_its_last_commit(examined: ExaminedNode) -> None:
    examined.ledger.with_suffix(".head").write_text("0" * 32 + f":{ENTRIES + 30:018d}\n", "ascii")
    assert found_in(examined) == [], "the mark of another life says nothing"
    sql(examined.ledger, f"UPDATE meta SET value = '{'0' * 32}' WHERE key = 'incarnation'")
    for _ in range(2):
        (problem,) = [finding.problem for finding in found_in(examined) if finding.check == "data"]
        assert "30 entries are lost" in problem
        # The number of a dead node's process may be that of another one by now.
        write_node(examined.data_dir, NodeAddress(os.getpid(), "127.0.0.1:1", "127.0.0.1:2", "0.1.0"))


def test_an_alarm_is_a_finding_until_it_is_acknowledged(
    examined: ExaminedNode, capsys: pytest.CaptureFixture[str]
) -> None:
    alarms.add(examined.ledger.parent, "30 entries of the ledger are lost")
    finding = only(examined, "data")
    assert finding.problem == "30 entries of the ledger are lost"
    assert f"mnemesh doctor --acknowledge --data {examined.data_dir}" in finding.fix
    assert doctor.main(["--acknowledge", "--data", str(examined.data_dir)]) == 0
    assert "1 alarm acknowledged" in capsys.readouterr().out
    assert found_in(examined) == []
    assert doctor.main(["--acknowledge", "--json", "--data", str(examined.data_dir)]) == 0
    assert json.loads(capsys.readouterr().out)["acknowledged"] == 0


def test_a_directory_of_no_node_has_no_alarms_to_acknowledge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.main(["--acknowledge", "--data", str(tmp_path / "none")]) == 2
    assert "--data DIR" in capsys.readouterr().err


def test_a_node_that_a_signal_has_stopped_is_told_at_once_with_the_command(examined: ExaminedNode) -> None:
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        try:
            write_node(examined.data_dir, NodeAddress(child.pid, "127.0.0.1:1", "127.0.0.1:2", "0.1.0"))
            assert f"kill -CONT {child.pid}" in only(examined, "running node").fix
        finally:
            os.kill(child.pid, signal.SIGKILL)


def test_an_index_that_is_behind_after_a_kill_is_a_remark_and_no_fault(
    examined: ExaminedNode, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_index(examined, IndexMeta("g", 384, "life", seq=1))
    found = only(examined, "index")
    assert "2 entries behind" in found.problem
    assert "by itself at its next start" in found.fix
    assert found.remark
    monkeypatch.setattr(time, "time_ns", lambda: NOW_MS * 1_000_000)
    arguments = ["--data", str(examined.data_dir), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    assert doctor.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "Remark: index: " in printed
    assert "Healthy: nothing to mend." in printed
    assert "Fix:" not in printed
    assert doctor.main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["healthy"], report["findings"]) == (True, [])
    remarks = [remark["check"] for remark in report["remarks"]]
    assert [check for check in remarks if check != "installation"] == ["node", "index"]  # that is of a slow Python


@pytest.mark.parametrize(("download", "problem"), [(True, "needs a network"), (False, "is refused")])
def test_no_embedding_model_on_this_machine(
    examined: ExaminedNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, download: bool, problem: str
) -> None:
    monkeypatch.setattr(doctor_directory, "packaged_weights", lambda: None)
    settings = replace(examined.settings, model_cache_dir=str(tmp_path / "cache"), model_download=download)
    found = only(replace(examined, settings=settings), "model")
    assert problem in found.problem
    assert "mnemesh model install" in found.fix


def test_an_automerge_of_another_author(examined: ExaminedNode, tmp_path: Path) -> None:
    """The wrong package is found although nothing could be imported from it."""
    fake = tmp_path / "site"
    (fake / "automerge").mkdir(parents=True)
    (fake / "automerge" / "__init__.py").write_text("class Doc: ...\n", "utf-8")
    (fake / "automerge-0.1.2.dist-info").mkdir()
    (fake / "automerge-0.1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: automerge\nVersion: 0.1.2\n", "utf-8"
    )
    ran = run_doctor(examined, path=str(fake))
    assert ran.returncode == 1
    assert [finding["check"] for finding in json.loads(ran.stdout)["findings"]] == ["installation"]
    assert "pip install 'automerge==1.0.0rc1'" in ran.stdout


def test_a_client_without_the_node_is_told_what_to_install_and_no_more(examined: ExaminedNode) -> None:
    program = (
        "import importlib.metadata as metadata, sys\n"
        "known = metadata.version\n"
        "def version(name):\n"
        "    if name == 'cryptography': raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.version = version\n"
        "sys.modules['cryptography'] = None\n"
        "from mnemesh_gateway import doctor\n"
        "sys.exit(doctor.main(['--data', sys.argv[1], '--json']))\n"
    )
    command = [sys.executable, "-c", program, str(examined.data_dir)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1, ran.stderr
    (found,) = json.loads(ran.stdout)["findings"]
    assert found["problem"] == "cryptography is not installed"
    assert "mnemesh[node]" in found["fix"]


def run_doctor(
    examined: ExaminedNode, *arguments: str, path: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command as a user gives it, with a clock that the planted entries suit."""
    sql(examined.ledger, "UPDATE entry SET at = 0")
    search = os.pathsep.join(part for part in (path, os.environ.get("PYTHONPATH", "")) if part)
    command = (sys.executable, "-m", "mnemesh_gateway", "doctor", "--data", str(examined.data_dir), "--json")
    addresses = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
    return subprocess.run(
        [*command, *addresses, *arguments],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": search, **variables},
    )  # fmt: skip


def test_the_command_says_healthy_with_exit_code_0_and_where_each_value_came_from(examined: ExaminedNode) -> None:
    (examined.data_dir / "settings.toml").write_text("drain_s = 3\n", "utf-8")
    ran = run_doctor(examined, MNEMESH_RECALL_TIMEOUT_S="4")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report["healthy"] is True
    origins = {setting["name"]: setting["origin"] for setting in report["settings"]}
    assert origins["grpc"] == "flag --grpc"
    assert origins["recall_timeout_s"] == "variable MNEMESH_RECALL_TIMEOUT_S"
    assert origins["drain_s"].startswith("file ")
    assert origins["log_level"] == "default"


def test_an_unknown_setting_in_the_environment(examined: ExaminedNode) -> None:
    ran = run_doctor(examined, MNEMESH_RECALL_TIMEOUT="4")
    assert ran.returncode == 1
    found = json.loads(ran.stdout)["findings"][0]
    assert found["check"] == "settings"
    assert "MNEMESH_RECALL_TIMEOUT" in found["problem"]
    assert "recall_timeout_s" in found["problem"]


def test_a_bad_value_in_the_settings_file(examined: ExaminedNode) -> None:
    (examined.data_dir / "settings.toml").write_text('drain_s = "long"\n', "utf-8")
    found = json.loads(run_doctor(examined).stdout)["findings"][0]
    assert (found["check"], "drain_s" in found["problem"]) == ("settings", True)


def test_an_ill_formed_settings_file_is_to_be_corrected_itself(examined: ExaminedNode) -> None:
    (examined.data_dir / "settings.toml").write_text("drain_s = \n", "utf-8")
    found = json.loads(run_doctor(examined).stdout)["findings"][0]
    assert (found["check"], found["fix"]) == ("settings", "correct or remove the file")
    assert str(examined.data_dir / "settings.toml") in found["problem"]


def test_an_unknown_flag_is_bad_usage(examined: ExaminedNode) -> None:
    assert run_doctor(examined, "--nonsense").returncode == 2


def test_the_report_for_a_person_numbers_the_findings_and_names_each_fix(
    examined: ExaminedNode, capsys: pytest.CaptureFixture[str]
) -> None:
    (examined.data_dir / "owner.token").chmod(0o644)
    assert doctor.main(["--data", str(examined.data_dir), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]) == 1
    printed = capsys.readouterr().out
    assert "owner token: " in printed
    assert "Fix: chmod 600 " in printed
    assert "flag --data\n" in printed


@pytest.fixture
def held(examined: ExaminedNode) -> Iterator[ExaminedNode]:
    """A node holds the directory: its lock is taken, by this process."""
    with (examined.data_dir / "node.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield examined


def test_a_node_that_holds_the_directory_but_does_not_answer(held: ExaminedNode) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    write_node(held.data_dir, NodeAddress(os.getpid(), address, address, "0.1.0"))
    found = only(held, "running node")
    assert f"kill {os.getpid()}" in found.fix


def test_a_node_that_has_not_published_itself_yet_but_holds_the_lock(held: ExaminedNode) -> None:
    assert str(os.getpid()) in only(held, "running node").problem


DEGRADED = {"state": "degraded", "notices": ["index: no space left"], "index": []}
BEHIND = {
    "state": "ready",
    "notices": ["index rebuilt from the ledger: it was damaged"],
    "index": [{"name": "shard-0", "state": "behind", "lag": 7}],
}

AWAY = {"name": "shard-0", "state": "the server is away", "lag": 7}


@contextmanager
def node_that_says(examined: ExaminedNode, status: dict[str, object]) -> Iterator[str]:
    """A node of this directory whose every answer is `status`; its address."""
    with listening(lambda path: json.dumps(status).encode()) as address:
        write_node(examined.data_dir, NodeAddress(os.getpid(), address, address, "0.1.0"))
        yield address


def test_a_node_that_runs_but_is_degraded(held: ExaminedNode) -> None:
    with node_that_says(held, DEGRADED):
        assert "no space left" in only(held, "running node").problem


def test_a_running_node_whose_index_catches_up_is_a_remark_and_no_fault(
    held: ExaminedNode, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: NOW_MS * 1_000_000)
    with node_that_says(held, BEHIND):
        found = only(held, "index")
        assert doctor.main(["--data", str(held.data_dir)]) == 0
    assert "7 entries behind" in found.problem
    assert found.remark
    assert "Remark: index: " in capsys.readouterr().out


def test_a_running_node_whose_index_has_a_fault_is_a_finding(held: ExaminedNode) -> None:
    with node_that_says(held, {**BEHIND, "state": "degraded", "index": [AWAY]}):
        found = only(held, "running node")
    assert "shard-0 is the server is away (7 entries behind" in found.problem
    assert not found.remark


def test_a_consumer_of_a_running_node_that_is_stalled_is_a_remark(held: ExaminedNode) -> None:
    consumers = [{"name": "index", "state": "ok", "lag": 0}, {"name": "judge", "state": "the model is away", "lag": 2}]
    with node_that_says(held, {**BEHIND, "index": [], "consumers": consumers}):
        found = only(held, "consumers")
    assert "judge is stalled (2 entries behind the ledger): the model is away" in found.problem
    assert found.remark


def test_a_peer_with_which_a_running_node_does_not_agree_is_a_finding(held: ExaminedNode) -> None:
    same, other = {"name": "hub"}, {"name": "laptop", "differs": "2"}
    with node_that_says(held, {**BEHIND, "index": [], "peers": [same, other]}):
        found = only(held, "peers")
    assert found.problem == "laptop differs in 2 memories after a comparison"
    assert "mnemesh sync quarantine" in found.fix
    assert not found.remark


def test_a_peer_that_refuses_a_running_node_is_a_finding(held: ExaminedNode) -> None:
    peer = {"name": "hub", "state": "refused", "last_error": "the token has ended"}
    with node_that_says(held, {**BEHIND, "index": [], "peers": [peer]}):
        found = only(held, "peers")
    assert found.problem == "hub refuses this node: the token has ended"
    assert "mnemesh peer token hub --token -" in found.fix
    assert not found.remark


def test_the_report_shows_where_the_running_node_listens_and_what_it_says(
    held: ExaminedNode, capsys: pytest.CaptureFixture[str]
) -> None:
    with node_that_says(held, BEHIND) as address:
        doctor.main(["--data", str(held.data_dir), "--http", "127.0.0.1:0"])
    printed = capsys.readouterr().out
    assert f"HTTP {address}" in printed
    assert "it says: index rebuilt from the ledger" in printed


def settings_printed(examined: ExaminedNode, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The heading of the settings under "", and what is printed of each."""
    doctor.main(["--data", str(examined.data_dir), "--http", "127.0.0.1:0", "--drain-s", "4"])
    lines = capsys.readouterr().out.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("Settings "))
    return {"": lines[at]} | {line.split()[0]: " ".join(line.split()[1:]) for line in lines[at + 1 :]}


def test_the_settings_are_those_of_the_running_node_beside_what_this_shell_has_instead(
    held: ExaminedNode, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [
        {"name": "recall_timeout_s", "value": "3.0", "origin": "variable MNEMESH_RECALL_TIMEOUT_S"},
        {"name": "qdrant_api_key", "value": "(set, not shown)", "origin": "file /srv/settings.toml"},
        {"name": "expose", "value": "true", "origin": "flag --expose"},
    ]
    with node_that_says(held, {**BEHIND, "settings": told}):
        printed = settings_printed(held, capsys)
    assert printed[""].startswith("Settings of the running node")
    assert printed["recall_timeout_s"] == "3.0 s variable MNEMESH_RECALL_TIMEOUT_S here 2.0 s, default"
    assert printed["qdrant_api_key"] == "(set, not shown) file /srv/settings.toml here (empty), default"
    assert printed["expose"] == "true flag --expose here false, default"
    assert printed["drain_s"] == "10.0 s default here 4.0 s, flag --drain-s"
    assert (printed["log_level"], printed["data_dir"]) == ("info default", f"{held.data_dir} default")


def test_the_settings_are_said_to_be_this_shells_when_no_node_tells_its_own(
    held: ExaminedNode, capsys: pytest.CaptureFixture[str]
) -> None:
    with node_that_says(held, BEHIND):  # a node of a version before
        printed = settings_printed(held, capsys)
    assert printed[""] == "Settings of this shell; the running node does not tell its own, which may differ"
    assert printed["drain_s"] == "4.0 s flag --drain-s"
    (held.data_dir / "node.json").unlink()
    assert settings_printed(held, capsys)[""] == "Settings of this shell, for a node that is started here"


def test_the_index_of_a_model_that_took_over_is_the_one_that_is_looked_at(
    examined: ExaminedNode, tmp_path: Path
) -> None:
    used = Generation(fingerprint="g", name="m", dimensions=384, slot="a1")
    GenerationFile(examined.data_dir).write(Generations(used))
    (examined.data_dir / "index/0").rename(examined.data_dir / "index/0-a1")
    assert not found_in(examined)
    GenerationFile(examined.data_dir).write(Generations(replace(used, model=str(tmp_path / "gone"))))
    found = only(examined, "model")
    assert "model.onnx" in found.problem
    assert "delete" in found.fix
    (examined.data_dir / FILE).write_text("{", "utf-8")
    found = only(examined, "model")
    assert "damaged" in found.problem
    assert found.fix.startswith(f"delete {examined.data_dir / FILE}")
    (examined.data_dir / FILE).write_text(json.dumps({"format": 99}))
    assert only(examined, "model").fix.startswith("install the newer mnemesh")


def begin(examined: ExaminedNode) -> None:
    """The first steps of a start."""
    open_directory(examined.data_dir)
    Access(examined.data_dir / ACCESS_FILE, lambda: NOW_MS).close()
    PeerBook(examined.data_dir)


@pytest.mark.parametrize("check", ["manifest", "agents", "peers"])
def test_what_a_start_refuses_is_no_healthy_directory(examined: ExaminedNode, check: str) -> None:
    access, peers, key = (examined.data_dir / name for name in (ACCESS_FILE, "peers.json", "node.key"))
    Access(access, lambda: NOW_MS).close()
    if check == "manifest":
        key.write_bytes(key.read_bytes()[:40])
    elif check == "agents":
        sql(access, "DROP TABLE agent")
    else:
        peers.write_text('{"format": 1, "peers": [')
        peers.chmod(0o600)
    found = only(examined, check)
    with pytest.raises(MnemeshError) as refused:
        begin(examined)
    assert refused.value.message in found.problem
    assert "restore" in found.fix


def test_tokens_of_an_older_version_are_no_finding_and_stay_as_they_are(examined: ExaminedNode) -> None:
    access = examined.data_dir / ACCESS_FILE
    with closing(sqlite3.connect(access, isolation_level=None)) as db:
        MIGRATIONS[0](db)
        db.execute("PRAGMA user_version = 1")
    access.chmod(0o600)
    before = access.read_bytes()
    assert found_in(examined) == []
    assert access.read_bytes() == before
