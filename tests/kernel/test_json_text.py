"""JSON is read as Python reads it, and a fault is told in plain words with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_proto.json_text import UNKNOWN, NotJson, read_json

PYTHON = ("Expecting", "Unterminated", "Extra data", "delimiter", "char ", "sys.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing (column 1)"),
        ('{"a": }', "a value is missing (column 7)"),
        ("{a: 1}", "a field name in double quotes is missing (column 2)"),
        ('{"a" 1}', "a colon is missing (column 6)"),
        ("[1 2]", "a comma or a closing bracket is missing (column 4)"),
        ("{} {}", "more text follows a complete JSON value (column 4)"),
        ('"open', "the text that begins there has no closing quote (column 1)"),
        ('"a\tb"', "a text holds a control character that is not escaped (column 3)"),
        (r'"\q"', "a text holds an unknown escape (column 2)"),
        ("\ufeff{}", f"{UNKNOWN} (column 1)"),
        ("[" * 100_000, "it is nested too deeply"),
        ("9" * 5_000, "a number has too many digits"),
    ],
)
def test_a_fault_is_told_in_plain_words(text: str, message: str) -> None:
    with pytest.raises(NotJson) as caught:
        read_json(text)
    assert str(caught.value) == message


@given(st.text(alphabet='{}[]",:0 1e-.tn\\u\n', max_size=12))
def test_any_text_is_read_as_python_reads_it_or_told_without_python_s_words(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(NotJson) as caught:
            read_json(text)
        assert not any(word in str(caught.value) for word in PYTHON)
        assert caught.value.line >= 1
    else:
        assert read_json(text) == value
