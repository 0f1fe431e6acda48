"""RetrievalShard: the retrieval index of some spaces, kept beside the ledger and rebuilt from it when in doubt.

Rules. It never holds content or title: text comes from the ledger, by id; tags, agent and session are hashed. Every
query goes through one space filter. Changes are durable only after `flush`, first the points and then the sequence
number. After a crash the index may hold more than the number says, and applying again changes nothing. An index that is
damaged, or was made for another model or another life of the ledger, is removed and made new; `status().rebuilt` says
why. Synchronous and serial: one caller at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemesh_actors.index import scope
from mnemesh_actors.index.chosen_storage import storage_of
from mnemesh_actors.index.engine_port import Condition, Filter, HasId, IndexBackend, Point, QueryRequest
from mnemesh_actors.index.episodes import Episodes
from mnemesh_actors.index.index_item import IndexItem, IndexText
from mnemesh_actors.index.neighbours import TIMED_POINTS_MIN, of_words, pooled, sharing
from mnemesh_actors.index.points import BM25, DENSE, WINDOW, check_id, points_of, schema
from mnemesh_actors.index.probe import probe
from mnemesh_actors.index.ranked import Passages, cosines_of, ranked, vectors_of
from mnemesh_actors.index.scope import Search
from mnemesh_actors.index.shard_config import MACHINE, ShardConfig, ShardStatus
from mnemesh_actors.index.vector_table import TabledIndex
from mnemesh_actors.storage.index_state import IndexMeta
from mnemesh_memory.ranking.candidates import Candidates
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument, Unavailable

if TYPE_CHECKING:
    from mnemesh_actors.index.bm25 import Bm25Encoder
    from mnemesh_actors.index.engine_port import DenseVector

__all__ = [
    "IndexItem", "IndexText", "RetrievalShard", "Search", "ShardConfig", "ShardStatus",
]  # fmt: skip

QUICK_LIMIT_MAX = 200  # candidates; more take tens of milliseconds
# Searches with counted words, whose vectors may be on their way.
PREPARED_MAX = 128


class RetrievalShard:
    """One index in one directory. Every method but `open` and `close` raises Unavailable while the index is not open,
    and DataLoss for damage found in use. Then `close` and `open` make the index new."""

    def __init__(self, config: ShardConfig) -> None:
        self._config = config
        self._directory = Path(config.path).expanduser()
        self._storage = storage_of(config.server, self._directory, config.reserve_bytes)
        self._doubted = False  # the server was away: its state is checked before further use
        self._backend: IndexBackend | None = None
        self._encoder: Bm25Encoder | None = None
        self._meta = IndexMeta(config.generation, config.dimensions, config.incarnation)
        self._mask = scope.Mask("")
        self._passages = Passages()
        self._episodes = Episodes()
        self._prepared: OrderedDict[Search, scope.Lists] = OrderedDict()
        self._seq = 0
        self._dirty = False
        self._rebuilt = ""

    @property
    def generation(self) -> str:
        """Of the model whose vectors it holds."""
        return self._config.generation

    def quick(self, method: str, args: tuple[Any, ...]) -> bool:
        """A usual search, and a write's own question and item: they hold the interpreter all the while. A server is
        waited for."""
        if self._config.server is not None:
            return False
        if method == self.neighbours_batch.__name__:
            return len(args[0]) == 1
        if method == self.apply.__name__:
            return len(args[0]) + len(args[1]) <= 1 and all(len(item.texts) == 1 for item in args[0])
        batch, single = self.search_batch.__name__, (self.prepare.__name__, self.search.__name__)
        searches = args[0] if method == batch else args if method in single else ()
        return bool(searches) and all(search.ids is None and search.limit <= QUICK_LIMIT_MAX for search in searches)

    def arrive(self, address: str) -> None:
        """It lives on the machine of that address from now on. A process that hangs may still use the files on the
        former machine, so each machine has a directory of its own."""
        if MACHINE in self._config.path:
            self._directory = Path(self._config.path.replace(MACHINE, address)).expanduser()
            self._storage = storage_of(self._config.server, self._directory, self._config.reserve_bytes)

    def open(self, incarnation: str = "") -> ShardStatus:
        """Open the index, or make it new. Raises Unavailable when another process holds it. Safe to call twice. After
        damage the index is made new, after an outage of its server it goes on from the server's state. `incarnation` is
        the ledger's when it is another one than at the beginning."""
        if incarnation:
            self._config = replace(self._config, incarnation=incarnation)
        if self._meta.damage or self._doubted:
            self._let_go()
        if self._backend is None:
            self._storage.acquire()
            try:
                self._open_locked()
            except BaseException:  # boundary: let go, then raised again
                self._backend = None
                self._storage.release()
                raise
        return self.status()

    def apply(self, items: Sequence[IndexItem], removed: Sequence[str], seq: int, after: int = 0) -> None:
        """Take in the state of memories as of ledger entry `seq`: whole items replace what was there, `removed` ids go.

        An id in both is removed; of two items with one id the later counts. Applying again changes nothing. Raises
        InvalidArgument before anything changed when an item does not fit the index. Raises Unavailable when the index
        was opened anew and holds less than the entries up to `after`, on which these follow. Raises DiskFull when the
        disk has no room for more.
        """
        backend, encoder = self._opened()
        if self._doubted:
            raise Unavailable("the index was away, and is not opened again yet", part="index")
        if self._seq < after:
            raise Unavailable(f"the index holds the ledger up to {self._seq}, not {after}", part="index")
        gone = dict.fromkeys(removed)
        self._storage.require_room()
        latest = {item.id: self._mask.item(item) for item in items if item.id not in gone}
        number = {id_: len(latest[id_].texts) if id_ in latest else 0 for id_ in (*latest, *gone)}
        for id_ in number:
            check_id(id_)
        points: list[Point] = [point for item in latest.values() for point in points_of(item, encoder)]
        stale = [point for id_ in number for point in self._passages.ids(id_, number[id_])]
        self._dirty = True
        self._prepared.clear()
        with self._damage_noted():
            backend.upsert(points)
            backend.delete(stale)
        for id_ in number:
            self._passages.note(id_, number[id_])
            if id_ in latest:
                self._episodes.note(latest[id_])
            else:
                self._episodes.drop(id_)
        self._seq = max(self._seq, seq)

    def followed(self, ids: Sequence[str], places: Sequence[tuple[tuple[str, str], tuple[int, int, str]]]) -> list[str]:
        """The memories whose windows hold any of `ids`, or will hold memories at `places` (space and session; count,
        time, id). The caller gives these memories again in the same step."""
        self._opened()
        masked = [((space, self._mask.session(session)), place) for (space, session), place in places]
        return self._episodes.after(ids, masked)

    def rebase(self, incarnation: str, seq: int, before: int) -> ShardStatus:
        """Follow another ledger from now on, whose numbers up to `seq` hold the same as the old numbers up to `before`.
        An index that has not taken all of that in begins at 0; applying again changes nothing."""
        backend = self._opened()[0]
        if self._meta.incarnation != incarnation:
            kept = seq if self._seq >= before else 0
            self._config = replace(self._config, incarnation=incarnation)
            with self._damage_noted():
                backend.maintain()
                self._write_meta(replace(self._meta, incarnation=incarnation, seq=kept))
            self._seq, self._dirty = kept, False
        return self.status()

    def prepare(self, search: Search) -> None:
        """Count the words of a search whose vector is still being made: `search` then looks for the vector alone, and
        so does `neighbours_batch` after `of_words`, unless the index has changed. Raises what `search` raises."""
        (self._prepared[search],) = self._listed([self._worded(search)])
        if len(self._prepared) > PREPARED_MAX:
            self._prepared.popitem(last=False)

    def search(self, search: Search) -> Candidates:
        """The best memories by meaning and by words, at most `limit` of each, in the order of ids. At most
        `superseded_limit` superseded ones come beside them.

        Any text is allowed; one without a term asks by meaning alone. Scores are the best of a memory's passages,
        rounded. Raises InvalidArgument without a space or with a vector of another generation.
        """
        return self.search_batch((search,))[0]

    def search_batch(self, searches: Sequence[Search]) -> list[Candidates]:
        """`search` of several at once, each with its own filters, in order and as one batched query."""
        listed = self._listed([self._legs(search) for search in searches])
        lists = [self._prepared.get(search, {}) | new for search, new in zip(searches, listed, strict=True)]
        pools = [self._episodes.listed(*(hits.get(using, {}) for using in (DENSE, BM25, WINDOW))) for hits in lists]
        asked = [(search.vector, pool.uncompared()) for search, pool in zip(searches, pools, strict=True)]
        with self._damage_noted():
            compared = cosines_of(self._opened()[0], self._passages, asked)
        return [self._episodes.candidates(pool, known) for pool, known in zip(pools, compared, strict=True)]

    def _legs(self, search: Search) -> list[QueryRequest]:
        """The lists that a search still lacks."""
        vector = search.vector
        if vector is not None:
            self._refuse_other(search.generation)
        meant = (
            []
            if vector is None
            else [QueryRequest(vector, DENSE, limit, where) for where, limit in self._asked(search)]
        )
        return meant if search in self._prepared else [*meant, *self._worded(search)]

    def _worded(self, search: Search) -> list[QueryRequest]:
        """The lists of a search by words. An akin word must stand in the memory: in a window it finds neighbours."""
        encoder = self._opened()[1]
        terms = encoder.query(search.text, as_stated=search.as_stated) if search.bm25 else None
        if terms is None or not terms.indices:
            return []
        fields = {BM25: encoder.with_akin(terms, search.akin)}
        if search.windows and self._episodes:
            fields[WINDOW] = terms
        corpus = scope.in_spaces(search.spaces, scope.EVERYTHING)
        return [
            QueryRequest(wanted, using, min(limit, search.words_limit), where, corpus)
            for where, limit in self._asked(search)
            for using, wanted in fields.items()
        ]

    def _listed(self, groups: Sequence[Sequence[QueryRequest]]) -> list[scope.Lists]:
        backend = self._opened()[0]
        with self._damage_noted():
            best = iter(ranked(backend, self._passages, [leg for legs in groups for leg in legs]))
        answers: list[scope.Lists] = [{} for _ in groups]
        for lists, legs in zip(answers, groups, strict=True):
            for leg in legs:
                lists.setdefault(leg.using, {}).update(next(best))
        return answers

    def _asked(self, search: Search) -> list[tuple[Filter, int]]:
        """Each group of memories that a search looks through, with how many of it are wanted."""
        search = self._mask.search(search)
        only: tuple[Condition, ...] = ()
        if search.ids is not None:
            only = (HasId(tuple(point for id_ in search.ids for point in (id_, *self._passages.ids(id_, 1)))),)
        asked = [(where, search.limit) for where in scope.filters_of(search, only)]
        if search.superseded_limit:
            asked.append((scope.superseded_of(search, only), search.superseded_limit))
        return asked

    def _refuse_other(self, generation: str) -> None:
        """Vectors of two models must never be compared: the numbers would mean nothing."""
        if generation != self.generation:
            limit = f"vectors of generation {self.generation}, which this index holds"
            raise InvalidArgument("generation", generation, limit)

    def neighbours_batch(
        self,
        asked: Sequence[tuple[DenseVector, str]],
        limit: int,
        generation: str,
        words: Sequence[str] = (),
        visits: int = 0,
        until: int | None = None,
    ) -> list[list[tuple[str, float]]]:
        """For each (vector, space) the nearest memories there that are neither forgotten nor superseded: (id, cosine),
        nearest first. `generation` is that of the vectors. Many texts at once are compared with few memories alone in a
        large index. With `words`, a text for each vector, memories with these words follow the nearest. With `visits` a
        graph is walked with so many candidates: few are cheap, and overlook neighbours that are far. With `until` (ms)
        a large index leaves out memories that were created later."""
        self._refuse_other(generation)
        backend = self._opened()[0]
        until = until if backend.count() >= TIMED_POINTS_MIN else None
        with self._damage_noted():
            near = pooled(backend, self._passages, asked, limit, visits, until)
        shared = self._sharing({n: of_words(text, asked[n][1], until) for n, text in enumerate(words) if text})
        with self._damage_noted():
            return sharing(backend, asked, near, shared)

    def _sharing(self, searches: Mapping[int, Search]) -> dict[int, dict[str, float]]:
        """The list by words of each search. Equal searches are made once, and those that were prepared not again."""
        left = list(dict.fromkeys(search for search in searches.values() if search not in self._prepared))
        lists = dict(zip(left, self._listed([self._worded(search) for search in left]), strict=True)) if left else {}
        return {n: (self._prepared.get(asked) or lists.get(asked, {})).get(BM25, {}) for n, asked in searches.items()}

    def vectors(self, ids: Sequence[str], generation: str) -> dict[str, DenseVector]:
        """The embeddings of the memories of `ids` that are here, for a caller with vectors of `generation`."""
        self._refuse_other(generation)
        with self._damage_noted():
            return vectors_of(self._opened()[0], ids)

    def flush(self) -> int:
        """Make everything applied durable, and let the index see after itself; the sequence number up to which all is
        durable now."""
        backend = self._opened()[0]
        with self._damage_noted():
            backend.maintain()
            if self._dirty:
                self._write_meta(replace(self._meta, seq=self._seq))
                self._dirty = False
        return self._meta.seq

    def status(self) -> ShardStatus:
        """The present state of the index."""
        backend = self._opened()[0]
        with self._damage_noted():
            return ShardStatus(self._seq, backend.count(), self._rebuilt, self._config.shown)

    def close(self) -> None:
        """Flush and let go. A second call does nothing. Nothing is kept of a damaged index, and a server that is away
        is not waited for: the ledger has all of it."""
        try:
            if self._backend is not None and not self._meta.damage and not self._doubted:
                away = (Unavailable, FailedPrecondition) if self._storage.remote else ()
                with suppress(*away), self._damage_noted():
                    points = self._backend.count()
                    self._backend.maintain()
                    self._write_meta(replace(self._meta, seq=self._seq, points=points))
        finally:
            self._let_go()

    def remove(self) -> None:
        """Remove the index for good, open or not: nothing is left where it lay. Doing it again changes nothing. Raises
        Unavailable when another process holds it or its server is away."""
        self._let_go()
        self._storage.acquire()
        try:
            self._storage.remove()
        finally:
            self._storage.release()

    def _let_go(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            with suppress(DataLoss):  # noted before, or about to be removed
                backend.close()
        self._storage.release()

    def _open_locked(self) -> None:
        from mnemesh_actors.index.bm25 import Bm25Encoder

        self._encoder = Bm25Encoder()
        self._passages, self._episodes, self._dirty = Passages(), Episodes(), False
        self._prepared.clear()
        wanted = IndexMeta(self._config.generation, self._config.dimensions, self._config.incarnation)
        meta, reason = self._storage.read()
        if meta is not None:
            reason = meta.difference(wanted) or self._open_existing(meta)
        elif reason == "absent":
            reason = self._meta.damage or reason
        if meta is None or reason:
            self._passages, self._episodes = Passages(), Episodes()
            self._storage.clear()
            meta = replace(wanted, key=scope.new_key())
            self._backend = backend = self._storage.backend(meta)
            backend.open(schema(self._config.dimensions))
            self._follow(backend)
        self._rebuilt, self._seq, self._mask = reason, meta.seq, scope.Mask(meta.key)
        self._write_meta(replace(wanted, seq=meta.seq, key=meta.key))
        self._doubted = False

    def _open_existing(self, meta: IndexMeta) -> str:
        """Open what is there; the reason when it cannot be used."""
        self._backend = backend = self._storage.backend(meta)
        try:
            if not backend.open(schema(self._config.dimensions)):
                probe(self._opened()[0], meta)
                self._passages.read(backend)
                self._episodes.read(backend)
                self._follow(backend)
                return ""
            reason = "the points were missing"
        except (DataLoss, FailedPrecondition, InvalidArgument) as error:  # the last: a stored NaN, asked for
            reason = error.message
        with suppress(DataLoss):  # about to be removed
            backend.close()
        return reason

    def _follow(self, backend: IndexBackend) -> None:
        """Keep a table of the vectors of an index in a directory, which was probed without."""
        if not self._storage.remote:
            self._backend = table = TabledIndex(backend)
            table.follow(schema(self._config.dimensions))

    def _opened(self) -> tuple[IndexBackend, Bm25Encoder]:
        if self._backend is None or self._encoder is None:
            raise Unavailable(f"the index in {self._directory} is not open")
        return self._backend, self._encoder

    def _write_meta(self, meta: IndexMeta) -> None:
        self._storage.write(meta)
        self._meta = meta

    @contextmanager
    def _damage_noted(self) -> Iterator[None]:
        """Damage that shows only in use is written down, so that the next `open` makes the index new. After an outage a
        server is doubted, until `open` has looked at its state."""
        try:
            yield
        except DataLoss as error:
            self._meta = replace(self._meta, damage=error.message)
            with suppress(DataLoss):  # a collection that is gone takes no mark
                self._storage.write(self._meta)
            raise
        except (Unavailable, FailedPrecondition):
            self._doubted = self._storage.remote
            raise
