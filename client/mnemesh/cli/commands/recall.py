"""The command that agents run most often. It starts without typer. The annotations alone give its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mnemesh.cli.filters import Filters
from mnemesh.cli.given import given, numbers
from mnemesh.cli.shell import Shell

if TYPE_CHECKING:
    from typing import Annotated

    import typer

    from mnemesh.cli.options import DASHES, REPEAT, Superseded, contract, option


def recall(
    shell: Shell,
    filters: Filters,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="QUERY", help=contract("RecallRequest.query") + DASHES)
    ] = None,
    limit: Annotated[int | None, option("RecallRequest.limit", "--limit", "-n")] = None,
    mode: Annotated[str | None, option("RecallRequest.mode", "--mode")] = None,
    as_of: Annotated[str | None, option("RecallRequest.as_of", "--as-of", metavar="TIME")] = None,
    min_score: Annotated[float | None, option("RecallRequest.min_score", "--min-score")] = None,
    min_heat: Annotated[float | None, option("RecallRequest.min_heat", "--min-heat")] = None,
    token_budget: Annotated[int | None, option("RecallRequest.token_budget", "--token-budget")] = None,
    sort: Annotated[str | None, option("RecallRequest.sort", "--sort", metavar="ORDER")] = None,
    weight: Annotated[
        list[str] | None, option("RecallRequest.weights", "--weight", metavar="SIGNAL=NUMBER", more=REPEAT)
    ] = None,
    path: Annotated[list[str] | None, option("RecallRequest.paths", "--path", more=REPEAT)] = None,
    source_dir: Annotated[str | None, option("RecallRequest.source_dir", "--source-dir", metavar="DIR")] = None,
    include_superseded: Superseded = False,
    include_archive: Annotated[bool, option("RecallRequest.include_archive", "--include-archive")] = False,
    explain: Annotated[bool, option("RecallRequest.explain", "--explain")] = False,
    snippets_only: Annotated[bool, option("RecallRequest.snippets_only", "--snippets-only")] = False,
    time_words: Annotated[str | None, option("RecallRequest.time_words", "--time-words", metavar="MODE")] = None,
    time_zone: Annotated[str | None, option("RecallRequest.time_zone", "--time-zone", metavar="NAME")] = None,
) -> None:
    """Find the memories that answer a question or match words, best first."""
    options = given(
        mode=mode, as_of=as_of, min_score=min_score, min_heat=min_heat, sort=sort, weights=numbers("weights", weight),
        paths=path, source_dir=source_dir, include_superseded=include_superseded, include_archive=include_archive,
        explain=explain, snippets_only=snippets_only, limit=limit, token_budget=token_budget,
        time_words=time_words, time_zone=time_zone,
    )  # fmt: skip
    words = " ".join(query or ())
    with shell.client() as client:
        answer = client.recall(words, **filters.fields(), **options)

    def lines() -> Iterator[str]:
        from mnemesh.cli.people import memories as people

        return people.recalled(answer, explain=explain, asked=bool(words.strip()))

    shell.answer(answer, lines)


COMMANDS = (("recall", recall),)
