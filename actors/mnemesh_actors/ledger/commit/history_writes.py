"""A memory's past in the ledger: revisions with their origins, memories in conflict, and the writes that return to an
earlier revision. The writes run inside the commit, where no other write can come between.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from mnemesh_actors.ledger.commands import Committed, Resolve, Restore, Rollback
from mnemesh_actors.ledger.commit.write_admission import Admission
from mnemesh_actors.ledger.ledger_side import LedgerSide
from mnemesh_actors.ledger.store import link_table
from mnemesh_actors.ledger.store.faults import reading
from mnemesh_actors.ledger.store.reads import cursor_in, cursor_out
from mnemesh_actors.ledger.store.row_filters import covered
from mnemesh_actors.ledger.store.rows import COLUMNS, from_row
from mnemesh_crdt.admission.budget import deps_of, within
from mnemesh_crdt.document import revisions
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.document.equivocation import NAME_HEX
from mnemesh_crdt.document.shape import FORGET, DocumentState, rank
from mnemesh_memory.policy import precedence
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.validation import field_checks
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.limits import CLOCK_AHEAD_MS_MAX, LIST_LIMIT_MAX, READ_BYTES_MAX
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE
from mnemesh_memory.values.model import Link, Memory, Revision
from mnemesh_memory.values.past import (
    BOTH,
    Conflict,
    ConflictPage,
    Contradiction,
    HistoryPage,
    Opponent,
    Origin,
    Origins,
    Recorded,
)

Item = TypeVar("Item")
Past: TypeAlias = tuple[DocumentState, Origins]
# When an entry came into this log by this node's clock.
_LOCAL_TIME: Final = "CASE WHEN received > 0 THEN received ELSE at END"
PAIRS: Final = "pairs_"  # the beginning of a token that `cursor_out` never makes
LIKELY: Final = "_likely"  # Ends the cursor behind a pair of which one may replace the other.
FIRST_PAIR: Final = (0, "", "")
BESIDE_MAX: Final = 10_000  # entries looked at for one that a right clock dated


class Histories(LedgerSide):
    """The side of a ledger for the past. Mixed into Ledger."""

    _admission: Admission

    # ---- reading ----------------------------------------------------------------------------------------------

    @reading
    def past(self, id_: str) -> Past:
        """All that a memory's document holds, and where its changes came from. Raises NotFound."""
        state = self._journal.state(self._journal.memory(id_))
        return state, self._origins(state)

    def _as_of(self, memory: Memory, at: int, clock: int | None = None) -> Memory | None:
        """A memory as it was recorded at `at` (ms), or None when it was not there yet. Changes until then count,
        without those that build on a later one, which only a wrong clock can make. One from elsewhere is no later than
        CLOCK_AHEAD_MS_MAX after its receipt, a link or rating as little as a revision. A change dated after `clock`,
        the node's time now, was recorded at the time of the entries beside it."""
        now = self._journal.state(memory)
        written = {rank(id_)[1]: revision.at for id_, revision in now.revisions.items()}
        rows = self._db.execute(
            "SELECT hash, raw, actor, CASE WHEN received > 0 THEN min(at, received + ?) ELSE at END, seq "
            "FROM entry WHERE doc = ? AND type = 'change' ORDER BY seq",
            (CLOCK_AHEAD_MS_MAX, memory.id),
        ).fetchall()
        late: set[str] = set()
        for hash, _, actor, then, seq in rows:
            when = written.get(now.name_of(hash.hex(), actor.hex()), then)
            possible = clock is None or when <= max(clock, at)
            if (when if possible else self._recorded(seq, max(clock or 0, at))) > at:
                late.add(hash.hex())
        if not late:
            return revisions.materialise(now)
        log = {hash.hex(): raw for hash, raw, *_ in rows}
        deps = deps_of(log)
        while more := {hash for hash, built_on in deps.items() if not late.isdisjoint(built_on)} - late:
            late |= more
        kept = {hash: raw for hash, raw in log.items() if hash not in late}
        then = MemoryDocument(memory.id, memory.space, *within(memory.id, memory.space, kept)).state()
        actors = {hash.hex(): actor.hex() for hash, _, actor, *_ in rows if hash.hex() in kept}
        return revisions.materialise(replace(then, revisions=_as_now(then, now, actors)))

    def _recorded(self, seq: int, clock: int) -> int:
        """The time of recording of an entry dated after `clock`: that of the next entry by a clock that was right
        again, else that of the one before."""
        for order, beside in (("ASC", "seq > ?"), ("DESC", "seq < ?")):
            row = self._db.execute(
                f"SELECT {_LOCAL_TIME} FROM (SELECT * FROM entry WHERE {beside} ORDER BY seq {order} LIMIT ?) "
                f"WHERE {_LOCAL_TIME} <= ? ORDER BY seq {order} LIMIT 1",
                (seq, BESIDE_MAX, clock),
            ).fetchone()
            if row:
                return int(row[0])
        return 0

    @reading
    def history(self, id_: str, limit: int, cursor: str) -> HistoryPage:
        """Revisions, newest first, before the revision `cursor` (an id, or "")."""
        memory = self._journal.memory(id_)
        state, origins = self.past(id_)
        newest = revisions.history(state)[::-1]
        rest = [revision for revision in newest if not cursor or rank(revision.id) < rank(cursor)]
        shown = _fitting(rest[:limit], revisions.bytes_of)
        return HistoryPage(
            memory=memory,
            revisions=tuple(_recorded(revision, memory.heads, origins) for revision in shown),
            cursor=shown[-1].id if len(rest) > len(shown) else "",
            total=len(newest),
        )

    @reading
    def revision(self, id_: str, field: str, key: str) -> Revision:
        """The revision that `key` names. Raises NotFound or InvalidArgument."""
        return revisions.named(self.past(id_)[0], field, key)

    @reading
    def conflicts(self, spaces: Sequence[str], limit: int, cursor: str, marks: int = LIST_LIMIT_MAX) -> ConflictPage:
        """Memories in conflict, superseded ones too, oldest first. Behind the last one, pairs of memories that
        contradict each other, and then at most `marks` pairs of which one may replace the other. `spaces` may be
        patterns."""
        after = _pair_in(cursor)
        page = ConflictPage(conflicts=(), cursor="", total=0) if after else self._edited(spaces, limit, cursor)
        room = 0 if page.cursor else limit - len(page.conflicts)
        pairs, total, likely = link_table.contradictions(self._db, spaces, after or FIRST_PAIR, room + 1)
        page = replace(page, contradictions_total=total, marks_total=likely)
        if page.cursor:
            return page
        sure = sum(not pair[0] for pair in pairs)
        shown = _fitting(
            map(self._contradiction, pairs[: min(room, sure + marks)]),
            lambda both: sum(revisions.bytes_of(side.says.revision) for side in (both.newer, both.older)),
        )
        last = pairs[len(shown) - 1] if shown else (after or FIRST_PAIR)
        return replace(
            page,
            total=page.total if not after else self._edited(spaces, 0, "").total,
            contradictions=tuple(shown),
            cursor=_pair_out(last) if len(pairs) > len(shown) else "",
        )

    def _contradiction(self, pair: link_table.OpenPair) -> Contradiction:
        older, newer = sorted((self._journal.memory(id_) for id_ in pair[1:]), key=precedence.age)
        says = {}
        for memory in (older, newer):
            state, origins = self.past(memory.id)
            says[memory.id] = _recorded(revisions.shown(state), memory.heads, origins)
        return Contradiction(
            newer=Opponent(memory=newer, says=says[newer.id]),
            older=Opponent(memory=older, says=says[older.id]),
            relation=MAY_REPLACE if pair[0] else CONTRADICTS,
            commands=tuple(
                f"mnemesh resolve {older.id} --other {newer.id} --keep {keep}" for keep in (newer.id, older.id, BOTH)
            ),
        )

    def _edited(self, spaces: Sequence[str], limit: int, cursor: str) -> ConflictPage:
        """Memories with several versions."""
        seen, patterns = covered(spaces)
        where, values = f"conflicted = 1 AND {seen}", list[str | int](patterns)
        total = int(self._db.execute(f"SELECT count(*) FROM memory WHERE {where}", values).fetchone()[0])
        if cursor:
            where += " AND (created_at, id) > (?, ?)"
            values += cursor_in(cursor)
        rows = self._db.execute(
            f"SELECT {COLUMNS} FROM memory WHERE {where} ORDER BY created_at, id LIMIT ?", [*values, limit + 1]
        ).fetchall()
        conflicts = (self._conflict(from_row(row)) for row in rows[:limit])
        shown = _fitting(conflicts, lambda item: sum(revisions.bytes_of(version.revision) for version in item.versions))
        last = shown[-1].memory if shown else None
        return ConflictPage(
            conflicts=tuple(shown),
            cursor=cursor_out(last.created_at, last.id) if last and len(rows) > len(shown) else "",
            total=total,
        )

    def _conflict(self, memory: Memory) -> Conflict:
        """Its visible heads, as many as the memory shows. A note of it says when there are more."""
        state, origins = self.past(memory.id)
        seen = revisions.visible(state)[: 1 + len(memory.conflicts)]
        return Conflict(memory=memory, versions=tuple(_recorded(revision, memory.heads, origins) for revision in seen))

    def _origins(self, state: DocumentState) -> Origins:
        rows = self._db.execute(
            "SELECT hash, actor, agent, node, at, CASE WHEN received > 0 THEN received + ? ELSE at END "
            "FROM entry WHERE doc = ? AND type = 'change'",
            (CLOCK_AHEAD_MS_MAX, state.id),
        )
        return {
            state.name_of(hash.hex(), actor.hex()): Origin(agent, node, at, latest)
            for hash, actor, agent, node, at, latest in rows
        }

    # ---- writing, inside the commit ---------------------------------------------------------------------------

    def _rollback(self, command: Rollback) -> Committed:
        """A revision with the text of an older one, naming all heads."""
        memory = self._journal.writable(command.id, command.expected_heads)
        document = self._journal.document(memory)
        state = document.state()
        wanted = revisions.named(state, "to", command.to)
        if wanted.op == FORGET:
            raise InvalidArgument(
                "to", wanted.id, "a revision that says something; in this one the memory is forgotten"
            )
        then = self._as_written(memory, state, wanted)
        edit = revisions.rollback(state, then, wanted.id, command.agent, command.at)
        if edit is None:
            return self._journal.unchanged(memory, f"{wanted.id} is what it says already")
        if wanted.content != memory.content and memory.state == "active":
            key = duplicate_key(wanted.content)
            self._admission.refuse_twin(memory, key, "supersede or forget one of them first")
        self._admission.refuse_endless(memory, command.agent)
        said = f"says again what {wanted.id} said"
        return self._admission.written(document, edit, command, said, command.vectors)

    def _resolve(self, command: Resolve) -> Committed:
        """A revision that ends a conflict, naming all heads."""
        memory = self._journal.writable(command.id, command.expected_heads)
        document = self._journal.document(memory)
        state = document.state()
        heads = tuple(revision.id for revision in revisions.visible(state))
        if len(heads) < 2:
            raise no_conflict(memory)
        kept = revisions.named(state, "keep", command.keep).id
        if kept not in heads:
            limit = f"one of the heads {', '.join(heads)}; rollback goes back to an older revision"
            raise InvalidArgument("keep", command.keep, limit)
        if command.content is not None and memory.state == "active":
            key = duplicate_key(command.content)
            self._admission.refuse_twin(memory, key, "supersede or forget one of them first")
        self._admission.refuse_last(memory, command.agent)
        edit = revisions.settle(state, kept, command.agent, command.at, command.content)
        said = f"{kept} was kept" if command.content is None else "another text was given"
        reason = f"{len(heads)} versions became one: {said}"
        return self._admission.written(document, edit, command, reason, command.vectors)

    def _reopen(self, document: MemoryDocument, memory: Memory, command: Restore) -> Committed:
        """A superseded memory stands for itself again, when it is asked for by name. A successor that is there stands
        beside it: both hold, and the pair is not judged again."""
        ends = self._admission.dead_ends(memory)
        beside: list[Memory] = []
        if memory.superseded_by not in {link.id for link in ends}:
            closers = [link for link in memory.links if link.type == revisions.SUPERSEDED_BY]
            beside = self._admission.memories_here([link.id for link in closers], memory.space)
            if not beside:
                reason = f"not forgotten but {memory.state}{self._admission.still_closed(memory)}"
                return self._journal.unchanged(memory, reason)
            ends = [*ends, *(link for link in closers if link.id in {other.id for other in beside})]
        edit = revisions.reopen(document.state(), ends, command.agent, command.at)
        if edit.revision is not None:
            self._admission.refuse_twin(memory, duplicate_key(memory.content), "forget or change that one first")
        self._admission.refuse_last(memory, command.agent)
        said = f"as it was before {', '.join(link.id for link in ends)} took its place"
        if edit.revision is not None and memory.conflicts:
            said += (
                f"; of its {1 + len(memory.conflicts)} versions the one that was shown, the others stay in its history"
            )
        for successor in beside:
            said += f"; {successor.id} stands beside it"
            agreed = Edit(
                links_put=(Link(BOTH_HOLD, memory.id),),
                links_remove=(Link("supersedes", memory.id),),
                at=command.at,
            )
            self._journal.write(self._journal.document(successor), agreed, os.urandom(16), command)
        return self._admission.written(document, edit, command, said)

    def _as_written(self, memory: Memory, state: DocumentState, revision: Revision) -> DocumentState:
        """The document as the writer of `revision` had it with that revision. `state` is the document now. Of the
        changes, those under the revision's own change count."""
        log = self._journal.log(memory.id)
        deps = deps_of(log)
        name = rank(revision.id)[1]
        rows = self._db.execute("SELECT hash, actor FROM entry WHERE doc = ? AND type = 'change'", (memory.id,))
        todo = [hash.hex() for hash, actor in rows if state.name_of(hash.hex(), actor.hex()) == name]
        kept: set[str] = set()
        while todo:
            hash_ = todo.pop()
            if hash_ in deps and hash_ not in kept:
                kept.add(hash_)
                todo += deps[hash_]
        past = {hash: raw for hash, raw in log.items() if hash in kept}
        return MemoryDocument(memory.id, memory.space, *within(memory.id, memory.space, past)).state()


