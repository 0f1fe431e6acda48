"""Words by which a text speaks to a model in place of a reader. Pure.

Such a text is shown with a mark, and nothing is refused: a note about an attack holds the same words. A mark on an
ordinary note costs trust in every mark, so a pattern needs the order and its object: "token" alone is no attack.
A text is folded before the look. So a line break, a hidden character or a wide letter hides no words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from mnemesh_memory.values.model import Memory

_RULES: Final = r"(?:instructions?|guidelines?|directives?|prompts?|rules|orders|restrictions|polic(?:y|ies))"
_BEFORE: Final = r"(?:previous|prior|above|earlier|preceding|foregoing|initial|original|former|existing|your|safety)"
_DROP: Final = (
    r"(?:ignore|disregard|forget|override|bypass|(?:do not|don't|never|stop) (?:follow|obey|heed)(?:ing)?"
    r"|(?:no longer|stop) (?:follow|obey)(?:ing)?)"
)
_ACT: Final = r"(?:you are|you're|act|behave|pretend|respond|answer|roleplay|as if you)"
_FREE: Final = (
    r"(?:(?:without|no|free of) (?:\w+ ){0,3}?(?:restrictions|filters?"
    r"|guidelines|ethics|censorship|rules|polic(?:y|ies))"
    r"|(?:unrestricted|unfiltered|uncensored|jailbroken)\b|never refuses?)"
)
_MODEL: Final = r"(?:ai|llm|(?:ai |llm |coding |language )?(?:assistants?|agents?|models?))"
_SECRET_FILE: Final = (
    r"(?:(?<![\w.])\.env\b(?!\.(?:example|sample|template))|\.ssh/(?!config)|\.aws/|\bid_(?:rsa|ed25519)\b"
    r"|\.netrc\b|\.npmrc\b|/etc/(?:passwd|shadow)|\b(?:private|ssh) keys?\b)"
)
_ALL_SECRETS: Final = (
    r"(?:user's|users'|your|all|every|any|each|their) (?:\w+ ){0,2}"
    r"(?:secrets?|passwords?|credentials?|tokens?|api keys?|cookies|environment variables)"
)
_PLACE: Final = r"(?:https?://|[\w.+-]+@[\w-]+\.\w|\d{1,3}(?:\.\d{1,3}){3}\b|(?:[\w-]+\.)+[a-z]{2,}\b)"
_GIVE: Final = r"(?:send|post|upload|e-?mail|forward|transmit|exfiltrate|leak|submit|append|copy|paste|put)"
_USER: Final = r"(?:the |your )?(?:user|human|operator)"
# A pattern is looked for where one of its cues stands: most texts hold none, and a cue takes a tenth of the time.
_FAMILIES: Final = tuple(
    (cues.split(), re.compile("|".join(forms)))
    for cues, forms in (
        (
            "ignore disregard forget override bypass follow obey heed",
            (
                rf"\b{_DROP}(?:\W+\w+){{0,4}}?\W+{_BEFORE}\b(?:\W+(?:system|safety|own|and|or|\w+al))*\W+{_RULES}\b",
                rf"\b{_DROP}(?: about)? (?:all|any|every)(?: of)?(?: the| these| those)?"
                rf" (?:instructions?|guidelines?|directives?)\b",
                rf"\b{_DROP}(?: about)? all(?: the| of the)? (?:previous|prior|above|earlier) messages\b",
                rf"\b{_DROP}(?: about)? (?:everything|anything|all)(?: that| which)?"
                r"(?: (?:you|i|we|was|were|has|have|had|been|came|stands|is|written))*"
                r" (?:above|before|told|said|instructed|taught|so far)\b",
                rf"\b{_DROP} what (?:you were|you have been|you've been) (?:told|taught|instructed)\b",
                rf"\b{_DROP}(?: all| everything)?(?: of)? the (?:above|foregoing)(?:,| and\b| then\b| text\b)",
                rf"\b{_DROP} {_USER}(?:'s)? (?:requests?|instructions?|questions?|orders?|wishes)\b",
            ),
        ),
        (
            "instruction guideline rule directive override",
            (
                rf"\b{_BEFORE} {_RULES} (?:\w+ )?(?:are|is) (?:now |hereby )?"
                r"(?:void|cancel+ed|revoked|invalid|suspended|lifted|switched off"
                r"|disabled|turned off|no longer valid)\b",
                r"\b(?:system|admin|developer) override:",
            ),
        ),
        (
            "you act behave pretend respond obey",
            (
                rf"\byou (?:are|will be) (?:now )(?:an? |my |the )?"
                rf"(?:\w+ ){{0,2}}?(?:dan|{_MODEL}|chatbot|persona|jailbroken)\b",
                rf"\bfrom now on,? you (?:are|will be|act as) (?:my |no longer |an? (?:\w+ ){{0,2}}{_MODEL}\b)",
                rf"\b{_ACT}\b.{{0,60}}?\b{_FREE}",
                r"\b(?:enter|enable|activate|switch to|in) (?:developer|debug|god|dan|jailbreak|sudo) mode\b.{0,60}?"
                r"\b(?:your|restrictions|filters|safety|polic(?:y|ies))\b",
                rf"\bas an? {_MODEL},? you (?:must|will|shall|have to)\b",
                r"\byou (?:must|will|shall|have to) (?:now )?obey\b|\bobey (?:only )?(?:me|this page|the following)\b",
            ),
        ),
        (
            "prompt instruction above",
            (
                r"\b(?:reveal|print|output|repeat|leak|disclose|dump|recite|ignore|tell me|show me|give me)\b.{0,30}?"
                r"\b(?:system prompt|system message|(?:hidden|initial|original|secret|system) instructions)\b",
                r"\b(?:reveal|print|output|repeat|show|tell|give|write|translate|quote|what (?:is|are))\b.{0,15}?"
                r"\byour (?:\w+ )?(?:prompt|(?:hidden|initial|original|secret|system|full) instructions)\b",
                r"\b(?:repeat|print|output|recite) (?:everything|all|the (?:text|words|lines))"
                r"(?: of the text)? above\b",
            ),
        ),
        (
            ".env .ssh .aws id_ .netrc .npmrc /etc/ key secret password credential token"
            " cookie variables exfiltrate ](http",
            (
                rf"\b{_GIVE}\b.{{0,60}}?{_SECRET_FILE}.{{0,40}}?\b(?:to|at|into|on|with)\b.{{0,20}}?{_PLACE}",
                rf"\b{_GIVE} .{{0,20}}?\b{_ALL_SECRETS}\b.{{0,40}}?\b(?:to|at|into|on)\b.{{0,20}}?{_PLACE}",
                r"\bexfiltrate (?:\w+ ){0,4}?to (?:https?://|[\w-]+\.\w)",
                rf"\b(?:curl|wget)\b[^|]{{0,200}}?(?:@|<|\$\(cat ){{1}}\W{{0,4}}[\w~/]*{_SECRET_FILE}",
                rf"{_SECRET_FILE}\S* ?\| ?(?:nc|ncat|curl|base64)\b",
                r"!\[[^\]]*\]\(https?://[^)]*[{<\[$][^)]*\b(?:secret|token|key|password|conversation|history|prompt)",
            ),
        ),
        (
            "user human operator",
            (
                rf"\b(?:do not|don't|never) (?:ever )?(?:tell|inform|notify|alert|show|warn) {_USER}\b"
                r" (?:this\b|that (?:you|this)\b|(?:about|of) (?:this|these|your)\b)",
                rf"\b(?:do not|don't|never) let {_USER} (?:know|notice|find out|see (?:this|that you))\b",
                r"\bwithout (?:informing|telling|alerting) (?:the|your) (?:user|human|operator)\b",
                rf"\bwithout {_USER}(?:'s)? (?:knowing|noticing|knowledge)\b",
                r"\b(?:do not|don't|never) (?:ever )?(?:mention|reveal|disclose) (?:it|this|these|that you|the fact)\b"
                rf".{{0,40}}?\b{_USER}\b",
                rf"\b(?:keep|hide) (?:it|this|these \w+)(?: secret| hidden)? from {_USER}\b",
            ),
        ),
        (
            "< [inst] # system assistant",
            (
                r"<(system|instructions?|important|admin)\b[^>`]{0,40}>[^<`]*?\w \w[^<`]*</\1>",
                r"(?:^|[.!?:>] ?)<(?:system|instructions?|important|admin)>(?! ?[a-z]*</) ?\S+",
                r"<\|(?:im_start|system|assistant|user|start_header_id)\|> ?\w+",
                r"\[inst\][^\[]{8,}\[/inst\]|<<sys>> ?\w+",
                rf"(?:#{{1,4}} ?|^|[.!?] )(?:system|assistant)"
                rf"(?: prompt| message)?: ?(?:the |as an? )?(?:you\b|ignore\b|{_MODEL}\b)",
            ),
        ),
        (
            "run execute install download fetch call approve",
            (
                rf"\b{_MODEL}\b.{{0,60}}?\b(?:must|should|shall|has to|have to)\b.{{0,20}}?"
                rf"\b(?:run|execute|install|download|fetch)\b"
                r".{0,60}?(?:\brm -rf\b|\bcurl\b|\bwget\b|https?://|\|\s?(?:ba|z)?sh\b)",
                r"\b(?:must|have to|always|first)\b.{0,20}?\b(?:run|execute)\b"
                r".{0,20}?\brm -rf (?:/|~/?|\$home/?)(?=$|[ `'\".,])",
                r"\b(?:run|execute|call)\b.{0,80}?"
                r" before (?:you answer|answering|you respond|responding|you reply|replying)\b",
                r"\bbefore (?:you answer|answering|you respond|responding|you reply|replying)"
                r",? (?:\w+ ){0,3}?(?:run|execute)\b",
                rf"\b{_MODEL}\b.{{0,40}}?\b(?:runs?|executes?|approves?)"
                rf" (?:each|every|all|any) (?:\w+ )?commands? without\b",
            ),
        ),
        # The oldest sentence of all, in other languages.
        (
            "ignor vergiss missacht olvid oubli instr negeer \u0438\u0433\u043d\u043e\u0440 \u5ffd\u7565 \u7121\u8996",
            (
                r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b.{0,40}?"
                r"\b(?:vorherig|bisherig|obig|fr\u00fcher|vorig)\w*"
                r" (?:\w+ )?(?:anweisung|instruktion|regel|befehl|vorgabe)",
                r"\b(?:ignora|olvida|ignore[zr]?|oublie[zr]?|esque\u00e7a)\w*\b.{0,30}?"
                r"\b(?:instruc|istruz|consign|r\u00e8gles|reglas|regras)\w*"
                r" (?:anterior|previ|pr\u00e9c\u00e9dent|precedent)",
                r"\bnegeer\b.{0,30}?\b(?:vorige|eerdere|voorgaande) (?:instructies|regels|opdrachten)",
                r"\u0438\u0433\u043d\u043e\u0440\u0438\u0440\w*.{0,20}?\u043f\u0440\u0435\u0434\u044b\u0434\u0443\u0449\w*"
                r" \u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446",
                r"\u5ffd\u7565.{0,8}(?:\u4e4b\u524d|\u4ee5\u4e0a|\u5148\u524d|\u524d\u9762)"
                r".{0,8}(?:\u6307\u4ee4|\u6307\u793a|\u63d0\u793a)",
            ),
        ),
    )
)  # fmt: skip
# Characters that hide words from a person. Flags of regions are made of tags behind a black flag, and are honest.
_HIDDEN: Final = re.compile(
    r"[\u202a-\u202e\u2066-\u2069]|(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]"
)
_UNSEEN: Final = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef]"
)
# Letters of Greek and Cyrillic that look like Latin ones.
_ALIKE: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u03bf\u03b1\u03b9\u03c1\u03bd\u2019",
    "aeopcxyijsoaipv'",
)


# Recall shows some memories again and again. A text of more characters is looked at each time.
_KEPT: Final = 4096
_KEPT_CHARS_MAX: Final = 1000


def is_marked(memory: Memory) -> bool:
    """Whether the words of a memory hold a pattern of prompt injection."""
    text = f"{memory.title}\n{memory.content}"
    return _is_known_suspicious(text) if len(text) <= _KEPT_CHARS_MAX else is_suspicious(text)


def is_suspicious(text: str) -> bool:
    """Whether a text holds a pattern of prompt injection."""
    if text.isascii():
        return _orders(text.lower())
    if _HIDDEN.search(text) is not None:
        return True
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).lower()
    alike = folded.translate(_ALIKE)
    return _orders(folded) or (alike != folded and _orders(alike))


_is_known_suspicious = lru_cache(_KEPT)(is_suspicious)


def _orders(lowered: str) -> bool:
    line = ""
    for cues, pattern in _FAMILIES:
        for cue in cues:
            if cue in lowered:
                line = line or " ".join(lowered.split())
                if pattern.search(line) is not None:
                    return True
                break
    return False
