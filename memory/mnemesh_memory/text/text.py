"""Text in, text out: normal forms, hashes, titles, snippets, chunks.

Every function takes any `str`, lone surrogates included, and never fails on one. Nothing here is specific
to one language, and nothing takes longer than linear time. A cut never falls inside a user-perceived
character, as far as the joining rules of UAX #29 that `_joins` names.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Final

from mnemesh_memory.text.counted_words import PAIRED, spellings, unaccented
from mnemesh_memory.values.limits import CHUNK_TOKENS_MAX, SNIPPET_CHARS_MAX, TITLE_BYTES_MAX, TITLE_CHARS_MAX
from mnemesh_memory.wordlists import COMMON_WORDS

_ELLIPSIS: Final = "…"
# A block of this many code points costs at most 3 wordpieces each, so it fits a chunk whatever it holds.
_BLOCK_CHARS: Final = CHUNK_TOKENS_MAX // 4
_STEM_CHARS: Final = 6
STEMS_SOUGHT_MAX: Final = 64

_PARAGRAPH_END: Final = re.compile(r"\n[ \t\r]*\n\s*")
_CLOSERS: Final = "\"')\\]\u2019\u201d\u300d\u300f\uff09"
_STOP: Final = r"[.!?\u2026]"
_WIDE_STOP: Final = r"[\u3002\uff01\uff1f\uff61]"
# The pattern begins with a set of characters, because a search leaps to these. The look-behinds of two let a run of
# stops start one match only; without them a line of dots costs quadratic time.
_SENTENCE_END: Final = re.compile(
    r"[\n.!?\u2026\u3002\uff01\uff1f\uff61](?:(?<=\n)\s*"
    rf"|(?<={_STOP})(?<!{_STOP}{_STOP}){_STOP}*[{_CLOSERS}]*\s+"
    rf"|(?<={_WIDE_STOP})(?<!{_WIDE_STOP}{_WIDE_STOP}){_WIDE_STOP}*[{_CLOSERS}]*\s*)"
)
_WORD_END: Final = re.compile(r"\s+")
_BORDERS: Final = (_PARAGRAPH_END, _SENTENCE_END, _WORD_END)

_WORDPIECES: Final = re.compile(r"([a-zA-Z]+)|([0-9]+)|([가-힣])|[^\W_]|[^\w\s]|_")
# Identifiers are words in a row: cut to one stem `recall_timeout_s` would pass for `recall_weight_phrases`.
_WORD: Final = re.compile(r"[^\W_]+")
_PAIRED: Final = re.compile(f"[{PAIRED}]")
# A run of a script without spaces, whose terms are pairs of neighbours, or a word of another one.
_TERM: Final = re.compile(rf"([{PAIRED}]+)|[^\W_{PAIRED}]+")

_FENCE_OR_RULE: Final = re.compile(r"\s*(?:```.*|~~~.*|(?:[-*_=]\s*){3,})\s*")
_LINE_MARKS: Final = re.compile(r"\s*(?:(?:#{1,6}|>|[-*+]|\d{1,9}[.)]|\[[ xX]\])\s+)+")
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,500}\)")
# Stars only: underscores belong to identifiers more often than to emphasis.
_EMPHASIS: Final = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*]{1,200})(?<=\S)\1(?![\w*])|`+|~~")


def normalise(content: str) -> str:
    """The form in which two texts count as the same: NFC, no blanks at the end of a line, and no empty lines at either
    end. Several blanks within a line become a single blank, several empty lines a single empty line. An indentation
    shared by all lines falls.

    Everything else may say something: the lines of a list, the indentation of YAML or Python against its first line,
    and every capital. Names and literals differ by case (True and true, MW and mW), and no form tells them from words.
    """
    lines = unicodedata.normalize("NFC", content).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    shared = _shared_indentation(lines)
    folded: list[str] = []
    for line in lines:
        words = line.split()
        indentation = line[shared : len(line) - len(line.lstrip())] if words else ""
        if words or (folded and folded[-1]):
            folded.append(indentation + " ".join(words))
    return "\n".join(folded).rstrip("\n")


def _shared_indentation(lines: Iterable[str]) -> int:
    """How many characters of white space all lines that are not empty begin with alike."""
    starts = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    least, most = min(starts, default=""), max(starts, default="")
    return next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))


def content_hash(text: str) -> str:
    """Hex SHA-256 of the exact text in UTF-8: the key of a cached vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def duplicate_key(content: str) -> str:
    """Hex SHA-256 of the normalised text: equal keys in one space are one memory."""
    return content_hash(normalise(content))


