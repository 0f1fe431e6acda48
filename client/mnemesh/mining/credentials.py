"""Masks credentials in words of a session before they reach a language model or the miner's own state. Pure.

The rules are those of the node. The node lets examples and plain words pass as passwords. Nobody can be asked here,
and a model is somebody else's. So whatever stands where a credential stands is masked too. For the model the mask goes
further: a long word of letters and figures counts, and so does any value behind a name such as "password".
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh_memory.secrets.mask import masked as masked_by_rules

MASK: Final = "[masked]"
# The text of the first group stays.
_PLACES: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(://)[^\s/@]{3,200}(?=@)",
        r"(\b(?:bearer|basic|digest) +)[\w.~+/=-]{8,}",
        r"((?:curl -u|--user|sshpass -p|\blogin [^\n]{0,40}-p) )\S+",
        r"()\b(?:hf_|sk-|gh[opsu]_|xox[a-z]-|1//)[\w-]{10,}",
        r"(/(?:webhooks|services|workflows)/)\w{8,}/\S+",
        # The word for a password in languages that people write to agents in, then one word.
        r"((?:password|passwort|passwd|passphrase|passcode|pwd|kennwort|mot de passe|contrase\u00f1a"
        r"|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801)\s{0,2}(?:[:=\uff1a]|\u662f)\s{0,4})"
        r"[\"'`]?[\w-]{4,40}(?=[\"'`]?\s*(?:$|[.,;)(\n]))",
    )
)
_NAME: Final = (
    r"(?:password|passwort|passwd|passphrase|passcode|passkey|pwd|secret|token|credential|creds|cookie|mnemonic"
    r"|(?:api|access|account|private|secret)[ _-]?key|authorization|seed[ _-]?phrase|connection[ _-]?string|kennwort"
    r"|contrase\u00f1a|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|(?<![a-z])(?:pass|pw|pin|auth|login)(?![a-z]))"
)
_SIGN: Final = r"(?:=>|:=|[:=>\uff1a\u662f]|\b(?:is|was|are|set to|changed to|ist)\b)\s{0,4}"
_VALUE: Final = r"""(?:"[^"\n]+"|'[^'\n]+'|`[^`\n]+`|[^\s,;]+)"""
# The id of a memory or session, and the hash of a commit, by themselves.
_ID: Final = r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40})"
_SUSPECTS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.DOTALL)
    for form in (
        r"()-{3,5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-{3,5}END [A-Z0-9 ]{0,40}-{3,5}|\Z)",
        rf"({_NAME}\w{{0,24}}[^\n:=]{{0,24}}?{_SIGN}|--?{_NAME}[ =]){_VALUE}",
        # Behind the word for a password in one line: the first word with a figure.
        r"((?:password|passwd|pwd|creds)[^\n]{0,40}?[\s`'\"])[^\s\d]*\d\S*",
        rf"(?<![\w/+-])()(?!{_ID}(?![\w+=-]))(?=[\w+=-]*[0-9])(?=[\w+=-]*[a-z])[\w+=-]{{20,}}",
    )
)


def masked(text: str) -> str:
    """`text` with a mask in place of each credential, and of what stands where a credential stands."""
    text, _ = masked_by_rules(text)
    return _without(_PLACES, text)


def masked_for_model(text: str) -> str:
    """`text` as somebody else's model may read it. A mask too many costs nothing there."""
    return _without(_SUSPECTS, masked(text))


def _without(forms: tuple[re.Pattern[str], ...], text: str) -> str:
    for form in forms:
        text = form.sub(rf"\1{MASK}", text)
    return text
