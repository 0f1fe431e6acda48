"""The reasons for an empty recall, and the filters by path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from plain_memories import plain_memory

from mnemesh_memory.policy.emptiness import contradictions, left_out, leftovers, steps, without_words
from mnemesh_memory.policy.rules.stored_rules import rules_of
from mnemesh_memory.times.window import Window
from mnemesh_memory.validation.filters import in_place
from mnemesh_memory.values.model import Memory, Query

DAY = 86_400_000
SECOND = "1970-01-02T00:00:00Z"


def asked(**fields: Any) -> Query:
    return Query(text="anything", spaces=("team/x",), **fields)


def memory(kind: str = "note", **fields: Any) -> Memory:
    return plain_memory(**{"space": "team/x", "kind": kind, **fields})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ()),
        ({"since": 0, "before": DAY}, ()),
        ({"since": DAY, "before": DAY}, (f"before: {SECOND} is not after since, which is {SECOND}",)),
        ({"since": DAY, "as_of": 0}, (f"since: {SECOND} is after as_of, which is 1970-01-01T00:00:00Z",)),
        ({"tags_all": ("a", "b"), "tags_none": ("b",)}, ("tags_none: 'b' stands in tags_all, too",)),
        ({"tags_any": ("a",), "tags_none": ("a", "b")}, ("tags_none: holds every tag of tags_any, 'a'",)),
        ({"tags_any": ("a", "c"), "tags_none": ("a", "b")}, ()),
    ],
)  # fmt: skip
def test_filters_that_no_memory_can_pass_at_once_are_named(fields: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert contradictions(asked(**fields)) == expected


def test_every_filter_is_counted_alone_before_all_of_them_together() -> None:
    query = asked(kinds=("decision",), tags_all=("a", "b"), since=DAY, agent="ana/x")
    counted = [(reason.split(":")[0], listing) for reason, listing in steps(query)]
    assert [name for name, _ in counted] == [
        "spaces", "spaces", "since", "agent", "kinds", "tags_all", "tags_all", "since and agent and kinds and tags_all",
    ]  # fmt: skip
    together = counted[-1][1]
    assert (together.kinds, together.tags_all, together.since, together.agent) == (
        query.kinds, query.tags_all, query.since, query.agent,
    )  # fmt: skip
    assert all(listing.limit == 1 and listing.spaces == ("team/x",) for _, listing in counted)
    assert [listing.state for _, listing in counted] == ["all", *["active"] * 7]
    (_, alone) = counted[4]
    assert (alone.kinds, alone.tags_all, alone.since) == (("decision",), (), None)


@pytest.mark.parametrize(
    ("agent", "said"), [("codex", "'codex' (whole, as in owner/claude-code)"), ("ana/x", "'ana/x'")]
)
def test_a_writer_who_wrote_nothing_may_have_been_named_by_half(agent: str, said: str) -> None:
    assert f"agent: {said} has written nothing in the space 'team/x'" in dict(steps(asked(agent=agent)))


def test_of_the_past_only_times_and_writers_are_counted() -> None:
    query = asked(as_of=DAY, before=2 * DAY, kinds=("fact",), tags_any=("a",))
    listings = dict(steps(query))
    assert [listing.before for listing in listings.values()] == [None, DAY + 1, 2 * DAY, DAY + 1]
    assert not any(listing.kinds or listing.tags_any for listing in listings.values())


def test_what_only_a_match_is_judged_by_comes_last() -> None:
    assert leftovers(asked()) == ()
    assert leftovers(asked(min_score=0.9, paths=("src",))) == ("paths and min_score: each match is left out",)
    assert [note.split(":")[0] for note in leftovers(asked(mode="keyword"))] == ["mode"]


def test_what_held_is_counted_now_and_of_the_past_judged_with_the_matches() -> None:
    counted = list(steps(asked(valid_at=DAY)))
    assert counted[-1][0] == f"valid_at: nothing held at {SECOND} in the space 'team/x'"
    assert (counted[-1][1].valid_at, counted[-1][1].state) == (DAY, "active")
    assert not any("superseded" in reason for reason, _ in counted), "what was superseded since is not left out"
    listings = dict(steps(asked(valid_at=DAY, kinds=("decision",))))
    alone = listings["kinds: there is no 'decision' in the space 'team/x'"]
    assert (alone.state, alone.valid_at) == ("all", None), "one that was superseded since is one"
    together = listings["valid_at and kinds: nothing in the space 'team/x' passes all of them"]
    assert (together.state, together.valid_at, together.kinds) == ("active", DAY, ("decision",))
    counted = list(steps(asked(valid_at=DAY, include_superseded=True)))
    assert counted[-1][0] == f"valid_at: nothing held at {SECOND} in the space 'team/x'"
    assert not any(listing.valid_at for _, listing in steps(asked(valid_at=DAY, as_of=DAY)))
    assert leftovers(asked(valid_at=DAY, as_of=DAY)) == ("valid_at: each match is left out",)


def test_a_stretch_of_time_is_a_filter_of_its_own_and_named_with_its_words() -> None:
    query = asked(window=Window(0, DAY, only=True), kinds=("fact",))
    reasons = list(steps(query, '"in 1970" read as 1970 (UTC)'))
    assert [reason for reason, _ in reasons[3:]] == [
        "time_words: nothing lies in \"in 1970\" read as 1970 (UTC) in the space 'team/x'",
        "kinds and time_words: nothing in the space 'team/x' passes all of them",
    ]
    assert [listing.window for _, listing in reasons] == [None, None, None, query.window, query.window]
    assert leftovers(query, '"in 1970" read as 1970 (UTC)') == (
        'time_words: nothing that matches lies in "in 1970" read as 1970 (UTC)',
    )


def test_the_rules_that_hide_what_matches_are_named_as_the_settings_write_them() -> None:
    rules = rules_of("kind=run hide; tag=draft hide; kind=fact hide; tag=draft +0.3")
    assert left_out(asked(), [memory(kind="run"), memory(tags=("draft",))], rules) == (
        "recall_rules: this node hides the matches by kind=run hide; tag=draft hide; name that kind or tag to see them",
    )
    assert left_out(asked(kinds=("run",)), [memory(kind="run")], rules) == ()
    assert left_out(asked(), [memory(), memory(kind="run", tier="archive")], rules)[1:] == (
        "include_archive: the matches are in the archive tier, which needs include_archive",
    )
    assert left_out(asked(include_archive=True), [memory(tier="archive")], ()) == ()
    assert left_out(asked(), [memory()], ()) == ()


def test_a_query_of_words_that_do_not_count_says_so() -> None:
    assert without_words(replace(asked(), text="what is it")).startswith("query: 'what is it' has only stop words, ")
    assert without_words(replace(asked(), text="?!")).startswith("query: '?!' has no word; ")


# ---- filters ---------------------------------------------------------------------------------------------------------
# Filters of place: paths and globs on either side, and the folder that a memory was written from.


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/auth/tokens.py", "src/auth/tokens.py"), ("src/auth/tokens.py", "src"), ("src/auth/tokens.py", "src/"),
        ("src/auth/tokens.py", "src/*.py"), ("src/*.py", "src/auth/tokens.py"), ("infra/**/*.tf", "infra/x.tf"),
        ("infra/**/*.tf", "infra/a/x.tf"), ("infra/**/*.tf", "infra/a/b/x.tf"), ("x.tf", "**/*.tf"),
        ("a/x.tf", "**/*.tf"), ("a/b/x/c", "a/**/b/**/c"), ("a/c", "a/**/c"), ("a/**/b/c", "a/x/b/c"),
    ],
)  # fmt: skip
def test_a_path_and_a_glob_concern_each_other_whichever_of_them_is_asked_for(path: str, wanted: str) -> None:
    assert in_place(Query(text="x", paths=(wanted,)), [path], "")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/auth/tokens.py", "src/auth/token"), ("src/auth.py", "src/a"), ("infra/**/*.tf", "infra.tf"),
        ("infra/**/*.tf", "infra/x.py"), ("a/**/b/c", "a/x/c"), ("a/xb/c", "a/**/b/**/c"), ("SRC/x.py", "src/*.py"),
    ],
)  # fmt: skip
def test_other_paths_do_not(path: str, wanted: str) -> None:
    assert not in_place(Query(text="x", paths=(wanted,)), [path], "")


def test_many_wildcards_take_no_time() -> None:
    assert not in_place(Query(text="x", paths=("**/a/" * 100 + "b",)), ["a/" * 250 + "c"], "")


def test_a_folder_holds_what_lies_below_it_and_nothing_that_begins_alike() -> None:
    assert in_place(Query(text="x", source_dir="/home/ana/app"), [], "/home/ana/app/src")
    assert not in_place(Query(text="x", source_dir="/home/ana/app"), [], "/home/ana/apple")
