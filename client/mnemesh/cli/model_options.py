"""The options of commands that ask a language model of the user's choice, and the key of its endpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mnemesh.errors import InvalidArgument, why

KEY_BYTES_MAX: Final = 4096
ENV_HELP: Final = "Name of an environment variable with the key, instead of a file."
TIMEOUT_HELP: Final = "Of the model's answer."


def key_of(file: Path | None, variable: str | None, default: str) -> str:
    """The key by a file, by the name of a variable, or by the file that the variable `default` names. "" for none.
    Raises InvalidArgument."""
    if variable:
        if not (key := os.environ.get(variable, "")):
            raise InvalidArgument("key-env", variable, "an environment variable that holds a key")
        return key.strip()
    named = file or (Path(given) if (given := os.environ.get(default)) else None)
    if named is None:
        return ""
    try:
        key = named.read_text("utf-8")[:KEY_BYTES_MAX].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument("key-file", str(named), f"a readable file ({why(error)})") from None
    if not key or not key.isascii() or not key.isprintable():
        raise InvalidArgument("key-file", str(named), "a file with one key")
    return key
