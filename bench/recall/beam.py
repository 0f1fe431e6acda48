"""`python -m bench.recall.beam PATH`: recall of a running node on BEAM, by the share of answering messages in the
result.

PATH is a conversation of BEAM or a folder of conversations, no part of this repository (M. Tavakoli and others, "Beyond
a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs", arXiv:2510.27246). A conversation is a folder
with chat.json and probing_questions/probing_questions.json. As with the authors, a shortened chat stands for the chat
where there is one. The authors judge answers. This program judges messages: of those named as the source of a question
recall finds any, all, some share. Questions without a source, as those without an answer, have no score. One fresh
space a conversation, a message a memory, a batch a session. The chats of ten million tokens lie in parts and are not
read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.node import fresh_node
from bench.recall.ranking import found_at
from bench.report import machine, means, show_means
from bench.texts.documents import BadFile, Document, member, of_kind, read_json, remember
from rich.console import Console
from rich.progress import track

from mnemesh import Client

RESULT: Final = Path(__file__).resolve().parents[1] / "results" / "beam.json"
CHATS: Final = ("chat_trunecated.json", "chat.json")  # spelled so there
QUESTIONS: Final = "probing_questions/probing_questions.json"
KS: Final = (5, 10, 20)
ANCHOR_FORMAT: Final = "%B-%d-%Y"
SHOWN: Final = tuple(f"{name}@{k}" for k in KS for name in ("any", "all", "share"))
TABLE_CHARS: Final = 150
# Behind a message stands the place in the plan that it was made from.
_PLAN_MARK: Final = re.compile(r"\s*->->\s*[\d,\s]*$")


class Probe(NamedTuple):
    """A question, the ability under test, and the messages with its answer."""

    ability: str
    question: str
    wanted: frozenset[str]


class Conversation(NamedTuple):
    """The messages of a conversation and what is asked about it."""

    name: str
    messages: tuple[Document, ...]
    probes: tuple[Probe, ...]


def load(path: Path) -> list[Conversation]:
    """Every conversation at or below `path`. Raises BadFile that names the file and the place in it."""
    folders = sorted(found.parent.parent for found in path.rglob(QUESTIONS))
    if not folders:
        raise BadFile(f"{path}: no folder with {QUESTIONS} in it")
    return [_conversation(folder) for folder in folders]


def _conversation(folder: Path) -> Conversation:
    chat = next((folder / name for name in CHATS if (folder / name).exists()), None)
    if chat is None:
        raise BadFile(f"{folder}: neither {' nor '.join(CHATS)}")
    messages = tuple(_messages(of_kind(read_json(chat), list, str(chat)), str(chat)))
    known = [one.id for one in messages]
    if len(set(known)) != len(known):
        twice = next(id_ for id_ in known if known.count(id_) > 1)
        raise BadFile(f"{chat}: two messages have the id {twice}")
    questions = folder / QUESTIONS
    probes = tuple(_probes(read_json(questions), str(questions)))
    for probe in probes:
        if strange := probe.wanted.difference(known):
            raise BadFile(f"{questions}: {probe.ability}: source_chat_ids names {min(strange)}, not in {chat.name}")
    return Conversation(folder.name, messages, probes)


def _messages(batches: list[Any], where: str) -> Iterator[Document]:
    seq = 0
    for number, batch in enumerate(batches):
        at = f"{where}: batch {number}"
        when = None
        for message in _flat(member(batch, "turns", list, at) if isinstance(batch, dict) else batch, at):
            id_ = member(message, "id", int, f"{at}: message {seq}")
            anchor = message.get("time_anchor")
            when = _date(anchor, f"{at}: message {id_}") if anchor else when
            text = _PLAN_MARK.sub("", member(message, "content", str, f"{at}: message {id_}"))
            yield Document(str(id_), text, f"batch-{number}", seq, when)
            seq += 1


def _flat(part: Any, where: str) -> Iterator[Any]:
    """The messages of a batch, which lie in groups of one exchange."""
    for one in of_kind(part, list, where):
        if isinstance(one, list):
            yield from _flat(one, where)
        else:
            yield one


def _date(anchor: Any, where: str) -> datetime:
    text = of_kind(anchor, str, f"{where}: time_anchor")
    try:
        return datetime.strptime(text, ANCHOR_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise BadFile(f"{where}: time_anchor {text!r} is not like March-15-2024") from None


def _probes(abilities: Any, where: str) -> Iterator[Probe]:
    for ability, probes in of_kind(abilities, dict, where).items():
        at = f"{where}: {ability}"
        for number, probe in enumerate(of_kind(probes, list, at)):
            question = member(probe, "question", str, f"{at}: {number}")
            wanted = frozenset(_sources(probe.get("source_chat_ids", []), f"{at}: {number}: source_chat_ids"))
            yield Probe(ability, question, wanted)


def _sources(named: Any, where: str) -> Iterator[str]:
    """Ids stand in a list, or in several of one object, one a statement."""
    for one in named.values() if isinstance(named, dict) else of_kind(named, list, where):
        if isinstance(one, dict | list):
            yield from _sources(one, where)
        else:
            yield str(of_kind(one, int, where))


def scores(ranked: Sequence[str], wanted: frozenset[str]) -> dict[str, float]:
    """Every figure of one question, from the messages that were found, best first."""
    found = {k: found_at(ranked, wanted, k) for k in KS}
    return {
        f"{name}@{k}": value
        for k, one in found.items()
        for name, value in (("any", one.any), ("all", one.all), ("share", one.share))
    }


def main(argv: Sequence[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.beam", description="Measure recall on BEAM.")
    parser.add_argument("path", type=Path, help="a conversation, or a folder with conversations at any depth")
    given = parser.parse_args(argv)
    try:
        conversations = load(given.path)
    except BadFile as error:
        print(error, file=sys.stderr)
        return 2
    with fresh_node() as client:
        rows, refused = measured(client, conversations)
    console = Console(width=None if sys.stdout.isatty() else TABLE_CHARS)
    table = means(rows)
    show_means(table, "ability", SHOWN, console)
    asked, scored = sum(len(one.probes) for one in conversations), sum(map(len, rows.values()))
    console.print(f"{asked - scored} of {asked} questions name no source; {refused} messages were refused")
    facts = {"machine": machine(), "conversations": len(conversations), "refused": refused}
    RESULT.write_text(json.dumps({**facts, "rows": table}, indent=1) + "\n", "utf-8")
    return 0


def measured(client: Client, conversations: Sequence[Conversation]) -> tuple[dict[str, list[dict[str, float]]], int]:
    """The figures of every question by its ability, and how many messages the node refused."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    refused = 0
    for number, conversation in enumerate(track(conversations, "conversations", transient=True)):
        space = f"beam/{number}"
        stored, left = remember(client, conversation.messages, space)
        refused += len(left)
        for probe in conversation.probes:
            if probe.wanted:
                answer = client.recall(probe.question, space=space, limit=max(KS), snippets_only=True)
                rows[probe.ability].append(scores([stored[one.id] for one in answer.results], probe.wanted))
    return rows, refused


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
