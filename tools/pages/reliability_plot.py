"""The reliability of recall's score as a picture: mean score against the share of results that answer, by corpus.

The picture is SVG text, made of the bins in bench/results/calibration.json. A score that is a probability lies on the
diagonal. Corpora that nobody tuned on have dashed lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

Bins = Sequence[Sequence[float]]

SIDE: Final = 400  # Of the square from 0 to 1, in pixels.
LEFT: Final = 60
TOP: Final = 20
WIDTH: Final = LEFT + SIDE + 180
HEIGHT: Final = TOP + SIDE + 60
TICKS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# Colours that colour-blind readers tell apart: Okabe and Ito 2008.
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#d55e00", "#cc79a7")
KEPT_BACK: Final = "kept back"


def reliability_plot(bins: Mapping[str, Bins]) -> str:
    """The picture of the bins of each corpus: pairs of mean score and share."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13" role="img">',
        "<title>Mean score and share of top results that answer, in ten bins of equal count</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_axes(),
        *(line for number, (name, pairs) in enumerate(bins.items()) for line in _corpus(number, name, pairs)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes() -> Iterator[str]:
    yield f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888888"/>'
    for tick in TICKS:
        x, y = _x(tick), _y(tick)
        yield f'<text x="{x:g}" y="{TOP + SIDE + 18}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{tick:g}</text>'
    middle = TOP + SIDE / 2
    yield f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE + 42}" text-anchor="middle">mean score</text>'
    yield f'<text transform="translate(18 {middle:g}) rotate(-90)" text-anchor="middle">share that answers</text>'
    yield _line([(0.0, 0.0), (1.0, 1.0)], "#888888", dashes="2 4")


def _corpus(number: int, name: str, pairs: Bins) -> Iterator[str]:
    """The line of a corpus, its bins as points, and its row of the legend."""
    colour = COLOURS[number % len(COLOURS)]
    dashes = "6 4" if KEPT_BACK in name else ""
    yield _line(pairs, colour, dashes=dashes)
    for score, share in pairs:
        yield f'<circle cx="{_x(score):g}" cy="{_y(share):g}" r="3" fill="{colour}"/>'
    x, y = LEFT + SIDE + 16, TOP + 14 + 22 * number
    yield _path([(x, y - 4), (x + 24, y - 4)], colour, dashes)
    yield f'<text x="{x + 30}" y="{y}">{escape(name)}</text>'


def _line(pairs: Bins, colour: str, *, dashes: str = "") -> str:
    return _path([(_x(score), _y(share)) for score, share in pairs], colour, dashes)


def _path(points: Sequence[tuple[float, float]], colour: str, dashes: str) -> str:
    told = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="1.5"{dashed}/>'


def _x(score: float) -> float:
    return round(LEFT + SIDE * score, 1)


def _y(share: float) -> float:
    return round(TOP + SIDE * (1.0 - share), 1)
