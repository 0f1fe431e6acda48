"""The operation on the node's embedding model. It needs the owner's token."""

from __future__ import annotations

from typing import Final

from mnemesh.call import Call, reading
from mnemesh.embedding_values import Reembedding
from mnemesh.reads import ADMIN
from mnemesh.wire import to_message
from mnemesh_proto.v1 import admin_pb2

# A model may have to be fetched first.
TIMEOUT_S: Final = 600.0


def reembed(model: str = "", *, precision: str = "", cancel: bool = False) -> Call[Reembedding]:
    """Embed every memory with another model while the node serves; it changes over when all are done. `model` is the
    absolute path of a folder on the node's machine or a name that fastembed knows, `precision` fp32 or int8. Begins and
    returns; with neither it tells how far it is, with `cancel` it gives up. Raises FailedPrecondition while it goes on
    with another model.

    >>> client.reembed("/srv/models/e5").reembed.state
    'embedding'
    """
    return Call(
        rpc=ADMIN + "Reembed",
        request=to_message(admin_pb2.ReembedRequest, {"model": model, "precision": precision, "cancel": cancel}),
        response=admin_pb2.ReembedResponse,
        read=reading(Reembedding),
        repeatable=True,
        timeout_s=TIMEOUT_S,
    )
