"""The knowledge graph of a node in a process of its own: damage, grants, erasing, causes out of a history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from node_process import Nodes, stop_node

import mnemesh
from mnemesh.cli.people import knowledge as people
from mnemesh.short_id import short_id

START = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_damaged_graph_is_made_anew_and_the_node_says_so(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        client.remember("The beacon module uses Oldlamp.")
        assert client.graph("beacon module").relations[0].object == "Oldlamp"
    await stop_node(node)
    file = tmp_path / "derived" / "graph.sqlite"
    file.write_bytes(b"no graph any more" + file.read_bytes()[17:])
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        assert client.graph("beacon module").relations[0].object == "Oldlamp"
        assert any("graph is made anew" in notice for notice in client.status().notices)
        assert "damaged" in client.graph_audit().made
        file.unlink()
        assert client.graph("beacon module").relations[0].object == "Oldlamp"


async def test_an_orphan_shows_how_its_text_begins(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        id_ = client.remember("Nothing else is like this.").memory.id
        audit = client.graph_audit()
        assert [(one.type, one.name, one.detail) for one in audit.findings] == [
            ("orphan", id_, "Nothing else is like this.")
        ]
        assert audit.made == ""
        assert list(people.graph_audit(audit))[:2] == [
            f"orphan  {short_id(id_)}  Nothing else is like this.",
            "1 orphan",
        ]


async def test_a_token_sees_the_graph_of_its_spaces_alone(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token) as owner:
        owner.remember("The beacon module uses Openlamp.", space="team")
        owner.remember("The beacon module uses Hiddenlamp.", space="vault")
        token = owner.add_agent("ben", role="reader", spaces=["team"]).token
        assert len(owner.graph("beacon module", space="*").relations) == 2
        with mnemesh.Client(node.grpc, token) as ben:
            seen = ben.graph("beacon module", space="*")
            assert [one.object for one in seen.relations] == ["Openlamp"]
            assert {one.name for one in seen.entities} == {"Openlamp"}
            with pytest.raises(mnemesh.NotFound) as refused:
                ben.graph("Hiddenlamp", space="*")
            assert "Hiddenlamp" not in str(refused.value).partition("not found")[2]
            with pytest.raises(mnemesh.PermissionDenied):
                ben.graph("beacon module", space="vault")
            with pytest.raises(mnemesh.PermissionDenied):
                ben.graph_rebuild()


async def test_purging_a_memory_leaves_no_byte_of_it_in_the_graph(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        id_ = client.remember("Zanzibarflow depends on Quetzalbase.").memory.id
        client.remember("The beacon module uses Openlamp.")
        assert client.graph("Quetzalbase").relations
        client.purge(id_)
        client.graph("beacon module")  # which knows the log to its end
    for file in (tmp_path / "derived").iterdir():
        assert b"anzibar" not in file.read_bytes().lower(), file.name
        assert b"uetzal" not in file.read_bytes().lower(), file.name


async def test_a_history_of_errors_and_deployments_has_a_causal_chain(nodes: Nodes, tmp_path: Path) -> None:
    node = await nodes.start(tmp_path)
    with mnemesh.Client(node.grpc, node.token, space="team") as client:
        drafts = []
        for day in range(120):
            at = START + timedelta(days=day)
            if day % 4 == 0:
                drafts.append({"content": f"Run {day}: the gateway was deployed to production.", "valid_from": at})
                if day % 20:
                    later = at + timedelta(hours=2)
                    drafts.append({"content": f"Run {day}: a LatencyError in the proxy.", "valid_from": later})
            elif day % 7 == 0:
                drafts.append({"content": f"Run {day}: a DiskError in the archive.", "valid_from": at})
        client.remember_batch([{**draft, "kind": "error", "force": True} for draft in drafts])
        found = client.causal_chain("LatencyError")
        assert found.windows >= 100
        assert [link.effect for link in found.causes[:1]] == ["LatencyError"]
        assert "gateway" in found.causes[0].cause or found.causes[0].cause == "production"
        assert found.causes[0].p_value < 0.01
        assert found.causes[0].memories
        assert not {"DiskError", "archive"} & {link.cause for link in found.causes}
        with pytest.raises(mnemesh.MnemeshError, match="too little data") as refused:
            client.causal_chain("LatencyError", window_hours=744)
        assert refused.value.message.startswith("too little data"), "no field of the request is at fault"
