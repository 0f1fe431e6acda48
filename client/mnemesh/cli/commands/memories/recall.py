"""The command that agents run most often. It starts without typer. The annotations alone give its options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemesh.cli.filters import MemoryFilters
from mnemesh.cli.given import given, given_in, numbers
from mnemesh.cli.shell import Shell

if TYPE_CHECKING:
    from typing import Annotated

    from mnemesh.api.values.recall import Recalled
    from mnemesh.cli.options import DASHES, Number, Superseded, Text, Texts, argument, each, option


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How recall answers, besides filters."""

    limit: Annotated[Number, option("RecallRequest.limit", "--limit", "-n")] = None
    mode: Annotated[Text, option("RecallRequest.mode", "--mode")] = None
    as_of: Annotated[Text, option("RecallRequest.as_of", "--as-of", metavar="TIME")] = None
    min_score: Annotated[float | None, option("RecallRequest.min_score", "--min-score")] = None
    min_heat: Annotated[float | None, option("RecallRequest.min_heat", "--min-heat")] = None
    token_budget: Annotated[Number, option("RecallRequest.token_budget", "--token-budget")] = None
    sort: Annotated[Text, option("RecallRequest.sort", "--sort", metavar="ORDER")] = None
    weight: Annotated[Texts, each("RecallRequest.weights", "--weight", metavar="SIGNAL=NUMBER")] = None
    path: Annotated[Texts, each("RecallRequest.paths", "--path")] = None
    source_dir: Annotated[Text, option("RecallRequest.source_dir", "--source-dir", metavar="DIR")] = None
    include_superseded: Superseded = False
    include_archive: Annotated[bool, option("RecallRequest.include_archive", "--include-archive")] = False
    explain: Annotated[bool, option("RecallRequest.explain", "--explain")] = False
    snippets_only: Annotated[bool, option("RecallRequest.snippets_only", "--snippets-only")] = False
    current_session: Annotated[Text, option("RecallRequest.current_session", "--current-session", metavar="ID")] = None
    time_words: Annotated[Text, option("RecallRequest.time_words", "--time-words", metavar="MODE")] = None
    time_zone: Annotated[Text, option("RecallRequest.time_zone", "--time-zone", metavar="NAME")] = None
    probe: Annotated[bool, option("RecallRequest.probe", "--probe")] = False
    verify: Annotated[bool, option("RecallRequest.verify", "--verify")] = False

    def fields(self) -> dict[str, Any]:
        """The fields of the request that were given."""
        return given_in(self, weight="weights", path="paths") | given(weights=numbers("weights", self.weight))


def recall(
    shell: Shell,
    filters: MemoryFilters,
    wanted: Wanted,
    query: Annotated[Texts, argument("RecallRequest.query", "QUERY", DASHES)] = None,
) -> None:
    """Find the memories that answer a question or match words, best first."""
    words = " ".join(query or ())

    def lines(answer: Recalled) -> Iterator[str]:
        from mnemesh.cli.people import memories as people

        return people.recalled(answer, explain=wanted.explain, asked=bool(words.strip()))

    shell.ask(lambda client: client.recall(words, **filters.fields(), **wanted.fields()), lines)


COMMANDS = (("recall", recall),)
