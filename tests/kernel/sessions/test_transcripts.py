"""Transcripts on disk and questions to them: found by their words, kept apart, bounded, and gone when erased."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_transcripts import START_MS, Direct, operations

from mnemesh_actors.transcripts import transcript_file, transcript_store
from mnemesh_actors.transcripts.transcript_operations import Transcribing
from mnemesh_actors.transcripts.transcript_store import TranscriptStore
from mnemesh_memory.transcripts.sessions import (
    Added,
    SessionQuery,
    TranscriptDraft,
    TranscriptQuery,
    TranscriptStatus,
    TurnDraft,
)
from mnemesh_memory.transcripts.turn_ranking import Scored, asked, ranked, words
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    SecretRefused,
)
from mnemesh_memory.values.model import Caller

OWNER = Caller(agent="owner/cli", principal="owner")
ANA = Caller(agent="ana/editor", principal="ana", role="writer", spaces=("team/*",), default_space="team/app")
BOB = Caller(agent="bob", principal="bob", role="writer", spaces=("team/*",))
ADMIN = Caller(agent="eva", principal="eva", role="admin", spaces=("team/*",))
SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcripts" / "0.sqlite"


@pytest.fixture
def held(path: Path) -> Transcribing:
    return operations(path)


def draft(session: str, *texts: str, **fields: Any) -> TranscriptDraft:
    turns = tuple(
        TurnDraft(id=f"{session}-{n}", role="user", text=text, at=START_MS + n) for n, text in enumerate(texts)
    )
    return TranscriptDraft(session=session, turns=turns, **fields)


async def found(held: Transcribing, caller: Caller, text: str, **fields: Any) -> list[tuple[str, int]]:
    hits, _ = await held.search(caller, TranscriptQuery(text=text, **fields))
    return [(hit.turn.session, hit.turn.position) for hit in hits]


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()))


# ---- adding ---------------------------------------------------------------------------------------------------------


async def test_a_session_that_grows_is_added_to_and_turns_that_are_there_are_left(held: Transcribing) -> None:
    assert await held.add(OWNER, draft("s", "one", "two")) == Added(
        session="s", space="@owner", stored=2, known=0, turns=2
    )
    again = await held.add(OWNER, draft("s", "one", "TWO", "three", title="Counting", dir="/w"))
    assert (again.stored, again.known, again.turns) == (1, 2, 3)
    session, turns = await held.read(OWNER, "s")
    assert [(one.position, one.text) for one in turns] == [(1, "one"), (2, "two"), (3, "three")]
    assert (session.title, session.dir, session.by, session.bytes) == ("Counting", "/w", "owner/cli", 11)
    assert (session.started_at, session.ended_at) == (START_MS, START_MS + 2)


async def test_turns_go_to_the_private_space_unless_another_is_named(held: Transcribing) -> None:
    assert (await held.add(ANA, draft("s", "one"))).space == "@ana"
    assert (await held.add(ANA, draft("s", "one", space="team/app"))).space == "team/app"
    with pytest.raises(PermissionDenied, match="ops"):
        await held.add(ANA, draft("s", "one", space="ops"))


async def test_a_credential_is_masked_said_and_nowhere_on_disk(held: Transcribing, path: Path) -> None:
    added = await held.add(OWNER, draft("s", "fine", f"export GH={SECRET}\nthen push", title=f"use {SECRET}"))
    assert [(one.id, one.types) for one in added.masked] == [("s-1", ("GitHub token",))]
    session, turns = await held.read(OWNER, "s")
    assert turns[1].text == "export [masked: GitHub token]\nthen push"
    assert (session.title, session.masked) == ("use [masked: GitHub token]", 1)
    assert SECRET.encode() not in bytes_on_disk(path)
    with pytest.raises(SecretRefused):
        await held.add(OWNER, draft("s2", "x", dir=f"/home/{SECRET}"))


async def test_nobody_adds_to_the_session_of_another_principal(held: Transcribing) -> None:
    await held.add(ANA, draft("s", "hers", space="team/app"))
    with pytest.raises(FailedPrecondition, match="stored by ana, who alone may add"):
        await held.add(BOB, draft("s", "his", space="team/app"))
    assert (await held.add(BOB, draft("s", "his", space="team/bob"))).stored == 1


TURN = TurnDraft(id="u", role="user", text="x")


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("turns", TranscriptDraft(session="s", turns=())),
        ("turns", draft("s", *["x"] * (limits.TRANSCRIPT_TURNS_MAX + 1))),
        ("turns", draft("s", *["x" * limits.TRANSCRIPT_TURN_BYTES_MAX] * 33)),
        ("turns[1].id", TranscriptDraft(session="s", turns=(TURN, TURN))),
        ("turns[0].id", TranscriptDraft(session="s", turns=(TurnDraft(id=" ", role="user", text="x"),))),
        ("turns[0].role", TranscriptDraft(session="s", turns=(TurnDraft(id="u", role="human", text="x"),))),
        ("turns[0].text", TranscriptDraft(session="s", turns=(TurnDraft(id="u", role="user", text=" \n"),))),
        ("turns[0].text", draft("s", "é" * 16_385)),
        ("turns[0].at", TranscriptDraft(session="s", turns=(TurnDraft(id="u", role="user", text="x", at=10**18),))),
        ("session", draft("", "x")),
        ("session", draft("a/b", "x")),
        ("part_of", draft("s", "x", part_of="a/b")),
        ("session", TranscriptDraft(session="a\nb", turns=(TURN,))),
        ("part_of", draft("s", "x", part_of="s")),
        ("space", draft("s", "x", space="a//b")),
    ],
)
async def test_bad_input_names_field_and_limit(held: Transcribing, field: str, given: TranscriptDraft) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await held.add(OWNER, given)
    assert refused.value.fields["field"] == field
    assert refused.value.fields["limit"]


async def test_a_session_that_is_full_takes_no_more(held: Transcribing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRANSCRIPT_SESSION_TURNS_MAX", 2)
    await held.add(OWNER, draft("s", "one", "two"))
    with pytest.raises(InvalidArgument, match="at most 2 turns a session"):
        await held.add(OWNER, draft("s", "one", "two", "three"))
    assert (await held.read(OWNER, "s"))[0].turns == 2


# ---- searching ------------------------------------------------------------------------------------------------------


QUERIES = [
    "deploying", "DEPLOY?", "getUserName", "user name", "retry_count", "retryCount", "retry", "検索",
    "Müller", "muller", "E42",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
async def test_a_turn_is_found_by_stems_parts_of_names_and_pairs_of_characters(held: Transcribing, query: str) -> None:
    await held.add(OWNER, draft("s", "we deploy getUserName, retry_count=3; 日本語の検索; Herr Müller, error E42"))
    await held.add(OWNER, draft("t", "nothing of that", "at all"))
    assert await found(held, OWNER, query) == [("s", 1)]


async def test_what_stands_around_a_turn_counts_and_is_shown(held: Transcribing) -> None:
    await held.add(OWNER, draft("far", "lunch was fine", "the gateway is slow", "see you"))
    await held.add(OWNER, draft("near", "timeouts since monday", "the gateway is slow", "it was the timeout setting"))
    hits, spaces = await held.search(OWNER, TranscriptQuery(text="gateway timeout", limit=1))
    (hit,) = hits
    assert (hit.turn.session, hit.turn.position, spaces) == ("near", 2, ("@owner",))
    assert [one.text for one in (*hit.before, *hit.after)] == ["timeouts since monday", "it was the timeout setting"]
    assert 0 < hit.score <= 1


async def test_filters_narrow_a_search(held: Transcribing) -> None:
    await held.add(ANA, draft("s", "kiwi one", "kiwi two", space="team/app"))
    await held.add(BOB, draft("p", "kiwi three", space="team/app", part_of="s"))
    turn = TurnDraft(id="t", role="tool", text="kiwi four")
    await held.add(BOB, TranscriptDraft(session="q", space="team/bob", turns=(turn,)))
    everywhere: dict[str, Any] = {"spaces": ("team/app", "team/bob")}
    assert len(await found(held, ADMIN, "kiwi", **everywhere)) == 4
    assert len(await found(held, ADMIN, "kiwi", **everywhere, limit=2)) == 2
    assert {name for name, _ in await found(held, ADMIN, "kiwi", **everywhere, session="s")} == {"s", "p"}
    assert {name for name, _ in await found(held, ADMIN, "kiwi", **everywhere, agent="ana")} == {"s"}
    assert await found(held, ADMIN, "kiwi", **everywhere, agent="an") == []
    assert await found(held, ADMIN, "kiwi", **everywhere, roles=("tool",)) == [("q", 1)]
    assert await found(held, ADMIN, "kiwi", **everywhere, since=START_MS + 1) == [("s", 2)]
    assert {name for name, _ in await found(held, ADMIN, "kiwi", **everywhere, before=START_MS + 1)} == {"s", "p"}


async def test_nobody_finds_or_reads_what_it_may_not_read(held: Transcribing) -> None:
    await held.add(OWNER, draft("s", "kiwi"))
    assert await found(held, ANA, "kiwi") == []
    with pytest.raises(PermissionDenied):
        await found(held, ANA, "kiwi", spaces=("@owner",))
    for ask in (held.read(ANA, "s"), held.erase(ANA, "s")):
        with pytest.raises(NotFound):
            await ask
    assert (await held.page(ANA, SessionQuery())).total == 0


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("query", TranscriptQuery(text=" ")),
        ("query", TranscriptQuery(text="x" * (limits.QUERY_CHARS_MAX + 1))),
        ("limit", TranscriptQuery(text="x", limit=0)),
        ("context", TranscriptQuery(text="x", context=6)),
        ("roles[0]", TranscriptQuery(text="x", roles=("human",))),
        ("before", TranscriptQuery(text="x", since=5, before=5)),
    ],
)
async def test_a_bad_question_names_field_and_limit(held: Transcribing, field: str, query: TranscriptQuery) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await held.search(OWNER, query)
    assert refused.value.fields["field"] == field


@pytest.mark.parametrize("query", ["?!", '"', "NEAR(a b)", "words:x", "* OR -", "\x00", "the " * 2_000, "x" * 9_999])
async def test_any_text_is_a_question_and_no_command_of_the_engine(held: Transcribing, query: str) -> None:
    await held.add(OWNER, draft("s", "something else"))
    assert await found(held, OWNER, query) == []


async def test_a_search_that_takes_too_long_says_so(held: Transcribing, monkeypatch: pytest.MonkeyPatch) -> None:
    await held.add(OWNER, draft("s", *[f"kiwi {n}" for n in range(200)]))
    monkeypatch.setattr(limits, "TRANSCRIPT_SEARCH_TIMEOUT_S", -1.0)
    monkeypatch.setattr(transcript_store, "STEPS_BETWEEN_LOOKS", 10)
    with pytest.raises(DeadlineExceeded, match="rarer words"):
        await found(held, OWNER, "kiwi")
    monkeypatch.undo()
    assert len(await found(held, OWNER, "kiwi")) == 10


SPACES = ("@owner", "team/app", "team/bob")
WORDS = ("kiwi", "lime", "plum")


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(SPACES), st.sampled_from("abc"), st.sampled_from(WORDS)), max_size=12),
    st.sets(st.sampled_from(SPACES), min_size=1),
    st.sampled_from(WORDS),
)
def test_a_search_gives_the_turns_with_its_word_in_the_spaces_asked_for_and_no_others(
    said: list[tuple[str, str, str]], spaces: set[str], word: str
) -> None:
    held = TranscriptStore(":memory:")
    for n, (space, session, text) in enumerate(said):
        turn = TurnDraft(id=str(n), role="user", text=f"{text} {n}")
        held.add(TranscriptDraft(session=session, space=space, turns=(turn,)), (), "owner", START_MS)
    hits = held.search(TranscriptQuery(text=word, spaces=tuple(spaces), limit=200))
    held.close()
    assert sorted(hit.turn.id for hit in hits) == sorted(
        str(n) for n, (space, _, text) in enumerate(said) if space in spaces and text == word
    )
    for hit in hits:
        assert {(one.space, one.session) for one in (*hit.before, *hit.after)} <= {(hit.turn.space, hit.turn.session)}


def test_words_everywhere_are_asked_for_only_when_no_others_are_known() -> None:
    assert asked({"the": 90, "kiwi": 3, "never": 0}, 100) == ("kiwi",)
    assert asked({"the": 90, "never": 0}, 100) == ("the",)
    assert asked({"the": 9, "kiwi": 3}, 10) == ("kiwi", "the")
    assert len(asked({f"w{n}": 1 for n in range(100)}, 100)) == limits.TRANSCRIPT_SEARCH_TERMS_MAX


def test_identifiers_count_as_they_are_and_by_their_parts() -> None:
    assert words("HTTPServer2 retry_count") == [
        "HTTPServer2", "retry", "count", "HTTP", "Server2", "Server", "2", "retrycount",
    ]  # fmt: skip
    assert words("日本語") == ["日本", "本語"]
    assert words("Qdrantの設定") == ["Qdrant", "の設", "設定"]
    assert words("서비스를") == ["서비", "비스", "스를"]


def test_relevance_lies_in_the_unit_interval_and_is_monotone_with_the_order() -> None:
    pool = [Scored(n % 3, n, float(n)) for n in range(1, 30)]
    scores = [score for _, score in ranked(pool, 10.0)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


# ---- reading and listing --------------------------------------------------------------------------------------------


async def test_a_session_is_read_from_a_position_on(held: Transcribing) -> None:
    await held.add(OWNER, draft("s", *(str(n) for n in range(1, 31))))
    _, turns = await held.read(OWNER, "s", first=29, count=5)
    assert [one.position for one in turns] == [29, 30]
    assert (await held.read(OWNER, "s", first=31))[1] == ()
    for field, ask in (("first", {"first": 0}), ("count", {"count": 201})):
        with pytest.raises(InvalidArgument, match=field):
            await held.read(OWNER, "s", **ask)


async def test_a_name_that_lies_in_two_spaces_wants_its_space(held: Transcribing) -> None:
    await held.add(ANA, draft("s", "private"))
    await held.add(ANA, draft("s", "shared", space="team/app"))
    with pytest.raises(FailedPrecondition, match="@ana, team/app"):
        await held.read(ANA, "s")
    assert (await held.read(ANA, "s", "team/app"))[1][0].text == "shared"


async def test_sessions_are_listed_by_their_latest_turn_page_by_page(held: Transcribing) -> None:
    for n in range(5):
        turn = TurnDraft(id="u", role="user", text="x", at=START_MS + n * 10)
        await held.add(OWNER, TranscriptDraft(session=f"s{n}", turns=(turn,)))
    first = await held.page(OWNER, SessionQuery(limit=3))
    rest = await held.page(OWNER, SessionQuery(limit=3, cursor=first.cursor))
    assert [one.session for one in (*first.sessions, *rest.sessions)] == ["s4", "s3", "s2", "s1", "s0"]
    assert (first.total, rest.total, rest.cursor) == (5, 5, "")
    some = await held.page(OWNER, SessionQuery(since=START_MS + 10, before=START_MS + 30))
    assert [one.session for one in some.sessions] == ["s2", "s1"]
    with pytest.raises(InvalidArgument, match="cursor"):
        await held.page(OWNER, SessionQuery(cursor="x.y"))


# ---- erasing --------------------------------------------------------------------------------------------------------


async def test_an_erased_session_leaves_no_byte_in_rows_index_free_pages_or_log(held: Transcribing, path: Path) -> None:
    # Thousands of words, so that the index has several parts to be merged.
    for n in range(40):
        await held.add(OWNER, draft(f"s{n}", *(f"filler{n}x{m} common words here" for m in range(40))))
    await held.add(OWNER, draft("gone", *(f"quixotic{n} zebra" for n in range(200)), title="quixoticismus"))
    await held.add(OWNER, draft("sub", "quixotically so", part_of="gone"))
    await held.add(OWNER, draft("subsub", "quixotical", part_of="sub"))
    assert b"quixotic" in bytes_on_disk(path)
    erased = await held.erase(OWNER, "gone")
    assert [one.session for one in erased.sessions] == ["gone", "sub", "subsub"]
    assert (erased.turns, erased.pending, erased.stored_at) == (202, "", START_MS)
    on_disk = bytes_on_disk(path)
    assert b"uixot" not in on_disk
    assert b"filler7x7 " in on_disk
    assert await found(held, OWNER, "quixotic1") == []
    assert await found(held, OWNER, "filler7x7") == [("s7", 8)]
    with pytest.raises(NotFound):
        await held.erase(OWNER, "gone")


async def test_who_stored_a_session_erases_it_wherever_it_lies_and_an_admin_may(held: Transcribing) -> None:
    await held.add(ANA, draft("s", "hers", space="team/app"))
    await held.add(ANA, draft("s", "hers too"))
    await held.add(BOB, draft("s", "his", space="team/bob"))
    await held.add(BOB, draft("part", "his part of hers", space="team/app", part_of="s"))
    with pytest.raises(PermissionDenied, match="stored by ana"):
        await held.erase(BOB, "s", "team/app")
    assert [(one.session, one.space) for one in (await held.erase(ANA, "s")).sessions] == [
        ("s", "@ana"), ("s", "team/app"),
    ]  # fmt: skip
    assert [(one.session, one.space) for one in (await held.erase(ADMIN, "s")).sessions] == [("s", "team/bob")]
    assert (await held.page(BOB, SessionQuery(spaces=("team/app",)))).total == 1


async def test_a_reader_of_the_file_delays_only_the_log_and_the_answer_says_so(held: Transcribing, path: Path) -> None:
    await held.add(OWNER, draft("s", "quixotic"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM turn").fetchone()
    held._store._actor._opened.execute("PRAGMA busy_timeout=1")  # type: ignore[attr-defined]
    assert "write-ahead log" in (await held.erase(OWNER, "s")).pending
    other.close()
    await held.add(OWNER, draft("t", "x"))
    assert (await held.erase(OWNER, "t")).pending == ""
    assert b"quixotic" not in bytes_on_disk(path)


# ---- the file -------------------------------------------------------------------------------------------------------


def test_nothing_is_made_on_disk_until_something_is_stored(path: Path) -> None:
    opened = TranscriptStore(str(path))
    assert opened.status() == TranscriptStatus(sessions=0, turns=0, bytes=0)
    assert not path.exists()
    opened.add(draft("s", "one", space="@owner"), (), "owner", START_MS)
    assert path.stat().st_mode & 0o077 == 0
    status = opened.status()
    assert (status.sessions, status.turns, status.state) == (1, 1, "ok")
    assert status.bytes > 0
    opened.close()


async def test_a_node_that_never_stored_a_session_has_none_to_copy(held: Transcribing) -> None:
    async with held.copied() as copied:
        assert copied is None


async def test_a_status_names_what_is_wrong_with_the_file(held: Transcribing, path: Path) -> None:
    damage(path)
    assert "damaged" in (await held.status()).state


def damage(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 400)


def test_a_damaged_file_says_what_to_do(path: Path) -> None:
    damage(path)
    with pytest.raises(DataLoss, match="restore it from a backup, or delete it"):
        TranscriptStore(str(path)).called("x")


def test_a_newer_file_is_refused_unharmed(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(transcript_file.MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(FailedPrecondition, match="newer"):
        TranscriptStore(str(path)).called("x")
    assert path.read_bytes() == before


def test_a_copy_that_a_crash_left_is_deleted_at_the_next_start(path: Path) -> None:
    path.parent.mkdir()
    transcript_file.copy_file(path).write_bytes(b"what may have been erased since")
    TranscriptStore(str(path))
    assert not transcript_file.copy_file(path).exists()


async def test_turns_that_another_version_indexed_are_indexed_anew(path: Path) -> None:
    old = TranscriptStore(str(path))
    before = Transcribing(Direct(old), path, lambda: START_MS)
    await before.add(OWNER, draft("s", "kiwi"))
    old.close()
    db = sqlite3.connect(path)
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    db.execute("UPDATE meta SET value = '0' WHERE key = 'analysis'")
    db.commit()
    db.close()
    assert await found(operations(path), OWNER, "kiwi") == [("s", 1)]
