"""A domain: its memories, the names that it reads in a text, and its strictness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mnemesh_memory.values.model import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A row of the table of domains. A new domain is one file with a row like this one."""

    name: str
    claims: Callable[[Memory], float]  # From 0 to 1: how much a memory belongs to the domain.
    terms: Callable[[str], set[str]]  # The names of the domain in a text.
    half_life_days: float  # How long its statements stay current. The votes of the domain fade with it.
    promote_min: int = 3  # So many episodes make a fact.
    merge_cosine: float = 0.8
    link_cosine: float = 0.6
