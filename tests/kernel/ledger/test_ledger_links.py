"""Links and ratings in the ledger: no revisions, decided in the commit, and seen from both ends as the log says."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from ledger_builders import OTHER_SPACE, SPACE, Home, Pen, all_done, done, read_back
from peer_builders import Node, all_entries, hand_over, taken

from mnemesh_actors.ledger.ledger_actor import Ledger
from mnemesh_actors.ledger.store import link_table
from mnemesh_crdt.changes.envelope import Entry
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.memory_links import wikilinks
from mnemesh_memory.values.model import Link, Memory

NOWHERE = "018f6f0e-7c1a-7000-8000-ffffffffffff"
ALL = ("*",)


def told(ledger: Ledger, memory: Memory, within: tuple[str, ...] = ALL) -> list[tuple[str, str, str, str]]:
    """Both ends of a memory's links: type, direction, what is at the other end, and its state."""
    ends, more = ledger.linked([memory.id], within)[memory.id]
    assert more == 0
    return [(end.type, end.direction, end.title or end.id, end.state) for end in ends]


def counted(memory: Memory) -> tuple[int, int]:
    return memory.useful, memory.not_useful


def two(ledger: Ledger, pen: Pen) -> tuple[Memory, Memory]:
    a, b = all_done(ledger, pen.create("the build hangs", title="A"), pen.create("raise the limit", title="B"))
    return a.memory, b.memory


def table(home: Home) -> list[tuple[str, str, str]]:
    return home.sql("SELECT source, type, target FROM link ORDER BY 1, 2, 3")


# ---- links ----------------------------------------------------------------------------------------------------------


