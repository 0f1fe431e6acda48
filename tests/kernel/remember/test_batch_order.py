"""The texts of a batch are judged beside each other in their order, as if they were written one by one."""

from __future__ import annotations

from recall_scene import READER, Here, memories

from mnemesh_actors.remember.drafts import Prepared, rounds
from mnemesh_memory.policy.judge import guard
from mnemesh_memory.values.model import Draft, Written


async def written(here: Here, *texts: str, force: bool = False) -> list[Written]:
    done = await here.mesh.remember_batch(READER, [here.draft(text, force=force) for text in texts])
    assert all(isinstance(one, Written) for one in done), done
    return [one for one in done if isinstance(one, Written)]


async def test_each_new_value_in_a_batch_replaces_the_one_before_it(here: Here) -> None:
    done = await written(
        here,
        "Guest sessions expire after 15 minutes",
        "Ana drinks tea in the harbour office",
        "Guest sessions expire after 30 minutes",
        "Guest sessions expire after 60 minutes",
    )
    assert [one.action for one in done] == ["ADD", "ADD", "SUPERSEDE", "SUPERSEDE"]
    states = [memory.state for memory in await memories(here, done)]
    assert states == ["superseded", "active", "superseded", "active"]


async def test_a_batch_replaces_a_memory_of_before_once_and_its_own_text_then(here: Here) -> None:
    first = await here.remember("The archive keeps letters for 3 years")
    done = await written(here, "The archive keeps letters for 5 years", "The archive keeps letters for 9 years")
    (old,), _ = await here.mesh.get(READER, [first.id])
    last = await memories(here, done)
    assert [old.state, *(memory.state for memory in last)] == ["superseded", "superseded", "active"]
    assert [link.id for link in last[1].links if link.type == "supersedes"] == [done[0].memory.id]


async def test_a_text_of_the_batch_in_other_order_is_no_new_memory(here: Here) -> None:
    one, other = await written(here, "If the tide is low, nobody sails", "Nobody sails if the tide is low")
    assert (one.action, other.action, other.memory.id) == ("ADD", "NOOP", one.memory.id)


async def test_forced_texts_of_a_batch_all_stand(here: Here) -> None:
    done = await written(here, "The ferry holds 40 cars", "The ferry holds 60 cars", force=True)
    assert [memory.state for memory in await memories(here, done)] == ["active", "active"]


async def test_a_text_beside_another_of_the_batch_still_replaces_a_recalled_memory(here: Here) -> None:
    first = await here.remember("Omar works with Vim.")
    await here.recall("what does Omar work with?")
    beside, done = await written(here, "Lena works with Emacs.", "Omar works with Emacs.")
    assert (beside.action, done.action) == ("ADD", "SUPERSEDE")
    assert f"replaces {first.id}; recalled 0 min ago" in done.reason


async def test_a_text_beside_another_of_the_batch_still_updates_a_recalled_memory_once(here: Here) -> None:
    first = await here.remember("The gateway listens on port 8080. Petra answers questions about invoices.")
    await here.recall("where does the gateway listen?")
    texts = (
        "The relay listens on port 9090.",
        "The gateway listens on port 9090.",
        "The gateway listens on port 9191.",
    )
    _, once, again = await written(here, *texts)
    assert (once.action, once.memory.id, once.memory.version) == ("UPDATE", first.id, 2)
    assert (again.action, again.memory.id == first.id) == ("ADD", False)


async def test_no_text_of_a_batch_is_compared_with_another_text_twice(here: Here) -> None:
    compared: list[tuple[str, str]] = []
    compare = guard.evidence_of

    def noted(older: str, newer: str, cosine: float) -> guard.Evidence:
        compared.append((older, newer))
        return compare(older, newer, cosine)

    here.patch.setattr(guard, "evidence_of", noted)
    await here.remember("The barn door opens at 6")
    done = await written(here, *(f"The barn door opens at {hour}" for hour in (7, 8, 9)))
    assert [one.action for one in done] == ["SUPERSEDE"] * 3
    assert len(compared) == len(set(compared)) == 6


async def test_texts_that_share_nothing_are_written_in_one_round_and_others_in_their_order() -> None:
    door, gate, door_again, gate_again, _ = items = [Prepared(Draft(content=word)) for word in "abcde"]
    later = {2: [(door, 0.9)], 3: [(gate, 0.9)], 4: [(door_again, 0.9), (door, 0.8)]}
    assert rounds(items, later) == [[2, 3], [4]]
    memory = guard.Verdict(action="SUPERSEDE", reason="", novelty=0.0, heads={"old": ("1@a",)})
    gate_again.verdict = door_again.verdict = memory
    assert rounds(items, later) == [[2], [3, 4]], "both may replace one memory"
    assert rounds(items, {}) == []
