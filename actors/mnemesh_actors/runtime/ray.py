"""Actors as Ray processes: the same classes, one named process each, restarted by Ray when they die.

Starts a Ray head inside this process's session, or joins a running cluster. Only this module imports Ray. Never runs
`ray stop`, which would end every Ray process of the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mnemesh_actors.runtime.base import ANYWHERE, Actor, Args, Handle, Machine, Place, Port
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.runtime.ray_cluster import RayCluster, beside, log_what_ray_prints, reachable
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import FailedPrecondition, Overloaded, Unavailable
from mnemesh_memory.values.model_status import ActorStatus

TASK_RETRIES = 3
ROAMING_BYTES = 1
# A share of Ray's processors so small that it bounds nothing, but keeps machines without any free.
WORKING_CPUS = 0.001
OBJECT_STORE_BYTES = 128 * 2**20
START_TIMEOUT_S = 60.0
PLACEMENT_TIMEOUT_S = 2.0
# For an actor whose machine can't be reached, to answer from another one.
ELSEWHERE_S = 0.75
CLOSE_TIMEOUT_S = 10.0


class _Host:
    """The object in the actor's process: made with the first call, then called.

    Ray gives an actor up for ever when its constructor raises. Here a refusal, such as a lock of a dying predecessor or
    a damaged file, reaches the caller as it is. The next call tries again.
    """

    def __init__(self, cls: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._cls = cls
        self._args = args
        self._object: Any = None

    def placement(self) -> tuple[int, str]:
        """Process and Ray node."""
        import ray

        self._built()
        return os.getpid(), ray.get_runtime_context().get_node_id()

    def call(self, method: str, *args: Any) -> Any:
        """`method` of the object."""
        return getattr(self._built(), method)(*args)

    def shut(self) -> None:
        """The object's own `close`, if it was made and has one."""
        if close := getattr(self._object, "close", None):
            close()

    def _built(self) -> Any:
        if self._object is None:
            made = self._cls(*self._args)
            if arrive := getattr(made, "arrive", None):
                import ray

                address: Callable[[], str] = ray.util.get_node_ip_address
                arrive(address())
            self._object = made
        return self._object


class RayHandle(Handle[Port]):
    """A Ray actor whose methods are awaitable and raise our own errors."""

    def __init__(self, name: str, type_name: str, actor: Any) -> None:
        self.name = name
        self.type = type_name
        self.last_placement = (0, "")  # process and Ray node, 0 for none
        self._actor = actor

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._call, "call", method)

    async def placement(self) -> tuple[int, str]:
        """Process and Ray node. Raises what the object's constructor raises."""
        placed: tuple[int, str] = await self._call("placement")
        self.last_placement = placed
        return placed

    async def shut(self) -> None:
        """Close the object."""
        await self._call("shut")

    async def _call(self, method: str, *args: Any) -> Any:
        from ray.exceptions import ActorUnschedulableError, PendingCallsLimitExceeded, RayActorError, RayTaskError

        try:
            return await getattr(self._actor, method).remote(*args)
        except RayTaskError as error:
            # Ray wraps what the method raised; callers want the error itself.
            if isinstance(error.cause, Exception):
                raise error.cause from None
            raise
        except (RayActorError, ActorUnschedulableError) as error:  # the latter: its machine is gone
            why = str(error).partition("\n")[0]
            raise Unavailable(f"{self.name} does not answer: {why}", part=self.name) from error
        except PendingCallsLimitExceeded as error:
            raise Overloaded(f"inbox of {self.name}", limits.INBOX_MESSAGES_MAX) from error


async def status_of(
    handle: RayHandle[object], gone: Callable[[int, str], bool], limit_s: float = PLACEMENT_TIMEOUT_S
) -> ActorStatus:
    """Where the actor lives. An actor that does not answer within `limit_s` is `busy` where it lived last, or
    `starting` when that process is `gone`: Ray then lets calls wait for its successor."""
    try:
        pid, node = await asyncio.wait_for(handle.placement(), limit_s)
        return ActorStatus(name=handle.name, type=handle.type, pid=pid, state="ready", node=node)
    except TimeoutError:
        pid, node = handle.last_placement
    except Unavailable:
        pid, node = 0, ""
    if not pid or gone(pid, node):
        return ActorStatus(name=handle.name, type=handle.type, pid=0, state="starting")
    return ActorStatus(name=handle.name, type=handle.type, pid=pid, state="busy", node=node)


