"""The parts that Client and AsyncClient share besides the calls: where the node is, who speaks, when to try again.

The only place of CLI and Python client that reads the environment: MNEMESH_ENDPOINT, MNEMESH_TOKEN, MNEMESH_DATA_DIR,
MNEMESH_SPACE, MNEMESH_AGENT. An argument of the constructor wins over the environment. The environment wins over the
files that the node wrote into its data directory. The owner token of this machine is never sent to another one. No
node is started unless `start` asks for it.
"""

from __future__ import annotations

import os
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mnemesh.errors import (
    FailedPrecondition,
    InvalidArgument,
    MnemeshError,
    NotAnswering,
    NotReachable,
    Unauthenticated,
    why,
)
from mnemesh.transport.address import split_address
from mnemesh.transport.local_node import NodeNotStarted, check_directory, ensure_node, last_words
from mnemesh.transport.project import Project, project_here
from mnemesh_proto import rendezvous
from mnemesh_proto.loopback import is_loopback

DEFAULT_TIMEOUT_S: Final = 30.0
START_TIMEOUT_S: Final = 60.0
ATTEMPTS_MAX: Final = 5
PAUSE_FIRST_S: Final = 0.1
PAUSE_MAX_S: Final = 1.0
# 200 memories at every maximum, with their attributes, stay below this.
MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
CHANNEL_OPTIONS: Final[tuple[tuple[str, str | int], ...]] = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    # A web proxy does not lead to a node, but gRPC would use one even for the loopback address.
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # While a call is open and silent, as a watch mostly is: a node that is gone without a word is noticed.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls go, and as whom: `endpoint` is host:port of the node's gRPC door."""

    endpoint: str
    token: str


