"""The operations on rules of recall: each builds the Call that asks for it."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import rule_pb2


def add_rule(
    condition: str, effect: str, reason: str = "", *, space: str = "", directory: str = "", file: str = ""
) -> Call[values.AddedRule]:
    """Store a rule of recall: memories for which `condition` holds are hidden (`hide`), are alone shown (`only`), or
    count more or less (`+0.3`). `directory` and `file` (a path or glob) narrow its scope.

    >>> client.add_rule("kind = run and tag != keep", "hide", "Runs are noise.").rule.hard
    True
    """
    fields = {"condition": condition, "effect": effect, "reason": reason, "space": space}
    fields |= {"directory": directory, "file": file}
    return ask(rule_pb2, "AddRule", fields, values.AddedRule, repeatable=False)


def get_rules(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None, cursor: str = ""
) -> Call[values.Rules]:
    """Rules, newest first, at most `limit` (1 to 200, default 20) a page; those of the node's settings come first.

    >>> for rule in client.get_rules(space="team").rules:
    ...     print(rule.condition, rule.effect)
    """
    fields = {"spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(rule_pb2, "GetRules", fields, values.Rules, repeatable=True)


def delete_rule(id: str) -> Call[values.DeletedRule]:
    """End a rule, by id, unique id prefix or title: its memory is forgotten. Raises NotFound, PermissionDenied.

    >>> client.delete_rule("018f6f0e").rule.effect
    'hide'
    """
    return ask(rule_pb2, "DeleteRule", {"id": id}, values.DeletedRule, repeatable=False)
