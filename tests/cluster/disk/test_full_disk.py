"""A disk without room: reads go on, writes are refused with what to do, and go on by themselves when there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
from node_process import Nodes, NodeUnderTest, kill_node, ready_node, stop_node
from node_reads import contents, eventually, finds, settled
from scenario_doors import GrpcDoor, Refused

SPACE = "full"
# No disk has so much room, so to the node each one is full.
BEYOND_ANY_DISK = "1125899906842624"
IMAGE_BYTES = 96 << 20
RESERVE_BYTES = 32 << 20
NAMESPACE_S = 20.0
MEMORIES_MAX = 5_000


async def remember(door: GrpcDoor, text: str) -> None:
    await door.call("remember", content=text, space=SPACE, force=True)


async def test_a_node_whose_disk_is_full_answers_reads_and_refuses_each_kind_of_write(
    nodes: Nodes, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    node = await nodes.start(data_dir)
    async with GrpcDoor(node) as door:
        await remember(door, "The boiler is serviced in May.")
        await settled(door)
    assert await stop_node(node) == 0
    assert (data_dir / "start-room").stat().st_blocks * 512 >= 4 << 20

    node = await nodes.start(data_dir, "--disk-reserve-bytes", BEYOND_ANY_DISK)
    async with GrpcDoor(node) as door:
        assert await finds(door, "The boiler is serviced in May.", SPACE)
        turn = {"id": "1", "role": "user", "text": "Hello."}
        for operation, fields in (
            ("remember", {"content": "Nothing more fits.", "space": SPACE}),
            ("transcript_add", {"session": "s", "space": SPACE, "turns": [turn]}),
            ("backup_create", {}),
        ):
            with pytest.raises(Refused, match=r"disk_reserve_bytes: the disk of .* Free space on that disk") as refused:
                await door.call(operation, **fields)
            assert refused.value.code == "RESOURCE_EXHAUSTED"
        status = await door.call("status")
        assert status["state"] == "degraded"
        assert any(notice.startswith("disk_reserve_bytes: ") for notice in status["notices"])
    async with httpx.AsyncClient() as web:
        ready = (await web.get(f"http://{node.http}/health/ready")).json()
    assert ready["ready"] is True
    assert ready["read_only"].startswith("disk_reserve_bytes: ")
    assert not (data_dir / "start-room").exists()
    assert await stop_node(node) == 0
    assert b"Traceback" not in await node.said

    node = await nodes.start(data_dir)
    async with GrpcDoor(node) as door:
        await remember(door, "There is room again.")
        assert await finds(door, "There is room again.", SPACE)
        assert await contents(door, SPACE) == ["The boiler is serviced in May.", "There is room again."]


def need_loop_mounts(folder: Path) -> Path:
    """An ext4 file system in a file; skips, with the reason, where it can not be mounted."""
    if os.geteuid() or not all(map(shutil.which, ("unshare", "mkfs.ext4", "mount"))):
        pytest.skip("a real disk of 96 MiB needs root, unshare, mount and mkfs.ext4")
    image, there = folder / "disk.img", folder / "disk"
    there.mkdir()
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(("mkfs.ext4", "-q", "-F", str(image)), check=True, timeout=NAMESPACE_S)
    tried = subprocess.run(("unshare", "-m", "mount", "-o", "loop", str(image), str(there)),
                           check=False, capture_output=True, text=True, timeout=NAMESPACE_S)  # fmt: skip
    if tried.returncode:
        pytest.skip(f"no loop mounts here: {tried.stderr.strip()}")
    return image


async def on_image(nodes: Nodes, image: Path) -> NodeUnderTest:
    """A node whose data directory lies on the image, mounted in a namespace that ends with the node."""
    there = image.parent / "disk"
    script = f'mount -o loop {image} {there} && exec "$@"'
    flags = ("--disk-reserve-bytes", str(RESERVE_BYTES))
    process = await nodes.launch(there / "data", *flags, within=("unshare", "-m", "sh", "-c", script, "sh"))
    return await ready_node(Path(f"/proc/{process.pid}/root{there}/data"), process)


def fill(disk: Path) -> None:
    """Write until the disk takes no block more."""
    with (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


async def filled_by_memories(door: GrpcDoor) -> int:
    """Store until the node takes no more; how many it took."""
    for stored in range(MEMORIES_MAX):
        try:
            await remember(door, f"Entry {stored} of the log. " + f"{stored} " * 4000)
        except Refused as refused:
            if "disk_reserve_bytes" not in refused.message:
                raise
            return stored
    raise AssertionError(f"{MEMORIES_MAX} memories did not fill {IMAGE_BYTES} bytes")


@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_a_real_disk_that_fills_up_costs_no_memory_and_no_node(nodes: Nodes, tmp_path: Path) -> None:
    image = need_loop_mounts(tmp_path)
    node = await on_image(nodes, image)
    async with GrpcDoor(node) as door:
        stored = await filled_by_memories(door)
        await eventually(
            lambda: door.call("status"), lambda status: status["index"][0]["lag"] == 0, "what was stored is indexed"
        )
        with pytest.raises(OSError, match="No space left"):
            fill(node.data_dir.parent)
        for number in range(20):
            with pytest.raises(Refused, match="disk_reserve_bytes"):
                await remember(door, f"Too late {number}.")
        assert len(await contents(door, SPACE)) == stored
    await kill_node(node)
    assert b"Traceback" not in await node.said

    node = await on_image(nodes, image)
    async with GrpcDoor(node) as door:
        assert len(await contents(door, SPACE)) == stored
        with pytest.raises(Refused, match="disk_reserve_bytes"):
            await remember(door, "Too late.")
        print(f"{stored} memories of 8 to 20 kB were taken in before the reserve was reached")
    assert await stop_node(node) == 0
    said = await node.said
    assert b"Traceback" not in said
    assert b"disk_full" in said
