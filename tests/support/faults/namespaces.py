"""Two network namespaces with a link that can be cut, for nodes in networks of their own.

Each namespace has a second link, to the machine itself. Over this link the test talks to a node, and nobody cuts it.
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
        for name, end, address, control in zip(self.names, ends, BETWEEN, CONTROL, strict=True):
            _up(name, end, f"{address}/30")
            _control(name, f"c{end}", f"d{end}", control)

    def within(self, number: int) -> tuple[str, ...]:
        """The words before a command that runs in namespace 0 or 1."""
        return ("ip", "netns", "exec", self.names[number])

    def cut(self) -> None:
        """Neither hears the other."""
        for number in (0, 1):
            self.mute(number)

    def mute(self, number: int) -> None:
        """Messages of this namespace to the other are lost; the opposite way is open."""
        _ip("-n", self.names[number], "route", "replace", "blackhole", f"{BETWEEN[1 - number]}/32")

    def heal(self) -> None:
        """Both hear each other."""
        for number in (0, 1):
            route = ("-n", self.names[number], "route", "del", "blackhole", f"{BETWEEN[1 - number]}/32")
            _ip(*route, check=False)

    def close(self) -> None:
        """Delete the namespaces with their links."""
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
            _up(name, "lan", f"{address}/24")
        _control(self.names[0], f"m{os.getpid()}t"[:14], "control", CONTROL[0])

    def within(self, number: int) -> tuple[str, ...]:
        """The words before a command that runs on that machine."""
        return ("ip", "netns", "exec", self.names[number])

    def unplug(self, number: int) -> None:
        """Pull that machine's cable: nobody is told."""
        _ip("-n", self._hub, "link", "set", f"port{number}", "down")

    def plug(self, number: int) -> None:
        """Put it back."""
        _ip("-n", self._hub, "link", "set", f"port{number}", "up")

    def close(self) -> None:
        """Delete the namespaces with their links."""
        for name in (*self.names, self._hub):
            _ip("netns", "del", name, check=False)


def _up(name: str, end: str, address: str) -> None:
    """Give the link `end` in the namespace `name` an address, and switch the link on."""
    _ip("-n", name, "address", "add", address, "dev", end)
    _ip("-n", name, "link", "set", end, "up")


def _control(name: str, here: str, there: str, addresses: tuple[str, str]) -> None:
    """A link between the machine's end `here` and the end `there` in the namespace `name`."""
    _ip("link", "add", here, "type", "veth", "peer", there, "netns", name)
    _ip("address", "add", f"{addresses[0]}/30", "dev", here)
    _ip("link", "set", here, "up")
    _up(name, there, f"{addresses[1]}/30")


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], capture_output=True, timeout=COMMAND_S, check=check)
