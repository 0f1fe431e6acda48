"""The HTTP door: every operation as JSON, strict input, one object an answer, nothing for strangers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from door_clients import REQUESTS, TOKEN, Doors, open_http, serve_http

from mnemesh_gateway.doors.http.http_door import build_app
from mnemesh_gateway.doors.http.openapi import QUERY_METHODS
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation, Route
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import Aborted, DataLoss, MnemeshError, Overloaded, Unavailable
from mnemesh_proto.loopback import is_loopback

SECRET = "ghp_" + "x7Kq2Vn9Rt4Ws8Lp3Zd6Yb1Hc5Mf0Ja2Qe7U"
FORMS = [(operation, form) for operation in OPERATIONS for form in operation.forms]
EVERY_FORM = pytest.mark.parametrize(
    ("operation", "form"), FORMS, ids=[f"{form.method} {form.path}" for _, form in FORMS]
)
BAD_HEADERS: dict[str, dict[str, str]] = {
    "none": {},
    "wrong": {"authorization": "Bearer wrong"},
    "basic": {"authorization": f"Basic {TOKEN}"},
    "bare": {"authorization": TOKEN},
    "cookie": {"cookie": f"token={TOKEN}"},
}


@pytest.fixture
async def client(doors: Doors) -> AsyncIterator[httpx.AsyncClient]:
    async with open_http(doors) as opened:
        yield opened


async def remember(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    response = await client.post("/v1/memories", json=fields)
    assert response.status_code == 200, response.text
    memory: dict[str, Any] = response.json()["memory"]
    return memory


async def send(client: httpx.AsyncClient, form: Route, fields: dict[str, Any]) -> httpx.Response:
    """One request in the form's own way: key in the path, the rest in query string or body."""
    fields = dict(fields)
    path = form.path
    if form.key:
        key = fields.pop(form.key)
        path = path.replace("{id}", quote(key[0] if isinstance(key, list) else key, safe=""))
    if form.method in QUERY_METHODS:
        fields = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in fields.items()}
        return await client.request(form.method, path, params=urlencode(fields, doseq=True))
    return await client.request(form.method, path, json=fields)


@EVERY_FORM
async def test_every_form_of_every_operation_answers_the_owner_with_one_object(
    operation: Operation, form: Route, client: httpx.AsyncClient, doors: Doors
) -> None:
    await remember(client, content="the first memory", title="first")
    before = doors.counted("http", operation.name, "OK")
    response = await send(client, form, REQUESTS[operation.name])
    assert response.status_code == 200, response.text
    if not operation.standing:
        assert isinstance(response.json(), dict)
    assert response.headers["cache-control"] == "no-store"
    assert doors.counted("http", operation.name, "OK") == before + 1


@EVERY_FORM
@pytest.mark.parametrize("headers", BAD_HEADERS.values(), ids=BAD_HEADERS)
async def test_no_form_of_an_operation_answers_a_stranger(
    operation: Operation, form: Route, headers: dict[str, str], doors: Doors
) -> None:
    async with open_http(doors, token="") as client:
        response = await client.request(form.method, form.path, headers=headers, content=b"{ not even JSON")
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.json()["error"]["code"] == "UNAUTHENTICATED"
    assert TOKEN not in response.text
    assert doors.counted("http", operation.name, "UNAUTHENTICATED") == 1


async def test_on_loopback_metrics_need_the_token_and_description_and_health_do_not(doors: Doors) -> None:
    async with open_http(doors, token="") as client:
        codes = {
            path: (await client.get(path)).status_code
            for path in ("/v1/openapi.json", "/health/live", "/health/ready", "/metrics")
        }
    assert codes == {"/v1/openapi.json": 200, "/health/live": 200, "/health/ready": 200, "/metrics": 401}


async def test_metrics_need_the_token_when_http_is_not_bound_to_loopback(doors: Doors) -> None:
    doors.gate.facts.http = "192.0.2.7:7434"
    async with open_http(doors, token="") as client:
        for path in ("/metrics", "/v1/openapi.json"):
            assert (await client.get(path, headers={"host": "node.example"})).status_code == 401
        headers = {"host": "node.example", "authorization": f"Bearer {TOKEN}"}
        assert (await client.get("/metrics", headers=headers)).status_code == 200


