"""One table of settings: name, default, unit, help. Read once in main, then one frozen object is handed down.

A value comes from, strongest first: a command-line flag, an environment variable MNEMESH_NAME, a TOML file, the
default. The directory remembers the owner's name, above the default. An unknown key anywhere is an error. Nothing else
reads the environment.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mnemesh_gateway.node.setting_rules import ADDRESS, FLAG, HALF_LIVES, KEY, PRINCIPAL, RULES, SERVER_URL, TEXT, ZONE
from mnemesh_gateway.node.setting_rules import choice as _choice
from mnemesh_gateway.node.setting_rules import number as _number
from mnemesh_gateway.node.setting_rules import setting as _setting
from mnemesh_gateway.node.setting_rules import whole as _whole
from mnemesh_memory.access.grants import OWNER
from mnemesh_memory.ranking.signals import DEFAULT_WEIGHTS, OPTIONAL
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import NOT_SHOWN, InvalidArgument
from mnemesh_proto.loopback import is_loopback
from mnemesh_proto.rendezvous import DEFAULT_GRPC, DEFAULT_HTTP, default_data_dir

PREFIX = "MNEMESH_"
FILE_NAME = "settings.toml"
# Of mnemesh_actors.storage.data_directory, which wants libraries that a client alone has not.
MANIFEST = "manifest.json"
# Variables of the same prefix that belong to the client, the tests or this reader, not to the table.
FOREIGN = frozenset({"ENDPOINT", "TOKEN", "AGENT", "SPACE", "CONFIG"})
FOREIGN_PREFIXES = ("TEST_", "BENCH_")
SECRET_SET = "(set, not shown)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The table. Every field is a setting: its flag is --name-with-dashes, its variable MNEMESH_NAME."""

    data_dir: str = _setting("", "Data directory; empty means the user's data home.", TEXT, "path")
    grpc: str = _setting(DEFAULT_GRPC, "Address of gRPC.", ADDRESS, "HOST:PORT")
    http: str = _setting(DEFAULT_HTTP, "Address of HTTP: MCP, JSON, health and metrics.", ADDRESS, "HOST:PORT")
    owner: str = _setting(
        OWNER,
        "Name of the node's owner, which signs what the owner writes; @NAME is the owner's private space. Members of a "
        "team choose names of their own. The directory keeps it for starts that name none.",
        PRINCIPAL,
        "NAME",
    )
    disk_reserve_bytes: int = _setting(
        limits.DISK_RESERVE_BYTES,
        "Free space that is kept back on the disk of the data directory. Below it writes are refused, reads go on.",
        _whole(limits.DISK_RESERVE_BYTES_MIN, 2**50),
        "bytes",
    )
    expose: bool = _setting(False, "Allow an address beyond loopback without TLS.", FLAG)
    runtime: str = _setting("local", "Where actors live: local (threads) or ray (processes).", _choice("local", "ray"))
    ray_address: str = _setting("", "Ray cluster to join; empty starts a head on this machine.", TEXT, "HOST:PORT")
    ray_replica_dir: str = _setting(
        "",
        "Folder for ledgers on each machine of a Ray cluster of several; {ip} stands for the machine's address, ~ for "
        "the home of Ray's user there. Empty means ~/.local/share/mnemesh-replicas.",
        TEXT,
        "path",
    )
    ray_ledger_wait_s: float = _setting(
        30.0,
        "Wait of a start for a ledger of the Ray cluster that may hold acknowledged writes of its own, which the "
        "others lack. Afterwards the node starts as degraded.",
        _number(0.0, 3600.0),
        "s",
    )
    qdrant_url: str = _setting(
        "", "Qdrant server that holds the index; empty keeps it in the data directory.", SERVER_URL, "URL"
    )
    qdrant_api_key: str = _setting("", "Key for that server; by variable or file only.", KEY, secret=True)
    qdrant_ca_file: str = _setting(
        "",
        "Certificates (PEM) of the authority behind that server's own; empty means the system's.",
        TEXT,
        "path",
    )
    qdrant_replicas: int = _setting(
        1, "Copies of a new collection on the machines of a Qdrant cluster.", _whole(1, 16), "copies"
    )
    qdrant_write_consistency: int = _setting(
        1, "How many of these copies take a change before it counts.", _whole(1, 16), "copies"
    )
    model_dir: str = _setting(
        "",
        "For a new node: folder with model.onnx and tokenizer files; empty finds one. `mnemesh reembed` changes it.",
        TEXT,
        "path",
    )
    model_precision: str = _setting("fp32", "For a new node: precision of the model.", _choice("fp32", "int8"))
    model_threads: int = _setting(1, "Threads of the embedding model.", _whole(1, 64), "threads")
    model_workers: int = _setting(
        0,
        "Calls of the embedding model at once; of several, one is kept for questions. 0 means two in this process, "
        "with the model in memory once. On Ray 0 means one process for each machine but the gateway's.",
        _whole(0, 64),
        "workers",
    )
    sleep: bool = _setting(True, "Consolidate memories while the node is idle.", FLAG)
    sleep_after_minutes: float = _setting(
        10.0, "The node is idle when nobody has asked it for so long.", _number(0, 10_080), "minutes"
    )
    sleep_share: float = _setting(
        0.25, "Share of the time that sleep may take while somebody waits for the node.", _number(0.01, 1)
    )
    astrocyte_workers: int = _setting(
        0,
        "Workers that plan consolidation. 0 means one in this process; on Ray, a worker a machine but the gateway's.",
        _whole(0, 64),
        "workers",
    )
    model_cache_dir: str = _setting("", "Where converted models are kept; empty means the user's cache.", TEXT, "path")
    model_download: bool = _setting(True, "Fetch the model from its hub when none is found here.", FLAG)
    guard_model: bool = _setting(
        True,
        "Read a new text beside the memories that it may repeat or replace, with a small model on the embedder's own "
        "weights, and a question beside two memories. Off, the write guard judges by rules and trees alone.",
        FLAG,
    )
    recall_timeout_s: float = _setting(limits.RECALL_TIMEOUT_S, "Longest a recall may take.", _number(0.05, 60), "s")
    write_timeout_s: float = _setting(
        limits.WRITE_TIMEOUT_S,
        "Longest a write waits for one part of the node without progress: for the ledger, or for the model with about "
        "8 kB of text. Neighbours are waited for a tenth of it.",
        _number(0.1, 600),
        "s",
    )
    recall_weight_dense: float = _setting(DEFAULT_WEIGHTS["dense"], "Weight of meaning in recall.", _number(0, 100))
    recall_weight_bm25: float = _setting(DEFAULT_WEIGHTS["bm25"], "Weight of words in recall.", _number(0, 100))
    for _row in OPTIONAL.values():  # One field each: the signals are a table of their own.
        __annotations__[f"recall_weight_{_row.name}"] = "float"
        locals()[f"recall_weight_{_row.name}"] = _setting(_row.weight, _row.meaning, _number(0, 1))
    del _row
    reranker_model: str = _setting(
        "",
        "Reader of a question and its results, for recall_weight_rerank: packaged for the node's own, or a "
        "cross-encoder of fastembed's list; empty for none.",
        TEXT,
        "name",
    )
    recall_rules: str = _setting("", "Memories that count more, less or not at all in recall.", RULES, "RULE; ...")
    abstain_below: float = _setting(0.15, "Probability of an answer below which recall flags abstain.", _number(0, 1))
    shows_gists: bool = _setting(
        True, "Show cold memories as gist or tags in recall, list and timeline; get gives the whole text.", FLAG
    )
    temporal_neighbours: bool = _setting(True, "Show neighbours in time, by engram slots, in related.", FLAG)
    watches_files: bool = _setting(True, "Watch the folders with files that memories name.", FLAG)
    half_lives: str = _setting("", "Half-lives of heat by kind, in the place of the usual.", HALF_LIVES, "KIND=DAYS")
    labile_minutes: float = _setting(
        limits.LABILE_MINUTES,
        "How long a recalled memory may be updated or replaced by what the same principal remembers next; 0 turns "
        "reconsolidation off.",
        _number(0, 1440),
        "min",
    )
    time_zone: str = _setting("", "Zone for words of time in recall; empty means the machine's.", ZONE, "NAME")
    mcp_toolsets: str = _setting(
        "core",
        "Toolsets that MCP shows unless the URL names others: core, curate, session, knowledge, admin, connector, "
        "comma-separated.",
        TEXT,
    )
    http_header_timeout_s: float = _setting(
        limits.HTTP_HEADER_TIMEOUT_S,
        "Longest a client may take to send the head of a request. A connection of gRPC has as long to begin.",
        _number(0.1, 600),
        "s",
    )
    http_body_timeout_s: float = _setting(
        limits.HTTP_BODY_TIMEOUT_S, "Longest the body of a request may take to arrive.", _number(0.1, 3600), "s"
    )
    connections_max: int = _setting(
        limits.CONNECTIONS_MAX,
        "Connections that HTTP and gRPC each take at once; fewer where the system lets the node open few files.",
        _whole(limits.CONNECTIONS_MIN, limits.OPEN_FILES_MAX),
        "connections",
    )
    connections_per_address_max: int = _setting(
        limits.CONNECTIONS_PER_ADDRESS_MAX,
        "Connections of HTTP from one address that have shown no token; one more takes the place of the oldest.",
        _whole(1, limits.OPEN_FILES_MAX),
        "connections",
    )
    agent_max_memories: int = _setting(
        limits.QUOTA_MEMORIES,
        "Memories that an agent may begin, unless `mnemesh agent` gives it another quota; 0 for no limit.",
        _whole(0, limits.QUOTA_MEMORIES_MAX),
        "memories",
    )
    agent_max_bytes: int = _setting(
        limits.QUOTA_BYTES, "Bytes that an agent's entries may take in the log; 0 for no limit.",
        _whole(0, limits.QUOTA_BYTES_MAX), "bytes",
    )  # fmt: skip
    agent_writes_per_second: float = _setting(
        limits.QUOTA_WRITES_PER_SECOND,
        "Writes of an agent in the long run; half a minute's may come at once; 0 for no limit.",
        _number(0, limits.QUOTA_WRITES_PER_SECOND_MAX),
        "1/s",
    )
    peer_max_memories: int = _setting(
        limits.PEER_QUOTA_MEMORIES,
        "Memories that a peer may bring; its stream stops there; 0 for no limit.",
        _whole(0, limits.QUOTA_MEMORIES_MAX),
        "memories",
    )
    peer_max_bytes: int = _setting(
        limits.PEER_QUOTA_BYTES, "Bytes of entries that a peer may bring; 0 for no limit.",
        _whole(0, limits.QUOTA_BYTES_MAX), "bytes",
    )  # fmt: skip
    peer_entries_per_second: float = _setting(
        limits.PEER_QUOTA_ENTRIES_PER_SECOND,
        "Entries of a peer in the long run; its stream is slowed beyond.",
        _number(limits.PEER_ENTRIES_PER_SECOND_MIN, limits.QUOTA_WRITES_PER_SECOND_MAX),
        "1/s",
    )
    metrics_open: bool = _setting(False, "Let anybody on this machine read /metrics without a token.", FLAG)
    ready_timeout_s: float = _setting(60.0, "Longest a call waits for a starting node.", _number(0.1, 600), "s")
    drain_s: float = _setting(10.0, "Longest a stopping node lets calls finish.", _number(0, 600), "s")
    log_level: str = _setting("info", "Least severity logged.", _choice("debug", "info", "warning", "error"))
    log_format: str = _setting("console", "Form of the log.", _choice("console", "json"))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and where each value came from: a flag, a variable, a file or the default."""

    settings: Settings
    origins: Mapping[str, str]

    @property
    def data_dir(self) -> Path:
        """The data directory, made absolute."""
        return Path(self.settings.data_dir).expanduser().absolute()

    def shown(self, name: str) -> Any:
        """The value of a setting as it may be told: of a secret only whether it is set."""
        (entry,) = (row for row in table() if row.name == name)
        value = str(self.data_dir) if name == "data_dir" else getattr(self.settings, name)
        return SECRET_SET if entry.metadata["secret"] and value else value

    def given(self) -> tuple[tuple[str, str, str], ...]:
        """The settings that are not left at their defaults: name, value as text, origin."""
        names = (name for name, origin in self.origins.items() if origin != "default")
        return tuple((name, as_text(self.shown(name)), self.origins[name]) for name in names)


def as_text(value: object) -> str:
    """A setting's value as a flag would give it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def table() -> tuple[dataclasses.Field[Any], ...]:
    """The fields of Settings. Metadata holds help, unit and parser."""
    return dataclasses.fields(Settings)


