"""`mnemesh doctor --recall`: some memories of the running node, asked for by their own words and by few of them.

Each question is a probe, so no memory counts as used and no trigger fires. Nonsense must get no answer. The questions
go to loopback only, with the owner's token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_gateway.doctor.process_checks import ask
from mnemesh_memory.policy.rules import stored_rules
from mnemesh_memory.policy.rules.stored_rules import TAG as RULE
from mnemesh_memory.policy.sessions import session_runs
from mnemesh_memory.validation.filters import rule_holds
from mnemesh_memory.values.errors import InvalidArgument, count_of
from mnemesh_memory.values.limits import LIST_LIMIT_MAX
from mnemesh_memory.values.rules import Ruled

Json = Mapping[str, Any]
CANARIES_MAX: Final = 12
OWN_CHARS: Final = 240
OWN_PLACES: Final = 5  # Places of an answer for a memory that is asked for by its own words.
TERMS: Final = 5
TERMS_PLACES: Final = 10
# Few words of a text may fit other memories as well, so not each has to be found by them.
TERMS_SHARE_MIN: Final = 0.75
LOOKED_AT: Final = 50
WORDS_MIN: Final = 4
ANSWER_S: Final = 15.0
SHOWN_MAX: Final = 6
# No language has these words.
NONSENSE: Final = (
    "qvorzal bexumi thrandok ypsil",
    "which wuzblat frimmels the dokkavurn?",
    "zyqqor menthalux 77193 oblivek",
)
_WORD: Final = re.compile(r"\w{4,}")


def canaries(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """Memories that recall does not find, each with the reason, and nonsense that gets an answer."""
    listed, _ = ask(examined, f"/v1/memories?{urlencode({'everywhere': 'true', 'limit': LIST_LIMIT_MAX})}", ANSWER_S)
    if listed is None:
        yield DoctorFinding(
            "recall", "no node answers, so no memory was asked for", "`mnemesh up` starts one", remark=True
        )
        return
    memories = [memory for memory in listed["memories"] if _can_be_asked(memory)]
    common = Counter(word for memory in memories for word in set(_words(memory["content"])))
    asked = memories[:: max(1, -(-len(memories) // CANARIES_MAX))]
    try:
        lost = list(_lost(examined, asked, common))
        answered = [text for text in NONSENSE if _is_answered(examined, text)]
    except CanaryUnanswered as why:
        yield DoctorFinding(
            "recall", f"the node did not answer a question ({why})", "`mnemesh status` says how it stands"
        )
        return
    yield from lost
    for text in answered:
        yield DoctorFinding(
            "recall", f"the node takes the nonsense \"{text}\" for known",
            f"`mnemesh recall --explain \"{text}\"` shows why; a setting or weight may be too generous",
        )  # fmt: skip
    if not lost and not answered:
        counted = f"{len(asked)} of {count_of(len(asked), 'memory')} found by their own words, each also by a few"
        yield DoctorFinding("recall", f"{counted}; nonsense gets no answer", "nothing is to be done", remark=True)


class CanaryUnanswered(Exception):
    """A question without an answer of the node."""


def _can_be_asked(memory: Json) -> bool:
    """Whether recall should find a memory: no rule, no record of a session, not in the archive, with some words,
    holding without an end."""
    record = memory["kind"] == session_runs.KIND and session_runs.TAG in memory["tags"]
    if memory["tier"] == "archive" or memory.get("valid_to") or RULE in memory["tags"] or record:
        return False
    return len(set(_words(memory["content"]))) >= WORDS_MIN


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _lost(examined: ExaminedNode, asked: Sequence[Json], common: Counter[str]) -> Iterator[DoctorFinding]:
    by_terms = []
    for memory in asked:
        own = " ".join(memory["content"].split())[:OWN_CHARS]
        if why := _why_not(examined, memory, own, OWN_PLACES):
            hiding = _hidden_by(examined, memory)
            yield _hidden(memory, hiding) if hiding else _finding(memory, "its own words", own, why)
            continue
        words = dict.fromkeys(reversed(_words(memory["content"])))
        terms = " ".join(sorted(words, key=lambda word: (common[word], -len(word)))[:TERMS])
        if why := _why_not(examined, memory, terms, TERMS_PLACES):
            by_terms.append(_finding(memory, f'the words "{terms}"', terms, why))
    if len(by_terms) > (1 - TERMS_SHARE_MIN) * len(asked):
        yield from by_terms[:SHOWN_MAX]


def _finding(memory: Json, by: str, question: str, why: str) -> DoctorFinding:
    command = f'mnemesh recall --explain --space {memory["space"]} -- "{question[:60]}"'
    return DoctorFinding(
        "recall", f"{memory['id']} is not found by {by}: {why}", f"`{command}` shows what stands before it"
    )


def _hidden(memory: Json, rule: str) -> DoctorFinding:
    fix = "nothing is to be done; `mnemesh rule list` shows the rules"
    return DoctorFinding("recall", f"{memory['id']} is left out of recall by the rule {rule}", fix, remark=True)


def _hidden_by(examined: ExaminedNode, memory: Json) -> str:
    """The rule of a space, of the owner or of the settings that hides a memory, "" for none."""
    source = memory.get("source", {})
    facts = Ruled(
        space=memory["space"], kind=memory["kind"], tags=tuple(memory["tags"]), by=memory["by"], tier=memory["tier"],
        importance=memory.get("importance"), paths=tuple(memory["paths"]), folder=source.get("dir", ""),
    )  # fmt: skip
    for spaces in ({}, {"spaces": memory["space"]}):  # without one, the owner's private space
        listed, _ = ask(examined, f"/v1/rules?{urlencode({'limit': LIST_LIMIT_MAX, **spaces})}", ANSWER_S)
        for rule in listed["rules"] if listed else ():
            elsewhere = rule["space"] not in ("", memory["space"]) and not rule["space"].startswith("@")
            if rule["hard"] and not (elsewhere or rule["revoked"]) and _holds(rule, facts):
                return f"{rule['condition']} {rule['effect']}" + (f" ({rule['id']})" if rule["id"] else "")
    return ""


def _holds(rule: Json, facts: Ruled) -> bool:
    try:
        stated = stored_rules.checked(rule["condition"], rule["effect"], rule["directory"], rule["file"])
    except InvalidArgument:
        return False
    return rule_holds(stated, facts)


def _why_not(examined: ExaminedNode, memory: Json, question: str, places: int) -> str:
    """Why a memory does not stand among the first of the answer to a question, "" when it does. A memory with the same
    text counts for it."""
    answer = _answer(examined, question, memory["space"])
    results = answer["results"]
    rank = next((at for at, result in enumerate(results, 1) if memory["id"] == result["id"]), 0)
    alike = any(result["content"] == memory["content"] for result in results[:places])
    if 0 < rank <= places or alike:
        return "" if not answer.get("abstain") else "the answer says that it is probably not known"
    reasons = [*answer.get("degraded_reasons", ()), *answer.get("notes", ())]
    if reasons:
        return "; ".join(map(str, reasons))
    if rank:
        return f"{count_of(rank - 1, 'memory')} stand before it"
    return f"it is not among the first {LOOKED_AT}; a rule may hide this memory, or the vector is missing"


def _is_answered(examined: ExaminedNode, question: str) -> bool:
    answer = _answer(examined, question, "")
    return bool(answer["results"]) and not answer.get("abstain")


def _answer(examined: ExaminedNode, question: str, space: str) -> Json:
    fields = {"query": question, "limit": LOOKED_AT, "probe": "true", "time_words": "off"}
    answer, status = ask(
        examined, f"/v1/recall?{urlencode({**fields, **({'spaces': space} if space else {})})}", ANSWER_S
    )
    if answer is None:
        raise CanaryUnanswered(f"status {status}" if status else f"nothing within {ANSWER_S:g} s")
    return answer
