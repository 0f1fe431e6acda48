"""Finds credentials in text: which type, never which characters. Knows nothing of what happens to a finding.

Three tables, each row anchored at a literal that a plain substring search finds, so that text without an
anchor costs microseconds and any text linear time: vendors' formats (secret_tokens.py), structures (PEM, JWT, URL,
header), and assignments (`password = ...`) whose value must look random and not like a placeholder, a reference,
code or a date (secret_values.py), or be a plain word where prose would have gone on differently (secret_words.py) and
the words around it say that it is somebody's password (secret_context.py).
Every repetition is bounded. bench/secrets_corpus.py measures it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from mnemesh_memory.secret_context import is_beside_itself, is_sandbox, is_somebodys
from mnemesh_memory.secret_tokens import find_token
from mnemesh_memory.secret_values import (
    entropy,
    is_password,
    is_random,
    is_stand_in,
    is_strong,
    is_uuid,
)
from mnemesh_memory.secret_words import is_phrase, is_seed, is_word_password


def find_secret(text: str) -> str | None:
    """The type of a credential that `text` holds, for example "GitHub token"; None when it holds none.

    Looks at the text as written, and again without characters that nobody sees and with the signs of an address that
    are encoded in it (%3D). What is encoded otherwise, encrypted or spelt out is not found.
    """
    if found := _found_in(text):
        return found
    folded = text if text.isascii() else _UNSEEN.sub("", text)
    if "%" in folded:
        folded = _ENCODED_SIGN.sub(lambda match: _SIGNS[match.group(1).upper()], folded)
    return _found_in(folded) if folded != text else None


_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
_SIGNS: Final = {"3D": "=", "3A": ":", "26": "&", "22": '"', "20": " ", "2B": "+", "2F": "/", "40": "@"}
_ENCODED_SIGN: Final = re.compile(rf"%({'|'.join(_SIGNS)})", re.IGNORECASE)


def _found_in(text: str) -> str | None:
    if token := find_token(text):
        return token
    # One character for one, so that positions agree: of all characters only this one grows in lower case.
    lowered = text.replace("\u0130", "i").lower()
    # Most texts hold few of the anchors: those that are not there cost no more than the search.
    for anchor, find in [row for row in _STRUCTURES if row[0] in lowered]:
        for at in _occurrences(lowered, anchor):
            if found := find(text, at):
                return found
    for anchor in [name for name in _NAMES if name in lowered]:
        for at in _occurrences(lowered, anchor):
            if found := _assignment(text, lowered, at):
                return found
    return None


def _occurrences(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


# --- structures -----------------------------------------------------------------------------------------------

_PEM: Final = re.compile(
    r"-{3,5}BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-{3,5}"
    r"(?:[\s\"'+,|>]|\\[nr]|[A-Z][A-Za-z-]{2,20}: [^\n]{0,120}\n){0,40}"
    r"[A-Za-z0-9+/=]{16}"
)
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}+\.eyJ[A-Za-z0-9_-]{6,8000}+\.[A-Za-z0-9_-]{16}")
# Not at a host that is reserved for documentation (RFC 2606).
_URL_LOGIN: Final = re.compile(
    r"://([^\s:/@?#\"'<>]{0,100}):([^\s/\"'<>]{3,200})@(?!(?:[\w-]{1,40}\.){0,3}example\b)[\w\[]"
)
_BEARER: Final = re.compile(r"bearer[\s:]{1,4}[\"']?([A-Za-z0-9._~+/=-]{16,2000})", re.IGNORECASE)
_BASIC: Final = re.compile(
    r"authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?basic\s{1,4}([A-Za-z0-9+/]{12,400})", re.IGNORECASE
)
_COMMAND: Final = re.compile(
    r"(?:mysql\w{0,8}|mariadb\w{0,8}|sshpass|login -u)\b[^\n|;]{0,80}?\s-p\s?[\"']?([^\s\"']{4,200})", re.IGNORECASE
)
_LOGIN: Final = re.compile(
    r"(?:creds|credentials|login)(?:\s(?:is|are|as|with))?:?\s[\"'`]?[\w.@-]{2,64}(?::\s?|\s/\s)([^\s\"'`]{8,200})",
    re.IGNORECASE,
)
_USER: Final = re.compile(r"(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{4,200})")


_SPACED_KEY: Final = re.compile(r"(?<![A-Za-z0-9])A[ -]?K[ -]?I[ -]?A(?:[ \u00a0-]{0,2}[A-Z0-9]){16}(?![A-Za-z0-9])")
_PUTTY: Final = re.compile(r"private-lines: \d{1,3}\s{1,2}[A-Za-z0-9+/=]{40}", re.IGNORECASE)
_JWK: Final = re.compile(r"\"d\"\s?:\s?\"[A-Za-z0-9_-]{40}")
_SEED: Final = re.compile(
    r"(?:phrase|mnemonic)(?:\sis)?:?\s{1,2}[\"'`]?([a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![\w-])"
)
_WALLET: Final = re.compile(r"seed|recovery|wallet|mnemonic|secret|backup", re.IGNORECASE)
_CURL: Final = re.compile(r"\b(?:curl|wget|https?|xh|ab|hey|siege|jfrog|jenkins[\w-]{0,8})\b", re.IGNORECASE)


def _pem(text: str, at: int) -> str | None:
    return "private key" if _PEM.match(text, at) else None


def _jwt(text: str, at: int) -> str | None:
    return "JSON web token" if _JWT.match(text, at) else None


def _putty(text: str, at: int) -> str | None:
    return "private key" if _PUTTY.match(text, at) else None


def _jwk(text: str, at: int) -> str | None:
    return "private key" if _JWK.match(text, at) and '"kty"' in text else None


def _seed(text: str, at: int) -> str | None:
    match = _SEED.match(text, at)
    if match and text.startswith("p", at) and not _WALLET.search(text, max(0, at - 40), at):
        return None  # a phrase to search for, a phrase of a song
    return "recovery phrase" if match and is_seed(re.findall("[a-z]+", match.group(1))) else None


def _url_login(text: str, at: int) -> str | None:
    """A password in a URL. Words count too, because nobody writes prose between ":" and "@"."""
    match = _URL_LOGIN.match(text, at)
    if match is None:
        return None
    user, password = match.groups()
    stands_in = is_stand_in(password) or password.lower() == user.lower()
    return "password in a URL" if not stands_in or is_random(user) else None


def _bearer(text: str, at: int) -> str | None:
    match = _BEARER.match(text, at)
    return "bearer token" if match and is_random(match.group(1)) else None


def _basic(text: str, at: int) -> str | None:
    match = _BASIC.match(text, at)
    return "basic authorization" if match and not is_stand_in(match.group(1)) else None


def _spaced_key(text: str, at: int) -> str | None:
    """An AWS key id that is read out in groups. Capitals of a headline have no digits among them."""
    match = _SPACED_KEY.match(text, at)
    if match is None:
        return None
    key = re.sub(r"\W", "", match.group())
    mixed = sum(map(str.isdigit, key)) >= 2 and entropy(key) >= 3.0
    return "AWS access key" if mixed and not is_stand_in(key) else None


def _user(text: str, at: int) -> str | None:
    """After `-u` of a command that signs in so; others mean a user's number or a path by it."""
    match = _USER.match(text, at)
    if match is None or not is_password(match.group(1)):
        return None
    signs_in = _CURL.search(_line_before(text, at)) or ("/" not in match.group(1) and is_strong(match.group(1)))
    return "password of a command" if signs_in else None


