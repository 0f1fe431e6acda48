"""One question to a language model behind a command: the messages as JSON on standard input, the answer on standard
output. Time and size of the answer are bounded, and the command's children end with it.

The command may be an agent's own program. Hooks of Mnemesh are off there, so a question leads to no further mining.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mnemesh.errors import DeadlineExceeded, InvalidArgument, NotReachable, why
from mnemesh.transport.chat_endpoint import ANSWER_BYTES_MAX, PIECE_BYTES, TIMEOUT_S

LOOK_S: Final = 0.1  # Between two looks whether the command has ended.
INJECT_OFF: Final = {"MNEMESH_INJECT": "off"}


class ModelCommand:
    """`command` is a line of words, run without a shell. Raises InvalidArgument for an empty one."""

    def __init__(self, command: str, timeout_s: float = TIMEOUT_S) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InvalidArgument("command", command, f"words of a command ({error})") from None
        if not self._words:
            raise InvalidArgument("command", "nothing", "a command that asks a model", missing=True)
        self._timeout_s = timeout_s

    def answer(self, messages: Sequence[dict[str, str]]) -> str:
        """The output of the command. Raises NotReachable for a failing one, DeadlineExceeded."""
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | INJECT_OFF,
                start_new_session=True,
            )
        except OSError as error:
            raise NotReachable(f"the model's command can't be started ({why(error)})") from None
        with process:
            try:
                return self._spoken(process, json.dumps(list(messages)).encode())
            finally:
                with suppress(ProcessLookupError, PermissionError):  # nobody of the group is left
                    os.killpg(process.pid, signal.SIGKILL)

    def _spoken(self, process: subprocess.Popen[bytes], question: bytes) -> str:
        until = time.monotonic() + self._timeout_s
        assert process.stdin is not None
        assert process.stdout is not None
        output = bytearray()
        with selectors.DefaultSelector() as ready:
            for stream, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
                os.set_blocking(stream.fileno(), False)
                ready.register(stream, event)
            while ready.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    raise DeadlineExceeded(f"the model has not answered within {self._timeout_s:g} s")
                ended = process.poll() is not None
                events = ready.select(0 if ended else min(left, LOOK_S))
                if ended and all(key.fileobj is process.stdin for key, _ in events):
                    break  # A child of the command may hold the output open.
                for key, _ in events:
                    if key.fileobj is process.stdin:
                        question = _given(key.fd, question)
                        if not question:
                            ready.unregister(process.stdin)
                            process.stdin.close()
                    elif piece := os.read(key.fd, PIECE_BYTES):
                        output += piece
                    else:
                        ready.unregister(process.stdout)
                    if len(output) > ANSWER_BYTES_MAX:
                        raise NotReachable(f"the model answers more than {ANSWER_BYTES_MAX} bytes")
        try:
            status = process.wait(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise DeadlineExceeded(f"the model has not ended within {self._timeout_s:g} s") from None
        if status:
            raise NotReachable(f"the model's command ended with status {status}")
        return output.decode("utf-8", "replace")


def _given(stream: int, rest: bytes) -> bytes:
    """The rest that is left to write. A command that reads no further has enough."""
    try:
        return rest[os.write(stream, rest[:PIECE_BYTES]) :]
    except BrokenPipeError:
        return b""