class Connection:
    """Settings of one client. Raises InvalidArgument for those that can't be used."""

    def __init__(
        self,
        endpoint: str | None,
        token: str | None,
        *,
        data_dir: str | os.PathLike[str] | None,
        agent: str | None,
        space: str | None,
        timeout_s: float,
        start: bool,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        for name, text in (("endpoint", endpoint), ("agent", agent), ("space", space)):
            if text is not None and not isinstance(text, str):
                raise InvalidArgument(name, text, "a text")
        if token is not None and not isinstance(token, str):
            raise InvalidArgument("token", "(not shown)", "a text")
        if data_dir is not None and not isinstance(data_dir, str | os.PathLike):
            raise InvalidArgument("data_dir", data_dir, "a path")
        # A data directory that was named is meant, whatever address and token the environment holds.
        around = environ if data_dir is None else {}
        self.timeout_s = timeout_s
        self.data_dir = local_data_dir(data_dir, environ)
        self._endpoint = _address(endpoint or around.get("MNEMESH_ENDPOINT") or "")
        self._token = token or around.get("MNEMESH_TOKEN") or ""
        self._start = start
        self._started_at: float | None = None
        self._agent = agent or environ.get("MNEMESH_AGENT") or ""
        self._project = default_project(self.data_dir, environ) if space is None else Project(space)
        self._identity = _identity(self._agent, self._project)
        self._closed = False
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s > 0:
            raise InvalidArgument("timeout_s", timeout_s, "a number of seconds above 0")
        if self._token and not (self._token.isascii() and self._token.isprintable()):
            raise InvalidArgument("token", "(not shown)", "printable ASCII")

    def __str__(self) -> str:
        """Where it goes, never as whom: a token must not get into a log."""
        return f"{self._endpoint or str(self.data_dir)!r}, space={self._project.space!r}"

    def close(self) -> None:
        """No more calls."""
        self._closed = True

    def check_open(self) -> None:
        """Raises FailedPrecondition after close."""
        if self._closed:
            raise FailedPrecondition("this client is closed; make another one")

    def locate(self) -> Target:
        """The node as it can be found now. With `start`, one is started when none runs, which takes seconds.
        Raises NotReachable, Unauthenticated, or InvalidArgument for a data directory that is none."""
        endpoint = self._endpoint or self._local_node()
        token = self._token
        if not token and is_loopback(split_address(endpoint)[0]):
            token = self._owner_token()
        if not self._project.settled:
            self._project = project_here(self.data_dir)
            self._identity = _identity(self._agent, self._project)
        return Target(endpoint, token)

    def metadata(self, target: Target) -> tuple[tuple[str, str], ...]:
        """The headers of a call."""
        bearer = ((rendezvous.AUTHORIZATION, f"Bearer {target.token}"),) if target.token else ()
        return bearer + self._identity

    def tries(self, timeout_s: float | None, *, repeatable: bool) -> Tries:
        """The attempts that a call has; `timeout_s` None means the client's own."""
        return Tries(timeout_s or self.timeout_s, repeatable=repeatable)

    def process_at(self, endpoint: str) -> rendezvous.NodeAddress | None:
        """The node of the data directory, when it is the one at `endpoint`."""
        try:
            node = rendezvous.read_node(self.data_dir)
        except OSError:
            return None
        return node if node is not None and _address(node.grpc) == endpoint else None

    def _local_node(self) -> str:
        check_directory(self.data_dir)
        try:
            node = rendezvous.read_node(self.data_dir)
            if node is None and self._start:
                if self._started_at is not None and time.monotonic() < self._started_at + START_TIMEOUT_S:
                    raise NodeNotStarted(f"it ended while it was starting. {last_words(self.data_dir)}")
                self._started_at = time.monotonic()
                node = ensure_node(self.data_dir.absolute(), START_TIMEOUT_S)
        except (OSError, NodeNotStarted) as error:
            said = why(error) if isinstance(error, OSError) else error
            raise NotReachable(f"the node of {self.data_dir} can't be reached: {said}") from error
        if node is None:
            raise NotReachable(
                f"no node runs on {self.data_dir}; start one with `mnemesh up`, or let this call start one in the "
                "background (`--start`; a client has `start`), or name another with an endpoint"
            )
        return _address(node.grpc)

    def _owner_token(self) -> str:
        check_directory(self.data_dir)
        try:
            return rendezvous.read_token(self.data_dir) or ""
        except (OSError, UnicodeDecodeError) as error:
            raise Unauthenticated(f"{self.data_dir / rendezvous.TOKEN_FILE} can't be read: {why(error)}") from error


class Connected(ABC):
    """The common constructor of Client and AsyncClient."""

    def __init__(
        self,
        endpoint: str | None = None,
        token: str | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        space: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        start: bool = False,
    ) -> None:
        self._connection = Connection(
            endpoint, token, data_dir=data_dir, agent=agent, space=space, timeout_s=timeout_s, start=start
        )
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Nothing is open yet."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection})"


def default_project(data_dir: Path, environ: Mapping[str, str] = os.environ) -> Project:
    """The space of calls that name none: MNEMESH_SPACE, else the space of the working directory, by the names known in
    `data_dir`. Raises BadSpaceFile.
    """
    given = environ.get("MNEMESH_SPACE")
    return project_here(data_dir) if given is None else Project(given, origin="MNEMESH_SPACE")


def local_data_dir(given: str | os.PathLike[str] | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The data directory of the local node: the one given, else the environment's, else the default."""
    return rendezvous.default_data_dir(environ) if given is None else Path(given).expanduser()


class Tries:
    """The attempts of one call: bounded in number and together by `timeout_s`, with growing, jittered pauses.

    Only a call that may be repeated is, and only while the node is not reachable.
    """

    def __init__(self, timeout_s: float, *, repeatable: bool) -> None:
        self.timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._pauses = ATTEMPTS_MAX - 1 if repeatable else 0
        self._pause_s = PAUSE_FIRST_S

    def remaining_s(self) -> float:
        """The rest of the time, never quite nothing, so that gRPC judges it."""
        return max(0.001, self._deadline - time.monotonic())

    def pause_s(self, error: MnemeshError) -> float:
        """How long to wait before the next attempt. Raises `error` when there is none."""
        pause = self._pause_s * random.uniform(0.5, 1.0)
        again = isinstance(error, NotReachable) and not isinstance(error, NotAnswering)
        if not again or not self._pauses or pause >= self.remaining_s():
            raise error
        self._pauses -= 1
        self._pause_s = min(PAUSE_MAX_S, self._pause_s * 2)
        return pause


def _identity(agent: str, project: Project) -> tuple[tuple[str, str], ...]:
    """The headers of agent and space. Raises InvalidArgument."""
    try:
        return project.headers(agent)
    except UnicodeEncodeError:
        raise InvalidArgument("agent, space", (agent, project.space), "well-formed text") from None


def _address(text: str) -> str:
    """host:port as a client dials it, or "" for ""; a wildcard becomes the loopback address."""
    if not text:
        return ""
    try:
        text.encode()
        host, port = split_address(text)
        if "/" in host or host != host.strip():
            raise ValueError(host)
    except ValueError:
        raise InvalidArgument("endpoint", text, "HOST:PORT, such as 127.0.0.1:7433") from None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
