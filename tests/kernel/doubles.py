"""Stand-ins for one method of a part: it notes its calls, fails, or never answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest


def noted(patch: pytest.MonkeyPatch, owner: object, method: str) -> list[tuple[Any, ...]]:
    """The arguments of every call of `method` from now on. It answers as before."""
    calls: list[tuple[Any, ...]] = []
    usual = getattr(owner, method)

    def call(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return usual(*args, **named)

    patch.setitem(vars(owner), method, call)
    return calls


def failing(error: Exception) -> Callable[..., Awaitable[Any]]:
    async def fail(*_: Any) -> None:
        raise error

    return fail


async def hanging(*_: Any) -> None:
    await asyncio.Event().wait()
