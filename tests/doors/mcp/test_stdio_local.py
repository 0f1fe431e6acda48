"""One node in the background: found, started once, started again, or a clear word why not."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stdio_support import Host, wait_until

from mnemesh.entry import main
from mnemesh.stdio.program import main as stdio_main
from mnemesh.transport import local_node as local
from mnemesh.transport.local_node import (
    NodeNotStarted,
    NodeNotStopped,
    ensure_node,
    find_node,
    split_address,
    stop_node,
)
from mnemesh_proto import rendezvous
from mnemesh_proto.rendezvous import LOCK_FILE, NODE_FILE, NodeAddress, read_node, write_node

STARTER = (
    "import sys; from pathlib import Path; from mnemesh.transport.local_node import ensure_node; "
    "print(ensure_node(Path(sys.argv[1]), 30, sys.argv[2:]).pid)"
)
FAKE_NODE = Path(__file__).parents[1] / "stdio_fake_node.py"


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory whose nodes are ended after the test."""
    directory = tmp_path / "data"
    yield directory
    for pid in pids(directory):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    wait_until(lambda: not any(map(alive, pids(directory))))


@pytest.fixture
def free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Default addresses that nothing else on this machine uses."""
    for name in ("DEFAULT_GRPC", "DEFAULT_HTTP"):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            monkeypatch.setattr(rendezvous, name, f"127.0.0.1:{probe.getsockname()[1]}")


def command(manner: str) -> tuple[str, ...]:
    return (sys.executable, str(FAKE_NODE), manner)


def starts(data_dir: Path) -> list[list[str]]:
    """Pid and address flags of every start."""
    path = data_dir / "starts"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def pids(data_dir: Path) -> list[int]:
    return [int(start[0]) for start in starts(data_dir)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second when it ends between the opening and the reading
        return False


def end(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid))


def test_a_node_is_started_when_none_runs_and_found_when_one_does(data_dir: Path) -> None:
    first = ensure_node(data_dir, 20, command("fine"))
    assert find_node(data_dir) == first
    assert ensure_node(data_dir, 20, command("dies")) == first
    assert len(starts(data_dir)) == 1


def test_eight_processes_at_once_start_exactly_one(data_dir: Path) -> None:
    clients = [
        subprocess.Popen((sys.executable, "-c", STARTER, str(data_dir), *command("slow")), stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    found = [client.communicate(timeout=60)[0].decode().strip() for client in clients]
    assert len(set(found)) == 1
    assert found[0]
    assert pids(data_dir) == [int(found[0])]


def test_eight_threads_at_once_start_exactly_one(data_dir: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: ensure_node(data_dir, 30, command("slow")), range(8)))
    assert [node.pid for node in found] == pids(data_dir)


def test_a_directory_left_by_a_killed_node_gets_a_new_one(data_dir: Path) -> None:
    first = ensure_node(data_dir, 20, command("fine"))
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not alive(first.pid))
    assert (data_dir / NODE_FILE).exists()
    second = ensure_node(data_dir, 20, command("fine"))
    assert second.pid != first.pid


def test_an_address_whose_pid_another_program_has_got_is_stale(data_dir: Path) -> None:
    data_dir.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        closed = f"127.0.0.1:{probe.getsockname()[1]}"
    write_node(data_dir, NodeAddress(pid=os.getpid(), grpc=closed, http=closed, version="0"))
    assert read_node(data_dir) is not None
    assert find_node(data_dir) is None
    assert ensure_node(data_dir, 20, command("fine")).pid != os.getpid()


@pytest.mark.usefixtures("free_ports")
def test_the_default_ports_are_left_to_the_node_when_they_are_free(data_dir: Path) -> None:
    ensure_node(data_dir, 20, command("fine"))
    assert starts(data_dir)[0][1:] == []


@pytest.mark.usefixtures("free_ports")
def test_a_taken_default_port_is_replaced_by_a_free_one(data_dir: Path) -> None:
    with socket.create_server(split_address(rendezvous.DEFAULT_HTTP)):
        node = ensure_node(data_dir, 20, command("fine"))
    assert starts(data_dir)[0][1:] == ["--http", "127.0.0.1:0"]
    assert node.http != rendezvous.DEFAULT_HTTP
    assert local.accepts(node.http)


@pytest.mark.usefixtures("free_ports")
def test_an_address_that_the_user_set_is_not_replaced(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir.mkdir()
    with (
        socket.create_server(split_address(rendezvous.DEFAULT_HTTP)),
        socket.create_server(split_address(rendezvous.DEFAULT_GRPC)),
    ):
        assert local._port_arguments(data_dir) == ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        monkeypatch.setenv("MNEMESH_GRPC", "127.0.0.1:9001")
        (data_dir / "settings.toml").write_text('http = "127.0.0.1:9002"\n')
        assert local._port_arguments(data_dir) == ()


def test_a_node_that_dies_at_start_is_reported_with_the_end_of_its_log(data_dir: Path) -> None:
    with pytest.raises(NodeNotStarted, match="the ledger is damaged at page 7") as failure:
        ensure_node(data_dir, 20, command("dies"))
    assert "exit status 4" in str(failure.value)
    assert str(data_dir / "node.log") in str(failure.value)
    assert len(starts(data_dir)) == 1


def test_a_node_that_takes_too_long_is_left_to_go_on(data_dir: Path) -> None:
    with pytest.raises(NodeNotStarted, match=r"not ready to answer yet.*node\.log"):
        ensure_node(data_dir, 0.5, command("silent"))
    assert alive(pids(data_dir)[0])


def test_a_node_that_is_draining_is_waited_for_before_another_is_started(data_dir: Path) -> None:
    data_dir.mkdir()
    with (data_dir / LOCK_FILE).open("w") as lock, ThreadPoolExecutor(1) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = pool.submit(ensure_node, data_dir, 20, command("fine"))
        wait_until(lambda: (data_dir / local.START_LOCK_FILE).exists())
        assert starts(data_dir) == []
        lock.close()
        assert waiting.result(30).pid == pids(data_dir)[0]


def test_the_node_outlives_its_starter_and_hears_none_of_its_signals(data_dir: Path) -> None:
    done = subprocess.run(
        (sys.executable, "-c", STARTER, str(data_dir), *command("fine")), capture_output=True, timeout=60, check=True
    )
    pid = int(done.stdout)
    assert alive(pid)
    assert os.getsid(pid) == pid


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "NODE_MODULES", ("json", "no_such_module_of_a_node"))
    with pytest.raises(NodeNotStarted, match=r"no_such_module_of_a_node.*pip install 'mnemesh\[node\]'"):
        ensure_node(data_dir, 1)
    assert not data_dir.exists()


def test_a_directory_that_can_not_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NodeNotStarted, match="file"):
        ensure_node(tmp_path / "file" / "data", 1, command("fine"))


@pytest.mark.parametrize("address", ["", "nowhere", ":7434", "host:", "host:x", "host:0", "host:65536", "host:-1"])
def test_an_address_without_host_and_port_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        split_address(address)


def test_a_wildcard_address_is_reached_on_loopback() -> None:
    assert split_address("0.0.0.0:7434") == ("127.0.0.1", 7434)
    assert split_address("[::]:7434") == ("::1", 7434)
    assert split_address("[::1]:7434") == ("::1", 7434)


def test_a_large_log_makes_room_for_a_new_one(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir.mkdir()
    monkeypatch.setattr(local, "LOG_BYTES_MAX", 10)
    (data_dir / "node.log").write_text("what an earlier node said\n")
    with pytest.raises(NodeNotStarted) as failure:
        ensure_node(data_dir, 20, command("dies"))
    assert "earlier" not in str(failure.value)
    assert (data_dir / "node.log.1").read_text() == "what an earlier node said\n"


def test_the_proxy_says_why_a_node_could_not_be_started(tmp_path: Path) -> None:
    """Through the real command: this directory is one of a newer format, or the node is not installed."""
    (tmp_path / "file").write_text("")
    with Host("--data", str(tmp_path / "file" / "data"), "--space", "@owner") as ours:
        refused = ours.answer(ours.ask("tools/list"))
    assert refused["error"]["code"] == -32000
    assert json.dumps(str(tmp_path / "file"))[1:-1] in refused["error"]["message"]


@pytest.mark.parametrize("space", ["", " "])
def test_the_proxy_refuses_an_empty_space(tmp_path: Path, space: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        stdio_main(["--data", str(tmp_path), "--space", space, "--no-start"])
    assert ended.value.code == 2
    told = f"argument --space: {space!r} is no space; give a path such as team/payments, or leave the option out"
    assert told in capsys.readouterr().err


def test_a_node_is_stopped_by_its_directory_and_waited_for(
    data_dir: Path, free_ports: None, capsys: pytest.CaptureFixture[str]
) -> None:
    node = ensure_node(data_dir, command=command("fine"))
    (data_dir / LOCK_FILE).write_text(str(node.pid))  # as a real node does
    assert main(["down", "--json", "--data", str(data_dir)]) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": True, "pid": node.pid, "data_dir": str(data_dir)}
    wait_until(lambda: not alive(node.pid))
    assert main(["down", "--json", "--data", str(data_dir)]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "UNAVAILABLE"


# Lets go of the directory when it is asked to end, and ends when its standard input does.
LINGERING = """
import fcntl, signal, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
signal.signal(signal.SIGTERM, lambda *_: fcntl.flock(lock, fcntl.LOCK_UN))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_node_that_has_let_go_of_its_directory_and_goes_on_is_not_said_to_be_stopped(data_dir: Path) -> None:
    data_dir.mkdir()
    words = (sys.executable, "-c", LINGERING, str(data_dir / LOCK_FILE))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        (data_dir / LOCK_FILE).write_text(str(child.pid))
        with pytest.raises(NodeNotStopped, match=f"its process {child.pid} still runs"):
            stop_node(data_dir, 1.0)
        assert child.poll() is None


def test_a_pid_of_a_directory_that_no_node_holds_is_not_touched(data_dir: Path) -> None:
    data_dir.mkdir()
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as other:
        write_node(data_dir, NodeAddress(other.pid, "127.0.0.1:1", "127.0.0.1:1", "0"))
        (data_dir / LOCK_FILE).write_text(str(other.pid))
        assert stop_node(data_dir) is None
        assert other.poll() is None
        # Held, but by whom the two files don't agree.
        (data_dir / LOCK_FILE).write_text("1")
        with (data_dir / LOCK_FILE).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(NodeNotStopped):
                stop_node(data_dir)
        other.communicate(b"\n", timeout=60)
        assert other.returncode == 0


def test_the_proxy_refuses_a_data_directory_that_is_none_before_it_is_asked_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        stdio_main(["--data", str(tmp_path / "file")])
    assert ended.value.code == 2
    assert "a directory, not a file" in capsys.readouterr().err
    assert stdio_main(["--data", str(tmp_path / ("x" * 300))]) == 3
    assert "can't be looked at" in capsys.readouterr().err
