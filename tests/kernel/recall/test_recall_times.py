"""Words of time and equal matches over a real mesh. Memories of the asked time are in the answer, and equal matches
stand by importance. Each test has a space of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import pytest_asyncio
from doubles import failing
from recall_scene import READER, Here, found, signals_of

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Source

CROWD = 41


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


# The node's clock stands in the night of 2023-11-14, a Tuesday.
MARCH, LAST_WEEK, YESTERDAY = ms("2023-03-12 10:00"), ms("2023-11-08 10:00"), ms("2023-11-13 10:00")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def year(mesh: Mesh) -> Here:
    """Memories of today, and one each of March, of last week and of yesterday, which look like nothing special."""
    here = Here(mesh, "test/year")
    work = ("Payments work is summarised in the daily report", "What happened in the deploy is in its log",
            "We talk about changes in the morning", "The March build of the client did not change")  # fmt: skip
    drafts = [here.draft(f"{work[number % len(work)]}, case {number}", wait="durable") for number in range(CROWD)]
    await mesh.remember_batch(READER, drafts)
    await here.remember("Staging ran out of disk", valid_from=MARCH)
    await here.remember("Keys moved into the vault", valid_from=LAST_WEEK)
    await here.remember("Ana joined as the new lead", valid_from=YESTERDAY)
    return here


# ---- nothing is asked but a time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("min_score", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("what happened in March?", "Staging ran out of disk"),
        ("what did we do in March 2023?", "Staging ran out of disk"),
        ("what happened on 2023-03-12?", "Staging ran out of disk"),
        ("12.03.2023", "Staging ran out of disk"),
        ("what happened yesterday?", "Ana joined as the new lead"),
        ("summary of yesterday", "Ana joined as the new lead"),
        ("give me a recap of yesterday", "Ana joined as the new lead"),
        ("what did I work on yesterday?", "Ana joined as the new lead"),
        ("what did we talk about yesterday?", "Ana joined as the new lead"),
        ("show me everything from last week", "Keys moved into the vault"),
        ("what changed last week?", "Keys moved into the vault"),
        ("what was going on last week?", "Keys moved into the vault"),
    ],
)
async def test_who_asks_for_nothing_but_a_time_gets_all_that_lies_in_it(
    year: Here, text: str, content: str, min_score: float
) -> None:
    answer = await year.recall(text, min_score=min_score, time_zone="UTC", explain=True)
    assert found(answer) == [content]
    assert (answer.coverage, answer.abstain) == (1.0, False)
    assert answer.time.inside == 1
    assert answer.time.told.endswith("1 of 1 results lie in it")
    # The memory lies in the asked time, and nothing else was asked for.
    assert (answer.results[0].score, signals_of(answer.results[0])) == (1.0, {"date": 1.0})


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("What did Will do last week?", False),
        ("What has Will told me last week?", False),
        ("what changed in IT last week?", False),
        ("what happened in the US last week?", False),
        ("What did I do last week?", True),
        ("What Did We Do Last Week", True),
        ("WHAT HAPPENED LAST WEEK", True),
        ("Will anything happen last week?", True),
    ],
)
async def test_a_name_that_is_a_common_word_too_is_asked_about(year: Here, text: str, listed: bool) -> None:
    answer = await year.recall(text, time_zone="UTC")
    assert (answer.coverage == 1.0 and len(answer.results) == 1) is listed


@pytest.mark.parametrize("min_score", [0.0, 0.1])
async def test_a_time_without_memories_is_never_said_to_hold_one(year: Here, min_score: float) -> None:
    answer = await year.recall("what happened in April?", min_score=min_score, time_zone="UTC")
    assert answer.time.inside == 0
    assert answer.time.told.endswith("nothing that fits lies in it, so all times were searched")


# ---- a subject and a time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_what_lies_in_the_time_has_a_place_however_badly_its_words_match(year: Here, mode: str) -> None:
    asked = {"text": "daily report of payments work in March", "time_zone": "UTC", "mode": mode}
    plain = await year.recall(**asked, time_words="off")
    assert "Staging ran out of disk" not in found(plain)
    answer = await year.recall(**asked)
    assert found(answer)[-1] == "Staging ran out of disk"
    assert len(answer.results) == len(plain.results) == 10
    scores = [hit.score for hit in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert answer.time.told.endswith("1 of 10 results lie in it")
    # The only place stays with the best match.
    (first,) = (await year.recall(**asked, limit=1)).results
    assert first.memory.content.startswith("Payments work")


async def test_what_may_be_read_and_lies_in_the_time_is_found_behind_what_may_not(year: Here) -> None:
    answer = await year.recall(
        "daily report of payments work in March", time_zone="UTC", kinds=("decision",), time_words="prefer"
    )
    assert found(answer) == []


@pytest.mark.parametrize("text", ["what ran out of disk in March 2023?", "MARCH 2023 staging", "staging 12.03.2023"])
async def test_words_of_time_are_not_looked_for_in_the_text_of_the_answer(year: Here, text: str) -> None:
    answer = await year.recall(text, time_zone="UTC", mode="keyword")
    assert found(answer)[0] == "Staging ran out of disk"
    assert (answer.coverage, answer.abstain) == (1.0, False)


async def test_a_min_score_that_leaves_out_what_lies_in_the_time_is_not_told_otherwise(year: Here) -> None:
    for min_score in (0.05, 0.3, 0.6, 0.95):
        answer = await year.recall("disk on 2023-03-12", time_zone="UTC", min_score=min_score)
        there = "Staging ran out of disk" in found(answer)
        assert answer.time.inside == there
        assert ("so all times were searched" in answer.time.told) is not there


@pytest.mark.parametrize("filters", [{}, {"min_heat": 0.0001}, {"as_of": ms("2023-11-15")}])
async def test_what_lies_in_a_time_stands_by_when_it_happened(here: Here, filters: dict[str, float]) -> None:
    for day in (3, 11, 7, 1, 9, 5):  # the order of their writing says nothing about it
        await here.remember(f"Case {day} was closed", valid_from=ms(f"2023-03-{day:02}"), kind="decision")
    for text in ("what happened in March", "what did we decide in March"):
        answer = await here.recall(text, time_zone="UTC", limit=4, **filters)
        assert found(answer) == [f"Case {day} was closed" for day in (11, 9, 7, 5)], text


# ---- events ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inside"),
    [("which linter before the release of Falcon", "flake8"), ("which linter after the release of Falcon", "ruff")],
)
async def test_an_event_was_neither_before_nor_after_itself(here: Here, text: str, inside: str) -> None:
    await here.remember("The linter is flake8", valid_from=MARCH - 1)
    event = await here.remember("The release of Falcon is out", valid_from=MARCH)
    await here.remember("The linter is ruff", valid_from=MARCH + 1, force=True)  # and flake8 is none of the past
    answer = await here.recall(text, time_zone="UTC", explain=True)
    assert (answer.time.event_id, answer.time.inside) == (event.id, 1)
    dates = {hit.memory.content: signals_of(hit)["date"] for hit in answer.results}
    assert [content for content, share in dates.items() if share] == [f"The linter is {inside}"]
    assert found(await here.recall(text, time_zone="UTC", time_words="only")) == [f"The linter is {inside}"]


# ---- what matches alike ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_of_any_number_of_equal_matches_the_important_one_is_first(here: Here, mode: str) -> None:
    for number in range(20):
        importance = 1.0 if number == 19 else 0.5 if number == 15 else 0.1
        draft = here.draft("Lamps burn at night", force=True, importance=importance)
        last = (await here.mesh.remember(READER, draft)).memory
        if number == 15:
            second = last
    for limit in range(1, 21):
        answer = await here.recall("lamps burn at night", mode=mode, limit=limit)
        assert len(answer.results) == limit
        assert len({hit.score for hit in answer.results}) == 1
        assert [hit.memory.id for hit in answer.results[:2]] == [last.id, second.id][:limit]


async def test_what_matches_less_is_not_read_for_its_importance(here: Here) -> None:
    await here.remember("Lamps burn at night, says the keeper", importance=1.0)
    for _ in range(5):
        await here.mesh.remember(READER, here.draft("Lamps burn at night", force=True, importance=0.1))
    assert found(await here.recall("lamps burn at night", limit=3)) == ["Lamps burn at night"] * 3


# ---- explanations ---------------------------------------------------------------------------------------------------


async def test_by_keyword_nothing_is_explained_by_what_was_said_before(here: Here) -> None:
    for number, content in enumerate(("Who keeps the lamps?", "Ben keeps the lamps", "He lives by the sea")):
        await here.remember(content, source=Source("talk", "", number))
    for hit in (await here.recall("who keeps lamps", mode="keyword", explain=True)).results:
        by_words = [share for share in hit.signals if share.name in ("words", "window", "episode_words")]
        assert [share.name for share in by_words] == ["words"]
        assert by_words[0].weight == 1.0
        assert by_words[0].raw


# ---- languages that the encoder and the model know little of --------------------------------------------------------

MEMORIES = {
    "payment_zh": "支付服务每天凌晨三点重启",
    "backup_zh": "数据库备份保存在仓库里三十天",
    "room_ja": "会議室は三階の奥にあります",
    "qdrant_ja": "Qdrantの設定をAPIで変えるには再起動が要る",
    "payment_th": "การชำระเงินล้มเหลวเมื่อวานนี้",
    "payment_ko": "결제 서비스를 매일 새벽에 재시작한다",
    "sums_de": "Prüfsummen schreibt der Nachtexport ins Archiv, bevor das Café öffnet",
    "party": "Release 2.14 is out 🎉",
    "rota": "The on-call rota moves to Mondays",
}
ASKED = {
    "支付": "payment_zh",
    "备份保存多少天": "backup_zh",
    "会議室はどこ": "room_ja",
    "qdrant 再起動": "qdrant_ja",
    "ชำระเงิน": "payment_th",
    "서비스 재시작": "payment_ko",
    "prufsummen cafe": "sums_de",
    "🎉": "party",
    "on-call rota": "rota",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def languages(mesh: Mesh) -> Here:
    here = Here(mesh, "test/languages")
    for content in MEMORIES.values():
        await here.remember(content)
    return here


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("question", ASKED)
async def test_the_memory_that_holds_the_words_comes_first(languages: Here, question: str, mode: str) -> None:
    answer = await languages.recall(question, mode=mode)
    assert answer.results[0].memory.content == MEMORIES[ASKED[question]]
    assert not answer.abstain


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("🦖", "hybrid", "nothing that passes the filters holds one"),
        ("x" * 10_000, "hybrid", "nothing that passes the filters holds one"),
        ("😀😀", "semantic", "mode keyword and hybrid look for the words themselves"),
    ],
)
async def test_of_a_question_that_the_model_can_not_read_nothing_is_made_up(
    languages: Here, text: str, mode: str, told: str
) -> None:
    answer = await languages.recall(text, mode=mode)
    assert (answer.results, answer.abstain, answer.degraded) == ((), True, ())
    (note,) = answer.notes
    assert note.startswith("query: the embedding model knows no word of")
    assert note.endswith(told)


@pytest.mark.parametrize("question", ASKED)
async def test_without_an_index_the_same_memory_comes_first(
    languages: Here, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = failing(Unavailable("the index is down", part="index"))
    monkeypatch.setattr(languages.mesh._recalling._index, "ask", down)  # type: ignore[attr-defined]
    answer = await languages.recall(question, mode="keyword")
    assert answer.degraded
    assert answer.results[0].memory.content == MEMORIES[ASKED[question]]