def flag_of(name: str) -> str:
    """The flag of a setting: the data directory's is the one that every command has."""
    return "--data" if name == "data_dir" else f"--{name.replace('_', '-')}"


def load(flags: Mapping[str, str], environ: Mapping[str, str], config: Path | None = None) -> Loaded:
    """Settings from `flags` (by setting name), the environment and a TOML file: `config`, else settings.toml in the
    data directory. The owner's name else as the directory keeps it. Raises InvalidArgument with the key, the value and
    the rule."""
    known = {entry.name: entry for entry in table()}
    variables = _variables(environ, known)
    directory = flags.get("data_dir") or variables.get("data_dir", ("", ""))[0] or str(default_data_dir(environ))
    path = config or Path(directory).expanduser() / FILE_NAME
    given = _file(path, known, required=config is not None) | variables
    for name, value in flags.items():
        if name not in known:
            raise InvalidArgument(name, value, _no_setting(name, known))
        if known[name].metadata["secret"]:
            variable = PREFIX + name.upper()
            raise InvalidArgument(name, NOT_SHOWN, f"no flag, which others can read; set {variable} or the file")
        given[name] = (value, f"flag {flag_of(name)}")
    if not given.get("data_dir", ("", ""))[0]:
        given["data_dir"] = (directory, "default")
    data_dir = Path(known["data_dir"].metadata["parse"]("data_dir", given["data_dir"][0])).expanduser()
    given = _kept(data_dir / MANIFEST) | given
    values = {name: known[name].metadata["parse"](name, value) for name, (value, _) in given.items()}
    origins = {name: given[name][1] if name in given else "default" for name in known}
    settings = Settings(**values)
    if settings.recall_weight_dense == settings.recall_weight_bm25 == 0:
        raise InvalidArgument("recall_weight_dense, recall_weight_bm25", 0, "at least one of the two above 0")
    for row in OPTIONAL.values():
        weight = getattr(settings, name := f"recall_weight_{row.name}")
        if row.part and weight and not getattr(settings, f"{row.part}_model"):
            raise InvalidArgument(name, weight, f"0 without a {row.part}_model")
    _check_key_travels_safely(settings)
    if settings.qdrant_write_consistency > settings.qdrant_replicas:
        limit = f"at most qdrant_replicas, {settings.qdrant_replicas}"
        raise InvalidArgument("qdrant_write_consistency", settings.qdrant_write_consistency, limit)
    return Loaded(settings, origins)


