"""The tally of a session for its record: prompts, tokens, failed commands, how it ended. Pure, small JSON in between.

A host writes the tokens of a message with each of its lines, so the last figures of a message count, once. No output of
a tool gets into the record, no credential, and no line with a pattern of prompt injection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, Final

from mnemesh.importing.claude_code import time_of
from mnemesh.mining.credentials import masked
from mnemesh.mining.shell_commands import group_of
from mnemesh.mining.transcript import TokenUsage
from mnemesh_memory.values.injection import is_suspicious

PROMPTS_MAX: Final = 40
PROMPT_CHARS_MAX: Final = 240
SAID_CHARS_MAX: Final = 600
UNMASKED_CHARS_MAX: Final = 1_200  # A credential is not cut before it is masked.
ERRORS_MAX: Final = 30
FILES_MAX: Final = 60
MESSAGES_MAX: Final = 64  # whose figures may still change
DONE, FAILED, INTERRUPTED = "done", "failed", "interrupted"


@dataclass(slots=True)
class SessionTally:
    """A session so far. `counted` are the figures of all messages but the latest ones in `latest`."""

    prompts: list[str] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    said: str = ""
    status: str = DONE
    model: str = ""
    started: str = ""
    ended: str = ""
    counted: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    latest: dict[str, Sequence[int]] = field(default_factory=dict)

    def prompt(self, text: str) -> None:
        """The person asks."""
        self.status = DONE
        line = " ".join(text[:UNMASKED_CHARS_MAX].split())
        if line not in self.prompts[-1:]:
            self.prompts.append(line)
            if len(self.prompts) > PROMPTS_MAX:  # the first ones say what it was about
                del self.prompts[PROMPTS_MAX // 4]

    def answer(self, text: str) -> None:
        """The agent says something."""
        self.said = text[:UNMASKED_CHARS_MAX]

    def ran(self, commands: list[str], *, failed: bool) -> None:
        """Commands that are worth knowing ended."""
        self.status = FAILED if failed else DONE
        for name in map(_shown, commands if failed else ()):
            if name in self.errors or len(self.errors) < ERRORS_MAX:
                self.errors[name] = self.errors.get(name, 0) + 1

    def spent(self, usage: TokenUsage) -> None:
        """A message has used so much up to now."""
        self.model = usage.model or self.model
        self.latest[usage.message] = usage.tokens
        if len(self.latest) > MESSAGES_MAX:
            oldest = self.latest.pop(next(iter(self.latest)))
            self.counted = [count + more for count, more in zip(self.counted, oldest, strict=True)]

    def at(self, moment: str) -> None:
        """A line was written then."""
        self.started = self.started or moment
        self.ended = moment

    def fields(self, files: list[str]) -> dict[str, Any]:
        """The fields of the session's record."""
        self._mask()
        tokens = [sum(column) for column in zip(self.counted, *self.latest.values(), strict=True)]
        errors = [
            f"`{command}` failed" + (f" {count} times" if count > 1 else "") for command, count in self.errors.items()
        ]
        return {
            "prompts": [prompt for prompt in self.prompts if not is_suspicious(prompt)], "files": files[:FILES_MAX],
            "errors": errors, "outcome": "" if is_suspicious(self.said) else self.said,
            "status": self.status, "model": self.model, "started_at": time_of(self.started),
            "ended_at": time_of(self.ended),
            **dict(zip(("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written"), tokens, strict=True)),
        }  # fmt: skip

    def carried(self) -> dict[str, Any]:
        """The tally as JSON."""
        self._mask()
        return asdict(self)

    def _mask(self) -> None:
        """Once a reading, because a mask costs more than the reading itself."""
        self.prompts = [masked(prompt)[:PROMPT_CHARS_MAX] for prompt in self.prompts]
        self.said = masked(self.said)[:SAID_CHARS_MAX]

    @classmethod
    def of(cls, carried: Mapping[str, Any]) -> SessionTally:
        """The tally that `carried` gave."""
        known = {member.name for member in fields(cls)}
        return cls(**{name: value for name, value in carried.items() if name in known})


@lru_cache(maxsize=128)
def _shown(command: str) -> str:
    """The name of a command without credentials. The same command fails again and again."""
    return group_of(masked(command))
