"""The state of a node as lines for people, by the rules of `people`.

The caller and the grants of a token, as lines for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.cli.people.memories import BOLD, DIM, GREEN, NODE_ID_CHARS, YELLOW, model_name, paint
from mnemesh.cli.shell import NODE_OPTIONS, count_of, one_line


def status(facts: values.Status) -> Iterator[str]:
    """The first facts that a person looks for: state, addresses, counts, lag."""
    colour = GREEN if facts.state == "ready" else YELLOW
    runtime = f", runtime {facts.runtime}" if facts.runtime else ""  # a node that starts does not tell it yet
    if not facts.pid:  # an admin of some spaces hears of these alone
        yield f"{paint(facts.state, colour)}  Mnemesh {facts.version}{runtime}, up {facts.uptime_s:.0f} s"
        held = count_of(facts.ledger.memories if facts.ledger else 0, "memory")
        yield f"  yours   {held} in the spaces of this token"
        for index in facts.index:
            yield f"  index   {'behind' if index.lag else 'up to date'}, {index.state}"
        return
    yield f"{paint(facts.state, colour)}  Mnemesh {facts.version}{runtime}, pid {facts.pid}"
    yield f"  data    {facts.data_dir}"
    yield f"  gRPC    {facts.grpc}   HTTP http://{facts.http}   up {facts.uptime_s:.0f} s"
    if facts.ledger:
        held = count_of(facts.ledger.memories, "memory")
        yield f"  ledger  {held}, seq {facts.ledger.seq}, {facts.ledger.bytes / 1e6:.1f} MB"
        for copy in facts.ledger.replicas:
            how = f"{copy.role}, seq {copy.seq}, lag {copy.lag}, life {copy.incarnation[:NODE_ID_CHARS]}, {copy.state}"
            yield f"  replica {copy.actor} in {copy.place}: {how}"
    for index in facts.index:
        points = count_of(index.points, "point")
        yield f"  index   {index.name} ({index.backend}): {points}, {index.lag} behind, {index.state}"
    for consumer in facts.consumers[1:]:  # the first is the index
        yield f"  consumer {consumer.name}: {consumer.lag} behind, {one_line(consumer.state)}"
    for astrocyte in facts.astrocytes:
        if astrocyte.at:
            did = f"{astrocyte.read} read, {astrocyte.proposed} proposed, {astrocyte.applied} applied"
            yield f"  astrocyte {astrocyte.name}: {did} in {one_line(astrocyte.space)}, {astrocyte.at:%Y-%m-%d %H:%M}"
    if facts.files and (facts.files.folders or facts.files.stale or facts.files.notes):
        files = f"  files   {facts.files.state}: {count_of(facts.files.folders, 'folder')}"
        stale = f", {count_of(facts.files.stale, 'memory')} stale: mnemesh validate{NODE_OPTIONS}"
        yield files + (stale if facts.files.stale else "")
        for note in facts.files.notes:
            yield f"          {one_line(note)}"
    if facts.transcripts:
        said = facts.transcripts
        size = f"{count_of(said.turns, 'turn')}, {said.bytes / 1e6:.1f} MB, {one_line(said.state)}"
        yield f"  transcripts  {count_of(said.sessions, 'session')}, {size}"
    if facts.model:
        yield f"  model   {model_name(facts.model)}, {facts.model.dimensions} dimensions, {facts.model.source}"
        if facts.model.pairs not in ("", "ready"):
            yield f"  guard   judges by rules alone, its model reads no texts: {one_line(facts.model.pairs)}"
    if facts.reembed and facts.reembed.model:
        other = facts.reembed
        fault = f"  {one_line(other.fault)}" if other.fault else ""
        share = f"{other.done} of {count_of(other.total, 'entry')}{fault}"
        yield f"  reembed {model_name(facts.reembed.model)}: {other.state}, {share}"
    for actor in facts.actors:
        where = f" on {actor.address} (node {actor.node[:NODE_ID_CHARS]})" if actor.node else ""
        yield paint(f"  actor   {actor.name} ({actor.type}) pid {actor.pid}{where} {actor.state}", DIM)
    for notice in facts.notices:
        yield paint(f"  notice  {one_line(notice)}", YELLOW)


def identity(who: values.Identity) -> Iterator[str]:
    """The caller, the grants and their end, and a note when the default space is not granted."""
    default = who.default_space or who.private_space
    yield f"{paint(one_line(who.agent), BOLD)}  role {who.role}"
    along = f" (its older name {one_line(who.alias_space)} is read along)" if who.alias_space else ""
    yield f"private space {one_line(who.private_space)}, default space {one_line(default)}{along}"
    until = f"; until {rfc3339(who.expires_at)}" if who.expires_at else ""
    yield f"grants {granted(who.spaces, who.private_space, who.toolsets)}{until}"
    if not any(covers(pattern, default) for pattern in (*who.spaces, who.private_space)):
        note = f"the default space {one_line(default)} is none of these: name another with --space, MNEMESH_SPACE"
        yield paint(f"{note} or a .mnemesh.toml", YELLOW)


def granted(spaces: Iterable[str], private_space: str, toolsets: Iterable[str]) -> str:
    """The grants of a token, for people."""
    shared = ", ".join(map(one_line, spaces))
    only = ", ".join(toolsets)
    return f"{shared + ', ' if shared else ''}{one_line(private_space)}" + (f"; toolsets {only}" if only else "")


def covers(pattern: str, space: str) -> bool:
    """Whether a pattern of a token covers a space: the node's own rule (docs/access.md), only to tell people."""
    if space.startswith("@"):
        return space == pattern or space.startswith(pattern + "/")
    return pattern in ("*", space) or (pattern.endswith("/*") and space.startswith(pattern[:-1]))
