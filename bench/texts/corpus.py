"""Real text of every clone: this repository's docs, the standard library's docstrings, Python's own reference and the
docstrings of numpy. The last are there because some distributions leave a part of the others out.

Nothing is generated and nothing is repeated. The order is fixed, so two runs on one Python see the same texts.
"""

from __future__ import annotations

import ast
import json
import re
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy

from mnemesh_memory.secrets import find_secret

SENTENCE_CHARS_MIN = 40
SENTENCE_CHARS_MAX = 400
REPOSITORY = Path(__file__).resolve().parents[2]
# Not prose that someone would remember: tests, vendored code, tables.
LEFT_OUT = {
    "test", "tests", "idle_test", "site-packages", "dist-packages", "ensurepip", "lib2to3", "encodings", "pydoc_data",
}  # fmt: skip
SUFFIXES = (".md", ".txt", ".rst")


def sentences(source: Path | None = None) -> list[str]:
    """Distinct sentences of 40 to 400 characters: of `source`, else of the texts of this module. `source` is a file or
    folder of text, Markdown or JSONL with a `content` field. Raises ValueError when there are none."""
    found = _distinct(_blocks_of(source) if source else _default_blocks())
    if not found:
        raise ValueError(f"{source or 'the standard library'} holds no sentence of {SENTENCE_CHARS_MIN} characters")
    return found


def standard_library() -> list[str]:
    """Distinct sentences of the standard library's docstrings alone, by module."""
    return _distinct(_docstrings_under(Path(sysconfig.get_path("stdlib"))))


def _distinct(blocks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sentence for block in blocks for sentence in split(block)))


def split(block: str) -> Iterator[str]:
    """The sentences of a block of prose; code, tables and signatures are left out."""
    for paragraph in re.split(r"\n\s*\n", block):
        text = " ".join(paragraph.split())
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text):
            prose = sum(char.isalpha() or char == " " for char in sentence) > 0.8 * len(sentence)
            # One of the docstrings shows a password, which a node refuses.
            if SENTENCE_CHARS_MIN <= len(sentence) <= SENTENCE_CHARS_MAX and prose and not find_secret(sentence):
                yield sentence


def _default_blocks() -> Iterator[str]:
    yield from _blocks_of(REPOSITORY / "docs")
    yield from _blocks_of(REPOSITORY / "ARCHITECTURE.md")
    library = Path(sysconfig.get_path("stdlib"))
    yield from _docstrings_under(library)
    yield from _reference(library / "pydoc_data" / "topics.py")
    yield from _docstrings_under(Path(numpy.__file__).parent)


def _docstrings_under(library: Path) -> Iterator[str]:
    for path in sorted(library.rglob("*.py")):
        if not LEFT_OUT & set(path.relative_to(library).parts):
            yield from docstrings(path)


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of one Python file; a file of another encoding or syntax has none."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if text := ast.get_docstring(node):
            yield text


def _reference(path: Path) -> Iterator[str]:
    """Python's language reference, as `help()` shows it; some distributions leave it out."""
    if not path.exists():
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 500:
            yield node.value


def _blocks_of(source: Path) -> Iterator[str]:
    files: Iterable[Path] = sorted(source.rglob("*")) if source.is_dir() else [source]
    for path in files:
        if path.suffix == ".jsonl":
            yield from (str(json.loads(line)["content"]) for line in path.read_text("utf-8").splitlines() if line)
        elif path.suffix in SUFFIXES:
            yield re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S)
