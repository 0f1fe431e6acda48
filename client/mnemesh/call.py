"""One call to the node as a value: where it goes, what is sent, how the answer is read, whether it may be repeated.

Built by mnemesh.reads, mnemesh.writes and the modules beside them, carried out by Client and AsyncClient, which differ
in nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from mnemesh.wire import to_value

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Answer]):
    """`rpc` is the method's path, `response` the class of its messages. `repeatable`: sending it twice does what
    sending it once does, so a lost answer may be asked for again. `timeout_s` None is the client's own. `absent` is
    the answer where NOT_FOUND is one."""

    rpc: str
    request: Message
    response: type[Message]
    read: Callable[[Any], Answer]
    repeatable: bool
    timeout_s: float | None = None
    absent: Answer | None = None


def reading(cls: type[Answer]) -> Callable[[Any], Answer]:
    """Reads an answer as the value `cls`."""
    return partial(to_value, cls=cls)


def as_method(method: Any, build: Callable[..., Any], returns: str) -> None:
    """Make `method` look to help() and editors as `build` does, with `self` before the arguments. `returns` is the
    form of what it gives back, with {} for the answer."""
    update_wrapper(method, build)
    signature = inspect.signature(build)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    answer = str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
    method.__signature__ = signature.replace(
        parameters=[first, *signature.parameters.values()], return_annotation=returns.format(answer)
    )
