"""Spellings of code in text: identifiers, paths, versions, error codes, hashes. Text in, words out.

BM25 splits text at everything but letters and digits and folds case. So `parse_config` is two words and `parseConfig`
is one; neither finds the other. `spellings` gives the missing forms: the whole without its marks, its ends, the parts
of a name in camel case, the beginning of a version or of a hash. Memories and questions are treated alike. Plain words
have none.

A text as its words are counted, whatever its script. Text in, text out, in linear time. A counter of words splits text
at everything but letters and digits and knows English. So a run of a script without spaces becomes pairs of
neighbouring characters, an accent falls, and an emoji becomes a word. English text, with whatever marks of
punctuation, comes out as it went in.

The form that an answer has: "where did Ana buy it?" is answered by what says "bought". Text in, text out. An auxiliary
takes the tense from the verb, and no stemmer leads from an irregular base to its past. So of a question with "did" the
bases, of one with "has" or "have" the participles are given as the past that a memory states. English alone; other
languages and regular verbs lose nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from mnemesh_memory.wordlists import COMMON_WORDS, rows

# Git shows so much of a hash, and people repeat it.
HASH_CHARS: Final = 7
# Of a path or a dotted name, the ends of two to so many words: people leave out where it begins.
ENDS_MAX: Final = 4
# Between the numbers of a version; a letter, because a word ends at everything else.
_POINT: Final = "x"
_RUN: Final = r"[^\W_]+"
# Runs of letters and digits with marks between them and no space, all of which people write inside a name.
_COMPOUND: Final = re.compile(rf"{_RUN}(?:(?:[_./\\@#+=-]|::?|->|\?\.){{1,3}}{_RUN})*")
_PARTS: Final = re.compile(_RUN)
_MARKS: Final = re.compile(r"[_./\\@#+=:?>-]+")
# A small letter before a large one, an abbreviation or a number before a word: parseConfig, HTTPServer, base64Encode.
_CAMEL: Final = re.compile(r"[^\W\d_A-Z][A-Z]|[A-Z]{2}[a-z]{2}|[^\W\d_]\d+[A-Z][a-z]")
# A number belongs to the word before it, the plural to its abbreviation: s3 Client, i18n Keys, user IDs.
_HUMP: Final = re.compile(r"[A-Z]?[a-z]*\d+[a-z]+|[A-Z]+s(?![a-z])|[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|[^\W_A-Za-z]+")
_NUMBERED: Final = re.compile(r"([^\W\d_]+)(\d+)")
_HEX: Final = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}", re.IGNORECASE)
_VERSION: Final = re.compile(r"[vV]?\d+(?:\.\d+)+")


def spellings(text: str) -> list[str]:
    """Other spellings of what in `text` is no plain word, each of letters and digits, in its order."""
    return [word for compound in _COMPOUND.findall(text) for word in _of(compound)]


def may_spell(text: str, words: Iterable[str]) -> bool:
    """Whether any of these folded words, or beginnings of words, can be among `spellings`, but for versions: a quick
    look."""
    run_together = _MARKS.sub("", text.casefold())
    return any(word in run_together for word in words)


def humps(text: str) -> str:
    """`text` with every name in camel case as the words that it is made of."""
    return _PARTS.sub(lambda run: " ".join(_HUMP.findall(run[0])) if _CAMEL.search(run[0]) else run[0], text)


def _of(compound: str) -> Iterator[str]:
    runs = _PARTS.findall(compound)
    for run in runs:
        if _CAMEL.search(run):
            for hump in _HUMP.findall(run):
                yield hump
                if numbered := _NUMBERED.fullmatch(hump):
                    yield from numbered.groups()  # "iPhone 15 Pro" for iPhone15Pro
        if _HEX.fullmatch(run):
            yield run[:HASH_CHARS]
    if len(runs) == 1:
        return
    version = _VERSION.match(compound)
    if version is not None:
        numbers = version.group().lstrip("vV").split(".")
        yield _POINT.join(numbers)
        if len(numbers) > 2:
            yield _POINT.join(numbers[:2])
    else:
        for start in range(max(0, len(runs) - ENDS_MAX), len(runs) - 1):
            yield "".join(runs[start:])


# Written without spaces: Thai to Lao, Burmese, Khmer, kana, Han. And Hangul, whose particles stick to a word. Without
# the dot between words in kana.
PAIRED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003134f"
)
_ACCENTS: Final = "\u0300-\u036f"
_FLAG: Final = "\U0001f1e6-\U0001f1ff"
_SKIN: Final = "\U0001f3fb-\U0001f3ff"
_EMOJI: Final = (
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
# Anything that may have to be written otherwise: neither ASCII nor the punctuation and signs of English text.
_OTHER: Final = re.compile(rf"[\u00c0-\u1fff\u2e80-\U0010ffff{_EMOJI}]")
_HALF_OR_FULL: Final = re.compile(r"[\uff01-\uffee]+")
# Pieces written otherwise: a run, an emoji, a word that is not of ASCII alone.
_PIECE: Final = re.compile(
    rf"(?P<run>[{PAIRED}]+)|(?P<emoji>[{_FLAG}]{{2}}|[{_EMOJI}])[{_SKIN}]?"
    rf"|(?<![A-Za-z0-9_])[A-Za-z0-9_]*+(?:[^\W\x00-\x7f{PAIRED}]|[{_ACCENTS}])(?:[^\W{PAIRED}]|[{_ACCENTS}])*"
)
_MARK: Final = re.compile(f"[{_ACCENTS}]+")
# Letters with a stroke, and two in one, which are no letter with a mark.
_STROKES: Final = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D",
        "ð": "d", "Ð": "D", "ł": "l", "Ł": "L", "þ": "th", "Þ": "Th", "ħ": "h", "Ħ": "H", "\u0131": "i",
    }
)  # fmt: skip
# Any code point as two letters, of a script that hardly anybody writes (Yi).
_LETTERS_FROM: Final = 0xA000
_LETTER_BITS: Final = 10


def unaccented(text: str) -> str:
    """Latin, Greek and Cyrillic letters without marks and strokes. A composed text of letters that have no stroke keeps
    its length."""
    if text.isascii() or _OTHER.search(text) is None:
        return text
    bare = _MARK.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare).translate(_STROKES)


def spaced(text: str) -> str:
    """`text` with a space around each counted word: pairs of characters, emoji in letters, words without accents. A
    word keeps its accents when it would be a common English word without ("thé")."""
    if text.isascii() or _OTHER.search(text) is None:
        return text
    composed = _HALF_OR_FULL.sub(_usual, unicodedata.normalize("NFC", text))
    return _PIECE.sub(_counted, composed)


def _usual(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match.group())


def _counted(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "run":
        run = match.group()
        pairs = [one + other for one, other in pairwise(run)] or [run]
        # A vowel sign or tone mark is no letter, and would split its pair.
        return f" {' '.join(pair if pair.isalnum() else _spelled(pair) for pair in pairs)} "
    if kind == "emoji":
        return f" {_spelled(match['emoji'])} "
    word = match.group()
    bare = unaccented(word)
    return word if bare.casefold() in COMMON_WORDS else bare


def _spelled(signs: str) -> str:
    low = (1 << _LETTER_BITS) - 1
    codes = map(ord, signs)
    return "".join(chr(_LETTERS_FROM + part) for code in codes for part in (code >> _LETTER_BITS, code & low))


_FORMS: Final = [verb.split() for verb in rows("words/irregular_verbs.txt")]
_PAST: Final = {base: past for base, past, *_ in _FORMS}
_PAST_OF_PARTICIPLE: Final = {forms[2]: forms[1] for forms in _FORMS if len(forms) > 2}
_DID: Final = re.compile(r"\bdid(?:n['\u2019]?t)?\b", re.IGNORECASE)
_HAS: Final = re.compile(r"\b(?:has|have|had)(?:n['\u2019]?t)?\b", re.IGNORECASE)
# After these a word is a noun ("the build") or an infinitive ("to go").
_NO_VERB_AFTER: Final = frozenset(
    (
        "a", "about", "an", "and", "any", "at", "by", "each", "every", "for", "from", "her", "his", "in", "into", "its",
        "my", "no", "of", "on", "or", "our", "some", "that", "the", "their", "these", "this", "those", "to", "with",
        "your",
    )
)  # fmt: skip
# Quoted text, and words that are no part of a path, a flag or an identifier.
_WORD: Final = re.compile(r'"[^"]*"|`[^`]*`|(?<![\w./\\:@#-])[^\W\d_]++(?![\w/\\@#-]|[.:]\w)')


def stated(question: str) -> str:
    """A question with the verbs in the form of a statement about the past; a participle stays beside the past."""
    did, has = _DID.search(question), _HAS.search(question)
    if not (did or has):
        return question

    before = ""

    def form(match: re.Match[str]) -> str:
        nonlocal before
        word, previous = match.group(), before
        before = folded = word.lower()
        if did and folded in _PAST and previous not in _NO_VERB_AFTER:
            return _PAST[folded]
        return f"{word} {_PAST_OF_PARTICIPLE[folded]}" if has and folded in _PAST_OF_PARTICIPLE else word

    return _WORD.sub(form, question)
