"""Consolidation on the labelled corpus of tests/data/sleep, through a whole node."""

from __future__ import annotations

from bench.consolidation.sleep import measured_quality


async def test_the_corpus_is_promoted_merged_and_reported_as_labelled() -> None:
    found = {name: counts[0] for name, counts in (await measured_quality(show=False)).items()}
    assert found["consistent groups promoted"] >= 36
    assert found["duplicate groups merged"] >= 27
    assert found["gaps found"] >= 9
    wrong = ("inconsistent groups promoted", "groups mixed in one fact", "other groups merged", "steps of a second run")
    assert [found[name] for name in wrong] == [0, 0, 0, 0]
