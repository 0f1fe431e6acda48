"""Links, ratings and marks as the ledger writes them. These changes are no revisions, so two writers who link, rate or
mark at the same time are in no conflict.

Decided inside the commit, where no other write can come between. Merged changes of other nodes may break the rules
here. These are kept and shown.
"""

from __future__ import annotations

import sqlite3

from mnemesh_actors.ledger.commands import Committed, Mark, Rate, Tie
from mnemesh_actors.ledger.commit.write_admission import BY_PRINCIPAL, by_principal, refuse_endless
from mnemesh_actors.ledger.store import link_table
from mnemesh_actors.ledger.store.journal import Journal
from mnemesh_actors.ledger.store.replica_cursors import twins
from mnemesh_crdt.document.document import Edit
from mnemesh_memory.access.grants import principal_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, InvalidArgument
from mnemesh_memory.values.memory_links import BOTH_HOLD, CONTRADICTS, MAY_REPLACE, OPEN_TYPES, PART_OF
from mnemesh_memory.values.model import Link, Memory


class Linking:
    """Writes over the ledger's connection, as the node `node_id`."""

    def __init__(self, db: sqlite3.Connection, journal: Journal, node_id: str) -> None:
        self._db = db
        self._journal = journal
        self._node_id = node_id

    def tie(self, command: Tie) -> Committed:
        """Put a link or take it away. A writer who takes a `contradicts` or `may-replace` away has decided that both
        hold, and the pair is not judged again. Raises NotFound, InvalidArgument, FailedPrecondition, Aborted (other
        heads)."""
        memory, link = self._journal.writable(command.id, command.heads or None), command.link
        if (link in self._journal.links(memory)) == command.put:
            said = f"{link.type} {link.id} is linked already" if command.put else f"no {link.type} link to {link.id}"
            return self._journal.unchanged(memory, said)
        if command.put:
            self._may_link(memory, command)
        put = (link,) if command.put else _instead(link) if link.type in OPEN_TYPES else ()
        removed = _instead(link) if command.put else (link,)
        removed = tuple(old for old in removed if old in self._journal.links(memory))
        edit = Edit(links_put=put, links_remove=removed, at=command.at)
        changed, seq = self._write(memory, edit, command)
        action, done = ("LINK", "is linked") if command.put else ("UNLINK", "is not linked any more")
        return Committed(action=action, memory=changed, seq=seq, reason=f"{link.type} {link.id} {done}")

    def rate(self, command: Rate) -> Committed:
        """Set the writer's one vote. A citation sets it only where there is none. A vote that another ledger of this
        node took is the writer's, too. A repeated call after a lost answer is not counted again. The vote can't be
        changed here, so a contrary vote stands beside it. Raises NotFound, FailedPrecondition."""
        memory = self._journal.writable(command.id)
        writer = f"{command.agent}@{self._node_id}"
        votes = self._journal.document(memory).state().votes
        same = [writer] if writer in votes else [f"{command.agent}@{node}" for node in twins(self._db)]
        before = {votes[voter] for voter in same if voter in votes}
        if command.useful in before or (command.cited and before):
            return self._journal.unchanged(memory, "rated already")
        changed, seq = self._write(memory, Edit(vote=(writer, command.useful), at=command.at), command)
        return Committed(action="RATE", memory=changed, seq=seq, reason="rated")

    def mark(self, command: Mark) -> Committed:
        """Put a tag. Raises NotFound, FailedPrecondition."""
        memory, tag = self._journal.writable(command.id), command.tag
        if tag in memory.tags:
            return self._journal.unchanged(memory, f"has the tag {tag} already")
        changed, seq = self._write(memory, Edit(tags_put=(tag,), at=command.at), command)
        return Committed(action="MARK", memory=changed, seq=seq, reason=f"has the tag {tag}")

    def _may_link(self, memory: Memory, command: Tie) -> None:
        link = command.link
        if link.id == memory.id:
            raise InvalidArgument("to", link.id, "another memory than the one that is linked")
        target = self._journal.writable(link.id, field="to")
        who = principal_of(command.agent)
        if len(memory.links) >= limits.LINKS_MAX and self._own_links(memory, who) >= limits.LINKS_MAX:
            raise FailedPrecondition(
                f"{memory.id} has {limits.LINKS_MAX} links by {who}; unlink one first",
                field="id",
                value=memory.id,
                limit=f"at most {limits.LINKS_MAX} links of one memory by one writer",
            )
        if link.type == PART_OF and memory.id in link_table.wholes(self._db, target.id):
            raise FailedPrecondition(
                f"{target.id} is part of {memory.id} already; nothing is part of its own part",
                field="to",
                value=target.id,
                limit="part-of without a circle",
            )

    def _own_links(self, memory: Memory, who: str) -> int:
        """How many links of a memory this principal put. Those of others stop nobody."""
        rows = self._db.execute(
            f"SELECT actor FROM entry WHERE doc = ? AND type = 'change' AND {BY_PRINCIPAL}",
            (memory.id, *by_principal(who)),
        )
        own = {actor.hex() for (actor,) in rows}
        return sum(actor in own for _, actor in self._journal.document(memory).put_by("links").values())

    def _write(self, memory: Memory, edit: Edit, command: Tie | Rate | Mark) -> tuple[Memory, int]:
        refuse_endless(self._db, memory, command.agent)
        return self._journal.write(self._journal.document(memory), edit, command.actor, command)


def _instead(link: Link) -> tuple[Link, ...]:
    """The links that say the opposite."""
    opposites = {CONTRADICTS: (BOTH_HOLD,), MAY_REPLACE: (BOTH_HOLD,), BOTH_HOLD: OPEN_TYPES}
    return tuple(Link(type_, link.id) for type_ in opposites.get(link.type, ()))
