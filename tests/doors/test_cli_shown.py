"""What the command line prints for people, where it once said too much, too little, or what was not so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from client_support import RecordingNode
from test_cli import Run
from test_cli import bare as bare
from test_cli import cli as cli
from test_cli import node as node

from mnemesh import Client, link_values, recall_values, transcript_values, wire
from mnemesh.cli import people, people_links
from mnemesh_proto.v1 import memory_pb2, recall_pb2

MEMORY = memory_pb2.Memory(id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11")
ANSWER: recall_values.Recalled = wire.to_value(
    recall_pb2.RecallResponse(
        results=[
            recall_pb2.RecallResult(
                id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", content="The rota", score=0.25, memory=MEMORY
            )
        ],
        abstain=True,
        coverage=0.25,
    ),
    recall_values.Recalled,
)


def test_an_answer_that_is_probably_none_says_so_but_a_listing_answers_no_question() -> None:
    first, *_, last = people.recalled(ANSWER)
    assert (first, last) == (" 1  0.25  The rota", "probably not the answer (coverage 0.25)")
    first, *rest = people.recalled(ANSWER, asked=False)
    assert first == " 1     -  The rota"
    assert not [line for line in rest if "probably" in line]


def test_recall_without_words_lists(cli: Run) -> None:
    cli("remember", "Deploys run from CI only")
    assert cli("recall").out.startswith(" 1     -  Deploys run from CI only\n")
    assert cli("recall", " ").out.startswith(" 1     -  ")
    assert " -  " not in cli("recall", "deploys").out.splitlines()[0]


def test_the_answers_to_a_file_of_queries_stand_apart(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Deploys run from CI only")
    (tmp_path / "asked.jsonl").write_text('"deploys"\n{"limit": 1}\n')
    first, second = cli("recall-batch", "asked.jsonl").out.split("\n\n")
    assert first.startswith("? deploys\n 1  ")
    assert second.startswith("?\n 1     -  Deploys")


@pytest.mark.parametrize(
    ("content", "told"), [(None, "a file that can be read (No such file or directory)"), (b'"\xff"', "a file in UTF-8")]
)
def test_a_file_of_queries_that_can_not_be_read_says_why_once(
    cli: Run, tmp_path: Path, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / "asked.jsonl").write_bytes(content)
    ended = cli("recall-batch", "asked.jsonl")
    assert ended.status == 2
    assert told in ended.err
    assert ended.err.count("asked.jsonl") == 1


def test_a_rating_says_what_each_number_counts() -> None:
    rated = link_values.Ratings(rated=(link_values.RatedMemory(id="m", useful=2, not_useful=1, changed=True),))
    assert list(people_links.rated(rated)) == ["m  useful to 2, not useful to 1"]


@pytest.mark.parametrize("group", ["agent", "peer", "sync", "transcript", "backup", "node"])
def test_a_group_of_commands_alone_shows_its_help_once(bare: Run, group: str) -> None:
    ended = bare(group)
    assert ended.status == 2
    assert (ended.out + ended.err).count("Usage:") == 1


def test_a_transcript_is_searched_by_words_as_they_come_or_in_quotes(
    bare: Run, node: RecordingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def search(client: Client, query: str, **options: Any) -> transcript_values.FoundTurns:
        asked.append(query)
        return transcript_values.FoundTurns(results=(), spaces=("@owner",))

    monkeypatch.setattr(Client, "search_transcripts", search)
    for words in (("package", "manager"), ("package manager",)):
        assert bare("transcript", "search", "--endpoint", node.endpoint, *words).status == 0
    assert asked == ["package manager"] * 2


def test_a_time_that_is_none_says_first_what_one_types(cli: Run) -> None:
    ended = cli("recall", "x", "--as-of", "yesterday")
    assert ended.status == 2
    assert "'yesterday' is not allowed; an RFC 3339 time with zone, such as" in ended.err
