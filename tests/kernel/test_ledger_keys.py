"""An idempotency key gives the first answer again for 7 days, and refuses other content."""

from __future__ import annotations

import pytest
from ledger_builders import DAY, GENERATION, SPACE, Home, Pen, done, read_back

from mnemesh_actors.ledger.commit.commands import Lookup
from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_memory.text.text import content_hash, duplicate_key
from mnemesh_memory.values.errors import AlreadyExists, NotFound
from mnemesh_memory.values.ids import fingerprint
from mnemesh_memory.values.limits import IDEMPOTENCY_DAYS

# ---- idempotency keys -----------------------------------------------------------------------------------------------


def test_a_key_with_the_same_content_gives_the_first_answer_again(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    again = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1", wait="durable"))
    assert (again.action, again.replayed, again.memory) == ("ADD", True, first.memory)
    assert home.entries() == 1


def test_a_key_with_other_content_is_refused(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    with pytest.raises(AlreadyExists) as caught:
        done(ledger, pen.create("We deploy on Monday.", idempotency_key="import-1"))
    assert caught.value.fields["field"] == "idempotency_key"
    assert caught.value.fields["value"] == "import-1"
    assert first.memory.id in caught.value.message
    assert home.entries() == 1


def test_a_key_belongs_to_its_agent(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="import-1"))
    other = Pen(agent="owner/another", now=pen.now)
    second = done(ledger, other.create("We deploy on Monday.", idempotency_key="import-1"))
    assert second.action == "ADD"
    assert second.memory.id != first.memory.id


def test_the_key_of_a_duplicate_keeps_its_answer(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday."))
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).action == "NOOP"
    done(ledger, pen.revise(first.memory, content="We deploy on Monday."))
    again = done(ledger, pen.create("We deploy on Friday.", idempotency_key="k"))
    assert (again.action, again.replayed, again.memory.id) == ("NOOP", True, first.memory.id)


def test_a_key_is_not_used_up_by_an_offer_to_restore(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("We deploy on Friday.")).memory
    done(ledger, pen.forget(first))
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).restorable
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k", force=True)).action == "ADD"


def test_a_key_is_not_used_up_by_a_refusal(ledger: Ledger, pen: Pen) -> None:
    with pytest.raises(NotFound):
        done(ledger, pen.create("new", idempotency_key="k", supersedes=("018f6f0e-7c1a-7000-8000-000000000000",)))
    assert done(ledger, pen.create("newer", idempotency_key="k")).action == "ADD"


def test_a_key_lives_7_days_and_is_free_afterwards(ledger: Ledger, pen: Pen) -> None:
    assert IDEMPOTENCY_DAYS == 7
    first = done(ledger, pen.create("We deploy on Friday.", idempotency_key="k"))
    used = pen.now
    pen.now = used + 7 * DAY - 1
    assert done(ledger, pen.create("We deploy on Friday.", idempotency_key="k")).replayed
    pen.now = used + 7 * DAY
    later = pen.create("We deploy on Monday.", idempotency_key="k")
    assert later.id == first.memory.id, "the derived id is taken, so the memory needs another"
    second = done(ledger, later)
    assert (second.action, second.memory.id) == ("ADD", later.spare_id)
    assert read_back(ledger, first.memory) == first.memory
    again = done(ledger, pen.create("We deploy on Monday.", idempotency_key="k"))
    assert (again.replayed, again.memory.id) == (True, second.memory.id)


def test_keys_that_are_past_their_life_are_dropped_from_the_file(home: Home, ledger: Ledger, pen: Pen) -> None:
    for number in range(5):
        done(ledger, pen.create(f"memory {number}", idempotency_key=f"k{number}"))
    pen.now += 8 * DAY
    done(ledger, pen.create("a later one", idempotency_key="later"))
    with home.looked_into() as db:
        assert db.execute("SELECT key FROM idempotency").fetchall() == [("later",)]


def test_a_key_of_an_update_replays_it_and_refuses_another(home: Home, ledger: Ledger, pen: Pen) -> None:
    memory = done(ledger, pen.create("We deploy on Friday.")).memory
    other = done(ledger, pen.create("We test on Thursday.")).memory
    first = done(ledger, pen.revise(memory, content="We deploy on Monday.", idempotency_key="k"))
    again = done(ledger, pen.revise(memory, content="We deploy on Monday.", idempotency_key="k"))
    assert (again.action, again.replayed, again.memory) == ("UPDATE", True, first.memory)
    for command in (
        pen.revise(memory, content="We deploy on Tuesday.", idempotency_key="k"),
        pen.revise(other, content="We deploy on Monday.", idempotency_key="k"),
    ):
        with pytest.raises(AlreadyExists):
            done(ledger, command)
    assert home.entries() == 3


# ---- before a write is prepared -------------------------------------------------------------------------------------


def test_a_key_whose_memory_was_forgotten_since_offers_it_for_restore(ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("said once", idempotency_key="k"))
    assert not first.restorable
    assert not done(ledger, pen.create("said once", idempotency_key="k")).restorable
    done(ledger, pen.forget(first.memory))
    again = done(ledger, pen.create("said once", idempotency_key="k"))
    assert (again.action, again.replayed, again.restorable) == ("ADD", True, True)
    assert (again.memory.id, again.memory.state) == (first.memory.id, "forgotten")
    assert "forgotten since" in again.reason
    assert f"`restore` brings {first.memory.id}" in again.reason
    done(ledger, pen.restore(again.memory))
    after = done(ledger, pen.create("said once", idempotency_key="k"))
    assert (after.restorable, after.reason) == (False, "this key was seen before")


def test_what_prepare_says_is_what_a_commit_would_say_and_writes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    known = pen.create("known", idempotency_key="k")
    first = done(ledger, known).memory

    def lookup(content: str, key: str = "", force: bool = False, space: str = SPACE) -> Lookup:
        draft = pen.create(content, idempotency_key=key, space=space, force=force).draft
        return Lookup(pen.agent, space, duplicate_key(content), key, fingerprint(draft), force, pen.now)

    before = ledger._db.total_changes
    outcomes, vectors = ledger.prepare(
        [
            lookup("new"),
            lookup(" known\n"),
            lookup("known", key="k"),
            lookup("other", key="k"),
            lookup("known", force=True),
            lookup("known", space="team/ops"),
        ],
        [content_hash("known")],
        GENERATION,
    )
    assert ledger._db.total_changes == before
    assert vectors == {}
    new, duplicate, replayed, refused, forced, elsewhere = outcomes
    assert (new, forced, elsewhere) == (None, None, None)
    assert not isinstance(duplicate, Exception | None)
    assert not isinstance(replayed, Exception | None)
    assert (duplicate.action, duplicate.deduplicated, duplicate.memory) == ("NOOP", True, first)
    assert (replayed.action, replayed.replayed, replayed.memory) == ("ADD", True, first)
    assert type(refused).__name__ == "AlreadyExists"
