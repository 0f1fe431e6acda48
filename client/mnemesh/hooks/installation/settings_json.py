"""Edits of JSON settings as text: a member is put in or taken out, and every other character stays.

Pure. Reads JSON with comments and trailing commas too. Each edit is checked: the new text must read as the old value
with that one change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

Path = tuple[str | int, ...]
_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
INDENT: Final = "  "


class BadSettings(Exception):
    """A text that can't be read or changed safely; the message says why."""


@dataclass(slots=True)
class JsonNode:
    """A value with the place of its text. A container has its children and the keys of an object."""

    value: Any
    start: int
    end: int = 0
    children: list[JsonNode] = field(default_factory=list)
    # Of each child: the begin of its key in an object, else of itself, and the place of the comma behind it or -1.
    begins: list[int] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)

    def child(self, key: str | int) -> JsonNode | None:
        """The member or item, None for a missing one. Raises BadSettings where the key stands twice."""
        if isinstance(key, int):
            return self.children[key] if isinstance(self.value, list) and key < len(self.children) else None
        if not isinstance(self.value, dict):
            raise BadSettings(f"an object was expected around {key!r}")
        if len(self.value) != len(self.children):
            raise BadSettings(f"a key stands twice beside {key!r}")
        return self.children[list(self.value).index(key)] if key in self.value else None


def read(text: str) -> Any:
    """The value of `text`; a blank text is an empty object. Raises BadSettings."""
    try:
        value = json.loads(text.removeprefix("\ufeff"))  # many times faster than a tree, and mostly enough
    except (ValueError, RecursionError):
        return _tree(text).value
    return value if isinstance(value, dict) else _tree(text).value


def put(text: str, path: Path, value: Any) -> str:
    """`text` with a new member at `path`. The last step -1 appends to an array. Missing containers are made. Raises
    BadSettings."""
    if not text.strip("\ufeff \t\r\n"):
        newline = "\r\n" if "\r\n" in text else "\n"
        text = ("\ufeff" if text.startswith("\ufeff") else "") + "{}" + newline
    tree = _tree(text)
    node, rest = tree, list(path)
    while len(rest) > 1 and (child := node.child(rest[0])) is not None:
        node = child
        rest.pop(0)
    made = value
    for step in reversed(rest[1:]):
        made = [made] if step == -1 else {step: made}
    if not isinstance(node.value, list if rest[0] == -1 else dict):
        raise BadSettings(f"another form was expected at {'.'.join(map(str, path[: len(path) - len(rest)]))}")
    if rest[0] != -1 and node.child(rest[0]) is not None:
        raise BadSettings(f"{'.'.join(map(str, path))} is there already")
    changed = _inserted(text, node, None if rest[0] == -1 else str(rest[0]), made)
    expected = read(text)
    _put_into(expected, path, value)
    return _checked(changed, expected)


def take(text: str, path: Path) -> str:
    """`text` without the member or item at `path`. Raises BadSettings."""
    tree = _tree(text)
    node = tree
    for step in path[:-1]:
        child = node.child(step)
        if child is None:
            raise BadSettings(f"{'.'.join(map(str, path))} is not there")
        node = child
    gone = node.child(path[-1])
    if gone is None:
        raise BadSettings(f"{'.'.join(map(str, path))} is not there")
    number = next(number for number, child in enumerate(node.children) if child is gone)
    begin = node.begins[number]
    blank = len(text[:begin]) - len(text[:begin].rstrip(" \t\r\n"))
    comma = node.commas[number]
    if comma < 0 and number:
        comma = node.commas[number - 1]
    expected = read(text)
    inside = expected
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    commas = [(comma, comma + 1)] if comma >= 0 else []
    if len(node.children) == 1 and not text[gone.end : node.end - 1].strip():
        return _checked(_cut(text, [(begin - blank, node.end - 1)]), expected)
    try:
        return _checked(_cut(text, [(begin - blank, gone.end), *commas]), expected)
    except BadSettings:  # a comment ends with the line break before the member
        return _checked(_cut(text, [(begin, gone.end), *commas]), expected)


