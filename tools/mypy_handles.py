"""A mypy plugin: a method of `Handle[Port]` has the signature that `Port` declares, and is awaited.

Python's type system can't say "the same methods, but awaitable"; this plugin does. A method missing in the port, a
wrong argument and a wrong use of the answer are errors on both sides of an actor boundary.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.maptype import map_instance_to_supertype
from mypy.plugin import AttributeContext, Plugin
from mypy.types import AnyType, CallableType, Instance, Overloaded, Type, TypeOfAny, get_proper_type

HANDLE = "mnemesh_actors.runtime.base.Handle"
HANDLES = (
    HANDLE,
    "mnemesh_actors.runtime.local.LocalHandle",
    "mnemesh_actors.runtime.ray.RayHandle",
    "mnemesh_actors.replication.replicated_ledger.ReplicatedLedger",
)


class HandlePlugin(Plugin):
    """Asked by mypy for each attribute that only `__getattr__` of a handle can give."""

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        owner, _, method = fullname.rpartition(".")
        if owner not in HANDLES:
            return None
        return lambda context: _of_port(context, method)


def _of_port(context: AttributeContext, method: str) -> Type:
    handle = get_proper_type(context.type)
    if not isinstance(handle, Instance) or handle.type.get(method) is not None:
        return context.default_attr_type
    info = next((base for base in handle.type.mro if base.fullname == HANDLE), None)
    if info is None:
        return context.default_attr_type
    port = get_proper_type(map_instance_to_supertype(handle, info).args[0])
    if isinstance(port, AnyType):
        return context.default_attr_type
    checker = context.api.expr_checker  # type: ignore[attr-defined]
    declared: Type = get_proper_type(checker.analyze_external_member_access(method, port, context.context))
    if isinstance(declared, Overloaded):
        return Overloaded([_awaitable(item, context) for item in declared.items])
    if isinstance(declared, CallableType):
        return _awaitable(declared, context)
    return declared


def _awaitable(method: CallableType, context: AttributeContext) -> CallableType:
    unused = AnyType(TypeOfAny.special_form)
    coroutine = context.api.named_generic_type("typing.Coroutine", [unused, unused, method.ret_type])
    return method.copy_modified(ret_type=coroutine)


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy looks for."""
    return HandlePlugin
