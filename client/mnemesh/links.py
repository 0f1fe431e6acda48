"""The operations on links and ratings: each builds the Call that asks for it.

Neither is a revision of a memory, so that nobody's edit gets into conflict with one. Asking twice does it once.
"""

from __future__ import annotations

from typing import Final

from mnemesh import link_values, values
from mnemesh.call import Call, reading
from mnemesh.wire import to_message
from mnemesh_proto.v1 import link_pb2

LINK: Final = "/mnemesh.v1.LinkService/"


def link(id: str, type: str, to: str, *, wait: str = "") -> Call[values.Written]:
    """Link a memory to another: `type` is resolved-by, part-of, depends-on, supports, contradicts, see-also,
    derived-from or copied-from. NOOP when it is linked already; both ends may be ids, unique id prefixes or titles.

    >>> client.link("The build hangs", "resolved-by", "Raise the limit").action
    'LINK'
    """
    fields = {"id": id, "type": type, "to": to, "wait": wait}
    return Call(
        rpc=LINK + "Link",
        request=to_message(link_pb2.LinkRequest, fields),
        response=link_pb2.LinkResponse,
        read=reading(values.Written),
        repeatable=True,
    )


def unlink(id: str, type: str, to: str, *, wait: str = "") -> Call[values.Written]:
    """Take a link away. NOOP when there is none; a memory that is gone is named by its whole id.

    >>> client.unlink("The build hangs", "resolved-by", "Raise the limit").memory.links
    ()
    """
    fields = {"id": id, "type": type, "to": to, "wait": wait}
    return Call(
        rpc=LINK + "Unlink",
        request=to_message(link_pb2.UnlinkRequest, fields),
        response=link_pb2.UnlinkResponse,
        read=reading(values.Written),
        repeatable=True,
    )


def rate(id: str = "", useful: bool | None = None, *, answer: str = "") -> Call[link_values.Ratings]:
    """Say whether a memory was useful: the caller's one vote, in place of the one before. Or hand in an `answer`: each
    memory whose whole id stands in it counts as useful, unless the caller has voted otherwise.

    >>> client.rate("018f6f0e", True).rated[0].useful
    1
    >>> client.rate(answer="As 018f6f0e-7c1a-7000-8000-3f1f8d2f6a11 says, on Fridays.").rated
    """
    return Call(
        rpc=LINK + "Rate",
        request=to_message(link_pb2.RateRequest, {"id": id, "useful": useful, "answer": answer}),
        response=link_pb2.RateResponse,
        read=reading(link_values.Ratings),
        repeatable=True,
    )