def estimate_tokens(text: str) -> int:
    """The cost of `text` for a language model, in tokens: one for 4 ASCII characters or 3 bytes of other UTF-8."""
    if text.isascii():
        return ceil(len(text) / 4)
    ascii_bytes = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_bytes
    return ceil(ascii_bytes / 4 + other_bytes / 3)


def estimate_wordpieces(text: str) -> int:
    """The cost of `text` for the embedding model, in WordPiece tokens: an estimate that leans upwards.

    A run of letters costs a token in 5, digits one in 2. A Hangul syllable costs 3 (the model sees its letters), any
    other letter, mark or sign 1. It is subadditive: the parts never cost less than the whole.
    """
    total = 0
    for letters, digits, hangul in _WORDPIECES.findall(text):
        total += (len(letters) + 4) // 5 or (len(digits) + 1) // 2 or (3 if hangul else 1)
    return total


def chunks(content: str) -> list[str]:
    """`content` in pieces of at most CHUNK_TOKENS_MAX estimated wordpieces; joined they are `content` again.

    Cuts fall after a paragraph, else a sentence or line, else a word, else between characters. A text that
    fits is returned whole, the empty text too.
    """
    if len(content) <= _BLOCK_CHARS:
        return [content]
    packed: list[str] = []
    room = 0
    for piece, cost in _pieces(content, 0):
        if cost > room or not packed:
            packed.append(piece)
            room = CHUNK_TOKENS_MAX
        else:
            packed[-1] += piece
        room -= cost
    return packed


def _pieces(text: str, level: int) -> Iterator[tuple[str, int]]:
    """The coarsest pieces of `text`, each with its cost, that fit a chunk."""
    cost = estimate_wordpieces(text)
    if cost <= CHUNK_TOKENS_MAX:
        yield text, cost
    elif level < len(_BORDERS):
        ends = [0, *(match.end() for match in _BORDERS[level].finditer(text)), len(text)]
        for start, end in pairwise(ends):
            if start < end:
                yield from _pieces(text[start:end], level + 1)
    else:
        start = 0
        while start < len(text):
            end = _cut(text, start, _BLOCK_CHARS)
            yield text[start:end], estimate_wordpieces(text[start:end])
            start = end


def sentences(content: str) -> list[str]:
    """`content` cut behind each sentence and line; joined the parts are `content` again."""
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(content)), len(content)]
    return [content[start:end] for start, end in pairwise(ends) if start < end] or [content]


def beginning(text: str, wordpieces: int) -> str:
    """The longest beginning of whole words, else of whole characters, that costs at most `wordpieces` as estimated."""
    if estimate_wordpieces(text) <= wordpieces:
        return text
    low, high = 0, len(text)  # what costs little enough, and what costs too much
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate_wordpieces(text[:middle]) <= wordpieces else (low, middle)
    return _whole_words(text, 0, low).rstrip()


def title_of(content: str) -> str:
    """The first words for display: one line without Markdown marks, at most TITLE_CHARS_MAX characters.

    "" when the text shows nothing. Always within TITLE_BYTES_MAX bytes of UTF-8.
    """
    for line in content.splitlines():
        if _FENCE_OR_RULE.fullmatch(line):
            continue
        marks = _LINE_MARKS.match(line)
        bare = _LINK.sub(r"\1", line[marks.end() if marks else 0 :])
        plain = _EMPHASIS.sub(r"\2", bare)
        shown = " ".join((plain if plain.isprintable() else "".join(map(_printable, plain))).split())
        if shown:
            return _shortened(shown, TITLE_CHARS_MAX, TITLE_BYTES_MAX)
    return ""


