"""Judges a value on its own: random, a password, or a stand-in for one? Knows nothing of where it was found.

Judges a plain word that stands where a password would: chosen as a password, or the next word of a sentence? The
characters of a plain word don't tell. So the judge knows the words of prose and code (prose.txt), and misses a
password that is among them. A plain word after "password:" is more often the place where a password is kept
(`password: libsecret`), and a refused writer has no way past. So the text has to name the owner of the password, or
the thing that it opens, or has to state a value outright.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final, Literal

from mnemesh_memory.secrets.secret_words import VOCABULARY, alternatives
from mnemesh_memory.wordlists import words

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


_WORD: Final = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿА-Яа-яЁё]{6,40}")
_HYPHENATED: Final = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")
_PHRASE_WORDS: Final = range(4, 9)
_SEED_WORDS: Final = range(12, 25)
_PROSE: Final = words("secrets/prose.txt")
_ENDING: Final = re.compile(rf"(?:{alternatives('prose ending')})$", re.IGNORECASE)
_NAME_PART: Final = re.compile(alternatives("variable"), re.IGNORECASE)
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_FUNCTION_WORDS: Final = frozenset(VOCABULARY["function word"])

_AROUND_CHARS: Final = 120
# The user or the database that stands beside a password.
_USER_BESIDE: Final = re.compile(
    r"(?:user(?:[_-]?(?:name|id))?|uid|login|account|database|db(?:[_-]?name)?|_name)[\"'`]?(?:\s?[:=]\s?|\s(?:is\s|id=)?)"
    r"[\"'`]?([\w.@-]{2,64})",
    re.IGNORECASE,
)
_USER_BEFORE: Final = re.compile(
    r"\buser(?:name)?[:= ][ \"'`]{0,2}[\w.@-]{2,64}[\"'`]?(?:, |; | and |\n|\s/\s)", re.IGNORECASE
)
_SANDBOX: Final = re.compile(rf"(?<![a-z])(?:{alternatives('sandbox')})(?![a-z])", re.IGNORECASE)
_OWNER: Final = re.compile(r"[\w.@\u2019'-]{1,40}[ _.-]$")
_NOBODYS: Final = frozenset(VOCABULARY["nobody"])
_ACCOUNT: Final = re.compile(rf"(?:^|[\s(])(?:{alternatives('account')})[ ]$", re.IGNORECASE)
_STATES: Final = re.compile(r"(?:lautete?|heißt)\b")
_JOINED: Final = re.compile(r"[A-Za-z0-9][_.-]$|[a-z0-9]$|(?<![A-Za-z])(?:PG|DB)$")


def is_word_password(value: str, *, place: Literal["code", "quotes", "prose", "statement"]) -> bool:
    """Whether one word, or words joined by hyphens, is a password. In code, the name of a variable or a type is none.
    In prose, a capitalized word is none, because names, languages and days are capitalized. In a statement it may be
    one."""
    if is_stand_in(value):
        return False
    if _HYPHENATED.fullmatch(value):
        return not any(map(_is_prose, value.split("-")))
    if not _WORD.fullmatch(value) or value.isupper() or len(set(value.lower())) <= 3:
        return False
    if _NAME_PART.search(value) or (place == "code" and _CAMEL.search(value)) or (place == "prose" and value.istitle()):
        return False
    return not _is_prose(value.lower())


def is_phrase(words: list[str]) -> bool:
    """Whether the words are unrelated, as dice give them: at most one is a word of prose."""
    return len(words) in _PHRASE_WORDS and not _FUNCTION_WORDS & set(words) and sum(map(_is_prose, words)) <= 1


def is_seed(words: list[str]) -> bool:
    """Whether the words are the recovery phrase of a wallet: 12 to 24 of a list without function words (BIP 39)."""
    return len(words) in _SEED_WORDS and not _FUNCTION_WORDS & set(words)


def is_beside_itself(text: str, start: int, value: str) -> bool:
    """Whether a password that starts at `start` is the name of the user or the database given beside it."""
    around = text[max(0, start - _AROUND_CHARS) : start + _AROUND_CHARS]
    return any(name.lower() == value.lower() for name in _USER_BESIDE.findall(around))


def is_sandbox(before: str) -> bool:
    """Whether the line before a password speaks of a default, a test or a demonstration."""
    return _SANDBOX.search(before[-_AROUND_CHARS:]) is not None


def is_stated(name: str, sign: str, filler: str) -> bool:
    """Whether the words announce a value and nothing else: a thing to open is named, or the verb or shorthand does so.

    "password for the printer is", "Passwort lautet", "pw:". `password:` alone is more often a key of a configuration.
    """
    return bool(filler or _STATES.match(sign) or (name.lower() == "pw" and sign in (":", "\uff1a")))


def is_owned(before: str, name: str, sign: str, filler: str) -> bool:
    """Whether the words before a password name an owner, a thing to open, or the act of giving.

    The words stand in the order `before`, `name`, `filler`, `sign`.
    """
    if sign.isascii() and sign[-1:].isalpha():
        owner = _OWNER.search(before)  # "the db ", "my ", "Bob's "
        owned = owner is not None and owner.group()[:-1].strip().lower() not in _NOBODYS
        return sign.split()[-1] in ("to", "now") or bool(filler) or owned
    if sign in ("=", "=>", "==", ">", ":="):
        return len(name) > 4 or _JOINED.search(before) is not None
    return bool(filler or _JOINED.search(before) or _ACCOUNT.search(before) or _USER_BEFORE.search(before))


def _is_prose(word: str) -> bool:
    return word in _PROSE or word in _FUNCTION_WORDS or (len(word) > 4 and _ENDING.search(word) is not None)
