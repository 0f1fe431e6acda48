"""What requests made from the schema of the HTTP door still need: formats of its own, and rules over two fields."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import strategies as st

FORMATS = {
    "space-path": ["team/payments", "docs", "a/b/c", "@owner"],
    "iana-time-zone": ["Europe/Berlin", "UTC", "Asia/Tokyo"],
    "page-cursor": [""],
    "agent-name": ["codex", "claude-code"],
    "time-or-duration": ["", "12h", "30d", "2999-01-01"],
    "model-name": [""],
    "mnemesh-token": ["mnm_" + "a" * 43],
    "entry-id": ["1", "2"],
}
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, st.sampled_from(values))


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """A request that keeps the schema also keeps the rules that no schema can say. Another one stays as it is."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        for part in (case.query, case.body):
            if isinstance(part, dict):
                _settle(part)
                for inner in part.get("queries") or ():
                    if isinstance(inner, dict):
                        _settle(inner)
    return case


def _settle(given: dict[str, Any]) -> None:
    if "since" in given:
        given.pop("before", None)  # times in order
    if given.get("space"):
        given.pop("spaces", None)  # both count together
    if given.get("space") or given.get("spaces"):
        given.pop("everywhere", None)  # one of them
    if isinstance(given.get("created_at"), str):
        given["created_at"] = "2020-02-02T10:00:00Z"  # not in the future
    if isinstance(given.get("turns"), list):
        del given["turns"][1:]  # each id once
    if isinstance(given.get("weights"), dict):
        given["weights"] = {"dense": 1.0}  # what this node has
    given.pop("clear", None)  # no field that the same request sets
    given.pop("from_start", None)  # not beside a cursor
