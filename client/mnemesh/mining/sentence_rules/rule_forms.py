"""Sentences that are a rule by their form alone: "A handler never talks to the database."

Values in, values out. A report has the same form: "A retry never succeeds." So the subject must be a thing that people
make, or the people of the project. The verb must be a deed that people give to that thing. A word of trouble or of the
moment makes a report of the sentence.
"""

from __future__ import annotations

from typing import Final

from mnemesh.mining.sentence_rules.phrases import TROUBLE, WordedPhrases, any_of

_LEAD: Final = r"^(?:and |also |btw,? )?"
# Things that stand in a repository. Events of run time (a retry, a request, a reload) are not among them.
_MADE: Final = (
    r"(?:(?:new |public |our |the )?(?:[\w./-]+ ){0,2}"
    r"(?:migration|handler|service|function|method|module|package|component|test|spec|endpoint|route|controller|model"
    r"|view|file|folder|commit|branch(?:e(?=s))?|pull request|merge request|pr|release|flag|setting|key|constant|type"
    r"|interface|enum|id|timestamp|amount|error|log line|command|script|hook|page|form|table|column|index(?:e(?=s))?"
    r"|schema|doc|readme|docstring|comment|secret|serializer|event|fixture|mock|helper|template|translation|feature"
    r"|change|job|worker|consumer|adapter|plugin|resource|alert|dashboard|variable|style|hook|project|repo"
    r"|class(?:e(?=s))?|(?:bug ?)?fix(?:e(?=s))?|(?:quer|dependenc|factor|librar|polic|repositor|entit|director|stor)"
    r"(?:y|ie(?=s)))s?)"
)  # fmt: skip
# Deeds of such a thing that a person decides. An object follows, so "a query never returns" is none.
_DOES: Final = (
    r"(?:talk|call|import|fetch|commit|read|write|return|touch|log|drop|know|depend|throw|raise|catch|create|inherit|use"
    r"|contain|hold|take|own|publish|emit|render|mutate|extend|implement|access|bypass|store|accept|export|expose"
    r"|declare|define|link|follow|ha(?=s)|have|carr(?:y|ie(?=s))|quer(?:y|ie(?=s)))(?:e?s)?"
    r" (?!its (?:time|toll)|(?:it|this|here|twice|again|until|when|if|after|only|anything|nothing|back|all"
    r"|two|three|many|\d+)\b)\w"
)
_IS: Final = (
    r"(?:is|are) (?:always |never |only )?(?:(?:named|stored|pinned|wrapped|written|versioned|prefixed|suffixed|tested"
    r"|documented|reviewed|kept|squashed|removed|placed|put|sorted|grouped|declared|defined|typed|formatted|validated"
    r"|tagged|signed|translated|generated|registered|merged|rebased|linted|covered|encrypted|hashed|scoped|exported)"
    r" (?:in|into|with|by|under|after|from|before|within|to|via|through|as|against|at|on|beside)\b"
    r"|(?:strings?|integers?|uuids?|immutable|read-only|lower-?case|upper-?case|stateless|idempotent|private)\b)"
)
_STANDS: Final = r"(?:live|sit|go(?:e(?=s))?|belong)s? (?:in|into|under|next to|beside|behind|to|through|via|inside)\b"
_BEARS: Final = (
    r"(?:(?:start|end)s? with|comes? with an?|gets? (?:an?|its)|log(?:s)? to|(?:read|inherit|import)s? from"
    r"|takes? its) (?!toll|time)\w"
)
_PEOPLE: Final = (
    r"(?:push|merg|edit|commit|deploy|releas|touch|approv|rewrit|renam|delet|skip|bypass|disabl|tag|publish|chang"
    r"|force-push|hard-?cod)(?:e)?s \w"
)
_OF_PEOPLE: Final = (
    r"(?:squash|name|pin|prefix|suffix|rebase|wrap|review|version|tag|format|document|sort|keep|write|validate|lint)"
)
_FORBIDDEN: Final = (
    r"(?:use|write|mock|log|import|commit|push|merge|store|call|throw|raise|hard-?code|deploy|release|rebase|squash|edit"
    r"|rename|skip|disable|test|add)"
)
_PASSING: Final = r"(?!it\b|this\b|that\b|them\b|up\b|about\b|out\b|the\b|an?\b|to\b|both\b|two\b|three\b|\w+ing\b)"
_FORMS: Final = WordedPhrases(
    (
        "each every all no",
        rf"{_LEAD}(?:each|every|all|no) {_MADE} (?:{_DOES}|{_IS}|{_STANDS}|{_BEARS})",
    ),
    ("never always", rf"{_LEAD}an? {_MADE}(?: class)? (?:never|always) (?:{_DOES}|{_STANDS}|{_BEARS})"),
    ("nobody no", rf"{_LEAD}(?:nobody|no one) {_PEOPLE}"),
    ("we", rf"{_LEAD}we (?:always |only )?{_OF_PEOPLE} {_PASSING}(?:[\w-]+ )?(?:before|on|[\w-]+s)\b"),
    ("never don", rf"{_LEAD}we (?:never|don't) {_FORBIDDEN} {_PASSING}[a-z]"),
    ("do", rf"{_LEAD}we do not {_FORBIDDEN} {_PASSING}[a-z]"),
    ("we", rf"{_LEAD}we (?:only )?(?:deploy|release|ship) (?:only |from|through|via)\b"),
    (
        "nothing",
        rf"{_LEAD}nothing (?:in|below|under|outside|inside|above) [\w./-]+"
        r" (?:import|know|depend|touche|call|read|write|use|talk)s\b",
    ),
    ("only", rf"{_LEAD}only (?:the )?(?:{_MADE}|(?:[\w-]+ )?(?:ci|pipeline|team|maintainers?|owners?)) {_PEOPLE}"),
    ("live sit go belong are", rf"{_LEAD}(?:our )?{_MADE} (?=(?:live|sit|go|belong|are)\b)(?:{_STANDS}|{_IS})"),
    ("never always", rf"{_LEAD}(?:our |all )?{_MADE} (?:never|always) (?:{_DOES}|{_STANDS}|{_BEARS})"),
    # Deeds of code alone, so the subject may be any thing: "an ISR never calls the logger".
    (
        "never",
        rf"{_LEAD}an? (?!user|customer|colleague|person)[\w-]+ never (?:import|mutate|hold|call|touche|extend|inherit)s"
        r" (?:its |an? |the |from )\w",
    ),
    ("use put keep name write prefix wrap store", r"^(?:please )?(?:use|put|keep|name|write|prefix|wrap|store) "
     r"[^,]*\b(?:every|all|each|any)\b.*\b(?:in this (?:repo\w*|project|code ?base)|here)\b"),
    (
        "everything anything",
        r"^(?:everything|anything) (?:in|under|below|inside) [\w/.-]+ .*, (?:so )?(?:never|do not|don't)"
        r" (?!bother|worry|know|expect)\w+",
    ),
)  # fmt: skip
# The outcome is bad, the time is now, or somebody tells a symptom.
_REPORT: Final = any_of(
    r"\b(?:warnings?|wait|[45]\d\d|old|dies|dead|nan|clobber\w*|twice|toll|weird\w*|strange\w*|odd(?:ly)?|somehow"
    r"|forgets?|again|symptom|noise|garbage|problem(?!\+)|issue|mess|trouble)\b",
    r"\b(?:at the moment|right now|currently|these days|for some reason|on my machine|locally|since|this morning)\b",
    r", which\b|\btoo (?:many|much|long|late|big|slow)\b|\band then\b"
    r"|\b(?:longer|less|more) than \w+ (?:seconds?|minutes?|hours?)\b",
)
_OF_THIS: Final = any_of(r"\b(?<!beside )(?:this|it|them)(?: back)?[.!]*$")


def is_rule_by_form(lowered: str) -> bool:
    """Whether a sentence in lower case says a rule by its form, and nothing in the sentence tells of a fault."""
    if _FORMS.search(lowered) is None or _OF_THIS.search(lowered):
        return False
    return not tells_of_a_fault(lowered) and not TROUBLE.search(lowered)


def tells_of_a_fault(lowered: str) -> bool:
    """Whether a sentence in lower case describes a symptom or the state of the moment."""
    return _REPORT.search(lowered) is not None
