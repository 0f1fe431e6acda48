"""Words that tell the cause or the cure of an error, and words that take it back. Values in, values out."""

from __future__ import annotations

from typing import Final

from mnemesh.mining.sentence_rules.phrases import HEDGE, PLAN, TROUBLE, Phrases, any_of, words_of

_FIX_WORDS: Final = frozenset(
    (
        "because", "bug", "came", "cause", "caused", "crash", "culprit", "cure", "cured", "cures", "due", "error",
        "failure", "fix", "fixed", "fixes", "found", "gone", "hang", "happened", "issue", "leak", "longer", "made",
        "makes", "occurred", "problem", "reason", "resolved", "resolves", "root", "since", "solution", "solved",
        "solves", "that", "trouble", "turned", "turns", "why",
    )
)  # fmt: skip
_CAUSE: Final = any_of(
    r"\bcaused by\b",
    r"\bturned out\b",
    r"\bturns out\b",
    r"\b(?:root |real |actual )?(?:cause|problem|bug|issue|culprit|reason|failure|crash|error|leak|hang"
    r"|trouble)(?: (?:here|there))? (?:was|is|came from|lay)\b",
    r"\broot cause\b",
    r"\b(?:happened|occurred|came) (?:because|when|from)\b",
)
_CURE: Final = Phrases(
    r"^fixed\b",
    r"\b(?:i|we)(?:'ve| have)? (?:now )?(?:fixed|solved|resolved|cured)\b",
    r"\b(?:fixed|solved|resolved|cured)(?: it| this| that)? (?:by|with|in)\b",
    r"\bthe (?:fix|cure|solution) (?:was|is)\b",
    r"\b(?:is|are) (?:now )?(?:fixed|solved|resolved|cured)\b",
    r"\b(?:crash\w*|leaks?|errors?|hangs?|failures?|problem|bug|warnings?|deadlock|it) (?:is|are) (?:now )?gone\b",
    r"\b(?:which|that|this|it|them|\w+ing) (?:fixed|solved|cured|resolved)\b",
    r"\b(?:fixed|fixes|solved|solves|cured|cures|resolved|resolves) (?:it|this|that|them|the)\b",
    r"\b(?:made|makes) (?:it|them|the \w+) (?:pass|work|green|build|start)\b",
    r"^found (?:it\b|the (?:cause|bug|problem|issue|culprit|reason|leak|race))",
    r"^why (?:it|this|that|the)\b",
    r"^that was it\b",
    r"\bno longer (?:fails?|crash\w*|hangs?|leaks?|runs? out|times? out|breaks?|happens?|appears?)\b",
)
_OPEN: Final = any_of(r"\bat the moment\b", r"\bcurrently\b", r"\bright now\b", r"\bfor now\b")
_BECAUSE: Final = any_of(r"\bbecause\b", r"\bdue to\b", r"\bsince\b")
_DENIED: Final = Phrases(
    r"\bstill (?:\w+ ){0,2}(?:fail\w*|hang\w*|crash\w*|broken|red|the same|happen\w*|stutter\w*|there"
    r"|get\w*|see\w*|slow|wrong|not)\b",
    r"^(?:hm+,? )?(?:no,? )?(?:it )?still\b",
    r"\b(?:did not|didn't|does not|doesn't|hasn't) (?:help|work|fix it|fix that|solve)\b",
    r"\bsame (?:error|problem|failure|result)\b",
    r"\b(?:was|is) not the (?:problem|cause|reason|issue)\b",
    r"\b(?:wasn't|isn't) (?:it|the (?:problem|cause|issue))\b",
    r"\bno luck\b",
    r"\bback again\b",
    r"\bno (?:clear |real |known |obvious )?(?:cause|reason|fix|solution|culprit)\b",
)
_GOES_WRONG: Final = any_of(
    r"\b(?:doesn't|does not|don't|won't|can't|cannot|didn't|isn't|aren't|stopped) \w+",
    r"\bwhy (?:does|is|do|are|did)\b",
    r"\b(?:no longer|keeps? \w+ing|suddenly|instead of|unexpected\w*|weird|strange|twice|off by|too (?:much"
    r"|many|long|slow))\b",
)
_RESOLVED: Final = any_of(
    r"\b(?:now|no longer|gone|fixed|works?|pass(?:es)?|again|clean|green|solved|stopped|disappeared|anymore|any more)\b"
)
_PAST: Final = any_of(
    r"\b(?:was|were|had|did|didn't|ran|held|kept|read|came|got|sent|went|lost|threw|took|gave|left|wrote|never"
    r"|without|lacked|[a-z]{3,}ed)\b"
)
# Deeds of the agent explain nothing.
_OWN_DEED: Final = any_of(
    r"(?:i|i've|we|we've)\b", r"(?:done|added|moved|removed|changed|renamed|updated|switched|all)\b"
)
EXPLANATION_CHARS_MIN: Final = 60


def tells_fix(sentence: str) -> bool:
    """Whether a sentence tells the cause or the cure of an error."""
    lowered = sentence.lower()
    if _FIX_WORDS.isdisjoint(words_of(lowered)):
        return False
    if not (_CURE.search(lowered) or _CAUSE.search(lowered) or (_BECAUSE.search(lowered) and TROUBLE.search(lowered))):
        return False
    return not (HEDGE.search(lowered) or _OPEN.search(lowered) or _DENIED.search(lowered) or PLAN.search(lowered))


def tells_trouble(text: str) -> bool:
    """Whether a message reports that something goes wrong."""
    lowered = text.lower()
    return TROUBLE.search(lowered) is not None or _GOES_WRONG.search(lowered) is not None


def explains(sentences: list[str]) -> bool:
    """Whether a paragraph, said after an error was cured, tells the end of the error and the way to it."""
    lowered = [sentence.lower() for sentence in sentences]
    text = " ".join(lowered)
    if len(text) < EXPLANATION_CHARS_MIN or not _RESOLVED.search(text) or HEDGE.search(text) or _DENIED.search(text):
        return False
    return any(_PAST.search(sentence) and not _OWN_DEED.match(sentence) for sentence in lowered)


def denies(text: str) -> bool:
    """Whether a message says that the error is still there."""
    return _DENIED.search(text.lower()) is not None
