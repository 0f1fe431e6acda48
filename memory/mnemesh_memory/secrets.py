"""Finds credentials in text: which type, never which characters. Knows nothing of what happens to a finding.

Three tables, each row anchored at a literal that a plain substring search finds, so that text without an anchor
costs microseconds and any text linear time: tokens with a vendor's prefix, structures (PEM, JWT, URL, header), and
assignments (`password = ...`) whose value must look random and not like a placeholder, a reference or code.
Precision, recall and cost are measured by bench/secrets_corpus.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Final

_EDGE: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"


def find_secret(text: str) -> str | None:
    """The type of a credential that `text` holds, for example "GitHub token"; None when it holds none.

    Looks at the text as written: encoded, encrypted or spelt-out secrets are not found.
    """
    for token in _TOKENS:
        if token.anchor in text and token.accepts(text):
            return token.type
    # One character for one, so that positions agree: of all characters only this one grows in lower case.
    lowered = text.replace("\u0130", "i").lower()
    for anchor, find in _STRUCTURES:
        for at in _occurrences(lowered, anchor):
            if found := find(text, at):
                return found
    for anchor in _NAMES:
        for at in _occurrences(lowered, anchor):
            if found := _assignment(text, lowered, at):
                return found
    return None


def _occurrences(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


# --- values: random, or a stand-in? ---------------------------------------------------------------------------

_STAND_IN_WORDS: Final = re.compile(
    r"example|sample|placeholder|dummy|changeme|change[-_]me|your[-_]?|redacted|removed|hidden|masked|secret[-_]?here"
    r"|goes[-_]?here|insert|replace|todo|fixme|foobar|foo[-_]?bar|lorem|n/a|undefined|null|none|"
    r"password|passwd|hunter2hunter2|1password|bitwarden|lastpass|keepass|keychain|vault|oauth|pkce|bcrypt|scrypt"
    r"|argon2|pbkdf2|sha-?\d|md5|hmac|aes-?\d|rsa-?\d|ed25519|base-?64|base-?32|utf-?\d|x{4}|\*{3}|\.{3}|#{3}|_{4}|-{4}"
    r"|12345678|abcdef|qwerty",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\$[A-Za-z_{(]|\{|<|%[({sd]|@[A-Za-z{]|&[A-Za-z]|\(|\["  # a variable, a template, a slot
    r"|(?:/|\./|~/|\.\./)[\w.]|[A-Za-z]:\\|[a-z][a-z0-9+.-]*://|arn:|ssm:|vault:|secret:|env:|file:"  # a place
    r"|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?![\w/+=-])|[A-Za-z_][\w.]*[(\[]"  # code
)
_DATE_OR_VERSION: Final = re.compile(r"v?\d{1,4}(?:[-./]\d{1,4}){1,3}(?:[T_-].*)?")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_SWITCH: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def _entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits each."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values())


def _is_stand_in(value: str) -> bool:
    return bool(_REFERENCE.match(value) or len(set(value)) <= 3 or _STAND_IN_WORDS.search(value))


def _is_random(value: str) -> bool:
    """Many different characters that change class often, as words, identifiers and versions do not."""
    if len(value) < 16 or _is_stand_in(value):
        return False
    return _entropy(value) >= 3.0 and len(_SWITCH.findall(value)) >= len(value) * 0.17


def _is_password(value: str) -> bool:
    """A digit or a sign among other characters; plain words are taken for prose."""
    if len(value) < 6 or _is_stand_in(value) or _DATE_OR_VERSION.fullmatch(value):
        return False
    if value.isdigit():
        return True
    return any(ch.isdigit() or ch in "!@#$%^&*+=?~|" for ch in value) and any(ch.isalpha() for ch in value)


# --- tokens with a vendor's prefix ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    type: str
    anchor: str
    pattern: re.Pattern[str]

    def accepts(self, text: str) -> bool:
        """Whether a match is there that is no stand-in; a run of one character or of words is one."""
        return any(
            _entropy(body) >= 2.8 and not _STAND_IN_WORDS.search(body)
            for body in (match.group(1) for match in self.pattern.finditer(text))
        )


def _token(type_: str, anchor: str, body: str, prefix: str = "") -> _Token:
    return _Token(type_, anchor, re.compile(_EDGE + (prefix or re.escape(anchor)) + f"({body})" + _END))


_TOKENS: Final = (
    _token("AWS access key", "AKIA", r"[A-Z2-7]{16}"),
    _token("AWS access key", "ASIA", r"[A-Z2-7]{16}"),
    _token("GitHub token", "ghp_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "gho_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghs_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghu_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghr_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    _token("GitLab token", "gl", r"[A-Za-z0-9_.-]{20,300}", r"gl(?:pat|dt|rt|ptt|ft|soat|imt|cbt|oas|agent|feed)-"),
    _token("Slack token", "xox", r"[A-Za-z0-9-]{20,255}", r"xox[abeoprs](?:\.xox[bp])?-"),
    _token("Slack token", "xapp-", r"[0-9A-Za-z-]{30,255}"),
    _token("Slack webhook", "hooks.slack.com/", r"[A-Z0-9]{8,}/[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
           r"hooks\.slack\.com/(?:services|workflows)/"),
    _token("Discord webhook", "/api/webhooks/", r"\d{15,21}/[A-Za-z0-9_-]{40,100}",
           r"discord(?:app)?\.com/api/webhooks/"),
    _token("Stripe key", "k_live_", r"[A-Za-z0-9]{16,255}", r"[sr]k_live_"),
    _token("Stripe key", "k_test_", r"[A-Za-z0-9]{16,255}", r"[sr]k_test_"),
    _token("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,255}"),
    _token("Google API key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _token("Google OAuth token", "ya29.", r"[A-Za-z0-9_-]{24,2000}"),
    _token("Google OAuth secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,40}"),
    _token("Anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{24,255}"),
    _token("OpenAI key", "sk-", r"(?=[A-Za-z0-9_-]{0,40}\d)(?=[A-Za-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,255}",
           r"sk-(?:proj-|svcacct-|admin-|None-)?"),
    _token("OpenRouter key", "sk-or-v1-", r"[0-9a-f]{48,64}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-", r"[A-Za-z0-9_-]{50,1000}", r"pypi-AgE"),
    _token("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("Twilio key", "SK", r"[0-9a-f]{32}"),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,40}"),
    _token("DigitalOcean token", "_v1_", r"[0-9a-f]{64}", r"do[opr]_v1_"),
    _token("Shopify token", "shp", r"[0-9a-fA-F]{32}", r"shp(?:at|ca|pa|ss)_"),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _token("Vault token", "hvs.", r"[A-Za-z0-9_-]{24,200}"),
    _token("Docker token", "dckr_pat_", r"[A-Za-z0-9_-]{24,60}"),
    _token("Grafana token", "glsa_", r"[A-Za-z0-9]{30,40}_[0-9a-f]{8}"),
    _token("Groq key", "gsk_", r"[A-Za-z0-9]{40,60}"),
    _token("Replicate token", "r8_", r"[A-Za-z0-9]{36,40}"),
    _token("xAI key", "xai-", r"[A-Za-z0-9]{60,90}"),
    _token("Linear key", "lin_api_", r"[A-Za-z0-9]{32,48}"),
    _token("Notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    _token("Atlassian token", "ATATT3", r"[A-Za-z0-9_=-]{100,300}"),
    _token("Tailscale key", "tskey-", r"[A-Za-z0-9-]{20,80}"),
    _token("Mailgun key", "key-", r"[0-9a-f]{32}"),
    _token("Telegram bot token", ":AA", r"[A-Za-z0-9_-]{32,34}", r"\d{8,10}:AA"),
    _token("age secret key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    _token("Azure storage key", "AccountKey=", r"[A-Za-z0-9+/]{60,88}={0,2}"),
)  # fmt: skip


# --- structures -----------------------------------------------------------------------------------------------

_PEM: Final = re.compile(
    r"-{3,5}BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-{3,5}"
    r"(?:[\s\"'+,|>]|\\[nr]|[A-Z][A-Za-z-]{2,20}: [^\n]{0,120}\n){0,40}"
    r"[A-Za-z0-9+/=]{16}"
)
_JWT: Final = re.compile(r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{6,8000}\.[A-Za-z0-9_-]{16,1000}")
_URL_LOGIN: Final = re.compile(r"://[^\s:/@?#\"'<>]{0,100}:([^\s/\"'<>]{3,200})@[\w\[]")
_BEARER: Final = re.compile(r"bearer[\s:]{1,4}[\"']?([A-Za-z0-9._~+/=-]{16,2000})", re.IGNORECASE)
_BASIC: Final = re.compile(
    r"authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?basic\s+([A-Za-z0-9+/]{12,400})", re.IGNORECASE
)
_USER: Final = re.compile(r"(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{4,200})")


def _pem(text: str, at: int) -> str | None:
    return "private key" if _PEM.match(text, at) else None


def _jwt(text: str, at: int) -> str | None:
    return "JSON web token" if _JWT.match(text, at) else None


def _url_login(text: str, at: int) -> str | None:
    """A password in a URL. Words count too, because nobody writes prose between ":" and "@"."""
    match = _URL_LOGIN.match(text, at)
    if not match or _is_stand_in(match.group(1)) or match.group(1).lower() in _WEAK:
        return None
    return "password in a URL"


def _bearer(text: str, at: int) -> str | None:
    match = _BEARER.match(text, at)
    return "bearer token" if match and _is_random(match.group(1)) else None


def _basic(text: str, at: int) -> str | None:
    match = _BASIC.match(text, at)
    return "basic authorization" if match and not _is_stand_in(match.group(1)) else None


def _user(text: str, at: int) -> str | None:
    match = _USER.match(text, at)
    return "password of a command" if match and _is_password(match.group(1)) else None


# What demonstrations use as a password: known to everybody, so no secret.
_WEAK: Final = frozenset(
    "pass pwd pw password secret postgres mysql root admin user test guest token key apikey api_key minio minioadmin "
    "rabbitmq redis mongo secretpassword mypassword mysecret letmein s3cret p@ssw0rd p4ssw0rd xxx".split()
)
_STRUCTURES: Final[tuple[tuple[str, Callable[[str, int], str | None]], ...]] = (
    ("-----begin ", _pem),
    ("eyj", _jwt),
    ("://", _url_login),
    ("bearer", _bearer),
    ("authorization", _basic),
    ("-u ", _user),
    ("--user", _user),
)

# --- assignments ----------------------------------------------------------------------------------------------

_NAMES: Final = (
    "pass", "pwd", "secret", "token", "key", "credential",
    "密码", "密碼", "パスワード", "비밀번호", "пароль", "contraseña", "senha", "kennwort",
)  # fmt: skip
_PASSWORD_NAME: Final = re.compile(
    r"pass(?:word|wd|wort|phrase|code)?|pwd|密码|密碼|パスワード|비밀번호|пароль|contraseña|senha|kennwort",
    re.IGNORECASE,
)
_SECRET_NAME: Final = re.compile(
    r"secret(?:[_ -]?(?:access)?[_ -]?key)?|token|key|credentials?", re.IGNORECASE
)
_KEY_QUALIFIER: Final = re.compile(
    r"(?:api|access|secret|private|encryption|encrypt|decryption|signing|sign|auth|master|account|storage|session|aes"
    r"|hmac|shared|service|license|client|app|bot|deploy|webhook|vault|root|jwt|subscription|cookie|fernet|data)"
    r"[_\s-]?$"
)
_FILLER: Final = r"(?:\s(?:for|of|to|on|at|in)(?:\s[\w.@'-]{1,40}){1,4}?)?"
_VALUE: Final = re.compile(
    r"s?\d?[\"'`*\])]{0,3}" + _FILLER + r"[\"'`*]{0,2}"
    r"(?:\s{0,3}(?:=>|:=|==?|[:>\uff1a])|\s(?:is|was|ist|est|es)\b:?|(?<=\w)[ ](?=[\"'`]))\s{0,3}"
    r"(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|`([^`\n]{1,200})`|([^\s\"'`<]{1,200}))",
    re.IGNORECASE,
)
_OPTION_VALUE: Final = re.compile(r"[ =][\"']?([^\s\"']{1,200})")


def _assignment(text: str, lowered: str, at: int) -> str | None:
    """A password or a random value given to a name that ends at, or holds, the anchor at `at`."""
    if name := _PASSWORD_NAME.match(text, at):
        value = _value(text, at, name.end())
        return "password" if value and value.lower() not in _WEAK and _is_password(value) else None
    name = _SECRET_NAME.match(text, at)
    if name is None:
        return None
    if name.group().lower() == "key" and not _KEY_QUALIFIER.search(lowered, max(0, at - 16), at):
        return None
    value = _value(text, at, name.end())
    if not value or not _is_random(value):
        return None
    if (
        _UUID.fullmatch(value)
        and not lowered.startswith("secret", at)
        and "api" not in lowered[max(0, at - 5) : at]
    ):
        return None
    return "secret in an assignment"


def _value(text: str, start: int, end: int) -> str:
    """What is assigned to the name text[start:end], without the punctuation of the sentence; "" for nothing."""
    match = _VALUE.match(text, end)
    if match is None and "--" in text[max(0, start - 24) : start]:
        match = _OPTION_VALUE.match(text, end)
    if match is None:
        return ""
    value = next(group for group in match.groups() if group is not None)
    return value if match.lastindex != 4 else value.rstrip(".,;:)]}>")
