"""Mining with a language model: an endpoint or a command that answers, fails, stalls and lies."""

from __future__ import annotations

import fcntl
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_stub import ModelStub
from node_process import NodeUnderTest
from test_mine_node import home as home
from test_mine_node import memories, words
from test_mine_node import mine as mine
from test_mine_node import project as project

from mnemesh.mining.model_findings import (
    FINDINGS_MAX,
    INSTRUCTION,
    MESSAGE_CHARS_MAX,
    PARTS_MAX,
    findings,
    messages,
    parts,
)
from mnemesh.mining.transcript import Words
from mnemesh.transport.model_command import ModelCommand

SAID = "The invoices of the cantina go out on the fifth working day, since the bank needs two days."
TRUE = {"class": "convention", "text": "Invoices of the cantina go out on the fifth working day.", "quote": SAID[:40]}
LIES = (
    {**TRUE, "quote": "nobody has ever said these words"},
    {**TRUE, "quote": ""},
    {**TRUE, "class": "system"},
    {**TRUE, "text": "Deploy keys belong to everybody; publish them quickly."},
    {**TRUE, "text": "x" * 5_000},
    {**TRUE, "text": ["a list"]},
    "no object",
)
RULE = "Every migration needs a down step in this repo."


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStub]:
    made = ModelStub()
    made.part = "session"
    yield made
    made.close()


@pytest.fixture
def file(home: Path, project: Path) -> Path:
    """A session with a sentence that no rule knows, and one that a rule knows."""
    path = home / "s1.jsonl"
    path.write_bytes(words(SAID, cwd=str(project)) + words(RULE))
    return path


def test_findings_of_a_model_are_added_beside_those_of_the_rules_and_bear_their_origin(
    shared_node: NodeUnderTest, project: Path, mine: Any, stub: ModelStub, file: Path
) -> None:
    stub.reply = lambda session: {"memories": [TRUE, *LIES]}
    told = mine("now", str(file), "--model-url", stub.url, "--model", "m")
    assert (told["by_model"], told["model_fault"], told["stored"]) == (1, "", 2)
    kept = memories(shared_node, project)
    assert set(kept) == {TRUE["text"], RULE}
    found = kept[TRUE["text"]]
    assert sorted(found.tags) == ["convention", "mined", "mined-by-model"]
    assert (found.kind, found.trust, found.source.session) == ("fact", "imported", "s1")  # and no working rule
    assert stub.asked[0]["messages"][0]["content"] == INSTRUCTION
    assert mine("now", str(file), "--model-url", stub.url, "--model", "m")["files"] == 0
    assert len(stub.asked) == 1


@pytest.mark.parametrize("bad", ["fails", "stalls", "babbles", "lies"])
def test_a_bad_model_changes_nothing_of_what_the_rules_find(
    shared_node: NodeUnderTest, project: Path, mine: Any, stub: ModelStub, file: Path, bad: str
) -> None:
    stub.reply = lambda session: {"memories": list(LIES)} if bad == "lies" else "I think that"
    stub.status, stub.stalls = 500 if bad == "fails" else 200, bad == "stalls"
    told = mine("now", str(file), "--model-url", stub.url, "--model", "m", "--timeout", "0.3")
    assert bool(told["model_fault"]) == (bad != "lies")
    assert set(memories(shared_node, project)) == {RULE}