def _command(text: str, at: int) -> str | None:
    match = _COMMAND.match(text, at)
    return "password of a command" if match and is_password(match.group(1)) else None


def _login(text: str, at: int) -> str | None:
    match = _LOGIN.match(text, at)
    return "password" if match and is_strong(match.group(1)) else None


_STRUCTURES: Final[tuple[tuple[str, Callable[[str, int], str | None]], ...]] = (
    ("-----begin ", _pem),
    ("eyj", _jwt),
    ("private-lines: ", _putty),
    ('"d"', _jwk),
    ("phrase", _seed),
    ("mnemonic", _seed),
    ("://", _url_login),
    ("bearer", _bearer),
    ("authorization", _basic),
    ("-u ", _user),
    ("--user", _user),
    ("mysql", _command),
    ("mariadb", _command),
    ("sshpass", _command),
    ("login -u", _command),
    ("akia", _spaced_key),
    ("a k i a", _spaced_key),
    ("creds", _login),
    ("credentials", _login),
    ("login", _login),
)

# --- assignments ----------------------------------------------------------------------------------------------

_NAMES: Final = (
    "pass", "pw", "secret", "token", "key", "credential", "_auth",
    "密码", "密碼", "パスワード", "비밀번호", "пароль", "contraseña", "senha", "kennwort",
)  # fmt: skip
# "pass" alone is mostly a verb or the end of another word: it counts only right before a colon or equals sign.
_PASSWORD_NAME: Final = re.compile(
    r"pass(?:word|wd|wort|phrase|code|e)|(?:(?<![a-z])|(?<=db))(?:pass|pwd?)(?=[\"']?\s?[:=])|sudo pwd|pwd(?= is )"
    r"|(?<![a-z])pwd?(?= (?:for|of|on|to)(?: [\w.@'-]{1,40}){1,3}? ?[:=])"
    r"|密码|密碼|パスワード|비밀번호|пароль|contraseña|senha|kennwort",
    re.IGNORECASE,
)
_SECRET_NAME: Final = re.compile(r"secret(?:[_ -]?(?:access)?[_ -]?key)?|token|key|credentials?|_auth", re.IGNORECASE)
_KEY_QUALIFIER: Final = re.compile(
    r"(?:api|access|secret|private|encrypt(?:ion)?|decryption|sign(?:ing)?|auth|master|account|session"
    r"|role|admin|aes|hmac|shared|service|license|client|app|bot|deploy|webhook|vault|root|jwt|subscription|cookie|fernet"
    r")[._\s-]?$"
)
_PUBLIC_QUALIFIER: Final = re.compile(
    r"(?:page|next|cursor|continuation|resume|sync|csrf|xsrf|public|publishable|cancellation)[_\s-]?$"
)
_SUFFIX: Final = r"(?:[_-](?:base|value|prod(?:uction)?|staging|dev|live|main|primary|secondary|old|new|v?\d{1,2}))?"
_FILLER: Final = r"(?:\s(?:for|of|to|on|at|in|für|fuer|zu[mr]?|vo[mn]|de[rs]|[ai]m|beim)(?:\s[\w.@'-]{1,40}){1,4}?)?"
_GIVEN: Final = (
    r"(?:\s{0,3}(?:=>|:=|==?|[:>\uff1a])|\s?[是为為は]"
    r"|(?:\s(?:is|was|ist|est|es|now|ha[sd] been|contains|(?:re)?set to|changed to|lautet|lautete)\b){1,2}:?"
    r"|(?<=\w)[ \n](?=[\"'`]|[A-Za-z0-9+/_-]{32}))\s{0,3}"
)
_VALUE: Final = re.compile(
    rf"s?\d?{_SUFFIX}[\"'`*\])]{{0,3}}{_FILLER}[\"'`*]{{0,2}}{_GIVEN}"
    r"(?:\"([^\"\n]{1,128})\"|'([^'\n]{1,128})'|`([^`\n]{1,128})`|([^\s\"'`<;]{1,128}))",
    re.IGNORECASE,
)
_QUOTED: Final = (1, 2, 3)  # groups of _VALUE
_QUERY_REST: Final = re.compile(r"&[A-Za-z_][\w.-]{0,40}=.*", re.DOTALL)
_NEXT_WORD: Final = re.compile(r"[ ]([^\s\"'`<;]{8,200})")
_OPTION_VALUE: Final = re.compile(r"[ =](?:\"([^\"\n]{1,128})\"|'([^'\n]{1,128})'|`([^`\n]{1,128})`|([^\s\"']{1,128}))")


