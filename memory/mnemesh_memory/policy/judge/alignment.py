"""Two rows of words side by side: the runs that both have, in order, and the gaps between the runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Run = tuple[int, int, int]  # Where it begins in the one row and in the other, and its number of words.
Gap = tuple[range, range]  # Places in the one row and in the other. One of both may be empty.


def runs_of(one: Sequence[str], other: Sequence[str]) -> list[Run]:
    """The runs of two rows, the same that difflib finds without junk."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(other):
        places.setdefault(word, []).append(at)
    return _runs([places.get(word, ()) for word in one], 0, len(one), 0, len(other))


def gaps_of(one: Sequence[str], other: Sequence[str], runs: Sequence[Run]) -> list[Gap]:
    """The gaps before the first run, between two and behind the last."""
    begun, ended, gaps = 0, 0, list[Gap]()
    for at, place, size in (*runs, (len(one), len(other), 0)):
        if begun < at or ended < place:
            gaps.append((range(begun, at), range(ended, place)))
        begun, ended = at + size, place + size
    return gaps


def _runs(twins: Sequence[Sequence[int]], start: int, end: int, first: int, last: int) -> list[Run]:
    """The longest run between two places of each row, the first of equal ones, and the runs before and behind. `twins`
    are the places of each word in the other row."""
    if start == end or first == last:
        return []
    begin = twin = longest = 0
    ending: dict[int, int] = {}  # The size of the run that ends at a place of the other row.
    for at in range(start, end):
        before, ending = ending, {}
        for place in twins[at]:
            if first <= place < last:
                ending[place] = size = before.get(place - 1, 0) + 1
                if size > longest:
                    begin, twin, longest = at - size + 1, place - size + 1, size
    if not longest:
        return []
    ahead, behind = (start, begin, first, twin), (begin + longest, end, twin + longest, last)
    return [*_runs(twins, *ahead), (begin, twin, longest), *_runs(twins, *behind)]
