"""How much the hooks put before a model: MNEMESH_INJECT, else the keys `hooks` and `inject` of `.mnemesh.toml`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

    from mnemesh.transport.space import ProjectFile

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


def mode_of(files: Iterable[ProjectFile], environ: Mapping[str, str]) -> str:
    """The mode by the files of a project, the nearest first. A project that opts out stays out, whatever the
    environment says. An unknown word is `off`: a person who wrote one wanted less than the default."""
    mode = ""
    for _, keys in files:
        if keys.get("hooks") is False:
            return OFF
        if "inject" in keys and not mode:
            mode = str(keys["inject"])
    mode = environ.get("MNEMESH_INJECT") or mode or AUTO
    return mode if mode in MODES else OFF


def _is_on(flag: object) -> bool:
    """Whether a flag says yes in one of the common words. An unknown word is a no, as it is for the mode."""
    return str(flag).strip().lower() in _ON
