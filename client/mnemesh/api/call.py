"""One call to the node as a value: the method, the message, the reader of the answer, and whether a repetition is safe.

Built by the modules of mnemesh.api.calls, carried out by Client and AsyncClient, which differ
in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from mnemesh.api.wire import to_message, to_value

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Answer]):
    """`rpc` is the method's path, `response` the class of its messages. `repeatable`: sending the call twice has the
    effect of sending it once, so a lost answer may be asked for again. `timeout_s` None is the client's own. `absent`
    is the answer where NOT_FOUND is one.
    """

    rpc: str
    request: Message
    response: type[Message]
    read: Callable[[Any], Answer]
    repeatable: bool
    timeout_s: float | None = None
    absent: Answer | None = None

    def bound(self, kind: Callable[..., Any]) -> Any:
        """The method of this call on a channel, whose unary_unary or unary_stream `kind` is."""
        return kind(
            self.rpc,
            request_serializer=type(self.request).SerializeToString,
            response_deserializer=self.response.FromString,
        )


def ask(
    contract: ModuleType,
    rpc: str,
    given: Message | Mapping[str, object],
    read: type[Answer] | Callable[[Any], Answer],
    *,
    repeatable: bool,
    timeout_s: float | None = None,
    absent: Answer | None = None,
) -> Call[Answer]:
    """The call of `rpc`, a method of the one service of the module `contract`.

    `given` is the request, or its fields. `read` is the class of values.MODULES that the answer becomes, or a function
    that reads the answer.
    """
    (service,) = vars(contract)["DESCRIPTOR"].services_by_name.values()
    return Call(
        rpc=f"/{service.full_name}/{rpc}",
        request=given if isinstance(given, Message) else to_message(getattr(contract, f"{rpc}Request"), given),
        response=getattr(contract, f"{rpc}Response"),
        read=partial(to_value, cls=read) if isinstance(read, type) else read,
        repeatable=repeatable,
        timeout_s=timeout_s,
        absent=absent,
    )
