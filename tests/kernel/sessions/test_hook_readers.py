"""The small readers of a hook: each gives what the large one of the standard library gives, without its import."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh.hooks.context import harmless, words_in
from mnemesh.transport.git_repository import _remotes, _scp_path
from mnemesh.transport.percent import quoted
from mnemesh.transport.space import plain_keys
from mnemesh_proto import plain_json

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
CONFIG_LINES = st.lists(
    st.sampled_from(
        [
            "[core]", '[remote "origin"]', '  [ Remote  "up stream" ]', '[branch "main"] url = no', "[remote]",
            "\turl = git@h.example:a/b.git", 'URL="https://h/a/b" ; said', "url=/srv/a # here", "url = C:\\\\a\\\\b",
            "pushurl = x", "url", '[remote "one"] url = https://h/c', "", "# url = x", "  url\t=\ta#b",
        ]
    )
)  # fmt: skip


@PROPERTY
@given(VALUES)
def test_a_value_is_written_and_read_as_the_standard_library_does(value: Any) -> None:
    assert plain_json.dumps(value) == json.dumps(value)
    for text in (json.dumps(value), f" \n{json.dumps(value, indent=1, ensure_ascii=False)}\t"):
        assert plain_json.loads(text) == json.loads(text)
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
            assert plain_json.loads(text.encode(encoding, "surrogatepass")) == json.loads(text)


@PROPERTY
@given(st.text('{}[]":,0123456789.eE-tfn ul\\x\n') | st.sampled_from(["NaN", "-Infinity", "1 2", "", " ", "\ufeff{}"]))
def test_a_text_that_is_no_json_is_refused_as_the_standard_library_does(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r".+"):
            plain_json.loads(text)
    else:
        assert repr(plain_json.loads(text)) == repr(expected)


def test_a_damaged_text_is_refused_where_the_large_reader_has_not_been_imported() -> None:
    whole = '{"a": [1, -2.5, true, null, "b\\u00e9"], "c": {}}'
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "[1 2]",
        "[1,]",
        '{"a": 1,}',
        "{1: 2}",
        '"\\q"',
        '"\\u12"',
        '"a\nb"',
        '"\x00"',
    ]
    program = (
        "import sys\nfrom mnemesh_proto.plain_json import loads\n"
        f"for text in {damaged!r}:\n"
        "    for name in [name for name in sys.modules if name.partition('.')[0] == 'json']:\n"
        "        del sys.modules[name]\n"
        "    try:\n        print('taken', repr(text), loads(text))\n"
        "    except ValueError:\n        pass\n"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@PROPERTY
@given(st.text())
def test_words_are_those_of_a_regular_expression(text: str) -> None:
    assert list(words_in(text)) == re.findall(r"\w+", text)


@PROPERTY
@given(st.text('<> \t/!?aZ1"\u0131\u212a\u00e9'))
def test_every_beginning_of_a_tag_is_made_harmless(text: str) -> None:
    line = " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())
    assert harmless(text) == re.sub(r"<(?=\s*[/!?a-z])", "&lt;", line, flags=re.IGNORECASE)


@PROPERTY
@given(
    st.lists(
        st.sampled_from(
            ['space = "a/b"', "hooks=false", "\tx = true # no", 'y = "\\n"', "", "# a", "z = 1", "[t]", "é=1"]
        )
        | st.text("abc=\"\\\t #\r\x0b[]'", max_size=12)
    )
)
def test_keys_of_a_plain_toml_text_are_those_of_the_standard_library(lines: list[str]) -> None:
    text = "\n".join(lines)
    keys = plain_keys(text)
    assert keys is None or keys == tomllib.loads(text)


@PROPERTY
@given(st.text(), st.sampled_from(["", "/@:~ "]))
def test_a_name_is_encoded_as_the_standard_library_does(text: str, safe: str) -> None:
    assert quoted(text, safe, "replace") == quote(text, safe=safe, errors="replace")


@PROPERTY
@given(
    st.sampled_from(["", "git@", "a/b@", "@", "a:b@"]),
    st.sampled_from(["", "c", "host", "h.example", "[::1]", "[fe80::1]", "a/b", "[]"]),
    st.sampled_from([":", "", "::"]),
    st.sampled_from(["a/b.git", "~u/x", "/srv/a", "b@c:d"]),
)
def test_an_address_of_ssh_has_its_path(user: str, host: str, colon: str, path: str) -> None:
    url = user + host + colon + path
    found = re.fullmatch(r"(?:[^@/:]+@)?(?:\[[^\]]+\]|[^@/:]{2,}):(?!//)(.+)", url)
    assert _scp_path(url) == (found[1] if found else "")


@PROPERTY
@given(CONFIG_LINES)
def test_remotes_are_those_that_git_reads(lines: list[str]) -> None:
    section_of = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)').match
    url_of = re.compile(r"\s*url\s*=\s*(.*?)\s*(?:\s[#;].*)?$", re.IGNORECASE).match
    expected, remote = [], ""
    for line in lines:
        if section := section_of(line):
            remote, line = (section[2] or "") if section[1].lower() == "remote" else "", section[3]
        if remote and (url := url_of(line)):
            expected.append((remote, url[1].strip().strip('"').replace("\\\\", "\\")))
    assert list(_remotes("\n".join(lines))) == expected
