"""Triggers: memories that report back when a word, name, place, file or moment comes up. Pure.

A trigger is a memory with the tag `trigger` and attributes that say when it fires. The tag `trigger-fired` ends a
trigger that fires once. The table holds the armed triggers: terms, folders and whole paths in dicts, moments in order,
and a bounded number of globs one by one. A trigger never fires by its own memory.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final

from mnemesh_memory.access.grants import expiry
from mnemesh_memory.text.counted_words import PAIRED, unaccented
from mnemesh_memory.validation import field_checks
from mnemesh_memory.validation.filters import matches
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument, shown_time
from mnemesh_memory.values.model import Memory

TAG: Final = "trigger"
FIRED_TAG: Final = "trigger-fired"
ON: Final = ("keyword", "entity", "directory", "file", "time")
WORDS_NEEDED: Final = "at least one letter or digit"
# Attributes of a memory that is a trigger. `OWN` says that the memory was written as a trigger.
KIND, PATTERN, REPEATING, OWN = ATTRS = ("trigger", "trigger.pattern", "trigger.repeating", "trigger.own")
YES: Final = "yes"
_GLOB_SIGNS: Final = re.compile(r"[*?\[]")
_WORD: Final = re.compile(rf"([{PAIRED}]+)|[^\W{PAIRED}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """When a trigger fires. `at` (ms) is the moment of one on time, whose `pattern` says the same in words."""

    on: str  # One of ON.
    pattern: str
    repeating: bool = False
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Condition):
    """A memory with its condition."""

    id: str
    space: str
    title: str
    content: str
    by: str
    created_at: int
    fired: bool = False
    own: bool = True  # Written as a trigger, so that its end forgets the memory.


@dataclass(frozen=True, slots=True)
class Occasion:
    """A call as triggers see it: its text, the spaces that it reads or writes, its paths and folder, the time."""

    text: str
    spaces: tuple[str, ...]
    now: int
    paths: tuple[str, ...] = ()
    folder: str = ""
    id: str = ""  # The memory that the call wrote.


# ---- conditions -----------------------------------------------------------------------------------------------------


def condition(on: str, pattern: str, repeating: bool, now: int) -> Condition:
    """A checked condition. Raises InvalidArgument."""
    field_checks.one_of("on", on, ON)
    if not pattern.strip():
        raise InvalidArgument("pattern", "nothing", "words, a name, a folder, a path or glob, or a time", missing=True)
    if on == "time":
        if repeating:
            raise InvalidArgument(
                "repeating", "true", "no repetition of a trigger on time, because a moment comes once"
            )
        at = expiry("pattern", pattern, now)
        return Condition(on=on, pattern=shown_time(at or now), at=at)
    clean = unicodedata.normalize("NFC", field_checks.line("pattern", pattern, limits.PATH_BYTES_MAX))
    if on in ("keyword", "entity"):
        if not words_of(clean):
            raise InvalidArgument("pattern", clean, WORDS_NEEDED)
    else:
        clean = _folder(clean)
        if on == "directory" and _GLOB_SIGNS.search(clean):
            raise InvalidArgument("pattern", clean, "a folder without *, ? or [, or on=file for a glob")
        if len(_GLOB_SIGNS.findall(clean)) > limits.TRIGGER_GLOB_SIGNS_MAX:
            raise InvalidArgument("pattern", clean, f"at most {limits.TRIGGER_GLOB_SIGNS_MAX} of * ? [ in a glob")
    return Condition(on=on, pattern=clean, repeating=repeating)


def attrs_of(asked: Condition, *, own: bool) -> dict[str, str]:
    """The attributes that say it of a memory."""
    optional = {REPEATING: asked.repeating, OWN: own}
    return {KIND: asked.on, PATTERN: asked.pattern, **{name: YES for name, there in optional.items() if there}}


def without_trigger(attrs: Mapping[str, str]) -> dict[str, str]:
    """`attrs` of a memory that is no trigger any more."""
    return {name: value for name, value in attrs.items() if name not in ATTRS}


def trigger_of(memory: Memory) -> Trigger | None:
    """The trigger that a memory is. None for another memory, and for a condition that no door would take: another
    node may have sent any."""
    on, pattern = memory.attrs.get(KIND, ""), memory.attrs.get(PATTERN, "")
    if TAG not in memory.tags or on not in ON or memory.state != "active":
        return None
    try:
        if on == "time":
            moment = datetime.fromisoformat(pattern)
            known = Condition(on=on, pattern=pattern, at=int(moment.timestamp() * 1000)) if moment.tzinfo else None
        else:
            known = condition(on, pattern, memory.attrs.get(REPEATING) == YES, 0)
    except (InvalidArgument, ValueError, OverflowError):
        return None
    if known is None:
        return None
    return Trigger(
        on=on,
        pattern=known.pattern,
        repeating=known.repeating,
        at=known.at,
        id=memory.id,
        space=memory.space,
        title=memory.title,
        content=memory.content,
        by=memory.by,
        created_at=memory.created_at,
        fired=FIRED_TAG in memory.tags,
        own=memory.attrs.get(OWN) == YES,
    )


# ---- words and paths ------------------------------------------------------------------------------------------------


def words_of(text: str) -> frozenset[str]:
    """The words of a text without case and accents. Scripts without spaces give characters and pairs of neighbours."""
    return frozenset(_words(unaccented(unicodedata.normalize("NFC", text).casefold())))


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match.group()
        if not match.lastindex:
            yield word
            continue
        yield from word
        yield from (word[at : at + 2] for at in range(len(word) - 1))


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text as it is written, as whole words. Case counts."""
    at = text.find(name)
    while at >= 0:
        if not _continues(text, at) and not _continues(text, at + len(name)):
            return True
        at = text.find(name, at + 1)
    return False


