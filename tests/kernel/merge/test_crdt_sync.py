"""One side of a stream and its events: its messages, its refusals, and never a message beyond its rights."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mnemesh_crdt.changes.envelope import Entry, node_id_of
from mnemesh_crdt.sync.audience import common_patterns, feed_name
from mnemesh_crdt.sync.comparison import DIGESTS_TOLD_MAX, Comparison
from mnemesh_crdt.sync.greeting import DIALER, LISTENER, ONE_IS_A_COPY, PROTOCOL, REFUSALS, THIS_NODE, Me
from mnemesh_crdt.sync.messages import (
    Ack,
    Admit,
    Admitted,
    Alive,
    Ask,
    Batch,
    Close,
    Closed,
    Compare,
    Compared,
    Digest,
    DigestsEnd,
    Got,
    Granted,
    Hello,
    Measure,
    Measured,
    Meet,
    Met,
    News,
    Opened,
    Ping,
    Pong,
    Probe,
    Proof,
    Prove,
    Proved,
    Read,
    Reask,
    Refusal,
    Reread,
    Resend,
    Resent,
    Send,
    Status,
    TakeIn,
    Tick,
    Took,
)
from mnemesh_crdt.sync.proof import NONCE_BYTES, Claim, proof_bytes
from mnemesh_crdt.sync.stream import FULL_HERE, FULL_THERE, Stream
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.values.limits import (
    BATCH_ITEMS_MAX,
    SYNC_CURSOR_LAG_MAX,
    SYNC_CURSORS_MAX,
    SYNC_DIGEST_SPACES_MAX,
    SYNC_SILENT_TICKS_MAX,
    SYNC_WINDOW_BATCHES,
)

SPACE = "team/a"
OURS, THEIRS = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
OUR_KEY, THEIR_KEY = (key.public_key().public_bytes_raw() for key in (OURS, THEIRS))
OUR_NONCE, THEIR_NONCE = bytes([3]) * NONCE_BYTES, bytes([4]) * NONCE_BYTES
US = Me(node_id=node_id_of(OUR_KEY), key=OUR_KEY, incarnation="ours-1", life="ourlife")
THEM = node_id_of(THEIR_KEY)
EVERYTHING = PeerGrant(read=("team/*",), write=("team/*",), principal="owner", relay=True)
PULL_ONLY = replace(EVERYTHING, read=())
PUSH_ONLY = replace(EVERYTHING, write=())
OUR_CLAIM = Claim(
    node_id=US.node_id,
    incarnation="ours-1",
    life="ourlife",
    role=LISTENER,
    nonce=OUR_NONCE,
    peer_id=THEM,
    peer_nonce=THEIR_NONCE,
)
OUR_FEED = feed_name("ours-1", ("team/*",), "")
THEIR_FEED = "theirs-1/scope"
THEIR_LOG = f"{THEM}/theirs-1"
REPAIR, THEIR_REPAIR = "ours-1/repair", "theirs-1/repair"


def hello(**fields: Any) -> Hello:
    given: dict[str, Any] = {"protocol": PROTOCOL, "node_id": THEM, "key": THEIR_KEY, "incarnation": "theirs-1"}
    rest: dict[str, Any] = {
        "wants": ("team/*",),
        "only_by": "",
        "cursors": {},
        "nonce": THEIR_NONCE,
        "life": "theirlife",
    }
    return Hello(**{**given, **rest, **fields})


def opened(role: str, head: int = 0, **more: Any) -> Opened:
    return Opened(role=role, head=head, nonce=OUR_NONCE, **more)


def claim_of_theirs(role: str = LISTENER, **fields: Any) -> Claim:
    """The peer's proof to us; `role` is the peer's."""
    given = {"node_id": THEM, "incarnation": "theirs-1", "life": "theirlife", "role": role, "peer_id": US.node_id}
    return Claim(**{**given, "nonce": THEIR_NONCE, "peer_nonce": OUR_NONCE, **fields})


def proof(role: str = LISTENER, by: Ed25519PrivateKey = THEIRS, **fields: Any) -> Proof:
    return Proof(by.sign(proof_bytes(claim_of_theirs(role, **fields))))


def entry(number: int, space: str = SPACE, agent: str = "owner/test", raw: bytes = b"raw", node: str = "") -> Entry:
    hash = hashlib.sha256(b"%d" % number).hexdigest()
    return Entry(
        doc=f"doc{number}",
        space=space,
        type="change",
        hash=hash,
        raw=raw,
        agent=agent,
        node=node or US.node_id,
        signature=b"",
        at=0,
    )


def batch(after: int, last_seq: int, *entries: Entry, head: int | None = None, feed: str = THEIR_FEED) -> Batch:
    return Batch(feed=feed, after=after, last_seq=last_seq, head=last_seq if head is None else head, entries=entries)


def page(after: int, *entries: Entry, last_seq: int = 0, head: int = 0) -> Read:
    end = last_seq or after + len(entries)
    return Read(after=after, entries=entries, last_seq=end, head=head or end, keys={US.node_id: OUR_KEY})


class Scene:
    """A stream and what came out of it, without the statuses."""

    def __init__(self, grant: PeerGrant = EVERYTHING, **more: Any) -> None:
        self.stream = Stream(US, grant, **more)

    def tell(self, *events: Any) -> list[Any]:
        """The effects of the events, in their order."""
        effects = [effect for event in events for effect in self.stream.handle(event)]
        return [effect for effect in effects if not isinstance(effect, Status)]

    def got(self, *messages: Any) -> list[Any]:
        return self.tell(*map(Got, messages))

    def greeted(self, their: Hello | None = None) -> list[Any]:
        """The effects in a dialer when the peer's Hello comes, and the peer's proof after ours."""
        (prove,) = self.got(their or hello())
        _, admit = self.tell(Proved(OURS.sign(proof_bytes(prove.claim))), Got(proof()))
        assert admit == Admit(THEM, "theirlife")
        return self.tell(Admitted())

    @property
    def status(self) -> Status:
        return self.stream.status


def dialled(grant: PeerGrant = EVERYTHING, head: int = 0, their: Hello | None = None, **cursors: int) -> Scene:
    """A stream that we opened, after both sides proved their identity. `cursors` are ours in their feeds, by scope."""
    scene = Scene(grant)
    saved = {f"theirs-1/{scope}": seq for scope, seq in cursors.items()}
    scene.tell(opened(DIALER, head, cursors=saved))
    scene.greeted(their)
    return scene


def idle(grant: PeerGrant = EVERYTHING) -> Scene:
    """Both sides know that the other has nothing to say."""
    scene = dialled(grant)
    scene.got(batch(0, 0))
    assert scene.status.caught_up
    return scene


def sent(effects: list[Any]) -> list[Any]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def refused(effects: list[Any]) -> str:
    """The code with which the stream was ended; it is said and done."""
    *_, said, done = effects
    assert isinstance(said, Send)
    assert isinstance(said.message, Refusal)
    assert isinstance(done, Close)
    assert (done.code, done.reason) == (said.message.code, said.message.reason)
    assert done.code in REFUSALS
    return done.code


@pytest.fixture
def scene() -> Scene:
    """A stream that nothing was said on yet."""
    return Scene()


@pytest.fixture
def met() -> Scene:
    return dialled()


@pytest.fixture
def quiet() -> Scene:
    return idle()


# ---- greeting --------------------------------------------------------------------------------------------------------


def test_the_dialer_greets_first_with_what_it_wants_and_how_far_it_read() -> None:
    scene = Scene(replace(EVERYTHING, relay=False, principal="ana"), expects=THEM)
    (greeting,) = sent(scene.tell(opened(DIALER, 5, cursors={"theirs-1/scope": 3})))
    assert greeting == Hello(
        protocol=PROTOCOL,
        node_id=US.node_id,
        key=OUR_KEY,
        incarnation="ours-1",
        wants=("team/*",),
        only_by="ana",
        cursors={"theirs-1/scope": 3},
        nonce=OUR_NONCE,
        life="ourlife",
    )
    assert scene.status.phase == "greeting"
    assert scene.greeted() == [Ask(0, ("team/*",), THEIR_LOG)]
    assert (scene.status.phase, scene.status.node_id) == ("open", THEM)


def test_a_listener_looks_up_its_cursors_before_it_answers(scene: Scene) -> None:
    assert scene.tell(opened(LISTENER)) == []
    assert scene.got(hello()) == [Meet(THEM)]
    (greeting,) = sent(scene.tell(Met({"theirs-1/scope": 7})))
    assert (greeting.cursors, greeting.only_by, greeting.nonce) == ({"theirs-1/scope": 7}, "", OUR_NONCE)
    assert scene.got(proof(DIALER)) == [Admit(THEM, "theirlife")]
    assert scene.tell(Admitted()) == [Prove(OUR_CLAIM)]
    said, nothing = sent(scene.tell(Proved(b"ours")))
    assert said == Proof(b"ours")
    assert nothing == Batch(feed=OUR_FEED, after=0, last_seq=0, head=0, entries=())


def test_an_unknown_incarnation_is_read_from_its_beginning(scene: Scene) -> None:
    scene.tell(opened(DIALER, 9))
    cursors = {feed_name("ours-0", ("team/*",), ""): 5}
    assert scene.greeted(hello(cursors=cursors)) == [Ask(0, ("team/*",), THEIR_LOG)]


def test_a_known_cursor_is_where_the_reading_goes_on(scene: Scene) -> None:
    scene.tell(opened(DIALER, 9))
    assert scene.greeted(hello(cursors={OUR_FEED: 5})) == [Ask(5, ("team/*",), THEIR_LOG)]


@pytest.mark.parametrize(
    "change",
    [{"wants": ("team/*", "other")}, {"wants": ("*",)}, {"only_by": "ana"}],
    ids=["a space more", "a wider pattern", "other authors"],
)
def test_a_feed_is_another_one_when_the_other_side_gets_something_else(change: dict[str, Any]) -> None:
    def feed(their: Hello) -> str:
        scene = Scene(replace(EVERYTHING, read=("*", "@ana")))
        scene.tell(opened(DIALER))
        (nothing,) = sent(scene.greeted(their))
        return str(nothing.feed)

    assert feed(hello()) == feed(hello(wants=("team/*", "team/a")))
    assert feed(hello()) != feed(hello(**change))
    assert feed(hello()).startswith("ours-1/")


def test_another_major_protocol_is_refused_and_another_minor_is_not() -> None:
    for protocol, who in ((PROTOCOL + 1000, US.node_id), (PROTOCOL - 1000, hello().node_id)):
        scene = Scene()
        assert refused(scene.tell(opened(LISTENER), Got(hello(protocol=protocol)))) == "protocol"
        assert f"upgrade Mnemesh on node '{who}'" in scene.status.reason
        assert (scene.status.phase, scene.status.code) == ("closed", "protocol")
    assert dialled(their=hello(protocol=PROTOCOL + 1)).status.phase == "open"


def test_a_node_that_calls_itself_is_told_so(scene: Scene) -> None:
    scene.tell(opened(LISTENER))
    own = hello(node_id=US.node_id, key=US.key, incarnation=US.incarnation, life=US.life)
    assert refused(scene.got(own)) == "identity"
    assert scene.status.reason == THIS_NODE


def test_a_node_that_meets_its_own_id_says_how_to_give_the_copy_another(scene: Scene) -> None:
    assert refused(scene.tell(opened(LISTENER), Got(hello(node_id=US.node_id, key=OUR_KEY)))) == "identity"
    assert "mnemesh node new-identity" in scene.status.reason


def test_a_node_id_is_proved_by_its_key_and_by_what_was_pinned() -> None:
    assert refused(Scene().tell(opened(LISTENER), Got(hello(key=OUR_KEY)))) == "identity"
    other = Scene(expects="0" * 32)
    assert refused(other.tell(opened(DIALER), Got(hello()))) == "identity"
    assert "remove the peer" in other.status.reason


@pytest.mark.parametrize(
    "fields",
    [
        {"wants": ("@*x",)},
        {"wants": ("team",) * 101},
        {"cursors": {f"a/{number}": 1 for number in range(SYNC_CURSORS_MAX + 1)}},
        {"cursors": {"a/b": -1}},
        {"cursors": {"a/b": 2**63}},
        {"incarnation": ""},
        {"incarnation": "a/b"},
        {"incarnation": "a" * 65},
        {"only_by": "a" * 65},
        {"nonce": bytes(31)},
        {"nonce": bytes(33)},
        {"life": ""},
        {"life": "a" * 65},
    ],
    ids=str,
)
def test_a_hello_out_of_bounds_is_a_fault(fields: dict[str, Any]) -> None:
    assert refused(Scene().tell(opened(LISTENER), Got(hello(**fields)))) == "fault"


def test_nothing_may_come_before_hello_and_no_second_one() -> None:
    for message in (batch(0, 1, entry(1)), Ack(OUR_FEED, 0), Digest(SPACE, {}), proof(DIALER)):
        assert refused(Scene().tell(opened(LISTENER), Got(message))) == "fault"
    scene = dialled()
    assert scene.got(hello()) == [], "the same one twice says nothing new"
    assert refused(scene.got(hello(wants=()))) == "fault"


# ---- proving ---------------------------------------------------------------------------------------------------------

FALSE = {
    "another key": proof(by=OURS),
    "noise": Proof(bytes(64)),
    "nothing": Proof(b""),
    "too long": Proof(bytes(65)),
    "another stream, by our number": proof(peer_nonce=bytes(NONCE_BYTES)),
    "another stream, by theirs": proof(nonce=bytes(NONCE_BYTES)),
    "the other role": proof(DIALER),
    "another incarnation": proof(incarnation="theirs-0"),
    "another life": proof(life="anotherlife"),
    "for another node": proof(peer_id="0" * 32),
    "of another node": proof(node_id=US.node_id),
    "the numbers swapped": proof(nonce=OUR_NONCE, peer_nonce=THEIR_NONCE),
}


@pytest.mark.parametrize("wrong", FALSE.values(), ids=FALSE)
def test_a_proof_that_is_not_of_this_stream_node_and_role_is_refused_with_what_to_do(wrong: Proof) -> None:
    scene = Scene(expects=THEM)
    scene.tell(opened(DIALER, 3))
    scene.got(hello())
    scene.tell(Proved(b"ours"))
    assert refused(scene.got(wrong)) == "identity"
    assert "revoke a token" in scene.status.reason
    assert THEM in scene.status.reason


def test_a_listener_refuses_a_wrong_proof_and_has_signed_nothing() -> None:
    for wrong in (proof(LISTENER), proof(DIALER, by=OURS), Proof(bytes(64))):
        scene = Scene()
        scene.tell(opened(LISTENER, 3), Got(hello()), Met({"theirs-1/scope": 7}))
        effects = scene.got(wrong)
        assert refused(effects) == "identity"
        assert not [effect for effect in effects if isinstance(effect, Prove)]


def test_an_incarnation_is_believed_when_it_was_proved_and_not_when_it_was_said() -> None:
    """Entries are filed under it and the node, and not sent back there."""

    def told() -> Scene:
        scene = Scene()
        scene.tell(opened(DIALER, 3))
        scene.got(hello(incarnation="anothers-1"))
        scene.tell(Proved(b"ours"))
        return scene

    assert refused(told().got(proof())) == "identity"
    scene = told()
    assert scene.got(proof(incarnation="anothers-1")) == [Admit(THEM, "theirlife")]
    assert scene.tell(Admitted()) == [Ask(0, ("team/*",), f"{THEM}/anothers-1")]


@pytest.mark.parametrize("role", [DIALER, LISTENER])
def test_nothing_is_said_or_believed_before_the_proof_was_found_good(role: str, scene: Scene) -> None:
    heard: list[Any] = [
        opened(role, 3),
        News(4),
        Compare(),
        Got(hello()),
        *([Met({})] if role == LISTENER else [Proved(b"ours")]),
        News(5),
        Tick(),
    ]
    effects = scene.tell(*heard)
    assert {type(message) for message in sent(effects)} <= {Hello, Proof}
    assert not {type(effect) for effect in effects} - {Send, Meet, Prove}
    assert (scene.status.phase, scene.status.node_id, scene.status.only_by) == ("greeting", "", "")
    for early in (batch(0, 1, entry(1)), Ack(OUR_FEED, 0), Digest(SPACE, {})):
        again = Scene()
        again.tell(*heard)
        assert refused(again.got(early)) == "fault"
        assert "before Hello and its proof" in again.status.reason


def test_the_dialer_proves_itself_first(scene: Scene) -> None:
    scene.tell(opened(DIALER))
    assert scene.got(hello()) == [Prove(replace(OUR_CLAIM, role=DIALER))]
    assert scene.got(proof()) == [Admit(THEM, "theirlife")]
    assert scene.tell(Admitted()) == [], "a listener that is in a hurry waits all the same"
    assert [type(one) for one in sent(scene.tell(Proved(b"ours")))] == [Proof, Batch]


def test_the_same_proof_twice_says_nothing_new_and_another_one_is_a_fault(met: Scene) -> None:
    assert met.got(proof()) == []
    assert refused(met.got(Proof(bytes(64)))) == "fault"


def test_two_machines_that_hear_each_other_are_both_open_after_two_messages_of_each() -> None:
    ours = Scene(expects=THEM)
    theirs = Scene()
    theirs.stream = Stream(
        Me(node_id=THEM, key=THEIR_KEY, incarnation="theirs-1", life="theirlife"), EVERYTHING, expects=US.node_id
    )
    keys = {id(ours): OURS, id(theirs): THEIRS}
    said: list[Any] = []
    to_do = [(ours, opened(DIALER)), (theirs, Opened(role=LISTENER, head=0, nonce=THEIR_NONCE))]
    while to_do:
        scene, event = to_do.pop(0)
        for effect in scene.tell(event):
            match effect:
                case Send(message):
                    said.append(message)
                    to_do.append((theirs if scene is ours else ours, Got(message)))
                case Meet():
                    to_do.append((scene, Met({})))
                case Admit():
                    to_do.append((scene, Admitted()))
                case Prove(claim):
                    to_do.append((scene, Proved(keys[id(scene)].sign(proof_bytes(claim)))))
    assert [type(one) for one in said[:4]] == [Hello, Hello, Proof, Proof]
    assert (ours.status.phase, theirs.status.phase) == ("open", "open")
    assert (ours.status.node_id, theirs.status.node_id) == (THEM, US.node_id)


# ---- copies ----------------------------------------------------------------------------------------------------------


def refuses_the_copy(scene: Scene) -> None:
    effects = scene.tell(Admitted(ONE_IS_A_COPY))
    assert refused(effects) == "identity"
    assert [type(message) for message in sent(effects)] == [Refusal]
    assert "mnemesh node new-identity" in scene.status.reason


def test_a_copy_is_refused_before_anything_is_said_to_it_or_taken_of_it(scene: Scene) -> None:
    scene.tell(opened(LISTENER, 3), Got(hello()), Met({}))
    assert scene.got(proof(DIALER)) == [Admit(THEM, "theirlife")]
    assert scene.tell(News(4), Tick()) == [], "it waits until the other process was asked"
    refuses_the_copy(scene)


def test_who_listens_waits_for_the_answer_of_the_other_process_before_it_gives_up(scene: Scene) -> None:
    scene.tell(opened(LISTENER), Got(hello()), Met({}), Tick(), Got(proof(DIALER)))
    assert scene.tell(Tick()) == []
    assert scene.tell(Admitted()) == [Prove(OUR_CLAIM)]


def called(head: int = 0) -> Scene:
    """A stream that we opened to a peer that has proved itself, and may be a copy."""
    scene = Scene()
    scene.tell(opened(DIALER, head))
    (prove,) = scene.got(hello())
    scene.tell(Proved(OURS.sign(proof_bytes(prove.claim))))
    assert scene.got(proof()) == [Admit(THEM, "theirlife")]
    return scene


def test_a_copy_that_was_called_is_refused_before_anything_of_it_is_taken_in() -> None:
    scene = called(head=3)
    assert scene.got(batch(0, 1, entry(1)), Ping(7)) == [], "it goes on while the other process is asked"
    assert (scene.status.phase, len(scene.stream.held)) == ("greeting", 2)
    refuses_the_copy(scene)


def test_what_a_peer_said_while_the_other_process_was_asked_is_heard_afterwards() -> None:
    scene, one = called(), batch(0, 1, entry(1))
    assert scene.got(one, Ping(7)) == []
    nothing = Batch(feed=OUR_FEED, after=0, last_seq=0, head=0, entries=())
    assert scene.tell(Admitted()) == [Send(nothing), TakeIn(one, THEM, THEIR_LOG, EVERYTHING), Send(Pong(7))]
    assert (scene.status.phase, scene.stream.held) == ("open", [])


def test_a_refusal_of_who_was_called_is_not_held() -> None:
    scene = called()
    assert scene.got(Refusal("identity", "you are the copy")) == [Close("", "'identity': you are the copy")]


def test_who_is_asked_whether_it_is_alive_says_so() -> None:
    assert dialled().got(Ping(7), Ping(2**63 - 1)) == [Send(Pong(7)), Send(Pong(2**63 - 1))]
    for early in (Ping(7), Pong(7)):
        scene = Scene()
        scene.tell(opened(LISTENER), Got(hello()))
        assert refused(scene.got(early)) == "fault"


def test_the_other_side_is_asked_once_it_listens_and_its_answer_has_the_number_of_the_question(met: Scene) -> None:
    assert met.tell(Probe(5)) == [Send(Ping(5))]
    assert met.got(Pong(5)) == [Alive(5)]
    early = Scene()
    early.tell(opened(DIALER))
    assert early.tell(Probe(6)) == []
    assert early.greeted()[0] == Send(Ping(6))
    assert early.tell(Tick()) == []


def test_a_cursor_beyond_the_end_of_the_log_is_refused_as_another_life_of_the_log(scene: Scene) -> None:
    scene.tell(opened(DIALER, 4))
    assert refused(scene.greeted(hello(cursors={OUR_FEED: 5}))) == "identity"
    assert "new incarnation" in scene.status.reason


def test_a_refusal_by_the_other_side_ends_the_stream_without_an_answer(met: Scene) -> None:
    (close,) = met.got(Refusal("silent", "come later"))
    assert close == Close("", "'silent': come later")
    assert (met.status.phase, met.status.code) == ("closed", "silent")
    assert met.tell(News(5), Tick(), Got(batch(0, 1, entry(1)))) == []


def test_a_stream_that_is_gone_says_nothing_more() -> None:
    scene = dialled(head=3)
    assert scene.tell(Closed("reset by peer")) == [Close("", "reset by peer")]
    assert scene.tell(page(0, entry(1)), News(9)) == []


# ---- saying ----------------------------------------------------------------------------------------------------------


def test_entries_are_read_in_pages_and_sent_until_the_window_is_full() -> None:
    scene = dialled(head=100)
    for number in range(SYNC_WINDOW_BATCHES):
        last = number == SYNC_WINDOW_BATCHES - 1
        said, *asks = scene.tell(page(number, entry(number), head=100))
        assert sent([said])[0].entries == (entry(number),)
        assert (sent([said])[0].after, sent([said])[0].last_seq, sent([said])[0].head) == (number, number + 1, 100)
        assert asks == ([] if last else [Ask(number + 1, ("team/*",), THEIR_LOG)])
    assert scene.status.sending == SYNC_WINDOW_BATCHES
    assert scene.got(Ack(OUR_FEED, 2)) == [Ask(4, ("team/*",), THEIR_LOG)]
    assert (scene.status.acked, scene.status.sending) == (2, 2)
    assert scene.got(Ack(OUR_FEED, 1), Ack(OUR_FEED, 2)) == [], "late acknowledgements say nothing new"


def test_every_batch_has_the_keys_of_its_entries_and_no_others() -> None:
    scene = dialled(head=3)
    (first,) = sent(scene.tell(page(0, entry(1), head=3)))
    (second,) = sent(scene.tell(replace(page(1, entry(2), head=3), keys={US.node_id: OUR_KEY, THEM: THEIR_KEY})))
    assert first.keys == second.keys == {US.node_id: OUR_KEY}, (
        "the peer may have dropped the first, and its key with it"
    )
    elsewhere = replace(entry(3), space="other/secret", node=THEM)
    (third,) = sent(scene.tell(replace(page(2, elsewhere, head=3), keys={THEM: THEIR_KEY})))
    assert (third.entries, third.keys) == ((), {})


def test_an_acknowledgement_beyond_what_was_sent_is_a_fault() -> None:
    scene = dialled(head=2)
    scene.tell(page(0, entry(1), head=2))
    assert refused(scene.got(Ack(OUR_FEED, 2))) == "fault"
    assert refused(dialled().got(Ack("ours-1/other", 0))) == "fault"
    assert refused(dialled().got(Ack(REPAIR, 1))) == "fault"


def test_what_the_other_side_may_not_have_never_leaves_even_when_a_page_holds_it() -> None:
    scene = dialled(head=3, their=hello(only_by="ana"))
    mine, other, outside = entry(1, agent="ana/cli"), entry(2, agent="anabel/cli"), entry(3, "secret", "ana/cli")
    (said,) = sent(scene.tell(page(0, mine, other, outside)))
    assert said.entries == (mine,)
    assert said.last_seq == 3


def test_a_private_space_travels_only_when_both_sides_name_it() -> None:
    assert common_patterns(("*", "@ana"), ("*",)) == ("*",)
    assert common_patterns(("*", "@ana"), ("@ana", "team/*")) == ("@ana", "team/*")
    assert common_patterns(("@ana",), ("@ana/notes", "@bob")) == ("@ana/notes",)
    assert common_patterns(("*",), ("@ana",)) == ()


def test_common_patterns_are_those_of_the_spaces_that_both_sides_cover() -> None:
    assert common_patterns(("team/*",), ("team/a/*", "team/b", "team", "other/*")) == ("team/a/*", "team/b")
    assert common_patterns(("team/*", "team/a"), ("*",)) == ("team/*",)
    assert common_patterns((), ("*",)) == ()


def test_entries_that_are_none_of_theirs_are_stepped_over_and_told_at_the_end() -> None:
    scene = dialled(head=9)
    outside = entry(1, "secret")
    assert scene.tell(page(0, outside, last_seq=5, head=9)) == [Ask(5, ("team/*",), THEIR_LOG)]
    assert sent(scene.tell(page(5, last_seq=9))) == [Batch(feed=OUR_FEED, after=0, last_seq=9, head=9, entries=())]
    scene.got(Ack(OUR_FEED, 9), batch(0, 0))
    assert scene.status.caught_up


def test_news_are_read_when_the_stream_is_open_and_something_may_be_said(scene: Scene) -> None:
    scene.tell(opened(LISTENER))
    assert scene.tell(News(3)) == []
    scene.got(hello())
    scene.tell(Met({}))
    assert scene.tell(Got(proof(DIALER)), News(3), Admitted()) == [Admit(THEM, "theirlife"), Prove(OUR_CLAIM)]
    assert scene.tell(Proved(b"ours")) == [Send(Proof(b"ours")), Ask(0, ("team/*",), THEIR_LOG)]
    assert scene.tell(News(4)) == [], "one page is asked for at a time"
    assert dialled(PULL_ONLY).tell(News(1)) == []


# ---- hearing ---------------------------------------------------------------------------------------------------------


def test_a_batch_is_acknowledged_after_it_was_taken_in_and_not_before(met: Scene) -> None:
    one = batch(0, 2, entry(1), entry(2), head=5)
    assert met.got(one) == [TakeIn(one, THEM, THEIR_LOG, EVERYTHING)]
    assert met.tell(Took(THEIR_FEED, 2)) == [Send(Ack(THEIR_FEED, 2))]
    assert (met.status.taken, met.status.peer_head, met.status.caught_up) == (2, 5, False)


def test_a_saved_cursor_is_where_batches_have_to_go_on() -> None:
    scene = dialled(scope=7)
    assert scene.got(batch(5, 7, entry(1))) == [Send(Ack(THEIR_FEED, 7))], "it is here already"
    one = batch(7, 8, entry(2))
    assert scene.got(one) == [TakeIn(one, THEM, THEIR_LOG, EVERYTHING)]


def test_batches_may_come_in_any_order_and_more_than_once(met: Scene) -> None:
    first, second, third = batch(0, 1, entry(1)), batch(1, 2, entry(2)), batch(2, 3, entry(3))
    assert met.got(third, second, third) == [], "a cursor never steps over what did not come"
    assert [effect.batch for effect in met.got(first)] == [first]
    assert met.got(first) == [], "it is being taken in"
    acked, *taking = met.tell(Took(THEIR_FEED, 1))
    assert (acked, [effect.batch for effect in taking]) == (Send(Ack(THEIR_FEED, 1)), [second])
    assert met.got(first) == [Send(Ack(THEIR_FEED, 1))]
    met.tell(Took(THEIR_FEED, 2))
    assert met.tell(Took(THEIR_FEED, 3)) == [Send(Ack(THEIR_FEED, 3))]


def test_more_batches_than_the_window_are_a_fault(met: Scene) -> None:
    for number in range(1, SYNC_WINDOW_BATCHES + 1):
        assert met.got(batch(number, number + 1, entry(number))) == []
    assert refused(met.got(batch(50, 51, entry(50)))) == "fault"


@pytest.mark.parametrize(
    "bad",
    [
        batch(0, 1, *[entry(1)] * (BATCH_ITEMS_MAX + 1)),
        batch(0, 1, *[entry(1, raw=bytes(150_000))] * 8),
        batch(3, 2),
        batch(-1, 2),
        batch(0, 2**63),
        batch(1, 1, entry(1)),
        batch(0, 1, feed="other/scope"),
        batch(0, 1, feed="theirs-1"),
        batch(0, 1, feed="theirs-1/" + "s" * 65),
    ],
    ids=["items", "bytes", "backwards", "negative", "huge", "empty", "foreign", "unnamed", "long name"],
)
def test_a_batch_out_of_bounds_is_a_fault(bad: Batch) -> None:
    assert refused(dialled().got(bad)) == "fault"


def test_entries_for_a_side_that_takes_none_are_a_fault() -> None:
    scene = dialled(PUSH_ONLY)
    assert scene.got(batch(0, 3)) == [Send(Ack(THEIR_FEED, 3))]
    assert refused(scene.got(batch(3, 4, entry(1)))) == "fault"


def test_a_stream_carries_one_feed(quiet: Scene) -> None:
    assert refused(quiet.got(batch(0, 1, entry(1), feed="theirs-1/other"))) == "fault"


def test_entries_outside_of_the_grant_are_taken_in_under_it_to_be_quarantined() -> None:
    narrow = replace(EVERYTHING, write=("team/b",))
    (taking,) = dialled(narrow).got(batch(0, 1, entry(1, "team/a")))
    assert taking.grant == narrow


def test_steps_over_entries_of_others_reach_the_disk_only_now_and_then(met: Scene) -> None:
    assert met.got(batch(0, 10)) == [Send(Ack(THEIR_FEED, 10))]
    far = batch(10, SYNC_CURSOR_LAG_MAX)
    assert met.got(far) == [TakeIn(far, THEM, THEIR_LOG, EVERYTHING)]


def test_a_full_ledger_takes_nothing_for_a_while_and_the_other_direction_goes_on() -> None:
    scene = dialled(head=1)
    one, two = batch(0, 1, entry(1)), batch(1, 2, entry(2))
    scene.got(one, two)
    assert scene.tell(Took(THEIR_FEED, 0, full=True)) == [Send(Ack(THEIR_FEED, 0, full=True))]
    assert (scene.status.phase, scene.status.caught_up, scene.status.reason) == ("open", False, FULL_HERE)
    assert scene.got(two) == []
    assert [type(effect) for effect in scene.tell(page(0, entry(3)))] == [Send], "what is for the other is said"
    assert scene.got(Ack(OUR_FEED, 1)) == []
    assert scene.tell(Tick()) == [TakeIn(one, THEM, THEIR_LOG, EVERYTHING)]
    assert scene.tell(Took(THEIR_FEED, 0, full=True)) == [Send(Ack(THEIR_FEED, 0, full=True))]
    scene.tell(Tick())
    assert scene.tell(Took(THEIR_FEED, 1)) == [Send(Ack(THEIR_FEED, 1)), TakeIn(two, THEM, THEIR_LOG, EVERYTHING)]
    assert scene.status.reason == ""
    assert scene.tell(Took(THEIR_FEED, 2)) == [Send(Ack(THEIR_FEED, 2))]
    assert scene.status.caught_up


def test_a_peer_that_says_that_it_has_no_room_is_waited_for_however_long() -> None:
    scene = dialled(head=1)
    scene.got(batch(0, 0))
    scene.tell(page(0, entry(1)))
    for _ in range(5 * SYNC_SILENT_TICKS_MAX):
        assert scene.got(Ack(OUR_FEED, 0, full=True)) == []
        assert scene.status.reason == FULL_THERE
        assert scene.tell(Tick()) == [], "neither given up nor said again"
    assert scene.got(Ack(OUR_FEED, 1)) == []
    assert (scene.status.caught_up, scene.status.reason) == (True, "")


def test_an_answer_that_nobody_asked_for_is_a_bug_of_the_shell() -> None:
    with pytest.raises(ValueError, match="no TakeIn"):
        dialled().tell(Took(THEIR_FEED, 1))
    with pytest.raises(ValueError, match="no Reask"):
        dialled().tell(Reread(space=SPACE, after=0, entries=(), last_seq=0, done=True))


# ---- grants ----------------------------------------------------------------------------------------------------------


def test_a_changed_grant_ends_the_stream_before_anything_else_is_said() -> None:
    scene = dialled(head=1)
    assert scene.tell(Granted(EVERYTHING)) == []
    assert refused(scene.tell(Granted(replace(EVERYTHING, read=("team/b",))))) == "changed"
    assert scene.tell(page(0, entry(1))) == []


# ---- time ------------------------------------------------------------------------------------------------------------


def test_what_is_not_acknowledged_for_two_ticks_is_said_again_and_then_given_up() -> None:
    scene = dialled(head=1)
    (first,) = sent(scene.tell(page(0, entry(1))))
    assert scene.tell(Tick()) == []
    assert scene.tell(Tick()) == [Ask(0, ("team/*",), THEIR_LOG)]
    assert sent(scene.tell(page(0, entry(1)))) == [first], "with the keys, which may be lost too"
    for _ in range(SYNC_SILENT_TICKS_MAX - 1):
        scene.tell(Tick(), page(0, entry(1)))
    assert refused(scene.tell(Tick())) == "silent"


def test_an_acknowledgement_shows_that_the_other_side_lives() -> None:
    scene = dialled(head=2)
    scene.tell(page(0, entry(1), head=2), page(1, entry(2), head=2), Tick(), Tick())
    assert scene.got(Ack(OUR_FEED, 2)) == [], "it came late, after all was to be said again"
    assert scene.tell(page(0, entry(1), head=2)) == []
    assert scene.tell(*[Tick()] * 9) == [], "nothing is under way"
    assert scene.status.acked == 2


def test_a_page_that_was_asked_for_before_all_is_said_again_is_not_used() -> None:
    scene = dialled(head=2)
    said, ask = scene.tell(page(0, entry(1), head=2))
    assert (sent([said])[0].last_seq, ask) == (1, Ask(1, ("team/*",), THEIR_LOG))
    scene.tell(Tick(), Tick())
    assert scene.tell(page(1, entry(2), head=2)) == [Ask(0, ("team/*",), THEIR_LOG)]


def test_a_peer_that_never_greets_is_given_up(scene: Scene) -> None:
    scene.tell(opened(DIALER))
    assert scene.tell(Tick()) == []
    assert refused(scene.tell(Tick())) == "silent"


# ---- comparing -------------------------------------------------------------------------------------------------------

HERE, THERE = "0" * 64, "1" * 64


def test_a_comparison_waits_until_both_sides_have_caught_up() -> None:
    scene = dialled(head=1)
    assert scene.tell(Compare()) == []
    assert [type(effect) for effect in scene.tell(page(0, entry(1)))] == [Send]
    assert scene.got(Ack(OUR_FEED, 1)) == [], "the other side has not said that it has nothing"
    one = batch(0, 1, entry(2))
    assert scene.got(one) == [TakeIn(one, THEM, THEIR_LOG, EVERYTHING)]
    assert scene.tell(Took(THEIR_FEED, 1)) == [Send(Ack(THEIR_FEED, 1)), Measure(("team/*",))]
    assert scene.tell(Compare()) == [], "one at a time"
    assert sent(scene.tell(Measured(("team/*",), {SPACE: {3: HERE}}))) == [Digest(SPACE, {3: HERE}), DigestsEnd(1)]


def test_a_comparison_may_begin_at_once() -> None:
    assert idle().tell(Compare()) == [Measure(("team/*",))]
    assert idle(PULL_ONLY).tell(Compare()) == [], "the peer may have nothing, so there is nothing to tell"
    assert idle(PUSH_ONLY).tell(Compare()) == [Measure(("team/*",))]


def test_a_peer_is_told_only_of_spaces_that_it_may_read_and_wants() -> None:
    scene = dialled(replace(EVERYTHING, read=("team/*",), write=("*",)), their=hello(wants=("team/a", "family/*")))
    scene.got(batch(0, 0))
    assert scene.tell(Compare()) == [Measure(("team/a",))]
    held = {name: {1: HERE} for name in ("family/lawyer", "home", "team/a", "team/b")}
    assert sent(scene.tell(Measured(("team/a",), held))) == [Digest("team/a", {1: HERE}), DigestsEnd(1)]
    scene.got(Digest("home", {1: THERE, 2: THERE}))
    asked = sent(scene.tell(Measured(("home",), {"home": {1: HERE, 3: HERE}})))
    assert asked == [Resend(1, "home", (1, 2))], "of what the peer told, and not of bucket 3"


def test_equal_digests_need_no_answer(quiet: Scene) -> None:
    assert quiet.got(Digest(SPACE, {3: HERE})) == [Measure((SPACE,))]
    assert quiet.tell(Measured((SPACE,), {SPACE: {3: HERE, 4: HERE}})) == []


def test_buckets_that_differ_are_asked_for_and_sent_again_page_by_page(quiet: Scene) -> None:
    quiet.got(Digest(SPACE, {1: HERE, 2: HERE, 3: HERE}))
    assert quiet.tell(Measured((SPACE,), {SPACE: {1: HERE, 2: THERE, 4: THERE}})) == [Send(Resend(1, SPACE, (2, 3)))]
    assert quiet.got(Resend(1, SPACE, (4, 2, 4))) == [Reask(SPACE, (2, 4), 0)]
    assert quiet.got(Resend(1, SPACE, (4, 2, 4))) == [], "said twice"
    assert not quiet.status.caught_up
    outside = entry(9, "secret")
    (said,) = sent(quiet.tell(Reread(space=SPACE, after=0, entries=(entry(1), outside), last_seq=5, done=False)))
    assert said == Batch(feed=REPAIR, after=0, last_seq=1, head=0, entries=(entry(1),))
    assert quiet.got(Ack(REPAIR, 1)) == [Reask(SPACE, (2, 4), 5)]
    (said,) = sent(quiet.tell(Reread(space=SPACE, after=5, entries=(entry(2),), last_seq=9, done=True)))
    assert (said.after, said.last_seq) == (1, 2)
    assert quiet.got(Ack(REPAIR, 1)) == []
    assert quiet.got(Ack(REPAIR, 2)) == [Send(Resent(1))]
    assert quiet.status.caught_up
    assert quiet.got(Resend(2, SPACE, (1,))) == [Reask(SPACE, (1,), 0)]
    assert quiet.tell(Reread(space=SPACE, after=0, entries=(), last_seq=9, done=False)) == [Reask(SPACE, (1,), 9)]
    assert quiet.tell(Reread(space=SPACE, after=9, entries=(), last_seq=9, done=True)) == [Send(Resent(2))]


def test_the_end_of_digests_is_answered_once_all_were_looked_at_and_what_is_lacking_was_asked_for(quiet: Scene) -> None:
    quiet.got(Digest(SPACE, {1: HERE}))
    assert quiet.got(DigestsEnd(1)) == []
    answer = sent(quiet.tell(Measured((SPACE,), {SPACE: {1: THERE}})))
    assert answer == [Resend(1, SPACE, (1,)), Compared(1)]
    assert sent(quiet.got(DigestsEnd(2))) == [Compared(2)], "nothing was told"


def test_a_comparison_is_over_when_what_it_found_is_sent_and_what_was_asked_for_is_here(quiet: Scene) -> None:
    quiet.tell(Compare(), Measured(("team/*",), {SPACE: {3: HERE}}))
    assert quiet.status.compared == 0
    quiet.got(Resend(1, SPACE, (3,)), Compared(1))
    assert quiet.status.compared == 0, "the peer has not got what it lacks"
    quiet.tell(Reread(space=SPACE, after=0, entries=(entry(1),), last_seq=5, done=True))
    assert Measure(("team/*",)) in quiet.got(Ack(REPAIR, 1)), "what was repaired is looked at again"
    assert quiet.status.compared == 0
    quiet.tell(Measured(("team/*",), {SPACE: {3: HERE}}))
    quiet.got(Compared(2))
    assert (quiet.status.compared, quiet.status.differs) == (1, 0)
    quiet.tell(Compare(back=True), Measured(("team/*",), {}))
    quiet.got(Compared(3), Digest("team/b", {3: THERE}), DigestsEnd(1, serves=3))
    assert sent(quiet.tell(Measured(("team/b",), {}))) == [Resend(1, "team/b", (3,)), Compared(1)]
    assert quiet.status.compared == 1, "what we lack of that space is on its way"
    quiet.got(Resent(1))
    quiet.tell(Measured(("team/*",), {}))
    quiet.got(Compared(4), Digest("team/b", {3: THERE}), DigestsEnd(2, serves=4))
    quiet.tell(Measured(("team/b",), {"team/b": {3: THERE}}))
    assert (quiet.status.compared, quiet.status.differs) == (2, 0)
    pull = idle(PULL_ONLY)
    pull.tell(Compare())
    assert pull.status.compared == 1, "there is nothing to tell"


def test_what_two_looks_found_apart_is_counted_until_a_look_finds_it_equal(quiet: Scene) -> None:
    for end in (1, 2):
        quiet.tell(Compare()) if end == 1 else None
        quiet.tell(Measured(("team/*",), {SPACE: {3: HERE, 4: HERE}}))
        quiet.got(Resend(end, SPACE, (3, 4) if end == 1 else (3,)), Compared(end))
        quiet.tell(Reread(space=SPACE, after=0, entries=(), last_seq=5, done=True))
    assert (quiet.status.compared, quiet.status.differs) == (1, 1), "one of the two was repaired"
    quiet.tell(Compare(), Measured(("team/*",), {SPACE: {3: HERE, 4: HERE}}))
    quiet.got(Compared(3))
    assert (quiet.status.compared, quiet.status.differs) == (2, 0)


def test_a_peer_that_may_have_a_part_only_is_not_said_to_differ() -> None:
    scene = idle(PULL_ONLY)
    for _ in range(2):
        scene.got(Digest(SPACE, {3: HERE}))
        scene.tell(Measured((SPACE,), {SPACE: {3: THERE}}))
    assert scene.status.differs == 0


def test_a_peer_that_is_asked_to_compare_as_well_says_when_it_has(quiet: Scene) -> None:
    asked = sent(quiet.tell(Compare(back=True), Measured(("team/*",), {})))
    assert asked == [DigestsEnd(1, back=True)]
    quiet.got(Compared(1))
    assert quiet.status.compared == 0, "the peer has not compared"
    quiet.got(DigestsEnd(1, serves=1))
    assert quiet.status.compared == 1


def test_who_is_asked_to_compare_does_so_and_who_gives_nothing_says_so_at_once(quiet: Scene) -> None:
    assert quiet.got(DigestsEnd(4, back=True)) == [Measure(("team/*",)), Send(Compared(4))]
    assert sent(quiet.tell(Measured(("team/*",), {}))) == [DigestsEnd(1, serves=4)]
    assert sent(idle(PULL_ONLY).got(DigestsEnd(4, back=True))) == [DigestsEnd(1, serves=4), Compared(4)]
    assert sent(idle(PULL_ONLY).tell(Compare(back=True))) == [DigestsEnd(1, back=True)]


def test_two_sides_that_ask_each_other_at_once_do_not_wait_for_each_other() -> None:
    sides = (idle(), idle())
    waiting = [(at, Compare(back=True)) for at in (0, 1)]
    while waiting:
        at, event = waiting.pop(0)
        for effect in sides[at].tell(event):
            if isinstance(effect, Measure):
                waiting.append((at, Measured(effect.patterns, {SPACE: {1: HERE}})))
            else:
                waiting.append((1 - at, Got(effect.message)))
    assert [side.status.compared for side in sides] == [1, 1]


@pytest.mark.parametrize(
    "lie",
    [
        *(Compared(2), DigestsEnd(1, serves=1), Resent(1)),
        *(Resend(1, "secret", (1,)), Resend(1, SPACE, ()), Resend(1, SPACE, (4096,))),
    ],
    ids=str,
)
def test_an_answer_to_a_comparison_that_was_not_told_is_a_fault(lie: Any, quiet: Scene) -> None:
    quiet.tell(Compare(), Measured(("team/*",), {}))
    assert refused(quiet.got(lie)) == "fault"


def test_a_space_that_is_empty_here_is_asked_for(quiet: Scene) -> None:
    quiet.got(Digest(SPACE, {1: HERE}))
    assert quiet.tell(Measured((SPACE,), {})) == [Send(Resend(1, SPACE, (1,)))]


def test_a_repair_is_taken_in_like_any_batch_and_moves_no_cursor() -> None:
    scene = dialled(scope=7)
    one = batch(0, 1, entry(1), feed=THEIR_REPAIR)
    assert scene.got(one) == [TakeIn(one, THEM, THEIR_LOG, EVERYTHING)]
    assert scene.tell(Took(THEIR_REPAIR, 1)) == [Send(Ack(THEIR_REPAIR, 1))]
    assert [type(effect) for effect in scene.got(batch(7, 8, entry(2)))] == [TakeIn]
    assert scene.status.taken == 7


def test_a_repair_that_is_not_acknowledged_is_said_again_under_its_number(quiet: Scene) -> None:
    quiet.got(Resend(1, SPACE, (1,)))
    reread = Reread(space=SPACE, after=0, entries=(entry(1),), last_seq=5, done=True)
    (first,) = sent(quiet.tell(reread))
    quiet.tell(Tick())
    assert quiet.tell(Tick()) == [Reask(SPACE, (1,), 0)]
    assert quiet.got(Ack(REPAIR, 1)) == []
    assert sent(quiet.tell(reread)) == [first]
    assert quiet.got(Ack(REPAIR, 1)) == [Send(Resent(1))]
    assert quiet.status.caught_up


def test_a_digest_of_a_space_that_is_not_wanted_says_nothing() -> None:
    assert idle().got(Digest("secret", {1: HERE})) == []


@pytest.mark.parametrize("buckets", [{4096: HERE}, {-1: HERE}, {1: "ab"}], ids=str)
def test_a_digest_out_of_bounds_is_a_fault(buckets: dict[int, str]) -> None:
    assert refused(idle().got(Digest(SPACE, buckets))) == "fault"


def test_so_many_digests_may_wait_for_an_answer() -> None:
    scene = idle()
    for number in range(SYNC_DIGEST_SPACES_MAX):
        scene.got(Digest(f"team/{number}", {}))
    assert scene.got(Digest("team/0", {})) == []  # is being measured already
    assert refused(scene.got(Digest("team/more", {}))) == "fault"
    scene = idle()
    for number in range(SYNC_DIGEST_SPACES_MAX):
        scene.got(Resend(number + 1, f"team/{number}", (1,)))
    assert refused(scene.got(Resend(SYNC_DIGEST_SPACES_MAX + 1, "team/more", (1,)))) == "fault"


def test_the_same_events_always_give_the_same_effects() -> None:
    events: list[Any] = [
        opened(DIALER, 1),
        Got(hello()),
        Proved(b"ours"),
        Got(proof()),
        Admitted(),
        page(0, entry(1)),
        Got(batch(0, 1, entry(2))),
        Took(THEIR_FEED, 1),
        Compare(),
        Got(Ack(OUR_FEED, 1)),
        Measured(("team/*",), {"team/b": {2: HERE}, "team/a": {1: HERE}}),
        Tick(),
        Closed(),
    ]
    left, right = Stream(US, EVERYTHING), Stream(US, EVERYTHING)
    assert [left.handle(event) for event in events] == [right.handle(event) for event in events]


def test_of_very_many_spaces_each_comparison_tells_the_next_ones_until_all_were_told() -> None:
    comparison = Comparison("inc/repair")
    comparison.open(("*",))
    spaces = [f"team/{number:05}" for number in range(1_300)]
    told: list[str] = []
    for _ in range(3):
        comparison.ask()
        assert comparison.begin(True) == Measure(("*",))
        digests = comparison.measured(Measured(("*",), {space: {} for space in spaces}))
        assert len(digests) == DIGESTS_TOLD_MAX + 1
        told += [digest.space for digest in digests if isinstance(digest, Digest)]
    assert set(told) == set(spaces)
    assert told[: len(spaces)] == spaces