def _assignment(text: str, lowered: str, at: int) -> str | None:
    """What kind of credential is given to the name that starts at `at`, if any."""
    if name := _PASSWORD_NAME.match(text, at):
        value = _value(text, at, name.end())
        if value.isdigit() and (name.group().lower() == "pass" or text.startswith("s", name.end())):
            return None  # a count, of tests or of passwords
        if not value and (word := _NEXT_WORD.match(text, name.end())):
            return "password" if is_strong(word.group(1)) else None
        if not (is_password(value) or (value[:3].isalpha() and _of_words(text, at, name))):
            return None
        return None if is_beside_itself(text, at, value) else "password"
    name = _SECRET_NAME.match(text, at)
    before = slice(max(0, at - 16), at)
    if name is None or _PUBLIC_QUALIFIER.search(lowered[before]):
        return None
    if name.group().lower() == "key" and not _KEY_QUALIFIER.search(lowered[before]):
        return None
    value = _value(text, at, name.end())
    if not is_random(value) or (is_uuid(value) and not _names_an_api_secret(text, lowered, at)):
        return None
    return "secret in an assignment"


def _names_an_api_secret(text: str, lowered: str, at: int) -> bool:
    """Of the names whose value may be an identifier, those that vendors give credentials in UUID form."""
    if text.startswith("_TOKEN=", at - 1):  # a variable of the environment
        return True
    before = lowered[max(0, at - 5) : at]
    return lowered.startswith("secret", at) or "api" in before or before == "_auth"


