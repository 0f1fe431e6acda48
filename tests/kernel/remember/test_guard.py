"""The verdicts of the write guard: nothing is dropped that says another thing, nobody replaces what they may not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_texts import SIX

from mnemesh_memory.policy.judge.evidence import evidence_of, with_reading
from mnemesh_memory.policy.judge.grammar import LEADS, PREPOSITIONS
from mnemesh_memory.policy.judge.guard import OlderText, Verdict, judge
from mnemesh_memory.policy.judge.reading import Reading
from mnemesh_memory.policy.judge.sameness import says_the_same
from mnemesh_memory.policy.judge.slots import LOOKED_AT_CHARS, SENTENCES_MAX, statements, subject_terms
from mnemesh_memory.policy.judge.tokens import TOKENS_MAX
from mnemesh_memory.policy.judge.vetoes import speaks
from mnemesh_memory.policy.judge.worth_reading import AT_REST_MAX, is_left_unread, to_read

PAIRS: Final = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "guard" / "given.jsonl").read_text("utf-8").splitlines()
]
TEXTS: Final = [pair[side] for pair in PAIRS for side in ("older", "newer")]
PROPERTY = settings(max_examples=150, derandomize=True, database=None, deadline=None)


def memory(
    text: str, *, cosine: float = 0.9, replaceable: bool = True, kind: str = "fact", later: bool = False
) -> OlderText:
    return OlderText(id="old", text=text, kind=kind, cosine=cosine, replaceable=replaceable, later=later)


@pytest.mark.parametrize(("cosine", "read"), [(0.26, True), (0.24, False)])
def test_a_model_at_rest_reads_a_near_memory_without_a_common_word(cosine: float, read: bool) -> None:
    beside = memory("Invoices live in PostgreSQL.", cosine=cosine)
    text = "Billing moved to a managed MySQL."
    assert to_read(text, "fact", [beside], "", {}) == ()
    assert to_read(text, "fact", [beside], "", {}, widely=True) == ((beside,) if read else ())


def test_the_nearest_memories_that_can_be_read_are_read_at_rest_and_few_of_them() -> None:
    long = replace(memory("Invoices are long. " * 60, cosine=0.7), id="long")
    near = [replace(memory("Invoices live in PostgreSQL.", cosine=0.5 - 0.01 * at), id=str(at)) for at in range(5)]
    found = to_read("Billing moved to a managed MySQL.", "fact", [long, *near], "", {}, widely=True)
    assert found == tuple(near[:AT_REST_MAX])


def test_a_text_waits_for_no_reading_that_nobody_does_at_rest() -> None:
    text = "Billing moved to a managed MySQL."
    linked = replace(memory("Billing is on MySQL 5.", cosine=0.6), id="linked")
    other = memory("Invoices live in PostgreSQL.", cosine=0.2)
    verdict = Verdict(action="ADD", reason="", novelty=0.4, contradicts=("linked",))
    assert not is_left_unread(text, "fact", [linked, other], verdict, {})
    assert is_left_unread(text, "fact", [linked, replace(other, cosine=0.3)], verdict, {})
    assert is_left_unread(text, "fact", [linked, other], replace(verdict, contradicts=()), {})


def test_a_text_that_replaces_one_memory_marks_another_that_it_may_replace() -> None:
    old = replace(
        memory("The billing service stores invoices in PostgreSQL"),
        read=Reading(0.0, 1.0, 0.0, whole=True),
        id="replaced",
    )
    likely = replace(
        memory("Invoices are in the shared cluster", cosine=0.5), read=Reading(0.1, 0.7, 0.2, whole=True), id="likely"
    )
    verdict = judge("The billing service stores invoices in MySQL", "fact", [old, likely])
    assert (verdict.action, verdict.supersedes, verdict.marked) == ("SUPERSEDE", ("replaced",), ("likely",))


@pytest.mark.parametrize("read", [Reading(0.01, 0.98, 0.01, whole=True), None])
def test_a_far_memory_is_contested_only_when_a_model_has_read_it(read: Reading | None) -> None:
    far = replace(memory("Tills take paper vouchers.", cosine=0.32), read=read)
    verdict = judge("Tills no longer take paper vouchers.", "fact", [far])
    assert bool(verdict.target_id) is (read is not None)


@pytest.mark.parametrize(
    ("read", "newer", "linked"),
    [
        (Reading(0.03, 0.1, 0.87, whole=True), "We decided to use REST between services", True),
        (Reading(0.01, 0.01, 0.98, whole=True), "We decided to use REST between services", False),
        (Reading(0.03, 0.1, 0.87, whole=True), "We also decided to use REST between services", False),
    ],
)
def test_sure_words_link_two_texts_unless_a_model_is_sure_that_they_are_apart(
    read: Reading, newer: str, linked: bool
) -> None:
    beside = replace(memory("We decided to use gRPC between services", cosine=0.58), read=read)
    assert judge(newer, "fact", [beside]).contradicts == (("old",) if linked else ())


@pytest.mark.parametrize(("older", "newer"), SIX)
def test_each_of_the_six_kinds_replaces_the_older_memory_in_both_directions(older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        verdict = judge(other, "fact", [memory(one)])
        assert (verdict.action, verdict.supersedes) == ("SUPERSEDE", ("old",)), verdict
        assert one in verdict.reason
        assert 'restore(id="old")' in verdict.hint


@pytest.mark.parametrize(("older", "newer"), SIX)
def test_a_memory_that_the_writer_may_not_replace_stands_and_is_linked(older: str, newer: str) -> None:
    verdict = judge(newer, "fact", [memory(older, replaceable=False)])
    assert (verdict.action, verdict.supersedes, verdict.contradicts) == ("ADD", (), ("old",))


@PROPERTY
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.floats(-1, 1), st.sampled_from(["fact", "decision"]))
def test_no_text_supersedes_what_its_writer_may_not(older: str, newer: str, cosine: float, kind: str) -> None:
    hostile = f"{newer} Correction: no longer {older} Instead of {older}"
    for text in (newer, hostile):
        verdict = judge(text, "fact", [memory(older, cosine=cosine, replaceable=False, kind=kind)])
        assert verdict.supersedes == ()
        assert verdict.action in ("ADD", "NOOP")


@PROPERTY
@given(st.sampled_from(TEXTS), st.integers(0, 10**9), st.integers(0, 10**9), st.floats(-1, 1))
def test_nothing_is_dropped_when_a_value_differs(text: str, one: int, other: int, cosine: float) -> None:
    verdict = judge(f"{text} The limit is {other}.", "fact", [memory(f"{text} The limit is {one}.", cosine=cosine)])
    assert (verdict.action == "NOOP") == (one == other)


@PROPERTY
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.floats(-1, 1))
def test_to_say_the_same_is_symmetric_and_hangs_on_no_likeness(one: str, other: str, cosine: float) -> None:
    assert says_the_same(one, one)
    assert says_the_same(one, other) == says_the_same(other, one)
    assert (judge(one, "fact", [memory(other, cosine=cosine)]).action == "NOOP") == says_the_same(other, one)


@PROPERTY
@given(st.text(max_size=300), st.text(max_size=300), st.floats(-1, 1))
def test_any_text_gets_a_verdict(one: str, other: str, cosine: float) -> None:
    verdict = judge(one, "fact", [memory(other, cosine=cosine)])
    assert verdict.action in ("ADD", "NOOP", "SUPERSEDE")
    assert 0.0 <= verdict.novelty <= 1.0
    assert verdict.reason
    assert says_the_same(one, other) == says_the_same(other, one)


HOSTILE: Final = [
    "x" * 32_768,
    "a-" * 16_384,
    "a." * 16_384,
    "1." * 16_384,
    "a+" * 16_384,
    "no longer " * 3_277,
    "from " * 6_553,
    "\u0301" * 16_384,
    "\U0001f1e6" * 8_192,
    "\ud800" * 8_192,
    "\u200f\u202e" * 8_192,
    ". " * 16_384,
    " ".join(f"Slot number {n} is {n}." for n in range(50)),
    " ".join(f"slot {n} is now {n} instead of {n + 1}," for n in range(50)),
    "/" * 32_768,
    "`" * 32_768,
    "\n" * 32_768,
    "",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_long_or_odd_text_is_read_in_bounds(text: str) -> None:
    read = statements(text)
    assert len(read) <= SENTENCES_MAX
    assert all(len(one.tokens) <= TOKENS_MAX for one in read)
    assert sum(len(token.text) for one in read for token in one.tokens) <= 4 * LOOKED_AT_CHARS
    for other in ("The cluster has 3 nodes.", text):
        assert judge(text, "fact", [memory(other), memory(text)]).reason
    assert len(subject_terms(text)) <= 6


def test_an_empty_space_takes_any_text() -> None:
    verdict = judge("The cluster has 3 nodes.", "fact", [])
    assert (verdict.action, verdict.novelty, verdict.supersedes, verdict.contradicts) == ("ADD", 1.0, (), ())


def test_a_decision_steps_back_for_a_stated_change_alone() -> None:
    decision = memory("We decided to use gRPC between services.", kind="decision")
    silent = judge("We decided to use REST between services.", "decision", [decision])
    assert (silent.action, silent.contradicts) == ("ADD", ("old",))
    assert "decision" in silent.reason
    stated = judge("We moved from gRPC to REST between services.", "decision", [decision])
    assert (stated.action, stated.supersedes) == ("SUPERSEDE", ("old",))


def test_a_memory_that_says_more_than_is_replaced_stands() -> None:
    verdict = judge(
        "The search cluster has 5 nodes.",
        "fact",
        [memory("The search cluster has 3 nodes. The indexer is written in Rust.")],
    )
    assert (verdict.action, verdict.contradicts) == ("ADD", ("old",))


def test_a_text_about_an_earlier_time_replaces_nothing() -> None:
    older, newer = SIX[5]
    assert judge(newer, "fact", [memory(older, later=True)]).contradicts == ("old",)
    assert judge(newer, "fact", [memory(older)]).supersedes == ("old",)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Access tokens are valid for 15 minutes.", "Someone claimed an access token lives for 60 minutes."),
        ("Access tokens are valid for 15 minutes.", "TODO: raise the lifetime of access tokens to 60 minutes."),
        ("Access tokens are valid for 15 minutes.", "Draft: access tokens are valid for 60 minutes."),
        ("Access tokens are valid for 15 minutes.", "Let us make access tokens valid for 60 minutes."),
        ("Access tokens are valid for 15 minutes.", "Are access tokens valid for 60 minutes?"),
        ("Are access tokens valid for 60 minutes?", "Access tokens are valid for 15 minutes."),
        ("The signing keys were rotated by Ana", "The signing keys were rotated by Ben"),
    ],
)
def test_no_reading_makes_a_value_of_a_question_a_proposal_or_a_second_event(older: str, newer: str) -> None:
    sure = Reading(0.0, 0.999, 0.001, whole=True)
    contest = with_reading(evidence_of(older, newer, 0.9), sure, older, newer).contest
    assert contest is None or not (contest.linked or contest.strong or contest.marked)


@pytest.mark.parametrize(
    "text",
    [
        "\ubc31\uc5c5\uc740 \uc0bc\uc2ed \uc77c \ub3d9\uc548 \ubcf4\uad00\ud55c\ub2e4",
        "\u041a\u043b\u044e\u0447\u0438 \u0445\u0440\u0430\u043d\u044f\u0442\u0441\u044f \u0432 Vault",
    ],
)
def test_a_model_of_english_reads_no_other_script(text: str) -> None:
    assert not speaks(text)
    assert speaks("Backups are kept for thirty days")


@pytest.mark.parametrize("kind", ["episode", "run", "summary"])
def test_a_record_of_what_happened_neither_replaces_nor_is_replaced(kind: str) -> None:
    older, newer = SIX[5]
    assert judge(newer, kind, [memory(older)]).action == "ADD"
    assert judge(newer, "fact", [memory(older, kind=kind)]).contradicts == ()


@pytest.mark.parametrize("text", ["note {}", "a private matter of {}", "Ship {} waits in harbour", "Sprint {} is over"])
def test_a_label_that_differs_makes_two_memories(text: str) -> None:
    assert judge(text.format("a1b2"), "fact", [memory(text.format("c3d4"))]).action == "ADD"
    assert judge(text.format(14), "fact", [memory(text.format(15))]).contradicts == ()


def test_a_correction_replaces_the_memory() -> None:
    verdict = judge("Correction: the search cluster has 5 nodes.", "fact", [memory("The search cluster has 3 nodes.")])
    assert (verdict.action, verdict.target_id) == ("SUPERSEDE", "old")


def test_the_subject_gives_rare_terms_for_a_search() -> None:
    assert {"payment", "deploys"} <= set(subject_terms("Payment deploys moved to Spinnaker today"))
    common = {"payment": 900, "deploys": 3, "spinnaker": 0}
    terms = subject_terms("Payment deploys moved to Spinnaker today", lambda word: common.get(word, 0))
    assert terms.index("deploys") < terms.index("payment")


def floors(label: str) -> list[str]:
    """The actions on the pairs of a label, with the cosines of all-MiniLM-L6-v2."""
    found = []
    for pair in PAIRS:
        if pair["label"] == label:
            verdict = judge(pair["newer"], "fact", [memory(pair["older"], cosine=pair["cosine"])])
            linked = "contradicts" if verdict.contradicts else "may-replace" if verdict.asked else ""
            found.append(linked or verdict.action)
    return found


@pytest.mark.parametrize("label", ["update", "contradiction"])
def test_no_contested_pair_is_dropped_and_nearly_all_are_replaced_linked_or_marked(label: str) -> None:
    found = floors(label)
    assert found.count("NOOP") == 0
    assert found.count("ADD") <= 0.05 * len(found)
    assert found.count("may-replace") <= 0.2 * len(found)


@pytest.mark.parametrize("label", ["distinct", "elaboration"])
def test_few_pairs_that_both_hold_are_marked(label: str) -> None:
    pairs = [pair for pair in PAIRS if pair["label"] == label]
    found = [judge(pair["newer"], "fact", [memory(pair["older"], cosine=pair["cosine"])]) for pair in pairs]
    assert sum(bool(verdict.marked) for verdict in found) <= 0.02 * len(found)
    assert all(set(verdict.marked) <= set(verdict.asked) for verdict in found)


ATTRIBUTES: Final = [
    f"The billing service {said}"
    for said in ("logs to Loki", "is written in Go", "is hosted in Frankfurt", "calls the tax API")
]


@pytest.mark.parametrize(("older", "newer"), [*permutations(ATTRIBUTES, 2)])
@pytest.mark.parametrize("cosine", [0.4, 0.6, 0.8])
def test_another_attribute_of_one_subject_is_never_marked(older: str, newer: str, cosine: float) -> None:
    verdict = judge(newer, "fact", [memory(older, cosine=cosine)])
    assert (verdict.action, verdict.marked) == ("ADD", ())


def test_a_likely_replacement_is_marked() -> None:
    verdict = judge("Bob leads the platform team", "fact", [memory("Alice leads the platform team")])
    assert verdict.marked == verdict.asked == ("old",)


def test_a_writer_is_asked_about_middling_evidence_and_about_two_memories_at_most() -> None:
    text = "Alice leads the platform team"
    olds = [OlderText(id=f"old{at}", text=text, kind="fact", cosine=0.9, replaceable=True) for at in range(4)]
    verdict = judge("Bob leads the platform team", "fact", olds)
    assert (verdict.action, verdict.contradicts, verdict.supersedes) == ("ADD", (), ())
    assert verdict.reason.startswith(f"may replace {verdict.target_id}")
    assert verdict.hint.count("call supersede(id=") == 2
    assert f'call supersede(id="{verdict.target_id}", content=<this text>)' in verdict.hint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Session tokens expire after five minutes.", "session tokens expire after 5 min"),
        ("The eval set has 1,200 questions.", "The eval set has 1200 questions"),
        ("Backups run every day at 4 pm.", "Backups run daily at 16:00."),
        ("You must rotate the keys before release.", "You have to rotate the keys before the release"),
        ("Each PR needs a review.", "Every pull request needs a review."),
        ("Colours are defined in the theme.", "colors are defined in the theme"),
        ("Use `make lint` before pushing.", "Use make lint before pushing"),
        ("We format code with Ruff; CI checks it.", "We format code with Ruff. CI checks it."),
        ("Reviewers don't merge on Fridays.", "On Fridays, reviewers do not merge!"),
        ("Both QA and product sign a release.", "Product and QA sign a release."),
        ("If the build is red, then nobody merges.", "Nobody merges if the build is red."),
        ("Reviewers shouldn't approve their own changes.", "Reviewers should not approve their own changes."),
        ("Operators cannot restart the orchestrator.", "operators can't restart the orchestrator"),
        ("The orchestrator is stateless.", "Orchestrator stateless"),
        ("Caf\u00e9 machines don\u2019t need descaling.", "Cafe\u0301 machines don't need descaling"),
        ("It\u2019s the orchestrator.", "It's the orchestrator"),
    ],
)
def test_another_wording_form_or_order_is_no_new_statement(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Session tokens expire after 5 minutes.", "Session tokens expire after 5 hours."),
        ("Reports are due in 3 working days.", "Reports are due in 3 days."),
        ("Poll every 100 ms.", "Poll every 200 ms."),
        ("It costs 5 EUR a seat.", "It costs 5 USD a seat."),
        ("The link has 5 Mb.", "The link has 5 megabytes."),
        ("The limit is 1234567 rows.", "The limit is 1234568 rows."),
        ("You must rotate keys.", "You should rotate keys."),
        ("You must not rotate keys.", "You do not have to rotate keys."),
        ("Use at most 5 workers.", "Use at least 5 workers."),
        ("The deploy takes about 5 minutes.", "The deploy takes 5 minutes."),
        ("We don't store invoices in PostgreSQL.", "Invoices are stored in PostgreSQL."),
        ("Our services were formatted by Ruff.", "Ruff formats our services."),
        ("Ana is reviewed by Ben.", "Ana reviews Ben."),
        ("Data of Bob is shared by Ann.", "Data of Ann is shared by Bob."),
        ("Bob's manager is Ann.", "Ann's manager is Bob."),
        ("Admins are owners.", "Owners are admins."),
        ("Only admins can deploy to prod.", "Admins can only deploy to prod."),
        ("Messages go from Kafka to S3.", "Messages go from S3 to Kafka."),
        ("Tests for the API in CI are slow.", "Tests for CI in the API are slow."),
        ("Ana and Ben own Atlas and Boreas respectively.", "Ben and Ana own Atlas and Boreas respectively."),
        ("Is the API stable?", "The API is stable."),
        ("The index is in the database.", "The database is in the index."),
        ("The report is finished by Friday.", "Friday finishes the report."),
        ("The API key was leaked yesterday.", "We leaked the API key yesterday."),
        ("All changes must not be merged by one person.", "One person must not merge all changes."),
        ("Caching saves 5 GB.", "Caching keeps 5 GB."),
        ("The admin user is called admin.", "The admin user is called administrator."),
        ("Rename config to configuration.", "Rename configuration to config."),
        ("Keep a snapshot in case the migration fails.", "Keep a snapshot if the migration fails."),
        ("We stopped using Redis.", "We stopped by means of Redis."),
        ("Read config from env, file, defaults.", "Read config from defaults, file, env."),
        ("Escalate to Ana, Bob, Eve.", "Escalate to Eve, Bob, Ana."),
        ("Ana, Bob and Eve: lead, dev, ops.", "Bob, Ana and Eve: lead, dev, ops."),
        ("Staging and production run on Hetzner and AWS.", "Staging and production run on AWS and Hetzner."),
        ("Build, test, then deploy.", "Test, build, then deploy."),
        ("When the build fails, the deploy stops.", "When the deploy stops, the build fails."),
        ("The limit is 8 Gb/s.", "The limit is 8 GB/s."),
        ("The plant yields 5 MW", "The plant yields 5 mW"),
        ("Call getUser() first", "Call getuser() first"),
        ("Read /etc/App.toml", "Read /etc/app.toml"),
        ("Run `make Test`", "Run `make test`"),
        ("The node restarts?", "The node restarts."),
        ("Ana reviews for Ben", "Ben reviews for Ana"),
        ("Prefer REST over GraphQL", "Prefer GraphQL over REST"),
        ("Copy from A to B", "Copy from B to A"),
        ("if a:\n    return 1", "if a:\nreturn 1"),
        ("Retry when status != 200.", "Retry when status = 200."),
        ("Call _reset before each run.", "Call reset before each run."),
        ("The release order is build, test and push.", "The release order is test, build and push."),
        ("Ports 80 and 443 map to 8080 and 8443.", "Ports 443 and 80 map to 8080 and 8443."),
        ("Use curl -i for this.", "Use curl -I for this."),
        ("The code is aBcD12.", "The code is ABCD12."),
    ],
)
def test_a_value_name_demand_sign_order_or_direction_makes_another_statement(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)


@pytest.mark.parametrize("lead", sorted(LEADS | PREPOSITIONS))
def test_sides_of_a_word_of_place_time_or_cause_never_change(lead: str) -> None:
    for template in ("Postgres restarts {} Redis is cleared.", "The index is {} the database.", "Orders run {} Kafka."):
        text = template.format(lead)
        words = re.sub(r"\{\}.*", "", template).split(), re.sub(r".*\{\} ", "", template).rstrip(".").split()
        swapped = f"{' '.join(words[1])} {lead} {' '.join(words[0])}."
        assert not says_the_same(text, swapped), (text, swapped)


@pytest.mark.parametrize("label", ["distinct", "elaboration"])
def test_what_says_another_thing_is_added_and_seldom_marks_another(label: str) -> None:
    found = floors(label)
    assert len(found) - found.count("ADD") - found.count("may-replace") <= 0.02 * len(found)
    assert found.count("may-replace") <= 0.06 * len(found)


@pytest.mark.parametrize("label", ["duplicate", "paraphrase"])
def test_what_says_the_same_is_no_new_memory(label: str) -> None:
    found = floors(label)
    assert found.count("NOOP") >= 0.95 * len(found)


def test_only_the_writers_own_text_or_an_equal_one_makes_a_new_text_superfluous() -> None:
    other = OlderText(id="m", text="Lint runs, then the tests run on CI", kind="fact", cosine=0.9, replaceable=False)
    assert judge("The lint runs, then tests run on CI", "fact", [other]).action != "NOOP"
