"""The statement of a sentence: terms, values, negations and cues of change, read from grammar alone.

No clock, no model and no list of topics. The words are English. A sentence of another language is read as terms and
values without cues, so its verdicts rest on values alone. The cost is linear in the text, because each sentence is cut
at TOKENS_MAX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from mnemesh_memory.policy.judge.grammar import (
    ADDITIVE,
    ARTICLES,
    BE,
    BOUNDARIES,
    CHANGE,
    CHANGES,
    CLAUSES,
    ENDING,
    FUNCTION_WORDS,
    GONE,
    HINTS,
    IN_USE,
    LIGHT,
    NEGATORS,
    OPPOSED,
    PHRASES,
    SUBORDINATORS,
    VERB_BASES,
    meaning,
)
from mnemesh_memory.policy.judge.tokens import Token, is_cut, is_past, tokens_of
from mnemesh_memory.policy.judge.verbs import HAVE, first_verb, happened, is_perfect, is_possible

SENTENCES_MAX: Final = 16
LOOKED_AT_CHARS: Final = 4000
SUBJECT_TERMS_MAX: Final = 6
# Of the texts of a batch and their neighbours, some 10 KB a text.
STATEMENTS_KEPT: Final = 512

_SENTENCE: Final = re.compile(
    r"(?<=[.!?\u2026\u3002])(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|No|vs)\.)(?<!\b(?:Mrs)\.)(?<!\b(?:Prof)\.)\s+(?=[^\W_a-z])|\n+"
)
_DECIDES: Final = re.compile(
    r"\b(?:we|team|i|they|board|council|committee|guild|everyone|it was|was|been|have|has)\s+"
    r"(?:\w{1,20}\s){0,2}?(?:decided|agreed|chose|chosen|settled on|resolved to|voted|opted|committed to|ruled)\b"
    r"|^\W{0,3}(?:decision|decided|agreed|resolved|adr)\b",
    re.IGNORECASE | re.MULTILINE,
)
# A correction says that the other statement never held.
_CORRECTS: Final = re.compile(r"^\W{0,3}(?:correction|erratum|corrected|my mistake)\b", re.IGNORECASE)
_BEFORE_OLD: Final = frozenset(
    (
        ("instead", "of"), ("rather", "than"), ("gave", "up"), ("given", "up"), ("in", "place", "of"),
        ("get", "rid", "of"), ("got", "rid", "of"), ("away", "from"),
    )
)  # fmt: skip
_TAKING: Final = frozenset(("take", "tak", "inherit", "receiv"))
_GIVING: Final = frozenset(
    (verb, particle)
    for verb in ("handed", "stepped", "passed", "gave", "steps", "hands")
    for particle in ("over", "down")
)
# Behind one of these stands the step that an instruction prepares.
_ON_THE_WAY: Final = frozenset(("before", "when", "whenever", "while"))
# The first words of a phrase that calls others past.
_BEFORE_PAST: Final = {first for first, *_ in _BEFORE_OLD | _GIVING}.union(
    ("from", "out", "off", "formerly", "previously", "\u2192", "used", "no", "not", "never", "->", "so")
)
_MARKS_IGNORED: Final = frozenset(".;:!\u2026\u3002'\"`")
# Words that a short form leaves out.
_UNSPOKEN: Final = ARTICLES | {"is", "are", "am"}
_CUES: Final = NEGATORS | HINTS | ADDITIVE
_GRAMMATICAL: Final = FUNCTION_WORDS | _CUES
_TOWARDS: Final = frozenset(("to", "from", "by", "into", "onto"))
_PASSIVE: Final = BE | {"get", "gets", "got"}
_PHRASES_BY_WORD: Final = {  # by the first word
    first: tuple(phrase for phrase in PHRASES if phrase[0] == first) for first, *_ in PHRASES
}


@dataclass(frozen=True, eq=False)  # Equal by identity: what is cached of a statement needs no hash of its tokens.
class Statement:
    """One sentence as it is compared. Sets hold places in `tokens`."""

    tokens: tuple[Token, ...]
    words: tuple[str, ...]  # The tokens without capitals.
    verb: int  # The place of the first verb; -1 without any.
    content: tuple[int, ...]  # Words and values that say something.
    denies: bool  # It has a negation.
    negated: frozenset[int]  # Words within the reach of a negation.
    old: frozenset[int]  # Words of a state that the sentence itself calls past.
    strong: bool  # A phrase or construction tells of a change.
    towards: bool  # Its verb of change names the new value: "to", "from" or "by" follows.
    hinted: bool  # A word hints at a change.
    adds: bool  # It says "also".
    ends: bool  # Its verb ends a state.
    asks: bool

    def key(self, place: int) -> str:
        return self.tokens[place].key

    @cached_property
    def spoken(self) -> tuple[str, ...]:
        """The keys of all words and values, in order."""
        return tuple(token.key for token in self.tokens if not token.mark)

    @cached_property
    def meanings(self) -> dict[int, str]:
        """The meaning of each content word, by place."""
        return {place: meaning(self.tokens[place].key) for place in self.content}

    @cached_property
    def meant(self) -> frozenset[str]:
        """Those meanings without their places."""
        return frozenset(self.meanings.values())

    @cached_property
    def token_keys(self) -> frozenset[str]:
        """The keys of all tokens."""
        return frozenset(token.key for token in self.tokens)

    @cached_property
    def names(self) -> frozenset[int]:
        """The places of words behind the first that are written like names or identifiers."""
        return frozenset(
            at
            for at, token in enumerate(self.tokens)
            if at > 0
            and not token.dimension
            and (token.text[:1].isupper() or (not token.text.isalpha() and any(map(str.isdigit, token.text))))
        )

    @cached_property
    def telling(self) -> frozenset[int]:
        """The places of names and values."""
        return self.names.union(at for at, token in enumerate(self.tokens) if token.dimension)

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The meanings before the first verb, and those behind it."""
        meanings = self.meanings.items()
        return [word for at, word in meanings if at < self.verb], [word for at, word in meanings if at > self.verb]

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The words, values and commas without what a short form leaves out."""
        return tuple(
            "," if token.text == ";" else word
            for token, word in zip(self.tokens, self.words, strict=True)
            if not (word in _UNSPOKEN and len(self.tokens) > 1)
            and not (token.mark and token.text in _MARKS_IGNORED and token.text != ";")
        )

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self.tokens[place].key for place in self.content)


def statements(text: str) -> tuple[Statement, ...]:
    """The sentences of the beginning of a text, at most SENTENCES_MAX."""
    return _statements(text[:LOOKED_AT_CHARS])


@lru_cache(maxsize=STATEMENTS_KEPT)
def all_statements(text: str) -> tuple[Statement, ...]:
    """The sentences of a whole text; none when any part of it is beyond what is looked at. Two texts are one only when
    all of both was compared."""
    if len(text) > LOOKED_AT_CHARS:
        return ()
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    return () if len(parts) > SENTENCES_MAX or any(map(is_cut, parts)) else statements(text)


def sentences(text: str) -> list[str]:
    """The texts of those sentences."""
    parts = (part.strip() for part in _SENTENCE.split(text[:LOOKED_AT_CHARS]))
    return [part for part, _ in zip(filter(None, parts), range(SENTENCES_MAX), strict=False)]


@lru_cache(maxsize=STATEMENTS_KEPT)
def _statements(text: str) -> tuple[Statement, ...]:
    parts = (part for part in _SENTENCE.split(text) if part.strip())
    read = (statement(part) for part, _ in zip(parts, range(SENTENCES_MAX), strict=False))
    return tuple(sentence for sentence in read if sentence.tokens)


@lru_cache(maxsize=1)
def read_whole(text: str) -> Statement:
    """A short text read as one sentence. It is compared with several memories in turn."""
    return statement(text)


def is_decision(text: str, kind: str = "") -> bool:
    """Whether a text records a decision: by its kind, or because somebody decided, agreed or chose."""
    return kind == "decision" or _DECIDES.search(text[:LOOKED_AT_CHARS]) is not None


def subject_terms(text: str, frequency: Callable[[str], int] | None = None) -> tuple[str, ...]:
    """Rare words of what a text speaks of, the rarest first, for a search that does not rest on likeness. `frequency`
    gives the number of memories that hold a word; without it names come first, then words of the subject."""
    ranks: dict[str, tuple[int, int, int]] = {}
    for number, sentence in enumerate(statements(text)):
        for place in sentence.content:
            token = sentence.tokens[place]
            word = token.text.casefold()
            if token.dimension or len(word) < 2 or place == sentence.verb or token.key in LIGHT or token.key in CHANGES:
                continue
            named = token.text != word and place > 0
            behind = 0 if place < sentence.verb else 1
            ranks.setdefault(word, (frequency(word) if frequency else 0, number + behind - named, place))
    return tuple(sorted(ranks, key=lambda word: ranks[word])[:SUBJECT_TERMS_MAX])


def statement(sentence: str) -> Statement:
    """Read one sentence."""
    tokens = tokens_of(sentence)
    words = [token.text.casefold() for token in tokens]
    known, verb = frozenset(words), first_verb(tokens, words)
    cues, strong = _phrases(words)
    changing = [at for at, token in enumerate(tokens) if token.key in CHANGE and not _is_for_a_moment(words, at)]
    change = any(happened(words, at) for at in changing)
    ends = [
        at
        for at, token in enumerate(tokens)
        if (token.key in ENDING and happened(words, at) and not _is_for_a_moment(words, at))
        or (words[at] in GONE and at and words[at - 1] in BE and not is_possible(words, at))
    ]
    perfect = [] if HAVE.isdisjoint(known) else [at for at in range(len(words)) if is_perfect(words, at)]
    towards = any(not _TOWARDS.isdisjoint(words[at + 1 :]) for at in (*changing, *perfect))
    old = _old(tokens, words, changing, ends, changes=strong or change)
    content = tuple(
        at
        for at, token in enumerate(tokens)
        if not token.mark
        and at not in cues
        and (token.dimension or not _is_function(token, words[at], at) or (words[at] == "new" and at < verb))
    )
    return Statement(
        tokens=tokens,
        words=tuple(words),
        verb=verb,
        content=content,
        denies=not NEGATORS.isdisjoint(known),
        negated=_negated(tokens, words),
        old=old,
        strong=strong
        or bool(_CORRECTS.search(sentence))
        or (change and towards)
        or bool(ends)
        or "->" in known
        or bool(old),
        towards=towards,
        hinted=change
        or bool(perfect)
        or any(not (word == "new" and at < verb) for at, word in enumerate(words) if word in HINTS),
        adds=not ADDITIVE.isdisjoint(known) or any(phrase in " ".join(words) for phrase in ("as well", "in addition")),
        ends=bool(ends),
        asks=sentence.rstrip().endswith("?"),
    )


def _is_function(token: Token, word: str, at: int) -> bool:
    if word not in _GRAMMATICAL or (at and len(word) == 1 and token.text.isupper() and word != "i"):
        return False  # the second is a label, as in "team A"
    return word in _CUES or token.key not in OPPOSED


def _phrases(words: Sequence[str]) -> tuple[frozenset[int], bool]:
    """Places of the phrases of change, and whether there is any."""
    places: set[int] = set()
    for at, word in enumerate(words):
        for phrase in _PHRASES_BY_WORD.get(word, ()):
            if tuple(words[at : at + len(phrase)]) == phrase:
                places.update(range(at, at + len(phrase)))
    return frozenset(places), bool(places) or "anymore" in words


def _reach(tokens: Sequence[Token], words: Sequence[str], start: int, stops: frozenset[str]) -> Iterator[int]:
    """Places from `start` to the next boundary: a mark, or a word of `stops` after the first content word."""
    seen = False
    for at in range(start, len(tokens)):
        if tokens[at].mark and words[at] not in ("'", '"', "`"):
            return
        if seen and words[at] in stops:
            return
        if words[at] not in FUNCTION_WORDS:
            seen = True
        yield at


def _negated(tokens: Sequence[Token], words: Sequence[str]) -> frozenset[int]:
    """Words within the reach of a negation: from the negator to the end of its clause."""
    places: set[int] = set()
    for at, word in enumerate(words):
        if word in NEGATORS:
            places.update(place for place in _reach(tokens, words, at + 1, CLAUSES) if words[place] not in NEGATORS)
    return frozenset(places)


def _old(
    tokens: Sequence[Token], words: Sequence[str], changing: Sequence[int], ends: Sequence[int], *, changes: bool
) -> frozenset[int]:
    """Words that the sentence calls past: "from X to", "instead of X", "no longer X", "X was retired"."""
    places: set[int] = set()
    for at, here in enumerate(words):
        if here not in _BEFORE_PAST:
            continue
        pair, triple = tuple(words[at : at + 2]), tuple(words[at : at + 3])
        if here == "from":
            reach = list(_reach(tokens, words, at + 1, BOUNDARIES))
            after = words[reach[-1] + 1] if reach and reach[-1] + 1 < len(words) else ""
            taken = any(token.key in _TAKING for token in tokens[:at])
            if (
                changes
                or taken
                or (after in ("to", "onto", "into") and any(is_past(word) for word in words[max(0, at - 3) : at]))
            ):
                places.update(reach)
        elif (here == "out" and words[at + 1 : at + 2] == ["of"]) and any(map(is_past, words[max(0, at - 4) : at])):
            places.update(_reach(tokens, words, at + 2, BOUNDARIES))
        elif (here, *words[at + 1 : at + 2]) in _GIVING:
            places.update(_before(words, at, CLAUSES))
        elif (here == "off" and at - 1 in changing) or here in ("formerly", "previously", "\u2192"):
            places.update(_reach(tokens, words, at + 1, BOUNDARIES))
        elif pair in _BEFORE_OLD or triple in _BEFORE_OLD:
            width = 2 if pair in _BEFORE_OLD else 3
            places.update(_reach(tokens, words, at + width, BOUNDARIES))
        elif pair in (("used", "to"), ("no", "longer"), ("not", "longer")):
            reach = list(_reach(tokens, words, at + 2, CLAUSES))
            places.update(reach)
            if at and words[at - 1] in BE and reach and words[reach[0]] in IN_USE:
                places.update(_before(words, at, CLAUSES))
        elif here in ("not", "never"):
            reach = list(_reach(tokens, words, at + 1, CLAUSES))
            tail = " ".join(words[at + 1 : at + len(reach) + 4])
            if re.search(r"\bany ?(?:more|longer)\b", tail):
                places.update(reach)
        elif here == "->":
            places.update(_before(words, at, BOUNDARIES))
        elif here == "so" and at and words[at - 1] == "," and {"was", "were", "had"} & set(words[:at]):
            places.update(range(at))
    for at in ends:
        if any(word in _PASSIVE for word in words[max(0, at - 3) : at]):
            places.update(_before(words, at, CLAUSES))
        else:
            reach = [place for place in _reach(tokens, words, at + 1, BOUNDARIES) if words[place] not in FUNCTION_WORDS]
            places.update(reach or _before(words, at, CLAUSES | SUBORDINATORS))
    return frozenset(place for place in places if not tokens[place].mark)


def _is_for_a_moment(words: Sequence[str], at: int) -> bool:
    """Whether the verb at a place belongs to an instruction that ends nothing for good. Such a verb is the purpose of a
    step ("Set X=1 to turn off Y") or prepares another step ("Remove X before upgrading X")."""
    if words[0] not in VERB_BASES:
        return False
    following = (word for before, word in pairwise(words) if before in _ON_THE_WAY)
    return (at > 0 and words[at - 1] == "to") or (at == 0 and any(word.endswith("ing") for word in following))


def _before(words: Sequence[str], at: int, stops: frozenset[str]) -> Iterator[int]:
    for place in range(at - 1, -1, -1):
        if not words[place][0].isalnum() and len(words[place]) == 1 and words[place] in ",;:.!?":
            return
        if words[place] in stops:
            return
        yield place
