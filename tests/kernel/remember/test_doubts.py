"""The limits of the write guard: a proposal, another member, another case and another error replace nothing. A change
that the text tells of is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemesh_memory.policy.dynamics.reconsolidation import Labile, reconsolidated
from mnemesh_memory.policy.judge.guard import OlderText, Verdict, judge
from mnemesh_memory.policy.judge.reading import READINGS_MAX, Reading
from mnemesh_memory.policy.judge.worth_reading import is_left_unread, to_read

SURE = Reading(0.002, 0.996, 0.002, whole=True)


def memory(text: str, kind: str = "fact", *, settled: bool = False) -> OlderText:
    return OlderText(id="old", text=text, kind=kind, cosine=0.9, replaceable=True, settled=settled)


def each_pair(*rows: tuple[str | OlderText, str]) -> pytest.MarkDecorator:
    """A test of each older text with a newer one."""
    return pytest.mark.parametrize(("older", "newer"), rows)


def verdict(older: str, newer: str, *, kind: str = "fact", settled: bool = False) -> Verdict:
    return judge(newer, kind, [memory(older, kind, settled=settled)])


@each_pair(
    ("The retry limit is 5", "Maybe we should raise the retry limit to 9"),
    ("The retry limit is 5", "We should raise the retry limit to 9"),
    ("The retry limit is 5", "Bob suggested raising the retry limit to 9"),
    ("The retry limit is 5", "We rejected the proposal to raise the retry limit to 9"),
    ("Sessions expire after 30 minutes", "The docs wrongly say sessions expire after 60 minutes"),
    ("The export limit is 1000 rows", "A customer asked for an export limit of 5000 rows"),
    ("Alice owns the billing service", "Bob may take over the billing service from Alice"),
    ("The API runs on Postgres", "We evaluated MySQL for the API"),
    ("The API runs on Postgres", "We plan to move the API to MySQL"),
    ("The API runs on Postgres", "If the vendor agrees the API will run on MySQL"),
)
def test_a_proposal_a_wish_or_a_reported_error_stands_beside_the_fact(older: str, newer: str) -> None:
    found = verdict(older, newer)
    assert (found.action, found.contradicts) == ("ADD", ()), found


@each_pair(
    ("The API rate limit is 100 requests per second.", "The API rate limit may be 250 requests per second."),
    ("Sessions expire after 30 minutes", "Sessions should expire after 60 minutes"),
)
def test_a_rule_about_what_should_be_is_linked_to_what_is(older: str, newer: str) -> None:
    found = verdict(older, newer)
    assert (found.action, found.contradicts) == ("ADD", ("old",)), found


@each_pair(
    ("The API rate limit is 100 requests per second.", "Clients may send 250 requests per second to the API."),
    ("Format SQL keywords in upper case.", "SQL keywords should be in lower case."),
    ("Alice is our contact at Stripe", "Bob is our contact at Stripe"),
)
def test_a_value_on_middling_evidence_is_linked_to_what_is_or_marks_it(older: str, newer: str) -> None:
    found = verdict(older, newer)
    assert (found.action, found.contradicts + found.asked) == ("ADD", ("old",)), found


@each_pair(
    ("Alice is on the platform team", "Bob is on the platform team"),
    ("Alice is a reviewer for billing", "Bob is a reviewer for billing"),
    ("api.acme.dev is behind Cloudflare", "www.acme.dev is behind Cloudflare"),
    ("CI uses Python 3.11", "The nightly CI uses Python 3.13"),
    ("Retry GET requests three times", "Do not retry POST requests"),
    ("Prefer tabs over spaces in Go code", "Prefer spaces over tabs in Python code"),
    ("Users can't delete invoices", "Invoices can't be deleted by admins"),
    ("Tokens of guests can't be revoked", "Guests' tokens may be revoked by owners"),
    ("The upload limit is 5 MB", "The upload limit is 2 MB by default"),
    ("Sessions expire after 30 minutes", "Sessions expire after 10 hours by default in Keycloak"),
)
def test_another_member_or_another_case_replaces_nothing(older: str, newer: str) -> None:
    assert verdict(older, newer).supersedes == ()


@each_pair(
    ("Ana lives in Berlin", "Ana lived in Porto until last spring"),
    ("The office is in Berlin", "The office was in Hamburg until 2019"),
    ("The limit is 5", "The limit was 3 until last spring"),
)
def test_another_value_that_had_ended_contests_nothing(older: str, newer: str) -> None:
    found = verdict(older, newer)
    assert (found.action, found.contradicts, found.asked) == ("ADD", (), ()), found


@pytest.mark.parametrize("read", [None, SURE])
@each_pair(
    ("The limit is 5 MB", "The limit will be 10 MB from next year"),
    ("Our database is Postgres 15", "Our database will be Postgres 16 from next year"),
    ("Confluence is our wiki", "Confluence will be retired in May"),
    ("The session timeout is 30 minutes", "The session timeout of the mobile app is 60 minutes"),
    ("The budget is 2,000 euros per quarter", "The budget for photos is 500 euros per quarter"),
)
def test_what_holds_later_or_of_a_part_is_linked_at_most(older: str, newer: str, read: Reading | None) -> None:
    found = judge(newer, "fact", [replace(memory(older), read=read)])
    assert (found.action, found.contradicts or found.asked) == ("ADD", ("old",)), found


@pytest.mark.parametrize("kind", ["fact", "error"])
def test_an_error_stands_beside_another_until_a_change_is_stated(kind: str) -> None:
    older, newer = ("Bug: login fails in Safari", "Bug: login fails in Firefox")
    if kind == "error":
        older, newer = ("The export fails with code 17", "The export fails with code 18")
    assert verdict(older, newer, kind=kind).supersedes == ()


@each_pair(
    ("Prefer tabs over spaces in Go code", "Prefer tabs over spaces in Python code"),
    ("We use Kafka for events", "We use Kafka for logs"),
)
def test_two_cases_of_one_rule_do_not_contradict_each_other(older: str, newer: str) -> None:
    found = verdict(older, newer)
    assert (found.action, found.contradicts) == ("ADD", ()), found


@each_pair(
    ("The on-call engineer is Alice", "The on-call engineer is Bob"),
    ("Our contact at Stripe is Alice", "Our contact at Stripe is Bob"),
    ("Python services are formatted with Black.", "Ruff formats our Python services."),
    ("The API listens on port 8080", "The API listens on port 9090"),
    ("We decided to use Kafka for events", "We decided to use NATS instead of Kafka for events since May"),
    ("The team moved to Linear", "The team moved from Linear to Jira"),
)
def test_one_holder_and_a_value_called_past_are_replaced(older: str, newer: str) -> None:
    assert verdict(older, newer).supersedes == ("old",)


def test_a_value_called_past_in_a_narrower_case_is_not_replaced() -> None:
    assert verdict("We use Jenkins for CI", "We use Buildkite instead of Jenkins for nightly CI").supersedes == ()


@each_pair(
    ("We moved from Jenkins to GitLab CI.", "CI was moved from Jenkins to GitLab CI."),
    ("Only admins may delete spaces.", "Spaces can be deleted by admins only."),
    ("Ana took over support from Ben.", "Support was handed over from Ben to Ana."),
)
def test_the_same_in_other_words_replaces_nothing(older: str, newer: str) -> None:
    assert verdict(older, newer).supersedes == ()


def test_a_permission_in_the_place_of_its_denial_is_a_contest() -> None:
    assert verdict("Guests may not use the VPN", "Guests may use the VPN").action == "SUPERSEDE"


def test_spelled_numbers_are_values_when_a_change_is_stated() -> None:
    found = verdict("Deploys need one approval", "Deploys now need two approvals")
    assert "old" in (*found.supersedes, *found.contradicts)


def test_a_memory_that_was_decided_to_hold_steps_back_for_a_stated_change_alone() -> None:
    older = "The billing service stores invoices in PostgreSQL"
    silent = "The billing service stores invoices in MySQL"
    assert verdict(older, silent).supersedes == ("old",)
    assert verdict(older, silent, settled=True).contradicts == ("old",)
    stated = "The billing service moved its invoices from PostgreSQL to MySQL"
    assert verdict(older, stated, settled=True).supersedes == ("old",)


@each_pair(
    (memory("Alice is on the platform team"), "Bob is on the platform team"),
    (memory("Bug: login fails in Safari"), "Bug: login fails in Firefox"),
    (memory("The billing service stores invoices in PostgreSQL", settled=True), "The billing service uses MySQL"),
    (memory("CI uses Python 3.11"), "The nightly CI uses Python 3.13"),
    (memory("The limit is 5 MB"), "The limit will be 10 MB from next year"),
)
def test_the_limits_hold_for_a_memory_that_was_just_recalled(older: OlderText, newer: str) -> None:
    found = reconsolidated(newer, older.kind, judge(newer, older.kind, [older]), [Labile(older, 0)])
    assert found.verdict.action == "ADD", found


@pytest.mark.parametrize("read", [None, SURE])
@each_pair(
    ("The timeout from checkout to reviews is 8 seconds", "The timeout from reviews to checkout is 27 seconds"),
    ("The train from Kiel to Hamburg takes 2 hours", "The train from Hamburg to Kiel takes 90 minutes"),
    ("The euro to dollar rate is 1.10", "The dollar to euro rate is 0.91"),
    ("The sync from the build server to the laptop takes 5 minutes", "From the laptop to the build server it takes 9"),
)
def test_the_way_back_has_a_value_of_its_own(older: str, newer: str, read: Reading | None) -> None:
    found = judge(newer, "fact", [replace(memory(older), read=read)])
    assert (found.action, found.contradicts, found.asked) == ("ADD", (), ()), found


@each_pair(
    ("User prefers tabs to spaces.", "User prefers spaces to tabs."),
    ("User prefers tabs to spaces since January 2024", "User prefers spaces to tabs since March 2025"),
    ("The timeout from checkout to reviews is 8 seconds", "The timeout from checkout to reviews is 27 seconds"),
    ("The timeout to reviews is 8 seconds", "The timeout to reviews was raised from 8 to 27 seconds"),
)
def test_a_preference_that_turns_and_a_value_of_the_same_way_replace(older: str, newer: str) -> None:
    assert judge(newer, "fact", [replace(memory(older), read=SURE)]).action == "SUPERSEDE"


@pytest.mark.parametrize("read", [None, Reading(0.03, 0.3, 0.67, whole=True)])
@each_pair(
    ("Run `make load-reviews` before you push to reviews", "Use the flag readonly to turn off reviews at once"),
    ("Errors go to Sentry", "Set SENTRY_OFF=1 to turn off Sentry in tests"),
    ("Redis holds the sessions", "Remove Redis from the pool before upgrading it"),
)
def test_an_instruction_that_ends_something_for_a_moment_calls_nothing_past(
    older: str, newer: str, read: Reading | None
) -> None:
    found = judge(newer, "fact", [replace(memory(older), read=read)])
    assert (found.action, found.contradicts, "past" in found.reason) == ("ADD", (), False), found


@each_pair(
    ("Redis holds the sessions", "We removed Redis, Valkey holds the sessions"),
    ("Billing uses Stripe", "Billing dropped Stripe"),
    ("The builds run on Jenkins", "Stop using Jenkins before June"),
    ("Redis holds the sessions", "Drop Redis after the sessions moved to Valkey"),
)
def test_what_was_ended_for_good_is_past(older: str, newer: str) -> None:
    assert "past" in verdict(older, newer).reason


@each_pair(
    ("The billing worker retries failed invoices 3 times", "The billing worker retries failed invoices 5 times now"),
    ("The deploy script waits 10 seconds between hosts", "The deploy script waits 30 seconds between hosts"),
    ("The free plan includes 5 projects", "The free plan includes 3 projects"),
    ("Logs of auth go to index auth-12", "Logs of auth go to index auth-13"),
    ("The cron host is cron01", "The cron host is cron02"),
)
def test_a_number_behind_the_verb_is_a_value_and_names_no_other_thing(older: str, newer: str) -> None:
    assert verdict(older, newer).action == "SUPERSEDE"


@each_pair(
    ("The gauge of valve 3 was calibrated to 5 bar", "The gauge of valve 4 was calibrated to 7 bar"),
    ("We changed the seal of pump 3", "We changed the seal of pump 4"),
)
def test_a_number_of_the_subject_names_another_thing(older: str, newer: str) -> None:
    assert verdict(older, newer).action == "ADD"


APART = Reading(0.02, 0.02, 0.96, whole=True)


@each_pair(
    ("Ana prefers early returns in the catalog code", "Bob prefers early returns in the catalog code"),
    ("Ana drinks tea", "Bob drinks coffee"),
)
def test_what_two_people_like_stands_together(older: str, newer: str) -> None:
    found = judge(newer, "fact", [replace(memory(older), read=SURE)])
    assert (found.action, found.contradicts, found.asked) == ("ADD", (), ()), found


def test_a_sentence_about_tastes_excuses_no_other_from_being_read() -> None:
    older = replace(memory("Ana prefers tabs. The build of the app takes 5 minutes."), read=APART)
    found = judge("Bob prefers tabs. The build of the app takes 9 minutes.", "fact", [older])
    assert (found.action, found.contradicts) == ("ADD", ()), found


def test_what_words_link_is_read_before_what_is_only_nearer() -> None:
    texts = (
        "The request timeout is 30 seconds",
        "The session cookie lives for 7 days",
        "The session timeout is 15 minutes",
    )
    near = [replace(memory(text), id=text, cosine=0.9 - at / 30) for at, text in enumerate(texts)]
    newer = "The session timeout is 60 minutes"
    read = to_read(newer, "fact", near, "", {})
    assert texts[2] in {one.id for one in read}
    told = {one.id: SURE if one.id == texts[2] else APART for one in read}
    found = judge(newer, "fact", [replace(one, read=told.get(one.id)) for one in near])
    assert (found.action, found.target_id) == ("SUPERSEDE", texts[2]), found


def test_at_rest_every_memory_that_words_link_is_read() -> None:
    areas = ("billing", "pricing", "gateway", "catalog")
    near = [replace(memory(f"{area} is owned by Bob"), id=area, cosine=0.6 - at / 99) for at, area in enumerate(areas)]
    text = "search is owned by Bob"
    assert len(to_read(text, "fact", near, "", {})) == READINGS_MAX
    assert to_read(text, "fact", near, "", {}, widely=True) == tuple(near)
    read = [*(replace(one, read=APART) for one in near[:READINGS_MAX]), *near[READINGS_MAX:]]
    assert is_left_unread(text, "fact", read, judge(text, "fact", read), {})


def test_words_link_no_memory_that_the_model_did_not_come_to_read() -> None:
    others = [replace(memory(f"{area} is owned by Bob"), id=area, cosine=0.6) for area in ("billing", "pricing")]
    beside = replace(memory("gateway is owned by Bob"), cosine=0.55)
    assert judge("search is owned by Bob", "fact", [beside]).contradicts == ("old",)
    read = [replace(one, read=APART) for one in others]
    found = judge("search is owned by Bob", "fact", [*read, beside])
    assert (found.action, found.contradicts, found.asked) == ("ADD", (), ()), found
