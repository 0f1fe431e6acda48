"""YAML front matter of Markdown files: written as JSON strings and lists, which are YAML too; read as texts only.

PyYAML's BaseLoader reads, so that nothing becomes a date, a number or an object behind our back: what comes out are
texts, lists and mappings. Values in, values out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FENCE: Final = "---"
FRONT_MATTER_CHARS_MAX: Final = 128 * 1024
# JSON does not escape these, but in YAML they are line breaks or not printable (YAML 1.2.2, 5.1 and 5.4).
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_OPENING: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.M)


class BadFrontMatter(ValueError):
    """Front matter that is no YAML. `line` counts from 1 in the file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class FrontMatterDocument:
    """A file in two parts: the fields of its front matter, if any, and the text after it. The text starts at
    `body_line`, counted from 1. `source` is the front matter as written.
    """

    fields: Mapping[str, object]
    body: str
    body_line: int
    source: str = ""

    def line_of(self, key: str) -> int:
        """The line of the file on which the field `key` stands."""
        at = re.search(rf"^['\"]?{re.escape(key)}['\"]?\s*:", self.source, re.M)
        return self.source.count("\n", 0, at.start()) + 2 if at else 1


def write(fields: Mapping[str, object]) -> str:
    """Front matter with its fences; each value, of JSON types, on the line of its key."""
    lines = [f"{key}: {_scalar(value)}" for key, value in fields.items()]
    return "\n".join((FENCE, *lines, FENCE, ""))


def read(text: str) -> FrontMatterDocument:
    """The front matter and the body of `text`. Front matter that is not closed, or holds no mapping,
    belongs to the body. Raises BadFrontMatter."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatterDocument({}, text.removeprefix("\ufeff"), 1)
    source = text[opening.end() : closing.start()]
    if len(source) > FRONT_MATTER_CHARS_MAX:
        raise BadFrontMatter(1, f"front matter of {len(source)} characters; at most {FRONT_MATTER_CHARS_MAX}")
    value = _load(source)
    if not isinstance(value, Mapping):
        return FrontMatterDocument({}, text.removeprefix("\ufeff"), 1)
    fields = {str(key): item for key, item in value.items()}
    return FrontMatterDocument(fields, text[closing.end() :], text.count("\n", 0, closing.end()) + 1, source)


def _scalar(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _load(source: str) -> Any:
    import yaml  # only imports of Markdown pay for it

    try:
        return yaml.load(source, Loader=yaml.BaseLoader)
    except yaml.reader.ReaderError as error:
        # The front matter starts on line 2 of the file.
        line = source.count("\n", 0, error.position) + 2
        raise BadFrontMatter(line, f"front matter holds {error.character!r}, which YAML forbids") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise BadFrontMatter(line, f"front matter is not YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise BadFrontMatter(1, f"front matter is not YAML: {type(error).__name__}") from None
