"""Checks of what lies on the disk: directory, token, key, model, ledger, index. Reads only."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from mnemesh_actors.generations.generation_file import FILE, GenerationFile
from mnemesh_actors.ledger.integrity.incarnation import emptied, lost
from mnemesh_actors.ledger.integrity.log_check import damaged_memories, unsound
from mnemesh_actors.ledger.store.faults import salvage_advice
from mnemesh_actors.ledger.store.schema import MIGRATIONS, read_only, version_of
from mnemesh_actors.models.model_directory import cache_folder, configured, installed_weights, packaged_weights
from mnemesh_actors.storage.data_directory import FORMAT, KEY_FILE, MANIFEST, check_directory
from mnemesh_actors.storage.file_format import Migrations, format_of
from mnemesh_actors.storage.index_state import read_meta
from mnemesh_actors.transcripts.transcript_file import MIGRATIONS as TRANSCRIPT_MIGRATIONS
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_gateway.doors.mcp.tools.toolsets import select
from mnemesh_gateway.peers.peer_book import PEERS_FILE, PeerBook
from mnemesh_gateway.security.access import ACCESS_FILE, Access
from mnemesh_gateway.security.access import MIGRATIONS as ACCESS_MIGRATIONS
from mnemesh_memory.values.errors import DataLoss, FailedPrecondition, InvalidArgument, MnemeshError, count_of
from mnemesh_proto.rendezvous import TOKEN_FILE

DISK_FREE_BYTES_MIN = 512 * 1024 * 1024
# A clock may differ a little between two starts without harm.
CLOCK_SLACK_MS = 60_000
FAULTS_SHOWN = 8
FROM_BACKUP = "restore it from a backup"
ANEW = "restore it from a backup, or rm {} and issue the tokens anew (`mnemesh agent add`)"
META, POINTS = "meta.json", "points"


def out_of_sight(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """A directory that nobody can look at: nothing else can be said of it then."""
    path = examined.data_dir
    try:
        path.exists()
        (path / MANIFEST).exists()
    except OSError as error:
        yield DoctorFinding(
            "data directory", f"{path} can't be looked at by user {os.getuid()}: {error.strerror}",
            "give it to the user who runs the node, or name another directory with --data DIR or MNEMESH_DATA_DIR",
        )  # fmt: skip


def data_directory(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    path = examined.data_dir
    if not path.exists():
        yield DoctorFinding(
            "data directory", f"{path} does not exist: no node has run here",
            "start one with `mnemesh up`, or name the right directory with --data DIR or MNEMESH_DATA_DIR",
        )  # fmt: skip
    elif not path.is_dir():
        yield DoctorFinding(
            "data directory", f"{path} is not a directory",
            "move that file away, or name another directory with --data DIR or MNEMESH_DATA_DIR",
        )  # fmt: skip
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield DoctorFinding(
            "data directory", f"{path} can't be written by user {os.getuid()}",
            f"give it to the user who runs the node: chown -R $(id -u) {path} && chmod 700 {path}",
        )  # fmt: skip
    elif _open_to_others(path):
        yield DoctorFinding(
            "data directory", f"{path} is open to other users (mode {stat.S_IMODE(path.stat().st_mode):o})",
            f"chmod 700 {path}",
        )  # fmt: skip


def manifest(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    path = examined.data_dir / MANIFEST
    if not path.exists():
        if examined.ledger.exists():
            yield DoctorFinding("manifest", f"{path} is missing", "restore it from a backup; it holds the node's id")
        return
    try:
        version = int(json.loads(path.read_text("utf-8"))["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield DoctorFinding(
            "manifest", f"{path} is damaged ({error})", "restore it from a backup; it holds the node's id"
        )
        return
    if version > FORMAT:
        yield _newer(examined.data_dir, version, FORMAT)
        return
    key = examined.data_dir / KEY_FILE
    if not key.exists():
        yield DoctorFinding("manifest", f"{key} is missing", "restore it from a backup; it signs this node's entries")
    elif _open_to_others(key):
        yield DoctorFinding("manifest", f"{key} can be read by other users", f"chmod 600 {key}")
    else:
        yield from _refused("manifest", lambda: check_directory(examined.data_dir), FROM_BACKUP)


def _refused(what: str, attempt: Callable[[], object], fix: str) -> Iterator[DoctorFinding]:
    """The refusal of a start, by the code of the start itself."""
    try:
        attempt()
    except MnemeshError as error:
        yield DoctorFinding(what, f"a start is refused: {error.message}", fix)


def _newer(path: Path, version: int, known: int) -> DoctorFinding:
    return DoctorFinding(
        "format", f"{path} has format {version}; this version reads up to {known}",
        "install a newer mnemesh (pip install -U 'mnemesh[node]'), or use another data directory; nothing was changed",
    )  # fmt: skip


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def owner_token(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    path = examined.data_dir / TOKEN_FILE
    if not path.exists():
        if (examined.data_dir / MANIFEST).exists():
            yield DoctorFinding(
                "owner token", f"{path} is missing: no client can speak to the node",
                "restart the node (`mnemesh up`), which makes a new token; clients with a copy need the new one",
            )  # fmt: skip
        return
    if not path.read_text("utf-8", "replace").strip():
        yield DoctorFinding(
            "owner token", f"{path} is empty",
            f"rm {path}, then restart the node (`mnemesh up`): it makes a new token",
        )  # fmt: skip
    if _open_to_others(path):
        yield DoctorFinding("owner token", f"{path} can be read by other users of this machine", f"chmod 600 {path}")


def agents(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The tokens of agents: a start refuses a file that others can read, that is damaged, or of a newer format."""
    path = examined.data_dir / ACCESS_FILE
    if not path.exists():
        return
    if _open_to_others(path):
        yield DoctorFinding("agents", f"{path} can be read by other users of this machine", f"chmod 600 {path}")
    if path.with_name(path.name + "-journal").exists():
        return  # it is written right now, or the next start undoes what a crash left
    version, fault = _looked_at(path, ())  # a start looks at the columns, below
    if version > len(ACCESS_MIGRATIONS):
        yield _newer(path, version, len(ACCESS_MIGRATIONS))
    elif fault != "ok":
        yield DoctorFinding(
            "agents", f"{path} is damaged ({fault})",
            ANEW.format(path),
        )  # fmt: skip
    elif not _open_to_others(path):
        owner = examined.settings.owner
        yield from _refused(
            "agents", lambda: Access(path, lambda: examined.now_ms, owner, dry=True).close(), ANEW.format(path)
        )


