"""Plain text, JSON lines, keys and files: what an import takes, refuses and remembers having done."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh.api.values.memories import Link, Memory, Source
from mnemesh.cli.imports import sources
from mnemesh.cli.imports.import_state import ImportState
from mnemesh.cli.imports.memories import normal_form
from mnemesh.errors import InvalidArgument
from mnemesh.importing import export as exporter
from mnemesh.importing import items as importer
from mnemesh.importing.items import Defaults, ImportItem, Problem, finish, parse_jsonl, parse_text, session_of
from mnemesh.importing.markdown import parse_markdown
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.text.text import normalise
from mnemesh_memory.values import limits


def memory(**fields: Any) -> Memory:
    """A memory with every field set, and what a test wants different."""
    given_fields: dict[str, Any] = {
        "id": "018f6f0e-7c1a-7000-8000-3f1f8d2f6a11", "space": "team/payments", "kind": "decision", "title": "Deploys",
        "content": "Deploys run from CI only", "state": "active", "tags": ("ci", "deploy: all"), "importance": 0.8,
        "tier": "pinned", "paths": ("ci/*.yml",), "source": Source(session="s1", dir="/src", seq=3),
        "valid_from": datetime(2026, 5, 1, 12, 0, 0, 123000, tzinfo=UTC), "valid_to": None, "keywords": ("release",),
        "attrs": {"owner": "Ann #1"}, "links": (Link(type="see-also", id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"),),
        "by": "owner/claude", "created_at": datetime(2026, 5, 1, tzinfo=UTC), "updated_at": None, "heads": ("1@a",),
        "version": 1, "conflicts": (), "superseded_by": "", "suspicious": False,
    }  # fmt: skip
    return Memory(**{**given_fields, **fields})


def lines(*texts: str) -> list[ImportItem | Problem]:
    return list(parse_jsonl(enumerate(texts, 1)))


def test_plain_text_is_gathered_by_paragraphs_of_about_1500_characters() -> None:
    paragraphs = [f"{i} " + "word " * 80 for i in range(10)]
    entries = [item for item in parse_text("\n\n".join(paragraphs), "log/day.txt") if isinstance(item, ImportItem)]
    assert [entry.fields["title"] for entry in entries] == [
        "day.txt",
        "day.txt, part 2",
        "day.txt, part 3",
        "day.txt, part 4",
    ]
    assert all(len(entry.fields["content"]) <= importer.TEXT_CHARS for entry in entries)
    assert [entry.line for entry in entries] == [1, 7, 13, 19]


def test_a_paragraph_over_the_limit_is_split_and_said_so() -> None:
    items = list(parse_text("x" * 40_000, "big.txt"))
    assert isinstance(items[0], Problem)
    assert items[0].refused is False
    assert [len(item.fields["content"]) for item in items[1:] if isinstance(item, ImportItem)] == [32_768, 7_232]


@given(st.text(alphabet="ab \n\té😀", max_size=400))
def test_no_word_of_a_plain_text_is_lost(text: str) -> None:
    kept = "".join(item.fields["content"] for item in parse_text(text, "f.txt") if isinstance(item, ImportItem))
    assert "".join(kept.split()) == "".join(text.split())


def test_an_exported_line_gives_the_fields_of_remember() -> None:
    (item,) = lines(exporter.jsonl_line(memory()))
    assert isinstance(item, ImportItem)
    assert item.fields == {
        "space": "team/payments", "kind": "decision", "title": "Deploys", "content": "Deploys run from CI only",
        "tags": ["ci", "deploy: all"], "importance": 0.8, "tier": "pinned", "paths": ["ci/*.yml"],
        "source": {"session": "s1", "dir": "/src", "seq": 3}, "valid_from": "2026-05-01T12:00:00.123Z",
        "created_at": "2026-05-01T00:00:00Z", "keywords": ["release"], "attrs": {"owner": "Ann #1"},
        "links": [{"type": "see-also", "id": "018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"}],
    }  # fmt: skip


def test_a_line_of_the_http_export_is_the_memory_in_it() -> None:
    bare = exporter.jsonl_line(memory())
    assert lines(f'{{"memory": {bare.strip()}}}') == lines(bare)
    (problem,) = lines('{"memory": "text"}')
    assert isinstance(problem, Problem)
    assert "no JSON object" in problem.message


def test_bad_lines_are_reported_by_number_and_the_rest_goes_on() -> None:
    items = lines(
        '{"content": "good"}', "", "{broken", "[1]", '{"content": "x", "contnt": 1}',
        '{"content": "a", "content": "b"}',
        '{"tags": "no list"}', "[" * 100_000, '{"content": "also good"}',
    )  # fmt: skip
    assert [item.line for item in items if isinstance(item, ImportItem)] == [1, 9]
    problems = [item for item in items if isinstance(item, Problem)]
    assert [(problem.line, problem.refused) for problem in problems] == [(n, True) for n in (3, 4, 5, 6, 7, 8)]
    assert "'contnt'" in problems[2].message
    assert problems[0].message == "no JSON object: a field name in double quotes is missing (column 2)"
    assert problems[5].message == "no JSON object: it is nested too deeply"


@pytest.mark.parametrize("state", ["forgotten", "superseded"])
def test_a_memory_that_is_not_active_is_not_brought_back_to_life(state: str) -> None:
    (from_line,) = lines(exporter.jsonl_line(memory(state=state)))
    (from_file,) = parse_markdown(exporter.markdown_text(memory(state=state)), "x.md")
    for item in (from_line, from_file):
        assert isinstance(item, Problem)
        assert (item.refused, state in item.message) == (False, True)


@pytest.mark.parametrize("others", [(), (Link(type="see-also", id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"),)])
def test_links_that_only_a_node_writes_are_left_out_and_said_so(others: tuple[Link, ...]) -> None:
    old = (Link(type="supersedes", id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a13"),)
    for items, plain in (
        (lines(exporter.jsonl_line(memory(links=old + others))), lines(exporter.jsonl_line(memory(links=others)))),
        (
            list(parse_markdown(exporter.markdown_text(memory(links=old + others)), "x.md")),
            list(parse_markdown(exporter.markdown_text(memory(links=others)), "x.md")),
        ),
    ):
        said, item = items
        assert isinstance(said, Problem)
        assert (said.refused, "1 link of type supersedes" in said.message) == (False, True)
        assert isinstance(item, ImportItem)
        (same,) = (one for one in plain if isinstance(one, ImportItem))
        finished = [finish(one, "x", Defaults()).fields for one in (item, same)]
        assert finished[0] == finished[1]


def test_an_exported_markdown_file_is_one_memory_as_it_was() -> None:
    (from_line,) = lines(exporter.jsonl_line(memory()))
    (from_file,) = parse_markdown(exporter.markdown_text(memory()), "any name.md")
    assert isinstance(from_line, ImportItem)
    assert isinstance(from_file, ImportItem)
    links = ["see-also:018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"]
    assert dict(from_file.fields) == {**from_line.fields, "links": links}


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(min_size=1, max_size=200),
        st.text(alphabet="-# a\n\r:", min_size=1, max_size=30),
        st.sampled_from(["---\n", "a\n---\nb\n", "\n\nx\n\n", "# H\n\nx\n# I\n", "\ufeffx", "x\r\n"]),
    ),
    st.text(max_size=40),
)
def test_any_content_and_title_come_back_from_markdown_exactly(content: str, title: str) -> None:
    (item,) = parse_markdown(exporter.markdown_text(memory(content=content, title=title)), "x.md")
    assert isinstance(item, ImportItem)
    assert (item.fields["content"], item.fields.get("title", "")) == (content, title)


def test_a_newer_form_of_export_is_refused() -> None:
    text = exporter.markdown_text(memory()).replace('mnemesh: "1"', 'mnemesh: "2"')
    (item,) = parse_markdown(text, "x.md")
    assert isinstance(item, Problem)
    assert (item.line, item.refused) == (2, True)


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3))
def test_no_title_or_space_leads_out_of_the_export_directory(title: str, segments: list[str]) -> None:
    path = exporter.markdown_path(memory(title=title, space="/".join(segments)))
    assert not path.is_absolute()
    assert not {"..", ".", ""} & set(path.parts)
    assert all(len(part.encode()) <= 200 and part.isprintable() for part in path.parts)
    assert not set('\\:*?"<>|#^[]') & set(str(path))


def test_two_memories_of_one_title_have_two_files() -> None:
    other = memory(id="018f6f0e-7c1a-7000-8000-3f1f8d2f6a13")
    assert exporter.markdown_path(memory()) != exporter.markdown_path(other)
    assert str(exporter.markdown_path(memory(space="@ann", title="a/b: c"))) == "@ann/a b c 3f1f8d2f6a11.md"


def test_what_the_importer_says_of_all_items_joins_what_they_say_themselves() -> None:
    entry = ImportItem(line=1, fields={"content": "x", "tags": ["a"], "space": "own", "title": ""})
    bare = ImportItem(line=1, fields={"content": "x"})
    defaults = Defaults(home="project", kind="decision", tags=("a", "b"))
    done, plain = (finish(item, "f", defaults).fields for item in (entry, bare))
    assert (done["space"], done["kind"], done["tags"], "title" in done) == ("own", "decision", ["a", "b"], False)
    assert (plain["space"], plain["tags"]) == ("project", ["a", "b"])
    assert finish(entry, "f", Defaults(space="forced", home="project")).fields["space"] == "forced"


def test_a_key_is_the_same_for_the_same_item_and_another_for_any_other() -> None:
    def key(path: str = "a.md", **fields: Any) -> str:
        return str(
            finish(ImportItem(line=7, fields={"content": "x", **fields}), path, Defaults()).fields["idempotency_key"]
        )

    assert key() == finish(ImportItem(line=99, fields={"content": "x"}), "a.md", Defaults()).fields["idempotency_key"]
    assert len({key(), key("b.md"), key(content="y"), key(title="t"), key(space="s"), key(tags=["a"])}) == 6
    assert find_secret(key()) is None
    assert len(key()) <= 200


def sessions(root: Path) -> dict[str, set[str]]:
    """The sessions of what lies at `root`, by the names of its files."""
    return {
        file.name: {item.fields["source"]["session"] for item in sources.parsed(file) if isinstance(item, ImportItem)}
        for file in sources.find(root).files
    }


def test_files_of_one_name_in_two_folders_have_sessions_of_their_own_again_and_again(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder / "sub").mkdir(parents=True)
        for name in ("README.md", "sub/README.md", "notes.txt"):
            (tmp_path / folder / name).write_text(f"# A\n\n{folder}\n\n# B\n\n{folder}\n", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    first, second = sessions(tmp_path / "one"), sessions(tmp_path / "two")
    assert {len(found) for found in (*first.values(), *second.values())} == {1}
    assert len(set().union(*first.values(), *second.values())) == 6
    assert all(min(found).startswith(f"import:{name}#") for name, found in first.items())
    assert sessions(tmp_path / "one") == sessions(tmp_path / "link") == first
    assert sessions(tmp_path / "one/README.md") == {"README.md": first["README.md"]}


def test_a_session_is_never_longer_than_one_may_be() -> None:
    assert len(session_of("ü" * 300 + ".md", "/place").encode()) <= limits.SESSION_BYTES_MAX
    assert session_of("a.md", "/one/\udcff") != session_of("a.md", "/two/\udcff")


def tree(root: Path) -> None:
    (root / "docs" / "deep").mkdir(parents=True)
    (root / ".obsidian").mkdir()
    (root / "docs" / "a.md").write_text("# A\n\ntext\n")
    (root / "docs" / "deep" / "b.TXT").write_text("text\n")
    (root / "c.jsonl").write_text('{"content": "c"}\n')
    (root / "code.py").write_text("print()\n")
    (root / ".env").write_text("PASSWORD=x\n")
    (root / ".obsidian" / "x.md").write_text("hidden\n")
    (root / "photo.md").write_bytes(b"PNG\0\0")
    (root.parent / "outside.md").write_text("not yours\n")
    (root / "link.md").symlink_to(root.parent / "outside.md")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.txt")


def test_hidden_binary_linked_and_other_files_are_left_out_and_counted(tmp_path: Path) -> None:
    tree(tmp_path / "in")
    found = sources.find(tmp_path / "in")
    assert [(file.name, file.format) for file in found.files] == [
        ("c.jsonl", "jsonl"), ("docs/a.md", "markdown"), ("docs/deep/b.TXT", "text"),
    ]  # fmt: skip
    assert found.skipped == {"hidden": 2, "binary": 1, "symbolic link": 2, "other type": 2}


@pytest.mark.parametrize("name", ["node_modules", "venv", "__pycache__", "site-packages", "bower_components"])
def test_what_tools_installed_is_left_out_of_a_directory_and_read_when_it_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "docs" / name / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("mine")
    (tmp_path / "docs" / name / "deep" / "README.md").write_text("theirs")
    found = sources.find(tmp_path)
    assert ([file.name for file in found.files], found.skipped) == (["docs/a.md"], {f"folder {name}": 1})
    assert [file.name for file in sources.find(tmp_path / "docs" / name).files] == ["deep/README.md"]
    (tmp_path / "venv.md").write_text("about virtual environments")
    assert len(sources.find(tmp_path).files) == 2


def test_a_named_file_that_is_not_readable_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photo.md").write_bytes(b"PNG\0\0")
    with pytest.raises(InvalidArgument, match="this is binary"):
        sources.find(tmp_path / "photo.md")
    monkeypatch.setattr(sources, "FILE_BYTES_MAX", 4)
    (tmp_path / "long.txt").write_text("longer than that")
    with pytest.raises(InvalidArgument, match="this is over"):
        sources.find(tmp_path / "long.txt")


def test_several_that_were_named_are_read_in_their_order_and_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b.md", "in/a.md", "in/c.md"):
        (tmp_path / name).write_text(name)
    (tmp_path / "photo.png").write_bytes(b"PNG\0\0")
    named = [tmp_path / name for name in ("in/c.md", "b.md", "in", "photo.png", "b.md")]
    found = sources.find_all(named)
    assert [file.name for file in found.files] == ["c.md", "b.md", "a.md"]
    assert found.skipped == {"binary": 1}
    assert sources.find_all(named[2:3]) == sources.find(tmp_path / "in")
    with pytest.raises(InvalidArgument, match="this is binary"):
        sources.find_all(named[3:4])
    with pytest.raises(InvalidArgument, match="No such file"):
        sources.find_all([*named, tmp_path / "nowhere"])


def test_a_file_that_becomes_a_link_after_it_was_found_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (file,) = sources.find(tmp_path).files
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").symlink_to("/etc/hostname")
    (item,) = sources.parsed(file)
    assert isinstance(item, Problem)
    assert item.refused is True


def test_what_can_not_be_read_is_named_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt", "closed"):
        (tmp_path / name).mkdir() if name == "closed" else (tmp_path / name).write_text(name)
    opened, scanned = sources.open_no_link, os.scandir

    def refuse(path: Path) -> Any:
        if path.name in ("b.txt", "closed"):
            raise PermissionError(13, "Permission denied")
        return opened(path) if path.is_file() else scanned(path)

    monkeypatch.setattr(sources, "open_no_link", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    found = sources.find(tmp_path)
    assert [file.name for file in found.files] == ["a.txt"]
    assert found.unreadable == [("b.txt", "Permission denied"), ("closed/", "Permission denied")]


def test_a_single_file_is_read_by_its_ending_or_as_told(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("# A\n\nx\n")
    assert [file.format for file in sources.find(tmp_path / "notes").files] == ["text"]
    assert [file.format for file in sources.find(tmp_path / "notes", "markdown").files] == ["markdown"]
    for path, form in ((tmp_path / "gone", ""), (tmp_path / "notes", "docx")):
        with pytest.raises(InvalidArgument):
            sources.find(path, form)


def test_text_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo \xff\n")
    (tmp_path / "b.jsonl").write_bytes(b'{"content": "x"}\n{"content": "\xff"}\n{"content": "y"}')
    (tmp_path / "c.md").write_bytes("\ufeff# A\n\nx\n".encode())
    a, b, c = (list(sources.parsed(file)) for file in sources.find(tmp_path).files)
    assert [(item.line, isinstance(item, Problem)) for item in a] == [(2, True)]
    assert [(item.line, isinstance(item, Problem)) for item in b] == [(1, False), (2, True), (3, False)]
    assert isinstance(c[0], ImportItem)
    assert c[0].fields["content"] == "# A\n\nx"


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    long = json.dumps({"content": "x" * (2 * sources.LINE_BYTES_MAX)})
    (tmp_path / "a.jsonl").write_text(f'{long}\n{{"content": "y"}}\n')
    items = list(sources.parsed(sources.find(tmp_path).files[0]))
    assert [(item.line, isinstance(item, Problem)) for item in items] == [(1, True), (2, False)]


def test_what_was_stored_is_known_to_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "imports" / "state.keys"
    state = ImportState(path)
    assert "import-a" not in state
    state.add(["import-a", "import-b"])
    assert "import-a" in state
    with path.open("a") as file:
        file.write("import-c-half-writ")
    state = ImportState(path)
    assert "import-b" in state
    assert "import-c-half-written" not in state
    state.add(["import-c-half-written"])
    state = ImportState(path)
    assert "import-c-half-written" in state
    forgetful = ImportState(None)
    forgetful.add(["import-a"])
    assert "import-a" not in forgetful


def test_the_memory_that_an_item_became_is_known_to_the_next_run(tmp_path: Path) -> None:
    path, id_ = tmp_path / "state.keys", "018f6f0e-7c1a-7000-8000-3f1f8d2f6a12"
    state = ImportState(path)
    state.add({"import-a": id_})
    state.add(["links-import-a"])
    with path.open("a") as file:
        file.write(f"import-b {id_[:20]}")
    state = ImportState(path)
    assert (state.id_of("import-a"), state.id_of("links-import-a"), state.id_of("import-b")) == (id_, "", "")
    assert ("import-a" in state, "links-import-a" in state, "import-b" in state) == (True, True, False)


def test_an_exported_memory_says_which_one_it_was() -> None:
    one = memory()
    from_line, from_file = lines(exporter.jsonl_line(one)), list(parse_markdown(exporter.markdown_text(one), "x.md"))
    assert [item.origin for item in (*from_line, *from_file) if isinstance(item, ImportItem)] == [one.id, one.id]


def test_a_state_file_that_can_not_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="--state"):
        ImportState(tmp_path)


@pytest.mark.parametrize("text", ["a shopping list\n", "\nimported things\n", "{}"])
def test_a_file_of_something_else_is_no_state_and_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=r"--state: .* is not allowed; a file that an import has written"):
        ImportState(path)
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "\n", "\nimpo", "\nlinks-import-3f", "import-3f 018f\nimport-40\n"])
def test_a_state_that_is_new_or_half_written_is_gone_on_with(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.keys"
    path.write_text(text)
    ImportState(path).add(["import-41"])
    assert "import-41" in ImportState(path)


@given(st.text(alphabet="abA \t\n\r\x85e\u0301\u00e9\u2028\u3000\ufb01", max_size=30))
def test_a_dry_run_takes_the_same_texts_for_one_as_the_node(text: str) -> None:
    assert normal_form(text) == normalise(text)
