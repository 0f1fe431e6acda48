"""Links between memories of one export: an import gives memories new ids, so their links are led there once all are
stored. A link to any other memory keeps its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mnemesh.cli.imports.import_report import ImportReport
from mnemesh.cli.imports.import_state import DONE, ImportState
from mnemesh.errors import MnemeshError
from mnemesh.importing.items import ImportItem, Problem

if TYPE_CHECKING:
    from mnemesh.api.client import Client


class LinkMover:
    """Gets the new id of every item. `move` changes the links. Doing so again changes nothing."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._linked: list[tuple[str, ImportItem, str]] = []

    def stored(self, file: str, entry: ImportItem, id: str) -> None:
        """The item of `file` is the memory `id`."""
        if not entry.origin:
            return
        self._ids[entry.origin] = id
        if entry.fields.get("links"):
            self._linked.append((file, entry, id))

    def move(self, client: Client, done: ImportState, report: ImportReport) -> None:
        """Lead the links of all items to the new ids of what they link to. A link that is refused is reported, and the
        rest goes on."""
        for file, entry, id_ in self._linked:
            mark = DONE + str(entry.fields["idempotency_key"])
            if mark in done:
                continue
            refused = False
            for type_, old in _links(entry.fields["links"]):
                new = self._ids.get(old, old)
                if new == old:
                    continue
                steps = [(client.unlink, type_, old), (client.link, type_, new)]
                if type_ == "both-hold":  # without a gap, because the node judges the memories meanwhile
                    steps.reverse()
                elif type_ in ("contradicts", "may-replace"):  # taken away, these leave a decision on the old id
                    steps.insert(1, (client.unlink, "both-hold", old))
                try:
                    for step, named, end in steps:
                        step(id_, named, end, wait="durable")
                except MnemeshError as error:
                    if not error.refused:
                        raise
                    refused = True
                    said = f"its link {type_} {old} could not be led to {new}: {error.message}"
                    report.problem(file, Problem(line=entry.line, message=said, refused=False))
            if not refused:
                done.add((mark,))


def _links(links: list[Any]) -> Iterator[tuple[str, str]]:
    """Types and ids of links as JSON or front matter has them."""
    for link in links:
        type_, id_ = (link.get("type"), link.get("id")) if isinstance(link, dict) else str(link).split(":", 1)
        yield str(type_), str(id_)
