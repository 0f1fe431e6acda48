"""Files that memories name: found in a text, recorded, compared when shown, never read outside their project."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_scene import running

from mnemesh_actors.files.project_files import ABSENT, ROOTS_MAX, FileStates, ProjectRoots, blob_hash
from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.policy import file_references
from mnemesh_memory.policy.file_references import CANDIDATES_MAX, REFERENCES_MAX, Reference
from mnemesh_memory.values.limits import ATTRS_MAX
from mnemesh_memory.values.model import Caller, Draft, ListQuery, Memory, Patch, Query

PROPERTY = settings(max_examples=200, derandomize=True, database=None)
SPACE = "acme/api"


# ---- in a text -------------------------------------------------------------------------------------------------------


def test_names_of_files_are_found_in_a_text() -> None:
    text = (
        "The limit is in src/auth/tokens.py:42 and `lib/x.rs::parse`, see https://example.org/a/b.html, ./run.sh, "
        "README.md. Not v1.2, e.g. this; /etc/hosts is absolute, me@host.example no path, ../up.py leaves."
    )
    assert file_references.candidates(text, ("docs/a b.md", "src/*.py")) == (
        "docs/a b.md", "src/auth/tokens.py", "lib/x.rs", "./run.sh", "README.md", "e.g", "/etc/hosts",
        "me@host.example", "../up.py",
    )  # fmt: skip


@PROPERTY
@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=80))
def test_what_a_text_names_is_bounded_and_stays_below_its_root(text: str, paths: list[str]) -> None:
    found = file_references.candidates(text, paths)
    assert len(found) <= CANDIDATES_MAX
    for path in found:
        below = file_references.below(path)
        assert ".." not in below.split("/")
        assert not below.startswith("/")


@PROPERTY
@given(
    st.dictionaries(st.text("abc", max_size=3), st.text(max_size=5), max_size=10),
    st.lists(st.sampled_from(["src/x.py", "a b.md", "x"]), max_size=20),
)
def test_recorded_references_are_read_again_beside_other_attributes(attrs: dict[str, str], paths: list[str]) -> None:
    references = tuple(Reference(path, blob_hash(path.encode())) for path in paths)[:REFERENCES_MAX]
    made = file_references.recording(attrs, references)
    assert file_references.recorded(made) == references
    assert file_references.without(made) == attrs
    assert file_references.recording(made, ()) == attrs


def test_words_of_another_node_that_are_no_reference_are_none() -> None:
    digest = "a" * 40
    for value in ("", "src/x.py", f"{digest} ../x.py", f"{digest} /etc/hosts", f"{digest} a/../b", f"{digest} a\nb"):
        assert file_references.recorded({"ref.1": value}) == ()
    full = {f"k{n}": "" for n in range(ATTRS_MAX)}
    assert file_references.recording(full, [Reference("x.py", digest)]) == full


# ---- on disk ---------------------------------------------------------------------------------------------------------


def test_a_hash_is_the_one_of_git_and_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_text("secret")
    (root / "a.txt").write_text("hello\n")
    os.symlink("a.txt", root / "inner")
    os.symlink(outside, root / "outer")
    os.symlink(tmp_path, root / "up")
    os.mkfifo(root / "pipe")
    states = FileStates()
    hashes = {name: states.hash_of(str(root), name) for name in os.listdir(root)}
    known = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    assert hashes == {"a.txt": known, "inner": known, "outer": None, "up": None, "pipe": None}
    for path in ("../outside.txt", "up/outside.txt", str(outside), ".", ""):
        assert states.hash_of(str(root), path) is None
    assert states.hash_of(str(root), "missing/x") == ABSENT
    assert states.hash_of(str(root), "a.txt/x") == ABSENT


def test_roots_are_kept_the_latest_first_and_only_projects_are(tmp_path: Path) -> None:
    roots = ProjectRoots(tmp_path)
    places = [tmp_path / f"tree{n}" for n in range(ROOTS_MAX + 2)]
    for place in places:
        (place / ".git").mkdir(parents=True)
        roots.learn(SPACE, str(place))
    roots.learn(SPACE, str(tmp_path))  # no project
    roots.learn(SPACE, f"{places[0]}/../tree0")
    kept = tuple(map(str, places[:1:-1]))
    assert ProjectRoots(tmp_path).of(SPACE) == kept
    owner = Caller("owner", "owner", default_space=SPACE, root=str(places[0]))
    assert roots.teaches(owner)
    assert not roots.teaches(replace(owner, root=kept[0]))
    assert not roots.teaches(replace(owner, role="writer"))
    for damaged in ("[1", "[1]", '{"a": 1}'):
        (tmp_path / "roots.json").write_text(damaged)
        assert ProjectRoots(tmp_path).of(SPACE) == ()


# ---- in a node -------------------------------------------------------------------------------------------------------


def git(tree: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(tree), *words], check=True, capture_output=True)


@pytest.mark.asyncio
async def test_a_memory_is_stale_exactly_while_a_file_that_it_names_differs(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    file, other = tree / "src/limits.py", tree / "src/other.py"
    file.write_text("LIMIT = 15\n")
    other.write_text("")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    owner = Caller("owner", "owner", default_space=SPACE, root=str(tree))
    far = replace(owner, root="/nowhere/at/all")
    async with running(tmp_path / "data") as mesh:

        async def write(content: str, caller: Caller = owner) -> Memory:
            return (await mesh.remember(caller, Draft(content=content, space=SPACE, force=True))).memory

        named = await write("The limit is 15 minutes, set in src/limits.py:1.")
        await write("The harbour has nothing to do with files.")
        assert file_references.recorded(named.attrs) == (Reference("src/limits.py", blob_hash(b"LIMIT = 15\n")),)

        async def stale() -> tuple[str, ...]:
            (memory,), _ = await mesh.get(far, [named.id])
            (hit,) = (await mesh.recall(far, Query(text="limit minutes", spaces=(SPACE,), limit=1))).results
            listed = [one for one in (await mesh.list(far, ListQuery(spaces=(SPACE,)))).memories if one.stale]
            assert memory.stale == hit.memory.stale == (listed[0].stale if listed else ())
            assert [one.id for one in listed] in ([], [named.id])
            return memory.stale

        assert await stale() == ()
        other.write_text("changed = 1\n")
        assert await stale() == ()
        file.write_text("LIMIT = 60\n")
        assert await stale() == ("names src/limits.py, which has changed since",)
        assert (await mesh.tidy(owner, "stale", "forget", (SPACE,))).ids == ()
        file.write_text("LIMIT = 15\n")
        assert await stale() == ()
        file.rename(tree / "src/moved.py")
        assert await stale() == ("names src/limits.py, which is gone",)
        assert await states(mesh, owner, named.id) == [("src/limits.py", "gone", "")]
        report = await mesh.hygiene(owner, (SPACE,))
        assert [(one.type, one.subject.memory.id, one.verdict) for one in report.findings if one.type == "stale"] == [
            ("stale", named.id, "names src/limits.py, which is gone")
        ]
        assert (await mesh.tidy(owner, "stale", "forget", (SPACE,))).ids == (named.id,)
        git(tree, "add", "-A")
        assert await stale() == ("names src/limits.py, which is now src/moved.py",)
        assert (await mesh.tidy(owner, "stale", "forget", (SPACE,))).ids == ()
        assert await states(mesh, owner, named.id) == [("src/limits.py", "renamed", "src/moved.py")]
        (tree / "src/moved.py").rename(file)
        kept = await mesh.anchor(owner, named.id, "It matters.")
        assert file_references.recorded(kept.memory.attrs) == file_references.recorded(named.attrs)
        again = await mesh.update(owner, named.id, Patch(content="The limit is in src/other.py."))
        assert [one.path for one in file_references.recorded(again.memory.attrs)] == ["src/other.py"]
        os.rename(tree, tmp_path / "elsewhere")
        assert await stale() == ()
        assert await states(mesh, owner, named.id) == [("src/other.py", "not checked here", "")]


async def states(mesh: Mesh, caller: Caller, id_: str) -> list[tuple[str, str, str]]:
    (found,) = (await mesh.validate(caller, id_)).memories
    return [tuple(one) for one in found.references]
