"""Markdown as memories, and the links of an export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh.api.batch import CONTENT_BYTES_MAX
from mnemesh.cli.imports.import_report import ImportReport
from mnemesh.cli.imports.import_state import ImportState
from mnemesh.cli.imports.links import LinkMover
from mnemesh.cli.imports.sources import FoundFiles
from mnemesh.errors import from_node
from mnemesh.importing import frontmatter
from mnemesh.importing.items import TITLE_BYTES_MAX, ImportItem, Problem, clip_title, pieces
from mnemesh.importing.markdown import parse_markdown, sections


def parsed(text: str, path: str = "notes/guide.md") -> tuple[list[dict[str, Any]], list[Problem]]:
    items = list(parse_markdown(text, path))
    entries = [{"line": item.line, **item.fields} for item in items if isinstance(item, ImportItem)]
    return entries, [item for item in items if isinstance(item, Problem)]


def titles(text: str) -> list[str]:
    return [entry["title"] for entry in parsed(text)[0]]


def test_a_section_is_a_memory_titled_by_the_headings_that_lead_to_it() -> None:
    entries, problems = parsed("intro\n\n# Guide\n\n## Setup\n\ninstall it\n\n## Use\n\nrun it\n\n# End\n\nbye\n")
    assert [(e["line"], e["title"], e["content"]) for e in entries] == [
        (1, "guide", "intro"),
        (5, "Guide > Setup", "## Setup\n\ninstall it"),
        (9, "Guide > Use", "## Use\n\nrun it"),
        (13, "End", "# End\n\nbye"),
    ]
    assert problems == []
    assert [e["source"] for e in entries] == [{"session": "import:notes/guide.md", "seq": n} for n in (1, 2, 3, 4)]
    assert {tuple(e["paths"]) for e in entries} == {("notes/guide.md",)}


def test_only_headings_of_commonmark_count() -> None:
    text = (
        "# A\n\n```sh\n# comment\n```\n\n    # code\n\n> # quoted\n\n- x\n\n  # in a list\n\n"
        "<!--\n# hidden\n-->\n#no\n\nB\n===\n\nb\n\nC\n---\n"
    )
    assert titles(text) == ["A", "B", "B > C"]


def test_a_heading_alone_is_kept_when_nothing_below_carries_it() -> None:
    assert titles("# A\n\n## B\n\n### C\n\ntext\n\n## D\n\n# E\n") == ["A > B > C", "A > D", "E"]


def test_line_endings_of_any_system_are_understood() -> None:
    entries, _ = parsed("# A\r\n\r\none\r\n\r\n# B\r\rtwo\r")
    assert [(e["line"], e["title"], e["content"]) for e in entries] == [
        (1, "A", "# A\r\n\r\none"),
        (5, "B", "# B\r\rtwo"),
    ]


def test_a_file_without_headings_is_one_memory_named_after_it() -> None:
    assert titles("just text\n") == ["guide"]
    assert parsed("")[0] == parsed("\n \n")[0] == []


def test_front_matter_describes_all_sections() -> None:
    text = (
        "---\ntitle: Handbook\nkind: procedure\ntags: '#ops, deploy'\nimportance: 0.5\nkeywords: a b, c\n"
        "valid_from: 2026-05-01\nattrs: {team: core}\nid: abc\nauthor: Ann\n---\n# One\n\nx\n\n# Two\n\ny\n"
    )
    entries, problems = parsed(text)
    assert [entry["title"] for entry in entries] == ["Handbook > One", "Handbook > Two"]
    for entry in entries:
        assert (entry["kind"], entry["tags"], entry["importance"]) == ("procedure", ["ops", "deploy"], 0.5)
        assert (entry["keywords"], entry["valid_from"], entry["attrs"]) == (
            ["a b", "c"],
            "2026-05-01",
            {"team": "core"},
        )
    assert [(p.line, p.refused, "'author'" in p.message) for p in problems] == [(10, False, True)]


def test_a_hash_is_a_part_of_a_tag_that_stands_in_a_list() -> None:
    entries, _ = parsed("---\ntags: ['#1', ops]\n---\nx\n")
    assert [entry["tags"] for entry in entries] == [["#1", "ops"]]


def test_the_title_of_the_front_matter_is_not_said_twice() -> None:
    assert titles("---\ntitle: Guide\n---\n# Guide\n\n## Use\n\nx\n") == ["Guide > Use"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nkind: fact\ntags: [a\n---\nbody\n", 4),
        ("---\nkind:\n  - a\n---\nbody\n", 2),
        ("---\ntitle: x\nimportance: high\n---\nbody\n", 3),
        ("---\nsource: {seq: one}\n---\nbody\n", 2),
        ("---\ntags: [{a: b}]\n---\nbody\n", 2),
        ("---\na: \x07\n---\nbody\n", 2),
        ("---\n" + "[" * 3000 + "\n---\nbody\n", 1),
    ],
)
def test_front_matter_that_can_not_be_used_refuses_the_file_with_its_line(text: str, line: int) -> None:
    entries, (problem,) = parsed(text)
    assert (entries, problem.line, problem.refused) == ([], line, True)


@pytest.mark.parametrize("text", ["---\n\nan ornament\n\n---\n\nmore\n", "---\nnever: closed\n", "----\na: b\n---\n"])
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    kept = "".join(entry["content"] for entry in parsed(text)[0])
    assert "".join(kept.split()) == "".join(text.split())


def test_a_section_that_is_too_long_is_split_at_paragraphs_and_said_so() -> None:
    paragraphs = [f"paragraph {i} " + "word " * 100 for i in range(100)]
    entries, (problem,) = parsed("# Long\n\n" + "\n\n".join(paragraphs))
    assert [entry["title"] for entry in entries] == ["Long (1/2)", "Long (2/2)"]
    assert all(len(entry["content"].encode()) <= CONTENT_BYTES_MAX for entry in entries)
    assert entries[1]["content"].startswith("paragraph ")
    assert (problem.refused, "2 parts" in problem.message) == (False, True)


@settings(max_examples=200)
@given(st.text(alphabet="ab \n#-=>`é😀\t", max_size=200))
def test_no_character_of_a_file_is_lost(text: str) -> None:
    """Except blanks at borders, and headings that stand in the titles below them."""
    path = list(sections(text))
    kept = "".join(
        "".join(section.text.split()) + "".join("".join(s.split()) for s in section.path) for section in path
    )
    missing = set("".join(text.split())) - set(kept) - set("#=-")
    assert missing == set()


@given(st.text(alphabet="ab \n\ré😀", max_size=300), st.integers(4, 50))
def test_pieces_fit_and_together_are_the_text(text: str, bytes_max: int) -> None:
    parts = pieces(text, bytes_max)
    assert all(0 < len(part.encode()) <= bytes_max for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.lists(st.text(max_size=150), min_size=1, max_size=5), st.sampled_from(["", " (1/3)"]))
def test_a_title_always_fits_and_keeps_its_mark(parts: list[str], mark: str) -> None:
    title = clip_title(tuple(parts), mark)
    assert len(title.encode("utf-8", "surrogatepass")) <= TITLE_BYTES_MAX
    assert title.endswith(mark)
    assert title.isprintable()


FIELDS = st.recursive(
    st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@settings(max_examples=300)
@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), FIELDS, min_size=1, max_size=4),
    st.text(max_size=60),
)
def test_written_front_matter_is_read_back_as_it_was(fields: dict[str, Any], body: str) -> None:
    document = frontmatter.read(frontmatter.write(fields) + body)
    assert (document.fields, document.body) == (fields, body)


# ---- import links ----------------------------------------------------------------------------------------------------
# Links of an export after its import: memories have new ids, and links lead to the new ids.


class Node:
    """Takes links as a node would, refuses links to `refused`, and records every call."""

    def __init__(self, refused: str = "") -> None:
        self.asked: list[str] = []
        self._refused = refused

    def unlink(self, id: str, type: str, to: str, wait: str) -> None:
        self.asked.append(f"unlink {id} {type} {to}")

    def link(self, id: str, type: str, to: str, wait: str) -> None:
        if to == self._refused:
            raise from_node("FAILED_PRECONDITION", "it is forgotten", {})
        self.asked.append(f"link {id} {type} {to}")


def exported(origin: str, *links: str) -> ImportItem:
    given = [dict(zip(("type", "id"), link.split(":"), strict=True)) for link in links]
    return ImportItem(
        line=1, fields={"content": "x", "links": given, "idempotency_key": f"key-{origin}"}, origin=origin
    )


def moved(node: Node, state: ImportState, report: ImportReport, link: str = "see-also:b") -> list[str]:
    """The calls to the node after an import of three memories with links to each other and to a fourth."""
    mover = LinkMover()
    mover.stored("a.jsonl", exported("a", link, "supports:elsewhere"), "new-a")
    mover.stored("a.jsonl", exported("b", "part-of:c"), "new-b")
    mover.stored("a.jsonl", exported("c", "see-also:c-itself"), "c")
    mover.stored("a.txt", ImportItem(line=1, fields={"content": "no memory of an export"}), "d")
    mover.move(node, state, report)  # type: ignore[arg-type]  # of a client it needs these two methods
    return node.asked


def test_links_within_an_export_lead_to_the_new_memories_once(tmp_path: Path) -> None:
    report = ImportReport(FoundFiles())
    state = ImportState(tmp_path / "state")
    assert moved(Node(), state, report) == [
        "unlink new-a see-also b", "link new-a see-also new-b",
    ]  # fmt: skip
    assert moved(Node(), state, report) == []
    assert report.notices == []


def test_a_decision_that_both_hold_is_led_to_the_new_memory_without_a_gap(tmp_path: Path) -> None:
    asked = moved(Node(), ImportState(tmp_path / "state"), ImportReport(FoundFiles()), "both-hold:b")
    assert asked == ["link new-a both-hold new-b", "unlink new-a both-hold b"]


@pytest.mark.parametrize("type_", ["contradicts", "may-replace"])
def test_a_question_that_is_led_to_the_new_memory_leaves_no_decision_on_the_old_id(tmp_path: Path, type_: str) -> None:
    asked = moved(Node(), ImportState(tmp_path / "state"), ImportReport(FoundFiles()), f"{type_}:b")
    assert asked == [f"unlink new-a {type_} b", "unlink new-a both-hold b", f"link new-a {type_} new-b"]


def test_a_link_that_the_node_refuses_is_said_and_tried_again_by_the_next_run(tmp_path: Path) -> None:
    report = ImportReport(FoundFiles())
    state = ImportState(tmp_path / "state")
    assert moved(Node(refused="new-b"), state, report) == ["unlink new-a see-also b"]
    (said,) = report.notices
    assert "see-also b could not be led to new-b" in said["message"]
    assert moved(Node(), state, report) == ["unlink new-a see-also b", "link new-a see-also new-b"]
