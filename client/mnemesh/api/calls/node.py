"""The operations on the node itself: its state, the caller's identity, its embedding model."""

from __future__ import annotations

from typing import Final

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import admin_pb2


def status() -> Call[values.Status]:
    """The state of the node: addresses, actors, ledger, index, model.

    >>> client.status().state
    'ready'
    """
    return ask(admin_pb2, "Status", {}, values.Status, repeatable=True)


def whoami() -> Call[values.Identity]:
    """The caller that the token and headers speak for; no side effects.

    >>> client.whoami().agent
    'owner/claude-code'
    """
    return ask(admin_pb2, "Whoami", {}, values.Identity, repeatable=True)


# A model may have to be fetched first.
REEMBED_TIMEOUT_S: Final = 600.0


def reembed(model: str = "", *, precision: str = "", cancel: bool = False) -> Call[values.Reembedding]:
    """Embed every memory with another model while the node serves. The node changes over when all are done. `model` is
    the absolute path of a folder on the node's machine or a name that fastembed knows, `precision` fp32 or int8. Begins
    and returns. Without arguments the node reports the progress, with `cancel` it gives up. Raises FailedPrecondition
    while it goes on with another model.

    >>> client.reembed("/srv/models/e5").reembed.state
    'embedding'
    """
    fields = {"model": model, "precision": precision, "cancel": cancel}
    return ask(admin_pb2, "Reembed", fields, values.Reembedding, repeatable=True, timeout_s=REEMBED_TIMEOUT_S)