async def test_metrics_are_open_on_loopback_alone_when_a_setting_says_so(doors: Doors) -> None:
    for address, expected in (("127.0.0.1:7434", 200), ("192.0.2.7:7434", 401)):
        doors.gate.facts.http = address
        app = build_app(doors.gate, doors.authenticator, doors.metrics, metrics_open=True)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:7434") as client:
            assert (await client.get("/metrics")).status_code == expected


async def test_metrics_are_prometheus_text_without_a_word_of_a_memory(client: httpx.AsyncClient) -> None:
    await remember(client, content="a very private sentence", title="private", tags=["private"])
    response = await client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert 'mnemesh_requests_total{door="http",operation="remember",status="OK"} 1.0' in response.text
    assert "mnemesh_index_lag_entries" in response.text
    assert "private" not in response.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7434", "127.0.0.1.evil.example", "localhost.evil.example", "", "192.0.2.1"]
)
async def test_a_foreign_host_header_is_refused_on_loopback(host: str, client: httpx.AsyncClient) -> None:
    for path in ("/health/live", "/v1/whoami", "/metrics"):
        response = await client.get(path, headers={"host": host})
        assert (response.status_code, response.json()["error"]["code"]) == (421, "INVALID_ARGUMENT")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:7434", "127.0.0.1", "127.0.0.9:1", "[::1]", "[::1]:7434"])
async def test_every_name_of_this_machine_is_served_on_loopback(host: str, client: httpx.AsyncClient) -> None:
    assert (await client.get("/health/live", headers={"host": host})).status_code == 200


async def test_any_host_header_is_served_elsewhere(doors: Doors) -> None:
    doors.gate.facts.http = "0.0.0.0:7434"
    async with open_http(doors) as client:
        assert (await client.get("/v1/whoami", headers={"host": "node.example"})).status_code == 200


def test_loopback_is_an_address_or_the_name_localhost() -> None:
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"))
    assert not any(
        is_loopback(host) for host in ("", "0.0.0.0", "::", "192.168.1.2", "example.org", "127.0.0.1.nip.io")
    )


async def test_no_answer_allows_another_origin(client: httpx.AsyncClient) -> None:
    preflight = await client.options("/v1/memories", headers={"origin": "https://evil.example"})
    plain = await client.get("/v1/whoami", headers={"origin": "https://evil.example"})
    assert preflight.status_code == 405
    assert not [name for name in (*preflight.headers, *plain.headers) if name.startswith("access-control")]


async def test_agent_and_space_come_from_the_headers(client: httpx.AsyncClient) -> None:
    headers = {"X-Mnemesh-Agent": "Claude Code", "X-Mnemesh-Space": "team/caf%C3%A9"}
    done = (await client.post("/v1/memories", json={"content": "x"}, headers=headers)).json()
    assert (done["memory"]["by"], done["memory"]["space"]) == ("owner/claude-code", "team/café")


@pytest.mark.parametrize("header", ["x-mnemesh-agent", "x-mnemesh-space"])
async def test_a_credential_in_a_header_is_refused_before_anything_is_written(
    header: str, client: httpx.AsyncClient
) -> None:
    refused = await client.post("/v1/memories", json={"content": "x"}, headers={header: SECRET})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, header)
    assert SECRET not in refused.text
    assert (await client.get("/v1/memories")).json()["total"] == 0


@pytest.mark.parametrize(
    "title", ["a/b", "a/timeline", "100% sure?", "#hash", "ä ö", "a b", "..", "a%2Fb", "batch", "\U0001f419"]
)
async def test_a_title_with_any_character_works_as_id_when_percent_encoded(title: str, doors: Doors) -> None:
    async with serve_http(doors) as client:
        memory = await remember(client, content="x", title=title)
        # `..` alone is a path step for every client, so it is not an id by path; POST /v1/get takes it.
        if title == "..":
            found = await client.post("/v1/get", json={"ids": [title]})
        else:
            found = await client.get(
                httpx.URL(str(client.base_url), raw_path=f"/v1/memories/{quote(title, safe='')}".encode())
            )
    assert found.json()["memory"]["id"] == memory["id"]


