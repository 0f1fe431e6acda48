"""Seeds: the first memories of a project as drafts, and the plan of a second run. Pure.

A seed knows its topic and the hash of its text by attributes. So a later run finds the memory again, and sees whether
somebody has edited the text since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.seeding.project_snapshot import ProjectSnapshot, is_suspicious
from mnemesh_memory.seeding.topics import TOPICS
from mnemesh_memory.values.marks import TRUST_ATTR, TRUST_CLASSES
from mnemesh_memory.values.model import Draft, Memory, Patch, Source

TAG: Final = "seed"
SUSPICIOUS_TAG: Final = "injection-suspected"
TOPIC_ATTR, HASH_ATTR = "seed", "seed.hash"
GONE_ATTR: Final = "seed.gone"  # A run has forgotten the memory, and no person.
REPOSITORY: Final = ".git"
COMMIT_TOPICS: Final = ("conventions", "owners")  # Topics that commits speak of.
IMPORTED: Final = TRUST_CLASSES[-1]  # The words are those of files, whoever wrote them.
CONTENT_CHARS_MAX: Final = 4_000
FILES_MAX: Final = 12
ADD, UPDATE, SAME, KEPT, GONE, REFUSED = ACTIONS = ("add", "update", "same", "kept", "gone", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The memory that a topic should have. `suspicious`: a pattern of prompt injection stands in its text."""

    topic: str
    title: str
    content: str
    kind: str
    files: tuple[str, ...]
    suspicious: bool

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the memory."""
        return (TAG, f"seed-{self.topic.split(' ')[0]}", *([SUSPICIOUS_TAG] if self.suspicious else ()))

    def attrs(self, before: Mapping[str, str] | None = None) -> dict[str, str]:
        """The attributes of the memory. Earlier ones of others stay."""
        own = {TOPIC_ATTR: self.topic, HASH_ATTR: hash_of(self.content), TRUST_ATTR: IMPORTED}
        return {**{name: value for name, value in (before or {}).items() if name != GONE_ATTR}, **own}

    def draft(self, space: str, folder: str) -> Draft:
        """The statement to remember."""
        return Draft(
            content=self.content, title=self.title, kind=self.kind, space=space, tags=self.tags, paths=self.files,
            source=Source(dir=folder), attrs=self.attrs(),
        )  # fmt: skip

    def patch(self, memory: Memory) -> Patch:
        """The next version of the memory of an earlier run. Tags that others put stay."""
        others = tuple(tag for tag in memory.tags if tag != SUSPICIOUS_TAG)
        return Patch(
            content=self.content, title=self.title, kind=self.kind, paths=self.files,
            tags=tuple(dict.fromkeys((*others, *self.tags))), attrs=self.attrs(memory.attrs),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOutcome:
    """The action of a run for one topic, one of ACTIONS. `id` is "" before there is a memory."""

    topic: str
    action: str
    id: str = ""
    title: str = ""
    content: str = ""
    files: tuple[str, ...] = ()
    suspicious: bool = False
    reason: str = ""


def seeds(project: ProjectSnapshot, part: str = "") -> Iterator[Seed]:
    """The seeds of a project, or of a `part` of one: a path below its root."""
    for topic, (kind, read) in TOPICS.items():
        finding = read(project)
        if finding is None:
            continue
        content = masked("\n".join(_within(finding.lines)))[0]
        suspicious = is_suspicious(content)
        yield Seed(
            topic=f"{topic} {part}".strip(),
            title=masked(f"{project.name}: {topic}")[0][:120],
            content=content,
            kind="fact" if suspicious else kind,
            files=finding.files[:FILES_MAX],
            suspicious=suspicious,
        )


def hash_of(content: str) -> str:
    """The mark of a text that a run wrote."""
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def known(memories: Iterable[Memory], part: str = "") -> dict[str, Memory]:
    """The memories of earlier runs by topic: of several the active one, else the newest."""
    by_topic: dict[str, Memory] = {}
    for memory in sorted(memories, key=lambda memory: (memory.state == "active", memory.updated_at)):
        topic = memory.attrs.get(TOPIC_ATTR, "")
        if topic and topic.partition(" ")[2] == part:
            by_topic[topic] = memory
    return by_topic


def planned(
    wanted: Iterable[Seed], before: Mapping[str, Memory], unread: Collection[str] = ()
) -> Iterator[tuple[str, Seed | None, Memory | None]]:
    """The action for each topic, given the memories of earlier runs. An edited or replaced one is kept, and one that a
    person forgot. So is the memory of what could not be read this time (`unread`)."""
    named = set()
    for seed in wanted:
        named.add(seed.topic)
        memory = before.get(seed.topic)
        if memory is None:
            yield ADD, seed, None
        elif is_edited(memory):
            yield KEPT, seed, memory
        elif memory.state == "active":
            yield (SAME if memory.content == seed.content and GONE_ATTR not in memory.attrs else UPDATE), seed, memory
        else:
            yield (UPDATE if memory.state == "forgotten" and GONE_ATTR in memory.attrs else KEPT), seed, memory
    for topic, memory in before.items():
        if topic not in named and memory.state == "active":
            yield (KEPT if is_edited(memory) or _may_stand(memory, topic, unread) else GONE), None, memory


def gone(memory: Memory) -> Patch:
    """The mark that a run, and no person, forgets a memory."""
    return Patch(attrs={**memory.attrs, GONE_ATTR: "yes"})


def _may_stand(memory: Memory, topic: str, unread: Collection[str]) -> bool:
    """Whether the source of a memory may say the same as before, in a place that could not be read."""
    if REPOSITORY in unread and topic.split(" ")[0] in COMMIT_TOPICS:
        return True
    return any(place in unread for path in ("", *memory.paths) for place in (path, *_above(path)))


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def is_edited(memory: Memory) -> bool:
    """Whether the text is another one than a run wrote."""
    return memory.attrs.get(HASH_ATTR) != hash_of(memory.content)


def _within(lines: Iterable[str]) -> Iterator[str]:
    room = CONTENT_CHARS_MAX
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line
