"""Phrases that several rules of mining look for: guesses, plans and trouble."""

from __future__ import annotations

import re
from typing import Final


def any_of(*patterns: str) -> re.Pattern[str]:
    """A pattern for any of `patterns`."""
    # Matched against a sentence in lower case, which is faster than a pattern that ignores case.
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


HEDGE: Final = any_of(
    r"\?[\"')]*$",
    r"\b(?:maybe|perhaps|might|may be|(?:we|you|i|this|that|it|one) could|probably|possibly|apparently"
    r"|what if|not sure|wondering)\b",
    r"\b(?:i (?:think|guess|suspect|believe|assume)|let me (?:think|know|see)|should we|shall we|would be"
    r"|one option)\b",
    r"^(?:option|alternative|possible)",
    r"\b(?:haven't|not yet|have not|undecided)\b",
    r"\b(?:propose|suggest|lean(?:ing)? towards)\b",
)  # fmt: skip
PLAN: Final = any_of(
    r"^(?:ok(?:ay)?[,.] |now |next,? |then |first,? |good[,.] |great[,.] |sure[,.] )*(?:i'll|i will"
    r"|i'm going to|i am going to|let me|let's|i'd)\b",
    r"^\w+ing \b.*\.\.\.$",
)
TROUBLE: Final = any_of(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash\w*|hangs?|hung|broken?|breaks|time[sd]? ?out|timeouts?|flak[ey]\w*"
    r"|bug(?:gy)?|wrong|stuck|leak\w*"
    r"|error(?:ed)?|missing|exception|deadlock\w*|race|oom|out of memory|refused|denied|expired|slow"
    r"|stutter\w*|500|null|none|corrupt\w*"
    r"|duplicat\w*|stale|lost|empty|invalid|rejected|died|killed|panic\w*|segfault\w*|red|regression)\b"
)
