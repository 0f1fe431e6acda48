"""The prompts that a person picks in a host: `remember`, `recall` and `mnemesh`, one row each, then the caller's own
memories of kind `prompt`, by title.

The prompt of a row says which tool to call with a person's own words. It calls nothing by itself. A prompt becomes
words of the person who picks it. So no text of a peer, of another principal or of an import is one. Neither is a text
that an agent wrote or edited: a page that the agent read may have told it to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import mcp_types as types
import structlog

from mnemesh_gateway.doors.mcp.resources import Context, caller_of, protocol_error
from mnemesh_gateway.operations.operation_table import by_name
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument, MnemeshError, NotFound
from mnemesh_memory.values.model import Caller
from mnemesh_proto.v1 import history_pb2, memory_pb2

if TYPE_CHECKING:
    from mnemesh_gateway.operations.gate import MeshGate

KIND: Final = "prompt"
OWN: Final = "own"
LISTED_MAX: Final = 50
NAME_CHARS_MAX: Final = 64
DESCRIPTION_CHARS_MAX: Final = 120
ARGUMENT: Final = "input"
_NO_NAME: Final = re.compile(r"[^\w-]+")
log = structlog.get_logger("mnemesh.mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """A prompt with one argument. `text` has a place for the argument."""

    name: str
    title: str
    description: str
    argument: str
    argument_help: str
    text: str
    # Texts of their own for words of the argument. None: any words are welcome.
    choices: Mapping[str, str] | None = None


ROWS: Final = (
    PromptRow(
        name="remember",
        title="Remember",
        description="Store something in the long-term memory.",
        argument="text",
        argument_help="The text to remember.",
        text="Store this in the long-term memory with the tool `remember`: one clear statement of a fitting kind. "
        "When the answer names a near memory, follow the hint if it fits. Then say what was stored.\n\n{given}",
    ),
    PromptRow(
        name="recall",
        title="Recall",
        description="Ask the long-term memory.",
        argument="query",
        argument_help="A question or words.",
        text="Answer this from the long-term memory with the tool `recall`. Name the memories that you used by their "
        "ids. Say so when the memory does not know.\n\n{given}",
    ),
    PromptRow(
        name="mnemesh",
        title="Mnemesh",
        description="Look after the memory itself: status, context, resume, checkpoint, mine, mine-history or doctor.",
        argument="task",
        argument_help="status (default), context, resume, checkpoint, mine, mine-history or doctor.",
        text="",
        choices={
            "status": "Say how the long-term memory stands. Run `mnemesh status` and `mnemesh stats` in a shell if you "
            "have one, else call the tool `stats`. Sum up in a few lines: state, memories of this project, peers.",
            "context": "Call the tool `context` with what this session is about, and sum up what is known.",
            "resume": "Call the tool `resume`. Say where the work stands and what comes next. Wait for a go-ahead.",
            "checkpoint": "Call the tool `checkpoint` with the task, files, decisions, open questions, next steps and "
            "errors of this session, so that another agent could go on.",
            "mine": "Run `mnemesh mine now --dry-run` in a shell and sum up what it would store. Ask before you run "
            "`mnemesh mine now`. When mining is off, say that `mnemesh mine on` lets it read session files.",
            "mine-history": "Run `mnemesh mine history` in a shell and say which sessions taught what.",
            "doctor": "Run `mnemesh doctor` in a shell and explain each finding with its next step.",
        },
    ),
)
BY_NAME: Final = {row.name: row for row in ROWS}
DEFAULT_TASK: Final = "status"


def prompt_text(name: str, arguments: Mapping[str, str]) -> str:
    """The text of the prompt `name`. Raises NotFound, InvalidArgument."""
    row = BY_NAME.get(name)
    if row is None:
        raise NotFound("prompt", name, f"prompts are {', '.join(BY_NAME)}")
    if unknown := sorted(set(arguments) - {row.argument}):
        raise InvalidArgument(unknown[0], arguments[unknown[0]], f"the one argument is {row.argument}")
    given = arguments.get(row.argument, "").strip()
    if len(given) > limits.QUERY_CHARS_MAX:
        raise InvalidArgument(row.argument, f"{len(given)} characters", f"at most {limits.QUERY_CHARS_MAX} characters")
    if row.choices is None:
        if not given:
            raise InvalidArgument(row.argument, "nothing", row.argument_help, missing=True)
        return row.text.replace("{given}", given)
    chosen = row.choices.get(given or DEFAULT_TASK)
    if chosen is None:
        raise InvalidArgument(row.argument, given, f"one of {', '.join(row.choices)}")
    return chosen


def completions(name: str, argument: str, begun: str) -> tuple[str, ...]:
    """The words that an argument of the prompt `name` may have, of those that begin so. Raises NotFound,
    InvalidArgument."""
    row = BY_NAME.get(name)
    if row is None:
        raise NotFound("prompt", name, f"prompts are {', '.join(BY_NAME)}")
    if argument != row.argument:
        raise InvalidArgument("argument", argument, f"the one argument is {row.argument}")
    return tuple(word for word in row.choices or () if word.startswith(begun.strip().lower()))


class PromptHandlers:
    """The handlers of the protocol library for prompts."""

    def __init__(self, gate: MeshGate, authenticator: Authenticator) -> None:
        self._gate = gate
        self._authenticator = authenticator

    async def list_all(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All prompts of the caller, in the space of the connection."""
        try:
            caller = caller_of(self._authenticator, ctx)
        except MnemeshError as error:
            raise protocol_error(types.INTERNAL_ERROR, error) from error
        try:
            stored = await self._stored(caller)
        except MnemeshError as error:  # the other prompts need no memory
            log.warning("mcp_prompts_not_listed", reason=error.message)
            stored = {}
        return types.ListPromptsResult(prompts=[*map(_of_row, ROWS), *map(_of_memory, stored.items())])

    async def get(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The words of one prompt, with the person's own in their place."""
        arguments = params.arguments or {}
        try:
            if params.name in BY_NAME:
                description = BY_NAME[params.name].description
                text = prompt_text(params.name, arguments)
            else:
                memory = await self._memory(ctx, params.name)
                description, text = memory.title, _filled(memory.content, arguments)
        except MnemeshError as error:
            raise protocol_error(types.INVALID_PARAMS, error) from error
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=description, messages=[message])

    async def _memory(self, ctx: Context, name: str) -> memory_pb2.Memory:
        caller = caller_of(self._authenticator, ctx)
        prompt = (await self._stored(caller)).get(name)
        if prompt is None:
            raise NotFound("prompt", name, f"prompts are {', '.join(BY_NAME)}, and your memories of kind prompt")
        request = memory_pb2.GetRequest(ids=[prompt.id])  # a listing shortens a cold memory
        response = await by_name("get").run(self._gate, caller, request)
        memory: memory_pb2.Memory = response.memory
        return memory

    async def _stored(self, caller: Caller) -> dict[str, memory_pb2.Memory]:
        """The memories that are prompts, by name; of two with one name the newer."""
        listing = by_name("list")
        if not listing.is_for(caller):
            return {}
        request = memory_pb2.ListRequest(kinds=[KIND], trust=[OWN], agent=caller.principal, limit=LISTED_MAX)
        response = await listing.run(self._gate, caller, request)
        named: dict[str, memory_pb2.Memory] = {}
        for memory in response.memories:
            name = _NO_NAME.sub("-", memory.title.lower()).strip("-")[:NAME_CHARS_MAX]
            if name and name not in BY_NAME and await self._is_of_the_person(caller, memory):
                named.setdefault(name, memory)
        return named

    async def _is_of_the_person(self, caller: Caller, memory: memory_pb2.Memory) -> bool:
        """Whether the principal wrote every revision, and no agent of the principal. `by` is the first writer."""
        if memory.version == 1:
            return memory.by == caller.principal
        history = by_name("history")
        if not history.is_for(caller):
            return False
        request = history_pb2.HistoryRequest(id=memory.id, limit=limits.LIST_LIMIT_MAX)
        response = await history.run(self._gate, caller, request)
        return all(revision.by == caller.principal for revision in response.revisions) and not response.cursor


def _of_row(row: PromptRow) -> types.Prompt:
    argument = types.PromptArgument(name=row.argument, description=row.argument_help, required=row.choices is None)
    return types.Prompt(name=row.name, title=row.title, description=row.description, arguments=[argument])


def _of_memory(named: tuple[str, memory_pb2.Memory]) -> types.Prompt:
    name, memory = named
    lines: Sequence[str] = memory.content.split("\n", 1)
    argument = types.PromptArgument(name=ARGUMENT, description="Words to add at the end.", required=False)
    return types.Prompt(
        name=name, title=memory.title, description=lines[0][:DESCRIPTION_CHARS_MAX], arguments=[argument]
    )


def _filled(content: str, arguments: Mapping[str, str]) -> str:
    if unknown := sorted(set(arguments) - {ARGUMENT}):
        raise InvalidArgument(unknown[0], arguments[unknown[0]], f"the one argument is {ARGUMENT}")
    given = arguments.get(ARGUMENT, "").strip()
    if len(given) > limits.QUERY_CHARS_MAX:
        raise InvalidArgument(ARGUMENT, f"{len(given)} characters", f"at most {limits.QUERY_CHARS_MAX} characters")
    return f"{content}\n\n{given}" if given else content
