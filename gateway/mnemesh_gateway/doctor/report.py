"""The doctor's command: its arguments, its report for a person and as JSON, its exit code."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mnemesh_gateway.doctor.installation import Finding, installation
from mnemesh_gateway.settings import Loaded, Settings, load, table
from mnemesh_memory.errors import InvalidArgument
from mnemesh_proto.rendezvous import default_data_dir, read_node


def main(argv: Sequence[str]) -> int:
    """Run every check and print what it found; the exit code."""
    given = _arguments(argv)
    flags = {name: value for name, value in vars(given).items() if value is not None and name not in ("json", "config")}
    loaded, wrong = settings_or_defaults(flags, os.environ, given.config)
    findings, node = [*wrong, *examine(loaded)], running(loaded)
    text = json.dumps(as_json(loaded, findings, node), indent=2) if given.json else as_text(loaded, findings, node)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has gone; the interpreter flushes once more when it ends, into nothing this time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if findings else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mnemesh doctor", description="Say what is wrong with a node, and what mends it. Changes nothing."
    )
    parser.add_argument("--data", dest="data_dir", metavar="DIR", help="data directory of the node")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for entry in table():
        if entry.name != "data_dir" and not entry.metadata["secret"]:
            flag = "--" + entry.name.replace("_", "-")
            parser.add_argument(flag, dest=entry.name, metavar="VALUE", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def settings_or_defaults(
    flags: Mapping[str, str], environ: Mapping[str, str], config: Path | None
) -> tuple[Loaded, list[Finding]]:
    """The settings, or the defaults and a finding when they can't be read: the other checks still run then."""
    try:
        return load(flags, environ, config), []
    except InvalidArgument as error:
        directory = flags.get("data_dir") or str(default_data_dir(environ))
        defaults = Loaded(Settings(data_dir=directory), {entry.name: "default" for entry in table()})
        return defaults, [Finding("settings", error.message, f"correct or remove {error.fields['field']}")]


def examine(loaded: Loaded) -> list[Finding]:
    """The findings of all checks. Without the node's libraries only the installation can be judged."""
    findings, missing = installation(loaded.settings.runtime, bool(loaded.settings.qdrant_url))
    if missing:
        return findings
    from mnemesh_gateway.doctor.checks import examine as examine_place
    from mnemesh_gateway.doctor.place import Place

    now_ms = time.time_ns() // 1_000_000
    return [*findings, *examine_place(Place(data_dir=loaded.data_dir, settings=loaded.settings, now_ms=now_ms))]


def running(loaded: Loaded) -> dict[str, Any] | None:
    """Where the node of the directory listens, which may differ from the settings, and what it says; None when none
    runs."""
    node = read_node(loaded.data_dir)
    if node is None:
        return None
    from mnemesh_gateway.doctor.place import Place
    from mnemesh_gateway.doctor.process import ask

    told, _ = ask(Place(data_dir=loaded.data_dir, settings=loaded.settings, now_ms=0))
    says = {"state": told["state"], "notices": told["notices"]} if told else {"state": "no answer", "notices": []}
    return {"pid": node.pid, "grpc": node.grpc, "http": node.http, "version": node.version, **says}


def as_json(loaded: Loaded, findings: Sequence[Finding], node: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "healthy": not findings,
        "data_dir": str(loaded.data_dir),
        "node": node,
        "findings": [asdict(finding) for finding in findings],
        "settings": [
            {"name": name, "value": value, "unit": unit, "origin": origin}
            for name, value, unit, origin in _settings_rows(loaded)
        ],
    }


def as_text(loaded: Loaded, findings: Sequence[Finding], node: Mapping[str, Any] | None = None) -> str:
    """The report for a person."""
    lines = [f"Data directory {loaded.data_dir}"]
    if node:
        lines.append(f"Node {node['state']}, process {node['pid']}, gRPC {node['grpc']}, HTTP {node['http']}")
        lines += [f"  it says: {notice}" for notice in node["notices"]]
    lines.append("")
    for number, finding in enumerate(findings, 1):
        lines += [f"{number}. {finding.check}: {finding.problem}", f"   Fix: {finding.fix}", ""]
    count = f"{len(findings)} finding" + "s" * (len(findings) > 1)
    lines += [count if findings else "Healthy: nothing to mend.", "", "Settings"]
    rows = [(name, _shown(value, unit), origin) for name, value, unit, origin in _settings_rows(loaded)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines += [f"  {name:{widths[0]}}  {value:{widths[1]}}  {origin}" for name, value, origin in rows]
    return "\n".join(lines)


def _settings_rows(loaded: Loaded) -> list[tuple[str, object, str, str]]:
    return [(entry.name, _told(entry, loaded), entry.metadata["unit"], loaded.origins[entry.name]) for entry in table()]


def _told(entry: dataclasses.Field[Any], loaded: Loaded) -> object:
    value: object = getattr(loaded.settings, entry.name)
    return "(set, not shown)" if entry.metadata["secret"] and value else value


def _shown(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value} {unit}".strip() if isinstance(value, int | float) else str(value) or "(empty)"