def _cut(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _inserted(text: str, node: JsonNode, key: str | None, value: Any) -> str:
    closer = node.end - 1
    inner = text[node.start + 1 : closer]
    at = len(text[:closer].rstrip(" \t\r\n"))
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    newline = "\r\n" if "\r\n" in text else "\n"
    comma = trailing = ""
    if node.children and node.commas[-1] < 0:
        comma = ","
    elif node.children:  # the form of the file, in which the last member has a comma too
        trailing = ","
    last = node.children[-1].end if node.children else at
    if node.children and "\n" not in inner:
        made = f" {name}{json.dumps(value, ensure_ascii=False)}{trailing}"
        return text[:last] + comma + text[last:at] + made + text[at:]
    outer = _indent_of(text, node.start)
    unit = _unit_of(text)
    indent = _indent_of(text, node.begins[-1]) if node.children else outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)
    end = text[at:closer]
    if "\n" not in end:
        end = newline + outer
    return text[:last] + comma + text[last:at] + newline + indent + name + shown + trailing + end + text[closer:]


def _indent_of(text: str, at: int) -> str:
    """The blanks that begin the line of a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit_of(text: str) -> str:
    """One step of indentation, by the first line that has any."""
    indented = re.search(r"\n([ \t]+)[^\s/*]", text)
    return indented[1] if indented else INDENT


def _put_into(value: Any, path: Path, new: Any) -> None:
    for step, following in pairwise(path):
        value = value.setdefault(step, [] if following == -1 else {})
    if path[-1] == -1:
        value.append(new)
    else:
        value[path[-1]] = new


def _checked(text: str, expected: Any) -> str:
    if read(text) != expected:
        raise BadSettings("its form does not allow a safe change")
    return text


def _tree(text: str) -> JsonNode:
    at = _blank(text, 0)
    if at == len(text):
        return JsonNode({}, at, at)
    try:
        node = _value(text, at)
    except RecursionError:
        raise BadSettings("it is nested too deeply") from None
    end = _blank(text, node.end)
    if end != len(text):
        raise _fault(text, end)
    if not isinstance(node.value, dict):
        raise BadSettings("it holds no object")
    return node


def _value(text: str, at: int) -> JsonNode:
    opener = text[at : at + 1]
    if opener == "{":
        return _container(text, at, "}")
    if opener == "[":
        return _container(text, at, "]")
    match = _STRING.match(text, at) or _SCALAR.match(text, at)
    if match is None:
        raise _fault(text, at)
    try:
        return JsonNode(json.loads(match[0]), at, match.end())
    except ValueError:
        raise _fault(text, at) from None


def _container(text: str, at: int, closer: str) -> JsonNode:
    node = JsonNode({} if closer == "}" else [], at)
    at = _blank(text, at + 1)
    while text[at : at + 1] != closer:
        if node.children and node.commas[-1] < 0:
            raise _fault(text, at)
        node.begins.append(at)
        if closer == "}":
            key = _STRING.match(text, at)
            colon = _blank(text, key.end()) if key else at
            if key is None or text[colon : colon + 1] != ":":
                raise _fault(text, colon)
            child = _value(text, _blank(text, colon + 1))
            node.value[json.loads(key[0])] = child.value
        else:
            child = _value(text, at)
            node.value.append(child.value)
        node.children.append(child)
        at = _blank(text, child.end)
        node.commas.append(at if text[at : at + 1] == "," else -1)
        if node.commas[-1] >= 0:
            at = _blank(text, at + 1)
    node.end = at + 1
    return node


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _fault(text: str, at: int) -> BadSettings:
    line = text.count("\n", 0, at) + 1
    return BadSettings(f"it is no JSON (line {line}, column {at - text.rfind(chr(10), 0, at)})")


def empty_paths(value: Any, path: Path = ()) -> list[Path]:
    """Every path of a value that is an empty container."""
    if value in ({}, []):
        return [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [empty for key, inner in pairs for empty in empty_paths(inner, (*path, key))]
