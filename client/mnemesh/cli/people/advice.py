"""Commands that a writer may need next, when another memory is near the new one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from mnemesh.api import values
from mnemesh.cli.shell import NODE_OPTIONS, printable
from mnemesh.short_id import short_id, with_short_ids

TEXT_CHARS_MAX: Final = 80  # of a text that a command repeats


def after(done: values.Remembered) -> str:
    """The command that may follow a write with a hint."""
    if done.action == "NOOP":
        kept = _named(done.hint)
        return f"if it says something else: mnemesh restore{NODE_OPTIONS} {short_id(kept)}" if kept else _forced()
    if done.action == "SUPERSEDE":
        return f"if both hold: mnemesh restore{NODE_OPTIONS} {short_id(_named(done.hint))}"
    if done.action == "UPDATE":
        return f"to undo: mnemesh rollback{NODE_OPTIONS} {short_id(_named(done.hint))} --to {_revision(done.hint)}"
    if _alike(done.related):
        return f"if one of the two is enough: mnemesh forget {short_id(done.memory.id)}{NODE_OPTIONS}"
    old, text = short_id(_named(done.hint) or done.related[0].id), printable(done.memory.content)
    short = len(text) <= TEXT_CHARS_MAX and "\n" not in text
    given = (
        f"{'-- ' if text.startswith('-') else ''}{shlex.quote(text)}" if short else "--file FILE, with the same text"
    )
    return f"if this replaces {old}: mnemesh supersede{NODE_OPTIONS} {old} {given}"


def dismissal(done: values.Remembered) -> str:
    """The command for a writer who was asked whether a new memory replaces another one, and means both. "" when nobody
    was asked."""
    old = _named(done.hint)
    if not any(link.type == "may-replace" and link.id == old for link in done.memory.links):
        return ""
    new = short_id(done.memory.id)
    return f"if both hold: mnemesh resolve{NODE_OPTIONS} {short_id(old)} --other {new} --keep both"


def before(check: values.Checked) -> str:
    """The command that may take the place of a write that was only checked."""
    if check.action == "NOOP":
        return _forced()
    if check.action == "SUPERSEDE":
        return f"if both hold, after the write: mnemesh restore{NODE_OPTIONS} {short_id(check.target_id)}"
    if check.action != "ADD" or _alike(check.related):
        return with_short_ids(check.hint)
    old = short_id(check.target_id)
    return f"if this replaces {old}: mnemesh supersede{NODE_OPTIONS} {old} TEXT"


def _forced() -> str:
    return f"to store it all the same: mnemesh remember --force{NODE_OPTIONS} TEXT"


def _named(hint: str) -> str:
    """The id in the call of a tool; "" without any."""
    return next(iter(re.findall(r'\bid="([^"]{1,64})"', hint)), "")


def _revision(hint: str) -> str:
    """The revision in the call of a tool; "" without any."""
    return next(iter(re.findall(r'\bto="([^"]{1,80})"', hint)), "")


def _alike(related: Sequence[values.Related]) -> bool:
    return any(memory.alike for memory in related)
