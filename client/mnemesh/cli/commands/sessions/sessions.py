"""`mnemesh context`, `checkpoint`, `resume`, `runs`, `requirements`: what a session begins with, where it
stands, how it goes on, and what sessions did."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from mnemesh.api import values
from mnemesh.cli.given import given
from mnemesh.cli.options import Id, Number, PageOptions, Space, Text, Texts, argument, option
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, clip, paint
from mnemesh.cli.people.memory_notes import replaced
from mnemesh.cli.shell import Shell, one_line
from mnemesh.short_id import short_id


def context(
    shell: Shell,
    query: Annotated[Text, argument("ContextRequest.query", "QUERY")] = None,
    session: Text = None,
    task: Text = None,
    space: Texts = None,
    dir: Text = None,
    path: Texts = None,
    token_budget: Number = None,
    anew: bool = False,
) -> None:
    """Show what to know when work begins: pinned memories, preferences, working rules, recent work and more."""
    fields = given(session=session, task=task, space=space, dir=dir, paths=path, token_budget=token_budget)
    shell.ask(lambda client: client.context(query or "", anew=anew, **fields), _context)


def checkpoint(
    shell: Shell,
    task: Annotated[Text, argument("CheckpointRequest.task", "TASK")] = None,
    session: Text = None,
    file: Texts = None,
    decision: Texts = None,
    question: Texts = None,
    next_step: Texts = None,
    error: Texts = None,
    custom: Text = None,
    merge: bool = False,
    mask: bool = False,
    space: Space = None,
) -> None:
    """Store where the work of a session stands."""
    fields = given(
        session=session, files=file, decisions=decision, questions=question, next_steps=next_step, errors=error,
        custom=custom, space=space,
    )  # fmt: skip
    shell.ask(lambda client: client.checkpoint(task or "", merge=merge, mask=mask, **fields), _stored)


def resume(
    shell: Shell,
    session: Text = None,
    by: Annotated[Text, option("ResumeRequest.agent", "--by", metavar="AGENT")] = None,
    token_budget: Number = None,
    space: Texts = None,
) -> None:
    """Show what a session needs to go on: its last checkpoint, pinned and hot memories, open questions."""
    fields = given(agent=by, token_budget=token_budget, space=space)
    with shell.client() as client:
        reply = client.resume(session or "", **fields)
        latest = client.resume(**fields).checkpoint if session and reply.checkpoint is None and not shell.json else None
    shell.answer(reply, lambda: _resumed(reply, latest))


def runs(shell: Shell, page: PageOptions, session: str = "") -> None:
    """List sessions, the latest first: prompts, tokens and how each ended."""
    shell.ask(lambda client: client.runs(session, **page.fields()), lambda listed: _runs(listed, whole=bool(session)))


def record_run(
    shell: Shell,
    session: Annotated[str, argument("RecordRunRequest.session", "SESSION")],
    prompt: Texts = None,
    file: Texts = None,
    error: Texts = None,
    outcome: Text = None,
    status: Text = None,
    model: Text = None,
    prompt_id: Text = None,
    tokens_in: Number = None,
    tokens_out: Number = None,
    tokens_cached: Number = None,
    cost_usd: float | None = None,
    mask: bool = False,
    space: Space = None,
) -> None:
    """Store what a session was. `mnemesh mine` does so by itself for sessions of Claude Code and Codex."""
    fields = given(
        prompts=prompt, files=file, errors=error, outcome=outcome, status=status, model=model, prompt_id=prompt_id,
        tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, cost_usd=cost_usd, space=space,
    )  # fmt: skip
    shell.ask(lambda client: client.record_run(session, mask=mask, **fields), lambda done: _run(done.run, whole=True))


def requirements(shell: Shell, page: PageOptions, status: str = "") -> None:
    """List requirements, open ones unless another status is asked for."""
    shell.ask(lambda client: client.requirements(status, **page.fields()), _requirements)


def settle(
    shell: Shell,
    id: Id,
    status: Annotated[str, argument("SettleRequest.status", "STATUS")],
    note: str = "",
    space: Space = None,
) -> None:
    """Say what became of a requirement: done, dropped or open."""
    shell.ask(lambda client: client.settle(id, status, note), lambda done: _requirement(done.requirement), space)


def _runs(page: values.SessionRuns, *, whole: bool) -> Iterator[str]:
    for run in page.runs:
        yield from _run(run, whole=whole)
    yield from _rest(page, "no sessions; `mnemesh mine on` and `mnemesh mine now` record those of your agents")


def _run(run: values.SessionRun, *, whole: bool) -> Iterator[str]:
    when = run.started_at or run.at
    began = when.astimezone().strftime("%Y-%m-%d %H:%M") if when else ""
    cost = f"  {run.cost_usd:.2f} USD" if run.cost_usd else ""
    tokens = f"{run.tokens_in:,} tokens in, {run.tokens_cached:,} cached, {run.tokens_out:,} out"
    model = f"  {one_line(run.model)}" if run.model else ""
    yield f"{paint(one_line(run.session), BOLD)}  {began}  {run.status}  {tokens}{cost}{model}"
    if whole:
        if run.prompt_id:
            yield f"    follows the prompt {short_id(run.prompt_id)}"
        yield from (f"    {one_line(line)}" for line in run.content.splitlines() if line.strip())
    else:
        yield f"    {clip(one_line(run.content))}"


def _requirements(page: values.Requirements) -> Iterator[str]:
    for requirement in page.requirements:
        yield from _requirement(requirement)
    yield from _rest(page, "no such requirements; `mnemesh remember --kind requirement TEXT` begins one")


def _requirement(requirement: values.Requirement) -> Iterator[str]:
    note = f"  ({one_line(requirement.note)})" if requirement.note else ""
    yield f"{paint(short_id(requirement.id), BOLD)}  {requirement.status}{note}  {clip(one_line(requirement.content))}"


def _rest(page: values.SessionRuns | values.Requirements, empty: str) -> Iterator[str]:
    if page.cursor:
        yield paint(f"{page.total} in all; next page: --cursor {page.cursor}", DIM)
    elif not page.total:
        yield empty


def _context(answer: values.SessionContext) -> Iterator[str]:
    yield from _groups(answer.groups)
    if answer.left_out:
        yield paint(f"{answer.left_out} more did not fit; raise --token-budget to see them", DIM)
    for reason in answer.degraded:
        yield paint(f"not asked: {one_line(reason)}", DIM)
    if not answer.groups:
        empty = "nothing is stored here yet; `mnemesh remember TEXT`"
        yield "nothing new for this session" if answer.continued else empty


def _stored(done: values.Checkpointed) -> Iterator[str]:
    yield from _checkpoint(done.checkpoint)


def _resumed(answer: values.Resumed, latest: values.Checkpoint | None) -> Iterator[str]:
    if answer.checkpoint is None and latest is not None:
        named = (
            f"mnemesh resume --session {shlex.quote(one_line(latest.session))}" if latest.session else "mnemesh resume"
        )
        yield f"no checkpoint of this session; the latest one: {named}"
    elif answer.checkpoint is None:
        yield "no checkpoint; `mnemesh checkpoint TASK` stores one"
    else:
        yield from _checkpoint(answer.checkpoint)
    yield from _groups(answer.groups)


def _groups(groups: Iterable[values.ContextGroup]) -> Iterator[str]:
    for group in groups:
        yield paint(group.name, BOLD)
        for memory in group.memories:
            title = f"{one_line(memory.title)}: " if memory.title else ""
            yield f"  {short_id(memory.id)}  {memory.kind}  {title}{one_line(memory.content)}"
            yield from (paint(f"      {line}", YELLOW) for line in replaced(memory))


def _checkpoint(checkpoint: values.Checkpoint) -> Iterator[str]:
    session = f"  session {one_line(checkpoint.session)}" if checkpoint.session else ""
    yield f"{paint(short_id(checkpoint.id), BOLD)}  {one_line(checkpoint.space)}{session}  no. {checkpoint.number}"
    if checkpoint.task:
        yield f"  {one_line(checkpoint.task)}"
    lists = (
        ("open questions", checkpoint.questions), ("next steps", checkpoint.next_steps),
        ("decisions", checkpoint.decisions), ("errors", checkpoint.errors), ("files", checkpoint.files),
    )  # fmt: skip
    for heading, items in lists:
        if items:
            yield paint(f"  {heading}", DIM)
            yield from (f"    {one_line(item)}" for item in items)
    if checkpoint.custom:
        yield paint("  else", DIM)
        yield f"    {one_line(checkpoint.custom)}"


COMMANDS: Final = (
    ("context", context), ("checkpoint", checkpoint), ("resume", resume), ("runs", runs), ("record-run", record_run),
    ("requirements", requirements), ("settle", settle),
)  # fmt: skip
