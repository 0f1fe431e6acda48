"""A copy of a node differs from a restarted node: the stream that stands is asked, and answers or not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from mnemesh_crdt.sync.handshake import ONE_IS_A_COPY
from mnemesh_gateway.peers.copies import TOLD_S, Copies

NODE, OTHER = "a" * 32, "b" * 32


@dataclass(eq=False)
class Standing:
    """A stream whose peer is alive, or not, once `gate` lets it answer."""

    alive: bool = True
    hung_up: str = ""
    asked: int = 0
    gate: asyncio.Event | None = None
    within: list[float] = field(default_factory=list)

    async def answers(self, within_s: float) -> bool:
        self.asked += 1
        self.within.append(within_s)
        if self.gate is not None:
            await self.gate.wait()
        return self.alive

    def hang_up(self, why: str) -> None:
        self.hung_up = why


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_copy_that_comes_second_is_refused_and_told_of_for_a_while() -> None:
    clock = Clock()
    copies, first = Copies(answer_s=3.0, now=clock), Standing()
    assert await copies.admit(first, "laptop", NODE, "one") == ""
    assert copies.note(NODE) == ""
    for _ in range(2):
        assert await copies.admit(Standing(), "laptop", NODE, "two") == ONE_IS_A_COPY
    assert (first.asked, first.within[0], first.hung_up) == (2, 3.0, "")
    assert "mnemesh node new-identity" in copies.note(NODE)
    assert copies.note(OTHER) == ""
    clock.now += TOLD_S
    assert copies.note(NODE) == ""


async def test_a_copy_with_another_token_is_one_too() -> None:
    copies = Copies()
    assert await copies.admit(Standing(), "laptop", NODE, "one") == ""
    assert await copies.admit(Standing(), "desk", NODE, "two") == ONE_IS_A_COPY


async def test_a_restarted_node_takes_the_place_of_its_old_stream_on_which_nobody_answers() -> None:
    copies, old, new = Copies(), Standing(alive=False), Standing()
    await copies.admit(old, "laptop", NODE, "one")
    assert await copies.admit(new, "laptop", NODE, "two") == ""
    assert "met anew" in old.hung_up
    assert copies.note(NODE) == ""
    assert await copies.admit(Standing(), "laptop", NODE, "one") == ONE_IS_A_COPY, "the old one wakes up"
    assert (old.asked, new.asked) == (1, 1)


async def test_other_nodes_and_the_same_process_again_are_not_asked_about() -> None:
    copies, first = Copies(), Standing()
    await copies.admit(first, "laptop", NODE, "one")
    assert await copies.admit(Standing(), "desk", OTHER, "two") == ""
    assert await copies.admit(Standing(), "laptop", NODE, "one") == ""
    assert first.asked == 0


async def test_who_has_left_keeps_nobody_out() -> None:
    copies, first = Copies(), Standing()
    await copies.admit(first, "laptop", NODE, "one")
    copies.leave(first)
    assert await copies.admit(Standing(), "laptop", NODE, "two") == ""
    assert first.asked == 0


async def test_of_two_that_come_at_once_while_the_old_one_is_asked_one_stays() -> None:
    gate = asyncio.Event()
    copies, old = Copies(), Standing(alive=False, gate=gate)
    await copies.admit(old, "laptop", NODE, "one")
    coming = [asyncio.create_task(copies.admit(Standing(), "laptop", NODE, life)) for life in ("two", "three")]
    await asyncio.sleep(0)
    gate.set()
    assert sorted(await asyncio.gather(*coming)) == ["", ONE_IS_A_COPY]
