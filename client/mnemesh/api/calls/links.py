"""The operations on links and ratings: each builds the Call that asks for it.

Neither is a revision of a memory, so that nobody's edit gets into conflict with one. Asking twice does it once.
"""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh_proto.v1 import link_pb2


def link(id: str, type: str, to: str, *, wait: str = "") -> Call[values.Written]:
    """Link a memory to another: `type` is resolved-by, part-of, depends-on, supports, contradicts, both-hold (they do
    not contradict), see-also, derived-from or copied-from. NOOP when it is linked already; both ends may be ids, unique
    id prefixes or titles.

    >>> client.link("The build hangs", "resolved-by", "Raise the limit").action
    'LINK'
    """
    fields = {"id": id, "type": type, "to": to, "wait": wait}
    return ask(link_pb2, "Link", fields, values.Written, repeatable=True)


def unlink(id: str, type: str, to: str, *, wait: str = "") -> Call[values.Written]:
    """Take a link away. NOOP when there is none; a memory that is gone is named by its whole id.

    >>> client.unlink("The build hangs", "resolved-by", "Raise the limit").memory.links
    ()
    """
    fields = {"id": id, "type": type, "to": to, "wait": wait}
    return ask(link_pb2, "Unlink", fields, values.Written, repeatable=True)


def rate(id: str = "", useful: bool | None = None, *, answer: str = "") -> Call[values.Ratings]:
    """Say whether a memory was useful: the caller's one vote, in place of the one before. Or hand in an `answer`: each
    memory whose whole id stands in it counts as useful, unless the caller has voted otherwise.

    >>> client.rate("018f6f0e", True).rated[0].useful
    1
    >>> client.rate(answer="As 018f6f0e-7c1a-7000-8000-3f1f8d2f6a11 says, on Fridays.").rated
    """
    return ask(link_pb2, "Rate", {"id": id, "useful": useful, "answer": answer}, values.Ratings, repeatable=True)
