"""An in-memory stand-in for Mesh and MeshGate, for tests of what the doors translate and nothing else.

The real request_checks judge every input, so refusals are the real ones. Storage is a dict, ids and times are counted,
recall counts common words. Nothing here says that the real Mesh works; the scenario suite does that.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fake_history import FakeHistories
from sampled_answers import FakeAccess, FakeBackups, FakePeers, SampledOperations
from stored_transcripts import transcribing

from mnemesh_gateway.operations.gate import Quotas
from mnemesh_memory.access import grants
from mnemesh_memory.policy.patches import succeeding
from mnemesh_memory.ranking.answers import Hit, Recalled
from mnemesh_memory.ranking.explanation import Share, estimate_of
from mnemesh_memory.ranking.relevance import ResultEvidence
from mnemesh_memory.validation import field_checks, request_checks
from mnemesh_memory.values import limits, model
from mnemesh_memory.values.errors import Aborted, InvalidArgument, MnemeshError, NotFound, Unavailable
from mnemesh_memory.values.model_status import ActorStatus, ConsumerStatus, ModelStatus, ReembedStatus
from mnemesh_memory.values.quotas import Usage
from mnemesh_memory.watch import watch_values
from mnemesh_memory.watch.watch_values import Change, Watched, WatchQuery

START_MS = 1_700_000_000_000


@dataclass
class FakeFacts:
    """The fields of NodeFacts."""

    version: str = "0.0.0-fake"
    state: str = "ready"
    data_dir: str = "/nowhere"
    pid: int = 1
    uptime_s: float = 1.5
    grpc: str = "127.0.0.1:7433"
    http: str = "127.0.0.1:7434"
    settings: tuple[tuple[str, str, str], ...] = ()


@dataclass
class FakeGate:
    """A gate that is ready when `facts.state` says so, and refuses at once otherwise."""

    mesh: FakeMesh
    facts: FakeFacts = field(default_factory=FakeFacts)
    access: FakeAccess = field(default_factory=FakeAccess)
    unready_because: str = ""
    _peers: FakePeers = field(default_factory=FakePeers)
    _backups: FakeBackups = field(default_factory=FakeBackups)
    quotas: Quotas | None = None

    async def ready(self) -> FakeMesh:
        if self.facts.state != "ready":
            raise Unavailable("the node is starting", retry_after_s=0.5)
        if self.mesh.fail_with is not None:
            raise self.mesh.fail_with
        return self.mesh

    def peers_now(self) -> FakePeers:
        return self._peers

    async def peers(self) -> FakePeers:
        await self.ready()
        return self._peers

    def agents(self) -> FakeAccess:
        return self.access

    def backups(self) -> FakeBackups:
        return self._backups

    def mesh_now(self) -> FakeMesh | None:
        return self.mesh if self.facts.state == "ready" else None

    async def unready(self) -> str:
        return self.unready_because or ("" if self.facts.state == "ready" else f"the node is {self.facts.state}")

    def describe(self) -> FakeFacts:
        return self.facts


class FakeMesh(FakeHistories, SampledOperations):
    """The operations over a dict.

    `fail_with` is raised by every operation. `hold` is an event that recall waits for. `break_export` fails an export
    after the first memory, `break_watch` a watch after the first change. The index lags by the next of `lags`, else by
    `lag`.
    """

    def __init__(self) -> None:
        self.memories: dict[str, model.Memory] = {}
        self.by_key: dict[str, model.Memory] = {}
        self.lag = 3
        self.lags: deque[int] = deque()
        self.transcripts = transcribing()
        self.fail_with: BaseException | None = None
        self.reembedding = ReembedStatus()
        self.break_export: BaseException | None = None
        self.break_watch: BaseException | None = None
        self.touches: asyncio.Queue[list[str]] = asyncio.Queue()
        self.hold: asyncio.Event | None = None
        self.recalling = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def usage(self) -> dict[str, Usage]:
        used: dict[str, Usage] = {}
        for memory in self.memories.values():
            principal = memory.by.partition("/")[0]
            used[principal] = used.get(principal, Usage()).and_also(1, len(memory.content))
        return used

    async def remember(self, caller: model.Caller, draft: model.Draft) -> model.Written:
        clean = request_checks.draft(draft, caller)
        if known := self.by_key.get(clean.idempotency_key):
            return model.Written(action="ADD", memory=known, reason="was there", replayed=True, indexed=True)
        for memory in self.memories.values():
            same = (memory.space, memory.content, memory.state) == (clean.space, clean.content, "active")
            if same and not clean.force:
                return model.Written(action="NOOP", memory=memory, reason="identical", deduplicated=True, indexed=True)
        related = self._related(clean)
        memory = self.store(clean, caller)
        if clean.idempotency_key:
            self.by_key[clean.idempotency_key] = memory
        return model.Written(
            action="ADD", memory=memory, reason="new", novelty=0.5, related=related, indexed=clean.wait == "indexed"
        )

    async def remember_batch(
        self, caller: model.Caller, drafts: Sequence[model.Draft], *, at_rest: bool = False
    ) -> list[model.Written | MnemeshError]:
        request_checks.batch(drafts)
        outcomes: list[model.Written | MnemeshError] = []
        for draft in drafts:
            try:
                outcomes.append(await self.remember(caller, draft))
            except MnemeshError as error:
                outcomes.append(error)
        return outcomes

    async def check(self, caller: model.Caller, draft: model.Draft) -> model.Checked:
        clean = request_checks.draft(draft, caller)
        return model.Checked(action="ADD", reason="new", novelty=0.5, related=self._related(clean))

    async def recall(self, caller: model.Caller, query: model.Query) -> Recalled:
        clean = request_checks.query(query, caller)
        if self.hold is not None:
            self.recalling.set()
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        words = set(clean.text.casefold().split())
        hits = []
        for memory in self._active(clean.spaces, superseded=clean.include_superseded):
            common = len(words & set(memory.content.casefold().split()))
            if common or not words:
                score = common / len(words) if words else 0.0
                signals = (Share("words", float(common), score, 1.0, score),) if clean.explain else ()
                estimate = estimate_of(ResultEvidence(None, score)) if clean.explain and words else None
                passage = memory.content[:40]
                hits.append(Hit(memory=memory, score=score, signals=signals, estimate=estimate, snippet=passage))
        hits.sort(key=lambda hit: (-hit.score, hit.memory.id))
        results = tuple(hits[: clean.limit])
        return Recalled(
            results=results,
            coverage=results[0].score if results else 0.0,
            abstain=not results,
            tokens_used=sum(len(hit.memory.content) for hit in results) // 4,
            spaces=clean.spaces,
            notes=() if results else ("spaces: there is no memory",),
        )

    async def recall_batch(self, caller: model.Caller, queries: Sequence[model.Query]) -> list[Recalled]:
        request_checks.queries(queries, caller)
        return [await self.recall(caller, query) for query in queries]

    async def get(
        self,
        caller: model.Caller,
        keys: Sequence[str],
        *,
        include_forgotten: bool = False,
        spaces: Sequence[str] = (),
        as_of: int | None = None,
    ) -> tuple[list[model.Memory], list[str]]:
        field_checks.moment("as_of", as_of)
        if not 1 <= len(keys) <= limits.GET_IDS_MAX:
            raise InvalidArgument("ids", f"{len(keys)} ids", f"1 to {limits.GET_IDS_MAX}")
        found = [(key, self._look_up(key)) for key in keys]
        if as_of is not None:
            found = [(key, memory if memory and memory.created_at <= as_of else None) for key, memory in found]
        visible = [
            (key, memory if memory is not None and (include_forgotten or memory.state != "forgotten") else None)
            for key, memory in found
        ]
        missing = [key for key, memory in visible if memory is None]
        if missing and len(keys) == 1:
            raise NotFound("memory", keys[0])
        return [memory for _, memory in visible if memory is not None], missing

    async def list(self, caller: model.Caller, query: model.ListQuery) -> model.Page:
        clean = request_checks.list_query(query, caller)
        start = int(clean.cursor or 0)
        states = ("active", "forgotten", "superseded") if clean.state == "all" else (clean.state,)
        here = [
            m
            for m in self.memories.values()
            if m.space in clean.spaces or grants.any_matches(clean.within or (), m.space)
        ]
        found = [m for m in here if m.state in states and m.kind in (clean.kinds or (m.kind,))]
        if clean.order == "newest":
            found.reverse()
        end = start + clean.limit
        return model.Page(
            memories=tuple(found[start:end]), cursor=str(end) if end < len(found) else "", total=len(found)
        )

    async def timeline(
        self, caller: model.Caller, key: str, before: int = 5, after: int = 5
    ) -> tuple[Sequence[model.Memory], int]:
        field_checks.whole("before", before, 0, limits.TIMELINE_MAX)
        field_checks.whole("after", after, 0, limits.TIMELINE_MAX)
        middle = self._one(key)
        row = [m for m in self.memories.values() if m.space == middle.space]
        at = row.index(middle)
        start = max(0, at - before)
        return row[start : at + after + 1], at - start

    async def update(self, caller: model.Caller, key: str, patch: model.Patch) -> model.Written:
        clean = request_checks.patch(patch)
        old = self._one(key)
        if clean.expected_heads and set(clean.expected_heads) != set(old.heads):
            raise Aborted("the memory changed", field="expected_heads", heads=old.heads)
        names = (
            "content", "kind", "title", "tags", "importance", "paths", "valid_from", "valid_to", "keywords", "attrs",
            "tier",
        )  # fmt: skip
        given = {name: getattr(clean, name) for name in names if getattr(clean, name) is not None}
        given |= dict.fromkeys(clean.clear)
        return self._change(old, "UPDATE", "changed", **given)

    async def supersede(self, caller: model.Caller, key: str, draft: model.Draft) -> tuple[model.Written, model.Memory]:
        old = self._one(key)
        new = self.store(request_checks.draft(succeeding(draft, old), caller), caller)
        closed = self._change(
            old, "SUPERSEDE", "", state="superseded", superseded_by=new.id, valid_to=new.created_at,
            links=(model.Link("superseded-by", new.id),),
        ).memory  # fmt: skip
        return model.Written(action="SUPERSEDE", memory=new, reason="replaced", indexed=True), closed

    async def forget(self, caller: model.Caller, key: str, wait: str = "indexed") -> model.Written:
        field_checks.one_of("wait", wait, ("indexed", "durable"))
        return self._change(self._one(key), "FORGET", "forgotten; `restore` brings it back", state="forgotten")

    async def restore(self, caller: model.Caller, key: str, wait: str = "indexed") -> model.Written:
        field_checks.one_of("wait", wait, ("indexed", "durable"))
        return self._change(self._one(key), "RESTORE", "asked", state="active")

    async def stats(self, caller: model.Caller, spaces: Sequence[str] = ()) -> model.Stats:
        states = Counter(memory.state for memory in self.memories.values())
        kinds = Counter(memory.kind for memory in self.memories.values() if memory.state == "active")
        counts = {"memories": states["active"], "forgotten": states["forgotten"], "superseded": states["superseded"]}
        stats: model.Stats = replace(self._sample(model.Stats), **counts, kinds=kinds)
        return stats

    async def inhabited(self, name: str) -> bool:
        return any(memory.space == "@" + name for memory in self.memories.values())

    async def export(
        self,
        caller: model.Caller,
        asked: model.ListQuery,
        include_forgotten: bool = False,
        include_superseded: bool = False,
    ) -> AsyncIterator[model.Memory]:
        states = ["active", *["forgotten"] * include_forgotten, *["superseded"] * include_superseded]
        for memory in list(self.memories.values()):
            if memory.state in states and (not asked.spaces or memory.space in asked.spaces):
                yield memory
                if self.break_export is not None:
                    raise self.break_export

    async def watch(self, caller: model.Caller, query: WatchQuery) -> AsyncGenerator[Watched, None]:
        """The present memories, as added. The stream then goes on only while `hold` is set."""
        clean = watch_values.checked(query, caller)
        if clean.cursor:
            watch_values.read_cursor(clean.cursor)
        cursor = watch_values.write_cursor({"fake-1": 0})
        try:
            yield Watched(type=watch_values.OPENED, cursor=cursor, spaces=clean.spaces)
            for number, memory in enumerate(self.memories.values(), 1):
                cursor = watch_values.write_cursor({"fake-1": number})
                change = Change(
                    seq=number, type=watch_values.ADDED, id=memory.id, space=memory.space, agent=memory.by,
                    node="fake-node", at=memory.created_at, revision=memory.heads[0], kind=memory.kind,
                    title=memory.title,
                    content=memory.content if clean.include_content else "",
                )  # fmt: skip
                yield Watched(type=change.type, cursor=cursor, change=change)
                if self.break_watch is not None:
                    raise self.break_watch
            if self.hold is not None:
                await self.hold.wait()
        finally:  # the reader may be gone before there is anything to wait for
            if self.hold is not None:
                self.cancelled.set()

    async def touched(self) -> AsyncGenerator[list[str], None]:
        """Ids that a test puts into `touches`."""
        yield []
        while True:
            yield await self.touches.get()

    async def identify(self, caller: model.Caller, key: str) -> model.Memory:
        return self._one(key)

    def disk_full(self) -> None:
        """There is always room."""

    async def status(self) -> model.MeshStatus:
        if self.fail_with is not None:
            raise self.fail_with
        lag = self.lags.popleft() if self.lags else self.lag
        return model.MeshStatus(
            state="ready",
            runtime="local",
            node_id="fake-node",
            actors=(ActorStatus(name="ledger-0", type="Ledger", pid=1, state="ready"),),
            ledger=model.LedgerStatus(
                incarnation="fake-1", seq=len(self.memories), memories=len(self.memories), bytes=2**40
            ),
            index=(model.IndexStatus(name="shard-0", backend="edge", seq=7, lag=lag, points=9, state="ok"),),
            model=ModelStatus(generation="g", name="fake", dimensions=384, source="configured"),
            notices=("this is a fake",),
            reembed=self.reembedding,
            consumers=(
                ConsumerStatus(name="index", seq=7, lag=3, state="ok"),
                ConsumerStatus(name="judge", seq=9, lag=1, state="the model is away"),
            ),
        )

    async def reembed(self, model: str = "", precision: str = "", *, cancel: bool = False) -> model.MeshStatus:
        """Begun with whatever is named, and never done."""
        if cancel or model:
            other = ModelStatus(generation="h", name=model, dimensions=256, source=precision)
            begun = ReembedStatus(state="embedding", model=other, done=2, total=2**40)
            self.reembedding = ReembedStatus() if cancel else begun
        return await self.status()

    def store(self, draft: model.Draft, caller: model.Caller) -> model.Memory:
        """Keep a memory without judging it."""
        number = len(self.memories) + 1
        now = START_MS + number
        memory = model.Memory(
            id=f"018f6f0e-0000-7000-8000-{number:012x}", space=draft.space, kind=draft.kind, title=draft.title,
            content=draft.content, state="active", by=caller.agent, created_at=now, updated_at=now,
            heads=(f"1@{number:032x}",), tags=draft.tags, importance=draft.importance, tier=draft.tier,
            paths=draft.paths, source=draft.source, valid_from=draft.valid_from, valid_to=draft.valid_to,
            keywords=draft.keywords, attrs=draft.attrs, links=draft.links,
        )  # fmt: skip
        self.memories[memory.id] = memory
        return memory

    def _change(self, old: model.Memory, action: str, reason: str, **fields: object) -> model.Written:
        if all(getattr(old, name) == value for name, value in fields.items()):
            return model.Written(action="NOOP", memory=old, reason="nothing differs", indexed=True)
        version = old.version + 1
        new = replace(old, version=version, heads=(f"{version}@{'0' * 32}",), **fields)
        self.memories[old.id] = new
        return model.Written(action=action, memory=new, reason=reason, indexed=True)

    def _look_up(self, key: str) -> model.Memory | None:
        for memory in self.memories.values():
            if memory.title == key or (len(key) >= limits.ID_PREFIX_CHARS_MIN and memory.id.startswith(key)):
                return memory
        return None

    def _one(self, key: str) -> model.Memory:
        memory = self._look_up(key)
        if memory is None:
            raise NotFound("memory", key)
        return memory

    def _active(self, spaces: Iterable[str], *, superseded: bool = False) -> Sequence[model.Memory]:
        named, states = set(spaces), {"active", *["superseded"] * superseded}
        return [m for m in self.memories.values() if m.state in states and m.space in named]

    def _related(self, draft: model.Draft) -> tuple[model.Related, ...]:
        near = [m for m in self._active((draft.space,)) if set(m.content.split()) & set(draft.content.split())]
        return tuple(model.Related(m.id, m.title, m.content[:40], 0.5) for m in near[:5])