@lru_cache(maxsize=16)  # one question asks for as many passages as it has results
def _wanted(query: str) -> frozenset[str]:
    """Words for `snippet` and `marks`: the stems of the query's words, and of other spellings of its identifiers. The
    commonest English ones count only when there is no other."""
    words = {term for part in (query, *spellings(query)) for _, _, term in _terms(part)}
    return frozenset(words - _COMMON_STEMS or words)


def marks(passage: str, query: str) -> tuple[tuple[int, int], ...]:
    """Beginning and end, in characters, of the words of a passage that stand in the query. Neighbours without a gap are
    joined, also across the underscores of an identifier."""
    spans: list[tuple[int, int]] = []
    for start, end, _ in _sought(passage, _wanted(query)):
        if spans and not passage[spans[-1][1] : start].strip("_"):
            start = spans.pop()[0]
        spans.append((start, end))
    return tuple(spans)


def snippet(content: str, query: str, chars: int = SNIPPET_CHARS_MAX) -> str:
    """The passage of at most `chars` characters that holds the most of `query`'s words, white space folded.

    Long words weigh more than short ones. Without any match it is the beginning. "…" stands for what was cut.
    """
    text = " ".join(content.split())
    if len(text) <= chars:
        return text
    width = chars - 2 * len(_ELLIPSIS)
    if width < 1:
        return _ELLIPSIS[:chars] if chars > 0 else ""
    start = _passage_start(text, _wanted(query), width)
    before = _ELLIPSIS if start else ""
    if len(text) - start <= width + 1:
        return before + text[start:]
    return before + _whole_words(text, start, width).rstrip() + _ELLIPSIS


