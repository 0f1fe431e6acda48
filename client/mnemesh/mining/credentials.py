"""Masks credentials in words of a session before they reach a language model or the miner's own state. Pure.

The rules are those of the node. The node lets examples and plain words pass as passwords. Nobody can be asked here,
and a model is somebody else's. So whatever stands where a credential stands is masked too.
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


def masked(text: str) -> str:
    """`text` with a mask in place of whatever may be a credential."""
    text, _ = masked_by_rules(text)
    for form in _PLACES:
        text = form.sub(rf"\1{MASK}", text)
    return text