def process_gone(pid: int, node: str, here: str) -> bool:
    """No process of that number runs on this machine, which is the Ray node `here`; of others nobody knows."""
    if node != here:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it runs for another user
    return False


def _take_back_sigterm() -> None:
    """Ray's core takes SIGTERM for a crash: it prints a stack and aborts the process 3 s later, in the middle of our
    drain. Setting the handler again that Python knows of puts Ray's out of the way."""
    ours = signal.getsignal(signal.SIGTERM)
    if ours is not None:
        signal.signal(signal.SIGTERM, ours)


async def _to_its_end(call: Callable[[], object]) -> None:
    """Run `call` in a thread. A cancelled caller still waits for its end. Otherwise a thread on its way to a cluster
    would keep the process from ending for minutes, unseen."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        running.exception()  # else asyncio would print it: nobody waits for it any more
        raise


class RayRuntime:
    """`address` "" starts a head on this machine; otherwise joins the cluster there. `directory` holds its token.
    `node_id` keeps the actors of several nodes in one cluster apart."""

    name = "ray"

    def __init__(self, directory: Path, node_id: str, address: str = "") -> None:
        self._directory = directory
        self._namespace = f"mnemesh-{node_id}"
        self._address = address
        self._handles: list[RayHandle[object]] = []
        self._here = LocalRuntime()
        self._cluster: RayCluster
        self._lost = ""

    async def start(self) -> None:
        """Connect. Raises Unavailable with what to do when Ray is not installed or not reachable."""
        self._directory.mkdir(parents=True, exist_ok=True)
        # Ray reads these once, when it is imported. Its daemons listen on every interface: never without the token.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Else Ray runs its workers at nice 15, and on a busy machine the ledger gets next to nothing of a processor.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Its monitor would serve metrics on every interface, without the token. This is no port: it can't listen.
        os.environ.setdefault("AUTOSCALER_METRIC_PORT", "-1")
        if "RAY_AUTH_TOKEN" not in os.environ and "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(self._token())
        try:
            import ray
        except ModuleNotFoundError as error:
            raise Unavailable("the ray runtime needs Ray: pip install 'mnemesh[cluster]'", part="ray") from error
        log_what_ray_prints()
        common: dict[str, Any] = {"namespace": self._namespace, "log_to_driver": False, "configure_logging": False}
        if self._address:
            common["address"] = self._address
        else:
            # "local": without an address Ray would join whatever cluster ran last on this machine, as a file says it.
            # Ray takes a host's CPUs as a budget; our actors ask for next to none, so a small head is enough.
            common |= {"address": "local", "num_cpus": 2, "include_dashboard": False}
            common["object_store_memory"] = OBJECT_STORE_BYTES
        before = Path.cwd()
        # Ray puts the driver's working directory on every worker's import path; a private one cannot shadow us.
        os.chdir(self._directory)
        try:
            await _to_its_end(partial(ray.init, **common))
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unavailable(
                f"Ray did not start or answer at {self._address or 'this machine'}: {error}; "
                "check --ray-address and that the cluster uses the same RAY_AUTH_TOKEN_PATH",
                part="ray",
            ) from error
        finally:
            os.chdir(before)
            _take_back_sigterm()
        self._cluster = RayCluster()

    def _token(self) -> Path:
        path = self._directory / "ray.token"
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
        return path

    async def spawn(
        self, name: str, cls: Callable[[*Args], Actor], *args: *Args, place: Place = ANYWHERE
    ) -> Handle[Actor]:
        if place.here:
            return await self._here.spawn(name, cls, *args)
        import ray
        from ray.exceptions import ActorAlreadyExistsError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options: dict[str, Any] = {
            "name": name,
            "num_cpus": WORKING_CPUS if place.works else 0,
            "max_restarts": -1 if place.restarts else 0,
            "max_task_retries": TASK_RETRIES if place.restarts else 0,
            "max_pending_calls": limits.INBOX_MESSAGES_MAX,
        }
        machine = ray.get_runtime_context().get_node_id() if place.pinned else place.machine
        if place.roams:
            # Ray places an actor without demands at random, whatever the strategy, unless it must stay in one place.
            options["memory"] = ROAMING_BYTES
        if machine:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(machine, soft=place.roams)
        elif place.roams:
            options["scheduling_strategy"] = "SPREAD"
        # Ray shows a process by the name of its class.
        host: Any = ray.remote(type(cls.__name__, (_Host,), {}))
        try:
            handle: RayHandle[Actor] = RayHandle(name, cls.__name__, host.options(**options).remote(cls, args))
        except ActorAlreadyExistsError as error:
            raise FailedPrecondition(
                f"this node's {name} runs in the Ray cluster already ({self._namespace}); stop the other node with "
                "the same identity: one of the two was started on a copy of the other's data directory",
                field="ray_address",
                value=self._address,
                limit="one node an identity",
            ) from error
        self._handles.append(handle)
        try:
            await asyncio.wait_for(handle.placement(), START_TIMEOUT_S)
        except BaseException as error:  # boundary: nobody gets the handle, so nobody else could end the actor
            await self.drop(handle)
            if isinstance(error, TimeoutError):
                raise Unavailable(f"Ray has not started {name} within {START_TIMEOUT_S:g} s", part=name) from None
            raise
        return handle

    async def machines(self) -> tuple[Machine, ...]:
        import ray

        here = ray.get_runtime_context().get_node_id()
        machines = [
            Machine(node["NodeID"], node["NodeManagerAddress"], node["Resources"].get("CPU", 0) > 0)
            for node in await self._cluster.nodes()
            if node["Alive"]
        ]
        return tuple(sorted(machines, key=lambda machine: (machine.id != here, machine.address, machine.id)))

    async def answers(self, handle: Handle[object]) -> bool:
        if not isinstance(handle, RayHandle):
            return True
        ports = {node["NodeID"]: (node["NodeManagerAddress"], node["NodeManagerPort"]) for node in self._cluster.known}
        place = ports.get(handle.last_placement[1])
        if place is None or await reachable(*place):
            return True
        with contextlib.suppress(TimeoutError, Unavailable):  # Ray may have started it elsewhere meanwhile
            await asyncio.wait_for(handle.placement(), ELSEWHERE_S)
            return True
        return False

    async def lost(self) -> str:
        self._lost = self._lost or await self._cluster.lost()
        return self._lost

    async def drop(self, handle: Handle[object]) -> None:
        import ray

        if not isinstance(handle, RayHandle):
            await self._here.drop(handle)
        elif handle in self._handles:
            self._handles.remove(handle)
            ray.kill(handle._actor)

    async def actors(self) -> tuple[ActorStatus, ...]:
        import ray

        here = ray.get_runtime_context().get_node_id()
        gone = partial(process_gone, here=here)
        addresses: dict[str, str] = {}
        with contextlib.suppress(Unavailable):  # shown without them
            addresses = {machine.id: machine.address for machine in await self.machines()}
        states = await asyncio.gather(*(status_of(handle, gone) for handle in self._handles))
        placed = (replace(status, address=addresses.get(status.node, "")) for status in states)
        return (*placed, *await self._here.actors())

    async def close(self) -> None:
        import ray

        async with contextlib.AsyncExitStack() as stack:
            # The others are closed and Ray is left, even when an actor fails to close.
            stack.push_async_callback(self._leave, ray.shutdown)
            if not self._lost:  # nobody would answer, and nothing can be ended
                for handle in self._handles:
                    stack.push_async_callback(self._end, handle)
            stack.push_async_callback(self._here.close)
        self._handles.clear()

    async def _leave(self, shutdown: Callable[[], None]) -> None:
        leaving = asyncio.create_task(beside(shutdown), name="ray-shutdown")
        # One that is lost may not let go.
        await asyncio.wait((leaving,), timeout=CLOSE_TIMEOUT_S if self._lost else None)
        if leaving.done():
            leaving.result()

    async def _end(self, handle: RayHandle[object]) -> None:
        import ray

        try:
            with contextlib.suppress(Unavailable, TimeoutError):
                await asyncio.wait_for(handle.shut(), CLOSE_TIMEOUT_S)
        finally:
            ray.kill(handle._actor)
