"""Credentials that the structure around them marks: keys, logins in URLs, headers, commands. The forms are data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mnemesh_memory.secrets.credential_values import entropy, is_password, is_random, is_seed, is_stand_in, is_strong
from mnemesh_memory.wordlists import table

_WALLET: Final = re.compile(r"seed|recovery|wallet|mnemonic|secret|backup", re.IGNORECASE)
_SIGNING_IN: Final = re.compile(r"\b(?:curl|wget|https?|xh|ab|hey|siege|jfrog|jenkins[\w-]{0,8})\b", re.IGNORECASE)
_LINE_CHARS: Final = 120


def line_before(text: str, at: int) -> str:
    """The line up to `at`, or the end of a long one."""
    return text[max(0, at - _LINE_CHARS) : at].rpartition("\n")[2]


def _is_seed(match: re.Match[str]) -> bool:
    """Whether a recovery phrase stands there, and no phrase to search for and no line of a song."""
    text, at = match.string, match.start()
    if text.startswith("p", at) and not _WALLET.search(text, max(0, at - 40), at):
        return False
    return is_seed(re.findall("[a-z]+", match.group(1)))


def _is_url_login(match: re.Match[str]) -> bool:
    """Whether a URL holds a password. Words count too, because nobody writes prose between ":" and "@"."""
    user, password = match.groups()
    return is_random(user) or not (is_stand_in(password) or password.lower() == user.lower())


def _is_spaced_key(match: re.Match[str]) -> bool:
    """Whether an AWS key id is read out in groups. Capitals of a headline have no digits among them."""
    key = re.sub(r"\W", "", match.group())
    return sum(map(str.isdigit, key)) >= 2 and entropy(key) >= 3.0 and not is_stand_in(key)


def _is_user_login(match: re.Match[str]) -> bool:
    """Whether a command signs in so. For other commands, `-u` means a user's number or a path."""
    password, line = match.group(1), line_before(match.string, match.start())
    certain = _SIGNING_IN.search(line) is not None or ("/" not in password and is_strong(password))
    return certain and is_password(password)


_JUDGES: Final[dict[str, Callable[[re.Match[str]], bool]]] = {
    "any": lambda match: True,
    "web key": lambda match: '"kty"' in match.string,
    "seed": _is_seed,
    "url": _is_url_login,
    "random": lambda match: is_random(match.group(1)),
    "no stand-in": lambda match: not is_stand_in(match.group(1)),
    "user": _is_user_login,
    "password": lambda match: is_password(match.group(1)),
    "spaced key": _is_spaced_key,
    "strong": lambda match: is_strong(match.group(1)),
}


class Structure(NamedTuple):
    """One anchor of a row of structures.txt."""

    type: str
    anchor: str
    pattern: re.Pattern[str]
    accepts: Callable[[re.Match[str]], bool]

    def begins_at(self, text: str, at: int) -> bool:
        """Whether a credential begins at `at`, where the anchor stands."""
        match = self.pattern.match(text, at)
        return match is not None and self.accepts(match)


STRUCTURES: Final = tuple(
    Structure(type_, anchor, re.compile(pattern, re.IGNORECASE), _JUDGES[judge])
    for type_, anchors, judge, pattern in table("secrets/structures.txt")
    for anchor in anchors.split("|")
)
