"""Laws of vetoes: no reading, however sure, makes a repeat of two texts whose values, names, order or roles differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.policy.judge.guard import OlderText, judge
from mnemesh_memory.policy.judge.reading import Reading
from mnemesh_memory.policy.judge.sameness import says_the_same

SURE = Reading(1.0, 0.0, 0.0, whole=True)
PEOPLE = st.sampled_from(["Ana", "Bruno", "Chiara", "Dmitri", "the auditor", "the platform team"])
ACTS = st.sampled_from(["reviews", "pays", "replaces", "blocks", "reports to", "trains"])
TURNS = [("before", "after"), ("at least", "at most"), ("from", "to"), ("above", "below"), ("with", "without")]


def verdict(older: str, newer: str, read: Reading = SURE) -> str:
    candidate = OlderText(id="older", text=older, kind="fact", cosine=0.95, replaceable=True, read=read)
    return judge(newer, "fact", [candidate]).action


@given(PEOPLE, PEOPLE, ACTS)
def test_turned_roles_are_no_repeat_whatever_the_model_says(one: str, other: str, act: str) -> None:
    assert verdict(f"{one} {act} {other}.", f"{other} {act} {one}.") != "NOOP" or one == other


@given(st.integers(0, 9_999), st.integers(0, 9_999), st.sampled_from(["days", "GB", "workers", "euro"]))
def test_another_number_is_no_repeat_whatever_the_model_says(one: int, other: int, unit: str) -> None:
    older, newer = f"Invoices are limited to {one} {unit}.", f"The limit of an invoice: {other} {unit}."
    assert verdict(older, newer) != "NOOP" or one == other


@given(st.permutations(["3", "5", "8"]), st.permutations(["3", "5", "8"]))
def test_the_same_numbers_in_another_order_are_no_repeat(one: list[str], other: list[str]) -> None:
    older, newer = (f"Ports {' '.join(numbers)} are open." for numbers in (one, other))
    assert verdict(older, newer) != "NOOP" or one == other


@given(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_rows_of_numbers_are_no_repeat_whatever_the_model_says(one: list[int], other: list[int]) -> None:
    older, newer = (" ".join(map(str, numbers)) for numbers in (one, other))
    assert verdict(older, newer) != "NOOP" or one == other


@pytest.mark.parametrize(("one", "other"), TURNS)
def test_a_turned_word_of_order_or_degree_is_no_repeat(one: str, other: str) -> None:
    text = "The backup runs {} the nightly import of the warehouse."
    assert verdict(text.format(one), text.format(other)) != "NOOP"
    assert verdict(text.format(other), text.format(one)) != "NOOP"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Kofi does the frontend and Marlene the backend.", "Kofi does the backend and Marlene the frontend."),
        ("Use pnpm, not npm, in the web repo.", "Use npm, not pnpm, in the web repo."),
        ("Lint has to pass before the tests start.", "Lint doesn't have to pass before the tests start."),
        ("Releases are cut on Mondays.", "Are releases cut on Mondays?"),
        ("Kettles were bought", "Kettles were sold"),
        ("The door is locked", "The door is unlocked"),
        ("Revenue went up", "Revenue went down"),
        ("The invoice was received", "The invoice was sent"),
        ("The larger the batch, the lower the cost.", "The larger the batch, the higher the cost."),
        ("Notes are written by Ana and read by Ben.", "Ben writes the notes and Ana reads them."),
        ("Logs are kept by Loki for the shop.", "The shop keeps logs, and Grafana shows what Loki lost."),
    ],
)
def test_what_a_model_reads_over_is_no_repeat(older: str, newer: str) -> None:
    assert verdict(older, newer) != "NOOP"


ALTERED: Final = [
    ("must be", "should be"),
    ("is not always", "is never"),
    ("is not usually always", "is never"),
    ("will be", "is"),
    ("can be", "is"),
    ("is", "is nearly"),
    ("is copied from the archive and", "is copied to the archive and"),
]


@pytest.mark.parametrize(("one", "other"), ALTERED)
def test_a_demand_a_degree_a_time_or_a_part_of_a_whole_is_no_repeat(one: str, other: str) -> None:
    text = "The disk array of the warehouse {} checked by the platform team."
    assert verdict(text.format(one), text.format(other)) != "NOOP"
    assert verdict(text.format(other), text.format(one)) != "NOOP"


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("Each pull request gets a preview environment.", "A preview site is made for pull requests that ask for it."),
        ("Deploys wait for a second pair of eyes.", "A release goes out after review if it touches money."),
        ("Not every invoice is checked by hand.", "No invoice is checked by hand."),
        ("Support answers tickets.", "Support answers urgent tickets."),
        ("The pager rings at night.", "The pager rings at night. Ana turns it off."),
        ("Do not log personal data.", "Nothing about a person may end up in log files, except during an audit."),
        ("Visitors must carry the badge.", "A badge should be worn by whoever comes in as a guest."),
    ],
)
def test_a_text_that_says_less_or_more_in_other_words_is_no_repeat(whole: str, part: str) -> None:
    assert verdict(whole, part) != "NOOP"
    assert verdict(part, whole) != "NOOP"


TEXTS: Final = [
    "The pager rings at night.",
    "Deploys run on Tuesdays, after the stand-up.",
    "Logs are kept for 30 days. Ana owns the bucket.",
    "- web: port 80\n- db: port 5432",
]
ENDS: Final = ["Never restart {}.", "{} is out of date.", "The port is {number}.", "Ask {} first.", "{} may not."]


@given(st.sampled_from(TEXTS), st.sampled_from(ENDS), PEOPLE, st.integers(0, 9_999), st.sampled_from([" ", "\n"]))
def test_one_more_sentence_makes_another_text_whatever_the_model_says(
    text: str, end: str, who: str, number: int, between: str
) -> None:
    longer = f"{text}{between}{end.format(who, number=number)}"
    assert verdict(text, longer) != "NOOP"
    assert verdict(longer, text) != "NOOP"


@pytest.mark.parametrize(
    ("older", "newer", "other"),
    [
        ("Imports are limited to 50,000 rows.", "More than {} rows at once are refused.", ("fifty thousand", "fifty")),
        ("Image size < 200 MB", "Container images stay below {} megabytes.", ("two hundred", "two")),
        ("Image size < 25 MB", "Container images stay below {} megabytes.", ("twenty-five", "twenty-six")),
    ],
)
def test_a_number_in_words_is_that_number_and_no_other(older: str, newer: str, other: tuple[str, str]) -> None:
    assert verdict(older, newer.format(other[0])) == "NOOP"
    assert verdict(older, newer.format(other[1])) != "NOOP"


def test_two_exchanged_words_are_synonyms_in_another_form_alone() -> None:
    older = "Every decision about prices has to be approved by Anneke."
    assert verdict(older, "No price may be set without Anneke's approval.") == "NOOP"
    assert verdict(older, "Every decision about wages has to be ignored by Anneke.") != "NOOP"


def test_another_path_is_no_repeat_also_as_the_first_word() -> None:
    older, newer = (f"apps/{name}/.env.example lists all variables of the {name} app" for name in ("web", "api"))
    assert verdict(older, newer) != "NOOP"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The primary of the ledger database is in rack A.", "The ledger database's primary is in rack A"),
        ("On Sundays, Renske visits her mother for lunch.", "Renske visits her mother for lunch on Sundays"),
        ("The certificate expires on 30 September 2026.", "The cert expires Sept 30, 2026."),
        ("Load tests start at 06:30 without a pull request.", "Load tests start at 6:30 w/o a PR"),
        ("The mobile client talks to the back-end over REST.", "The mobile client talks to the backend over REST"),
        ("The budget is 2,000 dollars per month.", "The budget is $2000/month"),
        ("The team speaks Polish and German.", "The team speaks German and Polish."),
        ("Nobody merges without two approvals.", "Two people have to approve before anything gets merged."),
    ],
)
def test_another_spelling_order_of_phrases_or_form_is_a_repeat_when_the_model_is_sure(older: str, newer: str) -> None:
    assert verdict(older, newer) == "NOOP"
    assert verdict(newer, older) == "NOOP"
    assert verdict(older, newer, Reading(0.8, 0.0, 0.2, whole=True)) == "ADD" or says_the_same(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Swimlanes stand for customers, colours for urgency.", "Swimlanes stand for urgency, colours for customers."),
        ("Copies go from Bremen to Kiel.", "Copies go to Bremen from Kiel."),
        ("Silja drives by day and Bo by night.", "By day it is Bo who drives, and by night Silja does."),
        (
            "Nairobi has the sounds, Ghent the images.",
            "Whatever is audible is done in Ghent; Nairobi has pictures.",
        ),
        ("Rent is paid by the tenant at the end of May.", "At the end of May the landlord pays the rent."),
        ("The tests run before the build.", "The build runs before the tests."),
        ("Deploy to prod from the main branch.", "Deploy from prod to the main branch."),
        ("Copies are made from rack A to rack B.", "Copies are made to rack A from rack B."),
        ("By Friday the vendor pays the client.", "The client pays the vendor by Friday."),
        ("The dog bit the cat by the gate.", "The cat bit the dog at the gate."),
        ("The cheap plan has ads and the paid plan has support.", "The paid plan has ads, the cheap plan has support."),
    ],
)
def test_values_that_change_places_are_no_repeat_in_any_form(older: str, newer: str) -> None:
    assert verdict(older, newer) != "NOOP"
    assert verdict(newer, older) != "NOOP"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The rent is $900 a month.", "The rent is 900 EUR a month."),
        ("The price is 200 euros.", "The price is 200 dollars."),
        ("An alarm rings when latency >= 5 ms.", "An alarm rings when latency <= 5 ms."),
        ("Run the script with `set -e`.", "Run the script with `set +e`."),
        ("The key is in the drawer.", "The key is on the drawer."),
        ("The token is valid for a day.", "The token is valid within a day."),
        ("The ranking is speed and cost.", "The ranking is cost and speed."),
        ("Host and port are redis and web respectively.", "Host and port are web and redis respectively."),
        ("Test and merge the branch.", "Merge and test the branch."),
        ("The long request has no body.", "The long request has nobody."),
        ("I owe you the money.", "You owe me the money."),
        ("Bob was the owner of the shop.", "Bob is the owner of the shop."),
        ("Ask Jan for the key.", "Ask January for the key."),
        ("He had to resign the contract.", "He had to re-sign the contract."),
        ("The dial shows 10\u00b2 units.", "The dial shows 102 units."),
        ("She sent the r\u00e9sum\u00e9.", "She sent the resume."),
    ],
)
def test_another_sign_currency_preposition_order_person_or_name_is_no_repeat(older: str, newer: str) -> None:
    assert verdict(older, newer) != "NOOP"
    assert verdict(newer, older) != "NOOP"


def test_a_sure_reading_of_far_words_is_a_repeat_and_an_unsure_one_is_stored() -> None:
    older, newer = "Do not log customer data.", "Nothing about a buyer may end up in log files."
    assert verdict(older, newer) == "NOOP"
    assert verdict(older, newer, Reading(0.6, 0.0, 0.4, whole=True)) == "ADD"
    assert verdict(older, newer, Reading(1.0, 0.0, 0.0, whole=False)) == "ADD", "of a part of the texts"


def test_a_reading_without_doubt_links_two_values_that_words_alone_do_not_link() -> None:
    older, newer = "Backups are kept for a month.", "After a fortnight the nightly snapshots get thrown away."
    candidate = OlderText(id="older", text=older, kind="fact", cosine=0.5, replaceable=False, read=None)
    assert not judge(newer, "fact", [candidate]).contradicts
    read = replace(candidate, read=Reading(0.001, 0.998, 0.001, whole=True))
    assert judge(newer, "fact", [read]).contradicts == ("older",)
    part = replace(candidate, read=Reading(0.001, 0.998, 0.001, whole=False))
    assert judge(newer, "fact", [part]) == judge(newer, "fact", [candidate]), "a part of the texts was read"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The backup runs every morning.", "The backup runs every evening."),
        ("The backup runs nightly.", "The backup runs daily."),
        ("There are a few tests for the parser.", "There are few tests for the parser."),
        ("Only a little memory is left.", "Only little memory is left."),
        ("No, deploys are allowed on Friday.", "No deploys are allowed on Friday."),
        ("Ada is asked before every release.", "Ada asked before every release."),
        ("Backup and delete the table.", "Delete and backup the table."),
        ("We backup and delete old rows nightly.", "We delete and backup old rows nightly."),
        ("The service stops and starts the worker.", "The service starts and stops the worker."),
        ("Ask Rob and Ada or Tim.", "Ask Rob or Ada and Tim."),
        ("We talked about Redis.", "We talked approximately Redis."),
        ("Max owns the billing service.", "Maximum owns the billing service."),
        ("Ask IT before the change.", "Ask it before the change."),
        ("Redis is used. It is slow. Kafka is used.", "Redis is used. Kafka is used. It is slow."),
        ("Stop the node. Delete the data.", "Delete the data. Stop the node."),
        ("The API gateway and billing service share a key.", "The API billing and gateway service share a key."),
        ("We ran the migration and the site went down.", "The site went down and we ran the migration."),
        ("The token expires, the session ends.", "The session ends, the token expires."),
        ("CI builds the image and pushes the tag.", "CI pushes the tag and builds the image."),
        ("Dev has 5 nodes, prod 10.", "Dev has 10 nodes, prod 5."),
        ("Ana reports to Bo, Carl to Dana.", "Bo reports to Ana, Dana to Carl."),
        ("Ana reports to Bo, Carl to Dana.", "Carl reports to Bo, Ana to Dana."),
        ("Alerts go to Ana, not Bo.", "Alerts go to Bo, not Ana."),
        ("The more tests, the less bugs.", "The less bugs, the more tests."),
        ("Run the migrations, restart the pods.", "Restart the pods, run the migrations."),
        ("Ana may approve refunds, Bo only small ones.", "Bo may approve refunds, Ana only small ones."),
        ("Ana has the keys, she lends them to Bo.", "She lends them to Bo, Ana has the keys."),
    ],
)
def test_of_two_texts_that_nearly_have_the_same_words_both_are_stored(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The backup runs nightly.", "The backup runs every night."),
        ("Max. 3 sessions per user", "Maximum three sessions per user"),
        ("About 30 people work here.", "Around thirty people work here."),
        ("The lab uses Redis, Kafka and Flink.", "The lab uses Flink, Kafka and Redis."),
        ("Ana has the red key, Bo the blue one.", "Bo has the blue one, Ana the red key."),
        ("Dev has 5 nodes, prod has 10 nodes.", "Prod has 10 nodes, dev has 5 nodes."),
        ("In Python use tabs, in Rust spaces.", "In Rust use spaces, in Python tabs."),
        (
            "Team Ara does the apps, team Ibis does the web.",
            "Team Ibis does the web, team Ara does the apps.",
        ),
    ],
)
def test_a_short_form_and_another_order_of_a_list_say_the_same(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


LONG: Final = [
    pytest.param(
        " ".join(f"Step {word} is done by the {word} team." for word in "abcdefghijklmnop"), id="16 sentences"
    ),
    pytest.param("\n".join(f"- host{number}: web" for number in range(17)), id="17 lines"),
    pytest.param(f"We have {', '.join(f'host{number}' for number in range(60))} and the team says:", id="120 tokens"),
    pytest.param(f"Wait {', '.join(f'{number} working days' for number in range(60))} and then:", id="joined tokens"),
    pytest.param(
        f"The team writes it down. {'Ana reviews it, as she always did before. ' * 110}", id="4,600 characters"
    ),
]


@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 5432.", "The port is 6543."),
        ("Always call Ana first.", "Never call Ana first."),
        ("Never use the old key.", ""),
        ("Ana owns it and Ben reviews.", "Ben owns it and Ana reviews."),
    ],
)
def test_an_end_beyond_what_is_compared_makes_another_text(text: str, one: str, other: str) -> None:
    for space in (" ", "\n"):
        first, second = f"{text}{space}{one}", f"{text}{space}{other}"
        assert not says_the_same(first, second)
        for read in (None, SURE):
            candidate = OlderText(id="older", text=first, kind="fact", cosine=1.0, replaceable=True, read=read)
            verdict = judge(second, "fact", [candidate])
            assert (verdict.action, verdict.supersedes) == ("ADD", ()), verdict
        assert says_the_same(first, f"{first} ")