def _no_setting(name: str, known: Mapping[str, object]) -> str:
    """The fault of an unknown key: the nearest known key, and all known ones."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f", did you mean {near[0]}?" if near else "."
    return f"no such setting{hint} They are {', '.join(sorted(known))}"


def _check_key_travels_safely(settings: Settings) -> None:
    parts = urlsplit(settings.qdrant_url)
    in_clear = settings.qdrant_api_key and parts.scheme == "http" and not is_loopback(str(parts.hostname))
    if in_clear and not settings.expose:
        limit = "https when qdrant_api_key is set, which would travel in clear; --expose allows it"
        raise InvalidArgument("qdrant_url", f"http to {parts.hostname}", limit)


def _variables(environ: Mapping[str, str], known: Mapping[str, object]) -> dict[str, tuple[Any, str]]:
    values: dict[str, tuple[Any, str]] = {}
    for variable, value in environ.items():
        rest = variable.removeprefix(PREFIX)
        if rest == variable or rest in FOREIGN or rest.startswith(FOREIGN_PREFIXES):
            continue
        if rest.lower() not in known:
            # Not its value: a misspelt MNEMESH_TOKEN must not be shown.
            raise InvalidArgument(variable, NOT_SHOWN, _no_setting(rest.lower(), known))
        values[rest.lower()] = (value, f"variable {variable}")
    return values


def _kept(manifest: Path) -> dict[str, tuple[Any, str]]:
    """The settings that a directory itself remembers. A damaged manifest is refused at the opening."""
    try:
        return {"owner": (json.loads(manifest.read_text("utf-8"))["owner"], f"file {manifest}")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _file(path: Path, known: Mapping[str, object], *, required: bool) -> dict[str, tuple[Any, str]]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not required:
            return {}
        raise InvalidArgument("config", str(path), f"a TOML file that can be read; {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument("config", str(path), f"well-formed TOML in {path}: {error}") from None
    if "data_dir" in values and not required:
        raise InvalidArgument("data_dir", values["data_dir"], f"not in {path}, which lies in the data directory itself")
    for name in values:
        if name not in known:
            raise InvalidArgument(name, NOT_SHOWN, f"in {path}: {_no_setting(name, known)}")
    return {name: (value, f"file {path}") for name, value in values.items()}
