"""`mnemesh seed`: the first memories of a project, out of its own files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from mnemesh.api import values
from mnemesh.cli.options import Space
from mnemesh.cli.people.memories import BOLD, DIM, YELLOW, paint
from mnemesh.cli.shell import Shell, count_of, one_line
from mnemesh.short_id import short_id
from mnemesh.transport.connection import local_data_dir
from mnemesh.transport.project import project_of


def seed_project(
    shell: Shell,
    dir: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the project; default: the project around here.")
    ] = None,
    space: Space = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be stored; store nothing.")] = False,
) -> None:
    """Give a project its first memories: what README, manifests, CI and files for contributors say. A second run writes
    only what has changed."""
    folder = Path(os.path.abspath(dir)) if dir is not None else Path.cwd()
    project = project_of(folder, local_data_dir(shell.data))
    place = str(folder) if dir is not None else project.tree or str(folder)
    named = space or (os.environ.get("MNEMESH_SPACE") or project.space if dir is not None else "")
    shell.ask(lambda client: client.seed_project(place, space=named or "", dry_run=dry_run), _seeded)


def _seeded(done: values.SeededProject) -> Iterator[str]:
    for seed in done.seeds:
        yield f"{paint(seed.action, BOLD)}  {one_line(seed.title)}" + (f"  {short_id(seed.id)}" if seed.id else "")
        if seed.suspicious:
            yield paint("    a pattern of prompt injection stands in these files: read before you trust it", YELLOW)
        if seed.action in ("refused", "kept"):
            yield paint(f"    {one_line(seed.reason) or 'edited, forgotten or replaced since'}", DIM)
        if done.dry_run and seed.action in ("add", "update"):
            yield from (f"    {one_line(line)}" for line in seed.content.splitlines())
    where = "nothing was stored" if done.dry_run else f"in {one_line(done.space)}"
    topics = count_of(len(done.seeds), "topic")
    yield f"{topics} of {count_of(done.files_read, 'file')} in {one_line(done.dir)}; {where}"


COMMANDS: Final = (("seed", seed_project),)
