"""The class of a sentence by its words: few general rules of English. Values in, values out.

A sentence has one class or none. A question, a guess and a report of another's words have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mnemesh.mining.sentence_rules.conventions import is_convention
from mnemesh.mining.sentence_rules.decisions import is_decision
from mnemesh.mining.sentence_rules.phrases import (
    BROKEN,
    ELSEWHERE,
    ERRAND,
    FIRST_PERSON,
    HEDGE,
    OF_HERE,
    PLAN,
    REPORTED,
    TROUBLE,
    Phrases,
    WordedPhrases,
    any_of,
    words_of,
)
from mnemesh.mining.transcript import USER

DECISION: Final = "decision"
FIX: Final = "fix"
CONVENTION: Final = "convention"
PREFERENCE: Final = "preference"
ENVIRONMENT: Final = "environment"
COMMAND: Final = "command"
HOT_FILE: Final = "hot_file"
REQUIREMENT: Final = "requirement"
EXPLICIT, SIGNALS, INFERRED = "explicit", "signals", "inferred"  # the tiers of a preference
CLASSES: Final = (DECISION, FIX, CONVENTION, PREFERENCE, ENVIRONMENT, COMMAND, HOT_FILE, REQUIREMENT)


_SERVED: Final = (
    r"(?:emojis?|docstrings?|comments?|recaps?|summar\w+|apolog\w+|explanations?|explain|answers?|replies"
    r"|reply|respon\w+"
    r"|messages?|verbose|wordy|terse|brief|concise|short(?:er)?|longer|bullet|bullets|jargon|commits?"
    r"|committing|push(?:ing)?"
    r"|ask(?:ing)?|tell|show|diffs?|plan|step by step|one at a time|language|english|german|french|tone"
    r"|details?|preamble"
    r"|filler|tables?|headings?|markdown|copy|wording|call me|address)"
)
_DURABLE: Final = (
    r"(?:from now on|going forward|in (?:the )?future|next time|every time|each time|always|never"
    r"|henceforth|in general|by default)"
)
_DURABLE_WORDS: Final = "now forward future time always never henceforth general default"
_PREFERENCE_BEGINS: Final = any_of(
    r"^(?:\w+,? )?(?:please )?(?:explain|answer|reply|ask|tell|show|give|summari[sz]e|write|keep|speak"
    rf"|respond)\b.*\b{_DURABLE}\b",
    rf"^(?:no|nope|hm+|ugh|again|actually)\b[,.:]? .*\b{_SERVED}\b",
    rf"^please (?:use|keep|be|make|write)\b.*\b{_SERVED}\b",
    r"^(?:please )?(?:skip|drop|leave out|spare me) (?:that|this|it|them|those)\b",
    r"^(?:please )?(?:speak|talk|answer|reply|respond|be)\b(?! (?:to|sure|the)\b)",
    r"^(?:please )?(?:don't|do not|never|stop)\b.*\byou\b",
)
_PREFERENCE: Final = WordedPhrases(
    (
        "prefer hate dislike rather stand",
        r"\bi(?:'d| would)?(?: really| much| strongly)? (?:prefer|hate|dislike|rather|can't stand)\b",
    ),
    (
        "like love",
        r"\bi (?:really )?(?:like|love) (?:it when|my|your|short|to see|to have|having|when)\b",
    ),
    (
        "don do",
        r"\bi (?:don't|do not) (?:like|want|need|care for) (?:you|any|every|to see|to be|it when|the|a|long|your)\b",
    ),
    (
        "want like need",
        r"\bi(?:'d)? (?:always |only |usually )?(?:want|like|need) (?:you to|to see|to be|my|all"
        rf"|your)\b.*\b(?:{_DURABLE}|before|when(?:ever)?|only)\b",
    ),
    (
        _DURABLE_WORDS,
        rf"\b{_DURABLE}\b.*\b(?:me|my|you|your|yourself|i)\b",
    ),
    (
        _DURABLE_WORDS,
        rf"\b(?:me|my|you|your|yourself|i)\b.*\b{_DURABLE}\b",
    ),
    (
        _DURABLE_WORDS,
        rf"\b{_DURABLE},? (?:please )?(?:explain|answer|reply|ask|tell|show|give|summari[sz]e|write|keep|start"
        r"|speak|respond)\b",
    ),
    (
        "stop don do never quit no avoid skip less enough",
        r"(?:^|[,:] |\bplease )(?:stop|don't|do not|never|quit|no more|avoid|skip|less|no need for"
        rf"|enough with)\b(?! (?:worry|mind)).*\b{_SERVED}\b",
    ),
    (
        "please",
        rf"\b{_SERVED}\b.*\bplease\b",
    ),
    (
        "keep always constantly",
        r"\byou(?:'re| are)? (?:keep|always|constantly)\b",
    ),
    (
        "stop",
        r"\bstop \w+ing\b",
    ),
    (
        "can cannot",
        r"\bi (?:can't|cannot) (?:read|stand|follow|bear)\b",
    ),
    (
        "always never usually only",
        r"\bi (?:always|never|usually|only) (?!saw|got|had|see\b|get\b|forget|lose|wonder|wanted|thought)\w+",
    ),
    (
        "hold",
        r"\bhold off (?:on )?\w+ing\b",
    ),
    (
        "no",
        rf"(?:^|, )(?:and )?no (?:more )?(?:buzzwords|fluff|emoji|\w+ for me|{_SERVED})\b",
    ),
    (
        "me",
        r"\bfor me,? i\b",
    ),
    (
        "please",
        r"\bplease (?:answer|reply|respond|speak|talk)\b",
    ),
    (
        "want like need",
        r"\bi(?:'d)? (?:want|like|need) [\w ]+,? (?:not|instead of|rather than)\b",
    ),
    (
        "when",
        r"\bwhen i (?:say|write|ask|type|tell)\b.*\b(?:i mean|do|don't|just|it means|i want)\b",
    ),
    (
        "again",
        r"\byou (?:forgot|missed|ignored)\b.*\bagain\b",
    ),
    (
        "call",
        r"\bcall me \w+",
    ),
    (
        "be keep make",
        rf"\b(?:be|keep (?:it|your \w+|them)"
        rf"|make (?:it|your \w+)) (?:more |less )?{_SERVED}\b",
    ),
    (
        "asking unless until ask before",
        r"\b(?:without asking|unless i (?:ask|say|tell)|until i (?:ask|say|tell)|ask me (?:first|before)"
        r"|before you (?:edit|change|run|commit|push|delete|touch))\b",
    ),
)
_LASTING_WISH: Final = any_of(
    rf"\b{_DURABLE}\b",
    r"\bi(?:'d| would)?(?: really| much| strongly)? (?:prefer|hate|dislike|rather|can't stand|love|like|want|need)\b",
    r"\bwhen(?:ever)? i\b|\bunless i\b|\bcall me\b|\byou (?:keep|always|constantly)\b",
)
_COMMANDED: Final = any_of(r"\b(?:always|never|must(?:n't)?|has to|have to|nobody|no one|from now on|going forward)\b")
# Deeds of a program, which a rule for work on one does not name.
_DEED: Final = (
    r"(?:work|show|refuse|allow|support|accept|reject|send|remember|export|import|print|play|display|warn|open|load"
    r"|survive|offer|list|handle|ask|tell|let|notify|hide|count|run|respond"
    r"|be (?:able|possible|usable|visible|accessible))"
)
_NEEDED: Final = WordedPhrases(
    (
        "must mustn should shouldn need needs needed has have as requirement requirements criterion story feature",
        r"\b(?:must|should|needs?|ha(?:s|ve) to|as an?|requirement|criterion|story|feature request)",
    ),
)
_REQUIREMENT: Final = Phrases(
    r"^(?:new |another |one more )?(?:requirement|acceptance criterion|user story|feature request)s?\b.*:",
    r"^(?:also,? |and |then |finally,? )?(?:[\w-]+ ){1,4}(?:must(?: not)?|ha(?:s|ve) to|needs? to|should(?: also)?)"
    rf" {_DEED}\b",
    r"\b(?:must|should|needs? to|ha(?:s|ve) to) be able to\b",
    r"\bneeds? an? (?:way|button|page|list|view|screen|report|filter|option|export) (?:to|for|that|with|where)\b",
    r"^as an? [\w -]{2,30},? i(?:'d like| want| need| would like)\b",
)
_FORECAST: Final = any_of(
    r"\bshould \w+ .*\b(?:once|after|now that|when)\b", r"\b(?:tonight|tomorrow|today|by \w+day)\b"
)
# What happens each time, and how a thing of the work has to be: no wish about the agent.
_OF_THE_WORK: Final = re.compile(
    r"(?:and |but )?(?:every|each) time (?:i|we|it|the)\b[^,]*$"
    rf"|(?:the|this|that) (?!{_SERVED}\b)[\w-]+ (?:must|should|could|has to|needs to) be\b"
)
_THING: Final = any_of(
    r"\b(?:staging|production|prod|dev|test|demo|qa|servers?|hosts?|machines?|box|clusters?|databases?|db"
    r"|postgres\w*|mysql|mariadb|mongo\w*|redis|kafka|rabbitmq|elastic\w*|opensearch|broker|queue|ci"
    r"|runners?|registry|buckets?|accounts?|region|vpn|proxy|gateway|gpus?|laptop|mac\w*|ubuntu|debian"
    r"|windows|docker|kubernetes|k8s|gke|eks|vms?|ports?|endpoint|urls?|domain|dns|services?|dashboard"
    r"|grafana|prometheus|sentry|apis?|node|python|java|go|ruby|rust|php|site|xcode|jdk|cuda|state"
    r"|backups?|logs?|cache|sandbox|tenant|project id|app|frontend|backend|worker|mirror|smtp|ldap|sso"
    r"|printer|raspberry|nas|keys?|secrets?|tokens?|credentials?|passwords?|docs|wiki|image|images|disk"
    r"|volume|storage|network|subnet|bastion|jump host|users?|login|compiler|toolchain|terraform|nginx"
    r"|rabbit|celery|nats|minio|s3|artifacts?|builds?|releases?|deploys?|deployments?|we're on|we are on)\b"
)
_STANDS: Final = any_of(
    r"\b(?:runs?|running|is|are|lives?|listens?|sits?|hosted|points?|uses?|deployed|reachable|resolves?"
    r"|connects?|has|have|needs?|requires?|expects?|stored|goes|go|answers?|pinned|serves?|exposes?"
    r"|stays?|mounted|built|builds|kept|behind|called|we're|exposed|set to|ships?|available)\b"
)
_SPECIFIC: Final = re.compile(
    r"\bports? \d{2,5}\b|:\d{2,5}\b|\bv?\d+(?:\.\d+)+\b(?!\s*(?:ms|s|sec|seconds|%|x|MB|KB)\b)"
    r"|\b[A-Z][A-Za-z]+ v?\d{1,2}\b"
    r"|\b(?:node|python|java|go|ruby|php|postgres|mysql|redis) v?\d+\b|\b[\w-]+(?:\.[\w-]+)*\.(?:internal"
    r"|local|lan|corp|com|net|io|dev|org|cloud|app|test|example)\b"
    r"|\b[a-z]{2,}-\d{1,3}\b|\b[a-z]{2,}-[a-z]+-?\d+\b|https?://\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b[bB]ucket `?[\w.-]*-[\w.-]+"
    r"|`[\w.@:/-]*[-.@:/][\w.@:/-]*`|\bon \d{4,5}\b|(?<!\w)/(?:mnt|srv|var|opt|etc|data|home|usr|nfs|media)/\S+"
    r"|\b(?:1Password|Bitwarden|KeePass|[Kk]eychain|Secrets Manager|Parameter Store|Key Vault)\b"
    r"|\b\d+ ?(?:GB|TB|GiB|cores?|vCPUs?|GPUs?|CPUs?)\b|\baccount (?:id )?`?[\w-]*\d[\w-]*|\b[\w.+-]+@[\w-]+\.\w+"
)
# A quick look before the slow one.
_EXACT_CHARACTERS: Final = re.compile(r"[\d/`@]")
_EXACT_DOT: Final = re.compile(r"\.[a-z]")
_EXACT_WORDS: Final = frozenset(("bucket", "vault", "keychain", "bitwarden", "keepass", "manager", "store"))
_PROGRESS: Final = Phrases(
    r"\b(?:i|we)(?:'ve| have)? (?:just |now )?(?:bumped|updated|changed|upgraded|added|set|started|moved"
    r"|ran|installed|created|wrote|removed|renamed)\b",
    r"^(?:bumped|updated|changed|upgraded|added|set|started|moved|installed|created)\b",
    r"\b(?:is|are) (?:\S+ )?now\b.*\.?$",
    r"\btests? (?:pass|fail|are|is)\b",
    r"\b(?:is|are) (?:back )?(?:up|down|ready|online|offline|running|reachable)(?: again)?[.!]?$",
)  # fmt: skip
_ALL_OF_US: Final = any_of(
    r"^[\w ]+ (?:are|is|have|has|go|goes|live|lives)\b.*\bhere\b",
    r"\b(?:we|our|nobody|no one|all \w+|every \w+|each \w+|in this (?:repo|project))\b",
)
_THOUGHT: Final = re.compile(r"\bi think (?:we|all|every)\b")
# A quotation of several words is said by somebody else.
_QUOTED: Final = re.compile(r"\"[^\"]*\s[^\"]*\s[^\"]*\"")
_FORBIDS: Final = any_of(r"(?:please |also |and |hey,? )*(?:stop|quit|avoid|enough)\b")
_SECOND_PERSON: Final = any_of(r"\byour?\b")
_FILE: Final = re.compile(r"[\w./-]*\.\w+")
_CENTRAL: Final = WordedPhrases(
    (
        "central main core heart hub key everything important entry live lives",
        r"\b(?:central|main file|core of|heart of|hub|key file|everything (?:goes|passes|runs) through"
        r"|most important|entry point|lives? in)\b",
    ),
)


def class_of(sentence: str, role: str) -> str:
    """The class of a sentence, "" for none. A fix takes more than one sentence, see `fixes`."""
    lowered = sentence.lower()
    if '"' in lowered:
        lowered = _QUOTED.sub(" ", lowered)
    class_ = ""
    if role == USER and _prefers(lowered) and not _is_rule_of_all(lowered) and not _asks(lowered):
        class_ = PREFERENCE
    elif is_decision(lowered, role):
        class_ = DECISION
    elif _gives_exactly(sentence) and _is_environment(lowered) and _SPECIFIC.search(sentence):
        class_ = ENVIRONMENT
    elif role == USER and _is_requirement(lowered):
        class_ = REQUIREMENT
    # The agent describes what it sees: a rule is the person's to say.
    elif role == USER and is_convention(lowered):
        class_ = CONVENTION
    if not class_ or REPORTED.search(lowered):
        return ""
    if class_ == PREFERENCE:
        return "" if ELSEWHERE.search(lowered) or _THOUGHT.search(lowered) else class_
    return "" if HEDGE.search(lowered) else class_


def basis_of(sentence: str) -> str:
    """How sure a preference is: a lasting wish is explicit, a correction of the moment inferred."""
    return EXPLICIT if _LASTING_WISH.search(sentence.lower()) else INFERRED


def names_central(sentence: str, paths: Iterable[str]) -> Iterator[str]:
    """Which files of `paths` a sentence names as central."""
    if _CENTRAL.search(sentence.lower()):
        ends = _FILE.findall(sentence)
        yield from (path for path in paths if any(path == end or path.endswith("/" + end) for end in ends))


def _prefers(lowered: str) -> bool:
    if _PREFERENCE_BEGINS.match(lowered):
        return True
    return _PREFERENCE.search(lowered) is not None and _OF_THE_WORK.match(lowered) is None


def _asks(lowered: str) -> bool:
    # "Can you use British spelling from now on?" is a wish, "Do you always do this?" a question.
    return lowered.rstrip("\"')").endswith("?") and not lowered.startswith(
        ("can you", "could you", "would you", "will you")
    )


def _is_rule_of_all(lowered: str) -> bool:
    return (
        _ALL_OF_US.search(lowered) is not None
        and _FORBIDS.match(lowered) is None
        and FIRST_PERSON.search(lowered) is None
        and _SECOND_PERSON.search(lowered) is None
    )


def _gives_exactly(sentence: str) -> bool:
    return (
        _EXACT_CHARACTERS.search(sentence) is not None
        or ("." in sentence[:-1] and _EXACT_DOT.search(sentence) is not None)
        or not _EXACT_WORDS.isdisjoint(words_of(sentence.lower()))
    )


def _is_requirement(lowered: str) -> bool:
    return (
        _NEEDED.search(lowered) is not None
        and _REQUIREMENT.search(lowered) is not None
        and not (
            BROKEN.search(lowered)
            or _FORECAST.search(lowered)
            or FIRST_PERSON.match(lowered)
            or OF_HERE.search(lowered)
        )
    )


def _is_environment(lowered: str) -> bool:
    return (
        _THING.search(lowered) is not None
        and _STANDS.search(lowered) is not None
        and not _COMMANDED.search(lowered)
        and not (PLAN.search(lowered) or _PROGRESS.search(lowered) or TROUBLE.search(lowered) or ERRAND.match(lowered))
    )
