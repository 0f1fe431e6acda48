"""Bad usage of the gateway's programs, told as by the command line: one line or one JSON object, without twenty lines
of options."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from mnemesh_memory.values.errors import InvalidArgument, MnemeshError

EXIT_USAGE: Final = 2
EXIT_REFUSED: Final = 4


class BadUsage(Exception):
    """Words that a program does not know, or lacks."""

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message)
        self.program = program

    def tell(self, words: Sequence[str]) -> None:
        """On standard output as JSON when `words` ask for that, else on standard error."""
        if "--json" in words:
            print(json.dumps({"error": {"code": InvalidArgument.code, "message": str(self)}}))
        else:
            print(f"mnemesh: {self}\nTry `{self.program} --help`.", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """Raises BadUsage, as do the parsers of its commands."""

    def error(self, message: str) -> NoReturn:
        raise BadUsage(self.prog, message)


def refused(error: MnemeshError, *, in_json: bool = False) -> int:
    """Tell why a program did not do its work. The exit code."""
    if in_json:
        print(json.dumps({"error": {"code": error.code, "message": error.message, **error.fields}}))
    else:
        print(f"mnemesh: {error.message}", file=sys.stderr)
    return EXIT_USAGE if isinstance(error, InvalidArgument) else EXIT_REFUSED
