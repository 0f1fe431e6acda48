"""The operations on sessions: each builds the Call that asks for it."""

from __future__ import annotations

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
