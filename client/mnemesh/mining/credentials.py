"""Masks credentials in words of a session before they reach a language model or the miner's own state. Pure.

The detector of the node is not at hand here. This one is coarser and masks more: a long word of letters and figures
counts, and so does a value behind a name such as "password". The node has the last word on everything that is stored.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "[masked]"
_NAME: Final = (
    r"(?:password|passwort|passwd|passphrase|passcode|passkey|pwd|secret|token|credential|creds|cookie|mnemonic"
    r"|(?:api|access|account|private|secret)[ _-]?key|authorization|seed[ _-]?phrase|connection[ _-]?string|kennwort"
    r"|contrase\u00f1a|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|(?<![a-z])(?:pass|pw|pin|auth|login)(?![a-z]))"
)
_SIGN: Final = r"(?:=>|:=|[:=>\uff1a\u662f]|\b(?:is|was|set to|changed to|ist)\b)\s{0,4}"
_VALUE: Final = r"""(?:"[^"\n]+"|'[^'\n]+'|`[^`\n]+`|[^\s,;]+)"""
# The id of a memory or session, and the hash of a commit, by themselves.
_ID: Final = r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40})"
# The text of the first group stays.
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.DOTALL)
    for form in (
        r"()-{3,5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-{3,5}END [A-Z0-9 ]{0,40}-{3,5}|\Z)",
        r"(://)[^\s/@]{3,200}(?=@)",
        rf"({_NAME}\w{{0,24}}[^\n:=]{{0,24}}?{_SIGN}|--?{_NAME}[ =]){_VALUE}",
        # Behind the word for a password in one line: the first word with a figure.
        r"((?:password|passwd|pwd|creds)[^\n]{0,40}?[\s`'\"])[^\s\d]*\d\S*",
        r"(\b(?:bearer|basic|digest) +)[\w.~+/=-]{8,}",
        r"((?:curl -u|--user|sshpass -p|\blogin [^\n]{0,40}-p) )\S+",
        r"()\b(?:hf_|sk-|gh[opsu]_|xox[a-z]-|1//)[\w-]{10,}",
        r"(/(?:webhooks|services|workflows)/)\w{8,}/\S+",
        rf"(?<![\w/+-])()(?!{_ID}(?![\w+=-]))(?=[\w+=-]*[0-9])(?=[\w+=-]*[a-z])[\w+=-]{{20,}}",
    )
)


def masked(text: str) -> str:
    """`text` with MASK in place of whatever may be a credential."""
    for form in _FORMS:
        text = form.sub(rf"\1{MASK}", text)
    return text
