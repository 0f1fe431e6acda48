"""Verdicts inside the commit, where no other write can come between: those of the write guard, and those of a person.

The guard's verdict holds for memories that are still as the guard read them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemesh_actors.ledger.commands import Committed, Create, Decide, Judge
from mnemesh_actors.ledger.commit.write_admission import Admission, refuse_endless
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.document.revisions import shown, supersede
from mnemesh_memory.access.grants import OWNER, principal_of
from mnemesh_memory.policy.judge.guard import Verdict
from mnemesh_memory.policy.judge.sameness import almost_identical
from mnemesh_memory.policy.precedence import undecided
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE, OPEN_TYPES, SUPERSEDES
from mnemesh_memory.values.model import Link, Memory


@dataclass(frozen=True, slots=True)
class Repeat:
    """A text that `memory` says already by the guard's verdict. It `is_there` when they differ in case and spacing
    alone. `kept` is the superseded memory that has it, "" for none."""

    memory: Memory
    reason: str
    is_there: bool
    kept: str


class Verdicts:
    """`touch` is told which memory a text that says the same reinforces."""

    def __init__(
        self,
        db: sqlite3.Connection,
        journal: Journal,
        admission: Admission,
        touch: Callable[[list[str], int], None],
    ) -> None:
        self._db = db
        self._journal = journal
        self._admission = admission
        self._touch = touch

    def as_judged(self, space: str, verdict: Verdict | None) -> dict[str, Memory]:
        """The memories of a verdict that are still as the guard read them."""
        heads = verdict.heads if verdict else {}
        here = self._admission.memories_here(list(heads), space)
        return {memory.id: memory for memory in here if memory.state == "active" and memory.heads == heads[memory.id]}

    def repeat(self, command: Create, standing: Mapping[str, Memory]) -> Repeat | None:
        """The memory that says the text of a command already in other order, spelling or words. None for a new text,
        or when the memory changed since the guard read it."""
        verdict = command.verdict
        if verdict is None or verdict.action != "NOOP" or verdict.target_id not in standing:
            return None
        memory = standing[verdict.target_id]
        is_there = almost_identical(memory.content, command.draft.content)
        return Repeat(memory, verdict.reason, is_there, "" if is_there else self._kept(memory, command))

    def _kept(self, memory: Memory, command: Create) -> str:
        """The superseded memory behind `memory` that has the very text of a command; "" when there is none."""
        row = self._db.execute(
            "SELECT m.id FROM text_hash t JOIN memory m ON m.id = t.doc WHERE t.space = ? AND t.hash = ? "
            "AND m.state = 'superseded' AND json_extract(m.detail, '$.superseded_by') = ? LIMIT 1",
            (memory.space, bytes.fromhex(command.duplicate_key), memory.id),
        ).fetchone()
        return str(row[0]) if row else ""

    def reinforced(self, repeat: Repeat, now: int, written: str = "") -> Committed:
        """The outcome for a repeat, of which the text was just `written` under that id, or is there already."""
        self._touch([repeat.memory.id], now)
        kept = written or repeat.kept
        return Committed(
            action="NOOP",
            memory=repeat.memory,
            seq=self._journal.last_seq() if written else self._journal.unchanged(repeat.memory, "").seq,
            reason=f"{repeat.reason}; the text is kept as {kept}, out of recall" if kept else repeat.reason,
            deduplicated=True,
            hint=f'if it says something else, call restore(id="{kept}")' if kept else "",
        )

    def judge(self, command: Judge) -> Committed:
        """Link a memory as the guard judged it at rest, and close what the memory replaces. A mark gives way to the
        surer link, and any open link to `both-hold`. Raises NotFound, FailedPrecondition, Aborted (other heads)."""
        memory = self._journal.writable(command.id, command.heads)
        standing = self.as_judged(memory.space, command.verdict)
        outdated = self._outdated(command.verdict, standing, command.agent)
        there = self._journal.links(memory)
        apart = tuple(Link(BOTH_HOLD, id_) for id_ in command.verdict.apart if id_ in standing)
        links = tuple(link for link in (*links_of(command.verdict, standing, outdated), *apart) if link not in there)
        if not links:
            return self._journal.unchanged(memory, "nothing that the verdict names stands any more")
        self._admission.refuse_endless(memory, command.agent)
        gone = {Link(MAY_REPLACE, link.id) for link in links if link.type != MAY_REPLACE}
        gone |= {Link(type_, link.id) for link in apart for type_ in OPEN_TYPES}
        edit = Edit(links_put=links, links_remove=tuple(link for link in there if link in gone), at=command.at)
        changed, _ = self._journal.write(self._journal.document(memory), edit, command.actor, command)
        replaced = tuple(self._admission.close(old, memory.id, command) for old in outdated)
        return Committed(
            action="SUPERSEDE" if replaced else "LINK",
            memory=changed,
            seq=self._journal.last_seq(),
            reason=command.verdict.reason,
            superseded=replaced,
        )

    def outdated(self, command: Create, standing: Mapping[str, Memory]) -> list[Memory]:
        """The memories that step back for a new one by the verdict of the guard."""
        if command.verdict is None or command.draft.supersedes:
            return []
        return self._outdated(command.verdict, standing, command.agent)

    def _outdated(self, verdict: Verdict, standing: Mapping[str, Memory], agent: str) -> list[Memory]:
        """A memory that is full or damaged, or says by now the words of another principal, stays and is
        contradicted."""
        named = [standing[id_] for id_ in verdict.supersedes if id_ in standing]
        who = principal_of(agent)
        return [memory for memory in named if self._may_step_back(memory, agent, who)]

    def _may_step_back(self, memory: Memory, agent: str, who: str) -> bool:
        """Whether it has room, is whole, and shows words of the principal `who`. The owner of the node may replace the
        words of all."""
        try:
            self._admission.refuse_last(memory, agent)
            document = self._journal.document(memory)
        except (DataLoss, FailedPrecondition):
            return False
        return who == OWNER or memory.version == 1 or principal_of(shown(document.state()).by) == who


def links_of(verdict: Verdict | None, standing: Mapping[str, Memory], outdated: Sequence[Memory]) -> Iterator[Link]:
    """Links of a new memory: to memories that step back, to contradicted ones, and to likely outdated ones. A memory
    that could not step back is contradicted."""
    closed = [memory.id for memory in outdated]
    yield from (Link(SUPERSEDES, id_) for id_ in closed)
    for id_ in (*verdict.supersedes, *verdict.contradicts) if verdict else ():
        if id_ in standing and id_ not in closed:
            yield Link(CONTRADICTS, id_)
    yield from (Link(MAY_REPLACE, id_) for id_ in (verdict.marked if verdict else ()) if id_ in standing)


class Decisions:
    """Decisions of a person between two memories that may not both hold, written over the ledger's connection.

    The memory that does not hold is superseded by the other one. When both hold, a link `both-hold` takes the place of
    `contradicts` or `may-replace`. It travels with the memory, so no node judges the pair again.
    """

    def __init__(self, db: sqlite3.Connection, journal: Journal, admission: Admission) -> None:
        self._db = db
        self._journal = journal
        self._admission = admission

    def decide(self, command: Decide) -> Committed:
        """End a contradiction. Gives the memory that holds, or the one asked about when both do. Raises NotFound,
        FailedPrecondition."""
        memory, other = self._journal.writable(command.id), self._journal.writable(command.other, field="other")
        stand = memory.state == other.state == "active"
        if not stand or not undecided(memory, other):
            raise FailedPrecondition(
                f"{memory.id} and {other.id} do not contradict each other now; `conflicts` lists the pairs that do",
                field="other",
                value=other.id,
                limit="two memories that stand and contradict each other, or of which one may replace the other",
            )
        if not command.keep:
            return self._both(memory, other, command)
        kept, closed = (memory, other) if command.keep == memory.id else (other, memory)
        return self._replace(kept, closed, command)

    def _both(self, memory: Memory, other: Memory, command: Decide) -> Committed:
        changed, seq = memory, 0
        for one, against in ((memory, other), (other, memory)):
            opposed = [link for link in one.links if link.id == against.id and link.type in OPEN_TYPES]
            if not (opposed or one is memory):
                continue
            put = (Link(BOTH_HOLD, against.id),) if one is memory else ()
            written, seq = self._write(one, put, opposed, command, first=one is memory)
            changed = written if one is memory else changed
        said = f"{memory.id} and {other.id} both hold; the pair is not judged again"
        return Committed(action="RESOLVE", memory=changed, seq=seq, reason=said)

    def _replace(self, kept: Memory, closed: Memory, command: Decide) -> Committed:
        if kept.space != closed.space:
            raise FailedPrecondition(
                f"other: {closed.id} lies in {closed.space}; a memory is replaced in its own space",
                field="other",
                value=command.other,
                limit=f"two memories of {kept.space}",
            )
        document = self._journal.document(closed)
        edit = supersede(document.state(), kept.id, command.agent, command.at)
        if edit is None:
            raise FailedPrecondition(f"other: {closed.id} has nothing to replace", field="other", value=closed.id)
        opposed = [link for link in kept.links if link.id == closed.id and link.type in OPEN_TYPES]
        changed, _ = self._write(kept, (Link("supersedes", closed.id),), opposed, command, first=True)
        self._admission.refuse_last(closed, command.agent)
        gone = self._journal.write(document, edit, os.urandom(16), command)[0]
        said = f"{kept.id} was kept; it replaces {closed.id}"
        return Committed(
            action="RESOLVE", memory=changed, seq=self._journal.last_seq(), reason=said, superseded=(gone,)
        )

    def _write(
        self, memory: Memory, put: Sequence[Link], removed: Sequence[Link], command: Decide, *, first: bool
    ) -> tuple[Memory, int]:
        refuse_endless(self._db, memory, command.agent)
        edit = Edit(links_put=tuple(put), links_remove=tuple(removed), at=command.at)
        actor = command.actor if first else os.urandom(16)
        return self._journal.write(self._journal.document(memory), edit, actor, command)
