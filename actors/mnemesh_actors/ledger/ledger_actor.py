"""The ledger: every write of its spaces goes through `commit`, and nothing is acknowledged before it is on disk.

Duties of `commit`, in order: (1) Admit: replays, idempotency keys, exact duplicates and preconditions are decided here,
where no other write can come between. (2) Append the signed Automerge change. (3) Update the view. (4) Commit to disk,
all waiting commands together. (5) Answer. The caller then hands new memories to the index, which reads the rest. Serial
and synchronous: one thread or process owns one Ledger. Changes are never compacted: they are the truth.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mnemesh_actors.ledger import commands
from mnemesh_actors.ledger.backup.snapshot import Copies
from mnemesh_actors.ledger.commands import Command, Committed, Lookup
from mnemesh_actors.ledger.commit import write_admission
from mnemesh_actors.ledger.commit.link_writes import Linking
from mnemesh_actors.ledger.commit.merge_writes import Merging
from mnemesh_actors.ledger.commit.verdicts import Decisions, Verdicts, links_of
from mnemesh_actors.ledger.commit.write_admission import Admission, edit_of, refuse_endless, replaces, revision_of
from mnemesh_actors.ledger.feeds.feeds import Feeds
from mnemesh_actors.ledger.integrity import alarms, incarnation
from mnemesh_actors.ledger.integrity.file_identity import FileIdentity
from mnemesh_actors.ledger.integrity.log_check import damaged_memories
from mnemesh_actors.ledger.integrity.scrub import LOG_DAMAGED, Scrub
from mnemesh_actors.ledger.peers import peer_log
from mnemesh_actors.ledger.peers.exchange import Exchange
from mnemesh_actors.ledger.peers.replica_keys import Identity, Twin
from mnemesh_actors.ledger.peers.sqlite_shelf import SqliteShelf
from mnemesh_actors.ledger.store import schema
from mnemesh_actors.ledger.store.commit_notes import Cursors, Uses
from mnemesh_actors.ledger.store.faults import explained, reading
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.rows import RowDamaged
from mnemesh_actors.ledger.store.vectors import keep
from mnemesh_actors.ledger.views import Views
from mnemesh_actors.storage.data_directory import load_key
from mnemesh_actors.storage.disk import DiskRoom
from mnemesh_crdt.document.document import Edit, MemoryDocument
from mnemesh_crdt.document.revisions import forget, restore
from mnemesh_crdt.intake.intake import Intake
from mnemesh_memory.policy.purposes import purpose_of
from mnemesh_memory.text.text import duplicate_key
from mnemesh_memory.values.errors import MnemeshError, Unavailable
from mnemesh_memory.values.model import LedgerStatus, Link


class Ledger(Views, Feeds, Exchange, Copies, Twin):
    """`path` is the SQLite file. `key_path` the node's signing key. `node_id` goes into every entry. With less than
    `reserve_bytes` free on the disk, each growing write raises DiskFull."""

    def __init__(self, path: str, key_path: str, node_id: str, reserve_bytes: int = 0) -> None:
        self.path = Path(path)
        self._room = DiskRoom(self.path.parent, reserve_bytes)
        self._lock = incarnation.LedgerLock(self.path.with_suffix(".lock"))
        with ExitStack() as undo:
            undo.callback(self._lock.close)
            incarnation.refuse(self.path, incarnation.lost(self.path, self._lock.read()))
            self._db = schema.connect(self.path)
            undo.callback(self._db.close)
            with explained(self.path, "it can not be opened"):
                incarnation.refuse(self.path, incarnation.emptied(self._db, self._lock.read()))
                hurt = damaged_memories(self._db, self.path)
                key = load_key(Path(key_path))
                self._journal = Journal(self._db, key, node_id)
                self._scrub = Scrub(self._db, self._journal)
                self._scrub.look(hurt)
                self._intake = Intake(shelf=SqliteShelf(self._db, self._journal), damaged=self._scrub.awaited)
                self._unfolded = True  # an erasure before a crash may have left its pages in the write-ahead log
                self._uses = Uses(self._db)
                self._cursors = Cursors(self._db)
                self._admission = Admission(self._db, self._journal, self._uses.note)
                self._verdicts = Verdicts(self._db, self._journal, self._admission, self._uses.note)
                linking = Linking(self._db, self._journal, node_id)
                merging = Merging(self._journal, self._admission)
                self._carriers: dict[type[Command], Callable[..., Committed]] = {
                    commands.Create: self._create,
                    commands.Revise: self._revise,
                    commands.Forget: self._forget,
                    commands.Restore: self._restore,
                    commands.Rollback: self._rollback,
                    commands.Resolve: self._resolve,
                    commands.Decide: Decisions(self._db, self._journal, self._admission).decide,
                    commands.Judge: self._verdicts.judge,
                    commands.Tie: linking.tie,
                    commands.Rate: linking.rate,
                    commands.Mark: linking.mark,
                    commands.Absorb: merging.absorb,
                    commands.Part: merging.part,
                }
                self._mark = incarnation.HighWater(self.path.with_suffix(".head"))
                undo.callback(self._mark.close)
                self._incarnation = self._begin_life()
                self._files = FileIdentity(self.path)
                self._identity = Identity(node_id, key.public_key().public_bytes_raw(), self._incarnation)
                self._journal.rebuild_view_if_old(self._scrub.hopeless)
                self._tell([])
                peer_log.keep_key(self._db, node_id, key.public_key().public_bytes_raw())
                self.judge_again()
                self._fold()
                self._mend_indexes()
                self.copy_end()  # one that a crash left
            undo.pop_all()

    def _begin_life(self) -> str:
        """The incarnation. A new one, with an alarm, when the log is known to have been longer."""
        last, known = self._journal.last_seq(), incarnation.known_as(self._db)
        reached = incarnation.furthest(self.path, known, self._mark.read())
        if reached > last:
            try:
                alarms.add(self.path.parent, incarnation.loss(self.path, last, reached))
            except OSError as error:
                raise Unavailable(f"the ledger could not write an alarm: {error}", part="ledger") from error
        begun = incarnation.establish(self._db, self._lock, lost_entries=reached > last)
        self._mark.write(begun, last)
        return begun

    # ---- writing ----------------------------------------------------------------------------------------------

    def commit(self, asked: Sequence[Command]) -> list[Committed | Exception]:
        """Carry out `asked` in order, in one transaction. One result a command. A refused command changes nothing
        and does not hold up the others. Raises DiskFull, and Unavailable or DataLoss when the disk fails. Then
        nothing is written."""
        self._files.check()
        if asked:
            self._room.require()
        results = self._commit(asked)
        damaged = {number: result for number, result in enumerate(results) if isinstance(result, RowDamaged)}
        if damaged:
            try:
                if self.mend(next(iter(damaged.values()))):
                    again = self._commit([asked[number] for number in damaged])
                    results = [again.pop(0) if number in damaged else result for number, result in enumerate(results)]
            except MnemeshError as error:  # the other commands are on disk by now
                results = [error if number in damaged else result for number, result in enumerate(results)]
        return results

    def _commit(self, asked: Sequence[Command]) -> list[Committed | Exception]:
        results: list[Committed | Exception] = []
        with self._transaction():
            for command in asked:
                mark = self._journal.digest.mark()
                self._db.execute("SAVEPOINT command")
                try:
                    results.append(self._carry_out(command))
                except (MnemeshError, sqlite3.IntegrityError) as error:
                    self._db.execute("ROLLBACK TO command")
                    self._journal.digest.undo(mark)
                    results.append(error if isinstance(error, MnemeshError) else _not_taken(error))
                self._db.execute("RELEASE command")
            self._uses.write()
            self._cursors.write()
        self._uses.pending.clear()
        self._cursors.pending.clear()
        self._fold()
        return results

    def _carry_out(self, command: Command) -> Committed:
        if replayed := self._journal.written_by(command.actor):
            memory = self._journal.memory(replayed)
            is_repeat = isinstance(command, commands.Create) and command.verdict and command.verdict.action == "NOOP"
            if is_repeat and (said := self._admission.repeated_by(memory)):
                return replace(self._journal.unchanged(said, "written already"), deduplicated=True, replayed=True)
            return Committed(
                action=write_admission.action_again(command, memory),
                memory=memory,
                seq=self._journal.last_seq(),
                reason="written already",
                replayed=True,
            )
        carrier = self._carriers.get(type(command))
        if carrier is None:
            raise TypeError(f"not a ledger command: {type(command).__name__}")
        return carrier(command)

    def _create(self, command: commands.Create) -> Committed:
        draft = command.draft
        if seen := self._admission.seen(command.agent, draft.idempotency_key, command.fingerprint, command.at):
            return seen
        known = self._admission.duplicate(
            draft.space, command.duplicate_key, command.at, draft.kind, draft.source.session, touch=not draft.force,
            purpose=purpose_of(draft), forced=draft.force,
        )  # fmt: skip
        if known is not None and not draft.force:
            if not known.restorable:
                known = self._replace_by(known, command)
                self._admission.keep_key(command.agent, draft.idempotency_key, command.fingerprint, known, command.at)
            return known
        standing = self._verdicts.as_judged(draft.space, command.verdict)
        repeat = self._verdicts.repeat(command, standing)
        if repeat and (repeat.is_there or repeat.kept):
            result = self._verdicts.reinforced(repeat, command.at)
            self._admission.keep_key(command.agent, draft.idempotency_key, command.fingerprint, result, command.at)
            return result
        id_ = self._admission.new_id(command)
        olds = self._admission.to_replace(draft, command.visible)
        outdated = self._verdicts.outdated(command, standing)
        links = (
            *draft.links,
            *(Link("supersedes", old.id) for old in olds),
            *links_of(command.verdict, standing, outdated),
        )
        document = MemoryDocument(id_, draft.space)
        edit = Edit(
            revision=revision_of(draft, command),
            tags_put=draft.tags,
            links_put=tuple(dict.fromkeys(links)),
            mark=command.mark if id_ == command.id else "",
            forced=draft.force,
            at=command.at,
        )
        memory, seq = self._journal.write(document, edit, command.actor, command)
        if command.postponed:
            self._db.execute(
                "INSERT OR REPLACE INTO postponed VALUES (?, ?, ?)", (id_, command.agent, command.postponed)
            )
        replaced = tuple(self._admission.close(old, id_, command) for old in (*olds, *outdated))
        keep(self._db, command.vectors)
        if repeat:
            # The guard may be wrong: the text is kept, and `restore` brings it back. Its first change is that of an
            # added memory, so another machine that finds no repeat writes the same bytes.
            self._admission.close(memory, repeat.memory.id, command)
            result = self._verdicts.reinforced(repeat, command.at, id_)
            self._admission.keep_key(command.agent, draft.idempotency_key, command.fingerprint, result, command.at, id_)
            return result
        result = Committed(
            action="SUPERSEDE" if replaced else "ADD",
            memory=memory,
            superseded=replaced,
            seq=self._journal.last_seq() if replaced else seq,
            reason=replaces(olds) if olds else write_admission.why_added(known, command.verdict, standing, outdated),
        )
        self._admission.keep_key(command.agent, draft.idempotency_key, command.fingerprint, result, command.at)
        return result

    def _replace_by(self, known: Committed, command: commands.Create) -> Committed:
        """An exact duplicate meant to supersede others: the existing memory takes their place."""
        olds = [old for old in self._admission.to_replace(command.draft, command.visible) if old.id != known.memory.id]
        if not olds:
            return known
        refuse_endless(self._db, known.memory, command.agent)
        links = Edit(links_put=tuple(Link("supersedes", old.id) for old in olds), at=command.at)
        document = self._journal.document(known.memory)
        memory, _ = self._journal.write(document, links, command.actor, command)
        return Committed(
            action="SUPERSEDE",
            memory=memory,
            deduplicated=True,
            superseded=tuple(self._admission.close(old, memory.id, command) for old in olds),
            seq=self._journal.last_seq(),
            reason=f"an identical memory was there already; it {replaces(olds)}",
        )

    def _revise(self, command: commands.Revise) -> Committed:
        patch = command.patch
        if seen := self._admission.seen(command.agent, patch.idempotency_key, command.fingerprint, command.at):
            return seen
        memory = self._journal.writable(command.id, patch.expected_heads or None)
        if command.duplicate_key and not patch.force:
            self._admission.refuse_twin(memory, command.duplicate_key, "supersede or forget one of them, or pass force")
        edit = edit_of(memory, patch, command, self._journal.tags(memory))
        if edit is None:
            result = self._journal.unchanged(memory, "nothing differs")
        else:
            self._admission.refuse_endless(memory, command.agent)
            document = self._journal.document(memory)
            result = self._admission.written(document, edit, command, "new revision", command.vectors)
        self._admission.keep_key(command.agent, patch.idempotency_key, command.fingerprint, result, command.at)
        return result

    def _forget(self, command: commands.Forget) -> Committed:
        memory = self._journal.memory(command.id)
        document = self._journal.document(memory)
        edit = forget(document.state(), command.agent, command.at)
        if edit is None:
            return self._journal.unchanged(memory, "forgotten already")
        self._admission.refuse_last(memory, command.agent)
        versions = 1 + len(memory.conflicts)
        reason = "forgotten; `restore` brings it back"
        if versions > 1:
            reason = f"forgotten with all its {versions} versions; `restore` brings back the one that was shown"
        return self._admission.written(document, edit, command, reason)

    def _restore(self, command: commands.Restore) -> Committed:
        memory = self._journal.memory(command.id)
        document = self._journal.document(memory)
        edit = restore(document.state(), command.agent, command.at)
        if edit is None:
            return self._reopen(document, memory, command)
        if not memory.superseded_by:
            key = duplicate_key(memory.content)
            self._admission.refuse_twin(memory, key, "forget or change that one first")
        self._admission.refuse_last(memory, command.agent)
        return self._admission.written(document, edit, command, "as it was before it was forgotten")

    # ---- what decides a write ---------------------------------------------------------------------------------

    @reading
    def prepare(
        self, lookups: Sequence[Lookup], hashes: Sequence[str], generation: str
    ) -> tuple[list[Committed | MnemeshError | None], dict[str, bytes]]:
        """Before anything is embedded: the outcome of each draft without need of a write (a replayed key, an exact
        duplicate), or None. Also the vectors that are cached already. Decided again inside the commit."""
        outcomes: list[Committed | MnemeshError | None] = []
        for item in lookups:
            try:
                outcome = self._admission.seen(item.agent, item.idempotency_key, item.fingerprint, item.at)
                if outcome is None and not item.force and not item.idempotency_key:
                    outcome = self._admission.duplicate(
                        item.space, item.duplicate_key, item.at, item.kind, item.session, touch=item.touch,
                        purpose=item.purpose,
                    )  # fmt: skip
                outcomes.append(outcome)
            except MnemeshError as refused:
                outcomes.append(refused)
        return outcomes, self.vectors(hashes, generation)

    # ---- activity: local to this node, never synced, lost at most since the last write -------------------------

    def touch(self, ids: Sequence[str], now: int) -> None:
        """Note that memories were used. See Uses."""
        self._uses.note(ids, now)

    @reading
    def activity(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """(accesses, last use in ms) by id. Those never used are absent."""
        return self._uses.of(ids)

    # ---- life -------------------------------------------------------------------------------------------------

    @reading
    def status(self) -> LedgerStatus:
        """Where the log stands."""
        active = self._db.execute("SELECT count(*) FROM memory WHERE state = 'active'").fetchone()[0]
        size = sum(
            path.stat().st_size for path in self.path.parent.glob(self.path.name + "*") if path.suffix != ".lock"
        )
        return LedgerStatus(
            incarnation=self._incarnation,
            seq=self._journal.last_seq(),
            memories=active,
            bytes=size,
            state=LOG_DAMAGED if self._scrub.damage() else "ok",
            alarms=(*self._damage(), *alarms.read(self.path.parent)),
        )

    def rebuild_view(self) -> int:
        """Compute the view anew from the entries. Returns how many memories it holds."""
        with explained(self.path, "the view is as it was"):
            return self._journal.rebuild_view(self._scrub.hopeless)

    def close(self) -> None:
        """Write activity and cursors that are pending, fold the write-ahead log into the file, release the lock."""
        with ExitStack() as last:
            last.callback(self._lock.close)
            last.callback(self._mark.close)
            last.callback(self._db.close)
            last.callback(self.copy_end)
            if self._uses.pending or self._cursors.pending:
                self.commit([])
            with explained(self.path, "everything acknowledged is in its write-ahead log"):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _not_taken(error: sqlite3.IntegrityError) -> MnemeshError:
    """The file is sound, and the write does not fit it."""
    fault = f"the ledger does not take this write ({error}); this is a fault of ours, nothing was stored"
    return MnemeshError(fault, part="ledger")