def _continues(text: str, at: int) -> bool:
    """Whether a word goes on across the place `at`. A script without spaces ends a word anywhere."""
    both = text[max(0, at - 1) : at + 1]
    match = _WORD.match(both) if len(both) == 2 else None
    return match is not None and match.end() == 2 and not match.lastindex


def _folder(path: str) -> str:
    return path.rstrip("/") or path[:1]


def _upwards(path: str) -> Iterator[str]:
    """A path and the folders around it."""
    here = _folder(path)
    while here:
        yield here
        above = here.rpartition("/")[0]
        here = above or ("/" if here.startswith("/") and here != "/" else "")


# ---- the table ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shelf:
    """The armed triggers of one space."""

    words: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)  # Term: trigger: all of its terms.
    folders: dict[str, set[str]] = field(default_factory=dict)
    files: dict[str, set[str]] = field(default_factory=dict)
    globs: dict[str, str] = field(default_factory=dict)  # Trigger: glob.
    moments: list[tuple[int, str]] = field(default_factory=list)  # In order.


class TriggerTable:
    """The armed triggers of a node. A trigger that fires once is claimed by its first call, and is not armed again
    before the ledger has said that it fired."""

    def __init__(self) -> None:
        self.position: tuple[str, int] = ("", 0)  # Incarnation and number up to which the log was read.
        self._armed: dict[str, Trigger] = {}
        self._shelves: dict[str, _Shelf] = {}
        self._count: dict[str, int] = {}
        self._claimed: set[str] = set()

    def __len__(self) -> int:
        return len(self._armed)

    def count(self, space: str) -> int:
        """The number of armed triggers of a space."""
        return self._count.get(space, 0)

    def clear(self) -> None:
        """Forget everything but what was claimed."""
        for id_ in list(self._armed):
            self.discard(id_)

    def check_room(self, space: str, asked: Condition) -> None:
        """Raises FailedPrecondition when the space has as many triggers as it may."""
        full, what, most = self._fullness(space, asked)
        if full:
            raise FailedPrecondition(
                f"space: {space} has {most} armed {what}; delete some before you add another",
                field="space",
                value=space,
                limit=f"at most {most} armed {what} a space",
            )

    def _fullness(self, space: str, asked: Condition) -> tuple[bool, str, int]:
        shelf = self._shelves.get(space)
        on_glob = asked.on == "file" and _GLOB_SIGNS.search(asked.pattern)
        if shelf and on_glob and len(shelf.globs) >= limits.TRIGGER_GLOBS_MAX:
            return True, "triggers on globs", limits.TRIGGER_GLOBS_MAX
        return self.count(space) >= limits.TRIGGERS_MAX, "triggers", limits.TRIGGERS_MAX

    def take(self, memory: Memory) -> None:
        """The memory as it is now. Whatever it was before falls."""
        trigger = trigger_of(memory)
        self.discard(memory.id)
        if trigger is None or trigger.fired:
            self.end(memory.id)
        elif memory.id not in self._claimed and not self._fullness(trigger.space, trigger)[0]:
            self._put(trigger)

    def rearm(self, memory: Memory) -> None:
        """The memory got a new condition."""
        self._claimed.discard(memory.id)
        self.take(memory)

    def _put(self, trigger: Trigger) -> None:
        shelf = self._shelves.setdefault(trigger.space, _Shelf())
        self._armed[trigger.id] = trigger
        self._count[trigger.space] = self.count(trigger.space) + 1
        if trigger.on in ("keyword", "entity"):
            words = words_of(trigger.pattern)
            shelf.words.setdefault(_key(words), {})[trigger.id] = words
        elif trigger.on == "directory":
            shelf.folders.setdefault(trigger.pattern, set()).add(trigger.id)
        elif trigger.on == "time":
            insort(shelf.moments, (trigger.at or 0, trigger.id))
        elif _GLOB_SIGNS.search(trigger.pattern):
            shelf.globs[trigger.id] = trigger.pattern
        else:
            shelf.files.setdefault(trigger.pattern, set()).add(trigger.id)

    def discard(self, id_: str) -> None:
        """The memory is no armed trigger."""
        trigger = self._armed.pop(id_, None)
        if trigger is None:
            return
        shelf = self._shelves[trigger.space]
        self._count[trigger.space] -= 1
        if not self._count[trigger.space]:
            del self._count[trigger.space], self._shelves[trigger.space]
        if trigger.on in ("keyword", "entity"):
            term = _key(words_of(trigger.pattern))
            shelf.words[term].pop(id_)
            if not shelf.words[term]:
                del shelf.words[term]
        elif trigger.on == "time":
            shelf.moments.remove((trigger.at or 0, id_))
        elif shelf.globs.pop(id_, None) is None:
            places = shelf.folders if trigger.on == "directory" else shelf.files
            places[trigger.pattern].discard(id_)
            if not places[trigger.pattern]:
                del places[trigger.pattern]

    def end(self, id_: str) -> None:
        """The memory is no trigger, or one that has fired."""
        self.discard(id_)
        self._claimed.discard(id_)

    def fired(self, occasion: Occasion) -> list[Trigger]:
        """The triggers that fire by a call, the oldest first, at most TRIGGERED_MAX: the others fire by a later call.
        A trigger that fires once is claimed, and armed no longer."""
        shelves = self._of(occasion.spaces)
        ids = {id_ for shelf in shelves for id_ in _fitting(shelf, self._armed, occasion)}
        ids.update(_globbed(shelves, occasion.paths))
        ids.discard(occasion.id)
        due = sorted((self._armed[id_] for id_ in ids), key=lambda trigger: (trigger.created_at, trigger.id))
        shown = due[: limits.TRIGGERED_MAX]
        for trigger in shown:
            if not trigger.repeating:
                self.discard(trigger.id)
                self._claimed.add(trigger.id)
        return shown

    def _of(self, spaces: Sequence[str]) -> list[_Shelf]:
        return [self._shelves[space] for space in dict.fromkeys(spaces) if space in self._shelves]


