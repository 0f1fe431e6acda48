"""Finds credentials in text: which type, never which characters. Knows nothing of what happens to a finding.

Three tables, each row anchored at a literal that a plain substring search finds, so that text without an
anchor costs microseconds and any text linear time: tokens with a vendor's prefix, structures (PEM, JWT, URL,
header), and assignments (`password = ...`) whose value must look random and not like a placeholder, a
reference, code or a date. Every repetition is bounded. bench/secrets_corpus.py measures it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.secret_values import (
    entropy,
    holds_placeholder,
    is_password,
    is_random,
    is_stand_in,
    is_strong,
    is_uuid,
)

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


# --- tokens with a vendor's prefix ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    type: str
    anchor: str
    pattern: re.Pattern[str]

    def accepts(self, text: str) -> bool:
        """Whether a match is there that is no stand-in; a run of one character or of words is one."""
        return any(
            entropy(body) >= 2.8 and not holds_placeholder(body)
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
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}+\.eyJ[A-Za-z0-9_-]{6,8000}+\.[A-Za-z0-9_-]{16}")
# Not at a host that is reserved for documentation (RFC 2606).
_URL_LOGIN: Final = re.compile(
    r"://[^\s:/@?#\"'<>]{0,100}:([^\s/\"'<>]{3,200})@(?!(?:[\w-]{1,40}\.){0,3}example\b)[\w\[]"
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


def _pem(text: str, at: int) -> str | None:
    return "private key" if _PEM.match(text, at) else None


def _jwt(text: str, at: int) -> str | None:
    return "JSON web token" if _JWT.match(text, at) else None


def _url_login(text: str, at: int) -> str | None:
    """A password in a URL. Words count too, because nobody writes prose between ":" and "@"."""
    match = _URL_LOGIN.match(text, at)
    return "password in a URL" if match and not is_stand_in(match.group(1)) else None


def _bearer(text: str, at: int) -> str | None:
    match = _BEARER.match(text, at)
    return "bearer token" if match and is_random(match.group(1)) else None


def _basic(text: str, at: int) -> str | None:
    match = _BASIC.match(text, at)
    return "basic authorization" if match and not is_stand_in(match.group(1)) else None


def _user(text: str, at: int) -> str | None:
    match = _USER.match(text, at)
    return "password of a command" if match and is_password(match.group(1)) else None


def _command(text: str, at: int) -> str | None:
    match = _COMMAND.match(text, at)
    return "password of a command" if match and is_password(match.group(1)) else None


def _login(text: str, at: int) -> str | None:
    match = _LOGIN.match(text, at)
    return "password" if match and is_strong(match.group(1)) else None


_STRUCTURES: Final[tuple[tuple[str, Callable[[str, int], str | None]], ...]] = (
    ("-----begin ", _pem),
    ("eyj", _jwt),
    ("://", _url_login),
    ("bearer", _bearer),
    ("authorization", _basic),
    ("-u ", _user),
    ("--user", _user),
    ("mysql", _command),
    ("mariadb", _command),
    ("sshpass", _command),
    ("login -u", _command),
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
    r"|密码|密碼|パスワード|비밀번호|пароль|contraseña|senha|kennwort",
    re.IGNORECASE,
)
_SECRET_NAME: Final = re.compile(r"secret(?:[_ -]?(?:access)?[_ -]?key)?|token|key|credentials?|_auth", re.IGNORECASE)
_KEY_QUALIFIER: Final = re.compile(
    r"(?:api|access|secret|private|encrypt(?:ion)?|decryption|sign(?:ing)?|auth|master|account|session"
    r"|aes|hmac|shared|service|license|client|app|bot|deploy|webhook|vault|root|jwt|subscription|cookie|fernet"
    r")[._\s-]?$"
)
_PUBLIC_QUALIFIER: Final = re.compile(
    r"(?:page|next|cursor|continuation|resume|sync|csrf|xsrf|public|publishable|cancellation)[_\s-]?$"
)
_SUFFIX: Final = r"(?:[_-](?:base|value|prod(?:uction)?|staging|dev|live|main|primary|secondary|old|new|v?\d{1,2}))?"
_FILLER: Final = r"(?:\s(?:for|of|to|on|at|in)(?:\s[\w.@'-]{1,40}){1,4}?)?"
_GIVEN: Final = (
    r"(?:\s{0,3}(?:=>|:=|==?|[:>\uff1a])|\s?[是为為は]"
    r"|(?:\s(?:is|was|ist|est|es|now|contains|(?:re)?set to|changed to)\b){1,2}:?"
    r"|(?<=\w)[ ](?=[\"'`]|[A-Za-z0-9+/_-]{32}))\s{0,3}"
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
        return "password" if is_password(value) else None
    name = _SECRET_NAME.match(text, at)
    before = slice(max(0, at - 16), at)
    if name is None or _PUBLIC_QUALIFIER.search(lowered[before]):
        return None
    if name.group().lower() == "key" and not _KEY_QUALIFIER.search(lowered[before]):
        return None
    value = _value(text, at, name.end())
    if not is_random(value) or (is_uuid(value) and not _names_an_api_secret(lowered, at)):
        return None
    return "secret in an assignment"


def _names_an_api_secret(lowered: str, at: int) -> bool:
    """Of the names whose value may be an identifier, those that vendors give credentials in UUID form."""
    return lowered.startswith("secret", at) or "api" in lowered[max(0, at - 5) : at]


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
