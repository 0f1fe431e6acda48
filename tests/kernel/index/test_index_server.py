"""A shard on a Qdrant server."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from plain_memories import memory_id
from pydantic import BaseModel
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException
from qdrant_double import Fault, QdrantDouble, qdrant_double
from test_shard_lifecycle import config, found, item

from mnemesh_actors.index.engine_port import Schema
from mnemesh_actors.index.engines.qdrant_client import ClientBackend
from mnemesh_actors.index.engines.server import ATTEMPTS_MAX, PatientSender
from mnemesh_actors.index.shard import RetrievalShard, ShardConfig, ShardStatus
from mnemesh_actors.index.shard_config import ServerConfig
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, MnemeshError, Unavailable

OWNER = "a" * 32
Opened = tuple[RetrievalShard, ShardStatus]
Open = Callable[..., Opened]


@pytest.fixture
def qdrant() -> Iterator[QdrantDouble]:
    with qdrant_double() as double:
        yield double


def on(double: QdrantDouble, path: Path, owner: str = OWNER, **changes: Any) -> ShardConfig:
    server = ServerConfig(url=double.url, owner=owner, api_key=changes.pop("api_key", ""), read_s=5.0, write_s=5.0)
    return replace(config(path), server=server, **changes)


@pytest.fixture
def opened(qdrant: QdrantDouble, tmp_path: Path) -> Iterator[Open]:
    """Opens shards on the server, which are closed after the test."""
    with ExitStack() as stack:

        def make(path: Path = tmp_path, double: QdrantDouble = qdrant, **changes: Any) -> Opened:
            shard = RetrievalShard(on(double, path, **changes))
            stack.callback(shard.close)
            return shard, shard.open()

        yield make


@pytest.fixture
def filled(opened: Open, qdrant: QdrantDouble) -> str:
    """The collection of a closed shard at entry 9 with five memories, the fifth with three passages."""
    shard, _ = opened()
    shard.apply([*(item(n, "apple") for n in range(1, 5)), item(5, "one", "two", "three")], [], 9)
    shard.close()
    (name,) = qdrant.collections()
    return name


# ---- how it is kept there -------------------------------------------------------------------------------------------


def test_a_collection_is_made_with_copies_consistency_and_points_that_are_seen_at_once(
    qdrant: QdrantDouble, tmp_path: Path
) -> None:
    made = on(qdrant, tmp_path)
    shard = RetrievalShard(replace(made, server=replace(made.server, replicas=3, consistency=2)))
    shard.open()
    (body,) = [asked.body for asked in qdrant.asked if asked.method == "PUT" and asked.path.count("/") == 2]
    assert (body["replication_factor"], body["write_consistency_factor"]) == (3, 2)
    assert body["optimizers_config"]["prevent_unoptimized"] is False
    shard.close()


@pytest.mark.parametrize("status", ["acknowledged", "wait_timeout"])
def test_an_incomplete_change_of_the_server_is_not_done(opened: Open, qdrant: QdrantDouble, status: str) -> None:
    shard, _ = opened()
    qdrant.update_status = status
    with pytest.raises(Unavailable, match=status):
        shard.apply([item(1, "apple")], [], 1)
    qdrant.update_status = "completed"
    assert shard.open().seq == 0
    shard.apply([item(1, "apple")], [], 1)
    assert found(shard, "apple") == [memory_id(1)]


def test_a_server_whose_certificate_a_file_vouches_for_is_trusted_and_no_other(tmp_path: Path) -> None:
    certificate, context = self_signed(tmp_path)
    with qdrant_double(tls=context) as double:
        made = on(double, tmp_path / "index")
        stranger = RetrievalShard(replace(made, server=replace(made.server, read_s=0.5)))
        with pytest.raises(Unavailable, match="certificate verify failed"):
            stranger.open()
        stranger.close()
        shard = RetrievalShard(replace(made, server=replace(made.server, ca_file=str(certificate))))
        assert shard.open().seq == 0
        shard.close()
        no_file = RetrievalShard(replace(made, server=replace(made.server, ca_file=str(tmp_path / "none.pem"))))
        with pytest.raises(FailedPrecondition, match="qdrant_ca_file"):
            no_file.open()


def self_signed(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A self-signed certificate for 127.0.0.1, and the files a server needs to present it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of the tests")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "ca.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    return certificate, context


# ---- whose collection it is -----------------------------------------------------------------------------------------


def test_a_closed_shard_is_found_again_with_everything_it_held(
    opened: Open, qdrant: QdrantDouble, tmp_path: Path, filled: str
) -> None:
    shard, status = opened()
    assert status == ShardStatus(9, 7, "", f"server at {qdrant.host}")
    assert found(shard, "apple") == [memory_id(n) for n in range(1, 5)]
    assert found(shard, "two three") == [memory_id(5)]
    shard.close()
    assert not (tmp_path / "meta.json").exists(), "the marks of an embedded index there stay as they are"


def test_several_nodes_share_a_server_without_seeing_each_other(
    opened: Open, qdrant: QdrantDouble, tmp_path: Path
) -> None:
    first, _ = opened(tmp_path / "1", owner="1" * 32)
    second, _ = opened(tmp_path / "2", owner="2" * 32)
    first.apply([item(1, "apple")], [], 1)
    assert (found(first, "apple"), found(second, "apple")) == ([memory_id(1)], [])
    assert sorted(qdrant.collections()) == [f"mnemesh_{'1' * 32}_0", f"mnemesh_{'2' * 32}_0"]


@pytest.mark.parametrize("metadata", [{}, {"mnemesh": {"node": "b" * 32}}, {"mnemesh": "mine"}])
def test_a_collection_that_this_node_has_not_made_is_refused_and_left_alone(
    opened: Open, qdrant: QdrantDouble, metadata: dict[str, Any], filled: str
) -> None:
    qdrant.set_metadata(filled, {"mnemesh": None, **metadata})
    with pytest.raises(FailedPrecondition, match="was not made by this node"):
        opened()
    assert qdrant.metadata(filled) == metadata
    assert json.loads(qdrant.everything())[0]


@pytest.mark.parametrize(
    ("changes", "reason"), [({"generation": "model-2"}, "generation"), ({"incarnation": "life-2"}, "incarnation")]
)
def test_a_collection_of_another_model_or_another_life_of_the_ledger_is_made_new(
    opened: Open, changes: dict[str, str], reason: str, filled: str
) -> None:
    _, status = opened(**changes)
    assert (status.seq, status.points) == (0, 0)
    assert reason in status.rebuilt


@pytest.mark.parametrize("index", [None, 5, {}, {"seq": -1}])
def test_a_collection_of_this_node_with_damaged_marks_is_made_new(
    opened: Open, qdrant: QdrantDouble, index: Any, filled: str
) -> None:
    qdrant.set_metadata(filled, {"mnemesh": {"node": OWNER, "index": index}})
    _, status = opened()
    assert (status.seq, status.points) == (0, 0)
    assert "damaged" in status.rebuilt


def test_of_two_processes_with_one_identity_the_first_stands_down(opened: Open, tmp_path: Path) -> None:
    first, _ = opened(tmp_path / "original")
    copy, _ = opened(tmp_path / "copy")
    first.apply([item(1, "apple")], [], 1)
    with pytest.raises(FailedPrecondition, match="a copy of this data directory"):
        first.flush()
    copy.apply([item(2, "apple")], [], 2)
    assert copy.flush() == 2


def test_an_older_server_is_refused_by_its_version(tmp_path: Path) -> None:
    with qdrant_double(version="1.18.3") as double:
        shard = RetrievalShard(on(double, tmp_path))
        with pytest.raises(FailedPrecondition, match=r"1\.18\.3; 1\.19 or newer"):
            shard.open()
        shard.close()


def test_nothing_that_a_person_wrote_reaches_the_server(qdrant: QdrantDouble, filled: str) -> None:
    sent = json.dumps([asked.body for asked in qdrant.asked])
    for word in ("apple", "one", "two", "three"):
        assert f'"{word}' not in sent
        assert f'"{word}' not in qdrant.everything()


def test_a_node_without_a_server_loads_nothing_of_the_client() -> None:
    """It costs .6 s and 45 MB."""
    program = (
        "import sys, mnemesh_actors.node.assembly, mnemesh_gateway.node.node; sys.exit('qdrant_client' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0


# ---- its key --------------------------------------------------------------------------------------------------------


def test_the_key_goes_with_every_request_and_is_shown_nowhere(opened: Open) -> None:
    with qdrant_double(api_key="a key of the tests") as double:
        shard, status = opened(double=double, api_key="a key of the tests")
        assert {asked.key for asked in double.asked} == {"a key of the tests"}
        for shown in (repr(shard._config), repr(status), str(shard._config.server)):
            assert "a key" not in shown
        shard.close()


@pytest.mark.parametrize("key", ["", "another"])
def test_a_wrong_key_is_refused_with_the_setting_to_correct(tmp_path: Path, key: str) -> None:
    with qdrant_double(api_key="a key of the tests") as double:
        shard = RetrievalShard(on(double, tmp_path, api_key=key))
        with pytest.raises(FailedPrecondition, match="check qdrant_api_key"):
            shard.open()
        shard.close()


# ---- outages --------------------------------------------------------------------------------------------------------


def test_a_server_that_comes_back_holds_what_was_acknowledged_and_the_shard_says_from_where_to_go_on(
    opened: Open, qdrant: QdrantDouble
) -> None:
    shard, _ = opened()
    shard.apply([item(1, "apple")], [], 1)
    shard.flush()
    shard.apply([item(2, "apple")], [], 2)
    qdrant.stop()
    with pytest.raises(Unavailable, match="does not answer"):
        shard.apply([item(3, "apple")], [], 3)
    with pytest.raises(Unavailable):
        shard.open()
    qdrant.start()
    status = shard.open()
    assert (status.seq, status.points, status.rebuilt) == (1, 2, "")
    for _ in range(2):
        shard.apply([item(2, "apple"), item(3, "apple")], [], 3)
    assert found(shard, "apple") == [memory_id(1), memory_id(2), memory_id(3)]


def test_after_an_outage_nothing_is_applied_before_the_shard_opens_again(opened: Open, qdrant: QdrantDouble) -> None:
    shard, _ = opened()
    qdrant.stop()
    with pytest.raises(Unavailable):
        found(shard, "apple")
    qdrant.wipe()
    qdrant.start()
    with pytest.raises(Unavailable, match="not opened again yet"):
        shard.apply([item(1, "apple")], [], 1)
    assert shard.open() == ShardStatus(0, 0, "absent", f"server at {qdrant.host}")


def test_a_collection_that_was_removed_is_made_new_and_said(opened: Open, qdrant: QdrantDouble, filled: str) -> None:
    shard, _ = opened()
    qdrant.wipe()
    with pytest.raises(DataLoss, match="lost"):
        found(shard, "apple")
    status = shard.open()
    assert (status.seq, status.points) == (0, 0)
    assert "lost" in status.rebuilt
    shard.apply([item(1, "apple")], [], 1)
    assert found(shard, "apple") == [memory_id(1)]


def test_closing_while_the_server_is_away_raises_and_loses_nothing(opened: Open, qdrant: QdrantDouble) -> None:
    shard, _ = opened()
    shard.apply([item(1, "apple")], [], 1)
    qdrant.stop()
    shard.close()
    qdrant.start()
    shard, status = opened()
    assert (status.seq, status.points) == (0, 1)


@pytest.mark.parametrize(
    "fault",
    [Fault(503), Fault(502), Fault(429), Fault(429, {"retry-after": "0"}), Fault(cut=True), Fault(503, after=True)],
    ids=repr,
)
def test_one_fault_in_passing_is_not_noticed(opened: Open, qdrant: QdrantDouble, fault: Fault) -> None:
    for work in (
        lambda shard: shard.apply([item(1, "apple")], [], 1),
        lambda shard: found(shard, "apple"),
        lambda shard: shard.flush(),
        lambda shard: shard.status(),
    ):
        shard, _ = opened()
        shard.apply([item(1, "apple")], [], 1)
        qdrant.faults.append(fault)
        work(shard)
        assert not qdrant.faults
        assert found(shard, "apple") == [memory_id(1)]
        shard.close()


def test_a_collection_whose_making_was_answered_late_is_taken_as_it_is(opened: Open, qdrant: QdrantDouble) -> None:
    first, _ = opened()
    first.close()
    before_it = [asked.method for asked in qdrant.asked].index("PUT")
    qdrant.wipe()
    qdrant.faults.extend([None] * before_it + [Fault(cut=True, after=True)])
    shard, status = opened()
    assert (status.seq, list(qdrant.faults)) == (0, [])
    shard.apply([item(1, "apple")], [], 1)
    assert found(shard, "apple") == [memory_id(1)]


def test_a_server_that_never_answers_is_left_when_the_time_is_over(qdrant: QdrantDouble, tmp_path: Path) -> None:
    made = on(qdrant, tmp_path)
    shard = RetrievalShard(replace(made, server=replace(made.server, read_s=0.2, write_s=0.2)))
    shard.open()
    qdrant.lasting = Fault(hang=True)
    for work in (lambda: found(shard, "apple"), lambda: shard.apply([item(1, "apple")], [], 1), shard.open):
        before = len(qdrant.asked)
        with pytest.raises(Unavailable, match=r"does not answer|not opened again"):
            work()
        assert len(qdrant.asked) - before <= 1, "what took the whole time is not asked again"
    qdrant.lasting = None
    qdrant.release()
    assert shard.open().seq == 0
    shard.close()


def test_who_is_asked_to_wait_longer_than_there_is_time_says_for_how_long(opened: Open, qdrant: QdrantDouble) -> None:
    shard, _ = opened()
    qdrant.lasting = Fault(429, {"retry-after": "77"})
    before = len(qdrant.asked)
    with pytest.raises(Unavailable, match="429") as caught:
        found(shard, "apple")
    assert caught.value.fields["retry_after_s"] == 77
    assert len(qdrant.asked) == before + 1
    qdrant.lasting = Fault(429, {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"})
    with pytest.raises(Unavailable, match="429"):
        shard.status()
    qdrant.lasting = None


# ---- trying again ---------------------------------------------------------------------------------------------------


class Line:
    """A connection with a clock of its own: what each try meets, and how long was paused between."""

    def __init__(self, *meets: int | Exception, read_s: float = 2.0, took_s: float = 0.0, **headers: str) -> None:
        self.meets = list(meets)
        self.took_s = took_s
        self.headers = headers
        self.now = 0.0
        self.pauses: list[float] = []
        self.timeouts: list[dict[str, float]] = []
        server = ServerConfig(url="http://127.0.0.1:1", owner=OWNER, read_s=read_s, write_s=10.0, connect_s=1.0)
        self.sender = PatientSender(server, lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def send(self, request: httpx.Request) -> httpx.Response:
        self.timeouts.append(request.extensions["timeout"])
        self.now += self.took_s
        met = self.meets.pop(0) if len(self.meets) > 1 else self.meets[0]
        if isinstance(met, Exception):
            raise ResponseHandlingException(met)
        return httpx.Response(met, headers={name.replace("_", "-"): value for name, value in self.headers.items()})

    def ask(self, method: str = "POST", path: str = "/collections/x/points/query/batch") -> int:
        return self.sender(httpx.Request(method, f"http://127.0.0.1:1{path}"), self.send).status_code


def test_pauses_grow_within_random_bounds_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemesh_actors.index.engines.server.random.uniform", lambda low, high: high)
    line = Line(503)
    assert line.ask() == 503
    assert line.pauses == [0.05, 0.1, 0.2, 0.4]
    assert len(line.timeouts) == ATTEMPTS_MAX


def test_all_tries_together_stay_within_the_bound_of_a_question_or_of_a_change() -> None:
    line = Line(503, took_s=0.9)
    assert line.ask() == 503
    assert line.now <= 2.0 + 0.9
    assert [round(timeout["read"], 6) for timeout in line.timeouts] == sorted(
        (round(timeout["read"], 6) for timeout in line.timeouts), reverse=True
    )
    changing = Line(200)
    assert changing.ask("PUT", "/collections/x/points") == 200
    assert (changing.timeouts[0]["read"], changing.timeouts[0]["connect"]) == (10.0, 1.0)


def test_the_pause_that_the_server_asks_for_is_kept() -> None:
    line = Line(429, 200, retry_after="1")
    assert line.ask() == 200
    assert line.pauses == [1.0]


@pytest.mark.parametrize("error", [httpx.ConnectError("refused"), httpx.RemoteProtocolError("cut")], ids=repr)
def test_a_connection_that_was_refused_or_cut_is_made_again(error: Exception) -> None:
    line = Line(error, error, 200)
    assert (line.ask(), len(line.pauses)) == (200, 2)


@pytest.mark.parametrize(
    "met", [httpx.ReadTimeout("slow"), httpx.ConnectTimeout("slow"), ValueError("a bug")], ids=repr
)
def test_a_time_that_ran_out_and_a_bug_are_not_tried_again(met: Exception) -> None:
    line = Line(met, 200)
    with pytest.raises(ResponseHandlingException):
        line.ask()
    assert line.pauses == []


@pytest.mark.parametrize("status", [200, 400, 401, 404, 409, 500])
def test_an_answer_that_another_try_would_not_change_is_final(status: int) -> None:
    line = Line(status, 200)
    assert (line.ask(), line.pauses) == (status, [])


# ---- contract client -------------------------------------------------------------------------------------------------
# The qdrant-client adapter over a wire: which answers can be cured by another try, and which cannot.


SCHEMA = Schema(dense={"dense": 4})


@pytest.mark.parametrize(
    ("status", "error"),
    [(500, Unavailable), (503, Unavailable), (429, Unavailable), (403, FailedPrecondition), (400, FailedPrecondition)],
)
def test_an_answer_of_the_server_becomes_one_of_our_errors(
    qdrant: QdrantDouble, status: int, error: type[MnemeshError]
) -> None:
    qdrant.lasting = Fault(status)
    backend = ClientBackend(QdrantClient(qdrant.url, check_compatibility=False), "points")
    with pytest.raises(error, match=str(status)):
        backend.open(SCHEMA)
    backend.close()


def test_payload_indexes_are_asked_for_by_field_and_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, dict[str, object]] = {}

    def note(collection: str, field: str, params: BaseModel, wait: bool) -> None:
        assert wait
        asked[field] = params.model_dump(exclude_none=True, mode="json")

    client = QdrantClient(":memory:")
    monkeypatch.setattr(client, "create_payload_index", note)
    schema = Schema(dense={"dense": 4}, tenant="space", keywords=("tags",), times=("at",))
    backend = ClientBackend(client, "points")
    assert backend.open(schema) is True
    backend.close()
    assert asked == {
        "space": {"type": "keyword", "is_tenant": True},
        "tags": {"type": "keyword", "is_tenant": False},
        "at": {"type": "integer", "lookup": False, "range": True},
    }