def peers(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The list of peers and their tokens."""
    path = examined.data_dir / PEERS_FILE
    fix = f"restore it from a backup, or rm {path} and add the peers anew (`mnemesh peer add`)"
    yield from _refused("peers", lambda: PeerBook(examined.data_dir), fix)


def toolsets(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The names of toolsets in the settings."""
    fix = "correct mcp_toolsets, or remove it"
    yield from _refused("settings", lambda: select(examined.settings.mcp_toolsets.split(",")), fix)


def disk(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    path = examined.data_dir
    while not path.exists():
        path = path.parent
    free, reserve = examined.free_bytes(path), examined.settings.disk_reserve_bytes
    if free < reserve:
        yield DoctorFinding(
            "disk", f"only {free // 2**20} MiB are free where {examined.data_dir} lies, and {reserve // 2**20} MiB are "
            "kept back (disk_reserve_bytes): the node reads only",
            "free space on that disk: writes then go on by themselves",
        )  # fmt: skip
    elif free < DISK_FREE_BYTES_MIN:
        yield DoctorFinding(
            "disk", f"only {free // 2**20} MiB are free where {examined.data_dir} lies",
            f"free at least {DISK_FREE_BYTES_MIN // 2**20} MiB: a write that finds no space is refused, and says so",
        )  # fmt: skip


def model(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """There has to be a model that a start can find. Nothing is loaded, converted or fetched here."""
    settings = examined.settings
    try:
        known = GenerationFile(examined.data_dir).read() if examined.data_dir.is_dir() else None
    except DataLoss as error:
        fix = f"delete {examined.data_dir / FILE} and start with the same model_dir: no memory is lost"
        yield DoctorFinding("model", error.message, fix)
        return
    except FailedPrecondition as error:
        yield DoctorFinding("model", error.message, f"install the newer mnemesh that wrote {examined.data_dir / FILE}")
        return
    folder = known.active.model if known else settings.model_dir
    if folder.startswith(("/", "~")) or (known is None and folder):
        try:
            configured(Path(folder).expanduser())
        except InvalidArgument as error:
            yield DoctorFinding(
                "model", error.message,
                f"put the model back; or delete {examined.data_dir / FILE}: the index is then made anew with the model "
                "that the settings name"
                if known
                else "correct model_dir, or remove it: then the packaged model is taken",
            )  # fmt: skip
        return
    kept = cache_folder(settings.model_cache_dir)
    if packaged_weights() is not None or installed_weights(kept) is not None:
        return
    cache = kept / "fastembed"
    if settings.model_download and cache.is_dir() and any(cache.iterdir()):
        return
    later = (
        "the next start fetches the model from its hub, and needs a network"
        if settings.model_download
        else "a start is refused"
    )
    yield DoctorFinding(
        "model", f"there is no embedding model on this machine: {later}",
        "mnemesh model install (in a clone: make setup), or set model_dir to a folder with model.onnx",
    )  # fmt: skip


def _lacking(db: sqlite3.Connection, migrations: Migrations, version: int) -> str:
    """The first table or column that a file of that format has to have and `db` has not, or ""."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for migrate in migrations[:version]:
            migrate(model)
        tables = model.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (table,) in tables.fetchall():
            wanted, there = ({row[1] for row in base.execute(f"PRAGMA table_xinfo({table})")} for base in (model, db))
            if not there:
                return f"the table {table} is missing"
            if wanted - there:
                return f"the column {min(wanted - there)} of {table} is missing"
    return ""


def _looked_at(path: Path, migrations: Migrations) -> tuple[int, str]:
    """The format of an SQLite file, and its fault or "ok". A format that `migrations` make has to have its columns."""
    try:
        with closing(read_only(path)) as db:
            version = format_of(db)
            fault = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
            return version, (_lacking(db, migrations, version) if version <= len(migrations) else "") or fault
    except sqlite3.DatabaseError as error:
        return 0, str(error)


def ledger(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The log is the truth: it has to exist with sound pages and entries, a known format and past times."""
    if not examined.ledger.exists():
        if examined.node is None and (examined.data_dir / MANIFEST).exists():
            yield _lost(examined, "is missing, although a node has lived here")
        return
    lock = examined.ledger.with_suffix(".lock")
    marks = lock.read_text("utf-8", "replace") if lock.exists() else ""
    if problem := lost(examined.ledger, marks):
        yield _lost(examined, f"{problem}, although a ledger has lived here")
        return
    newest, faults, remedy = None, [], ""
    try:
        with closing(read_only(examined.ledger)) as db:
            version = format_of(db)
            if version > len(MIGRATIONS):
                yield _newer(examined.ledger, version, len(MIGRATIONS))
                return
            page = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
            faults = [page] if page != "ok" else list(filter(None, [_lacking(db, MIGRATIONS, version)]))
            if version and not faults:
                newest = db.execute("SELECT max(at) FROM entry").fetchone()[0]
                problem = emptied(db, marks)
                faults = [f"entry {seq}: {why}" for seq, why in unsound(db)]
                with suppress(DataLoss):  # other damage refuses the start
                    if faults and damaged_memories(db, examined.ledger):
                        remedy = (
                            "let the node run: `mnemesh sync now` brings back a change that a peer holds. Otherwise "
                        )
    except sqlite3.DatabaseError as error:
        faults.append(str(error))
    if faults:
        more = f"; {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        yield DoctorFinding(
            "ledger", f"{examined.ledger} is damaged ({'; '.join(faults[:FAULTS_SHOWN])}{more})",
            f"{remedy}keep a copy of the whole directory, then restore it from a backup, or "
            f"{salvage_advice(examined.ledger)}",
        )  # fmt: skip
    elif problem:
        yield _lost(examined, problem)
    elif newest is not None and newest > examined.now_ms + CLOCK_SLACK_MS:
        behind_s = (newest - examined.now_ms) // 1000
        yield DoctorFinding(
            "clock", f"this machine's clock is {behind_s} s before the newest entry of the ledger",
            "set the clock (timedatectl set-ntp true). Order and durability don't depend on it, shown times do",
        )  # fmt: skip


def _lost(examined: ExaminedNode, problem: str) -> DoctorFinding:
    return DoctorFinding(
        "ledger", f"{examined.ledger} {problem}: its memories are not here",
        f"restore {examined.ledger.relative_to(examined.data_dir)} from a backup; a node does not start without it",
    )  # fmt: skip


def transcripts(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """Sessions are no memories: without them a node runs on."""
    path = examined.transcripts
    if not path.exists():
        return
    version, fault = _looked_at(path, TRANSCRIPT_MIGRATIONS)
    if version > len(TRANSCRIPT_MIGRATIONS):
        yield _newer(path, version, len(TRANSCRIPT_MIGRATIONS))
    elif fault != "ok":
        yield DoctorFinding(
            "transcripts", f"{path} is damaged ({fault}); no memory is in it",
            "stop the node and keep a copy; restore the file from a backup, or delete it and import the sessions again",
        )  # fmt: skip


def index(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """The index follows the ledger. A node mends it by itself at start, so this explains a slow start. Being behind is
    no fault: it is what every kill leaves, because the ledger alone is written before an answer."""
    if examined.node is not None or not version_of(examined.ledger) or examined.settings.qdrant_url:
        return
    try:
        with closing(read_only(examined.ledger)) as db:
            head = int(db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()[0])
            life = db.execute("SELECT value FROM meta WHERE key = 'incarnation'").fetchone()
    except sqlite3.DatabaseError:
        return  # the ledger's own check says so
    try:
        known = GenerationFile(examined.data_dir).read()
    except MnemeshError:
        return  # the model's own check says so
    folder = examined.data_dir / f"index/0{known.active.suffix if known else ''}"
    meta, why = read_meta(folder / META)
    if head == 0:
        return
    if not folder.exists():  # a backup holds no index, and who deletes it may
        problem, fix = f"there is no index in {folder} yet", "the next start makes it from the ledger"
        yield DoctorFinding("index", problem, fix, remark=True)
        return
    if meta is None:
        problem = f"there is no usable index in {folder}: {why}"
    elif life and meta.incarnation != life[0]:
        problem = f"the index in {folder} belongs to another life of the ledger (a restored or copied directory)"
    elif meta.seq > head:
        problem = f"the index in {folder} is ahead of the ledger ({meta.seq} > {head}): the ledger was replaced"
    elif damage := meta.damage or _damaged_file(folder):
        problem = f"the index in {folder} is damaged: {damage}"
    else:
        if meta.seq < head:
            yield DoctorFinding(
                "index", f"the index in {folder} is {count_of(head - meta.seq, 'entry')} behind the ledger, as after a "
                "kill",
                "nothing to mend: the node catches up by itself at its next start", remark=True,
            )  # fmt: skip
        return
    yield DoctorFinding(
        "index", problem, "start the node (`mnemesh up`): it catches up or rebuilds from the ledger, and says so"
    )


def _damaged_file(folder: Path) -> str:
    """The file of the index that can't come from Edge, or "". Edge itself is not asked, because Edge would write. Its
    JSON files have to be objects and its segments to have theirs. Vectors and postings are not judged."""
    for path in sorted(folder.rglob("*.json")):
        try:
            if not isinstance(json.loads(path.read_bytes()), dict):
                return f"{path.relative_to(folder)} holds no JSON object"
        except (OSError, ValueError) as error:
            return f"{path.relative_to(folder)} can't be read ({error})"
    for segment in sorted((folder / POINTS / "segments").glob("*")):
        if segment.is_dir() and not segment.name.startswith(".") and not (segment / "segment.json").exists():
            return f"{segment.relative_to(folder)} has no segment.json"
    return ""
