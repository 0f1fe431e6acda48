"""A text as its words are counted, whatever its script. Text in, text out, in linear time.

A counter of words splits text at everything but letters and digits and knows English. So a run of a script without
spaces becomes pairs of neighbouring characters, an accent falls, and an emoji becomes a word. English text, with
whatever marks of punctuation, comes out as it went in.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final

from mnemesh_memory.wordlists import COMMON_WORDS

# Written without spaces: Thai to Lao, Burmese, Khmer, kana, Han. And Hangul, whose particles stick to a word. Without
# the dot between words in kana.
PAIRED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003134f"
)
_MARKS: Final = "\u0300-\u036f"
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
    rf"|(?<![A-Za-z0-9_])[A-Za-z0-9_]*+(?:[^\W\x00-\x7f{PAIRED}]|[{_MARKS}])(?:[^\W{PAIRED}]|[{_MARKS}])*"
)
_MARK: Final = re.compile(f"[{_MARKS}]+")
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


def _usual(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", found.group())


def _counted(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "run":
        run = found.group()
        pairs = [one + other for one, other in pairwise(run)] or [run]
        # A vowel sign or tone mark is no letter, and would split its pair.
        return f" {' '.join(pair if pair.isalnum() else _spelled(pair) for pair in pairs)} "
    if kind == "emoji":
        return f" {_spelled(found['emoji'])} "
    word = found.group()
    bare = unaccented(word)
    return word if bare.casefold() in COMMON_WORDS else bare


def _spelled(signs: str) -> str:
    low = (1 << _LETTER_BITS) - 1
    codes = map(ord, signs)
    return "".join(chr(_LETTERS_FROM + part) for code in codes for part in (code >> _LETTER_BITS, code & low))
