"""The options that say which memories a command looks at. Only typer evaluates their annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemesh.cli.given import given

if TYPE_CHECKING:
    from typing import Annotated

    from mnemesh.cli.options import REPEAT, Spaces, option


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories a reading command looks at: options of recall and list."""

    space: Spaces = None
    kind: Annotated[list[str] | None, option("RecallRequest.kinds", "--kind", "-k", more=REPEAT)] = None
    tags_any: Annotated[
        list[str] | None, option("RecallRequest.tags_any", "--tags-any", metavar="TAG", more=REPEAT)
    ] = None
    tags_all: Annotated[
        list[str] | None, option("RecallRequest.tags_all", "--tag", "--tags-all", metavar="TAG", more=REPEAT)
    ] = None
    tags_none: Annotated[
        list[str] | None, option("RecallRequest.tags_none", "--tags-none", metavar="TAG", more=REPEAT)
    ] = None
    since: Annotated[str | None, option("RecallRequest.since", "--since", metavar="TIME")] = None
    before: Annotated[str | None, option("RecallRequest.before", "--before", metavar="TIME")] = None
    valid_at: Annotated[str | None, option("RecallRequest.valid_at", "--valid-at", metavar="TIME")] = None
    by: Annotated[str | None, option("RecallRequest.agent", "--by", metavar="AGENT")] = None
    session: Annotated[str | None, option("RecallRequest.session", "--session")] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given(
            space=self.space, kinds=self.kind, tags_any=self.tags_any, tags_all=self.tags_all,
            tags_none=self.tags_none, since=self.since, before=self.before, valid_at=self.valid_at, agent=self.by,
            session=self.session,
        )  # fmt: skip
