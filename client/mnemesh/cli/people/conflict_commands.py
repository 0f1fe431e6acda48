"""The other versions of a memory in conflict, and the commands that end the conflict, as lines to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemesh.api import values
from mnemesh.cli.shell import NODE_OPTIONS
from mnemesh.short_id import short_id

HASH_CHARS: Final = 8


def said(head: values.Head, content: str) -> str:
    """The text of another version, unless equal to the shown text: versions may differ only in a field."""
    return head.content if head.content != content else "the same text; `mnemesh conflicts` shows what differs"


def ends_of(memory: values.Memory) -> Iterator[str]:
    """The lines of a memory in conflict. The first head is the shown version."""
    return ends(short_id(memory.id), [memory.heads[0], *(head.revision for head in memory.conflicts)])


def ends(id: str, revisions: Sequence[str]) -> Iterator[str]:
    """A command for each version, and the one for another text."""
    for revision in revisions:
        yield f"  mnemesh resolve{NODE_OPTIONS} {id} --keep {_short(revision, revisions)}"
    yield f"  mnemesh resolve{NODE_OPTIONS} {id} --content TEXT"


def _short(revision: str, others: Sequence[str]) -> str:
    """The unique beginning of a revision, with enough of the hash to differ from older revisions too."""
    chars = revision.find("@") + 1 + HASH_CHARS
    while any(other != revision and other.startswith(revision[:chars]) for other in others):
        chars += 1
    return revision[:chars]
