"""Entities and relations of one memory: sentences, lines of code, names. Bounded, whatever the text holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mnemesh_memory.graph import noun_phrases
from mnemesh_memory.graph.relations import (
    ENTITIES_A_TEXT_MAX,
    FAN_A_TEXT_MAX,
    NAME_CHARS_MAX,
    RELATIONS,
    RELATIONS_A_TEXT_MAX,
    SENTENCE_CHARS_MAX,
    TEXT_CHARS_READ,
    Entity,
    Extract,
    Relation,
    entity_key,
)
from mnemesh_memory.graph.sentence_reader import is_actor, looks_like_error, relations
from mnemesh_memory.graph.words import TEAM_WORDS

_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[`]*[A-Z0-9`])|\n+\s*(?:[-*\u2022]|\d+[.)])?\s*|\u3002"
)
# Python, JavaScript, Go, Rust, C, Java and Ruby, a line at a time.
_IMPORT: Final = re.compile(
    r"^\s*(?:from\s+(?P<from>[\w.@/-]{1,80})\s+import\s+[\w*({]|import\s+(?P<plain>[\w.]{1,80})(?:\s+as\s+\w+)?\s*;?\s*$"
    r"|import\s+(?:[\w*{}\s,]{1,200}\s+from\s+)?[\"'](?P<quoted>[\w.@/:-]{1,80})[\"']|use\s+(?P<use>[\w:]{1,80})(?:::\{.*)?;"
    r"|#include\s+[<\"](?P<include>[\w./-]{1,80})[>\"]|(?:const|let|var)\s+[\w{}\s,]{1,80}=\s*require\([\"'](?P<required>[\w.@/-]{1,80})"
    r"|require(?:_relative)?\s+[\"'](?P<ruby>[\w./-]{1,80})[\"'])"
)
_DEFINITION: Final = re.compile(
    r"^\s*(?:export\s+|pub(?:\(\w+\))?\s+|public\s+|private\s+|static\s+|async\s+|default\s+|abstract\s+){0,3}"
    r"(?:def|class|fn|func|function|struct|enum|trait|interface|type)\s+(?:\([^)]{0,60}\)\s*)?(?P<name>[A-Za-z_]\w{1,60})\s*[(:<{=]"
)
_PACKAGE: Final = re.compile(
    r"^\s*[\"']?(?P<name>[A-Za-z][\w.-]{1,60})[\"']?\s*(?:==|~=|>=|@|:\s*[\"'][\^~]?)\s*v?(?P<version>\d+(?:\.\d+){1,3})[\"']?,?\s*$"
)
_PATH: Final = re.compile(
    r"(?<![\w/:.-])(?:~|\.{1,2})?/?(?:[A-Za-z0-9_.@-]{1,60}/){1,12}[A-Za-z0-9_.@-]{1,80}|(?<![\w/.-])[A-Za-z0-9_-]{1,60}\.(?:py|rs|go|ts|tsx|js|jsx|java|rb|c|h|cpp|hpp|cs|kt|swift|php|sql|toml|yaml|yml|json|md|sh|proto|tf|lock|cfg|ini|html|css)\b"
)
_TICKED: Final = re.compile(r"`([^`\n]{2,60})`")
_SYMBOL: Final = re.compile(
    r"(?<![\w.-])(?:[a-z]+(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:\(\))?(?![\w-])"
)
_NAME: Final = re.compile(
    r"(?<=[a-z0-9,;:)] )[A-Z](?:[A-Za-z0-9+#-]|\.(?=[A-Za-z0-9])){1,40}(?: [A-Z][A-Za-z0-9+#-]{1,40}){0,2}"
)
NAME_WORDS_MAX: Final = 4
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")


def extract(text: str, title: str = "", paths: Sequence[str] = ()) -> Extract:
    """The graph's share of a memory. A text that looks like binary data has none."""
    read = text[:TEXT_CHARS_READ]
    if _is_binary(read):
        return Extract()
    kept: dict[tuple[str, str, str], Relation] = {}
    fans: Counter[tuple[str, str]] = Counter()
    said = list(sentences(read))
    stated = (relation for sentence in said for relation in relations(sentence))
    for relation in (*_of_code(read, paths), *stated, *noted(said, title)):
        subject, object_ = entity_key(relation.subject), relation.object.casefold()
        ends = ((relation.type, f"> {subject}"), (relation.type, f"< {object_}"))
        if len(kept) >= RELATIONS_A_TEXT_MAX or any(fans[end] >= FAN_A_TEXT_MAX for end in ends):
            continue
        if (subject, relation.type, object_) not in kept:
            kept[subject, relation.type, object_] = relation
            fans.update(ends)
    return Extract(tuple(kept.values()), tuple(_entities(read, title, paths, kept.values())))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without those that are too long to be any."""
    for part in _SENTENCE_END.split(text):
        if 5 <= len(part) <= SENTENCE_CHARS_MAX:
            yield part.strip(" -*#>\t")


def names_in(question: str) -> set[str]:
    """The keys that up to NAME_WORDS_MAX neighbouring words of a question make."""
    words = question[:SENTENCE_CHARS_MAX].replace("?", " ").replace(",", " ").split()
    spans = (words[start : start + size] for size in range(1, NAME_WORDS_MAX + 1) for start in range(len(words)))
    return {key for span in spans if (key := entity_key(" ".join(span)))}


def kind_of(name: str, relation: str = "", end: int = 0) -> str:
    """The kind of an entity by its form, else by its place in a relation; "" when neither tells."""
    bare = name.strip("`")
    if _PATH.fullmatch(bare):
        return "file"
    if looks_like_error(bare):
        return "error"
    if bare.split()[-1].casefold() in TEAM_WORDS:
        return "team"
    if _SYMBOL.fullmatch(bare) and relation != "imports":
        return "symbol"
    kind = RELATIONS[relation][end] if relation else ""
    return kind if kind != "person" or is_actor(bare) else ""


def _entities(text: str, title: str, paths: Sequence[str], facts: Iterable[Relation]) -> Iterator[Entity]:
    """The ends of the relations first, then other names."""
    seen: dict[str, Entity] = {}
    for entity in (*_ends(facts), *(Entity(path, "file") for path in paths), *_names(f"{title}\n{text}")):
        key = entity_key(entity.name) or (entity.name if entity.kind == "version" else "")
        if not key or (len(entity.name) > NAME_CHARS_MAX and entity.kind not in ("cause", "fix", "reason", "file")):
            continue
        known = seen.get(key)
        if known is None and len(seen) < ENTITIES_A_TEXT_MAX:
            seen[key] = entity
        elif known is not None and not known.kind and entity.kind:
            seen[key] = Entity(known.name, entity.kind)
    yield from seen.values()


def _ends(facts: Iterable[Relation]) -> Iterator[Entity]:
    for relation in facts:
        yield Entity(relation.subject, kind_of(relation.subject, relation.type, 0))
        yield Entity(relation.object, kind_of(relation.object, relation.type, 1))


def _names(text: str) -> Iterator[Entity]:
    for match in _PATH.finditer(text):
        yield Entity(match.group(), "file")
    for match in _TICKED.finditer(text):
        yield Entity(match.group(1), kind_of(match.group(1)))
    for match in _SYMBOL.finditer(text):
        yield Entity(match.group().removesuffix("()"), kind_of(match.group().removesuffix("()")))
    for match in _NAME.finditer(text):
        yield Entity(match.group().rstrip(".-"), kind_of(match.group().rstrip(".-")))


def _of_code(text: str, paths: Sequence[str]) -> Iterator[Relation]:
    """Lines of code belong to the file that the memory names, when there is just one."""
    file = paths[0] if len(paths) == 1 else ""
    for line in text.splitlines():
        if len(line) > SENTENCE_CHARS_MAX:
            continue
        if (match := _PACKAGE.match(line)) is not None:
            yield Relation(match["name"], "has_version", match["version"], "dependencies")
        if not file:
            continue
        if (match := _IMPORT.match(line)) is not None:
            yield Relation(file, "imports", next(part for part in match.groups() if part), "code")
        elif (match := _DEFINITION.match(line)) is not None:
            yield Relation(file, "defines", match["name"], "code")


def _is_binary(text: str) -> bool:
    return len(_CONTROL.findall(text[:2_000])) * 50 > len(text[:2_000])


# ---- causes and fixes of errors as notes write them ------------------------------------------------------------------
# "PoolExhaustedError: ... Cause: pool size 5. Fix: raise it to 20." The line of a cause or a fix names no error. Its error is the nearest that the text names before, else the first.

_NOTE: Final = re.compile(
    r"(?:^|;\s+)(?:(?P<cause>(?:root |likely )?cause)|(?P<fix>fix|solution|resolution|workaround))\**:\**\s*"
    r"|^(?P<done>fixed|resolved|solved|cured) (?:by|with)\s+",
    re.IGNORECASE,
)
# Capitals with underscores are mostly settings, so these need a word of failure.
_ERROR: Final = re.compile(
    r"(?<!\w)(?:[A-Z]\w*(?:Error|Exception|Timeout|Fault|Panic)|E[A-Z]{4,}|SIG[A-Z]{2,}"
    r"|(?:E|ERR|ERROR)_[A-Z_]+|[A-Z]+_[A-Z_]*(?:ERROR|TIMEOUT|FAILED|REFUSED)[A-Z_]*)(?!\w)"
)
_UNKNOWN: Final = re.compile(
    r"(?:still )?(?:unknown|unclear|none|not|nobody|no|n/a|tbd|todo|pending|open|maybe|perhaps|probably|possibly)\b",
    re.IGNORECASE,
)


def noted(sentences: Iterable[str], title: str) -> Iterator[Relation]:
    """The causes and fixes in the sentences of a text."""
    read = list(sentences)
    named = _ERROR.search("\n".join((title, *read)))
    error = named.group() if named else ""
    for sentence in read:
        notes = list(_NOTE.finditer(sentence))
        for note in notes:
            rest = noun_phrases.clause(sentence, note.end())
            if not error or not rest or sentence.endswith("?") or _UNKNOWN.match(rest):
                continue
            if note["cause"]:
                yield Relation(error, "caused_by", rest, "errors")
            elif note["fix"] or not is_actor(rest):  # "fixed by Kim" names no fix
                yield Relation(error, "fixed_by", rest, "errors")
        before = sentence[: notes[0].start()] if notes else sentence
        if last := _ERROR.findall(before):
            error = last[-1]
