"""The operations that write. Each function builds the Call of one operation, with an idempotency key where possible.

The key is made anew for each call that brings none, so that asking again after a lost answer stores nothing twice.
Only a call with a key may be repeated. A memory is named by its id, a unique id prefix or its title.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final, Required, Unpack

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.options import ChangeFields, DraftFields
from mnemesh.api.wire import to_message
from mnemesh_proto.v1 import memory_pb2


class Item(DraftFields, total=False):
    """One item of a batch."""

    content: Required[str]


KEY_PREFIX: Final = "call-"


def remember(content: str, **fields: Unpack[DraftFields]) -> Call[values.Remembered]:
    """Store a memory. An exact duplicate in the same space is not stored again: action NOOP, same id.

    `content` is 1 to 32,768 bytes of UTF-8. Fields of the statement: `kind` (default fact), `title`, `space` (default:
    the client's), `tags`, `importance` 0 to 1, `keywords`, `attrs`, `links`, `tier` pinned, normal or archive. Fields
    of origin and time: `paths`, `source`, `valid_from`, `valid_to`, `supersedes`, `created_at` (the first writing by a
    source, default now). Fields of the call: `sensitive`, `force`, `idempotency_key`, `wait`.

    >>> done = client.remember("Deploys run from CI only", kind="decision", tags=["deploy"])
    >>> done.action, done.memory.id
    ('ADD', '018f6f0e-7c1a-7000-8000-3f1f8d2f6a11')
    """
    return ask(
        memory_pb2, "Remember", remember_request({"content": content, **fields}), values.Remembered, repeatable=True
    )


def remember_request(fields: Mapping[str, object]) -> memory_pb2.RememberRequest:
    """The message of one item, with a new idempotency key unless the item has one."""
    request = to_message(memory_pb2.RememberRequest, fields)
    request.idempotency_key = request.idempotency_key or new_key()
    return request


def new_key() -> str:
    """An idempotency key that no other call has."""
    return KEY_PREFIX + str(uuid.uuid4())


def check(content: str, **fields: Unpack[DraftFields]) -> Call[values.Checked]:
    """Say the effect and reason of remember with the same arguments. Writes nothing.

    >>> client.check("Deploys run from CI only").action
    'NOOP'
    """
    item = to_message(memory_pb2.RememberRequest, {"content": content, **fields})
    return ask(memory_pb2, "Check", memory_pb2.CheckRequest(item=item), values.Checked, repeatable=True)


def update(id: str, **changes: Unpack[ChangeFields]) -> Call[values.Updated]:
    """Change a memory: writes a new revision, the old one stays in its history.

    Changes: the fields of remember that describe a memory, without its space. `clear` names those to
    empty. `expected_heads` raises Aborted when the memory has other heads by then. `force`, `sensitive`,
    `idempotency_key`, `wait`.

    >>> client.update("018f6f0e", tags=["deploy", "ci"], importance=0.8).memory.version
    2
    """
    request = to_message(memory_pb2.UpdateRequest, {"id": id, **changes})
    request.idempotency_key = request.idempotency_key or new_key()
    return ask(memory_pb2, "Update", request, values.Updated, repeatable=True)


def supersede(id: str, content: str, **fields: Unpack[DraftFields]) -> Call[values.Superseded]:
    """Replace a memory by a new one: the old is closed (valid_to) and linked, and leaves every read surface.

    The fields are those of remember. The new memory has the old one's space, and its kind and tags unless given. All
    else, its title too, is what is given here.

    >>> client.supersede("018f6f0e", "Deploys run from CI or from the release laptop").superseded.state
    'superseded'
    """
    request = to_message(memory_pb2.SupersedeRequest, {"id": id})
    request.item.CopyFrom(remember_request({"content": content, **fields}))
    return ask(memory_pb2, "Supersede", request, values.Superseded, repeatable=True)