def test_a_link_is_seen_from_both_ends_and_is_no_revision(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    linked = done(ledger, pen.link(a, "resolved-by", b))
    assert (linked.action, linked.memory.links) == ("LINK", (Link("resolved-by", b.id),))
    assert (linked.memory.heads, linked.memory.updated_at) == (a.heads, a.updated_at)
    assert told(ledger, a) == [("resolved-by", "out", "B", "active")]
    assert told(ledger, b) == [("resolved-by", "in", "A", "active")]
    assert done(ledger, pen.link(a, "resolved-by", b)).action == "NOOP"
    gone = done(ledger, pen.unlink(a, "resolved-by", b))
    assert (gone.action, gone.memory.links) == ("UNLINK", ())
    assert (told(ledger, a), told(ledger, b)) == ([], [])
    assert done(ledger, pen.unlink(a, "resolved-by", b)).action == "NOOP"


def test_an_operation_that_arrives_twice_links_once(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    link, unlink = pen.link(a, "see-also", b), pen.unlink(a, "see-also", b)
    for command, action in ((link, "LINK"), (unlink, "UNLINK"), (pen.rate(a, True), "RATE")):
        assert done(ledger, command).action == action
        again = done(ledger, command)
        assert (again.action, again.replayed) == (action, True)


def test_nothing_is_linked_to_itself_to_nothing_or_to_what_is_forgotten(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    with pytest.raises(InvalidArgument, match="another memory"):
        done(ledger, pen.link(a, "see-also", a))
    with pytest.raises(NotFound):
        done(ledger, pen.link(a, "see-also", NOWHERE))
    done(ledger, pen.forget(b))
    for command in (pen.link(a, "see-also", b), pen.link(b, "see-also", a), pen.rate(b, True)):
        with pytest.raises(FailedPrecondition, match="`restore` it first"):
            done(ledger, command)
    assert read_back(ledger, a).links == ()


def test_nothing_becomes_part_of_its_own_part_here_and_a_circle_that_merged_in_ends(home: Home, pen: Pen) -> None:
    with home.opened() as here, Home.for_one_example() as far, far.opened() as there:
        made = all_done(here, *(pen.create(f"step {n}", title=f"S{n}") for n in range(3)))
        one, other, third = (each.memory for each in made)
        hand_over(here, there, home)
        done(here, pen.link(one, "part-of", other))
        done(here, pen.link(other, "part-of", third))
        with pytest.raises(FailedPrecondition, match="its own part"):
            done(here, pen.link(third, "part-of", one))
        done(there, Pen(agent="owner/other", now=pen.now).link(third, "part-of", one))
        hand_over(there, here, far)
        assert told(here, one) == [("part-of", "out", "S1", "active"), ("part-of", "in", "S2", "active")]
        with pytest.raises(FailedPrecondition, match="its own part"):
            done(here, pen.link(one, "part-of", third))


def test_a_link_to_a_memory_forgotten_replaced_or_erased_since_is_shown_as_it_is(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    done(ledger, pen.link(a, "see-also", b))
    done(ledger, pen.forget(b))
    (end,) = ledger.linked([a.id], ALL)[a.id][0]
    assert (end.id, end.state, end.title, end.snippet) == (b.id, "forgotten", "", "")
    done(ledger, pen.restore(b))
    done(ledger, pen.create("raise it more", supersedes=(b.id,)))
    assert told(ledger, a) == [("see-also", "out", "B", "superseded")]
    ledger.erase(pen.erase(b.id, as_admin=True))
    assert told(ledger, a) == [("see-also", "out", b.id, "missing")]
    assert done(ledger, pen.unlink(a, "see-also", b)).action == "UNLINK"


def test_a_replacement_is_told_once_from_either_side(ledger: Ledger, pen: Pen) -> None:
    old, other = two(ledger, pen)
    new = done(ledger, pen.create("the new one", supersedes=(old.id,))).memory
    assert [(type_, way) for type_, way, _, _ in told(ledger, old)] == [("superseded-by", "out")]
    assert [(type_, way) for type_, way, _, _ in told(ledger, new)] == [("supersedes", "out")]
    done(ledger, pen.link(other, "see-also", new))
    assert [(type_, way) for type_, way, _, _ in told(ledger, new)] == [("supersedes", "out"), ("see-also", "in")]


def test_an_erased_memory_leaves_its_id_in_the_links_of_others_and_nothing_else(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        a, _ = two(ledger, pen)
        secret = done(ledger, pen.create("Hieronymus says [[A]]", title="Middle name")).memory
        done(ledger, pen.link(secret, "supports", a))
        done(ledger, pen.link(a, "see-also", secret))
        ledger.erase(pen.erase(secret.id, as_admin=True))
        assert told(ledger, a) == [("see-also", "out", secret.id, "missing")]
    assert table(home) == [(a.id, "see-also", secret.id)]
    assert b"Hieronymus" not in home.file.read_bytes()
    assert b"Middle name" not in home.file.read_bytes()


def test_a_forgotten_memory_leads_nowhere_until_it_is_restored(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    done(ledger, pen.link(a, "supports", b))
    done(ledger, pen.forget(a))
    assert told(ledger, b) == []
    done(ledger, pen.restore(a))
    assert told(ledger, b) == [("supports", "in", "A", "active")]


def test_a_link_to_a_space_that_is_not_granted_is_not_there_at_either_end(ledger: Ledger, pen: Pen) -> None:
    a, _ = two(ledger, pen)
    far = done(ledger, pen.create("payroll", title="P", space=OTHER_SPACE)).memory
    done(ledger, pen.link(a, "see-also", far))
    assert told(ledger, far) == [("see-also", "in", "A", "active")]
    assert told(ledger, a, (SPACE,)) == []
    assert told(ledger, far, (OTHER_SPACE,)) == []
    assert ledger.hidden([a.id, far.id, NOWHERE], (SPACE,)) == [far.id]


def test_a_memory_takes_bounded_links_and_changes(ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two(ledger, pen)
    monkeypatch.setattr(limits, "LINKS_MAX", 1)
    done(ledger, pen.link(a, "see-also", b))
    with pytest.raises(FailedPrecondition, match="unlink one first"):
        done(ledger, pen.link(a, "supports", b))
    monkeypatch.setattr(limits, "CHANGES_MAX", 3)
    done(ledger, pen.unlink(a, "see-also", b))
    for command in (pen.link(a, "see-also", b), pen.rate(a, True)):
        with pytest.raises(FailedPrecondition, match="3 changes"):
            done(ledger, command)


def test_of_many_that_lead_to_one_the_first_are_shown_and_the_others_counted(
    ledger: Ledger, pen: Pen, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, _ = two(ledger, pen)
    made = all_done(ledger, *(pen.create(f"spoke {n}", title=f"S{n}") for n in range(5)))
    all_done(ledger, *(pen.link(one.memory, "part-of", hub) for one in made))
    monkeypatch.setattr(limits, "LINKED_MAX", 2)
    ends, more = ledger.linked([hub.id], ALL)[hub.id]
    assert ([end.title for end in ends], more) == (["S0", "S1"], 3)


# ---- what a text names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("see [[The plan]] and [[The plan]]", ("The plan",)),
        ("[[a|shown]] [[b#part]] [[c#part|shown]]", ("a", "b", "c")),
        ("if [[ -n $x ]]; then", ()),
        ("[[]] [[ ]] [[a\nb]] [[[nested]]] [x]", ("nested",)),
        ("[[" + "x" * 200 + "]] [[" + "y" * 201 + "]]", ("x" * 200,)),
        ("".join(f"[[{n}]]" for n in range(limits.LINKS_MAX + 1)), tuple(map(str, range(limits.LINKS_MAX)))),
    ],
)
def test_titles_in_double_brackets(text: str, titles: tuple[str, ...]) -> None:
    assert wikilinks(text) == titles


def test_a_title_leads_to_who_bears_it_when_it_is_read_and_writes_nothing(home: Home, ledger: Ledger, pen: Pen) -> None:
    first = done(ledger, pen.create("as said in [[The plan]]", title="First")).memory
    assert told(ledger, first) == [("wikilink", "out", "The plan", "missing")]
    entries = home.entries()
    done(ledger, pen.create("elsewhere", title="The plan", space=OTHER_SPACE))
    assert told(ledger, first) == [("wikilink", "out", "The plan", "missing")]
    plan = done(ledger, pen.create("we go on Friday", title="The plan")).memory
    assert told(ledger, first) == [("wikilink", "out", "The plan", "active")]
    assert told(ledger, plan) == [("wikilink", "in", "First", "active")]
    done(ledger, pen.create("another one", title="The plan"))
    assert told(ledger, first) == [("wikilink", "out", "The plan", "ambiguous")]
    assert told(ledger, plan) == []
    done(ledger, pen.revise(first, content="as said nowhere"))
    assert told(ledger, first) == []
    assert (home.entries(), read_back(ledger, first).links) == (entries + 4, ())


# ---- ratings --------------------------------------------------------------------------------------------------------


def test_a_writer_has_one_vote_and_may_change_it(ledger: Ledger, pen: Pen) -> None:
    a, _ = two(ledger, pen)
    actions = [
        (done(ledger, command).action, counted(read_back(ledger, a)))
        for command in (
            pen.rate(a, True),
            pen.rate(a, True),
            Pen(agent="bob/x", count=9).rate(a, True),
            pen.rate(a, False),
            pen.rate(a, True, cited=True),
            Pen(agent="ana/x", count=99).rate(a, True, cited=True),
        )
    ]
    assert actions == [
        ("RATE", (1, 0)), ("NOOP", (1, 0)), ("RATE", (2, 0)), ("RATE", (1, 1)), ("NOOP", (1, 1)), ("RATE", (2, 1)),
    ]  # fmt: skip
    assert read_back(ledger, a).heads == a.heads


# ---- what other nodes bring -----------------------------------------------------------------------------------------


def test_what_another_node_links_and_rates_is_seen_here(ledger: Ledger, pen: Pen) -> None:
    node = Node()
    a, b = two(ledger, pen)
    node.knows(*all_entries(ledger))
    taken(ledger, node, links(node, a, Link("depends-on", b.id)), votes(node, a, True))
    assert told(ledger, b) == [("depends-on", "in", "A", "active")]
    assert counted(read_back(ledger, a)) == (1, 0)
    taken(ledger, node, links(node, a, gone=Link("depends-on", b.id)), votes(node, a, False))
    assert (told(ledger, b), counted(read_back(ledger, a))) == ([], (0, 1))
    taken(ledger, node, node.erases(a.id))
    assert table_of(ledger) == []


def links(node: Node, memory: Memory, *put: Link, gone: Link | None = None) -> Entry:
    node.now += 1
    return node.edits(Edit(links_put=put, links_remove=(gone,) if gone else (), at=node.now), memory.id)


def votes(node: Node, memory: Memory, useful: bool) -> Entry:
    return node.edits(Edit(vote=(f"{node.agent}@{node.id}", useful), at=node.now), memory.id)


def table_of(ledger: Ledger) -> list[Any]:
    return ledger._db.execute("SELECT source, type, target FROM link").fetchall()


# ---- the table follows from the log ---------------------------------------------------------------------------------


def test_the_table_is_the_same_when_the_view_is_made_anew(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        a, b = two(ledger, pen)
        c = done(ledger, pen.create("see [[A]]", links=(Link("see-also", NOWHERE),))).memory
        done(ledger, pen.link(a, "depends-on", b))
        done(ledger, pen.link(a, "supports", b))
        done(ledger, pen.unlink(a, "supports", b))
        done(ledger, pen.rate(a, True))
        before = read_back(ledger, a)
    rows = table(home)
    assert rows == sorted([(a.id, "depends-on", b.id), (c.id, "see-also", NOWHERE), (c.id, "wikilink", "A")])
    with home.looked_into() as db:
        db.execute("DELETE FROM link")
        db.execute("INSERT INTO link VALUES ('x', 'see-also', 'y')")
    with home.opened() as ledger:
        ledger.rebuild_view()
        assert read_back(ledger, before) == before
    assert table(home) == rows


def test_a_ledger_of_before_links_had_a_table_gets_it_filled(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        a, b = two(ledger, pen)
        linked = done(ledger, pen.create("see [[A]]", links=(Link("see-also", b.id),))).memory
    home.rewrite_in_format(7)
    with home.opened() as ledger:
        assert told(ledger, b) == [("see-also", "in", "see [[A]]", "active")]
        assert told(ledger, a) == [("wikilink", "in", "see [[A]]", "active")]
        assert read_back(ledger, linked) == linked


def test_what_recall_follows_is_found_by_two_indexes(ledger: Ledger, pen: Pen) -> None:
    a, b = two(ledger, pen)
    c = done(ledger, pen.create("the build does not hang")).memory
    all_done(ledger, pen.link(a, "resolved-by", b), pen.link(c, "contradicts", a), pen.link(a, "see-also", c))
    assert sorted(ledger.ties([a.id])) == [(a.id, "contradicts", "in", c.id), (a.id, "resolved-by", "out", b.id)]
    assert ledger.ties([b.id]) == []
    plan = " ".join(row[3] for row in ledger._db.execute(*asked(link_table.ties, [a.id])))
    assert "SCAN link" not in plan
    assert plan.count("SEARCH link USING") == 2


def asked(question: Any, *values: Any) -> tuple[str, Any]:
    """The plan of the statement that a question puts."""

    class Ear:
        def execute(self, sql: str, given: Any) -> Any:
            self.heard = ("EXPLAIN QUERY PLAN " + sql, given)
            return sqlite3.connect(":memory:").execute("SELECT 1 WHERE 0")

    ear = Ear()
    question(ear, *values)
    return ear.heard
