"""Sentences that settle a choice, and messages that take a choice back. Values in, values out.

Not settled is a condition, a wish for later, a choice of other people or of the past, and a step of the work at hand.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh.mining.sentence_rules.phrases import ELSEWHERE, LASTING, PLAN, SUPPOSED, CuedPhrases, WordedPhrases, any_of
from mnemesh.mining.transcript import ASSISTANT

_NEVER_MIND: Final = r"(?:it|them|me|us|you|lunch|the flow|an?)\b"  # "go with it", "we went for a walk"
# Words that point at something said before, or begin a step of the work.
_POINTS: Final = (
    r"(?:it|i|you|they|he|she|there|this|that|these|those|again|try|run|rerun|do|go ahead|commit|push|check|see|stop"
    r"|wait|show|next|fix)\b"
)
_WILL: Final = (
    r"(?:use|go (?:with|for|back to|without)|stick (?:with|to)|stay (?:with|on|at)|keep (?!going|looking|trying|an eye)"
    r"|drop|move (?:to|off|away|from|back)|switch|replace|support|host|store|deprecate"
    r"|(?:write|build|ship)\b.*\b(?:in|with|on|as)\b)"
)
_REFUSED: Final = (
    r"(?:us(?:e|ing)|support(?:ing)?|add(?:ing)?|do(?:ing)?|go(?:ing)?|keep(?:ing)?|ship(?:ping)?|build(?:ing)?"
    r"|drop(?:ping)?|mov(?:e|ing)|switch(?:ing)?|stor(?:e|ing)|host(?:ing)?|allow(?:ing)?|rewrit(?:e|ing)"
    r"|migrat(?:e|ing))"
)
_SETTLED: Final = (
    r"^(?:ok(?:ay)?,? |so,? |then,? |and,? )?{0} (?:on|to|against|that)\b|\b(?:is|are|been|it's|that's)"
    r" (?:now |finally )?{0}\b|\b{0}(?: is)?:|, (?:that's )?{0}[.!]*$"
)
_CHOSEN: Final = (
    r"(?: have|'ve| all| both)* (?:just |now |finally |already )?(?:decided|agreed|settled|chose|picked|opted"
    r"|concluded)\b"
    r"(?! (?:these|those|it|them|this one)\b)"
)
_CHOSEN_WORDS: Final = "decided agreed settled chose picked opted concluded"
# Said by the agent, these are plans until the person agrees.
_PLANNED: Final = CuedPhrases(
    (
        "we",
        rf"\bwe(?:(?:'ll| will|'re going to| are going to) (?:now |all |just )?{_WILL}"
        r"|(?:'re| are) (?:now )?(?:going (?:with|for|back to|without)|sticking (?:with|to)|staying (?:with|on|at)"
        r"|keeping|dropping|switching|moving (?:\w+ )?(?:to|off|away|from|back)|replacing|deprecating)\b"
        rf"|(?:'ll not| will not| won't|'re not| are not|'re not going to| are not going to) {_REFUSED}\b"
        r"|(?:'ll| will) \w+\b.*\b(?:instead of|rather than|because)\b)",
    ),
)
_DECISION: Final = WordedPhrases(
    (
        f"{_CHOSEN_WORDS} went stuck stay stayed stick support",
        rf"\bwe(?:{_CHOSEN}"
        r"| (?:went|stuck|stay|stayed|stick) (?:with|on)\b| (?:only support|support only)\b)",
    ),
    (f"{_CHOSEN_WORDS} went stuck stayed", rf"(?:\bi|\bteam)(?:{_CHOSEN}| (?:went|stuck|stayed) with\b)"),
    ("decided", rf"{_SETTLED.format('decided')}"),
    ("agreed", rf"{_SETTLED.format('agreed')}"),
    ("settled", rf"{_SETTLED.format('settled')}"),
    ("decision", r"\bdecision(?: is)?:"),
    (
        "go going gone went",
        rf"(?:^|\b(?:we|i|let's|then|just|please) |, )(?:go|going|gone|went) with (?!{_NEVER_MIND})",
    ),
    ("go going gone went", rf"(?:^|\b(?:we|i|let's|then|just|please) |, )(?:go|going|gone|went) for (?!{_NEVER_MIND})"),
    (
        " it is",
        r"^(?!(?:\S+ )*(?:as|what|how|where|which|that|because|since|if|when|than|though|here|there|so|like|think|guess"
        r"|and|but|say|sure) it is)"
        r"(?:[\w`./-]+ ){1,4}it is(?: then| now)?(?:[.,:;!]|$)",
    ),
    (
        "choice verdict decision call",
        r"\b(?:the |our |my )(?:final )?(?:choice|verdict|decision) is (?!yours|mine|up to|not|to be|pending|still"
        r"|made)|\b(?:final call is|the call is (?:to|that))\b",
    ),
)
_USERS_DECISION: Final = WordedPhrases(
    (
        "let",
        r"\blet's (?:use|settle on|stick (?:with|to)|stay (?:with|on)|keep (?!going|looking|trying|working|an eye)"
        rf"|drop|store|switch|go (?:(?:with|for) (?!{_NEVER_MIND})|back to|without)"
        r"|move (?:\w+ )?(?:to|off|away|back)|do it with|make it (?:an?|the|\d)"
        r"|not (?:use|support|add|introduce|allow)|take (?!a |an |it |care|stock|another)|skip (?!this|that|it\b))",
    ),
    *(
        ("use take keep pick choose", rf"^(?:[\w']+,? ){{0,2}}(?:use|take|keep|pick|choose)\b.* {word} ")
        for word in ("instead of", "rather than", "over", "not")
    ),
    # Short answers to a proposal.
    (
        "then",
        r"^(?!(?:ok|okay|well|now|until|till|by|since|and|but|so|back|just|only|even|right|fine|good|what|why|how|from"
        rf"|if|yes|no|{_POINTS})\b)[\w.+/-]{{2,30}} then[,;:]|^then (?!{_POINTS}|the\b)(?:we )?[\w.+/ -]{{2,40}}[,;:]"
        rf"|^(?:ok(?:ay)?|fine|alright|all right|good|right|yes|so)[,:]? (?!then|{_POINTS})[\w.+/ -]{{2,40}} then\b",
    ),
    ("so", rf"^so:? (?!{_POINTS})[\w.+/ -]{{2,40}}, (?:no|not|never|without)\b"),
    ("scrap ditch forget", r"\b(?:scrap|ditch|forget about) the (?!idea)"),
)
_CHOICES: Final = "chose|picked|switched|replaced|dropped|decided|went"
_DEEDS: Final = f"{_CHOICES}|used|kept|moved"
_OWN_DEED: Final = r"\b(?:i|we) (?:{}) (?!these\b|those\b|it\b|them\b|that\b).*\b{}\b"
_AGENTS_DECISION: Final = WordedPhrases(
    *((_DEEDS.replace("|", " "), _OWN_DEED.format(_DEEDS, word)) for word in ("because", "instead of", "rather than")),
    *((_CHOICES.replace("|", " "), _OWN_DEED.format(_CHOICES, word)) for word in ("since", "so that")),
    ("over", r"\b(?:i|we) (?:chose|picked|kept) .*\bover\b(?! (?:to|there)\b)"),
)
# A step of the work at hand, or a wish for later.
_OF_THE_MOMENT: Final = any_of(
    r"\bfor (?:this|the next|one) (?:run|test|demo|time|once|session)\b|\bthis time\b|\bjust once\b",
    r"\b(?:first|today|tonight|tomorrow)[.!]*$|\bnext (?:week|month|quarter|sprint|year)\b",
    r", if (?:you|that)\b",
)
_NOT_SETTLED: Final = any_of(
    r"\b(?:nothing|nobody|no one|none|not|never|yet to be|to be|\w+n't)(?: \w+){0,2} (?:decided|agreed|settled)\b",
    r"\b(?:once|when|why|how|until|if|what|whether) (?:we|i)\b",
    r"\bnot to decide\b|\bagreed to disagree\b|\b(?:agreed|concluded) (?:that )?(?:that|this|it) (?:was|is)\b",
)
_TAKES_BACK: Final = any_of(
    r"\b(?:scrap|scratch|forget|undo|revert|drop) (?:that|this|it)\b(?! (?:file|test|line|commit))",
    r"\bnever ?mind\b|\bon second thoughts?\b|\bchanged my mind\b|\bactually,? (?:no|not|don't|let's not)\b",
)
_REJECTS: Final = re.compile(
    r"(?:(?:hm+|ugh|oh|well|sorry|ok|please|but)[,.]? )*"
    r"(?:no|nope|nah|wait|(?:don't|do not) (?:do|use|want|like)|not (?:that|like))\b"
)


def is_decision(lowered: str, role: str) -> bool:
    """Whether a sentence in lower case settles a choice."""
    if role == ASSISTANT:
        said = _DECISION.search(lowered) or _AGENTS_DECISION.search(lowered)
        settled = said is not None and not PLAN.search(lowered)
    else:
        asked = _USERS_DECISION.search(lowered) is not None and not LASTING.search(lowered)
        settled = asked or (_DECISION.search(lowered) or _PLANNED.search(lowered)) is not None
    if not settled or SUPPOSED.search(lowered) or ELSEWHERE.search(lowered):
        return False
    return not (_NOT_SETTLED.search(lowered) or _OF_THE_MOMENT.search(lowered))


def takes_back(text: str) -> bool:
    """Whether a message of the person takes the last choice back."""
    return _TAKES_BACK.search(text.lower()) is not None


def rejects(text: str) -> bool:
    """Whether a message of the person begins with a no to what the agent just said."""
    return _REJECTS.match(text.lower()) is not None
