"""The domains of the astrocytes, one row each. A memory belongs to the domain that claims it most, or to `general`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.policy.judge.slots import is_decision
from mnemesh_memory.values.model import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A row of the table of domains. A new domain is a row like these, with its functions above it."""

    name: str
    claims: Callable[[Memory], float]  # From 0 to 1: how much a memory belongs to the domain.
    half_life_days: float  # How long its statements stay current. The votes of the domain fade with it.
    names: re.Pattern[str] | None = None  # Each group holds a name of the domain.
    promote_min: int = 3  # So many episodes make a fact.
    merge_cosine: float = 0.8
    link_cosine: float = 0.6

    def terms(self, text: str) -> set[str]:
        """The names of the domain in a text."""
        return {name for match in self.names.finditer(text) for name in match.groups() if name} if self.names else set()


_IDENTIFIER: Final = re.compile(r"`([^`\s]{2,80})`|\b([A-Za-z_]\w*)\(\)|(?<![\w/])((?:[\w.-]+/)+[\w.-]+\.\w{1,5})\b")
_CODE_WORDS: Final = re.compile(
    r"\b(?:function|method|class|module|refactor\w*|lint\w*|test suite|unit tests?|compil\w+|type[- ]check\w*|"
    r"code|repository|branch|merge request|pull request|parser|endpoint|schema|migration|query)\b",
    re.IGNORECASE,
)


def _code_claims(memory: Memory) -> float:
    named = 0.5 * bool(memory.paths) + 0.4 * bool(_IDENTIFIER.search(memory.content))
    return min(1.0, named + 0.25 * len(_CODE_WORDS.findall(memory.content[:1000])))


CODE: Final = Domain(name="code", claims=_code_claims, half_life_days=45.0, names=_IDENTIFIER)


_CHOSEN: Final = re.compile(r"\b(?:chose|picked|use|adopt|prefer|keep)\s+([A-Z][\w.+-]{1,40})")


def _decisions_claims(memory: Memory) -> float:
    return 1.0 if memory.kind == "decision" else 0.7 if is_decision(memory.content, memory.kind) else 0.0


# A decision stands until it is replaced.
DECISIONS: Final = Domain(name="decisions", claims=_decisions_claims, half_life_days=180.0, names=_CHOSEN)


_NAMED: Final = re.compile(
    r"\b([A-Z]\w*(?:Error|Exception|Fault|Timeout)|E[A-Z]{4,}|SIG[A-Z]{3,5}|HTTP [45]\d\d|exit code \d+)\b"
)
_ERRORS_WORDS: Final = re.compile(
    r"\b(?:error|exception|fail(?:s|ed|ing|ure)?|crash\w*|broke(?:n)?|bug|flak\w+|time(?:d)?[ -]?out|stack ?trace|"
    r"regression|leak\w*|deadlock\w*|out of memory|oom|rejected|refused|corrupt\w*|hang(?:s)?|hung|stuck)\b",
    re.IGNORECASE,
)


def _errors_claims(memory: Memory) -> float:
    if memory.kind == "error":
        return 1.0
    text = memory.content[:1000]
    return min(1.0, 0.6 * bool(_NAMED.search(text)) + 0.45 * len(_ERRORS_WORDS.findall(text)))


ERRORS: Final = Domain(name="errors", claims=_errors_claims, half_life_days=30.0, names=_NAMED)


_PACKAGE: Final = re.compile(
    r"\b([A-Za-z][\w.-]{1,40}?)\s?(?:==|>=|<=|~=|@|\^)\s?v?\d+(?:\.\d+)*|\b([A-Za-z][\w.-]{1,40})\s+v?\d+\.\d+(?:\.\d+)*\b"
)
_DEPENDENCIES_WORDS: Final = re.compile(
    r"\b(?:dependenc\w+|package|librar(?:y|ies)|upgrade\w*|downgrade\w*|pin(?:ned|s)?|lock ?file|version|npm|pip|cargo|"
    r"maven|gradle|docker image|base image|vendor\w*|depends on|requires)\b",
    re.IGNORECASE,
)


def _dependencies_claims(memory: Memory) -> float:
    text = memory.content[:1000]
    return min(1.0, 0.4 * bool(_PACKAGE.search(text)) + 0.4 * len(_DEPENDENCIES_WORDS.findall(text)))


DEPENDENCIES: Final = Domain(name="dependencies", claims=_dependencies_claims, half_life_days=60.0, names=_PACKAGE)


DOMAINS: Final[tuple[Domain, ...]] = (CODE, DECISIONS, ERRORS, DEPENDENCIES)
# For memories that no domain claims.
GENERAL: Final = Domain(name="general", claims=lambda memory: 0.0, half_life_days=90.0)
CLAIM_MIN: Final = 0.4
_BY_NAME: Final = {domain.name: domain for domain in (*DOMAINS, GENERAL)}


def domain_of(memory: Memory) -> Domain:
    """The domain of a memory."""
    best = max(DOMAINS, key=lambda domain: domain.claims(memory))
    return best if best.claims(memory) >= CLAIM_MIN else GENERAL


def named(name: str) -> Domain:
    """The domain of that name. Raises KeyError."""
    return _BY_NAME[name]
