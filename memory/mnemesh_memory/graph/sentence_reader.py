"""The relations that one English sentence states. A question, a negation, a wish and a condition state none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mnemesh_memory.graph import noun_phrases
from mnemesh_memory.graph.noun_phrases import NounPhrase
from mnemesh_memory.graph.relations import SENTENCE_CHARS_MAX, Relation, entity_key, version_key
from mnemesh_memory.graph.verb_rules import TURNS, VERBS, TurnRule, VerbRule
from mnemesh_memory.graph.words import (
    CALENDAR,
    CONJUNCTIONS,
    DETERMINERS,
    ERROR_WORDS,
    PREPOSITIONS,
    TEAM_WORDS,
    UNSAID,
)

_ASKS: Final = re.compile(
    r"^(?:do|does|did|is|are|was|were|can|could|should|would|will|who|what|where|when|why|how|which|if|unless|maybe|"
    r"perhaps|suppose|imagine|let|let's|please)\b",
    re.IGNORECASE,
)
# A new clause begins behind one of these, with the subject of the clause before unless it has its own.
_BREAK: Final = re.compile(
    r"[;:]\s|,\s+(?:(?:and|but|so|then|while|which|who|that|because|since|although)\s+)?|\s[-\u2013\u2014]\s|\s+(?:and|but|because|since|while|so|whereas|although|when|after|before|until)\s+|"
    r"\s+(?:which|that|who)\s+|^(?:which|that|who)\s",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[\w'\u2019-]+")
_FOUND: Final = re.compile(r"\bcan be found\b|\b(?:can|will|'ll) find\b", re.IGNORECASE)
_NEGATED: Final = re.compile(r"n['\u2019]t\b|\bused to\b|\bno longer\b|\bgoing to\b|\babout to\b", re.IGNORECASE)
_NAMED_VERSION: Final = re.compile(
    r"(?<![\w./@-])`?(?P<name>[A-Za-z][\w.+#-]{1,40}?)`?(?: version)? `?"
    r"(?P<version>v?\d+(?:\.\d+)+(?:[-+]?(?:alpha|beta|rc)\.?\d*)?"
    r"|(?<= )v?\d{1,3})`?(?![\w:%/]|\.\d|[-\u2013]\d)"
)
# Words before a number that no version follows.
_NUMBERED: Final = frozenset(
    [
        "port",
        "patch",
        "section",
        "step",
        "phase",
        "page",
        "line",
        "room",
        "ticket",
        "issue",
        "chapter",
        "sprint",
        "version",
        "release",
        "stage",
        "level",
        "tier",
        "floor",
        "pr",
        "rfc",
        "adr",
        "part",
        "item",
        "row",
        "column",
        "table",
        "figure",
        "gate",
        "track",
        "building",
        "floor",
        "shard",
        "zone",
        "class",
        "group",
        "team",
        "day",
        "option",
        "case",
        "exit",
        "code",
        "error",
        "status",
        "http",
        "point",
        "rule",
        "article",
        "appendix",
        "batch",
        "q",
    ]
)
_ERROR_NAME: Final = re.compile(
    r"^(?:[A-Z]\w*(?:Error|Exception|Timeout|Fault|Panic)|E[A-Z]{3,}|[A-Z]+_[A-Z_]+|SIG[A-Z]+)$"
)


def relations(sentence: str) -> list[Relation]:
    """The relations of a sentence, in order of the rules, each once."""
    text = " ".join(sentence.replace("\u2019", "'").split())
    if not text or len(text) > SENTENCE_CHARS_MAX or text.endswith("?") or _ASKS.match(text):
        return []
    known: dict[tuple[str, str, str], Relation] = {}
    for relation in (*_turned(text), *_stated(text), *_versions(text), *_placed(text)):
        subject, object_ = entity_key(relation.subject), relation.object
        other = version_key(object_) if relation.type == "has_version" else entity_key(object_)
        if subject and other and subject != other:
            known.setdefault((subject, relation.type, other), relation)
    return _without_shadows(list(known.values()))


def _without_shadows(facts: list[Relation]) -> list[Relation]:
    """One fact has one label: a vaguer reading of the same two ends goes."""
    turned = {(entity_key(fact.subject), entity_key(fact.object)) for fact in facts if fact.type == "chosen_over"}
    kept = [
        fact
        for fact in facts
        if fact.type == "chosen_over" or (entity_key(fact.subject), entity_key(fact.object)) not in turned
    ]
    fixes = {entity_key(fact.object) for fact in kept if fact.type == "fixed_by"}
    causes = [fact.object.casefold() for fact in kept if fact.type in ("caused_by", "fixed_by")]
    kept = [
        fact
        for fact in kept
        if fact.type != "occurs_in" or not any(f"{fact.subject.casefold()} in " in cause for cause in causes)
    ]
    return [fact for fact in kept if not (fact.type in ("uses", "caused_by") and entity_key(fact.subject) in fixes)]


# ---- verbs between two phrases --------------------------------------------------------------------------------------


def _stated(text: str) -> Iterator[Relation]:
    taken: list[tuple[int, int]] = []
    matches = sorted(
        ((match, rule) for rule in VERBS for match in rule.verb.finditer(text)),
        key=lambda pair: (pair[0].start(), -pair[0].end()),
    )
    for match, rule in matches:
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        begin = _clause_start(text, match.start())
        if any(begin <= start for start, _ in taken) and text[begin : match.start()].strip():
            continue  # the words before it belong to another verb
        made = list(_between(text, match, rule))
        if made:
            taken.append(match.span())
            yield from made


def _between(text: str, match: re.Match[str], rule: VerbRule) -> Iterator[Relation]:
    start = _clause_start(text, match.start())
    if _unsaid(text[start : match.end()]):
        return
    firsts = _subjects(text, start, match.start())
    if not firsts:
        return
    if rule.clause:
        rest = noun_phrases.clause(text, match.end())
        seconds = [NounPhrase(rest, "", len(text))] if rest else []
    else:
        seconds = noun_phrases.after(text, match.end())
        if rule.flip and rule.relation in ("caused_by", "fixed_by"):
            seconds = seconds[:1]
    if rule.relation in ("caused_by", "fixed_by") and not rule.flip:
        firsts = [_error_alone(first) for first in firsts]
        if match.group().casefold() == "come from":  # "version numbers come from git tags"
            firsts = [first for first in firsts if looks_like_error(first)]
    for first in firsts:
        for second in seconds:
            subject, object_ = (second.name, first) if rule.flip else (first, second.name)
            if rule.relation == "part_of" and is_team(object_):
                if is_actor(subject):
                    yield Relation(subject, "member_of", object_, "people")
                else:
                    yield Relation(object_, "owns", subject, "people")
            elif (not rule.actor or is_actor(subject)) and _fits(rule.relation, subject, object_):
                yield Relation(subject, rule.relation, object_, rule.domain)


def _error_alone(name: str) -> str:
    """ "crash in the viewer" is a crash: its place is a relation of its own."""
    head, _, rest = name.partition(" in ")
    return head if rest and looks_like_error(head) else name


def _subjects(text: str, start: int, at: int) -> list[str]:
    """The names before a verb. A clause without its own has those of the clause before."""
    own = text[start:at].strip()
    if own:
        return noun_phrases.before(text, start, at)
    at = start
    while at > 0:
        gap = list(_BREAK.finditer(text, 0, at))
        if not gap:
            return []
        end = gap[-1].start()
        begin = _clause_start(text, end)
        verbs = [match.start() for rule in VERBS if (match := rule.verb.search(text, begin, end))]
        until = min(verbs, default=end)
        if text[begin:until].strip():
            return [] if _unsaid(text[begin:end]) else noun_phrases.before(text, begin, until)
        at = begin
    return []


def _clause_start(text: str, at: int) -> int:
    """Where the clause with this place begins. "A and B use C" is one clause."""
    starts = [match for match in _BREAK.finditer(text, 0, at + 1) if match.end() <= at + 1]
    for match in reversed(starts):
        if match.group().strip().casefold() == "and" and text[match.end() : at].strip():
            before = text[: match.start()]
            if not _holds_verb(before[_clause_start(text, match.start()) :] if match.start() else ""):
                continue
        return match.end()
    return 0


def _holds_verb(text: str) -> bool:
    return any(rule.verb.search(text) for rule in VERBS)


def _unsaid(text: str) -> bool:
    rest = _FOUND.sub("", text)
    words = {word.casefold() for word in _WORD.findall(rest)}
    return bool(words & UNSAID) or bool(_NEGATED.search(text))


# ---- turns of phrase -----------------------------------------------------------------------------------------------


def _turned(text: str) -> Iterator[Relation]:
    for rule in TURNS:
        for match in rule.turn.finditer(text):
            if not _unsaid(text[_clause_start(text, match.start()) : match.start()]):
                yield from _of_turn(text, match, rule)


def _of_turn(text: str, match: re.Match[str], rule: TurnRule) -> Iterator[Relation]:
    for subject in _end(text, match, rule.subject):
        for object_ in _end(text, match, rule.object):
            if _fits(rule.relation, subject, object_):
                yield Relation(subject, rule.relation, object_, rule.domain)


def _end(text: str, match: re.Match[str], group: str) -> list[str]:
    """The names at one end of a turn. `b`: the phrase before the verb. `c`: a clause. `v`: a version."""
    if group in ("b", "g"):
        start = _clause_start(text, match.start())
        if group == "g":
            words = text[start : match.start()].strip()
            return [words] if words else []
        return _subjects(text, start, match.start())
    if group == "c":
        rest = noun_phrases.clause(text, match.start("c"))
        return [rest] if rest else []
    if group == "v":
        return [match.group("v").rstrip(".")]
    if match.end(group) == match.end():
        return [phrase.name for phrase in noun_phrases.after(text, match.start(group))]
    phrases = noun_phrases.after(match.group(group), 0)
    if not phrases or phrases[-1].end < len(match.group(group).rstrip()) - 1:
        return []
    return [phrase.name for phrase in phrases]


# ---- versions and places of errors ---------------------------------------------------------------------------------


def _versions(text: str) -> Iterator[Relation]:
    if _unsaid(text):
        return
    for match in _NAMED_VERSION.finditer(text):
        name, version = match.group("name"), match.group("version")
        folded = name.casefold().rstrip(".")
        if (
            folded in _NUMBERED
            or folded in CALENDAR
            or folded in PREPOSITIONS
            or folded in CONJUNCTIONS
            or folded in DETERMINERS
        ):
            continue
        whole = "." not in version
        if (whole and not (name[0].isupper() and match.start() > 0)) or not entity_key(name):
            continue
        if re.match(
            r" (?:of|percent|times|ms|s|gb|mb|kb|people|users|hours?|days?|minutes?|seconds?|million)\b",
            text[match.end() :],
            re.IGNORECASE,
        ):
            continue
        yield Relation(name, "has_version", version_key(version), "dependencies")


def _placed(text: str) -> Iterator[Relation]:
    """ "A TimeoutError in the checkout service"."""
    words = list(re.finditer(r"[\w'-]+", text))
    for number, word in enumerate(words):
        known = _ERROR_NAME.match(word.group()) or word.group().casefold() in ERROR_WORDS
        if not known or number + 1 >= len(words) or words[number + 1].group() not in ("in", "inside"):
            continue
        start = _clause_start(text, word.start())
        if _unsaid(text[start : word.end()]):
            continue
        back = number
        while back > 0 and words[number].start() - words[back - 1].start() < 40:
            before = words[back - 1].group().casefold()
            if (
                before in DETERMINERS | PREPOSITIONS | {"and", "saw", "got", "hit", "see", "fixes", "fixed", "found"}
                or words[back - 1].end() + 1 != words[back].start()
            ):
                break
            if any(rule.verb.fullmatch(before) for rule in VERBS):
                break
            back -= 1
        name = noun_phrases.clean(text[words[back].start() : word.end()].split())
        places = noun_phrases.after(text, words[number + 1].end())
        if name and places:
            yield Relation(name, "occurs_in", places[0].name, "errors")


# ---- what fits ------------------------------------------------------------------------------------------------------


def is_actor(name: str) -> bool:
    """Whether a name may be a person or a team: capitalised words, or a team by its last word."""
    words = name.split()
    if words[-1].casefold() in TEAM_WORDS:
        return len(words) > 1
    return len(words) <= 3 and all(
        word[0].isupper() and word[1:].isalpha() and not word.isupper() for word in words if len(word) > 1
    )


def is_team(name: str) -> bool:
    """Whether a name is that of a team, by its last word."""
    return name.split()[-1].casefold() in TEAM_WORDS


def _is_file(name: str) -> bool:
    return bool(re.fullmatch(r"[\w./-]*(?:/[\w.-]+|\.[A-Za-z]{1,5})", name.strip("`")))


def _fits(relation: str, subject: str, object_: str) -> bool:
    if relation == "reports_to":
        return is_actor(subject) and is_actor(object_)
    if relation == "defines":
        return _is_file(subject) or subject.casefold().endswith(("module", "package", "crate", "header"))
    if relation == "uses":
        return not _is_file(object_)
    if relation == "caused_by":
        return not is_actor(object_) and not _is_file(object_)
    if relation == "located_in":
        return not is_team(object_)
    if relation == "works_on":
        return entity_key(object_) != ""
    if relation == "runs_on":
        return not re.match(r"(?:port|weekdays?|weekends?|time|schedule|demand)\b", object_, re.IGNORECASE)
    if relation == "occurs_in":
        return looks_like_error(subject)
    return True


def looks_like_error(name: str) -> bool:
    """Whether a name is that of an error, by its last words."""
    words = name.split()
    return bool(_ERROR_NAME.match(words[-1])) or any(word.casefold() in ERROR_WORDS for word in words)
