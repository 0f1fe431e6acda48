"""The gate of the mode `gated`: which prompts of a session ask the memory."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mnemesh.hooks.prompt_gate import Gate, GateFile, words_of

KILN = "please repair the kiln schedule of pier seven"
AGAIN = "repair the kiln schedule until pier seven works"
CRANE = "which paint belongs on harbour cranes"


def opened(prompts: list[str], answered: set[str]) -> list[bool]:
    """Of each prompt whether the gate opened. Those of `answered` bring memories."""
    gate, found = Gate(), []
    for prompt in prompts:
        opens = gate.opens(prompt)
        found.append(opens)
        gate = gate.asked(prompt, brought=prompt in answered) if opens else gate.closed()
    return found


def test_after_memories_the_next_two_prompts_of_the_topic_get_none() -> None:
    assert opened([KILN, AGAIN, AGAIN, AGAIN, AGAIN], {KILN, AGAIN}) == [True, False, False, True, False]


def test_another_topic_opens_the_gate_at_once() -> None:
    assert opened([KILN, CRANE, CRANE], {KILN, CRANE}) == [True, True, False]


def test_after_three_questions_without_an_answer_one_prompt_in_three_asks() -> None:
    assert opened([KILN] * 10, set()) == [True, True, True, False, False, True, False, False, True, False]


def test_the_file_keeps_the_gate_without_a_word_and_a_damaged_one_begins_anew(tmp_path: Path) -> None:
    file = GateFile(tmp_path, "claude-code", "s1")
    assert file.read().members() == Gate().members()
    gate = Gate(empty=1, passed=2, brought=True, topic=words_of(KILN))
    file.write(gate)
    assert file.read().members() == gate.members()
    (kept,) = (tmp_path / GateFile.folder).iterdir()
    assert "kiln" not in kept.read_text()
    for damage in ("[]", "{", '{"topic": 3}', '{"empty": "x"}', '{"empty": 1e999}', '{"topic": [1e999]}', ""):
        kept.write_text(damage + "\n")
        assert file.read().members() == Gate().members()


@given(st.lists(st.text(max_size=200), max_size=20), st.booleans())
def test_whatever_is_typed_the_first_prompt_asks_and_no_pause_is_endless(prompts: list[str], brought: bool) -> None:
    gate = Gate()
    assert gate.opens("anything")
    for prompt in prompts:
        gate = gate.asked(prompt, brought=brought) if gate.opens(prompt) else gate.closed()
        waiting = gate
        for _ in range(3):
            waiting = waiting.closed()
        assert waiting.opens(prompt)
