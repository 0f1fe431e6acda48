"""JSON for the programs that a host starts at every prompt, by the C half of the standard library's `json`.

The other half imports `re`, which takes a hook as long as all its own work. Texts and values are the same.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\n\r"


class _Rules:
    """The rules of the scanner: plain values, and no control character inside a text."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = parse_constant = float
    parse_int = int


_scan = make_scanner(_Rules())  # type: ignore[arg-type]


def loads(data: str | bytes) -> Any:
    """The value of a text, bytes as UTF-8. Any other text goes the slow way, which reads UTF-16 and a mark of the byte
    order, and says why a text is no JSON. Raises ValueError."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
        value, end = _scan(text, len(text) - len(text.lstrip(_BLANKS)))
        if not text[end:].strip(_BLANKS):
            return value
    except (StopIteration, ValueError, SystemError):  # the last without `json`, whose error the scanner looks for
        pass
    import json

    return json.loads(data)


def dumps(value: Any) -> str:
    """`value` in ASCII. Raises TypeError for other values than JSON has."""
    encoder = make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return "".join(encoder(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} has no form in JSON")
