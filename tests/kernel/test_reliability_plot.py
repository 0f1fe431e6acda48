"""The picture of recall's reliability: every bin is a point, and the diagonal is where a score is a probability."""

from __future__ import annotations

from xml.etree import ElementTree

from tools.reliability_plot import LEFT, SIDE, TOP, reliability_plot

SVG = "{http://www.w3.org/2000/svg}"
BINS = {"teams & co": [[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]], "teams, kept back": [[0.1, 0.2]]}


def test_every_bin_is_a_point_on_the_lines_and_every_corpus_has_its_name() -> None:
    drawn = ElementTree.fromstring(reliability_plot(BINS))
    points = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in drawn.iter(f"{SVG}circle")]
    assert points[:3] == [(LEFT, TOP + SIDE), (LEFT + SIDE / 2, TOP + 0.75 * SIDE), (LEFT + SIDE, TOP)]
    assert len(points) == 4
    lines = [line.get("points", "") for line in drawn.iter(f"{SVG}polyline")]
    assert f"{LEFT},{TOP + SIDE} {LEFT + SIDE},{TOP}" in lines, "the diagonal"
    names = [text.text for text in drawn.iter(f"{SVG}text")]
    assert set(BINS) <= set(names)
