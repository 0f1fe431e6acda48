"""The gRPC door: auth before anything, rich errors, health, reflection, deadlines, draining."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from door_clients import REQUESTS, TOKEN, WAIT_S, Doors, GrpcClient, open_grpc, refusal, refused, remember_first
from door_clients import client as client
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from mnemesh_gateway.doors.grpc.grpc_door import REFLECTION_SERVICES, SERVICES, SYNC, GrpcDoor
from mnemesh_gateway.doors.metrics import CONTENT_TYPE
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Aborted, Overloaded, Unavailable
from mnemesh_memory.values.model import Caller, Draft
from mnemesh_proto.v1 import memory_pb2, memory_pb2_grpc, recall_pb2, sync_pb2_grpc

SECRET = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"
BEARER = (("authorization", f"Bearer {TOKEN}"),)
BAD_METADATA: dict[str, tuple[tuple[str, str | bytes], ...]] = {
    "none": (),
    "wrong": (("authorization", "Bearer wrong"),),
    "basic": (("authorization", f"Basic {TOKEN}"),),
    "bare": (("authorization", TOKEN),),
    "another key": (("token", TOKEN),),
    "binary key": (("authorization-bin", f"Bearer {TOKEN}".encode()),),
}
BY_NAME = pytest.mark.parametrize("operation", OPERATIONS, ids=[row.name for row in OPERATIONS])


@BY_NAME
async def test_every_operation_answers_the_owner(operation: Operation, client: GrpcClient, doors: Doors) -> None:
    await remember_first(client)
    before = doors.counted("grpc", operation.name, "OK")
    await client.send(operation, operation.read_json(REQUESTS[operation.name]))
    assert doors.counted("grpc", operation.name, "OK") == before + 1


@BY_NAME
@pytest.mark.parametrize("metadata", BAD_METADATA.values(), ids=BAD_METADATA)
async def test_no_operation_answers_a_stranger(
    operation: Operation, metadata: Any, client: GrpcClient, doors: Doors
) -> None:
    found = await refused(client.send(operation, b"\xff\xff not even protobuf", metadata))
    assert (found.code, found.info and found.info.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
    assert TOKEN not in f"{found.message} {found.info}"
    assert doors.counted("grpc", operation.name, "UNAUTHENTICATED") == 1


async def test_the_generated_stubs_work_and_agent_and_space_come_from_the_metadata(client: GrpcClient) -> None:
    stub = memory_pb2_grpc.MemoryServiceStub(client.channel)
    metadata = (*BEARER, ("x-mnemesh-agent", "Claude Code"), ("x-mnemesh-space", "team/caf%C3%A9"))
    done = await stub.Remember(memory_pb2.RememberRequest(content="hello"), metadata=metadata, timeout=WAIT_S)
    assert (done.action, done.memory.by, done.memory.space) == ("ADD", "owner/claude-code", "team/café")


async def test_export_streams_every_memory(client: GrpcClient) -> None:
    stored = [(await client.call("remember", content=f"memory {i}")).memory for i in range(3)]
    assert [item.memory for item in await client.call("export")] == stored


async def test_an_export_that_breaks_in_the_middle_ends_with_its_error(client: GrpcClient, doors: Doors) -> None:
    await remember_first(client)
    doors.mesh.break_export = Unavailable("ledger-0 went away", part="ledger-0")
    assert (await refused(client.call("export"))).code == "UNAVAILABLE"
    assert doors.counted("grpc", "export", "UNAVAILABLE") == 1


READINGS: dict[str, dict[str, Any]] = {
    "recall": {}, "get": {"ids": ["first"]}, "list": {}, "timeline": {"id": "first"}, "stats": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("remember", {"content": "x", "importance": float("nan")}, "importance"),
        ("remember", {"content": "x", "importance": float("inf")}, "importance"),
        ("remember", {"content": "x", "valid_from": Timestamp(nanos=-1)}, "valid_from"),
        ("remember", {"content": "x", "valid_from": Timestamp(seconds=-(2**40))}, "valid_from"),
        ("remember", {"content": "x", "valid_from": Timestamp(seconds=2**60)}, "valid_from"),
        ("recall", {"weights": {"heat": 1.0}}, "weights"),
        ("forget", {"id": "first", "wait": "never"}, "wait"),
        ("get", {"ids": []}, "ids"),
        ("timeline", {"id": "first", "before": 51}, "before"),
        *((name, {**fields, "space": "../up"}, "space") for name, fields in READINGS.items()),
    ],
)
async def test_bad_input_is_a_field_violation(
    name: str, fields: dict[str, Any], field: str, client: GrpcClient
) -> None:
    await remember_first(client)
    found = await refused(client.call(name, **fields))
    assert (found.code, [violation.field for violation in found.violations]) == ("INVALID_ARGUMENT", [field])
    assert found.violations[0].description
    assert found.info is not None
    assert found.info.domain == "mnemesh"


async def test_a_bad_item_of_a_batch_harms_no_other(client: GrpcClient) -> None:
    items = [memory_pb2.RememberRequest(content=text) for text in ("one", "", "three")]
    done = await client.call("remember_batch", items=items)
    assert [result.WhichOneof("outcome") for result in done.results] == ["ok", "error", "ok"]
    assert (done.results[1].error.code, done.results[1].error.field) == ("INVALID_ARGUMENT", "content")


async def test_bytes_that_are_no_message_are_the_callers_fault(client: GrpcClient) -> None:
    for data in (b"\xff\xff\xff", b"\x0a\x02\xff\xfe"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.send(OPERATIONS[0], data)
        assert [violation.field for violation in refusal(caught.value).violations] == ["request"]


async def test_errors_of_the_mesh_keep_their_status_and_their_retry_time(client: GrpcClient, doors: Doors) -> None:
    doors.mesh.fail_with = Overloaded("inbox of shard-0", 1024, 0.25)
    found = await refused(client.call("recall", query="x"))
    assert (found.code, found.retry_s) == ("RESOURCE_EXHAUSTED", 0.25)
    doors.mesh.fail_with = Aborted("ein Umlaut: ä, and a line\nbreak", heads=("1@a",))
    assert (await refused(client.call("update", id="x", title="y"))).message == "ein Umlaut: ä, and a line\nbreak"


async def test_a_bug_is_unknown_and_counted_not_an_empty_answer(
    client: GrpcClient, doors: Doors, caplog: pytest.LogCaptureFixture
) -> None:
    doors.mesh.fail_with = ZeroDivisionError("a bug")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.call("recall", query="x")
    assert caught.value.code() is grpc.StatusCode.UNKNOWN
    assert doors.counted("grpc", "recall", "UNKNOWN") == 1
    assert "ZeroDivisionError" in caplog.text


async def test_a_starting_node_refuses_but_whoami_and_status_answer(client: GrpcClient, doors: Doors) -> None:
    doors.gate.facts.state = "starting"
    assert (await refused(client.call("recall", query="x"))).code == "UNAVAILABLE"
    assert (await client.call("whoami")).agent == "owner"
    status = await client.call("status")
    assert (status.state, status.HasField("ledger"), status.version) == ("starting", False, "0.0.0-fake")
    doors.gate.facts.state = "ready"
    assert (await client.call("status")).ledger.bytes == 2**40


async def test_whoami_shows_the_space_that_a_call_without_one_uses(client: GrpcClient) -> None:
    plain = await client.call("whoami")
    assert (plain.role, plain.private_space, plain.default_space) == ("owner", "@owner", "@owner")
    named = await client.call("whoami", metadata=(*BEARER, ("x-mnemesh-space", "team/x")))
    assert named.default_space == "team/x"


@pytest.mark.parametrize("header", ["x-mnemesh-agent", "x-mnemesh-space"])
async def test_a_credential_in_the_metadata_is_refused_before_anything_is_written(
    header: str, client: GrpcClient
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.call("remember", metadata=(*BEARER, (header, SECRET)), content="x")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert header in (caught.value.details() or "")
    assert SECRET not in str(caught.value)
    assert (await client.call("list")).total == 0


async def test_a_message_over_4_mib_is_refused_before_it_is_read(client: GrpcClient) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.call("remember", content="x" * (limits.GRPC_MESSAGE_BYTES_MAX + 1))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_page_larger_than_4_mib_is_sent(client: GrpcClient, doors: Doors) -> None:
    for i in range(200):
        draft = Draft(content=f"{i} " + "x" * 32_000, space="@owner")
        doors.mesh.store(draft, Caller(agent="owner", principal="owner"))
    page = await client.call("list", limit=200)
    assert page.ByteSize() > 6_000_000


async def test_a_deadline_cancels_the_call_inside(client: GrpcClient, doors: Doors) -> None:
    doors.mesh.hold = asyncio.Event()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.call("recall", query="x", deadline_s=0.2)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(doors.mesh.cancelled.wait(), WAIT_S)


async def test_a_client_that_goes_away_cancels_the_call_inside(client: GrpcClient, doors: Doors) -> None:
    doors.mesh.hold = asyncio.Event()
    stub = client.channel.unary_unary("/mnemesh.v1.RecallService/Recall")
    call = stub(recall_pb2.RecallRequest(query="x").SerializeToString(), metadata=BEARER)
    waiting = asyncio.ensure_future(call.wait_for_connection())
    await asyncio.wait_for(doors.mesh.recalling.wait(), WAIT_S)
    call.cancel()
    await asyncio.wait_for(doors.mesh.cancelled.wait(), WAIT_S)
    waiting.cancel()


async def test_stop_lets_a_running_call_end(doors: Doors) -> None:
    doors.mesh.hold = asyncio.Event()
    async with open_grpc(doors) as client:
        running = asyncio.create_task(client.call("recall", query=""))
        await asyncio.wait_for(doors.mesh.recalling.wait(), WAIT_S)
        stopping = asyncio.create_task(client.door.stop(WAIT_S))
        await asyncio.sleep(0)
        doors.mesh.hold.set()
        assert (await running).abstain
        await asyncio.wait_for(stopping, WAIT_S)


async def test_two_nodes_never_share_a_port(doors: Doors) -> None:
    async with open_grpc(doors) as client:
        second = GrpcDoor(doors.gate, doors.authenticator, doors.metrics)
        with pytest.raises(RuntimeError):
            await second.start(f"127.0.0.1:{client.port}")
        await second.stop(0)


async def test_health_is_open_and_says_serving_only_when_the_node_is_ready(client: GrpcClient) -> None:
    stub = health_pb2_grpc.HealthStub(client.channel)
    answer = health_pb2.HealthCheckResponse

    async def states() -> set[int]:
        requests = [health_pb2.HealthCheckRequest(service=name) for name in ("", *SERVICES)]
        return {(await stub.Check(request, timeout=WAIT_S)).status for request in requests}

    assert await states() == {answer.NOT_SERVING}
    await client.door.set_serving(True)
    assert await states() == {answer.SERVING}
    await client.door.set_serving(False)
    assert await states() == {answer.NOT_SERVING}


async def reflect(client: GrpcClient, service: str, metadata: Any, **request: Any) -> Any:
    call = client.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )(iter([reflection_pb2.ServerReflectionRequest(**request)]), metadata=metadata, timeout=WAIT_S)
    [answer] = [answer async for answer in call]
    return answer


@pytest.mark.parametrize("service", REFLECTION_SERVICES)
async def test_reflection_lists_the_services_and_gives_their_descriptors(service: str, client: GrpcClient) -> None:
    listed = await reflect(client, service, BEARER, list_services="")
    names = {found.name for found in listed.list_services_response.service}
    assert names == {*SERVICES, SYNC, "grpc.reflection.v1alpha.ServerReflection", "grpc.health.v1.Health"}
    for name in names:
        described = await reflect(client, service, BEARER, file_containing_symbol=name)
        assert any(
            name.rpartition(".")[2].encode() in file
            for file in described.file_descriptor_response.file_descriptor_proto
        )


@pytest.mark.parametrize("service", REFLECTION_SERVICES)
async def test_reflection_needs_the_token(service: str, client: GrpcClient) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await reflect(client, service, (), list_services="")
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("service", REFLECTION_SERVICES)
async def test_a_stream_is_refused_only_after_its_first_message_so_that_the_reason_is_not_lost(
    service: str, client: GrpcClient
) -> None:
    call = client.channel.stream_stream(f"/{service}/ServerReflectionInfo")(timeout=WAIT_S)
    refused = asyncio.ensure_future(call.code())
    assert not (await asyncio.wait((refused,), timeout=0.2))[0]
    await call.write(b"no message at all")
    assert await refused is grpc.StatusCode.UNAUTHENTICATED


async def test_health_says_not_serving_while_the_ledger_does_not_answer(client: GrpcClient, doors: Doors) -> None:
    stub = health_pb2_grpc.HealthStub(client.channel)
    await client.door.set_serving(True)
    doors.gate.unready_because = "its ledger does not answer"
    asked = await stub.Check(health_pb2.HealthCheckRequest(service=SERVICES[0]), timeout=WAIT_S)
    assert asked.status == health_pb2.HealthCheckResponse.NOT_SERVING
    doors.gate.unready_because = ""
    asked = await stub.Check(health_pb2.HealthCheckRequest(service=SERVICES[0]), timeout=WAIT_S)
    assert asked.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer wrong"),), (("authorization", "wrong"),)])
async def test_a_sync_stream_needs_a_token_before_anything_is_read(client: GrpcClient, metadata: Any) -> None:
    stub = sync_pb2_grpc.SyncServiceStub(client.channel)
    with pytest.raises(grpc.aio.AioRpcError, match="mnemesh agent add") as caught:
        async for _ in stub.Sync(iter([]), metadata=metadata, timeout=WAIT_S):
            pass
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_metrics_show_ledger_index_and_requests_and_no_word_of_a_memory(client: GrpcClient, doors: Doors) -> None:
    await client.call("remember", content="a very private sentence", title="private-title", tags=["private-tag"])
    text = (await doors.metrics.scrape(doors.gate)).decode()
    assert 'mnemesh_requests_total{door="grpc",operation="remember",status="OK"} 1.0' in text
    assert 'mnemesh_request_seconds_count{door="grpc",operation="remember"} 1.0' in text
    assert 'mnemesh_ledger_seq{incarnation="fake-1"} 1.0' in text
    assert 'mnemesh_index_lag_entries{shard="shard-0"} 3.0' in text
    assert 'mnemesh_consumer_lag_entries{consumer="judge"} 1.0' in text
    assert "mnemesh_ready 1.0" in text
    assert "private" not in text
    assert CONTENT_TYPE.startswith("text/plain")


async def test_a_part_that_does_not_answer_leaves_no_stale_figures(client: GrpcClient, doors: Doors) -> None:
    await remember_first(client)
    assert "mnemesh_ledger_seq{" in (await doors.metrics.scrape(doors.gate)).decode()
    doors.mesh.fail_with = Unavailable("ledger-0 is restarting")
    text = (await doors.metrics.scrape(doors.gate)).decode()
    assert "mnemesh_ledger_seq{" not in text
    assert "mnemesh_ready 0.0" in text
    doors.gate.facts.state = "starting"
    assert "mnemesh_ready 0.0" in (await doors.metrics.scrape(doors.gate)).decode()
