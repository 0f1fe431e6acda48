"""`python -m bench.maps.rooms`: whether the map finds rooms of memories that agents use together.

Each room holds memories of the team histories drawn by chance, so nothing but their use joins these. Agents work side
by side, each in one room for a session, with a share of steps anywhere. Then `navigate` is asked from each memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from pathlib import Path
from typing import Final

from bench.consolidation.sleep import SPACE, started
from bench.texts.corpora import TEAM

from mnemesh_actors.node.mesh import Mesh
from mnemesh_memory.values.errors import MnemeshError
from mnemesh_memory.values.model import Caller, Draft

ROOMS: Final = 30
MEMORIES: Final = 12  # a room
SESSIONS: Final = 6  # a room
STEPS: Final = 12  # a session
AGENTS: Final = 4  # side by side
ELSEWHERE: Final = 0.2  # of the steps
NEAREST: Final = 5
OWNER: Final = Caller("owner/bench", "owner")


async def planted(mesh: Mesh, chance: random.Random) -> list[list[str]]:
    """Rooms of memories without a common subject."""
    texts = [
        memory["content"]
        for path in sorted(TEAM.glob("*.json"))
        for memory in json.loads(path.read_text("utf-8"))["memories"]
    ]
    drafts = [Draft(content=text, space=SPACE, force=True) for text in chance.sample(texts, ROOMS * MEMORIES)]
    ids = []
    for start in range(0, len(drafts), 200):
        for done in await mesh.remember_batch(OWNER, drafts[start : start + 200]):
            if isinstance(done, MnemeshError):
                raise done
            ids.append(done.memory.id)
    return [ids[start : start + MEMORIES] for start in range(0, len(ids), MEMORIES)]


async def same_room(elsewhere: float, seed: int) -> float:
    """The share of the nearest memories that are of the asked memory's room."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        mesh = await started(Path(folder) / "data")
        try:
            rooms = await planted(mesh, chance)
            everything = [id_ for room in rooms for id_ in room]
            sessions = [room for room in rooms for _ in range(SESSIONS)]
            chance.shuffle(sessions)
            for place in range(0, len(sessions), AGENTS):
                for _ in range(STEPS):
                    for number, room in enumerate(sessions[place : place + AGENTS]):
                        agent = Caller(f"owner/agent-{place + number}", "owner")
                        memory = chance.choice(everything if chance.random() < elsewhere else room)
                        await mesh.get(agent, [memory])
            shares = []
            for room in rooms:
                for id_ in room:
                    points = (await mesh.navigate(OWNER, key=id_, spaces=(SPACE,), limit=NEAREST)).points
                    near = [point.id for point in points if not point.start]
                    shares.append(sum(one in room for one in near) / NEAREST)
            return sum(shares) / len(shares)
        finally:
            await mesh.close()


def main() -> None:
    """One figure a share of steps elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elsewhere", type=float, nargs="+", default=[0.0, ELSEWHERE, 2 * ELSEWHERE])
    parser.add_argument("--seed", type=int, default=5)
    asked = parser.parse_args()
    for share in asked.elsewhere:
        found = asyncio.run(same_room(share, asked.seed))
        print(f"{share:.0%} of the steps elsewhere: same room among the {NEAREST} nearest {found:.3f}")


if __name__ == "__main__":
    main()
