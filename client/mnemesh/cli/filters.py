"""The options that say which memories a command looks at. Only typer evaluates their annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemesh.cli.given import given_in

if TYPE_CHECKING:
    from typing import Annotated

    from mnemesh.cli.options import Spaces, Text, Texts, each, option


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilters:
    """Which memories a reading command looks at: options of recall and list."""

    space: Spaces = None
    kind: Annotated[Texts, each("RecallRequest.kinds", "--kind", "-k")] = None
    tags_any: Annotated[Texts, each("RecallRequest.tags_any", "--tags-any", metavar="TAG")] = None
    tags_all: Annotated[Texts, each("RecallRequest.tags_all", "--tag", "--tags-all", metavar="TAG")] = None
    tags_none: Annotated[Texts, each("RecallRequest.tags_none", "--tags-none", metavar="TAG")] = None
    since: Annotated[Text, option("RecallRequest.since", "--since", metavar="TIME")] = None
    before: Annotated[Text, option("RecallRequest.before", "--before", metavar="TIME")] = None
    valid_at: Annotated[Text, option("RecallRequest.valid_at", "--valid-at", metavar="TIME")] = None
    trust: Annotated[Texts, each("ListRequest.trust", "--trust", metavar="CLASS")] = None
    by: Annotated[Text, option("RecallRequest.agent", "--by", metavar="AGENT")] = None
    session: Annotated[Text, option("RecallRequest.session", "--session")] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given_in(self, kind="kinds", by="agent")
