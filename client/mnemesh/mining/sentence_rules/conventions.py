"""Sentences that say a rule for all work on a project. Values in, values out.

No rule is a guess about a cause, a deed that has to be done now, a habit of other people, and what holds for a while.
"""

from __future__ import annotations

import re
from typing import Final

from mnemesh.mining.sentence_rules.phrases import (
    BROKEN,
    ELSEWHERE,
    ERRAND,
    FIRST_PERSON,
    LASTING,
    OF_HERE,
    SUPPOSED,
    Phrases,
    WordedPhrases,
    any_of,
)
from mnemesh.mining.sentence_rules.rule_forms import is_rule_by_form, tells_of_a_fault

# A word that makes a sentence about this project a rule by itself. "Our server always restarts" is a report.
# A rule in so many words.
_STATED: Final = (
    ("exception exceptions", r"\bwithout exceptions?\b|\bno exceptions?[.!]*$"),
    (
        "rule convention policy",
        r"\b(?:that's|that is|it's|this is) (?:the|our|a) (?:house |team )?(?:rule|convention|policy)\b",
    ),
)
_NORM: Final = (
    ("must mustn", r"\bmust(?:n't)?\b"),
    ("has have", r"\b(?:has|have) to\b"),
    ("may allowed", r"\b(?:may not|(?:are|is) not allowed)\b"),
    (
        "rule convention policy",
        r"\bby convention\b|^(?:rule|convention|policy)\b"
        r"|\b(?:house|team|project|our|the|new) (?:rule|convention|policy)(?: here| (?:of|for|in) [\w ]{2,30})?"
        r"(?::| is\b)",
    ),
    ("nothing may", r"\bnothing (?:[\w/.-]+ ){0,3}(?:may|must|is allowed to)\b|\bno (?:[\w/.-]+ ){1,3}may\b"),
    *_STATED,
    (
        "nobody no",
        r"\b(?:nobody|no one)\b(?! (?:here |else )?(?:knows?|has|can|is|was|uses?"
        r"|understands|remembers?|likes?|wants?|reads?|noticed|else|gets?|got|had|saw|hears?|answers?|picks|cares?)\b"
        r"|(?: [\w]+){0,3}? (?:\w{2,}ed|saw|got|knew)\b)",
    ),
)
_STRICT: Final = WordedPhrases(
    *_NORM,
    (
        "always never",
        r"\b(?:we|and|but|please) (?:\w+ )?(?:always|never)\b|^(?:always|never)\b(?! (?:mind|the same)\b)",
    ),
)
_UNIVERSAL: Final = WordedPhrases(
    *_NORM, ("always never everywhere convention", r"\b(?:always|never|everywhere|convention)\b")
)
_CONVENTION: Final = Phrases(
    r"\b(?:every|each|all|any) (?:new |our |public |the )?[\w./-]+(?: [\w./-]+)? (?:must|needs?|gets?|has"
    r"|have|carr(?:y|ies)|goes?|lives?|reads?|uses?|starts?|ends?|takes?|returns?|should|belongs?|is"
    r"|are)\b",
    r"\b(?:must|must not|mustn't|has to|have to|may only|should (?:always|never)) (?:be|have|go|use|pass"
    r"|carry|live|come|start|end|return|take|not)\b",
    r"\b(?:in this (?:repo\w*|project|code ?base)|here),? (?:we|all|tests?|files?)\b",
    r"^(?:and |also |please |oh,? )*(?:never|always) \w+",
    r"^(?:and |also )*(?:all|every|each) (?!of\b|good|right|done|set|clear|in all|the tests)[\w/-]+ \w+",
    r"^in this (?:repo\w*|project|code ?base),? (?!this|there|things|is |was |has )(?:[\w-]+ ){0,2}[\w-]+s \w+",
    r"^(?:(?:house|new|project|team|our) )?(?:rule|convention|policy)\b.*:",
    r"\bwe (?:don't|do not|use|keep|put|name|write|return|log|prefix|sort|pin|store|test)\b.*\b(?:here"
    r"|in this (?:repo\w*|project|code ?base)|by convention|for all|in all)\b",
    r"^(?:no|never|always) (?!idea|problem|luck|need|clue|wonder|worries|way|rush|reason|doubt|changes?|errors?"
    r"|tests?|bugs?|mind|the same)\w+.*\b(?:in|without|outside|under|inside|through|via)\b",
    r"\bthat(?:'s| is) how (?:we|all|our|it's done)\b(?! (?:got|found|ended|lost|did|came|\w+ed)\b)",
    # A plain plural: "branches are named ...", "handlers stay thin".
    r"^(?:and |also |btw,? )?(?:the |our |all |new )?(?:[\w/-]+ ){0,2}[\w/-]+s (?:follow|live|go|need|stay"
    r"|belong|must|get|start with|end with|come with|carry|should|never|always|are (?:named|stored|written"
    r"|wrapped|kept|placed|put|sorted|prefixed|called|never|always|only|versioned|generated|squashed|in))\b",
    r"\b(?:is|are) (?:always|never|only)\b",
    r"\b(?:always|never) (?:needs?|goe?s?|lives?|gets?|uses?|comes?|ha(?:ve|s)|carr(?:y|ies)|starts?|ends?|returns?"
    r"|belongs?|runs?|must)\b",
    r"\b(?:is|are|uses?)\b.*\b(?:everywhere|throughout)\b",
    r"\b(?:follow|live|go|stay|belong)s? .*\b(?:always|without exception)\b",
    r"\b(?:from now on|going forward),? .*",
    r"^in (?:this|our) [\w -]{2,20}?,? we (?:only |always |never |don't |do not )?"
    r"(?!are|were|had|have|got|get|all|found|saw|made|lost|broke|wrote|took|went|came|did|ran|left|met|built)[a-z]+ ",
    r"^(?:everything|anything|all|files?|code) [\w /.-]+, (?:so |and |please )?(?:never|always|don't|do not) \w+",
    r"\bnothing (?:[\w/.-]+ ){0,3}(?:may|must|is allowed to)\b|\bno (?:[\w/.-]+ ){1,3}may\b",
    r"^(?!.*\b(?:was|were|had|did|went|came)\b).*, (?:and )?never"
    r" (?:to|in|into|from|by|on|with|through|via|as|the|an?)\b",
    r"^(?:nobody|no one) [a-z]+s (?:to|in|on|into|from|without)\b|, always[.!]*$",
)  # fmt: skip
_FORMS: Final = WordedPhrases(*_STATED)
_NORMS: Final = WordedPhrases(*_NORM)
# A deed of people, or a word about the whole project. "Our builds always start cold" tells of a program.
_OF_PEOPLE: Final = Phrases(
    r"^(?:and |also |please |oh,? |but )*(?:never|always|no|use|put|keep|name|write|don't|do not|prefix|wrap|store"
    r"|follow)\b",
    r"\bwe (?!\w+ed\b)\w+|\b(?:from now on|going forward|rule|convention|policy)\b|\bhow (?:we|it's done|all)\b",
    r"\bin [\w -]+ case here\b|\bin the same (?:pr|commit|change)\b|\bin this (?:repo\w*|project|code ?base)\b",
    r", (?:and )?never\b|\balways[.!]*$|\balways (?:as\b|goe?s? there)|\beverywhere\b",
)
# A report of what is or was, no rule.
_REMARK: Final = any_of(
    r"(?<!from )\bnow\b(?! on\b)",
    r"\bwe (?:always|never|only|all) (?:\w+ed|got|had|knew|thought|think|were|did|found|saw)\b",
    r"\b(?:used to|old (?:tool|system|version|code)|last (?:week|month|year|time)|yesterday|today|so far"
    r"|already|anyway)\b",
    r"\b(?:all|every|each|any) [\w ]+ (?:can|could|might|seems?|looks?)\b",
    r"\b(?:all|every|each|everything) (?:of (?:them|it|this) )?(?:is |are )?(?:good|fine|right|well|set|ok|okay|great"
    r"|nice)\b",
)
# A guess at a cause, or something to do now: "it has to be the cache", "we must deploy".
_NOT_A_RULE: Final = Phrases(
    r"^(?:and |but |so |then |because )*(?:it|that|this|there|he|she|they|you) (?:must|has|have|never|always)\b",
    r"^must be\b",
    r"^(?:every|each|all|our) (?:our )?(?:users?|customers?|visitors?)\b",
    r"\bstill[.!]*$",
    r"\bwe (?:have|need) to .*\b(?:every (?:morning|day|night|time|week)|twice)\b",
    r"^(?:do|does|did|is|are|was|were|why|what|how|who|which|can|could|should) \w",
    r"^(?:never mind|always the same)\b",
    r"^we (?:are|have) (?:only|all)\b",
    r"\bbugs?\b|\btakes? (?:\w+ )?(?:forever|ages|minutes|seconds|hours|a while)\b",
    r"\ball (?:two|three|four|five|six|\d+)\b",
    r"\b(?:is|are) (?:always|never|only) (?:cold|down|up|late|busy|full|there|here|on|off|a (?:mess|pain)|two|three"
    r"|\d)\b",
    r"\bmust(?:'ve| have) (?:been|had|gone|got|come|lost|made|done|left|broken|sent|taken|run|\w+(?:ed|tten))\b"
    r"|\b(?:must be (?:nice|some\w*|due|because)|has to (?:do with|be (?:the|some\w*)))\b",
    r"\bmust be (?:up|back|ready|done|finished|online|out|live|more|less|shorter|longer"
    r"|smaller|bigger|larger|faster|better|clearer|simpler|easier)\b|\b(?:up|back|down) again\b",
    r"^here we\b|^never (?:seen|heard|had|been|done|got|knew|\w+ed)\b",
    r"\bnothing (?:[\w/.-]+ ){0,3}may (?:come|happen|help|change|explain|work)\b",
    r"\bmust be the (?:reason|cause|problem|culprit|one|same|wrong)\b|\b(?:they|it|that) (?:don't|doesn't)[.!]*$",
    r"\bwe (?:have to|need to|must) (?:not forget|find|figure|check|look|see|wait|fix|ask|talk"
    r"|think|understand|debug|decide|hurry|try)\b",
    r"\bwe (?:always|never|only) (?:get|got|see|saw|forget|lose|have to|had|wonder|know|need|end up|run into|hit|reach"
    r"|notice|find|struggle|wait|miss|hear|come back|break)\b",
    r"\b(?:always|never) (?:hits?|fires?|happens?|works?|reach(?:es)?|arrives?|triggers?|gets? (?:called|here)) ",
    r"\bfor (?:this|the) (?:demo|run|test|branch|pr|sprint|release|moment|time being)\b|\bfor now\b"
    r"|\b(?:tonight|tomorrow|soon|eventually|at some point|some ?day)\b|\bthis (?:week|sprint|time)\b"
    r"|\b(?:on|by|every) (?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\bbefore (?:lunch|we see)\b"
    r"|\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|it|that|them|this) later[.!]*$",
)
_FOR_ALL: Final = any_of(
    r"\b(?:always|never|every|each|all|any|no|nobody|no one|before|when(?:ever)?|without|only|mustn't|must not"
    r"|convention|rule|policy)\b"
)
# The consequence of a breach is no report of a fault.
_OTHERWISE: Final = re.compile(r", (?:or (?:else )?|because |since )?[^,]*$|, [^,]+\b(?:otherwise|else)[.!]*$")
_WE_OUGHT: Final = any_of(r"\bwe (?:have to|must|need to)\b")


def is_convention(lowered: str) -> bool:
    """Whether a sentence in lower case says such a rule."""
    if not is_rule_by_form(lowered) and _FORMS.search(lowered) is None:
        universal, here = _UNIVERSAL.search(lowered) is not None, OF_HERE.search(lowered) is not None
        if not (universal or here):
            return False
        if not (universal and here and _STRICT.search(lowered)) and not _CONVENTION.search(lowered):
            return False
        if not _NORMS.search(lowered) and (tells_of_a_fault(lowered) or not _OF_PEOPLE.search(lowered)):
            return False
    if FIRST_PERSON.search(lowered) or BROKEN.search(_OTHERWISE.sub("", lowered)) or _REMARK.search(lowered):
        return False
    if _NOT_A_RULE.search(lowered) or SUPPOSED.search(lowered) or ELSEWHERE.search(lowered):
        return False
    if _WE_OUGHT.search(lowered) and not _FOR_ALL.search(lowered):
        return False
    return LASTING.search(lowered) is not None or not ERRAND.match(lowered)
