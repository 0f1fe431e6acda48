"""The decisions before a write: replayed idempotency keys, exact duplicates, replacements, revisions, and the effect of
a patch.

Asked inside the commit, where no other write can come between.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mnemesh_actors.ledger.commands import Command, Committed, Create, KeptVectors, action_of
from mnemesh_actors.ledger.store import reads, rows
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.vectors import keep
from mnemesh_crdt.admission.budget import weigh
from mnemesh_crdt.changes.chunk import DEFLATED
from mnemesh_crdt.changes.envelope import CHANGE
from mnemesh_crdt.document.document import Edit, MemoryDocument, RevisionFields
from mnemesh_crdt.document.revisions import STATED, SUPERSEDED_BY, supersede
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.policy.judge.guard import RECORDS, Verdict, although
from mnemesh_memory.policy.patches import patched
from mnemesh_memory.policy.purposes import KNOWLEDGE, purpose_of
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from mnemesh_memory.values.model import Draft, Link, Memory, Patch

_REPLACE: Final = "write a new memory with `supersede`"
_ERASE: Final = "erase it for good with `purge`"
_PATCHED: Final = (
    *("content", "kind", "title", "keywords", "attrs", "tier"),
    *("importance", "valid_from", "valid_to"),  # may be cleared
)
_RECORDS: Final = f"({', '.join(repr(kind) for kind in sorted(RECORDS))})"
_LOST: Final = ("forgotten", "erased", "superseded")  # states of the end of a chain of successors that nobody finds
# Of entries: those of a principal and of its clients ("0" is what follows "/").
BY_PRINCIPAL: Final = "(agent = ? OR agent >= ? AND agent < ?)"
KEY_LIFE_MS = limits.IDEMPOTENCY_DAYS * 24 * 3600 * 1000
_OLDEST: Final = "ORDER BY m.state = 'active' DESC, m.created_at, m.id"


class Admission:
    """`touch` is told which memory an exact duplicate reinforces."""

    def __init__(self, db: sqlite3.Connection, journal: Journal, touch: Callable[[list[str], int], None]) -> None:
        self._db = db
        self._journal = journal
        self._touch = touch

    def seen(self, agent: str, key: str, fingerprint: bytes, now: int) -> Committed | None:
        """The outcome of the write that used this idempotency key within its life. Raises AlreadyExists for other
        content, FailedPrecondition when what was written was erased since."""
        if not key:
            return None
        row = self._db.execute(
            "SELECT fingerprint, id, action, at FROM idempotency WHERE agent = ? AND key = ?", (agent, key)
        ).fetchone()
        if row is None or now - row[3] > KEY_LIFE_MS:
            return None
        if not row[0]:
            raise FailedPrecondition(
                f"idempotency_key: {key!r} wrote {row[1]}, which was erased since; use a new key to write it again",
                field="idempotency_key",
                value=key,
                limit="a memory that was not erased",
            )
        if row[0] != fingerprint:
            raise AlreadyExists(
                f"idempotency_key: {key!r} was used with other content within {limits.IDEMPOTENCY_DAYS} days "
                f"(memory {row[1]}); use a new key",
                field="idempotency_key",
                value=key,
                limit="one content a key",
            )
        memory = self._journal.memory(row[1])
        memory = (self.repeated_by(memory) if row[2] == "NOOP" else None) or memory
        gone = memory.state == "forgotten"
        way_back = f", and what it wrote was forgotten since; `restore` brings {memory.id} back, or use a new key"
        return Committed(
            action=row[2],
            memory=memory,
            seq=self._journal.last_seq(),
            reason=f"this key was seen before{way_back if gone else ''}",
            replayed=True,
            restorable=gone,
        )

    def repeated_by(self, memory: Memory) -> Memory | None:
        """The older memory for which a repeat was kept out of recall; None for a memory of another fate."""
        here = self.memories_here([memory.superseded_by], memory.space)
        return next((other for other in here if other.created_at <= memory.created_at), None)

    def keep_key(
        self, agent: str, key: str, fingerprint: bytes, result: Committed, now: int, written: str = ""
    ) -> None:
        """Remember the outcome, and the memory that was `written`, for the life of the key. Drop older keys."""
        if not key:
            return
        self._db.execute("DELETE FROM idempotency WHERE at < ?", (now - KEY_LIFE_MS,))
        self._db.execute(
            "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
            (agent, key, fingerprint, written or result.memory.id, result.action, now),
        )

    def duplicate(
        self,
        space: str,
        key: str,
        now: int,
        kind: str,
        session: str,
        *,
        touch: bool = True,
        purpose: str = KNOWLEDGE,
        forced: bool = False,
    ) -> Committed | None:
        """The outcome for a text that the space holds already, or held and forgot. None for a new one. Asked on the
        way to a write, it reinforces what is there (`touch`). A record of another session is no duplicate, nor is a
        memory of another purpose. A `forced` write is told of any: which of thousands is oldest takes too long."""
        told_again, values = "", tuple[str, ...]()
        if kind in RECORDS and session:
            told_again = f"AND NOT (m.state = 'active' AND m.session NOT IN ('', ?) AND m.kind IN {_RECORDS}) "
            values = (session,)
        # The order is made of ids alone, and hardly ever more than one row is read.
        alike = self._db.execute(
            "SELECT m.id FROM text_hash t JOIN memory m ON m.id = t.doc "
            "WHERE t.space = ? AND t.hash = ? AND m.state <> 'superseded' "
            f"{told_again}{'' if forced else _OLDEST}",
            (space, bytes.fromhex(key), *values),
        )
        row_of = f"SELECT {rows.COLUMNS} FROM memory WHERE id = ?"
        stored = (row for id_ in alike for row in self._db.execute(row_of, id_))
        known = ((rows.from_row(row), int(row[rows.SEQ])) for row in stored)
        memory, seq = next((pair for pair in known if purpose_of(pair[0]) == purpose), (None, 0))
        if memory is None:
            return None
        if memory.state == "forgotten":
            reason = (
                f"an identical memory was forgotten; `restore` brings {memory.id} back, or pass force to store it anew"
            )
            return Committed(action="NOOP", memory=memory, seq=seq, reason=reason, deduplicated=True, restorable=True)
        if touch:
            self._touch([memory.id], now)
        return Committed(
            action="NOOP",
            memory=memory,
            seq=seq,
            reason="an identical memory is there already; use update to change its other fields",
            deduplicated=True,
        )

    def memories_here(self, ids: Sequence[str], space: str) -> list[Memory]:
        """Those of `ids` that are memories of the space."""
        memories = reads.by_ids(self._db, ids) if ids else {}
        return [memories[id_] for id_ in ids if id_ in memories and memories[id_].space == space]

    def refuse_twin(self, memory: Memory, key: str, way_out: str) -> None:
        """No update and no restore may make a memory say what another of its space and purpose says."""
        twins = self._db.execute(
            "SELECT m.id FROM text_hash t JOIN memory m ON m.id = t.doc "
            "WHERE t.space = ? AND t.hash = ? AND m.id <> ? AND m.state = 'active'",
            (memory.space, bytes.fromhex(key), memory.id),
        )
        purpose = purpose_of(memory)
        twin = next((row for row in twins if purpose_of(self._journal.memory(row[0])) == purpose), None)
        if twin:
            raise AlreadyExists(
                f"content: {twin[0]} says the same already; {way_out}",
                field="content",
                value=str(twin[0]),
                limit="a text that no other memory of the space has",
            )

    def to_replace(self, draft: Draft, visible: Sequence[str]) -> list[Memory]:
        """The memories that a draft supersedes. A memory may be named twice, by id and by title."""
        olds = (self.replaceable(key, draft.space, visible) for key in draft.supersedes)
        return list({old.id: old for old in olds}.values())

    def replaceable(self, key: str, space: str, visible: Sequence[str]) -> Memory:
        """The memory that `key` names, if a memory of `space` can replace it. Of other spaces only those of `visible`
        are known to exist. Raises NotFound, InvalidArgument or FailedPrecondition."""
        try:
            id_ = reads.resolve(self._db, key, (space,), (space, *visible))
        except (NotFound, InvalidArgument) as error:
            raise error.named("supersedes") from None
        old = self._journal.memory(id_)
        if old.space != space:
            raise FailedPrecondition(
                f"supersedes: {old.id} lies in {old.space}; a memory is replaced in its own space",
                field="supersedes",
                value=old.id,
                limit=f"a memory of {space}",
            )
        if old.state != "active":
            ended = f" already: {self._what_leads(old)}" if old.state == "superseded" else "; restore it first"
            message = f"supersedes: {old.id} is {old.state}{ended}"
            raise FailedPrecondition(message, field="supersedes", value=old.id, limit="an active memory")
        return old

    def written(
        self, document: MemoryDocument, edit: Edit, command: Command, reason: str, vectors: KeptVectors | None = None
    ) -> Committed:
        """Carry out a command on one memory. The answer says so when that stays superseded all the same."""
        memory, seq = self._journal.write(document, edit, command.actor, command)
        if vectors is not None:
            keep(self._db, vectors)
        reason += self.still_closed(memory)
        return Committed(action=action_of(command), memory=memory, seq=seq, reason=reason)

    def still_closed(self, memory: Memory) -> str:
        """The part of an answer that says why the memory is still superseded, "" when it is not."""
        if memory.state != "superseded":
            return ""
        return f"; it stays superseded: {self._what_leads(memory)}"

    def _what_leads(self, memory: Memory) -> str:
        return _instead(memory, *self._end(memory.superseded_by, memory.space))

    def dead_ends(self, memory: Memory) -> list[Link]:
        """The links to what took the place of a superseded memory and is not to be found any more."""
        closers = [link for link in memory.links if link.type == SUPERSEDED_BY]
        return [link for link in closers if self._end(link.id, memory.space)[1] in _LOST]

    def _end(self, id_: str, space: str) -> tuple[str, str]:
        """Where recall is led from what took the place of a memory of `space`, and the state of that: "superseded" in a
        circle, "" when it is not in that space. A link from a peer may lead to another space, which the writer may not
        know of."""
        walked = set()
        while id_ not in walked:
            walked.add(id_)
            here = "SELECT state, json_extract(detail, '$.superseded_by') FROM memory WHERE id = ? AND space = ?"
            row = self._db.execute(here, (id_, space)).fetchone()
            if row is None:
                gone = self._db.execute("SELECT 1 FROM erased WHERE doc = ? AND space = ?", (id_, space)).fetchone()
                return id_, "erased" if gone else ""
            if row[0] != "superseded":
                return id_, str(row[0])
            id_ = str(row[1])
        return id_, "superseded"

    def refuse_endless(self, memory: Memory, agent: str) -> None:
        """A revision more by `agent`, if there is room for it. See refuse_endless below."""
        if memory.version >= limits.REVISIONS_MAX:
            who = principal_of(agent)
            revisions = self._journal.document(memory).state().revisions.values()
            own = sum(principal_of(revision.by) == who for revision in revisions)
            if own >= limits.REVISIONS_MAX:
                raise _endless(memory, own, limits.REVISIONS_MAX, f"revisions by {who}", _REPLACE)
        refuse_endless(self._db, memory, agent)

    def refuse_last(self, memory: Memory, agent: str) -> None:
        """A change that forgets, restores, replaces or resolves, for which there is room longer than for others."""
        refuse_endless(self._db, memory, agent, last=True)

    def close(self, old: Memory, successor: str, command: Command) -> Memory:
        """The memory `old`, superseded by the memory `successor`. Raises FailedPrecondition."""
        document = self._journal.document(old)
        edit = supersede(document.state(), successor, command.agent, command.at)
        if edit is None:
            raise FailedPrecondition(f"supersedes: {old.id} has nothing to replace", field="supersedes", value=old.id)
        self.refuse_last(old, command.agent)
        return self._journal.write(document, edit, os.urandom(16), command)[0]

    def new_id(self, command: Create) -> str:
        """The id of a new memory: a spare one where the id of its key is taken. Raises FailedPrecondition."""
        is_taken = self.taken(command.id)
        if is_taken and command.spare_id == command.id:
            # Only a retry brings the same fresh id again. Its write is answered before, unless the memory was erased.
            raise FailedPrecondition(f"{command.id} was erased meanwhile", field="id", value=command.id)
        return command.spare_id if is_taken else command.id

    def taken(self, id_: str) -> bool:
        """Whether a new memory may not have this id. A memory has it or had it, or a retraction waits here: then the
        new text would go as soon as the two meet."""
        cursor = self._db.execute(
            "SELECT 1 FROM entry WHERE doc = ?1 UNION ALL SELECT 1 FROM pending WHERE doc = ?1 AND type <> ?2 LIMIT 1",
            (id_, CHANGE),
        )
        return cursor.fetchone() is not None


def _instead(memory: Memory, end: str, state: str) -> str:
    """The fate of a superseded memory, whose chain of successors ends with `end` in that state."""
    if state == "active":
        return f"recall leads to {end} instead"
    if state == "forgotten":
        return f"{end}, which took its place, is forgotten; restore one of the two, and recall finds that"
    if state in _LOST:
        lost = f"{end}, which took its place, is erased" if state == "erased" else "what took its place is in a circle"
        return f"{lost}; restore {memory.id}, and recall finds it"
    return "recall leads to its successor instead, where that is there to be read"


def refuse_endless(db: sqlite3.Connection, memory: Memory, agent: str, *, last: bool = False) -> None:
    """Every change is kept, and is read with its memory up to a limit. Each door stops well before that limit. The own
    changes of the principal of `agent` count: nobody's writes stop another's. Raises FailedPrecondition at
    limits.CHANGES_MAX changes or limits.HISTORY_BYTES_MAX. The `last` ones may reach more."""
    most, most_bytes, way_out = limits.CHANGES_MAX, limits.HISTORY_BYTES_MAX, _REPLACE
    if last:
        most, most_bytes, way_out = limits.LAST_CHANGES_MAX, limits.LAST_HISTORY_BYTES_MAX, _ERASE
    here = "FROM entry WHERE doc = ? AND space = ? AND type = 'change'"
    count, size = db.execute(
        f"SELECT count(*), total(CASE WHEN substr(raw, 9, 1) = ? THEN ? ELSE length(raw) END) {here}",
        (DEFLATED, limits.CHANGE_INFLATED_BYTES_MAX, memory.id, memory.space),
    ).fetchone()
    if count < most and size < most_bytes:
        return
    who = principal_of(agent)
    rows = db.execute(f"SELECT hash, raw {here} AND {BY_PRINCIPAL}", (memory.id, memory.space, *by_principal(who)))
    sizes = [weigh(hash.hex(), raw).size for hash, raw in rows]
    if len(sizes) >= most:
        raise _endless(memory, len(sizes), most, f"changes by {who}", way_out)
    if sum(sizes) >= most_bytes:
        raise _endless(memory, sum(sizes), most_bytes, f"bytes of changes by {who}", way_out)


def _endless(memory: Memory, number: int, most: int, what: str, way_out: str) -> FailedPrecondition:
    return FailedPrecondition(
        f"{memory.id} has {number} {what}, every one of which is kept; at most {most} are possible; {way_out}",
        field="id",
        value=memory.id,
        limit=f"at most {most} {what} of one memory",
    )


def by_principal(name: str) -> tuple[str, str, str]:
    """The values of BY_PRINCIPAL."""
    return name, f"{name}/", f"{name}0"


def why_added(
    twin: Committed | None, verdict: Verdict | None, standing: Mapping[str, Memory], outdated: Sequence[Memory]
) -> str:
    """The reason in the answer to a new memory. `twin` is an identical memory, beside which the new one was forced."""
    if twin:
        return although(twin.memory.id, forgotten=twin.restorable)
    if verdict is None or verdict.target_id not in standing:
        return "new in this space"
    if verdict.supersedes and not outdated:
        return f"contradicts {verdict.target_id}, which is another writer's by now or has a full history; both stand"
    return verdict.reason


def action_again(command: Command, memory: Memory) -> str:
    """The action of a command that was carried out before and wrote `memory`. The commit had the last word on whether
    another memory stepped back."""
    if isinstance(command, Create):
        return "SUPERSEDE" if any(link.type == "supersedes" for link in memory.links) else "ADD"
    return action_of(command)


def replaces(olds: Sequence[Memory]) -> str:
    """The reason in the answer to a write that replaced `olds`, as they were before. A writer who did not see a
    conflict learns of it here."""
    return f"replaces {', '.join(old.id + _closed_with(old) for old in olds)}"


def _closed_with(old: Memory) -> str:
    if not old.conflicts:
        return ""
    return f" (it was in conflict: all its {1 + len(old.conflicts)} versions are closed, and stay in its history)"


def revision_of(draft: Draft, command: Command) -> RevisionFields:
    """The first revision of a draft."""
    at = command.at if draft.created_at is None else min(draft.created_at, command.at)
    return _statement(draft, command.agent, at)


def _statement(said: Draft | Memory, by: str, at: int, parents: tuple[str, ...] = ()) -> RevisionFields:
    same = {name: getattr(said, name) for name in STATED}
    return RevisionFields(op="put", by=by, at=at, parents=parents, valid_to=said.valid_to, refs=said.paths, **same)


def edit_of(memory: Memory, patch: Patch, command: Command, tags: Sequence[str]) -> Edit | None:
    """The change of `memory`, which has these `tags`, by `patch`, or None. Without `expected_heads` only the shown head
    is replaced: a writer who did not see the other side of a conflict can't settle it by accident. Several writers may
    have superseded a memory at once. Their heads differ in the end only, of which `memory` has the first, and are
    replaced together."""
    alike = memory.state == "superseded" and not memory.conflicts
    parents = patch.expected_heads or (memory.heads if alike else memory.heads[:1])
    before = _statement(memory, command.agent, command.at, parents)
    stated: dict[str, Any] = {name: patched(patch, name, getattr(memory, name)) for name in _PATCHED}
    after = replace(before, refs=memory.paths if patch.paths is None else patch.paths, **stated)
    wanted = tags if patch.tags is None else patch.tags
    put = tuple(tag for tag in wanted if tag not in tags)
    removed = tuple(tag for tag in tags if tag not in wanted)[: limits.CHANGE_REMOVALS_MAX]
    settles = len(patch.expected_heads) > 1
    if after == before and not (put or removed or settles):
        return None
    if patch.valid_from is not None or patch.valid_to is not None:
        field_checks.times_in_order(after.valid_from, after.valid_to)
    # New tags alone are a revision too: whoever expects the heads of before must see that the memory has changed.
    forced = patch.force and patch.content is not None
    return Edit(revision=after, tags_put=put, tags_remove=removed, forced=forced, at=command.at)
