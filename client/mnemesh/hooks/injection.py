"""How much the hooks put before a model: MNEMESH_INJECT, else the keys `hooks` and `inject` of `.mnemesh.toml`."""

from __future__ import annotations

from mnemesh.errors import shorten
from mnemesh.transport.space import BadSpaceFile, project_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final

    from mnemesh.transport.space import ProjectFile, StrPath

AUTO: Final = "auto"
GATED: Final = "gated"
TOOL: Final = "tool"
OFF: Final = "off"
MODES: Final[Mapping[str, str]] = {
    AUTO: "a context when a session starts, and with a prompt the memories of score .1 or more (default)",
    GATED: "no context at the start, and with some prompts the memories of score .15 or more",
    TOOL: "nothing; the agent asks by the tools of MCP, and its reads are approved",
    OFF: "nothing, and nothing is approved; `hooks = false` means the same",
}


_ON: Final = frozenset(("on", "true", "yes", "1"))


def has_reads(files: Iterable[ProjectFile], environ: Mapping[str, str]) -> bool:
    """Whether a file that is read brings facts about it: MNEMESH_READS, else the key `reads`, else yes, because nobody
    gets the hook for it unasked."""
    if given := environ.get("MNEMESH_READS"):
        return _is_on(given)
    return next((_is_on(keys["reads"]) for _, keys in files if "reads" in keys), True)


def has_banner(files: Iterable[ProjectFile], environ: Mapping[str, str]) -> bool:
    """Whether the person is told how many memories the model got: MNEMESH_BANNER, else the key `banner`, else no."""
    if given := environ.get("MNEMESH_BANNER"):
        return _is_on(given)
    return next((_is_on(keys["banner"]) for _, keys in files if "banner" in keys), False)


def mode_of(files: Sequence[ProjectFile], environ: Mapping[str, str]) -> str:
    """The mode by the files of a project, the nearest first. A project that opts out stays out, whatever the
    environment says. An unknown word is `off`: a person who wrote one wanted less than the default."""
    _, mode = _chosen(files, environ)
    return mode if mode in MODES else OFF


def fault_of(files: Sequence[ProjectFile], environ: Mapping[str, str]) -> str:
    """A sentence about an unknown word for the mode, "" without one."""
    place, word = _chosen(files, environ)
    if word in MODES:
        return ""
    return f"{place}: {shorten(word)} is not allowed; one of {', '.join(MODES)}. The hooks are off until then."


def fault_here(cwd: StrPath, environ: Mapping[str, str]) -> str:
    """The same of the project of `cwd`, and of a file of it that can't be read."""
    try:
        return fault_of(tuple(project_files(cwd)), environ)
    except BadSpaceFile as error:
        return error.message
    except FileNotFoundError:  # the working directory has been removed
        return ""


def _chosen(files: Sequence[ProjectFile], environ: Mapping[str, str]) -> tuple[str, str]:
    """The place that chooses the mode, and its word."""
    opted_out = next((path for path, keys in files if keys.get("hooks") is False), "")
    if opted_out:
        return f"{opted_out}: hooks", OFF
    if given := environ.get("MNEMESH_INJECT"):
        return "MNEMESH_INJECT", given
    words = ((f"{path}: inject", str(keys.get("inject", ""))) for path, keys in files)
    return next((chosen for chosen in words if chosen[1]), ("", AUTO))


def _is_on(flag: object) -> bool:
    """Whether a flag says yes in one of the common words. An unknown word is a no, as it is for the mode."""
    return str(flag).strip().lower() in _ON
