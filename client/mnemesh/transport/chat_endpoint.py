"""One question to an OpenAI-compatible endpoint. Time and size of the answer are bounded, and nothing is redirected.

Texts of memories leave the machine here. So plain HTTP goes to this machine only, and the key stands in no error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from mnemesh.errors import DeadlineExceeded, InvalidArgument, NotReachable
from mnemesh_proto.loopback import is_loopback

TIMEOUT_S: Final = 120.0
ANSWER_BYTES_MAX: Final = 1024 * 1024
PIECE_BYTES: Final = 16 * 1024


class ChatEndpoint:
    """`url` is the base, such as https://api.example.org/v1. Raises InvalidArgument for another one."""

    def __init__(self, url: str, model: str, key: str = "", timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise InvalidArgument("url", url.partition("@")[2] or url, "an address such as https://HOST/v1")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise InvalidArgument("url", url, "https, or http to this machine")
        if not model:
            raise InvalidArgument("model", "nothing", "the name of a model of the endpoint", missing=True)
        self._parts = parts
        self._model = model
        self._key = key
        self._timeout_s = timeout_s

    def answer(self, messages: Sequence[dict[str, str]]) -> str:
        """The text of the model. Raises NotReachable for a refusal or another answer than the protocol's, and
        DeadlineExceeded."""
        body = json.dumps({"model": self._model, "messages": list(messages), "temperature": 0}).encode()
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        until = time.monotonic() + self._timeout_s
        secure = self._parts.scheme == "https"
        kind = HTTPSConnection if secure else HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout_s)
        try:
            connection.request("POST", f"{self._parts.path.rstrip('/')}/chat/completions", body, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise NotReachable(f"the model's endpoint answers {response.status}; nothing was changed")
            return _text(self._read(connection, response.read1, until))
        except TimeoutError:
            raise DeadlineExceeded(
                f"the model has not answered within {self._timeout_s:g} s; nothing was changed"
            ) from None
        except (OSError, HTTPException) as error:
            name = type(error).__name__
            raise NotReachable(f"the model's endpoint can't be used ({name}); nothing was changed") from None
        finally:
            connection.close()

    def _read(self, connection: HTTPConnection, read: object, until: float) -> bytes:
        """The whole answer, within the time however slowly it comes."""
        assert callable(read)
        body = bytearray()
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
            piece = read(PIECE_BYTES)
            if not piece:
                return bytes(body)
            body += piece
            if len(body) > ANSWER_BYTES_MAX:
                raise NotReachable(f"the model answers more than {ANSWER_BYTES_MAX} bytes; nothing was changed")


def _text(body: bytes) -> str:
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise NotReachable("the endpoint's answer is none of the chat protocol; nothing was changed")
    return text
