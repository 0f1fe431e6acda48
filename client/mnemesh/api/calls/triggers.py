"""The operations on triggers: each builds the Call that asks for it.

A trigger is a memory. `remember` and `recall` name the triggers that they fired in `triggered`.
"""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import trigger_pb2


def create_trigger(
    on: str, pattern: str, content: str = "", *, id: str = "", space: str = "", repeating: bool = False
) -> Call[values.CreatedTrigger]:
    """Store `content` as a text that reports back later, or make the memory `id` do so. `on` is keyword, entity,
    directory, file or time. `pattern` holds the words, name, folder, path or glob, or time. It fires once, unless
    `repeating`, at a remember or recall in its space.

    >>> client.create_trigger("keyword", "deploy", "Ask Ana before a deploy.").trigger.fired
    False
    >>> client.recall("how do we deploy").triggered
    """
    fields = {"on": on, "pattern": pattern, "content": content, "id": id, "space": space, "repeating": repeating}
    return ask(trigger_pb2, "CreateTrigger", fields, values.CreatedTrigger, repeatable=False)


def list_triggers(
    *, space: Words | None = None, spaces: Words | None = None, limit: int | None = None, cursor: str = ""
) -> Call[values.Triggers]:
    """Triggers, newest first, also those that have fired, at most `limit` (1 to 200, default 20) a page.

    >>> for trigger in client.list_triggers(space="team").triggers:
    ...     print(trigger.on, trigger.pattern, trigger.fired, trigger.content)
    """
    fields = {"spaces": places(space, spaces), "limit": limit, "cursor": cursor}
    return ask(trigger_pb2, "ListTriggers", fields, values.Triggers, repeatable=True)


def delete_trigger(id: str) -> Call[values.DeletedTrigger]:
    """End a trigger, by id, unique id prefix or title. A text that was stored as a trigger is forgotten, another memory
    stays. Raises NotFound, PermissionDenied.

    >>> client.delete_trigger("018f6f0e").kept
    False
    """
    return ask(trigger_pb2, "DeleteTrigger", {"id": id}, values.DeletedTrigger, repeatable=False)