def _terms(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, term): words folded and cut to a stem, without accents and a plural s; pairs of characters in
    scripts without spaces."""
    for match in (_WORD if text.isascii() else _TERM).finditer(text):
        word, start = match.group(), match.start()
        if match.lastindex and len(word) > 1:
            for offset in range(len(word) - 1):
                yield start + offset, start + offset + 2, word[offset : offset + 2]
        else:
            yield start, match.end(), stem(word)


def content_words(text: str) -> list[str]:
    """The words of a text in lower case and in order, without the commonest English ones and without numbers."""
    folded = (match.group().casefold() for match in _WORD.finditer(text))
    return [word for word in folded if len(word) > 2 and not word.isdigit() and stem(word) not in _COMMON_STEMS]


def _sought(text: str, wanted: frozenset[str]) -> list[tuple[int, int, str]]:
    """The terms of `text` that are wanted, in order."""
    folded = unaccented(text.casefold())
    shifted = len(folded) != len(text)  # by a character that folds to several, or a mark that stands for itself
    if shifted or len(wanted) > STEMS_SOUGHT_MAX or (not text.isascii() and _PAIRED.search(text)):
        return [term for term in _terms(text) if term[2] in wanted]
    # A question has as many texts as results, and most of their words are not looked at: a word begins with its stem.
    terms = []
    for term in wanted:
        at = folded.find(term)
        while at >= 0:
            rest = _WORD.match(text, at)  # of its word; there is none at U+0345, a mark that folds to a letter
            end = rest.end() if rest else at + 1
            if rest and stem(rest.group()) == term and not (at and _WORD.match(text, at - 1)):
                terms.append((at, end, term))
            at = folded.find(term, end)
    return sorted(terms)


def stem(word: str) -> str:
    """What counts of a word: its beginning, folded, without accents and a plural s."""
    folded = unaccented(word.casefold())
    plural = len(folded) > 3 and folded[-1] == "s" and folded[-2] not in "su"
    return folded[: -1 if plural else None][:_STEM_CHARS]


_COMMON_STEMS: Final = frozenset(term for _, _, term in _terms(" ".join(COMMON_WORDS)))


def _passage_start(text: str, wanted: frozenset[str], width: int) -> int:
    """Where the window of `width` characters with the most weight starts, the tightest of equal ones; moved back
    to a sentence or word, for context."""
    hits = _sought(text, wanted)
    inside: defaultdict[str, int] = defaultdict(int)
    weight = right = 0
    best, best_rank = (0, 0), (0, 0)
    for left, (start, _, first) in enumerate(hits):
        while right < len(hits) and (right <= left or hits[right][1] <= start + width):
            term = hits[right][2]
            weight += 0 if inside[term] else len(term)
            inside[term] += 1
            right += 1
        end = hits[right - 1][1]
        if (weight, start - end) > best_rank:
            best, best_rank = (start, end), (weight, start - end)
        inside[first] -= 1
        weight -= 0 if inside[first] else len(first)
    return _context_start(text, best[0], max(0, best[1] - width))


def _context_start(text: str, hit: int, earliest: int) -> int:
    """The last sentence start in [earliest, hit], else the first word or whole character there."""
    if earliest >= hit:
        return hit
    if earliest == 0 and not _SENTENCE_END.search(text, 0, hit):
        return 0
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, earliest, hit)]
    if sentences:
        return sentences[-1]
    start = text.find(" ", earliest, hit) + 1 or earliest
    while start < hit and _joins(text[start - 1], text[start]):
        start += 1
    return start


def _whole_words(text: str, start: int, chars: int) -> str:
    """At most `chars` characters from `start`, ending at a word when that keeps at least half of them."""
    end = _cut(text, start, chars)
    if end < len(text) and not text[end].isspace():
        space = text.rfind(" ", start + (end - start) // 2, end)
        end = space if space >= 0 else end
    return text[start:end]


def _shortened(text: str, chars: int, utf8_bytes: int) -> str:
    """`text`, or its first whole words and "…", within both bounds."""

    def size(part: str) -> int:
        return len(part.encode("utf-8", "surrogatepass"))

    if len(text) <= chars and size(text) <= utf8_bytes:
        return text
    room = chars - len(_ELLIPSIS)
    kept = _whole_words(text, 0, room)
    while size(kept) > utf8_bytes - size(_ELLIPSIS):
        room = min(room - 1, len(kept) - 1)
        kept = _whole_words(text, 0, room)
    return kept.rstrip() + _ELLIPSIS


def _printable(char: str) -> str:
    return char if char.isprintable() or _joins("a", char) or char == "\u200d" else " "


def _cut(text: str, start: int, chars: int) -> int:
    """The end of the most whole user-perceived characters from `start`, at most `chars` code points.

    A single character longer than the limit is cut: only hostile text holds such.
    """
    limit = start + chars
    if limit >= len(text):
        return len(text)
    for end in range(limit, start, -1):
        if not _joins(text[end - 1], text[end]) and not _splits_flag(text, start, end):
            return end
    return limit


def _splits_flag(text: str, start: int, at: int) -> bool:
    """Whether the letters before and behind `at` are one flag, when the letters in a row are paired from `start` on."""
    first = at
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return (at - first) % 2 == 1 and _is_flag_letter(text[at])


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _joins(left: str, right: str) -> bool:
    """Whether no cut may fall between two code points: combining marks, emoji sequences, Hangul letters, CR LF (UAX #29
    GB3, GB6 to GB9a, GB11). Surrogate pairs, a sign of careless decoding, stay whole too."""
    if right < "\u0300" and left != "\u200d":
        return left == "\r" and right == "\n"
    return (
        left == "\u200d"
        or right in "\u200c\u200d"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or "\U000e0020" <= right <= "\U000e007f"
        or "\u1160" <= right <= "\u11ff"
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
        or unicodedata.category(right)[0] == "M"
    )
