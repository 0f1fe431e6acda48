"""Judges the words around a value: do they say that it is somebody's password, or that it only stands where one would?

A plain word after "password:" is more often the place where the password is kept (`password: libsecret`) than the
password, and who is refused has no way past. So a plain word counts only with a word about whose or what it opens.
"""

from __future__ import annotations

import re
from typing import Final

_AROUND_CHARS: Final = 120
# The user or the database that stands beside a password.
_USER_BESIDE: Final = re.compile(
    r"(?:user(?:[_-]?(?:name|id))?|uid|login|account|database|db(?:[_-]?name)?|_name)[\"'`]?(?:\s?[:=]\s?|\s(?:is\s|id=)?)"
    r"[\"'`]?([\w.@-]{2,64})",
    re.IGNORECASE,
)
_SANDBOX: Final = re.compile(
    r"(?<![a-z])(?:default|fixture|(?:py|unit)?test(?:s|ing)?|mock|stub|demo|dummy|sample|example|tutorial|sandbox|local(?:ly|host)?"
    r"|docker-compose|testcontainers?|conftest|seed(?:s|ed)?)(?![a-z])",
    re.IGNORECASE,
)
_WHOSE: Final = re.compile(r"[\w.@\u2019'-]{1,40}[ _.-]$")
_WORDS_OF_NOBODY: Final = (
    "a an and any as at but by each every field for from if in new no of on or same some so that the then this to user"
    " username users when where whether which with without your"
)
_NOBODYS: Final = frozenset(_WORDS_OF_NOBODY.split())
_ACCOUNT: Final = re.compile(
    r"(?:^|[\s(])(?:wi-?fi|wlan|vpn|root|admin|sudo|sa|ssh|nas|router|printer|mailbox|my|our|his|her)[ ]$",
    re.IGNORECASE,
)
_USER_BEFORE: Final = re.compile(
    r"\buser(?:name)?[:= ][ \"'`]{0,2}[\w.@-]{2,64}[\"'`]?(?:, |; | and |\n|\s/\s)", re.IGNORECASE
)
_JOINED: Final = re.compile(r"[A-Za-z0-9][_.-]$|[a-z0-9]$|(?<![A-Za-z])(?:PG|DB)$")


def is_beside_itself(text: str, start: int, value: str) -> bool:
    """Whether a password that starts at `start` is the name of the user or the database given beside it."""
    around = text[max(0, start - _AROUND_CHARS) : start + _AROUND_CHARS]
    return any(name.lower() == value.lower() for name in _USER_BESIDE.findall(around))


def is_sandbox(before: str) -> bool:
    """Whether the line says, before the password, that it is a default's, a test's or a demonstration's."""
    return _SANDBOX.search(before[-_AROUND_CHARS:]) is not None


def is_somebodys(before: str, name: str, sign: str, filler: str) -> bool:
    """Whether a plain word after `before` `name` `filler` `sign` is a password by what is said of it: whose it is, what
    it opens, that it was given. `before` ends where the name begins."""
    if sign.isascii() and sign[-1:].isalpha():
        return sign.split()[-1] in ("to", "now") or bool(filler) or _has_owner(before)
    if sign in ("=", "=>", "==", ">", ":="):
        return len(name) > 4 or _JOINED.search(before) is not None
    return bool(filler or _JOINED.search(before) or _ACCOUNT.search(before) or _USER_BEFORE.search(before))


def _has_owner(before: str) -> bool:
    """Whether the word before says whose or for what: "the db ", "my ", "Bob's ", "sa "."""
    match = _WHOSE.search(before)
    return match is not None and match.group()[:-1].strip().lower() not in _NOBODYS
