"""The behaviour of every door of a node: one suite of sentences, run through each door on the same node."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest
from scenario_doors import Door, refusal

SECRET = "AKIA" + "IOSFODNN7" + "QX3MPLW"


async def remember(door: Door, space: str, content: str, **fields: Any) -> dict[str, Any]:
    return await door.call("remember", content=content, space=space, **fields)


async def found(door: Door, space: str, query: str, **fields: Any) -> list[str]:
    answer = await door.call("recall", query=query, spaces=[space], **fields)
    return [result["content"] for result in answer["results"]]


async def test_what_was_remembered_is_recalled_by_meaning_and_by_words(door: Door, space: str) -> None:
    first = await remember(door, space, "The staging database runs on port 5433.", kind="infra", tags=["db", "staging"])
    await remember(door, space, "Anna prefers short pull requests.", kind="preference")
    assert first["action"] == "ADD"
    assert first["memory"]["kind"] == "reference"
    assert first["memory"]["tags"] == ["db", "staging"]
    assert first["indexed"] is True
    answer = await door.call("recall", query="Which port does the test database listen on?", spaces=[space])
    best = answer["results"][0]
    assert best["id"] == first["memory"]["id"]
    assert best["content"] == "The staging database runs on port 5433."
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert 0 <= answer["coverage"] <= 1
    assert (await found(door, space, "pull requests", mode="keyword"))[0] == "Anna prefers short pull requests."
    assert (await found(door, space, "size of code reviews", mode="semantic"))[0] == "Anna prefers short pull requests."


async def test_an_identical_text_in_the_same_space_is_not_stored_twice(door: Door, space: str) -> None:
    first = await remember(door, space, "Deploys happen on Tuesdays.")
    again = await remember(door, space, "  Deploys happen on  Tuesdays. ")
    assert again["action"] == "NOOP"
    assert again["deduplicated"] is True
    assert again["memory"]["id"] == first["memory"]["id"]
    other = await remember(door, f"{space}/other", "Deploys happen on Tuesdays.")
    assert other["action"] == "ADD"
    forced = await remember(door, space, "Deploys happen on Tuesdays.", force=True)
    assert forced["action"] == "ADD"
    assert forced["memory"]["id"] != first["memory"]["id"]


async def test_an_update_is_a_new_revision_and_the_old_text_is_no_longer_recalled(door: Door, space: str) -> None:
    made = await remember(door, space, "The retry limit is three.", tags=["retry"])
    id_ = made["memory"]["id"]
    changed = await door.call("update", id=id_, content="The retry limit is seven.", tags=["retry", "limits"])
    assert changed["action"] == "UPDATE"
    assert changed["memory"]["id"] == id_
    assert changed["memory"]["version"] == 2
    assert changed["memory"]["tags"] == ["limits", "retry"]
    assert await found(door, space, "retry limit") == ["The retry limit is seven."]
    same = await door.call("update", id=id_, content="The retry limit is seven.")
    assert same["action"] == "NOOP"


async def test_a_forgotten_memory_leaves_every_read_and_comes_back_with_restore(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "The cache key holds the tenant."))["memory"]["id"]
    gone = await door.call("forget", id=id_)
    assert gone["action"] == "FORGET"
    assert gone["memory"]["state"] == "forgotten"
    assert await found(door, space, "cache key") == []
    assert (await door.call("list", spaces=[space]))["memories"] == []
    refused = await refusal(door.call("get", ids=[id_]), "NOT_FOUND")
    assert "restore" in refused.message
    await refusal(door.call("update", id=id_, content="anything"))
    offered = await remember(door, space, "The cache key holds the tenant.")
    assert offered["action"] == "NOOP"
    assert offered["restorable"] is True
    back = await door.call("restore", id=id_)
    assert back["action"] == "RESTORE"
    assert await found(door, space, "cache key") == ["The cache key holds the tenant."]
    assert (await door.call("restore", id=id_))["action"] == "NOOP"


async def test_a_purged_memory_is_gone_for_good_and_its_text_may_be_stored_anew(door: Door, space: str) -> None:
    text = "The old customer list is on the blue drive."
    kept = (await remember(door, space, "Backups run at night."))["memory"]["id"]
    id_ = (await remember(door, space, text))["memory"]["id"]
    await door.call("update", id=id_, content="The old customer list is on the red drive.")
    gone = await door.call("purge", id=id_)
    assert (gone["id"], gone["space"], gone["changes"]) == (id_, space, 2)
    again = await door.call("purge", id=id_)
    assert (again["id"], again["space"], again["changes"]) == (id_, space, 0)
    assert [memory["id"] for memory in (await door.call("list", spaces=[space]))["memories"]] == [kept]
    assert "customer" not in " ".join(await found(door, space, "customer list"))
    for operation in ("restore", "history", "forget"):
        await refusal(door.call(operation, id=id_), "NOT_FOUND")
    anew = await remember(door, space, text)
    assert anew["action"] == "ADD"
    assert anew["memory"]["id"] != id_


async def test_who_watches_hears_of_a_change_as_it_happens(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "The window opens at nine."))["memory"]["id"]
    async with door.watching(space, id_) as heard:
        await remember(door, f"{space}/beside", "Another window is not watched.")
        await door.call("update", id=id_, content="The window opens at ten.")
        assert await heard() == ("updated", id_)


async def test_a_superseded_memory_gives_way_to_its_successor(door: Door, space: str) -> None:
    old = await remember(door, space, "We host on provider Alpha.")
    new = await door.call("supersede", id=old["memory"]["id"], content="We host on provider Beta since March.")
    assert new["action"] == "SUPERSEDE"
    assert new["superseded"]["state"] == "superseded"
    assert new["superseded"]["superseded_by"] == new["memory"]["id"]
    assert await found(door, space, "which provider hosts us") == ["We host on provider Beta since March."]
    both = await found(door, space, "which provider hosts us", include_superseded=True)
    assert sorted(both) == ["We host on provider Alpha.", "We host on provider Beta since March."]


async def test_a_successor_is_filed_as_the_memory_that_it_replaces_unless_it_says_otherwise(
    door: Door, space: str
) -> None:
    old = await remember(door, space, "We pay on the first.", kind="decision", title="Pay day", tags=["pay", "team"])
    second = (await door.call("supersede", id=old["memory"]["id"], content="We pay on the second."))["memory"]
    assert (second["kind"], second["tags"], second["title"]) == ("decision", ["pay", "team"], "Pay day")
    named = {"kind": "procedure", "title": "How to pay", "tags": ["bank"]}
    third = (await door.call("supersede", id=second["id"], content="Pay on the third.", **named))["memory"]
    assert {name: third[name] for name in named} == named


async def test_an_idempotency_key_makes_a_retry_safe_and_refuses_other_content(door: Door, space: str) -> None:
    key = uuid.uuid4().hex
    first = await remember(door, space, "Exactly once.", idempotency_key=key)
    again = await remember(door, space, "Exactly once.", idempotency_key=key)
    assert again["replayed"] is True
    assert (again["action"], again["memory"]["id"]) == (first["action"], first["memory"]["id"])
    await refusal(remember(door, space, "Something else.", idempotency_key=key), "ALREADY_EXISTS")
    assert len((await door.call("list", spaces=[space]))["memories"]) == 1


async def test_check_says_what_remember_would_do_and_writes_nothing(door: Door, space: str) -> None:
    id_ = (await remember(door, space, "Tests run in parallel."))["memory"]["id"]
    twin = await door.call("check", content="Tests run  in parallel.\n", space=space)
    assert (twin["action"], twin["target_id"]) == ("NOOP", id_)
    fresh = await door.call("check", content="Tests are written with pytest.", space=space)
    assert fresh["action"] == "ADD"
    assert fresh["related"][0]["id"] == id_
    assert 0 < fresh["novelty"] < 1
    assert (await door.call("list", spaces=[space]))["total"] == 1


async def test_get_takes_an_id_a_unique_prefix_or_a_title(door: Door, space: str) -> None:
    made = await remember(door, space, "Use ports above 9000.", title=f"Ports {space}")
    id_ = made["memory"]["id"]
    assert (await door.call("get", ids=[id_]))["memory"]["content"] == "Use ports above 9000."
    assert (await door.call("get", ids=[id_[:-4]]))["memory"]["id"] == id_
    assert (await door.call("get", ids=[f"Ports {space}"], spaces=[space]))["memory"]["id"] == id_
    several = await door.call("get", ids=[id_, str(uuid.uuid4())])
    assert [memory["id"] for memory in several["memories"]] == [id_]
    assert len(several["missing"]) == 1


async def test_lists_page_without_gaps_and_filter_by_kind_tag_and_state(door: Door, space: str) -> None:
    for number in range(5):
        await remember(
            door, space, f"Note number {number}.", kind="decision" if number % 2 else "fact", tags=[f"t{number}"]
        )
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = await door.call(
            "list", spaces=[space], limit=2, order="oldest", **({"cursor": cursor} if cursor else {})
        )
        seen += [memory["content"] for memory in page["memories"]]
        cursor = page["cursor"]
    assert seen == [f"Note number {number}." for number in range(5)]
    assert cursor == ""
    assert (await door.call("list", spaces=[space], kinds=["decision"]))["total"] == 2
    assert (await door.call("list", spaces=[space], tags_any=["t1", "t4"]))["total"] == 2
    stats = await door.call("stats", spaces=[space])
    assert stats["memories"] == 5
    assert {count["name"]: count["memories"] for count in stats["kinds"]} == {"fact": 3, "decision": 2}


async def test_one_space_or_several_are_named_alike_wherever_one_reads(door: Door, space: str) -> None:
    other = f"{space}/other"
    made = await remember(door, space, "The port is 5433.", title=f"Port {space}", tags=["here"])
    await remember(door, other, "The other port is 5434.", tags=["there"])
    both = ["The other port is 5434.", "The port is 5433."]
    for named, expected in (({"space": space}, both[1:]), ({"space": space, "spaces": [other]}, both)):
        answer = await door.call("recall", query="port", **named)
        assert sorted(result["content"] for result in answer["results"]) == expected
        listed = await door.call("list", **named)
        assert sorted(memory["content"] for memory in listed["memories"]) == expected
        stats = await door.call("stats", **named)
        assert (stats["memories"], stats["tags_total"], stats["spaces_total"]) == (len(expected),) * 3
        got = await door.call("get", ids=[f"Port {space}"], **named)
        assert got["memory"]["id"] == made["memory"]["id"]


async def test_a_time_is_given_as_a_date_too_and_may_lie_long_ago(door: Door, space: str) -> None:
    made = await remember(
        door,
        space,
        "The firm was founded by two brothers.",
        valid_from="1921-05-01",
        valid_to="1933-01-30T08:00:00+01:00",
    )
    assert made["memory"]["valid_from"] == "1921-05-01T00:00:00Z"
    assert made["memory"]["valid_to"] == "1933-01-30T07:00:00Z"
    id_ = made["memory"]["id"]
    assert (await door.call("update", id=id_, valid_from="0001-01-01"))["memory"]["valid_from"] == (
        "0001-01-01T00:00:00Z"
    )
    assert (await door.call("get", ids=[id_]))["memory"]["valid_from"] == "0001-01-01T00:00:00Z"
    assert await found(door, space, "founded", since="2001-01-01") == ["The firm was founded by two brothers."]
    assert await found(door, space, "founded", before="2001-01-01") == []
    assert await found(door, space, "founded", since="1921-05-01", before="9999-12-31") != []
    assert (await door.call("list", space=space, since="1921-05-01"))["total"] == 1
    await refusal(remember(door, space, "Another.", valid_from="1921-05"), field="valid_from")


async def test_an_update_clears_what_it_names(door: Door, space: str) -> None:
    made = await remember(
        door, space, "Holds for a while.", title="While", importance=0.5, valid_from="2026-01-01",
        valid_to="2026-02-01", tags=["a"],
    )  # fmt: skip
    id_ = made["memory"]["id"]
    done = await door.call("update", id=id_, clear=["importance", "valid_from", "valid_to", "tags", "title"])
    assert done["action"] == "UPDATE"
    assert not {"importance", "valid_from", "valid_to"} & done["memory"].keys()
    assert (done["memory"]["tags"], done["memory"]["title"]) == ([], "")
    assert (await door.call("update", id=id_, clear=["importance"]))["action"] == "NOOP"
    for fields in ({"clear": ["content"]}, {"clear": ["importance"], "importance": 0.5}):
        await refusal(door.call("update", id=id_, **fields), "INVALID_ARGUMENT", "clear[0]")


async def test_a_timeline_shows_the_neighbours_of_a_memory_in_its_session(door: Door, space: str) -> None:
    session = uuid.uuid4().hex
    ids = [
        (await remember(door, space, f"Step {number}.", source={"session": session, "seq": number}))["memory"]["id"]
        for number in range(4)
    ]
    answer = await door.call("timeline", id=ids[2], before=1, after=1)
    assert [memory["content"] for memory in answer["memories"]] == ["Step 1.", "Step 2.", "Step 3."]
    assert answer["position"] == 1
    related = (await door.call("related", id=ids[2], limit=2))["results"]
    assert [near["reasons"][0].split(":")[0] for near in related] == ["same session"] * 2


async def test_a_timeline_finds_a_title_in_the_space_that_is_named(door: Door, space: str) -> None:
    other, title = f"{space}/other", f"Release {uuid.uuid4().hex[:8]}"
    made = [await remember(door, place, f"Release notes of {place}.", title=title) for place in (space, other)]
    for place, written in zip((space, other), made, strict=True):
        answer = await door.call("timeline", id=title, spaces=[place])
        assert answer["memories"][answer["position"]]["id"] == written["memory"]["id"]


async def read_in_time(door: Door, **asked: Any) -> dict[str, Any]:
    """An answer whose results a model has read: on a busy machine it may take longer than a recall waits."""
    for _ in range(20):
        answer: dict[str, Any] = await door.call("recall", **asked)
        late = [why for why in answer["degraded_reasons"] if "has not answered in time" in why]
        if not late:
            return answer
    raise AssertionError(f"no answer was read in time: {late}")


async def test_recall_filters_and_honours_limit_and_token_budget(door: Door, space: str) -> None:
    for number in range(6):
        await remember(
            door, space, f"Service {number} talks to the queue.", kind="decision" if number < 2 else "fact",
            tags=["queue", f"s{number}"],
        )  # fmt: skip
    assert len(await found(door, space, "queue", limit=3)) == 3
    assert len(await found(door, space, "queue", kinds=["decision"])) == 2
    assert len(await found(door, space, "queue", tags_all=["queue", "s4"])) == 1
    assert len(await found(door, space, "queue", tags_none=["s1", "s2"])) == 4
    assert await found(door, space, "queue", before="2001-01-01T00:00:00Z") == []
    most = 800 if door.name.startswith("mcp") else 20  # a tool's budget counts all that is sent
    budget = await door.call("recall", query="queue", spaces=[space], token_budget=most)
    assert 0 < len(budget["results"]) < 6
    assert budget["tokens_used"] <= most
    assert budget["truncated_by_budget"] > 0
    short = await door.call("recall", query="queue", spaces=[space], limit=1, snippets_only=True, explain=True)
    assert short["results"][0]["content"] == ""
    assert "queue" in short["results"][0]["snippet"]
    signals, marks = short["results"][0]["signals"], short["results"][0]["marks"]
    assert round(min(1.0, sum(one["share"] for one in signals)), 6) == short["results"][0]["score"]
    assert short["results"][0]["snippet"][marks[0] : marks[1]] == "queue"
    estimate = short["results"][0]["estimate"]
    assert {"share", "alone", "constant"} <= {part["name"] for part in estimate["parts"]}
    logit = sum(part["share"] for part in estimate["parts"])
    assert abs(1 / (1 + math.exp(-logit)) - estimate["probability"]) < 1e-5
    asked = {"query": "which number does the queue have?", "spaces": [space], "limit": 3}
    plain = await door.call("recall", **asked, explain=True)
    verified = await read_in_time(door, **asked, explain=True, verify=True)
    names = [{part["name"] for part in one["results"][0]["estimate"]["parts"]} for one in (plain, verified)]
    assert ["read" in parts for parts in names] == [False, True]
    assert [hit["id"] for hit in verified["results"]] == [hit["id"] for hit in plain["results"]]
    empty = await door.call("recall", query="queue", spaces=[space], kinds=["person"])
    assert empty["notes"] == [f"kinds: there is no 'person' in the space '{space}'"]


async def test_words_of_time_in_a_question_are_read_and_the_answer_says_how(door: Door, space: str) -> None:
    for month in (3, 5):
        day = f"2024-0{month}-10T12:00:00Z"
        await remember(door, space, f"The rota moved, as told on page {month}.", valid_from=day)
    asked = {"query": "how did the rota move in March 2024", "spaces": [space], "time_zone": "Europe/Berlin"}
    answer = await door.call("recall", **asked)
    assert [hit["content"][-2] for hit in answer["results"]] == ["3", "5"]
    read = answer["time"]
    assert (read["words"], read["inside"], read["zone"]) == (["in March 2024"], 1, "Europe/Berlin")
    assert (read["since"], read["before"]) == ("2024-02-29T23:00:00Z", "2024-03-31T22:00:00Z")
    assert len((await door.call("recall", **asked, time_words="only"))["results"]) == 1
    assert not (await door.call("recall", **asked, time_words="off")).get("time")


@pytest.mark.parametrize(
    ("operation", "fields", "field"),
    [
        ("remember", {"content": " "}, "content"),
        ("remember", {"content": "x", "title": "a\0b"}, "title"),
        ("remember", {"content": "x", "kind": "nonsense"}, "kind"),
        ("remember", {"content": "x", "space": "team/../secret"}, "space"),
        ("remember", {"content": "x", "importance": 1.5}, "importance"),
        ("remember", {"content": "x", "tags": ["t" * 81]}, "tags[0]"),
        (
            "remember",
            {"content": "x", "valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"},
            "valid_to",
        ),
        ("recall", {"query": "x", "limit": 0}, "limit"),
        ("recall", {"query": "x", "mode": "psychic"}, "mode"),
        ("recall", {"query": "x", "time_zone": "Mars/Olympus"}, "time_zone"),
        ("recall", {"query": "x", "min_score": 2}, "min_score"),
        ("list", {"state": "gone"}, "state"),
    ],
)
async def test_bad_input_is_refused_with_field_value_and_limit(
    door: Door, space: str, operation: str, fields: dict[str, Any], field: str
) -> None:
    place = {} if "space" in fields else {"space": space} if operation == "remember" else {"spaces": [space]}
    await refusal(door.call(operation, **{**place, **fields}), "INVALID_ARGUMENT", field)


async def test_an_unknown_id_is_not_found(door: Door) -> None:
    for operation in ("get", "forget", "restore", "timeline"):
        named = {"ids": [str(uuid.uuid4())]} if operation == "get" else {"id": str(uuid.uuid4())}
        await refusal(door.call(operation, **named), "NOT_FOUND")


async def test_a_secret_or_a_sensitive_text_is_refused_and_not_stored(door: Door, space: str) -> None:
    for fields in ({"content": f"the key is {SECRET} ok"}, {"content": "anything", "sensitive": True}):
        refused = await refusal(remember(door, space, **fields), "INVALID_ARGUMENT")
        assert SECRET not in refused.message
    assert (await door.call("list", spaces=[space]))["total"] == 0


@pytest.mark.parametrize(
    "query",
    ["? ' \" - + * ( ) : AND NEAR", "数据库在哪个端口", "🦀🔥", "-x --y", "x" * 10_000, "\u202e\u0301", "AND", "'"],
    ids=["operators", "cjk", "emoji", "dashes", "10,000 characters", "marks", "and", "quote"],
)
async def test_a_query_of_any_unicode_is_answered(door: Door, space: str, query: str) -> None:
    await remember(door, space, "数据库在端口 5433 上运行。 🦀")
    answer = await door.call("recall", query=query, spaces=[space])
    assert len(answer["results"]) <= 1
