"""The doctor's command: arguments, report for a person and as JSON, exit code."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding, built, installation
from mnemesh_gateway.node.settings import MANIFEST, Loaded, Settings, flag_of, load, table
from mnemesh_gateway.node.settings import as_text as as_value
from mnemesh_gateway.node.usage import Parser
from mnemesh_memory.values.errors import InvalidArgument
from mnemesh_proto.rendezvous import default_data_dir

SAYS: Final = ("state", "notices", "settings")
OWN_FLAGS: Final = ("json", "config", "acknowledge", "deep", "recall")
NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def main(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Run every check and print the findings. Gives the exit code."""
    given = _arguments(argv)
    flags = {name: value for name, value in vars(given).items() if value is not None and name not in OWN_FLAGS}
    loaded, wrong = settings_or_defaults(flags, environ, given.config)
    if given.acknowledge:
        return _acknowledge(loaded, in_json=given.json)
    examined = ExaminedNode(data_dir=loaded.data_dir, settings=loaded.settings, now_ms=time.time_ns() // 1_000_000)
    findings, node = [*wrong, *examine(examined, deep=given.deep, recall=given.recall)], running(examined)
    text = json.dumps(as_json(loaded, findings, node), indent=2) if given.json else as_text(loaded, findings, node)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has gone. The interpreter flushes once more when it ends, into nothing this time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if any(not finding.remark for finding in findings) else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="mnemesh doctor",
        description="Name the faults of a node, with the remedy of each. Changes nothing but alarms.",
    )
    parser.add_argument("--data", dest="data_dir", metavar="DIR", help="data directory of the node")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    for flag, meaning in (
        ("--acknowledge", "end the alarms of the ledger, which you have read, and check nothing"),
        ("--deep", "also compare every memory with the log, which takes longer"),
        ("--recall", "also ask the running node for some of its memories, and for nonsense"),
        ("--json", "print one JSON object"),
    ):
        parser.add_argument(flag, action="store_true", help=meaning)
    for entry in table():
        if entry.name != "data_dir" and not entry.metadata["secret"]:
            parser.add_argument(flag_of(entry.name), dest=entry.name, metavar="VALUE", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _acknowledge(loaded: Loaded, *, in_json: bool) -> int:
    from mnemesh_gateway.doctor.alarm_checks import acknowledge

    if not (loaded.data_dir / MANIFEST).is_file():
        print(f"mnemesh: no node has lived in {loaded.data_dir}; name its directory with --data DIR", file=sys.stderr)
        return 2
    try:
        number = acknowledge(loaded.data_dir)
    except OSError as error:
        print(f"the alarms in {loaded.data_dir} can't be removed: {error}", file=sys.stderr)
        return 1
    text = f"{number} alarm{'' if number == 1 else 's'} acknowledged in {loaded.data_dir}"
    print(json.dumps({"acknowledged": number, "data_dir": str(loaded.data_dir)}) if in_json else text)
    return 0


def settings_or_defaults(
    flags: Mapping[str, str], environ: Mapping[str, str], config: Path | None
) -> tuple[Loaded, list[DoctorFinding]]:
    """The settings, or the defaults and a finding when they can't be read: the other checks still run then."""
    try:
        return load(flags, environ, config), []
    except InvalidArgument as error:
        directory = flags.get("data_dir") or str(default_data_dir(environ))
        defaults = Loaded(Settings(data_dir=directory), {entry.name: "default" for entry in table()})
        field = error.fields["field"]
        # That is no setting, but the file of them.
        what = "the file" if field == "config" else field
        return defaults, [DoctorFinding("settings", error.message, f"correct or remove {what}")]


def examine(examined: ExaminedNode, *, deep: bool = False, recall: bool = False) -> list[DoctorFinding]:
    """The findings of all checks. Without the node's libraries only the installation can be judged. `deep` compares
    every memory with the log. `recall` asks for memories."""
    findings, missing = installation(examined.settings.runtime, bool(examined.settings.qdrant_url))
    findings += built()
    if missing:
        return findings
    from mnemesh_gateway.doctor.check import examine as examine_node

    findings += examine_node(examined)
    if deep:
        # The comparison loads documents with the engine that the other checks do without.
        from mnemesh_gateway.doctor.deep import view

        findings += view(examined)
    if recall:
        from mnemesh_gateway.doctor.canaries import canaries

        findings += canaries(examined)
    return findings


def running(examined: ExaminedNode) -> dict[str, Any] | None:
    """Addresses and words of the node of the directory, None when none runs. The addresses may differ from the
    settings. `settings` holds the values that differ from the defaults, or None when the node tells none."""
    try:
        node = examined.node
    except OSError:  # which is a finding
        node = None
    if node is None:
        return None
    from mnemesh_gateway.doctor.process_checks import ask

    body, _ = ask(examined)
    says = {name: body.get(name) for name in SAYS} if body else {"state": "no answer", "notices": [], "settings": None}
    guard = ((body or {}).get("model") or {}).get("pairs", "")
    return {"pid": node.pid, "grpc": node.grpc, "http": node.http, "version": node.version, "guard": guard, **says}


def as_json(loaded: Loaded, findings: Sequence[DoctorFinding], node: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The report as one JSON object."""
    faults, remarks = _apart(findings)
    in_node = _in_node(loaded, node)
    return {
        "healthy": not faults,
        "data_dir": str(loaded.data_dir),
        "node": node,
        "findings": faults,
        "remarks": remarks,
        "settings": [
            {"name": name, "value": value, "unit": unit, "origin": origin, "running": in_node[name][0]}
            for name, value, unit, origin in _settings_rows(loaded)
        ],
    }


def as_text(loaded: Loaded, findings: Sequence[DoctorFinding], node: Mapping[str, Any] | None = None) -> str:
    """The report for a person."""
    lines = [f"Data directory {loaded.data_dir}"]
    if node:
        lines.append(f"Node {node['state']}, process {node['pid']}, gRPC {node['grpc']}, HTTP {node['http']}")
        lines += [f"  it says: {notice}" for notice in node["notices"]]
        if node["guard"] not in ("", "ready"):
            lines.append(f"  its write guard judges by rules alone, no model reads the texts: {node['guard']}")
    lines.append("")
    faults, remarks = _apart(findings)
    for number, fault in enumerate(faults, 1):
        lines += [f"{number}. {fault['check']}: {fault['problem']}", f"   Fix: {fault['fix']}", ""]
    for remark in remarks:
        lines += [f"Remark: {remark['check']}: {remark['problem']}", f"   {remark['fix']}", ""]
    count = f"{len(faults)} finding" + "s" * (len(faults) > 1)
    lines += [count if faults else "Healthy: nothing to mend.", ""]
    return "\n".join([*lines, *_settings_lines(loaded, node)])


def _settings_lines(loaded: Loaded, node: Mapping[str, Any] | None) -> Iterator[str]:
    """The settings of the running node, as far as the node tells them. Otherwise those of a start from this shell."""
    known = node is not None and node["settings"] is not None
    if known:
        yield "Settings of the running node; `here` is what a start from this shell would have instead"
    elif node:
        yield "Settings of this shell; the running node does not tell its own, which may differ"
    else:
        yield "Settings of this shell, for a node that is started here"
    in_node, rows = _in_node(loaded, node), []
    for name, value, unit, origin in _settings_rows(loaded):
        here = as_value(value)
        used, used_origin = in_node[name] if known else (here, origin)
        differs = f"   here {_shown(here, unit)}, {origin}" if used != here else ""
        rows.append((name, _shown(str(used), unit), f"{used_origin}{differs}"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, shown, used_origin in rows:
        yield f"  {name:{widths[0]}}  {shown:{widths[1]}}  {used_origin}"


def _in_node(loaded: Loaded, node: Mapping[str, Any] | None) -> dict[str, tuple[str | None, str]]:
    """Value and origin of each setting in the running node. None for its value when it does not tell."""
    settings = node["settings"] if node else None
    if settings is None:
        return {entry.name: (None, "") for entry in table()}
    defaults = {entry.name: (as_value(entry.default), "default") for entry in table()}
    directory = {"data_dir": (str(loaded.data_dir), "default")}  # it was found there
    return defaults | directory | {setting["name"]: (setting["value"], setting["origin"]) for setting in settings}


def _apart(findings: Sequence[DoctorFinding]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The faults, and the remarks, as JSON has them."""
    rows = [(fault.remark, {"check": fault.check, "problem": fault.problem, "fix": fault.fix}) for fault in findings]
    return [row for remark, row in rows if not remark], [row for remark, row in rows if remark]


def _settings_rows(loaded: Loaded) -> list[tuple[str, object, str, str]]:
    rows = [(entry.name, entry.metadata["unit"]) for entry in table()]
    return [(name, loaded.shown(name), unit, loaded.origins[name]) for name, unit in rows]


def _shown(value: str, unit: str) -> str:
    """A number with its unit."""
    return f"{value} {unit}".strip() if NUMBER.fullmatch(value) else value or "(empty)"