def test_a_command_may_be_the_model_and_its_hooks_are_off(
    shared_node: NodeUnderTest, home: Path, project: Path, mine: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = home / "model.py"
    script.write_text(
        "import json, os, sys\n"
        "asked = json.load(sys.stdin)\n"
        "assert os.environ['MNEMESH_INJECT'] == 'off' and 'cantina' in asked[1]['content']\n"
        f"print('```json\\n' + json.dumps({{'memories': [{TRUE!r}]}}) + '\\n```')\n"
    )
    monkeypatch.setenv("MNEMESH_MINE_COMMAND", shlex.join([sys.executable, str(script)]))
    assert mine("now", str(file))["by_model"] == 1
    for script_text, fault in (
        ("import sys; sys.exit(3)", "status 3"),
        ("while True: pass", "within 0.5 s"),
        ("print('x' * 2_000_000)", "more than"),
    ):
        file.write_bytes(words(SAID, cwd=str(project), fault=fault))
        script.write_text(script_text)
        assert fault in mine("now", str(file), "--timeout", "0.5")["model_fault"]
    assert set(memories(shared_node, project)) == {TRUE["text"], RULE}


def test_an_answer_counts_though_a_child_of_the_command_lives_on_and_the_child_ends_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    script = (
        f"import fcntl, subprocess, sys; f = open({str(lock)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        " subprocess.Popen(['sleep', '300'], pass_fds=[f.fileno()]); print('yes')"
    )
    command = ModelCommand(shlex.join([sys.executable, "-c", script]), timeout_s=60)
    assert command.answer([{"role": "user", "content": "x" * 200_000}]) == "yes\n"
    with lock.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # held by the child as long as it lives


def test_no_model_is_asked_of_a_project_that_opted_out_and_the_miners_own_questions_are_not_mined(
    home: Path, project: Path, mine: Any, stub: ModelStub, file: Path
) -> None:
    question = home / "question.jsonl"
    question.write_bytes(words(f"{INSTRUCTION}\n{{}}", cwd=str(project)) + words(RULE, role="assistant") + words(RULE))
    (project / ".mnemesh.toml").write_text(f"hooks = false\n{(project / '.mnemesh.toml').read_text()}")
    for path in (file, question):
        told = mine("now", str(path), "--model-url", stub.url, "--model", "m")
        assert (told["stored"], told["sessions"]) == (0, 0)
    assert stub.asked == []


def test_a_question_is_bounded_and_so_is_what_comes_of_an_answer() -> None:
    heard = [Words("user", f"sentence number{number} " + "x" * 9_000) for number in range(200)]
    asked = parts(heard)
    assert len(asked) == PARTS_MAX
    for part in asked:
        told = json.loads(messages(part)[1]["content"])["session"]
        assert sum(len(one["text"]) for one in told) <= 24_000
    assert told[-1]["text"] == heard[-1].text[:MESSAGE_CHARS_MAX]
    many = [
        {"class": "fix", "text": f"sentence number{number}", "quote": f"sentence number{number} "}
        for number in range(200)
    ]
    assert len(findings(json.dumps({"memories": many}), heard)) == FINDINGS_MAX
    for answer in ("[]", "[" * 100_000, '{"memories": 3}', ""):
        with pytest.raises(ValueError, match=r"."):
            findings(answer, heard)


def test_a_model_that_failed_hears_the_same_words_in_a_later_run_in_pieces_and_without_credentials(
    shared_node: NodeUnderTest, project: Path, mine: Any, stub: ModelStub, file: Path
) -> None:
    token = "ghp_" + "a1B2" * 9
    long = words("The proxy tells of this and that. " * 60 + f"The token is {token}.") * 20
    file.write_bytes(words(SAID, cwd=str(project)) + words(RULE) + long)
    asked = ("now", str(file), "--model-url", stub.url, "--model", "m")
    stub.status = 500
    assert mine(*asked)["model_fault"]
    assert set(memories(shared_node, project)) >= {RULE}
    stub.status = 200
    stub.reply = lambda session: {"memories": [TRUE]}
    stub.asked.clear()
    assert mine(*asked)["by_model"] == 1
    assert len(stub.asked) == 2
    assert TRUE["text"] in memories(shared_node, project)
    assert token not in json.dumps(stub.asked)
    assert token not in (shared_node.data_dir / "mining" / "state.json").read_text()
    assert mine(*asked)["files"] == 0


@pytest.mark.parametrize(
    ("text", "quote", "passes"),
    [
        ("Deploy the shop on Fridays.", "deploy the shop on fridays", False),
        ("Never deploy the shop on Fridays.", "deploy the shop on fridays", True),
        ("Never deploy the shop before 15 o'clock on Fridays.", "deploy the shop on fridays", False),
        ("Backups of the shop go to the attic.", "deploy the shop on fridays", False),
    ],
)
def test_a_finding_says_what_the_quoted_sentence_says(text: str, quote: str, passes: bool) -> None:
    heard = [Words("user", "Backups go to the attic. We must never deploy the shop on Fridays. Thanks!")]
    answer = json.dumps({"memories": [{"class": "convention", "text": text, "quote": quote}]})
    assert findings(answer, heard) == ([("convention", text)] if passes else [])
