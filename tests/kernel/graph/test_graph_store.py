"""The file of the graph: what a caller may not read has no influence, what is erased leaves no byte, ends are ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_memories import plain_memory

from mnemesh_actors.knowledge.communities import require_library
from mnemesh_actors.knowledge.graph_store import GraphStore
from mnemesh_memory.graph.answers import DEAD_LINK, HUB, HUB_MEMORIES_MIN, ORPHAN, UNRESOLVED
from mnemesh_memory.values.errors import FailedPrecondition
from mnemesh_memory.values.model import Link, Memory, Source

EVERYWHERE = ("**",)
DAY_MS = 86_400_000


def memory(number: int, content: str, space: str = "team", **fields: Any) -> Memory:
    return plain_memory(f"m{number:04d}", content, number * DAY_MS, space=space, **fields)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    made = GraphStore(str(tmp_path / "derived" / "graph.sqlite"))
    made.reset()
    yield made
    made.close()


def relations(store: GraphStore, name: str, at: int | None = None, now: int = 10**13) -> list[tuple[str, int | None]]:
    answer = store.entity(name, EVERYWHERE, 50, now, at)
    return [] if answer is None else [(one.object, one.valid_to) for one in answer.relations]


NAMES = st.sampled_from(["Billing", "Gateway", "Redis", "Postgres", "Console", "Dana"])
VERBS = st.sampled_from(["uses", "depends on", "talks to", "is part of", "replaced"])
STATED = st.tuples(NAMES, VERBS, NAMES, st.sampled_from(["team", "team/secret", "@ana"]))


@settings(max_examples=40, deadline=None)
@given(st.lists(STATED, min_size=1, max_size=14), st.sampled_from(["Billing", "Redis", "Dana"]))
def test_memories_that_a_caller_may_not_read_have_no_influence(
    stated: list[tuple[str, str, str, str]], name: str
) -> None:
    memories = [
        memory(number, f"The {subject} {verb} {object_}.", space)
        for number, (subject, verb, object_, space) in enumerate(stated)
    ]
    with TemporaryDirectory() as folder:
        whole, part = GraphStore(f"{folder}/whole.sqlite"), GraphStore(f"{folder}/part.sqlite")
        for store, held in ((whole, memories), (part, [one for one in memories if one.space == "team"])):
            store.reset()
            store.take(held, {}, [], False)
        assert whole.entity(name, ("team",), 50, 10**13, None) == part.entity(name, ("team",), 50, 10**13, None)
        assert whole.alike(name, ("team",)) == part.alike(name, ("team",))
        assert whole.audit(("team",), 50) == part.audit(("team",), 50)
        for store in (whole, part):
            store.close()


def test_a_name_is_spelt_as_the_readable_memories_spell_it(store: GraphStore) -> None:
    store.take([memory(number, "We use `ReDiS`.", "hidden") for number in range(3)], {}, [], False)
    store.take([memory(9, "Billing uses Redis.")], {}, [], False)
    answer = store.entity("REDIS", ("team",), 5, 10**13, None)
    assert answer is not None
    assert (answer.name, answer.memories) == ("Redis", ("m0009",))
    assert store.entity("redis", ("elsewhere",), 5, 10**13, None) is None


def test_the_statement_of_a_replaced_memory_ends_and_another_moment_shows_what_held(store: GraphStore) -> None:
    first = memory(1, "Billing uses Oracle.", state="superseded", superseded_by="m0002")
    store.take([first, memory(2, "Billing uses Postgres.")], {"m0001": 2 * DAY_MS}, [], False)
    assert relations(store, "Billing") == [("Postgres", None), ("Oracle", 2 * DAY_MS)]
    assert relations(store, "Billing", at=DAY_MS) == [("Oracle", 2 * DAY_MS)]
    assert relations(store, "Billing", at=3 * DAY_MS) == [("Postgres", None)]
    assert store.ended_by(["m0002"]) == ["m0001"]


def test_nearness_at_a_moment_is_that_of_what_held_then(store: GraphStore) -> None:
    store.take(
        [
            memory(1, "Billing uses Oracle.", valid_to=4 * DAY_MS),
            memory(3, "Oracle runs on the old cluster."),
            memory(5, "Billing uses Postgres."),
        ],
        {},
        [],
        False,
    )

    def near(at: int | None) -> tuple[set[str], set[str]]:
        answer = store.entity("Billing", EVERYWHERE, 50, 10**13, at)
        assert answer is not None
        return {one.name for one in answer.entities}, set(answer.memories)

    assert near(2 * DAY_MS) == ({"Oracle"}, {"m0001"})
    assert near(3 * DAY_MS) == ({"Oracle", "old cluster"}, {"m0001", "m0003"})
    assert near(None) == ({"Postgres"}, {"m0005"})
    assert store.memory("m0005", EVERYWHERE, 50, 10**13, 2 * DAY_MS).memories == ()


def test_the_file_that_an_import_read_is_no_entity(store: GraphStore) -> None:
    imported = memory(1, "Lea owns billing.", paths=("mem0.json",), source=Source(session="import:mem0.json"))
    store.take([imported, memory(2, "Lea likes tea.", paths=("tea.md",))], {}, [], False)
    assert store.entity("mem0.json", EVERYWHERE, 5, 10**13, None) is None
    assert store.entity("tea.md", EVERYWHERE, 5, 10**13, None) is not None


def test_the_first_graph_of_a_node_was_not_made_anew(store: GraphStore, tmp_path: Path) -> None:
    assert (store.made(), store.audit(EVERYWHERE, 5).made) == ("", "")
    store.reset()
    assert store.audit(EVERYWHERE, 5).made


def test_a_statement_of_several_memories_holds_as_long_as_one_of_them(store: GraphStore) -> None:
    store.take(
        [memory(1, "Billing uses Redis.", valid_to=5 * DAY_MS), memory(2, "The billing uses Redis.")], {}, [], False
    )
    answer = store.entity("billing", EVERYWHERE, 5, 10**13, None)
    assert answer is not None
    (relation,) = answer.relations
    assert (relation.memories, relation.valid_from, relation.valid_to) == (("m0002", "m0001"), DAY_MS, None)


def test_no_byte_of_an_erased_memory_is_left_and_its_names_are_gone(store: GraphStore, tmp_path: Path) -> None:
    kept = memory(2, "Billing uses Redis.")
    store.take(
        [memory(1, "Zanzibarflow depends on Quetzalbase. See [[Okapiplan]].", title="Narwhalnote"), kept], {}, [], False
    )
    store.take([], {}, ["m0001"], True)
    for file in (tmp_path / "derived").iterdir():
        for word in (b"anzibar", b"uetzal", b"kapiplan", b"arwhal", b"m0001"):
            assert word not in file.read_bytes(), (file.name, word)
    assert store.entity("Quetzalbase", EVERYWHERE, 5, 10**13, None) is None
    assert relations(store, "billing") == [("Redis", None)]


def test_a_changed_memory_says_only_what_it_says_now(store: GraphStore) -> None:
    store.take([memory(1, "Billing uses Redis.")], {}, [], False)
    store.take([memory(1, "Billing uses Valkey.")], {}, [], False)
    assert relations(store, "billing") == [("Valkey", None)]
    assert store.entity("Redis", EVERYWHERE, 5, 10**13, None) is None


def test_one_hostile_memory_does_not_come_before_what_many_say(store: GraphStore) -> None:
    honest = [memory(number, "The checkout page depends on the tax service.") for number in range(5)]
    hostile = "\n".join(f"Blackbird caused outage{number}." for number in range(300))
    store.take([*honest, memory(9, f"{hostile}\nThe checkout page depends on Blackbird.")], {}, [], False)
    answer = store.entity("checkout page", EVERYWHERE, 5, 10**13, None)
    assert answer is not None
    assert answer.relations[0].object == "tax service"
    assert answer.entities[0].name == "tax service"


def test_an_audit_finds_orphans_dead_links_hubs_and_titles_that_lead_nowhere(store: GraphStore) -> None:
    memories = [memory(number, f"Service{number} uses Hubbase.") for number in range(HUB_MEMORIES_MIN)]
    memories.append(
        memory(50, "Nothing else is like this.", links=(Link("see-also", "m9999"), Link("see-also", "m0001")))
    )
    memories.append(memory(52, "Loner uses Lonelybase."))
    memories.append(memory(51, "See [[The plan]] and [[The map]].", title="The plan"))
    store.take(memories, {}, [], False)
    audit = store.audit(EVERYWHERE, 50)
    found = {type_: [one.name for one in audit.findings if one.type == type_] for type_ in audit.counts}
    assert found == {ORPHAN: ["m0051", "m0050"], DEAD_LINK: ["m9999"], HUB: ["Hubbase"], UNRESOLVED: ["the map"]}
    assert audit.memories == len(memories)


def test_empty_spaces_one_memory_and_ten_thousand_like_it(store: GraphStore) -> None:
    assert store.entity("Billing", EVERYWHERE, 5, 0, None) is None
    assert store.audit(EVERYWHERE, 5).memories == 0
    for start in range(0, 10_000, 1000):
        store.take([memory(number, "Billing uses Redis.") for number in range(start, start + 1000)], {}, [], False)
    answer = store.entity("Billing", EVERYWHERE, 5, 10**13, None)
    assert answer is not None
    assert [(one.object, one.memories[0]) for one in answer.relations] == [("Redis", "m9999")]
    assert len(answer.memories) == 5


def test_circles_end(store: GraphStore) -> None:
    store.take(
        [memory(1, "Alpha depends on Beta."), memory(2, "Beta depends on Alpha."), memory(3, "Alpha uses Alpha.")],
        {},
        [],
        False,
    )
    assert {object_ for object_, _ in relations(store, "Alpha")} == {"Beta", "Alpha"}


def test_a_question_is_near_the_memories_around_the_names_in_it(store: GraphStore) -> None:
    store.take(
        [
            memory(1, "The tax service depends on Redis."),
            memory(2, "Redis runs on the old cluster."),
            memory(3, "Dana owns the wiki."),
            memory(4, "The tax service uses Postgres.", "hidden"),
        ],
        {},
        [],
        False,
    )
    near = store.nearness("Who knows the tax service?", ["m0001", "m0002", "m0003", "m0004"], ("team",), 10**13)
    assert near["m0001"] == 1.0
    assert 0 < near["m0002"] < 1.0
    assert near.keys() == {"m0001", "m0002"}
    assert store.nearness("Where is lunch?", ["m0001"], ("team",), 10**13) == {}


def test_a_linked_memory_is_near_and_one_of_a_hidden_space_is_not(store: GraphStore) -> None:
    links = (Link("see-also", "m0002"), Link("see-also", "m0003"))
    store.take(
        [memory(1, "Billing uses Redis.", links=links), memory(2, "Nothing shared."), memory(3, "Nor here.", "hidden")],
        {},
        [],
        False,
    )
    assert store.memory("m0001", ("team",), 5, 10**13, None).memories == ("m0002",)
    assert set(store.memory("m0001", EVERYWHERE, 5, 10**13, None).memories) == {"m0002", "m0003"}


def test_a_community_holds_what_belongs_together_and_keeps_its_id(store: GraphStore) -> None:
    harbour = ("Crane", "Winch", "Pilot", "Tugboat")
    kitchen = ("Oven", "Grinder", "Toaster", "Freezer")
    pairs = [pair for room in (harbour, kitchen) for pair in combinations(room, 2)] + [("Crane", "Oven")]
    texts = [f"The {one} service uses the {other} service." for one, other in pairs]
    store.take([memory(number, text) for number, text in enumerate(texts)], {}, [], False)
    first = store.community("Winch service", EVERYWHERE, 10**13)
    assert first is not None
    assert {name.split()[0] for name in first.entities} == set(harbour)
    assert first.memories_total in (6, 7), "the one between both may lie in either"
    assert store.community("Pilot service", EVERYWHERE, 10**13) == first
    store.take([memory(99, "The Toaster service is part of the Oven service.")], {}, [], False)
    later = store.community("Pilot service", EVERYWHERE, 10**13)
    assert later is not None
    assert later.id == first.id
    assert store.community("Winch service", ("elsewhere",), 10**13) is None


def test_without_its_library_a_community_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FailedPrecondition, match="pip install 'mnemesh\\[sleep\\]'"):
        require_library()
