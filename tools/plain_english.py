"""Find sentences that a reader has to read twice: in Markdown, comments, docstrings and messages of programs.

`make prose` prints every folder beside its limits. With ARGS='--worst 20 FILE...' the sentences of these files that
need an editor most come first.

Three habits are counted: a clause in the place of the subject, three or more vague pronouns, more than 25 words.
Cells of tables have a row of their own, and so have messages: the strings of a program that are neither SQL, a pattern
nor a list of words. Code is left out. The check fails when a row has a larger share of such sentences than it may have.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
WORDS_MAX = 25
WORDS_OF_A_SENTENCE = 4
PRONOUNS_MAX = 2
OPENING = re.compile(
    r"(?:What|Who|Whom|Whoever|Whatever|That which|Those who|Those that|Of what|Of those|None of what)\b"
)
PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|th(?:at|ose|ese)|ones?|wh(?:at|ich|o|ose)|so many|as much)\b", re.IGNORECASE
)
FENCE = re.compile(r"```.*?```", re.DOTALL)
PARAGRAPH_END = re.compile(r"\n\s*\n|\n(?=[-*|#]|\d+\. )")
LIST_MARK = re.compile(r"^[-*#>\d. ]+")
CODE_SPAN = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"(])")
CELL_END = re.compile(r"(?<!\\)\|")
PROTO_COMMENT = re.compile(r"(.*?)// ?(.*)")
NOT_PROSE = re.compile(r"\\[^\[]|\(\?|\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|WHERE|AND|OR|NULL)\b")
WORD_LIST = re.compile(r"(?:[^\s.,:;]+\s+){25,}[^\s.,:;]+")
# Their messages are those of the .proto files again.
GENERATED = re.compile(r"_pb2|/field_help\.py$")


@dataclass(frozen=True, slots=True)
class Shares:
    """Percentages of the sentences of a folder, counted or allowed."""

    openings: float
    pronouns: float
    long: float

    def exceeds(self, limit: Shares) -> bool:
        """Whether any share is larger than allowed."""
        return self.openings > limit.openings or self.pronouns > limit.pronouns or self.long > limit.long


FINAL = Shares(openings=0.5, pronouns=5.0, long=6.0)
# A ratchet: these folders don't keep the final limits yet. A figure here only ever goes down.
ALLOWED: dict[str, Shares] = {}
# Strings of tests and benchmarks are data. Those of tools are pages, which count as pages.
WITHOUT_MESSAGES = ("tests", "bench", "tools")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with its habits."""

    path: str
    text: str

    @property
    def words(self) -> int:
        return len(self.text.split())

    @property
    def is_long(self) -> bool:
        return self.words > WORDS_MAX

    @property
    def opens_with_a_clause(self) -> bool:
        return bool(OPENING.match(self.text)) and not self.text.endswith("?")

    @property
    def pronouns(self) -> int:
        return len(PRONOUN.findall(self.text))

    @property
    def is_vague(self) -> bool:
        return self.pronouns > PRONOUNS_MAX

    @property
    def burden(self) -> float:
        """How much an editor gains here: the order in which sentences are shown."""
        return 2.0 * self.opens_with_a_clause + max(0, self.words - WORDS_MAX) / 5 + max(0, self.pronouns - 2) * 0.6


def sentences(path: str, paragraphs: Iterable[str]) -> Iterator[Sentence]:
    """The sentences of paragraphs. Code counts as one word, a link as its text."""
    for paragraph in paragraphs:
        plain = LINK.sub(r"\1", CODE_SPAN.sub("X", " ".join(paragraph.split())))
        for text in SENTENCE_END.split(plain):
            if len(text.split()) >= WORDS_OF_A_SENTENCE:
                yield Sentence(path, text.strip())


