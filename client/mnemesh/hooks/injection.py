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
_NO: Final = frozenset(("off", "false", "no", "0"))


def opt_out(files: Iterable[ProjectFile]) -> ProjectFile | None:
    """The nearest file that ends all hooks of a project: key `hooks` with any value but a yes."""
    return next((file for file in files if not _is_on(file[1].get("hooks", True))), None)


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
    word = OFF if opt_out(files) else _chosen(files, environ)[1]
    return word if word in MODES else OFF


def fault_of(files: Sequence[ProjectFile], environ: Mapping[str, str]) -> str:
    """A sentence about an unknown word for the mode or for `hooks`, "" without one."""
    if ended := opt_out(files):
        path, keys = ended
        return "" if _word(keys["hooks"]) in _NO else _fault(f"{path}: hooks", keys["hooks"], "true or false")
    place, word = _chosen(files, environ)
    return "" if word in MODES else _fault(place, word, f"one of {', '.join(MODES)}")


def fault_here(cwd: StrPath, environ: Mapping[str, str]) -> str:
    """The same of the project of `cwd`, and of a file of it that can't be read."""
    try:
        return fault_of(tuple(project_files(cwd)), environ)
    except BadSpaceFile as error:
        return error.message
    except FileNotFoundError:  # the working directory has been removed
        return ""


def _fault(place: str, word: object, allowed: str) -> str:
    return f"{place}: {shorten(word)} is not allowed; {allowed}. The hooks are off until then."


def _chosen(files: Iterable[ProjectFile], environ: Mapping[str, str]) -> tuple[str, str]:
    """The place that chooses the mode of a project with hooks, and its word."""
    if given := environ.get("MNEMESH_INJECT"):
        return "MNEMESH_INJECT", given
    words = ((f"{path}: inject", str(keys.get("inject", ""))) for path, keys in files)
    return next((chosen for chosen in words if chosen[1]), ("", AUTO))


def _is_on(flag: object) -> bool:
    """Whether a flag says yes in one of the common words. An unknown word is a no, as it is for the mode."""
    return _word(flag) in _ON


def _word(flag: object) -> str:
    return str(flag).strip().lower()
