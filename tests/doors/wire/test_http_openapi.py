"""The OpenAPI description: valid, complete in both directions, and true of what the door sends and takes."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import jsonschema
import pytest
from door_clients import REQUESTS, Doors, open_http
from openapi_spec_validator import OpenAPIV31SpecValidator

from mnemesh_gateway.contract.message_json import from_json
from mnemesh_gateway.contract.request_rules import REQUEST_RULES, REQUIRED
from mnemesh_gateway.doors.http import openapi
from mnemesh_gateway.doors.http.http_door import _HttpDoor
from mnemesh_gateway.operations.operation_table import OPERATIONS, Operation, by_name
from mnemesh_memory.maps.answers import CLUSTERS_MAX, GAPS_MAX
from mnemesh_memory.values import limits

FILES = [
    import_module(f"mnemesh_proto.v1.{part}_pb2")
    for part in [
        "memory",
        "link",
        "map",
        "history",
        "hygiene",
        "knowledge",
        "recall",
        "rule",
        "seed",
        "watch",
        "admin",
        "peer",
        "backup",
        "transcript",
        "trigger",
        "upkeep",
        "session",
        "sleep",
    ]
]
DOCUMENT = openapi.describe("1.2.3")
BY_NAME = pytest.mark.parametrize("operation", OPERATIONS, ids=[row.name for row in OPERATIONS])


def test_the_description_is_valid_openapi_3_1() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "1.2.3")


def test_a_query_of_a_batch_may_be_a_text_or_an_object() -> None:
    body = DOCUMENT["paths"]["/v1/recall/batch"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert [form["type"] for form in body["properties"]["queries"]["items"]["anyOf"]] == ["string", "object"]
    jsonschema.validate({"queries": ["who is on call?", {"query": "x", "limit": 3}]}, body)


def test_every_route_of_the_app_is_described_and_every_described_path_is_a_route() -> None:
    doors = Doors()
    door = _HttpDoor(doors.gate, doors.authenticator, doors.metrics, loopback=True)
    served = {(route.path, method) for route in door.routes() for method in route.methods or () if method != "HEAD"}
    described = {(path, method.upper()) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert served == described


def test_every_rpc_but_sync_is_an_operation_and_every_operation_is_an_rpc() -> None:
    rpcs = {
        (service.full_name, method.name, method.input_type.name, method.output_type.name, method.server_streaming)
        for file in FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    rows = {
        (row.service, row.rpc, row.request.DESCRIPTOR.name, row.response.DESCRIPTOR.name, row.streaming)
        for row in OPERATIONS
    }
    assert rows == rpcs


def test_names_paths_and_operation_ids_are_unique_and_every_path_is_short() -> None:
    names = [row.name for row in OPERATIONS] + [
        alias for row in OPERATIONS for alias in row.aliases if alias != row.name
    ]
    forms = [(form.method, form.path) for row in OPERATIONS for form in row.forms]
    ids = [entry["operationId"] for path in DOCUMENT["paths"].values() for entry in path.values()]
    for given in (names, forms, ids):
        assert len(given) == len(set(given))


def test_the_aliases_of_the_contract_are_there() -> None:
    for alias in ("save", "store", "write", "retain", "add_memory"):
        assert DOCUMENT["paths"][f"/v1/{alias}"]["post"]["operationId"] == f"remember_as_{alias}"
    for alias in ("find", "query", "search", "lookup", "retrieve"):
        assert DOCUMENT["paths"][f"/v1/{alias}"]["post"]["operationId"] == f"recall_as_{alias}"


def test_every_tool_of_knowledge_has_a_path_of_its_own_name_and_a_read_has_both_methods() -> None:
    for row in OPERATIONS:
        if row.toolset == "knowledge" and row.mcp_name:
            methods = {"post", "get"} if row.read_only else {"post"}
            assert methods <= set(DOCUMENT["paths"].get(f"/v1/{row.mcp_name}", ())), row.mcp_name


@BY_NAME
def test_every_operation_and_every_field_of_its_request_is_explained(operation: Operation) -> None:
    assert operation.description
    for name, field in operation.request_schema().get("properties", {}).items():
        assert field["description"], f"{operation.name}.{name}"


@BY_NAME
def test_schemas_are_valid_and_accept_a_good_request(operation: Operation) -> None:
    for schema in (operation.request_schema(), operation.response_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(REQUESTS[operation.name], operation.request_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**REQUESTS[operation.name], "no_such_field": 1}, operation.request_schema())


@pytest.mark.parametrize("name", ["recall", "list", "get", "timeline", "export"])
def test_where_there_are_spaces_a_list_of_them_may_stand_as_space(name: str) -> None:
    [operation] = [row for row in OPERATIONS if row.name == name]
    schema = {**operation.request_schema(), "required": []}
    for space in ("team/x", ["team/x", "team/y"]):
        jsonschema.validate({"space": space}, schema)
        from_json(operation.request, {"space": space})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"space": 1}, schema)
    for form in operation.forms:
        described = DOCUMENT["paths"][form.path][form.method.lower()]
        for parameter in described.get("parameters", ()):
            if parameter.get("name") == "space":
                jsonschema.validate(["team/x", "team/y"], parameter["schema"])


def test_what_takes_one_space_alone_says_so() -> None:
    [operation] = [row for row in OPERATIONS if row.name == "remember"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"content": "x", "space": ["team/x", "team/y"]}, operation.request_schema())


@BY_NAME
async def test_what_the_door_answers_fits_the_response_schema(operation: Operation) -> None:
    async with open_http(Doors()) as client:
        await client.post("/v1/memories", json={"content": "the first memory", "title": "first", "importance": 0.5})
        form = operation.routes[0]
        fields = dict(REQUESTS[operation.name])
        key = fields.pop(form.key, "")
        path = form.path.replace("{id}", key[0] if isinstance(key, list) else key)
        sent: dict[str, Any] = {"params": fields} if form.method in openapi.QUERY_METHODS else {"json": fields}
        response = await client.request(form.method, path, **sent)
    answer = first_event(response.text) if operation.standing else response.json()
    jsonschema.validate(answer, operation.response_schema())
    reference = {"$ref": f"#/components/schemas/{operation.response.DESCRIPTOR.name}"}
    jsonschema.validate(answer, {**reference, "components": DOCUMENT["components"]})


def first_event(text: str) -> Any:
    """The data of the first server-sent event."""
    return json.loads(next(line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")))


async def test_an_error_fits_its_schema() -> None:
    async with open_http(Doors()) as client:
        error = (await client.post("/v1/memories", json={})).json()
    jsonschema.validate(error, {"$ref": "#/components/schemas/Error", "components": DOCUMENT["components"]})


def test_every_rule_of_the_schemas_is_about_a_field_that_exists() -> None:
    known = {
        f"{message.name}.{field.name}"
        for file in FILES
        for message in file.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    }
    assert set(REQUEST_RULES) <= known
    assert {f"{message}.{field}" for message, fields in REQUIRED.items() for field in fields} <= known


READS = "duplicates hygiene get list check recall recall_batch related timeline stats status whoami export watch"


@pytest.mark.parametrize("name", READS.split())
def test_reading_operations_say_so(name: str) -> None:
    [operation] = [row for row in OPERATIONS if row.name == name]
    assert operation.read_only
    assert operation.idempotent
    assert not operation.destructive


def test_what_names_one_memory_is_required_of_every_request_that_changes_it() -> None:
    changing = ("update", "supersede", "forget", "restore", "purge", "rollback", "resolve", "link", "unlink")
    assert [name for name in changing if "id" not in REQUIRED.get(by_name(name).request.__name__, ())] == []


@pytest.mark.parametrize(
    ("path", "taken", "refused"),
    [
        ("/v1/memories/{id}/anchor", {"reason": "the licence"}, {"reason": " "}),
        ("/v1/memories/{id}/anchor", {"release": True}, {"release": True, "reason": "the licence"}),
        ("/v1/rules", {"condition": "kind = run", "effect": "-0.5"}, {"condition": "kind = run", "effect": "2"}),
        ("/v1/rules", {"condition": "tag = x", "effect": "only"}, {"effect": "only"}),
        ("/v1/tidy", {"finding": "idle"}, {}),
        ("/v1/recall", {"trust": ["own"]}, {"trust": ["mine"]}),
        ("/v1/forget", {"space": "team"}, {"space": ""}),
        ("/v1/forget", {"space": ["team", "docs"]}, {"space": []}),
        ("/v1/forget", {"kinds": ["fact"]}, {"kinds": [], "agent": "", "session": ""}),
        (
            "/v1/peers",
            {"url": "grpc://hub:7433", "token": "mnm_x", "spaces": ["team"]},
            {"url": "grpcs://hub:7433", "token": "mnm_x", "spaces": ["team"]},
        ),
        ("/v1/requirements/{id}", {"status": "done", "note": "shipped"}, {"status": "done", "note": "a\nb"}),
        ("/v1/navigate", {"id": "", "query": "deploys"}, {"id": "x" * (limits.TITLE_BYTES_MAX + 1)}),
        (
            "/v1/agents",
            {"name": "a", "role": "reader", "max_bytes": 0},
            {"name": "a", "role": "reader", "max_bytes": -1},
        ),
    ],
)
def test_a_body_that_the_mesh_refuses_breaks_its_schema(path: str, taken: object, refused: object) -> None:
    schema = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    jsonschema.validate(taken, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(refused, schema)


def test_a_body_with_a_field_at_least_has_to_be_sent() -> None:
    assert DOCUMENT["paths"]["/v1/memories/{id}"]["patch"]["requestBody"]["required"]


def test_one_memory_and_a_page_of_them_are_validated_by_their_own_paths() -> None:
    one, page = (
        {parameter.get("name") for parameter in DOCUMENT["paths"][path]["get"]["parameters"]} - {None}
        for path in ("/v1/memories/{id}/validate", "/v1/validate")
    )
    assert one & page == {"limit"}


@pytest.mark.parametrize(("path", "most"), [("/v1/gaps", GAPS_MAX), ("/v1/topics", CLUSTERS_MAX), ("/v1/related", 50)])
def test_a_limit_of_an_operation_stands_in_its_schema(path: str, most: int) -> None:
    [found] = [entry for known, entry in DOCUMENT["paths"].items() if known.endswith(path.removeprefix("/v1"))]
    [limit] = [each for each in found["get"]["parameters"] if each.get("name") == "limit"]
    assert limit["schema"]["maximum"] == most
