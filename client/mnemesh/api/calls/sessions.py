"""The operations on sessions: each builds the Call that asks for it."""

from __future__ import annotations

from datetime import datetime

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import session_pb2


def checkpoint(
    task: str = "",
    *,
    session: str = "",
    files: Words = (),
    decisions: Words = (),
    questions: Words = (),
    next_steps: Words = (),
    errors: Words = (),
    custom: str = "",
    space: str = "",
    merge: bool = False,
    mask: bool = False,
) -> Call[values.Checkpointed]:
    """Store where the work of a session stands, as the next version of its checkpoint. `merge` adds to the last one.
    `mask` puts the type of a credential in its place, which is refused otherwise.

    >>> client.checkpoint("Fix the login loop", session="s1", next_steps=["run the tests"]).checkpoint.number
    1
    """
    fields = {
        "task": task,
        "session": session,
        "files": files,
        "decisions": decisions,
        "questions": questions,
        "next_steps": next_steps,
        "errors": errors,
        "custom": custom,
        "space": space,
        "merge": merge,
        "mask": mask,
    }
    return ask(session_pb2, "Checkpoint", fields, values.Checkpointed, repeatable=False)


def resume(
    session: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    agent: str = "",
    token_budget: int | None = None,
) -> Call[values.Resumed]:
    """The last checkpoint of a session, or of all, then pinned memories, open questions and hot memories.

    >>> client.resume().checkpoint.task
    'Fix the login loop'
    """
    fields = {"session": session, "spaces": places(space, spaces), "agent": agent, "token_budget": token_budget}
    return ask(session_pb2, "Resume", fields, values.Resumed, repeatable=True)


def context(
    query: str = "",
    *,
    session: str = "",
    task: str = "",
    space: Words | None = None,
    spaces: Words | None = None,
    dir: str = "",
    paths: Words = (),
    token_budget: int | None = None,
    anew: bool = False,
) -> Call[values.SessionContext]:
    """Memories for the beginning of work, within `token_budget` (100 to 20000, default 1500). A `session` gets no
    memory twice, unless it begins `anew`.

    >>> for group in client.context("how do we deploy", session="s1").groups:
    ...     print(group.name, [memory.content for memory in group.memories])
    """
    fields = {
        "query": query,
        "session": session,
        "task": task,
        "spaces": places(space, spaces),
        "dir": dir,
        "paths": paths,
        "token_budget": token_budget,
        "anew": anew,
    }
    return ask(session_pb2, "Context", fields, values.SessionContext, repeatable=False)


def record_run(
    session: str,
    *,
    prompts: Words = (),
    files: Words = (),
    errors: Words = (),
    outcome: str = "",
    status: str = "",
    model: str = "",
    tokens_in: int = 0,
    tokens_out: int = 0,
    tokens_cached: int = 0,
    tokens_cache_written: int = 0,
    cost_usd: float = 0.0,
    started_at: datetime | None = None,
    ended_at: datetime | None = None,
    space: str = "",
    mask: bool = False,
) -> Call[values.RecordedRun]:
    """Store what a session was, as the next version of its record. `status` is done, failed, interrupted or running.

    >>> client.record_run("s1", prompts=["fix the login"], status="done", tokens_out=1200).run.tokens_out
    1200
    """
    fields = {
        "session": session,
        "prompts": prompts,
        "files": files,
        "errors": errors,
        "outcome": outcome,
        "status": status,
        "model": model,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "tokens_cached": tokens_cached,
        "tokens_cache_written": tokens_cache_written,
        "cost_usd": cost_usd,
        "started_at": started_at,
        "ended_at": ended_at,
        "space": space,
        "mask": mask,
    }
    return ask(session_pb2, "RecordRun", fields, values.RecordedRun, repeatable=True)


def runs(
    session: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    cursor: str = "",
) -> Call[values.SessionRuns]:
    """Records of sessions, the latest first.

    >>> [(run.session, run.status) for run in client.runs().runs]
    [('s1', 'done')]
    """
    fields = {"session": session, "spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(session_pb2, "Runs", fields, values.SessionRuns, repeatable=True)


def settle(id: str, status: str, note: str = "") -> Call[values.Settled]:
    """Say what became of a requirement: done, dropped or open.

    >>> client.settle("CSV export", "done", note="in 2.3").requirement.status
    'done'
    """
    return ask(session_pb2, "Settle", {"id": id, "status": status, "note": note}, values.Settled, repeatable=True)


def requirements(
    status: str = "",
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    limit: int | None = None,
    cursor: str = "",
) -> Call[values.Requirements]:
    """Requirements that are open, done, dropped or all, newest first.

    >>> [requirement.content for requirement in client.requirements().requirements]
    ['Orders can be exported as CSV.']
    """
    fields = {"status": status, "spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(session_pb2, "Requirements", fields, values.Requirements, repeatable=True)
