"""A memory at every maximum is one change; what does not fit is refused by name. Sizes are printed (seed 7)."""

from __future__ import annotations

import random
import string
from dataclasses import replace

import pytest
from crdt_scenarios import actor, created, document, put

from mnemesh_crdt.document import document as document_module
from mnemesh_crdt.document.document import Edit
from mnemesh_crdt.document.revisions import heads
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_memory.values.model import Link, Source


def _fill(letters: str, *, paths: int) -> Edit:
    """A `remember` at every maximum, of incompressible text."""
    chance = random.Random(7)

    def text(size: int) -> str:
        return "".join(chance.choices(letters, k=size))

    def texts(count: int, size: int) -> tuple[str, ...]:
        return tuple(text(size) for _ in range(count))

    fields = put(
        text(limits.CONTENT_BYTES_MAX),
        attrs={text(limits.ATTR_KEY_BYTES_MAX): text(limits.ATTR_VALUE_BYTES_MAX) for _ in range(limits.ATTRS_MAX)},
        keywords=texts(limits.KEYWORDS_MAX, limits.KEYWORD_BYTES_MAX),
        refs=texts(paths, limits.PATH_BYTES_MAX),
        importance=0.123456789,
        valid_from=1_770_000_000_000,
        valid_to=1_770_000_000_001,
        source=Source(text(limits.SESSION_BYTES_MAX), text(limits.PATH_BYTES_MAX), 2**32 - 1),
    )
    ids = [
        "018f6f0e-7c1a-7000-8000-" + "".join(chance.choices("0123456789abcdef", k=12)) for _ in range(limits.LINKS_MAX)
    ]
    return Edit(
        revision=replace(fields, title=text(limits.TITLE_BYTES_MAX), by=text(limits.AGENT_BYTES_MAX)),
        tags_put=texts(limits.TAGS_MAX, limits.TAG_BYTES_MAX),
        links_put=tuple(Link("superseded-by", one) for one in ids),
        at=1_770_000_000_000,
    )


PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "


@pytest.mark.parametrize(
    ("letters", "paths"),
    [
        pytest.param(PRINTABLE, 0, id="printable ASCII without paths"),
        pytest.param(PRINTABLE, limits.PATHS_MAX, id="printable ASCII"),
        pytest.param("".join(map(chr, range(1, 128))), limits.PATHS_MAX, id="all ASCII"),
    ],
)
def test_a_memory_at_every_maximum_fits_one_change(letters: str, paths: int) -> None:
    edit = _fill(letters, paths=paths)
    doc = document()
    change = doc.write(edit, actor(1))
    assert change is not None
    print(f"every maximum, {len(letters)} letters, {paths} paths: {len(change.raw)} of {limits.CHANGE_BYTES_MAX} bytes")
    assert len(change.raw) <= limits.CHANGE_BYTES_MAX
    assert edit.revision is not None
    assert document(change.raw).state() == doc.state()
    assert next(iter(doc.state().revisions.values())).content == edit.revision.content


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("x" * limits.CHANGE_INFLATED_BYTES_MAX, id="compressible"),
        pytest.param("".join(random.Random(7).choices(PRINTABLE, k=220_000)), id="incompressible"),
    ],
)
def test_a_change_over_its_limit_is_refused_by_name_and_changes_nothing(content: str) -> None:
    doc = document(created())
    before = doc.state()
    with pytest.raises(InvalidArgument) as caught:
        doc.write(Edit(revision=put(content, heads(before)), at=1), actor(2))
    assert caught.value.fields["field"] == "change"
    assert str(limits.CHANGE_BYTES_MAX) in caught.value.fields["limit"]
    assert doc.state() == before


def test_a_large_change_is_logged_deflated_and_keeps_its_hash() -> None:
    doc = document()
    change = doc.write(Edit(revision=put("word " * 2000), at=1), actor(1))
    assert change is not None
    assert len(change.raw) < document_module.DEFLATE_OVER_BYTES
    assert document(change.raw).heads() == doc.heads() == (change.hash,)
