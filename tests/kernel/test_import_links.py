"""Links of an export after its import: memories have new ids, and links lead to the new ids."""

from __future__ import annotations

from pathlib import Path

from mnemesh.cli.imports.links import LinkMover
from mnemesh.cli.imports.report import Report
from mnemesh.cli.imports.sources import Found
from mnemesh.cli.imports.state import ImportState
from mnemesh.errors import from_node
from mnemesh.importing.items import Entry


class Node:
    """Takes links as a node would, refuses links to `refused`, and records every call."""

    def __init__(self, refused: str = "") -> None:
        self.asked: list[str] = []
        self._refused = refused

    def unlink(self, id: str, type: str, to: str, wait: str) -> None:
        self.asked.append(f"unlink {id} {type} {to}")

    def link(self, id: str, type: str, to: str, wait: str) -> None:
        if to == self._refused:
            raise from_node("FAILED_PRECONDITION", "it is forgotten", {})
        self.asked.append(f"link {id} {type} {to}")


def exported(origin: str, *links: str) -> Entry:
    given = [dict(zip(("type", "id"), link.split(":"), strict=True)) for link in links]
    return Entry(line=1, fields={"content": "x", "links": given, "idempotency_key": f"key-{origin}"}, origin=origin)


def moved(node: Node, state: ImportState, report: Report) -> list[str]:
    """The calls to the node after an import of three memories with links to each other and to a fourth."""
    mover = LinkMover()
    mover.stored("a.jsonl", exported("a", "see-also:b", "supports:elsewhere"), "new-a")
    mover.stored("a.jsonl", exported("b", "part-of:c"), "new-b")
    mover.stored("a.jsonl", exported("c", "see-also:c-itself"), "c")
    mover.stored("a.txt", Entry(line=1, fields={"content": "no memory of an export"}), "d")
    mover.move(node, state, report)  # type: ignore[arg-type]  # of a client it needs these two methods
    return node.asked


def test_links_within_an_export_lead_to_the_new_memories_once(tmp_path: Path) -> None:
    report = Report(Found())
    with ImportState(tmp_path / "state") as state:
        assert moved(Node(), state, report) == [
            "unlink new-a see-also b", "link new-a see-also new-b",
        ]  # fmt: skip
        assert moved(Node(), state, report) == []
    assert report.notices == []


def test_a_link_that_the_node_refuses_is_said_and_tried_again_by_the_next_run(tmp_path: Path) -> None:
    report = Report(Found())
    with ImportState(tmp_path / "state") as state:
        assert moved(Node(refused="new-b"), state, report) == ["unlink new-a see-also b"]
        (said,) = report.notices
        assert "see-also b could not be led to new-b" in said["message"]
        assert moved(Node(), state, report) == ["unlink new-a see-also b", "link new-a see-also new-b"]
