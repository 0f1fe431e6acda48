"""Two network namespaces with a link between them that can be cut, for nodes that live in networks of their own.

Each has a second link to the machine itself, over which the test talks to its node; that one is never cut.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

BETWEEN = ("10.197.0.1", "10.197.0.2")
CONTROL = (("10.197.1.1", "10.197.1.2"), ("10.197.2.1", "10.197.2.2"))  # the machine's end, the namespace's end
COMMAND_S = 10.0


def can_be_made() -> bool:
    """Whether this machine lets us make network namespaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    probe = f"mnm{os.getpid()}probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, timeout=COMMAND_S, check=False)
    if made.returncode == 0:
        _ip("netns", "del", probe)
    return made.returncode == 0


@dataclass
class Namespaces:
    """`names` of the two; the addresses are in BETWEEN and CONTROL."""

    def __post_init__(self) -> None:
        self.names = (f"mnm{os.getpid()}a", f"mnm{os.getpid()}b")
        self._ends = tuple(f"m{os.getpid()}{end}"[:14] for end in "ab")

    def make(self) -> None:
        """Both namespaces with their links up."""
        for name in self.names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        ends = self._ends
        _ip("link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", ends[1], "netns", self.names[1])
        for name, end, address, (here, there) in zip(self.names, ends, BETWEEN, CONTROL, strict=True):
            _ip("-n", name, "address", "add", f"{address}/30", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("link", "add", f"c{end}", "type", "veth", "peer", f"d{end}", "netns", name)
            _ip("address", "add", f"{here}/30", "dev", f"c{end}")
            _ip("link", "set", f"c{end}", "up")
            _ip("-n", name, "address", "add", f"{there}/30", "dev", f"d{end}")
            _ip("-n", name, "link", "set", f"d{end}", "up")

    def within(self, number: int) -> tuple[str, ...]:
        """What to put before a command that runs in namespace 0 or 1."""
        return ("ip", "netns", "exec", self.names[number])

    def cut(self) -> None:
        """Neither hears the other."""
        for number in (0, 1):
            self.mute(number)

    def mute(self, number: int) -> None:
        """What this one says to the other is lost; it hears all."""
        _ip("-n", self.names[number], "route", "replace", "blackhole", f"{BETWEEN[1 - number]}/32")

    def heal(self) -> None:
        """Both hear each other."""
        for number in (0, 1):
            route = ("-n", self.names[number], "route", "del", "blackhole", f"{BETWEEN[1 - number]}/32")
            _ip(*route, check=False)

    def close(self) -> None:
        """Delete them, and with them their links."""
        for name in self.names:
            _ip("netns", "del", name, check=False)


@dataclass
class Network:
    """Machines in one network, each a namespace: number n at `addresses[n]`. The test reaches the first at CONTROL's
    address too, over a link that is never cut."""

    size: int

    def __post_init__(self) -> None:
        self.names = tuple(f"mnm{os.getpid()}n{number}" for number in range(self.size))
        self.addresses = tuple(f"10.198.0.{number + 1}" for number in range(self.size))
        self._hub = f"mnm{os.getpid()}hub"

    def make(self) -> None:
        """All of them, with their links up."""
        _ip("netns", "add", self._hub)
        _ip("-n", self._hub, "link", "add", "hub", "type", "bridge")
        _ip("-n", self._hub, "link", "set", "hub", "up")
        for number, (name, address) in enumerate(zip(self.names, self.addresses, strict=True)):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
            port = f"port{number}"
            _ip("-n", self._hub, "link", "add", port, "type", "veth", "peer", "lan", "netns", name)
            _ip("-n", self._hub, "link", "set", port, "master", "hub", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "lan")
            _ip("-n", name, "link", "set", "lan", "up")
        (here, there), end = CONTROL[0], f"m{os.getpid()}t"[:14]
        _ip("link", "add", end, "type", "veth", "peer", "control", "netns", self.names[0])
        _ip("address", "add", f"{here}/30", "dev", end)
        _ip("link", "set", end, "up")
        _ip("-n", self.names[0], "address", "add", f"{there}/30", "dev", "control")
        _ip("-n", self.names[0], "link", "set", "control", "up")

    def within(self, number: int) -> tuple[str, ...]:
        """What to put before a command that runs on that machine."""
        return ("ip", "netns", "exec", self.names[number])

    def unplug(self, number: int) -> None:
        """Pull that machine's cable: nobody is told."""
        _ip("-n", self._hub, "link", "set", f"port{number}", "down")

    def plug(self, number: int) -> None:
        """Put it back."""
        _ip("-n", self._hub, "link", "set", f"port{number}", "up")

    def close(self) -> None:
        """Delete them, and with them their links."""
        for name in (*self.names, self._hub):
            _ip("netns", "del", name, check=False)


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], capture_output=True, timeout=COMMAND_S, check=check)
