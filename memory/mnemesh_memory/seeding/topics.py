"""The topics of a project: one memory a topic, one function a topic, in one table.

Words of prose files are quoted with the name of the file. So a reader sees the speaker, and a memory gives no orders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from mnemesh_memory.seeding.manifests import manifests, tables
from mnemesh_memory.seeding.project_snapshot import ProjectSnapshot, TopicLines, is_suspicious, listed, quoted

COMMANDS_MAX: Final = 24
RULES_OF_FILE_MAX: Final = 8
FOLDERS_MAX: Final = 24
AUTHOR_SHARE_MIN: Final = 0.1
CONVENTIONAL_SHARE_MIN: Final = 0.6
COMMITS_MIN: Final = 5  # Fewer show no habit.
README: Final = ("README.md", "README.rst", "README.txt", "README")
PROSE: Final = (
    "CONTRIBUTING.md", "CONTRIBUTING.rst", "CONTRIBUTING", ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md",
    "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md",
)  # fmt: skip
OWNER_FILES: Final = ("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS")
MAINTAINERS: Final = ("MAINTAINERS.md", "MAINTAINERS", "OWNERS")
COMPOSE: Final = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
MAKEFILES: Final = ("Makefile", "GNUmakefile", "makefile")
LANGUAGES: Final[Mapping[str, str]] = {
    "py": "Python", "ts": "TypeScript", "tsx": "TypeScript", "js": "JavaScript", "jsx": "JavaScript",
    "mjs": "JavaScript", "rs": "Rust", "go": "Go", "java": "Java", "kt": "Kotlin", "swift": "Swift", "c": "C",
    "h": "C", "cc": "C++", "cpp": "C++", "hpp": "C++", "cs": "C#", "rb": "Ruby", "php": "PHP", "scala": "Scala",
    "ex": "Elixir", "exs": "Elixir", "hs": "Haskell", "sh": "shell", "sql": "SQL", "vue": "Vue", "svelte": "Svelte",
    "dart": "Dart", "lua": "Lua", "zig": "Zig", "proto": "Protocol Buffers", "tf": "Terraform", "css": "CSS",
    "html": "HTML", "md": "Markdown",
}  # fmt: skip
PROSE_LANGUAGES: Final = ("Markdown", "HTML", "CSS")
_HEADING: Final = re.compile(r"^(?:#\s+(.+)|(\S.*)\n={3,}\s*$)", re.MULTILINE)
_TARGET: Final = re.compile(r"^([A-Za-z0-9][\w.-]*)(?: [^:=\n]*)?:(?![=:])[^#\n]*(?:#+\s*(.*))?$")
_RECIPE: Final = re.compile(r"^([A-Za-z][\w-]*)(?: [^:=\n]*)?:(?!=)")
_RUN: Final = re.compile(r"^(\s*)(?:-\s+)?run:\s*(.*)$")
_IMAGE: Final = re.compile(r"^\s*(?:image:|FROM)\s+[\"']?([\w./-]+(?::[\w.-]+)?)", re.MULTILINE)
_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$")
_RULE: Final = re.compile(
    r"\b(?:always|never|must|should|shall|use|prefer|avoid|don't|do not|keep|only|every|run|require[sd]?|no)\b", re.I
)
_CONVENTIONAL: Final = re.compile(r"([a-z]{2,12})(?:\([\w./, -]+\))?!?: \S")
_MARKUP: Final = re.compile(r"^(?:[#=\-*_>|`<!\[]|\.\. )")


def overview(project: ProjectSnapshot) -> TopicLines | None:
    """Name, purpose and licence."""
    known = list(manifests(project))
    lines, files = [], []
    for manifest in known:
        if manifest.name or manifest.description:
            lines.append(f"{manifest.path} names it {_and_says(manifest.name, manifest.description).rstrip('.')}.")
            files.append(manifest.path)
    for path in project.named(*README)[:1]:
        title, paragraph = _opening(project.texts[path])
        if title or paragraph:
            lines.append(f"{path} begins: {_and_says(title, paragraph)}")
            files.append(path)
    licences = [manifest.license for manifest in known if manifest.license]
    if licences:
        lines.append(f"Licence: {listed(licences)}.")
    return _topic_lines(lines, files)


def stack(project: ProjectSnapshot) -> TopicLines | None:
    """Languages, versions, dependencies, images."""
    counted = Counter(filter(None, (_language(path) for path in project.listing)))
    languages = [name for name, _ in counted.most_common() if name not in PROSE_LANGUAGES]
    lines, files = ([f"Languages by files: {listed(languages, 6)}."] if languages else []), []
    for manifest in manifests(project):
        version = f" {manifest.version}" if manifest.version else ""
        needs = f", needs {listed(manifest.dependencies)}" if manifest.dependencies else ""
        if version or needs:
            lines.append(f"{manifest.path}: {manifest.language}{version}{needs}.")
            files.append(manifest.path)
    for path in project.named("Dockerfile", *COMPOSE):
        if images := _IMAGE.findall(project.texts[path]):
            lines.append(f"{path}: images {listed(quoted(image) for image in images)}.")
            files.append(path)
    return _topic_lines(lines, files)


def commands(project: ProjectSnapshot) -> TopicLines | None:
    """Commands to build, test and run, by the names in files."""
    lines, files = [], []
    for path, pairs in _commands_by_file(project):
        if pairs:
            files.append(path)
            lines += [f"{command}: {words}" if words else command for command, words in pairs[:COMMANDS_MAX]]
    return _topic_lines(lines[: 2 * COMMANDS_MAX], files)


def layout(project: ProjectSnapshot) -> TopicLines | None:
    """The folders of the root and of its source, each with its main language."""
    inside: dict[str, Counter[str]] = {}
    for path in project.listing:
        parts = path.split("/")
        for depth in (1, 2):
            if len(parts) > depth and (depth == 1 or parts[0] in ("src", "packages", "apps", "crates", "services")):
                inside.setdefault("/".join(parts[:depth]), Counter()).update(filter(None, (_language(path),)))
    shown = [
        f"{quoted(folder)}/" + (f" ({languages.most_common(1)[0][0]})" if languages else "")
        for folder, languages in sorted(inside.items())
        if not folder.startswith(".") or folder == ".github"
    ]
    return _topic_lines([f"Folders: {listed(shown, FOLDERS_MAX)}."] if shown else [], [])


def entries(project: ProjectSnapshot) -> TopicLines | None:
    """Programs, and files with a main."""
    lines, files = [], []
    for manifest in manifests(project):
        if manifest.entries:
            programs = (f"{name} = {words}" for name, words in manifest.entries)
            lines.append(f"{manifest.path}: {listed(programs)}.")
            files.append(manifest.path)
    mains = [path for path in project.listing if path.count("/") <= 3 and path.rsplit("/", 1)[-1] in MAIN_FILES]
    if mains:
        lines.append(f"Main files: {listed((quoted(path) for path in sorted(mains)), 8)}.")
        files += sorted(mains)[:8]
    return _topic_lines(lines, files)


def checks(project: ProjectSnapshot) -> TopicLines | None:
    """The commands that continuous integration runs."""
    lines, files = [], []
    for path in sorted(project.texts):
        if not path.startswith(".github/workflows/") and path not in (".gitlab-ci.yml", ".circleci/config.yml"):
            continue
        if steps := list(dict.fromkeys(filter(None, _steps(project.texts[path])))):
            lines.append(f"{path} runs: {'; '.join(steps[:12])}")
            files.append(path)
    return _topic_lines(lines, files)


def conventions(project: ProjectSnapshot) -> TopicLines | None:
    """Rules that files for contributors and agents state, form of code by configuration, form of commits."""
    lines, files = [], []
    for path in project.named(*PROSE):
        items = (item for item in _items(project.texts[path]) if _RULE.search(item) or is_suspicious(item))
        rules = list(items)[:RULES_OF_FILE_MAX]
        if rules:
            lines += [f'{path} says: "{rule}"' for rule in rules]
            files.append(path)
    for path in project.named("pyproject.toml"):
        if form := _code_form(tables(project.texts[path])):
            lines.append(f"{path}: {form}.")
            files.append(path)
    if form := _commit_form(project.subjects):
        lines.append(form)
    return _topic_lines(lines, files)


def owners(project: ProjectSnapshot) -> TopicLines | None:
    """Owners of parts by files, and the main authors of commits."""
    lines, files = [], []
    for path in project.named(*OWNER_FILES, *MAINTAINERS):
        rows = (line.partition("#")[0] for line in project.texts[path].splitlines())
        parts = [quoted(row) for row in rows if row.strip()]
        if parts:
            lines.append(f"{path}: {'; '.join(parts[:12])}")
            files.append(path)
    if len(project.authors) >= COMMITS_MIN:
        counted = Counter(project.authors)
        main = sorted(name for name, many in counted.items() if many >= AUTHOR_SHARE_MIN * len(project.authors))
        lines.append(f"Most of the latest commits are by {listed(quoted(name, 80) for name in main)}.")
    return _topic_lines(lines, files)


MAIN_FILES: Final = frozenset(
    ("__main__.py", "main.py", "manage.py", "main.go", "main.rs", "main.ts", "index.ts", "main.c", "main.cpp", "app.py")
)
# The kind of the memory and the topic's function. Prose is never a procedure: only words of a person are rules.
TOPICS: Final[Mapping[str, tuple[str, Callable[[ProjectSnapshot], TopicLines | None]]]] = {
    "overview": ("project", overview), "stack": ("reference", stack), "commands": ("procedure", commands),
    "layout": ("reference", layout), "entries": ("reference", entries), "checks": ("reference", checks),
    "conventions": ("reference", conventions), "owners": ("reference", owners),
}  # fmt: skip


def _topic_lines(lines: Iterable[str], files: Iterable[str]) -> TopicLines | None:
    kept = tuple(dict.fromkeys(lines))
    return TopicLines(lines=kept, files=tuple(dict.fromkeys(files))) if kept else None


def _and_says(title: str, text: str) -> str:
    return f"{title}: {text}" if title and text else title or text


def _language(path: str) -> str:
    return LANGUAGES.get(path.rsplit("/", 1)[-1].rpartition(".")[2].lower(), "") if "." in path else ""


def _opening(text: str) -> tuple[str, str]:
    """The first heading of a text for readers, and the first paragraph of prose."""
    heading = _HEADING.search(text[:4_000])
    title = quoted(heading[1] or heading[2], 120) if heading else ""
    for part in re.split(r"\n\s*\n", text[:8_000]):
        line = re.sub(r"^#{1,6} [^\n]*\n+", "", part.strip())  # prose may stand right below a heading
        if line and not _MARKUP.match(line) and not re.search(r"\n={3,}\s*$", line):
            return title, quoted(line, 400)
    return title, ""


def _commands_by_file(project: ProjectSnapshot) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for path in project.named(*MAKEFILES)[:1]:
        yield path, [(f"make {name}", words) for name, words in _targets(project.texts[path], _TARGET)]
    for path in project.named("justfile", ".justfile")[:1]:
        yield path, [(f"just {name}", words) for name, words in _targets(project.texts[path], _RECIPE)]
    for manifest in manifests(project):
        yield manifest.path, list(manifest.commands)
    for path in project.named("tox.ini")[:1]:
        yield (
            path,
            [
                (f"tox -e {quoted(name, 40)}", "")
                for name in re.findall(r"^\[testenv:(\S+)\]", project.texts[path], re.M)
            ],
        )


def _targets(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Targets with their help: the comment behind or before, else the first command."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        target = pattern.match(line)
        if not target or "%" in line:
            continue
        comment = target[2] if pattern.groups > 1 and target[2] else ""
        before = lines[number - 1] if number else ""
        recipe = (
            lines[number + 1].strip().lstrip("@-")
            if number + 1 < len(lines) and lines[number + 1][:1].isspace()
            else ""
        )
        help_text = comment or (before.lstrip("# ") if before.startswith("#") else "") or recipe
        if help_text:
            yield target[1], quoted(help_text, 160)


def _steps(text: str) -> Iterator[str]:
    """The commands of steps `run:` and of lists `script:`, read as lines: no YAML of a stranger is carried out."""
    block = script = -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if block >= 0 and line.strip():
            if indent > block:
                yield quoted(line, 120)
                continue
            block = -1
        if script >= 0 and line.strip():
            if line.lstrip().startswith("- ") and indent >= script:
                yield quoted(line.lstrip()[2:], 120)
                continue
            script = -1
        if step := _RUN.match(line):
            if step[2].strip() in ("|", ">", "|-", ">-", "|+"):
                block = len(step[1]) + line.lstrip().startswith("-")
            else:
                yield quoted(step[2], 120)
        elif line.strip() in ("script:", "before_script:"):
            script = indent


def _items(text: str) -> Iterator[str]:
    """The items of lists outside of code blocks."""
    code = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            code = not code
        elif not code and (match := _ITEM.match(line)):
            item = quoted(match[1])
            if len(item) > 8:
                yield item


def _code_form(whole: Mapping[str, object]) -> str:
    """The form of code that a pyproject asks for."""
    tool = whole.get("tool")
    if not isinstance(tool, dict):
        return ""
    forms = [
        f"{name}: lines of at most {rules['line-length']} characters"
        for name in ("ruff", "black")
        if isinstance(rules := tool.get(name), dict) and isinstance(rules.get("line-length"), int)
    ]
    mypy, pytest = tool.get("mypy"), tool.get("pytest")
    forms += ["mypy is strict"] if isinstance(mypy, dict) and mypy.get("strict") is True else []
    return ", ".join([*forms, *(["tests run with pytest"] if pytest is not None else [])])


def _commit_form(subjects: tuple[str, ...]) -> str:
    if len(subjects) < COMMITS_MIN:
        return ""
    types = Counter(match[1] for subject in subjects if (match := _CONVENTIONAL.match(subject)))
    if sum(types.values()) >= CONVENTIONAL_SHARE_MIN * len(subjects):
        return f"Commit subjects have the form TYPE: TEXT, with the types {listed(sorted(types)[:8])}."
    longest = sorted(map(len, subjects))[int(0.9 * (len(subjects) - 1))]
    return f"Nine of ten commit subjects have at most {-(-longest // 10) * 10} characters."