@pytest.mark.parametrize(
    ("method", "path", "sent", "field"),
    [
        ("POST", "/v1/memories", {"json": {"contnt": "x"}}, "contnt"),
        ("POST", "/v1/memories", {"json": {}}, "content"),
        ("POST", "/v1/memories", {}, "content"),
        ("POST", "/v1/memories", {"content": b'{"content": "x", "importance": NaN}'}, "importance"),
        ("POST", "/v1/memories", {"content": b'["content"]'}, "body"),
        ("POST", "/v1/memories", {"content": b"\xff"}, "body"),
        ("POST", "/v1/memories", {"content": b'{"content": "\\ud800"}'}, "content"),
        ("POST", "/v1/memories?wait=durable", {"json": {"content": "x"}}, "query string"),
        ("GET", "/v1/recall?query=x&limit=0", {}, "limit"),
        ("GET", "/v1/recall?query=x&limt=5", {}, "limt"),
        ("GET", "/v1/recall?query=%FF", {}, "query string"),
        ("GET", "/v1/recall?" + "&".join(["kinds=a"] * 1001), {}, "query string"),
        ("GET", "/v1/memories?limit=many", {}, "limit"),
        ("GET", "/v1/memories/%FF", {}, "id"),
        ("GET", "/v1/memories/abc?ids=def", {}, "ids"),
        ("DELETE", "/v1/memories/abc", {"json": {"foo": 1}}, "body"),
        ("DELETE", "/v1/memories/abc?wait=durable", {"content": b"x"}, "body"),
        ("GET", "/v1/recall?query=x", {"json": {"limit": 5}}, "body"),
        ("PATCH", "/v1/memories/abc", {"json": {"id": "def", "title": "x"}}, "id"),
        ("POST", "/v1/memories/batch", {"json": {"items": []}}, "items"),
        ("POST", "/v1/memories/batch", {"json": {"items": [{"content": "x"}] * 257}}, "items"),
    ],
)  # fmt: skip
async def test_bad_input_is_422_and_names_the_field(
    method: str, path: str, sent: dict[str, Any], field: str, client: httpx.AsyncClient
) -> None:
    response = await client.request(method, path, **sent)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["field"]) == (422, "INVALID_ARGUMENT", field)
    assert error["limit"]
    assert field in error["message"]


async def test_a_body_that_is_refused_leaves_the_memory_and_none_sent_in_pieces_is_none(
    client: httpx.AsyncClient,
) -> None:
    async def pieces(*sent: bytes) -> AsyncIterator[bytes]:
        for piece in sent:
            yield piece

    path = f"/v1/memories/{(await remember(client, content='x'))['id']}"
    assert (await client.request("DELETE", path, content=pieces(b'{"foo"', b": 1}"))).status_code == 422
    assert (await client.get(path)).status_code == 200
    assert (await client.request("DELETE", path, content=pieces())).json()["action"] == "FORGET"


async def test_an_id_in_the_body_may_repeat_the_one_in_the_path(client: httpx.AsyncClient) -> None:
    memory = await remember(client, content="x")
    response = await client.patch(f"/v1/memories/{memory['id']}", json={"id": memory["id"], "title": "y"})
    assert response.json()["memory"]["title"] == "y"


async def test_a_body_over_the_limit_is_refused_however_it_is_sent(doors: Doors) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    async with serve_http(doors) as client:
        for content in (b"x" * (limits.HTTP_BODY_BYTES_MAX + 1), chunks()):
            response = await client.post("/v1/memories", content=content)
            assert (response.status_code, response.json()["error"]["field"]) == (422, "body")
        assert (await client.get("/v1/whoami")).status_code == 200


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Aborted("changed", heads=("1@a", "2@b")), 409),
        (Overloaded("inbox", 1024, 0.2), 429),
        (Unavailable("starting"), 503),
        (DataLoss("page 7 is damaged; restore it"), 500),
    ],
)
async def test_an_error_of_the_mesh_is_one_object_with_its_status(
    error: MnemeshError, code: int, client: httpx.AsyncClient, doors: Doors
) -> None:
    doors.mesh.fail_with = error
    response = await client.post("/v1/recall", json={"query": "x"})
    body = response.json()["error"]
    assert (response.status_code, body["code"], body["message"]) == (code, error.code, error.message)
    assert (response.headers.get("retry-after") == "1") == isinstance(error, Overloaded)
    assert doors.counted("http", "recall", error.code) == 1


