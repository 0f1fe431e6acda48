"""Batch while busy: a lone caller goes at once, callers in the meantime go together, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mnemesh_actors.runtime.batch import Batcher
from mnemesh_memory.values.errors import NotFound, Overloaded, Unavailable

PATIENCE_S = 60.0


class Clerk:
    """Doubles numbers when told to go on; remembers what it was handed in each call."""

    def __init__(self, gated: bool = True) -> None:
        self.calls: list[list[int]] = []
        self._news = asyncio.Condition()
        self._allowed = 0 if gated else 10**9

    async def __call__(self, items: list[int]) -> Sequence[int | Exception]:
        async with self._news:
            self.calls.append(items)
            number = len(self.calls)
            self._news.notify_all()
            await self._news.wait_for(lambda: self._allowed >= number)
        if 666 in items:
            raise Unavailable("the clerk is out", part="clerk")
        return [NotFound("number", str(item)) if item < 0 else item * 2 for item in items]

    async def called(self, times: int) -> None:
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(lambda: len(self.calls) >= times)

    async def finish(self, *tasks: asyncio.Task[int]) -> list[Any]:
        """Go on to the end; the results."""
        await self.go_on(99)
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), PATIENCE_S)

    async def go_on(self, times: int = 1) -> None:
        async with self._news:
            self._allowed += times
            self._news.notify_all()


@pytest.fixture
def clerk() -> Clerk:
    return Clerk()


def batcher(clerk: Clerk, items_max: int = 4, waiting_max: int = 8) -> Batcher[int, int]:
    return Batcher("numbers", clerk, items_max, waiting_max)


async def waiting(batch: Batcher[int, int], *items: int) -> list[asyncio.Task[int]]:
    """Callers that have handed in their item and wait."""
    tasks = [asyncio.create_task(batch.submit(item)) for item in items]
    await asyncio.sleep(0)
    return tasks


async def busy(item: int = 1, **limits: int) -> tuple[Clerk, Batcher[int, int], asyncio.Task[int]]:
    """A clerk with one item at work."""
    clerk = Clerk()
    batch = batcher(clerk, **limits)
    (first,) = await waiting(batch, item)
    await clerk.called(1)
    return clerk, batch, first


async def test_a_lone_caller_goes_at_once_and_alone() -> None:
    clerk = Clerk(gated=False)
    batch = batcher(clerk)
    async with asyncio.timeout(PATIENCE_S):
        assert [await batch.submit(item) for item in (1, 2, 3)] == [2, 4, 6]
    assert clerk.calls == [[1], [2], [3]]


async def test_those_who_come_while_it_is_busy_go_together_in_order() -> None:
    clerk, batch, first = await busy()
    others = await waiting(batch, 2, 3, 4)
    assert clerk.calls == [[1]]
    assert await clerk.finish(first, *others) == [2, 4, 6, 8]
    assert clerk.calls == [[1], [2, 3, 4]]


async def test_a_call_takes_at_most_its_limit_and_the_rest_follows() -> None:
    clerk, batch, first = await busy(0, items_max=3)
    others = await waiting(batch, *range(1, 8))
    assert await clerk.finish(first, *others) == [item * 2 for item in range(8)]
    assert clerk.calls == [[0], [1, 2, 3], [4, 5, 6], [7]]


async def test_a_call_that_fails_fails_for_all_of_its_batch_and_for_no_other() -> None:
    clerk, batch, before = await busy()
    failing = await waiting(batch, 2, 666)
    await clerk.go_on(2)
    await clerk.called(2)
    after = await waiting(batch, 4)
    await clerk.go_on(1)
    results = await asyncio.wait_for(asyncio.gather(before, *failing, *after, return_exceptions=True), PATIENCE_S)
    assert [type(result).__name__ for result in results] == ["int", "Unavailable", "Unavailable", "int"]


async def test_a_call_that_answers_too_few_leaves_no_caller_waiting() -> None:
    async def careless(items: list[int]) -> Sequence[int | Exception]:
        return items[:1]

    batch: Batcher[int, int] = Batcher("numbers", careless, 4, 8)
    tasks = await waiting(batch, 1, 2)
    async with asyncio.timeout(PATIENCE_S):
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, ValueError) for result in results)
        assert await batch.submit(3) == 3


async def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    clerk, batch, first = await busy(waiting_max=3)
    others = await waiting(batch, 2, 3, 4)
    with pytest.raises(Overloaded) as caught:
        await batch.submit(5)
    assert caught.value.fields["limit"] == 3
    assert caught.value.fields["retry_after_s"] > 0
    assert await clerk.finish(first, *others) == [2, 4, 6, 8]
    assert await batch.submit(5) == 10, "there is room again"


async def test_of_many_handed_in_at_once_those_without_room_are_refused_each_for_itself() -> None:
    clerk = Clerk(gated=False)
    batch = batcher(clerk, waiting_max=3)
    results = await asyncio.wait_for(batch.submit_many([1, 2, 3, 4, 5]), PATIENCE_S)
    assert results[:3] == [2, 4, 6]
    assert [type(result) for result in results[3:]] == [Overloaded, Overloaded]


async def test_many_get_their_results_in_order_with_the_errors_among_them() -> None:
    batch = batcher(Clerk(gated=False))
    results = await asyncio.wait_for(batch.submit_many([1, -2, 3]), PATIENCE_S)
    assert (results[0], results[2]) == (2, 6)
    assert [type(one) for one in (results[1], *await batch.submit_many([-2]))] == [NotFound, NotFound]
    assert await batch.submit_many([]) == []


async def test_a_caller_who_has_gone_is_skipped() -> None:
    clerk, batch, first = await busy()
    gone, staying = await waiting(batch, 2, 3)
    gone.cancel()
    assert await clerk.finish(first, staying) == [2, 6]
    assert clerk.calls == [[1], [3]]
    assert gone.cancelled()


async def test_when_all_have_gone_nothing_is_called() -> None:
    clerk, batch, first = await busy()
    for task in await waiting(batch, 2, 3):
        task.cancel()
    await clerk.go_on(9)
    async with asyncio.timeout(PATIENCE_S):
        assert await first == 2
        assert await batch.submit(4) == 8
    assert clerk.calls == [[1], [4]]


async def test_a_caller_who_goes_during_the_call_does_not_disturb_the_others(clerk: Clerk) -> None:
    batch = batcher(clerk)
    gone, staying = await waiting(batch, 1, 2)
    await clerk.called(1)
    gone.cancel()
    await clerk.go_on()
    async with asyncio.timeout(PATIENCE_S):
        assert await staying == 4
    assert clerk.calls == [[1, 2]]


async def test_urgent_items_go_first_and_do_not_starve_the_others() -> None:
    clerk, batch, first = await busy(items_max=1, waiting_max=20)
    others = await waiting(batch, 2, 3)
    urgent = [asyncio.create_task(batch.submit(item, urgent=True)) for item in range(10, 16)]
    await asyncio.sleep(0)
    await clerk.finish(first, *others, *urgent)
    assert clerk.calls == [[1], [10], [11], [12], [13], [2], [14], [15], [3]]


async def test_a_call_of_urgent_items_has_a_limit_of_its_own() -> None:
    clerk = Clerk(gated=False)
    batch: Batcher[int, int] = Batcher("numbers", clerk, 4, 8, urgent_max=2)
    items = [*(batch.submit(item, urgent=True) for item in (1, 2, 3)), *(batch.submit(item) for item in (4, 5, 6))]
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(*items) == [2, 4, 6, 8, 10, 12]
    assert clerk.calls == [[1, 2], [3], [4, 5, 6]]


async def test_a_full_queue_refuses_no_urgent_item() -> None:
    clerk, batch, first = await busy(waiting_max=1)
    (other,) = await waiting(batch, 2)
    urgent = asyncio.create_task(batch.submit(3, urgent=True))
    await asyncio.sleep(0)
    assert await clerk.finish(first, other, urgent) == [2, 4, 6]


def lanes(clerk: Clerk, calls_max: int, items_max: int = 2, **more: float) -> Batcher[int, int]:
    return Batcher("numbers", clerk, items_max, 20, calls_max=calls_max, **more)


async def test_an_actor_of_several_calls_keeps_one_for_urgent_items(clerk: Clerk) -> None:
    batch = lanes(clerk, 2)
    usual = await waiting(batch, 1, 2, 3, 4)
    await clerk.called(1)
    urgent = [asyncio.create_task(batch.submit(item, urgent=True)) for item in (5, 6, 7)]
    await clerk.called(2)
    await asyncio.sleep(0)
    assert clerk.calls == [[1, 2], [5, 6]], "the other usual items wait, and so does what is urgent beyond one call"
    assert await clerk.finish(*usual, *urgent) == [2, 4, 6, 8, 10, 12, 14]
    assert sorted(clerk.calls) == [[1, 2], [3, 4], [5, 6], [7]]


async def test_urgent_items_may_take_all_calls_and_the_usual_ones_go_on_when_one_is_free(clerk: Clerk) -> None:
    batch = lanes(clerk, 2)
    urgent = [asyncio.create_task(batch.submit(item, urgent=True)) for item in (1, 2, 3, 4)]
    await clerk.called(2)
    usual = await waiting(batch, 5)
    assert clerk.calls == [[1, 2], [3, 4]]
    assert await clerk.finish(*urgent, *usual) == [2, 4, 6, 8, 10]


async def test_with_three_calls_two_are_for_usual_items(clerk: Clerk) -> None:
    batch = lanes(clerk, 3)
    usual = await waiting(batch, 1, 2, 3, 4, 5, 6)
    await clerk.called(2)
    await asyncio.sleep(0)
    assert clerk.calls == [[1, 2], [3, 4]]
    assert await clerk.finish(*usual) == [2, 4, 6, 8, 10, 12]


async def test_without_urgent_items_every_call_is_for_usual_ones_and_they_share_them_evenly(clerk: Clerk) -> None:
    batch = lanes(clerk, 2, items_max=8, kept_s=PATIENCE_S)
    usual = await waiting(batch, 1, 2, 3, 4, 5, 6)
    await clerk.called(2)
    assert clerk.calls == [[1, 2, 3], [4, 5, 6]]
    assert await clerk.finish(*usual) == [2, 4, 6, 8, 10, 12]


async def test_after_an_urgent_item_one_call_is_kept_for_the_next_one(clerk: Clerk) -> None:
    batch = lanes(clerk, 2, items_max=8, kept_s=PATIENCE_S)
    await clerk.go_on(1)
    assert await batch.submit(1, urgent=True) == 2
    usual = await waiting(batch, 2, 3)
    await clerk.called(2)
    urgent = asyncio.create_task(batch.submit(4, urgent=True))
    await clerk.called(3)
    assert clerk.calls == [[1], [2, 3], [4]]
    assert await clerk.finish(*usual, urgent) == [4, 6, 8]


async def test_idle_waits_for_every_call_that_is_under_way(clerk: Clerk) -> None:
    batch = lanes(clerk, 2)
    tasks = [*await waiting(batch, 1), asyncio.create_task(batch.submit(2, urgent=True))]
    await clerk.called(2)
    idle = asyncio.create_task(batch.idle(PATIENCE_S))
    await clerk.go_on(1)
    await asyncio.wait(tasks, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    assert not idle.done()
    await clerk.go_on(1)
    async with asyncio.timeout(PATIENCE_S):
        await idle
        assert sorted(await asyncio.gather(*tasks)) == [2, 4]