def no_conflict(memory: Memory) -> FailedPrecondition:
    """The refusal to end a conflict where there is none."""
    return FailedPrecondition(
        f"{memory.id} is not in conflict: it says one thing only; use update to change it",
        field="id",
        value=memory.id,
        limit="a memory with two or more visible heads",
    )


def _pair_out(pair: link_table.OpenPair) -> str:
    """The token of the page after a pair."""
    return f"{PAIRS}{pair[1]}_{pair[2]}{LIKELY if pair[0] else ''}"


def _pair_in(token: str) -> link_table.OpenPair | None:
    """The pair of a token, None for a token of another list. Raises InvalidArgument."""
    if not token.startswith(PAIRS):
        return None
    one, _, other = token.removeprefix(PAIRS).removesuffix(LIKELY).partition("_")
    ids = (part and field_checks.memory_id("cursor", part) for part in (one, other))
    return (int(token.endswith(LIKELY)), next(ids), next(ids))


def _fitting(items: Iterable[Item], size_of: Callable[[Item], int]) -> list[Item]:
    """The items of one page: as many as fit into READ_BYTES_MAX together, and one at least."""
    room = READ_BYTES_MAX
    shown: list[Item] = []
    for item in items:
        room -= size_of(item)
        if room < 0 and shown:
            break
        shown.append(item)
    return shown


def _as_now(then: DocumentState, now: DocumentState, actors: Mapping[str, str]) -> dict[str, Revision]:
    """The revisions of `then`, a part of the same document, as they are and are called in `now`. `actors` are those of
    its changes by hash, all in hex."""
    # A change that is read in `then` and not in `now` has its whole hash for a name, too long for an id.
    strange = now.renamed or now.unread
    names = {then.name_of(*change): now.name_of(*change)[:NAME_HEX] for change in actors.items()} if strange else {}
    ids = {id_: f"{rank(id_)[0]}@{names[rank(id_)[1]]}" if names else id_ for id_ in then.revisions}
    return {ids[id_]: now.revisions.get(ids[id_], revision) for id_, revision in then.revisions.items()}


def _recorded(rev: Revision, heads: Sequence[str], origins: Origins) -> Recorded:
    origin = origins.get(rank(rev.id)[1])
    return Recorded(
        revision=rev, node=origin.node if origin else "", head=rev.id in heads, shown=bool(heads) and rev.id == heads[0]
    )
