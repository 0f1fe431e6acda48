"""Judges a value on its own: random, a password, or a stand-in for one? Knows nothing of where it was found."""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

from mnemesh_memory.secrets.vocabulary import alternatives

_PLACEHOLDER: Final = re.compile(alternatives("placeholder"), re.IGNORECASE)
_TERM: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives('technique')})", re.IGNORECASE)
_WEAK: Final = re.compile(alternatives("known password"), re.IGNORECASE)
_REFERENCE: Final = re.compile(
    r"!(?:secret|vault|env|ref|sub)\b|\*[A-Za-z_]{3,40}$|(?:required|nullable|sometimes)\|"  # YAML, a rule
    r"|\$[A-Za-z_{(]|\{|<|%[({sd]|@[A-Za-z{/.~]|&[A-Za-z]|\(|\["  # a variable, a template, a slot
    r"|(?:\.{0,2}|~)/[a-z][a-z._-]{1,30}(?:/|\.|$)|[A-Za-z]:\\|[a-z][a-z0-9+.-]{0,20}://|(?:arn|ssm|vault|secret|env|file):"
    r"|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?![\w/+=-])|[A-Za-z_][\w.]*[(\[]|[A-Za-z_]+=[\w\"'({\[]"  # code
)
_DATE_OR_VERSION: Final = re.compile(r"v?\d{1,4}(?:[-./]\d{1,4}){1,3}(?:[T_-].*)?")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_DIGIT_OR_SIGN: Final = re.compile(r"[0-9!@#$%^&*+=?~|]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_SWITCH: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|[!#$%^&*]")


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits each."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values())


def holds_placeholder(value: str) -> bool:
    """Whether the writer left a part to be filled in, or the value stems from a manual."""
    return _PLACEHOLDER.search(value) is not None


def is_uuid(value: str) -> bool:
    """Whether the value is a UUID: more often an identifier than a credential."""
    return _UUID.fullmatch(value) is not None


def is_stand_in(value: str) -> bool:
    """Whether the value is a placeholder, a technique, a demonstration's password, a reference or code."""
    return bool(
        len(set(value)) <= 3
        or _REFERENCE.match(value)
        or _PLACEHOLDER.search(value)
        or _TERM.search(value)
        or _WEAK.fullmatch(value)
    )


def is_random(value: str) -> bool:
    """Whether many different characters change class often, unlike those of words, identifiers and versions."""
    if len(value) < 16 or len(_SWITCH.findall(value)) < len(value) * 0.15:
        return False
    return entropy(value) >= 3.0 and not is_stand_in(value)


def is_password(value: str) -> bool:
    """Whether a digit or a sign stands among other characters; a plain word passes for prose."""
    if len(value) < 6 or not _DIGIT_OR_SIGN.search(value) or not (value.isdigit() or _LETTER.search(value)):
        return False
    return not (_DATE_OR_VERSION.fullmatch(value) or is_stand_in(value))


def is_strong(value: str) -> bool:
    """Whether a password rule would praise the value: then a password needs no colon before it."""
    return len(value) >= 8 and is_password(value) and len({_char_class(ch) for ch in value}) >= 3


def _char_class(char: str) -> str:
    return "lower" if char.islower() else "upper" if char.isupper() else "digit" if char.isdigit() else "sign"
