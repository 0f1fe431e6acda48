"""A loaded model is one for all workers of a process: a run changes nothing in it, and its weights take much memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

Model = TypeVar("Model")
How = TypeVarTuple("How")
_HELD: Final[WeakValueDictionary[tuple[Any, ...], Any]] = WeakValueDictionary()


def shared(kind: Callable[[*How], Model], *how: *How) -> Model:
    """The model that another worker of this process made in the same way and still holds, or a new one. One caller at a
    time."""
    model: Model | None = _HELD.get((kind, *how))
    if model is None:
        model = _HELD[kind, *how] = kind(*how)
    return model
