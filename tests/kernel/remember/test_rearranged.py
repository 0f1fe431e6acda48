"""Texts of the same words in another arrangement: which say the same, and which exchange what belongs to whom."""

from __future__ import annotations

import pytest

from mnemesh_memory.policy.judge.sameness import says_the_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rounding in the ledger is half-even.", "Ledger rounding is half-even."),
        ("The office hours of the fraud team: Wednesdays 14 to 15.", "Fraud team's office hours: Wednesdays 14-15"),
        ("Ulla and Bram share the job of test lead.", "Ulla & Bram share the test lead job"),
        ("The scheduler `metronome` is owned by Lucjan.", "The `metronome` scheduler is owned by Lucjan"),
        ("Odalys left the company at the end of May.", "At the end of May, Odalys left the company."),
        ("We failed over to Dublin on 14 February for 3 hours.", "We failed over to Dublin for 3 hours on 14 Feb."),
        ("Before `make test` is run, `make lint` must pass.", "`make lint` must pass before `make test` is run."),
        ("Roel deploys on Mondays, Anneke on Thursdays.", "Anneke deploys on Thursdays, Roel on Mondays."),
        ("GraphQL serves the public API, gRPC the inner one.", "gRPC serves the inner one, GraphQL the public API."),
        (
            "The old importer reads CSV, the new importer reads Parquet.",
            "The new importer reads Parquet, the old importer reads CSV.",
        ),
        ("It supports Linux and macOS; Windows is planned.", "It supports macOS and Linux; Windows is planned."),
        ("Billing gets 4 GiB of memory.", "billing gets 4 GiB memory"),
        ("Yusuf is away on Fridays.", "Yusuf is away Fridays."),
        ("Kirsten (legal) reads contracts.", "Kirsten - legal - reads contracts"),
        ("Swati is against micro-services for our team.", "Swati is against microservices for the team."),
    ],
)
def test_clauses_phrases_and_compounds_may_stand_elsewhere(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana reviews Ben's code.", "Ben reviews Ana's code."),
        (
            "`config/local.toml` overrides `config/default.toml`.",
            "`config/default.toml` overrides `config/local.toml`.",
        ),
        ("Files go from Bremen to Kiel.", "Files go to Bremen from Kiel."),
        ("Traffic: old gateway pods > new gateway pods", "Traffic: new gateway pods > old gateway pods"),
        (
            "For legal questions we ask Lund, for tax questions Oxbow.",
            "For legal questions we ask Oxbow, for tax questions Lund.",
        ),
        (
            "Rendering runs on the farm, compositing on the laptops.",
            "Rendering runs on the laptops, compositing on the farm.",
        ),
        ("My shoes are size 43, my boots size 44.", "My shoes are size 44, my boots size 43."),
        ("Ada likes tea, Ben coffee.", "Ada likes coffee, Ben tea."),
        ("Use tabs, spaces never.", "Use spaces, tabs never."),
        ("Deploys happen on Friday, not on Monday.", "Deploys happen on Monday, not on Friday."),
        ("Deploys happen on Friday but not on Monday.", "Deploys happen on Monday but not on Friday."),
        ("Staging and production run on Hetzner and AWS.", "Staging and production run on AWS and Hetzner."),
        ("Stop the old node, delete the old index.", "Delete the old index, stop the old node."),
        ("No green tests, no merge to main.", "No merge to main, no green tests."),
        (
            "Our first database server: the node in Kiel, our other database server: the node in Bremen.",
            "Our first database server: the node in Bremen, our other database server: the node in Kiel.",
        ),
        (
            "In the Kiel region, the main node runs; in the Bremen region, the spare node runs.",
            "In the Kiel region, the spare node runs; in the Bremen region, the main node runs.",
        ),
        ("Max works for Lund.", "Lund works for Max."),
        ("More errors came in May than in June.", "More errors came in June than in May."),
        ("The customer Lund pays by invoice.", "The Lund customer pays by invoice."),
        ("If the tests fail, then the deploy stops.", "If the deploy stops, then the tests fail."),
        ("The backup was on tape.", "The backup is on tape."),
        ("The tests run before the build.", "The build runs before the tests."),
    ],
)
def test_nobody_takes_the_place_of_another(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)