def _key(words: Iterable[str]) -> str:
    """The term under which a pattern is kept: the longest, which is usually the rarest."""
    return max(words, key=lambda word: (len(word), word))


def _fitting(shelf: _Shelf, armed: Mapping[str, Trigger], occasion: Occasion) -> Iterator[str]:
    if shelf.words:
        yield from _named(shelf, armed, occasion.text)
    if shelf.folders or shelf.files:
        yield from _placed(shelf, occasion)
    for _, id_ in shelf.moments[: bisect_right(shelf.moments, (occasion.now, "\uffff"))]:
        yield id_


def _named(shelf: _Shelf, armed: Mapping[str, Trigger], text: str) -> Iterator[str]:
    composed = unicodedata.normalize("NFC", text)
    there = words_of(composed)
    for term in there & shelf.words.keys():
        for id_, words in shelf.words[term].items():
            trigger = armed[id_]
            if words <= there and (trigger.on == "keyword" or stands_in(trigger.pattern, composed)):
                yield id_


def _placed(shelf: _Shelf, occasion: Occasion) -> Iterator[str]:
    paths = [_folder(path) for path in occasion.paths]
    folder = [occasion.folder] if occasion.folder else []
    if shelf.folders:
        for place in {above for path in (*paths, *folder) for above in _upwards(path)}:
            yield from shelf.folders.get(place, ())
    for path in paths:
        yield from shelf.files.get(path, ())


def _globbed(shelves: Iterable[_Shelf], given: Sequence[str]) -> Iterator[str]:
    """The triggers whose glob fits a path. A call with very many paths and globs compares the first ones only."""
    paths = [_folder(path) for path in given]
    pairs = ((id_, path, glob) for shelf in shelves for id_, glob in shelf.globs.items() for path in paths)
    for id_, path, glob in islice(pairs, limits.TRIGGER_GLOB_CHECKS_MAX):
        if matches(path, glob):
            yield id_