def markdown_paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and list items, without headings, tables, comments and code blocks."""
    for block in PARAGRAPH_END.split(FENCE.sub("", text)):
        if not block.lstrip().startswith(("|", "#", "<!--")):
            yield LIST_MARK.sub("", block)


def python_paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of docstrings, and comments of neighbouring lines as a paragraph."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (ast.get_docstring(node) or "").split("\n\n")
    comment: list[str] = []
    last_line = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or "fmt:" in token.string or "noqa" in token.string:
            continue
        if token.start[0] != last_line + 1:
            yield " ".join(comment)
            comment = []
        comment.append(token.string.lstrip("# "))
        last_line = token.start[0]
    yield " ".join(comment)


def table_cells(text: str) -> Iterator[str]:
    """The cells of Markdown tables."""
    for line in FENCE.sub("", text).splitlines():
        if line.lstrip().startswith("|"):
            yield from CELL_END.split(line)


def python_messages(text: str) -> Iterator[str]:
    """String literals that are prose. A value in an f-string counts as one word."""
    nodes = list(ast.walk(ast.parse(text)))
    left_out: set[ast.AST | None] = set()
    for node in nodes:
        match node:
            case ast.Expr(docstring):
                left_out.add(docstring)
            case ast.JoinedStr(values):
                left_out.update(values)
            case ast.FormattedValue(format_spec=form):
                left_out.add(form)
    for node in nodes:
        if node in left_out or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        values = node.values if isinstance(node, ast.JoinedStr) else [node]
        message = "".join(str(value.value) if isinstance(value, ast.Constant) else "X" for value in values)
        if not NOT_PROSE.search(message) and not WORD_LIST.fullmatch(message.strip()):
            yield from message.split("\n\n")


def proto_paragraphs(text: str) -> Iterator[str]:
    """Comments of neighbouring lines as a paragraph, a comment after code by itself."""
    comment: list[str] = []
    for line in text.splitlines():
        match = PROTO_COMMENT.match(line)
        if match is None or match[1].strip() or not match[2]:
            yield " ".join(comment)
            comment = []
        if match is not None:
            comment.append(match[2])
    yield " ".join(comment)


def sentences_of(path: str) -> dict[str, list[Sentence]]:
    """All sentences of a file by their row of the report. Raises SyntaxError for Python that does not parse."""
    text, folder = (ROOT / path).read_text("utf-8"), folder_of(path)
    if path.endswith(".md"):
        rows = {folder: markdown_paragraphs(text), f"{folder} tables": table_cells(text)}
    elif path.endswith(".proto"):
        rows = {folder: proto_paragraphs(text)}
    else:
        rows = {folder: python_paragraphs(text)}
        if folder not in WITHOUT_MESSAGES:
            rows[f"{folder} messages"] = python_messages(text)
    return {row: list(sentences(path, paragraphs)) for row, paragraphs in rows.items()}


def tracked_files() -> list[str]:
    """Every Markdown, Python and .proto file that git tracks and a person wrote."""
    listing = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.proto"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    return [path for path in listing.splitlines() if not GENERATED.search(path) and (ROOT / path).is_file()]


def folder_of(path: str) -> str:
    """The top-level folder, or "." for a file beside the folders."""
    parts = PurePosixPath(path).parts
    return parts[0] if len(parts) > 1 else "."


def shares(found: list[Sentence]) -> Shares:
    """The three percentages of some sentences, of which there is at least one."""
    hundredth = len(found) / 100
    return Shares(
        openings=sum(sentence.opens_with_a_clause for sentence in found) / hundredth,
        pronouns=sum(sentence.is_vague for sentence in found) / hundredth,
        long=sum(sentence.is_long for sentence in found) / hundredth,
    )


def report(folders: dict[str, list[Sentence]]) -> list[str]:
    """Print a line a row of sentences and give the names of those above their limits."""
    above = []
    print(f"{'folder':18} {'sentences':>9}   {'clause first':>13}   {'3+ pronouns':>13}   {'over 25 words':>13}")
    for folder, found in sorted(folders.items()):
        if not found:
            continue
        counted, limit = shares(found), ALLOWED.get(folder, FINAL)
        if counted.exceeds(limit):
            above.append(folder)
        pairs = zip(
            (counted.openings, counted.pronouns, counted.long),
            (limit.openings, limit.pronouns, limit.long),
            strict=True,
        )
        cells = (f"{share:5.1f} <= {most:4.1f}" for share, most in pairs)
        print(f"{folder:18} {len(found):9}   {'   '.join(cells)}{'   above' if folder in above else ''}")
    whole = shares([sentence for found in folders.values() for sentence in found])
    print(f"all, in per cent: {whole.openings:.1f}, {whole.pronouns:.1f}, {whole.long:.1f}")
    return above


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Count sentences that are hard to read.")
    parser.add_argument("--worst", type=int, metavar="N", default=0, help="show the N sentences that need an editor")
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these files; all that git tracks without any")
    arguments = parser.parse_args(argv)
    named = [str(Path(name).resolve().relative_to(ROOT)) for name in arguments.files]
    folders: dict[str, list[Sentence]] = defaultdict(list)
    for path in named or tracked_files():
        for row, found in sentences_of(path).items():
            folders[row] += found
    everything = [sentence for found in folders.values() for sentence in found if sentence.burden > 0]
    for sentence in sorted(everything, key=lambda sentence: -sentence.burden)[: arguments.worst]:
        print(f"{sentence.burden:4.1f}  {sentence.path}: {sentence.text}")
    above = report(folders)
    if above and not named:
        print(f"Above the limits: {', '.join(above)}.")
        print("`make prose ARGS='--worst 20 FILE...'` shows the sentences to mend.")
    return 1 if above and not named else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
