"""The operation seed_project of FakeMesh: one seed of a project that nobody has read."""

from __future__ import annotations

from mnemesh_actors.remember.project_seeding import Seeded
from mnemesh_memory.seeding.seeds import ADD, SeedOutcome
from mnemesh_memory.values.model import Caller


class FakeSeeding:
    """Stores nothing."""

    async def seed_project(self, caller: Caller, folder: str = "", *, space: str = "", dry_run: bool = False) -> Seeded:
        seed = SeedOutcome(topic="commands", action=ADD, title="api: commands", content="make test: Run the tests")
        return Seeded(seeds=(seed,), dir=folder, space=space, files_read=1, dry_run=dry_run)
