"""The purpose of a memory: knowledge, a rule of recall, or the record of a session. Pure.

A memory is compared with memories of its own purpose alone. A rule with the text of a memory is not its twin.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.policy.rules import stored_rules
from mnemesh_memory.policy.sessions import session_runs
from mnemesh_memory.validation.filters import states_rule
from mnemesh_memory.values.model import Draft, Memory

KNOWLEDGE: Final = ""


def purpose_of(item: Draft | Memory) -> str:
    """KNOWLEDGE, or the tag of another purpose."""
    if states_rule(item):
        return stored_rules.TAG
    return session_runs.TAG if session_runs.is_record(item) else KNOWLEDGE
