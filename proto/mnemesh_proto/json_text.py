"""The reader of JSON from people and programs: the HTTP body, lines of MCP, imports. A fault is told in plain words.

Knows no fields and no messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

# The words of Python's parser, by their beginning, and the plain ones.
PLAIN: Final = MappingProxyType(
    {
        "Expecting value": "a value is missing",
        "Expecting property name": "a field name in double quotes is missing",
        "Expecting ':'": "a colon is missing",
        "Expecting ','": "a comma or a closing bracket is missing",
        "Illegal trailing comma": "a comma stands before a closing bracket",
        "Extra data": "more text follows a complete JSON value",
        "Unterminated string": "the text that begins there has no closing quote",
        "Invalid control character": "a text holds a control character that is not escaped",
        "Invalid \\": "a text holds an unknown escape",
    }
)
UNKNOWN: Final = "the text is not JSON"


class NotJson(Exception):
    """A text that is no JSON. `fault` says why; `line` and `column` say where, from 1, or are 0 for the whole text."""

    def __init__(self, fault: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{fault} (column {column})" if column else fault)
        self.fault = fault
        self.line = line
        self.column = column


def read_json(text: str | bytes, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The JSON value in `text`; `pairs_hook` makes its objects. Raises NotJson; UnicodeDecodeError for bytes that are
    no Unicode."""
    try:
        return json.loads(text, object_pairs_hook=pairs_hook)
    except json.JSONDecodeError as error:
        words = (plain for python, plain in PLAIN.items() if error.msg.startswith(python))
        raise NotJson(next(words, UNKNOWN), error.lineno, error.colno) from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise
    except ValueError:
        # Python refuses integers of more than 4,300 digits (CVE-2020-10735).
        raise NotJson("a number has too many digits") from None
