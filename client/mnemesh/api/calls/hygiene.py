"""The reports for a person who tidies up. Each function builds the Call of one operation."""

from __future__ import annotations

from mnemesh.api import values
from mnemesh.api.call import Call, ask
from mnemesh.api.calls.filters import Words, places
from mnemesh_proto.v1 import hygiene_pb2


def duplicates(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    threshold: float | None = None,
    limit: int | None = None,
) -> Call[values.Duplicates]:
    """Pairs of active memories of one space whose texts have a cosine of `threshold` (0.5 to 1, default 0.92) or more.
    At most `limit` (1 to 200, default 20), without spaces of all that the caller may see.

    >>> for pair in client.duplicates(space="team/billing").pairs:
    ...     print(pair.verdict, pair.command)
    """
    fields = {"spaces": places(space, spaces), "threshold": threshold, "limit": limit}
    return ask(hygiene_pb2, "Duplicates", fields, values.Duplicates, repeatable=True)


def hygiene(
    *,
    space: Words | None = None,
    spaces: Words | None = None,
    stale_days: int | None = None,
    limit: int | None = None,
) -> Call[values.Hygiene]:
    """A report on idle memories, orphaned links, duplicates, contradictions and superseded chains. Each finding has a
    verdict and the next command. Memories unused for `stale_days` (default 90) may be idle. At most `limit` (1 to 200,
    default 20) of each type, without spaces of all that the caller may see.

    >>> for finding in client.hygiene(space="team/billing").findings:
    ...     print(finding.type, finding.verdict, finding.command)
    """
    fields = {"spaces": places(space, spaces), "stale_days": stale_days, "limit": limit}
    return ask(hygiene_pb2, "Hygiene", fields, values.Hygiene, repeatable=True)
