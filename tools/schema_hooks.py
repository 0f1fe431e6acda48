"""Rules that the schema of the HTTP door has no words for: formats, limits in bytes, rules over two fields."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Final

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
    "rule-condition": ["kind = run", "tag != keep and importance >= 0.5", 'path = "docs/a b.md"', "tier = archive"],
}
BYTES_MIN: Final = 64  # No text of a request has a smaller limit in bytes, unless its pattern is ASCII.
NUMBERED_BYTES: Final = 180  # Leaves room for the number behind a title or a session.
NUMBERS: Final = count(1)
PROJECT: Final = Path(__file__).resolve().parent.parent
ASIDE: Final = ("id", "wait", "clear", "expected_heads", "idempotency_key", "force")  # no field that an update changes
# A removal in bulk names one of these.
FILTERS: Final = (
    "space", "spaces", "everywhere", "kinds", "tags_any", "tags_all", "tags_none", "trust", "agent", "session", "since",
    "before", "valid_at",
)  # fmt: skip
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, st.sampled_from(values))


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """A request that keeps the schema also keeps the rules that no schema can say. Another one stays as it is."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        for part in (case.query, case.body):
            if isinstance(part, dict):
                part.update(_of_bytes(part))  # in place: a body that is put anew is judged anew
                _settle(part)
                _of_operation(case, part)
                for inner in part.get("queries") or ():
                    if isinstance(inner, dict):
                        _settle(inner)
        patches = case.method == "PATCH" and isinstance(case.body, dict)
        if patches and all(value is None for name, value in case.body.items() if name not in ASIDE):
            case.body["importance"] = 0.5  # at least one field
    return case


def _of_bytes(value: Any) -> Any:
    """`value` whose long texts have no more bytes of UTF-8 than characters now: the schema bounds characters, the Mesh
    bounds bytes."""
    if isinstance(value, str) and value and not value.strip():
        return "x"  # blanks alone are no text
    if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > BYTES_MIN:
        return value.encode("utf-8", "surrogatepass")[: len(value)].decode("utf-8", "ignore")
    if isinstance(value, list):
        return [_of_bytes(item) for item in value]
    if isinstance(value, dict):
        return {name: _of_bytes(item) for name, item in value.items()}
    return value


def _of_operation(case: Any, given: dict[str, Any]) -> None:
    """Rules of a single operation."""
    if case.path == "/v1/navigate" and given.get("id"):
        given.pop("query", None)  # one of them
    if given is not case.body:
        return
    if case.path == "/v1/forget" and not any(given.get(name) for name in FILTERS):
        given["everywhere"] = True  # The phase "coverage" leaves fields out without a look at anyOf.
    if case.path == "/v1/seed":
        given.update(dir=str(PROJECT), space=given.get("space") or "docs")
    if case.path == "/v1/runs":
        for name in ("prompts", "errors", "files"):  # an item is a line
            given[name] = ["".join(filter(str.isprintable, item)).strip() or "x" for item in given.get(name) or ()]
        given["prompts"] = given["prompts"] or ["x"]  # something is told


def _numbered(text: str) -> str:
    return f"{text.encode('utf-8', 'ignore')[:NUMBERED_BYTES].decode('utf-8', 'ignore')} {next(NUMBERS)}"


def _settle(given: dict[str, Any]) -> None:
    if "since" in given:
        given.pop("before", None)  # times in order
    if isinstance(given.get("valid_to"), str):
        given["valid_to"] = "9999-12-31T23:59:59Z"  # after valid_from, the stored one too
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
    if isinstance(title := given.get("title"), str) and title:
        # Two memories of one title make it ambiguous as an id.
        given["title"] = _numbered(title)
    if (
        "on" in given and "pattern" in given
    ):  # a trigger has one of content and id, and a pattern with a word or a later time
        given.pop("id", None)
        given["content"] = given.get("content") or "x"
        given["pattern"] = "2999-01-01" if given["on"] == "time" else _numbered("word")
    if "turns" in given and isinstance(session := given.get("session"), str):
        given["session"] = _numbered(session)  # A stored session keeps its `part_of`.
    given.pop("clear", None)  # A request may not set and clear a field.
    given.pop("from_start", None)  # Not beside a cursor.
