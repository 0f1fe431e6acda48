"""Edits of TOML settings as text: the table of our server is appended or cut out, and every other character stays.

Pure. Each edit is checked as in `settings_json`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from mnemesh.hooks.installation.settings_json import BadSettings

Path = tuple[str, ...]
# Blank lines and comments at the end of a table.
_NO_KEY: Final = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z))+\Z", re.MULTILINE)


def read(text: str) -> dict[str, Any]:
    """The value of `text`. Raises BadSettings."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSettings(f"it is no TOML ({error})") from None


def put(text: str, path: Path, table: Mapping[str, Any]) -> str:
    """`text` with a new table at its end. Raises BadSettings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()), ""]
    gap = "" if not text.strip("\ufeff \t\r\n") else newline if text.endswith("\n") else newline * 2
    expected = read(text)
    inside = expected
    for step in path[:-1]:
        inside = inside.setdefault(step, {})
    inside[path[-1]] = dict(table)
    return _checked(text + gap + newline.join(lines), expected)


def take(text: str, path: Path) -> str:
    """`text` without the table. Raises BadSettings where the table does not stand under a header of its own."""
    expected = read(text)
    inside = expected
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    if not inside and len(path) > 1:
        del expected[path[0]]
    header = re.compile(rf"^[ \t]*\[{re.escape('.'.join(path))}\][^\n]*\n?", re.MULTILINE)
    begin = header.search(text)
    if begin is None:
        raise BadSettings(f"[{'.'.join(path)}] has no header of its own")
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, begin.end())
    until = following.start() if following else len(text)
    # Comments behind the last key of the table are somebody's own.
    kept = _NO_KEY.search(text[begin.end() : until])
    end = begin.end() + kept.start() if kept else until
    before = text[: begin.start()]
    if not text[end:].strip():
        end = len(text)
        before = before.rstrip("\r\n") + ("\r\n" if before.rstrip("\r\n") != before and "\r\n" in text else "\n")
        before = before if before.strip("\ufeff \r\n") else ""
    return _checked(before + text[end:], expected)


def _checked(text: str, expected: Mapping[str, Any]) -> str:
    try:
        changed = read(text)
    except BadSettings:  # the text with our table in it: its lines are none of the person's
        changed = None
    if changed != expected:
        raise BadSettings("its form does not allow a safe change")
    return text