_GIVEN_IN: Final = re.compile(rf"s?\d?{_SUFFIX}[\"'`*\])]{{0,3}}({_FILLER})[\"'`*]{{0,2}}({_GIVEN})", re.IGNORECASE)
_PROSE_BEFORE: Final = re.compile(
    r"(?:wrong|reset|forgot(?:ten)?|change|no|invalid|bad|missing|confirm|one-time|feature|fix|feat|chore|docs)"
    r"[ /(_:-]{1,2}(?:(?:the|your|my|a|on|this) )?$|decision on "
)
_BARE_WORD: Final = re.compile(r"[\w-]{3,64}")
_BRACKET: Final = re.compile(r"[({]")
# What follows a password that is a plain word; after a verb less than after a colon, after "=" more.
_CLAUSE_END: Final = r"\s*$|[.,;)]{1,2}(?:\s|$)|\s?\n| \(| until\b"
_AFTER_VERB: Final = re.compile(_CLAUSE_END)
_AFTER_COLON: Final = re.compile(rf"{_CLAUSE_END}| [\w.-]{{1,40}}[:=]|[;&]\w| for\b| on\b")
_AFTER_EQUALS: Final = re.compile(r"[\s;&]|$")
_AFTER_OPTION: Final = re.compile(r"\s*$|\n|[ ]-|[ ][\w.-]{1,40}$")
_PHRASE: Final = re.compile(r"([a-z]{3,12}(?: [a-z]{3,12}){3,7})(?=[\"'`.]|\s*$|\n)")


def _of_words(text: str, at: int, name: re.Match[str]) -> bool:
    """Whether a password made of plain words is given to the name: by sign, verb or option, and then prose would go
    on differently."""
    before = text[max(0, at - 40) : at].lower()
    alone = name.group().lower() == "pass" and not before.endswith(("_", "-"))
    if text.startswith("s", name.end()) or _PROSE_BEFORE.search(before) or (alone and "user" not in before):
        return False
    match = _VALUE.match(text, name.end())
    if match is None:
        return _is_option_word(text, name.end())
    start = match.start(match.lastindex or 0)
    quoted = match.lastindex in _QUOTED
    if (quoted or "phrase" in name.group().lower()) and (phrase := _PHRASE.match(text, start)):
        return is_phrase(phrase.group(1).split())
    given = _GIVEN_IN.match(text, name.end())
    filler, sign = (given.group(1), given.group(2).strip().lower()) if given else ("", "")
    line = _line_before(text, at)
    if is_sandbox(line):
        return False
    if quoted:  # without a sign the quote follows the name at once
        return (sign != "" or start - name.end() <= 3) and is_word_password(match[match.lastindex or 0], place="quotes")
    word = _BARE_WORD.match(text, start)
    if word is None or sign in ("", "contains"):
        return False
    code = not sign[-1:].isalpha()
    if code and (_BRACKET.search(line) or (sign[-1:] in "=>" and _spaced(text, name.end(), start))):
        return False
    if "-" not in word.group() and not is_somebodys(text[max(0, at - 80) : at], name.group(), sign, filler):
        return False
    follows = _AFTER_VERB if not code else _AFTER_COLON if sign[-1] in ":\uff1a" else _AFTER_EQUALS
    return follows.match(text, word.end()) is not None and is_word_password(
        word.group(), place="code" if code else "prose"
    )


def _line_before(text: str, at: int) -> str:
    return text[max(0, at - 120) : at].rpartition("\n")[2]


def _spaced(text: str, start: int, end: int) -> bool:
    """Whether there are blanks about the sign, as in code: `password = entered`."""
    return any(char.isspace() for char in text[start:end])


def _is_option_word(text: str, end: int) -> bool:
    match = _OPTION_VALUE.match(text, end)
    if match is None or not _AFTER_OPTION.match(text, match.end()):
        return False
    return is_word_password(match.group(match.lastindex or 0), place="code")


def _value(text: str, start: int, end: int) -> str:
    """What is assigned to the name text[start:end], without the punctuation of the sentence; "" for nothing."""
    match = _VALUE.match(text, end)
    if match is None and "--" in text[max(0, start - 24) : start]:
        match = _OPTION_VALUE.match(text, end)
    if match is None:
        return ""
    value: str = match.group(match.lastindex or 0)
    if match.lastindex in _QUOTED:
        return value
    return _QUERY_REST.sub("", value).rstrip(".,:)]}>")
