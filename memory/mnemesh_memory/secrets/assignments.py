"""Credentials given to a name: `password = ...`, `API_KEY: ...`, "the wifi password is ...".

A value counts when it looks random or like a password. A plain word counts where prose would go on differently
and the words around name the owner of a password (credential_values.py). A plain word also counts where a sentence
states a value outright ("pwd for jenkins = ...", "Passwort lautet ...").
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.secrets.credential_values import (
    is_beside_itself,
    is_owned,
    is_password,
    is_phrase,
    is_random,
    is_sandbox,
    is_stated,
    is_strong,
    is_uuid,
    is_word_password,
)
from mnemesh_memory.secrets.secret_words import VOCABULARY, alternatives
from mnemesh_memory.secrets.structures import line_before

# A name holds one of these, in lower case.
NAME_ANCHORS: Final = ("pass", "pw", "secret", "token", "key", "credential", "_auth", *VOCABULARY["foreign password"])
# "pass" alone is mostly a verb or the end of another word: it counts only right before a colon or equals sign.
_PASSWORD_NAME: Final = re.compile(
    r"pass(?:word|wd|wort|phrase|code|e)|(?:(?<![a-z])|(?<=db))(?:pass|pwd?)(?=[\"']?\s?[:=])|sudo pwd"
    r"|(?:pwd|(?<![a-z])pw)(?= (?:is|ist|lautete?) )"
    rf"|(?<![a-z])pwd?(?= (?:for|of|on|to|fürs?|zu[mr]?)(?: [\w.@'-]{{1,40}}){{1,3}}?"
    r"(?: ?[:=]| (?:is|was|ist|lautete?) ))"
    rf"|{alternatives('foreign password')}",
    re.IGNORECASE,
)
_SECRET_NAME: Final = re.compile(r"secret(?:[_ -]?(?:access)?[_ -]?key)?|token|key|credentials?|_auth", re.IGNORECASE)
_KEY_QUALIFIER: Final = re.compile(rf"(?:{alternatives('secret key')})[._\s-]?$")
_PUBLIC_QUALIFIER: Final = re.compile(rf"(?:{alternatives('public key')})[_\s-]?$")
_SUFFIX: Final = rf"(?:[_-](?:{alternatives('name suffix')}))?"
_FILLER: Final = rf"(?:\s(?:{alternatives('preposition')})(?:\s[\w.@'-]{{1,40}}){{1,4}}?)?"
_SIGN: Final = (
    r"(?:\s{0,3}(?:=>|:=|==?|[:>\uff1a])|\s?[是为為は]"
    r"|(?:\s(?:is|was|ist|est|es|now|ha[sd] been|contains|(?:re)?set to|changed to|lautete?|heißt)\b){1,2}"
    r"(?:\sjetzt\b)?:?"
    r"|(?<=\w)[ \n](?=[\"'`]|[A-Za-z0-9+/_-]{32}))\s{0,3}"
)
# The last group of a match is the value. The name of the group says how the value is quoted.
_QUOTED_VALUE: Final = r"\"(?P<double>[^\"\n]{1,128})\"|'(?P<single>[^'\n]{1,128})'|`(?P<tick>[^`\n]{1,128})`"
_VALUE: Final = re.compile(
    rf"s?\d?{_SUFFIX}[\"'`*\])]{{0,3}}(?P<filler>{_FILLER})[\"'`*]{{0,2}}(?P<sign>{_SIGN})"
    rf"(?:{_QUOTED_VALUE}|(?P<bare>[^\s\"'`<;]{{1,128}}))",
    re.IGNORECASE,
)
_OPTION_VALUE: Final = re.compile(rf"[ =](?:{_QUOTED_VALUE}|(?P<bare>[^\s\"']{{1,128}}))")
_QUERY_REST: Final = re.compile(r"&[A-Za-z_][\w.-]{0,40}=.*", re.DOTALL)
_NEXT_WORD: Final = re.compile(r"[ ]([^\s\"'`<;]{8,200})")

_PROSE_BEFORE: Final = re.compile(
    rf"(?:{alternatives('general')})[ /(_:-]{{1,2}}(?:(?:the|your|my|a|on|this) )?$|decision on "
)
# Before "password", these say that a person or the name of a field follows.
_OF_ANOTHER: Final = re.compile(rf"(?:{alternatives('of another')})\b")
_BARE_WORD: Final = re.compile(r"[\w-]{3,64}")
_PHRASE: Final = re.compile(r"([a-z]{3,12}(?: [a-z]{3,12}){3,7})(?=[\"'`.]|\s*$|\n)")
# The text that follows a plain word: less is allowed after a verb than after a colon, and more after "=".
_CLAUSE_END: Final = r"\s*$|[.,;)]{1,2}(?:\s|$)|\s?\n| \(| (?:until|bis|seit)\b"
_AFTER_VERB: Final = re.compile(_CLAUSE_END)
_AFTER_COLON: Final = re.compile(rf"{_CLAUSE_END}| [\w.-]{{1,40}}[:=]|[;&]\w| for\b| on\b")
_AFTER_EQUALS: Final = re.compile(r"[\s;&]|$")
_AFTER_OPTION: Final = re.compile(r"\s*$|\n|[ ]-|[ ][\w.-]{1,40}$")


def find_assignment(text: str, lowered: str, at: int) -> str | None:
    """The type of a credential that is given to the name at `at`, if any."""
    if name := _PASSWORD_NAME.match(text, at):
        return "password" if _is_password_given(text, name) else None
    name = _SECRET_NAME.match(text, at)
    before = lowered[max(0, at - 16) : at]
    if name is None or _PUBLIC_QUALIFIER.search(before):
        return None
    if name.group().lower() == "key" and not _KEY_QUALIFIER.search(before):
        return None
    value = _value(text, name)
    if not is_random(value) or (is_uuid(value) and not _names_an_api_secret(text, lowered, at)):
        return None
    return "secret in an assignment"


def _is_password_given(text: str, name: re.Match[str]) -> bool:
    value = _value(text, name)
    if value.isdigit() and (name.group().lower() == "pass" or text.startswith("s", name.end())):
        return False  # a count, of tests or of passwords
    if not value and (word := _NEXT_WORD.match(text, name.end())):
        return is_strong(word.group(1))
    if not (is_password(value) or (value[:3].isalpha() and _is_of_words(text, name))):
        return False
    return not is_beside_itself(text, name.start(), value)


def _names_an_api_secret(text: str, lowered: str, at: int) -> bool:
    """Whether vendors give credentials in UUID form to that name, which else holds an identifier."""
    if text.startswith("_TOKEN=", at - 1):  # a variable of the environment
        return True
    before = lowered[max(0, at - 5) : at]
    return lowered.startswith("secret", at) or "api" in before or before == "_auth"


def _value(text: str, name: re.Match[str]) -> str:
    """The value given to a name, without the punctuation of the sentence; "" for none."""
    match = _VALUE.match(text, name.end())
    if match is None and "--" in text[max(0, name.start() - 24) : name.start()]:
        match = _OPTION_VALUE.match(text, name.end())
    if match is None:
        return ""
    value = match[match.lastgroup or 0]
    return _QUERY_REST.sub("", value).rstrip(".,:)]}>") if match.lastgroup == "bare" else value


def _is_of_words(text: str, name: re.Match[str]) -> bool:
    """Whether a password of plain words is given to the name, by a sign, a verb or an option."""
    at, end = name.span()
    before = text[max(0, at - 80) : at]
    alone = name.group().lower() == "pass" and not before.endswith(("_", "-"))
    named = before[-40:].lower()
    if text.startswith("s", end) or _PROSE_BEFORE.search(named) or (alone and "user" not in named):
        return False
    match = _VALUE.match(text, end)
    if match is None:
        return _is_option_word(text, end)
    start, quoted = match.start(match.lastgroup or 0), match.lastgroup != "bare"
    if (quoted or "phrase" in name.group().lower()) and (phrase := _PHRASE.match(text, start)):
        return is_phrase(phrase.group(1).split())
    line, sign = line_before(text, at), match["sign"].strip().lower()
    if is_sandbox(line):
        return False
    if quoted:  # without a sign the quote follows the name at once
        return (sign != "" or start - end <= 3) and is_word_password(match[match.lastgroup or 0], place="quotes")
    word = _BARE_WORD.match(text, start)
    if word is None or sign in ("", "contains") or (sign.split()[0].rstrip(":") == "ist" and word.group().islower()):
        return False  # in German a noun is capitalized: another word says what the password is like
    stated = is_stated(name.group(), sign, match["filler"]) and not _OF_ANOTHER.search(named)
    in_code = not sign[-1].isalpha()
    spaced = sign[-1] in "=>" and re.search(r"\s", text[end:start]) is not None
    # Brackets, and blanks about the sign, as in `password = entered`.
    if in_code and ("(" in line or "{" in line or (spaced and not stated)):
        return False
    if "-" not in word.group() and not (stated or is_owned(before, name.group(), sign, match["filler"])):
        return False
    prose = not in_code or (spaced and stated)
    follows = _AFTER_VERB if prose else _AFTER_COLON if sign[-1] in ":\uff1a" else _AFTER_EQUALS
    if not follows.match(text, word.end()):
        return False
    return is_word_password(word.group(), place="code" if in_code else "statement" if stated else "prose")


def _is_option_word(text: str, end: int) -> bool:
    match = _OPTION_VALUE.match(text, end)
    if match is None or not _AFTER_OPTION.match(text, match.end()):
        return False
    return is_word_password(match[match.lastgroup or 0], place="code")
