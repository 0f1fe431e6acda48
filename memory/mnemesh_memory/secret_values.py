"""Judges a value on its own: random, a password, or a stand-in for one? Knows nothing of where it was found."""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

_PLACEHOLDER: Final = re.compile(
    r"example|sample|placeholder|dummy|(?-i:fake|Fake|FAKE)|change[-_]?me|your[-_]?|redacted|removed|hidden|masked|[-_]here"
    r"|replace|foo[-_]?bar|lorem|x{4}|\*{3}|\.{3}|#{3}|_{4}|-{4}|12345678|abcdef|qwerty",
    re.IGNORECASE,
)
# Techniques and products with digits in their names, which otherwise pass for passwords.
_TERM: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:none|null|undefined|todo|n/a|true|false|1password|bitwarden|lastpass|keepass|keychain"
    r"|vault|oauth|pkce|b?scrypt|bcrypt|argon2|pbkdf2|sha-?\d|md5|hmac|aes-?\d|rsa-?\d|ed25519|base-?\d\d|utf-?\d"
    r"|(?:sso|oidc|saml|ldap|totp|webauthn|fido)\d?(?![A-Za-z0-9]))",
    re.IGNORECASE,
)
# What demonstrations use as a password, or a product's manual gives it at first: known to everybody, so no secret.
_WEAK: Final = re.compile(
    r"(?:my|the|db|user|some|new|old|super|test|admin)?[-_]?(?:pass|pwd?|passwo?r?d|passphrase|secret|token"
    r"|(?:api[-_]?)?key|p@ssw0rd|p4ssw0rd)[-_]?\d{0,4}!?"
    r"|postgres|mysql|root|admin|user|test|guest|minio(?:admin)?|rabbitmq|redis|mongo|letmein|s3cret"
    r"|change(?:it|on\w{3,8})|raspberry|alpine|vagrant|toor|calvin|wordpress|elastic|neo4j|cassandra|couchbase|airflow"
    r"|superset|grafana|zabbix|nextcloud|jenkins|sonar|oracle|welcome1?|prom-operator|homeassistant|pihole|default",
    re.IGNORECASE,
)
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
    """Whether it has the form of a UUID, which identifies more often than it opens."""
    return _UUID.fullmatch(value) is not None


def is_stand_in(value: str) -> bool:
    """Whether it stands for a value: a placeholder, a technique, a demonstration's password, a reference, code."""
    return bool(
        len(set(value)) <= 3
        or _REFERENCE.match(value)
        or _PLACEHOLDER.search(value)
        or _TERM.search(value)
        or _WEAK.fullmatch(value)
    )


def is_random(value: str) -> bool:
    """Many different characters that change class often, as words, identifiers and versions do not."""
    if len(value) < 16 or len(_SWITCH.findall(value)) < len(value) * 0.15:
        return False
    return entropy(value) >= 3.0 and not is_stand_in(value)


def is_password(value: str) -> bool:
    """A digit or a sign among other characters; plain words are taken for prose."""
    if len(value) < 6 or not _DIGIT_OR_SIGN.search(value) or not (value.isdigit() or _LETTER.search(value)):
        return False
    return not (_DATE_OR_VERSION.fullmatch(value) or is_stand_in(value))


def is_strong(value: str) -> bool:
    """What a password rule would praise: enough to take a word for a password without a colon before it."""
    return len(value) >= 8 and is_password(value) and len({_char_class(ch) for ch in value}) >= 3


def _char_class(char: str) -> str:
    return "lower" if char.islower() else "upper" if char.isupper() else "digit" if char.isdigit() else "sign"
