"""A table in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]], side: str = "---:") -> str:
    """A table. `side` is the ruler of all columns but the first: figures stand at the right."""
    ruler = "|".join(("---", *(side for _ in heads[1:])))
    lines = (f"| {' | '.join(cells)} |\n" for cells in rows)
    return f"| {' | '.join(heads)} |\n|{ruler}|\n{''.join(lines)}"