async def test_a_bug_is_500_without_its_text_and_is_counted(client: httpx.AsyncClient, doors: Doors) -> None:
    doors.mesh.fail_with = ZeroDivisionError("what a memory says")
    response = await client.post("/v1/recall", json={"query": "x"})
    assert (response.status_code, response.json()["error"]["code"]) == (500, "INTERNAL")
    assert "memory says" not in response.text
    assert doors.counted("http", "recall", "UNKNOWN") == 1


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404), ("GET", "/v1/nothing", 404), ("POST", "/v1/memories/", 404), ("GET", "/v1/memories/", 404),
        ("PUT", "/v1/memories", 405), ("DELETE", "/v1/recall", 405), ("POST", "/health/live", 405),
        ("PUT", "/v1/memories/a%2Fb", 405), ("GET", "/v1/memories/a/b", 404),
    ],
)  # fmt: skip
async def test_an_unknown_path_or_method_is_an_error_object_too(
    method: str, path: str, code: int, client: httpx.AsyncClient
) -> None:
    response = await client.request(method, path)
    assert response.status_code == code
    error = response.json()["error"]
    assert error["code"] == error["reason"] == {404: "NOT_FOUND", 405: "UNIMPLEMENTED"}[code]


async def test_405_lists_every_method_of_the_path(client: httpx.AsyncClient) -> None:
    allowed = (await client.put("/v1/memories/abc")).headers["allow"]
    assert {name.strip() for name in allowed.split(",")} == {"GET", "HEAD", "PATCH", "DELETE"}


async def test_live_touches_nothing_and_ready_says_why_not(client: httpx.AsyncClient, doors: Doors) -> None:
    doors.gate.facts.state = "starting"
    doors.mesh.fail_with = AssertionError("health must not touch the mesh")
    assert (await client.get("/health/live")).json() == {"state": "live"}
    response = await client.get("/health/ready")
    assert (response.status_code, response.json()["ready"], response.json()["state"]) == (503, False, "starting")
    assert "starting" in response.json()["reason"]
    doors.gate.facts.state = "ready"
    assert (await client.get("/health/ready")).json() == {"ready": True, "state": "ready"}
    doors.gate.unready_because = "its ledger does not answer"
    response = await client.get("/health/ready")
    assert (response.status_code, response.json()["ready"]) == (503, False)
    assert response.json()["reason"] == "its ledger does not answer"


async def test_a_starting_node_says_its_state_but_recalls_nothing(client: httpx.AsyncClient, doors: Doors) -> None:
    doors.gate.facts.state = "starting"
    assert (await client.get("/v1/status")).json()["state"] == "starting"
    assert (await client.post("/v1/recall", json={"query": "x"})).status_code == 503


async def test_export_is_one_object_a_line(client: httpx.AsyncClient) -> None:
    contents = ["one\nwith a line break", "two", "drei: ä \u2028"]
    for content in contents:
        await remember(client, content=content)
    response = await client.get("/v1/export")
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = response.content.split(b"\n")
    assert [json.loads(line)["memory"]["content"] for line in lines[:-1]] == contents
    assert lines[-1] == b""


async def test_an_export_that_breaks_in_the_middle_ends_with_an_error_line(
    client: httpx.AsyncClient, doors: Doors
) -> None:
    await remember(client, content="one")
    doors.mesh.break_export = Unavailable("ledger-0 went away")
    lines = (await client.get("/v1/export")).text.splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["memory", "error"]
    doors.mesh.fail_with = Unavailable("ledger-0 went away")
    assert (await client.get("/v1/export")).status_code == 503


async def test_an_empty_export_is_empty(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/export")
    assert (response.status_code, response.content) == (200, b"")


async def test_a_client_that_leaves_while_it_sends_is_counted_as_cancelled(doors: Doors) -> None:
    app = build_app(doors.gate, doors.authenticator, doors.metrics)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/v1/memories", "raw_path": b"/v1/memories", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())], "root_path": "",
        "scheme": "http", "server": ("127.0.0.1", 7434), "http_version": "1.1",
    }  # fmt: skip
    await app(scope, receive, send)
    assert doors.counted("http", "remember", "CANCELLED") == 1
