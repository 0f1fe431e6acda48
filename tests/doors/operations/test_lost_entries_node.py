"""A real node after a kill and damage to its write-ahead log: an alarm until acknowledged, and recall works again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import MNEMESH
from node_process import kill_node, running, start_node
from test_doctor_node import doctor

from mnemesh import Client

WRITES_BEFORE, WRITES_AFTER = 60, 40
# Names that no other text shares, so that the first result is the memory itself.
COLOURS = ("amber", "beige", "coral", "denim", "ebony", "fawn", "green", "hazel", "ivory", "jade")


def text(number: int, when: str) -> str:
    return f"The {COLOURS[number % 10]} valve number {when}{number} is in hall {number * 7}."


def written(data_dir: Path, count: int, when: str) -> dict[str, str]:
    with Client(data_dir=data_dir, space="team/loss") as client:
        return {client.remember(text(number, when)).memory.id: text(number, when) for number in range(count)}


def flip_the_middle(wal: Path) -> None:
    data = bytearray(wal.read_bytes())
    data[len(data) // 2] ^= 1
    wal.write_bytes(data)


@pytest.mark.parametrize("damage", [flip_the_middle, Path.unlink])
async def test_after_a_loss_the_node_warns_and_every_later_write_is_found(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    node = await start_node(tmp_path)
    await asyncio.to_thread(written, tmp_path, WRITES_BEFORE, "a")
    await kill_node(node)
    damage(tmp_path / "ledger" / "0.sqlite-wal")
    async with running(tmp_path) as node:
        later = await asyncio.to_thread(written, tmp_path, WRITES_AFTER, "b")
        await asyncio.to_thread(all_found, tmp_path, later)
        code, report = await doctor(tmp_path)
        assert code == 1
        (finding,) = [one for one in report["findings"] if one["check"] == "data"]
        assert "entries of the ledger are lost" in finding["problem"]
        assert finding["problem"] in report["node"]["notices"]
    async with running(tmp_path) as node:
        await asyncio.to_thread(all_found, tmp_path, later)
        assert (await doctor(tmp_path))[0] == 1, "a restart does not end the alarm"
        told = await MNEMESH.run("doctor", "--acknowledge", "--data", tmp_path)
        assert (told.code, "1 alarm acknowledged" in told.stdout) == (0, True)
        code, report = await doctor(tmp_path)
        assert (code, report["findings"]) == (0, [])


def all_found(data_dir: Path, kept: dict[str, str]) -> None:
    with Client(data_dir=data_dir, space="team/loss") as client:
        status = client.status()
        assert all(index.seq <= status.ledger.seq for index in status.index)
        for id_, said in kept.items():
            assert client.recall(said, limit=1).results[0].memory.id == id_
