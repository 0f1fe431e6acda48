"""Write the generated pages and tables: docs/settings.md, docs/cli.md, docs/hosts.md, the plugin, figures in pages.

The settings, commands and hosts come from the programs, the figures from bench/results/. Those of speed are in
published.json, scale.json, growth.json and growth_recall.json. Those of recall's quality are in locomo.json,
fitting.json, ablation.json, optional.json and misses.json. --check only compares.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from tools.pages.calibration_tables import calibration, passing
from tools.pages.hosts_page import bundle_server, hosts_page, plugin_hooks, plugin_server
from tools.pages.markdown_table import table_text
from tools.pages.program_options import program_options
from tools.pages.reliability_plot import reliability_plot

from mnemesh.cli import app, plain
from mnemesh_gateway.node.settings import FILE_NAME, PREFIX, flag_of, table

ROOT = Path(__file__).resolve().parent.parent
FOUND = ("hit@1", "hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1")
UNITS = {"turn": "turn", "pair": "pair of turns"}
VARIANTS = {
    "alone": "", "shared": ", all in one space", "plain": ", the harness's plain defaults",
    "reference": ", untuned sum of windows, beside",
}  # fmt: skip
# Of the table of what each signal brings, the rows where one kind of evidence is left, nothing else.
BESIDE = {"all but BM25": ", stemmed BM25 alone, beside", "all but dense": ", cosine alone, beside"}
# In one process, with neither stretches of time nor quoted phrases.
LEARNED = {
    "default": ", in one process: recall's weights",
    "held out": ", in one process: weights learned on the other four conversations",
}
LEFT_OUT = (*FOUND[1:], "AUROC elsewhere", "AUROC left out")
MISSED = (
    "questions", "missed", "to 20", "to 50", "later", "no candidate", "beside it found", "its session found",
    "no common word",
)  # fmt: skip
PLACED = ("at 1", "at 2", "at 3", "at 4 to 5", "at 6 to 10", "missed")
FITTED = ("hit@10", "coverage@10", "MRR", "multi-hop coverage@10", "session hit@1", "abstains", "abstains elsewhere")
# Where the weights of a row of the fitting come from.
WEIGHTS = {
    "default": "recall's own, chosen on all five",
    "learned on all": "learned on all five",
    "held out": "learned on the other four",
    "held out, embedded windows": "the same, with embeddings of windows",
}
QUOTED = ("hit@1", "hit@10", "MRR")
PIECES = ("pieces", "pieces found", "pieces to 20", "pieces to 50", "pieces later", "pieces no candidate")
SETTINGS_HEADER = f"""# Settings

Generated from `gateway/mnemesh_gateway/node/settings.py` by `make docs`; do not edit.

A value comes from a flag of `mnemesh up`, an environment variable, a TOML file or the default, in this order. The
file is `{FILE_NAME}` in the data directory, or the file after `mnemesh up --config`. An unknown key, a wrong type or a
value out of range stops the start, and the message names the key and the allowed values. `mnemesh doctor` prints
every value with its origin, for the running node and for the present shell.

| setting | flag | variable | default | unit | meaning |
|---|---|---|---|---|---|
"""
SETTINGS_FOOTER = f"""
A file looks like this:

```toml
# {FILE_NAME}
http = "127.0.0.1:8434"
model_precision = "int8"
recall_timeout_s = 5.0
```

## Variables of the client

The command line, the Python client, `mnemesh mcp`, hooks and mining read these variables. A node ignores them. An
option or argument wins over a variable. A given data directory (`--data`, `data_dir=`) wins over the address. The
directory also wins over the token, except in `mnemesh mcp`.

| variable | meaning |
|---|---|
| `MNEMESH_ENDPOINT` | HOST:PORT of a node's gRPC; without it the local node is found by its data directory. \
`mnemesh mcp` speaks HTTP: it finds the HTTP address of the data directory's own node by this one; for any other node \
it says that it needs the HTTP address, which `--endpoint` gives |
| `MNEMESH_TOKEN` | token for that node; without it the local data directory's owner token |
| `MNEMESH_DATA_DIR` | data directory of the local node |
| `MNEMESH_SPACE` | space of calls that name none, empty for the private one; without it that of the working directory |
| `MNEMESH_AGENT` | which client writes: `owner/NAME`, with a token of ana `ana/NAME` |
| `MNEMESH_INJECT`, `MNEMESH_READS`, `MNEMESH_BANNER` | the memories that hooks put before a model, the facts about a \
file that is read, and a line for the person ([hosts.md](hosts.md)) |
| `MNEMESH_HOOK_DEBUG` | any value: a hook prints why it was silent |
| `MNEMESH_MINE_DIRS` | further folders with session files, separated as in `PATH` ([mining.md](mining.md)) |
| `MNEMESH_MINE_URL`, `MNEMESH_MINE_MODEL`, `MNEMESH_MINE_KEY_FILE`, `MNEMESH_MINE_COMMAND` | the language model that \
reads sessions along ([mining.md](mining.md#a-language-model-beside-the-rules)) |
| `MNEMESH_RECONCILE_URL`, `MNEMESH_RECONCILE_MODEL`, `MNEMESH_RECONCILE_KEY_FILE` | the language model of \
`mnemesh reconcile` ([rules.md](rules.md)) |
"""
CLI_HEADER = """# The command line

Generated from the commands themselves by `make docs`; do not edit. `mnemesh COMMAND --help` says the same.

"""


def settings_page() -> str:
    """The text of docs/settings.md."""
    rows = []
    for entry in table():
        flag = flag_of(entry.name)
        flag = "" if entry.metadata["secret"] else f"`{flag}`"
        default = str(entry.default).lower() if isinstance(entry.default, bool) else str(entry.default)
        shown = f"`{default}`" if default else ""
        cells = (f"`{entry.name}`", flag, f"`{PREFIX}{entry.name.upper()}`", shown, entry.metadata["unit"])
        rows.append("| " + " | ".join((*cells, entry.metadata["help"])) + " |\n")
    return SETTINGS_HEADER + "".join(rows) + SETTINGS_FOOTER


def cli_page() -> str:
    """The text of docs/cli.md."""
    root: Any = typer.main.get_command(app._app())
    commands = dict(_commands(root))
    shared = {_flags(option): option.help for option in _options(commands["status"])}
    parts = [CLI_HEADER, " ".join(app.HELP.split("\n\n", 1)[1].split()) + "\n\n"]
    parts.append("Options of every command that talks to a node:\n\n")
    parts += _table(_options(commands["status"]))
    for name, command in commands.items():
        aliases = [alias for alias, target in plain.ALIASES.items() if target == name]
        parts.append(f"\n## mnemesh {name}\n\n{_sentence(command.help)}\n")
        if aliases:
            parts.append(f"\nAlso: {', '.join(f'`{alias}`' for alias in aliases)}.\n")
        if arguments := [p for p in command.params if p.param_type_name == "argument"]:
            parts.append("\n" + "".join(f"- `{p.metavar or p.name.upper()}`: {_sentence(p.help)}\n" for p in arguments))
        own = [option for option in _options(command) if shared.get(_flags(option)) != option.help]
        parts += ["\n", *_table(own)] if own else []
        parts.append(program_options(name))
    return "".join(parts)


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its whole name. A command of two words follows its first word."""
    for name in group.list_commands(None):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _options(command: Any) -> list[Any]:
    shown = command.get_params(command.context_class(command))  # as help shows them
    return [p for p in shown if p.param_type_name == "option" and "--help" not in p.opts]


def _flags(option: Any) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(f"`{flag}{value}`" for flag in (*option.opts, *option.secondary_opts))


def _table(options: list[Any]) -> list[str]:
    rows = [f"| {_flags(option)} | {_sentence(option.help)} |\n" for option in options]
    return ["| option | meaning |\n|---|---|\n", *rows]


def _sentence(text: str | None) -> str:
    return " ".join((text or "").replace("\\[", "[").replace("|", "\\|").split())


def page_with(path: str, *names: str) -> str:
    """A page with the tables of these names between their marks. Raises ValueError for marks that are not there."""
    text = (ROOT / path).read_text("utf-8")
    for name in names:
        begin, end = f"<!-- {name}: make docs -->\n", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"{path} has no marks for {name}")
        text = before + begin + TABLES[name]() + end + after
    return text


def figures(name: str = "published") -> str:
    """A benchmark of speed as a table, with the machine that it ran on."""
    results = _results(name)
    rows = [
        f"| {row['name']} | {row['value']:,.4g} {row['unit']} | {row['target']}{_missed(row)} | {row['floor']} |\n"
        for row in results["rows"]
    ]
    machine = results["machine"]
    where = f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    load = f"load {machine['load_before'][0]} before the run"
    head = "| what | median | promised | beside it |\n|---|---:|---:|---|\n"
    return f"{head}{''.join(rows)}\n{where}, {load}.\n"


def key_figures() -> str:
    """Six figures for the README: of speed, growth and quality."""
    speed = {row["name"]: row for row in _results("published")["rows"]}
    scale = {row["name"]: row for row in _results("scale")["rows"]}
    quality_of = _results("locomo")["alone"]["rows"]
    shown = [
        ("ready with 10,000 memories", speed["ready, 10,000 memories"]),
        ("recall beside the embedding, 10,000", speed["recall over gRPC beyond the bare embedding, 10,000"]),
        ("recall beside the embedding, 100,000", scale["recall beyond the embedding, 100,000"]),
        ("`remember` against the bare embedding", speed["remember (indexed) against the bare embedding of new texts"]),
        ("resident memory with 10,000", speed["resident memory after importing 10,000"]),
    ]
    rows = [(name, f"{row['value']:,.3g} {row['unit']}", row["target"] + _missed(row)) for name, row in shown]
    rows.append(("LoCoMo, the evidence is among the first ten", _short(quality_of["turn"]["hit@10"]), ""))
    return table_text(("what", "measured", "promised"), rows)


def _missed(row: dict[str, Any]) -> str:
    """ " (missed)" when the value does not meet a target such as "<= 4 ms"; "" when it does or there is none."""
    match = re.match(r"(<=|>=) ([0-9.]+) ", row["target"])
    if match is None:
        return ""
    bound = float(match.group(2))
    met = row["value"] <= bound if match.group(1) == "<=" else row["value"] >= bound
    return "" if met else " (missed)"


def quality() -> str:
    """The figures of `python -m bench.locomo`, a row a unit and variant, with the comparisons beside them."""
    runs, alone = _results("locomo"), _results("ablation")
    found = [
        (f"{UNITS[unit]}{text}", row)
        for name, text in VARIANTS.items()
        if name in runs
        for unit, row in runs[name]["rows"].items()
    ]
    found += [(f"{UNITS[unit]}{text}", alone[unit]["rows"][name]) for name, text in BESIDE.items() for unit in UNITS]
    learned = _results("fitting")["rows"]
    found += [(f"{UNITS[unit]}{text}", learned[unit][name]) for name, text in LEARNED.items() for unit in UNITS]
    table = table_text(
        ("unit", *FOUND), [(name, *(_short(row[one]) if one in row else "" for one in FOUND)) for name, row in found]
    )
    told, plain = runs["alone"]["rows"]["turn"], runs["plain"]["rows"]["turn"]
    return (
        f"{table}\n{told['conversations']:.0f} conversations, {told['n']:,.0f} questions ({plain['n']:,.0f} with the "
        "plain defaults). `coverage` tells answerable questions from those about another conversation with an AUROC of "
        f"{_short(told['AUROC elsewhere'])}, and from those without evidence with {_short(told['AUROC left out'])}. "
        f"{told['abstains']:.1%} of the answerable questions are flagged.\n"
    )


def ablation() -> str:
    """The worth of each signal: the figures with everything, then the change without the signal."""
    tables = []
    for unit, run in _results("ablation").items():
        rows = run["rows"]
        whole = rows["nothing"]
        lines = [("nothing", *(_short(whole[one]) for one in LEFT_OUT))]
        lines += [(name, *(_change(row[one] - whole[one]) for one in LEFT_OUT)) for name, row in rows.items()][1:]
        tables.append(f"Units of a {UNITS[unit]}:\n\n{table_text(('left out', *LEFT_OUT), lines)}")
    return "\n".join(tables)


def misses() -> str:
    """Where the evidence is that recall misses, by question, by place of the best and by piece of evidence."""
    tables = []
    for unit, run in _results("misses").items():
        tables.append(f"Units of a {UNITS[unit]}:\n")
        for columns in (MISSED, PLACED, PIECES):
            heads = ("category", *(one.removeprefix("pieces ") for one in columns))
            rows = [(name, *(str(row[one]) for one in columns)) for name, row in run["rows"].items()]
            tables.append(table_text(heads, rows))
    return "\n".join(tables)


def fitting() -> str:
    """The figures of weights learned from other conversations, beside those of recall's own weights."""
    result = _results("fitting")
    tables = []
    for unit, found in result["rows"].items():
        rows = [(text, *(_short(found[name][one]) for one in FITTED)) for name, text in WEIGHTS.items()]
        tables.append(f"Units of a {UNITS[unit]}:\n\n{table_text(('weights', *FITTED), rows)}")
    return "\n".join(tables)


def optional() -> str:
    """The effect of each optional signal: the figures of recall as it is, then the changes."""
    tables = []
    for unit, found in _results("optional")["rows"].items():
        whole = found["as it is"]
        lines = [("as it is", *(_short(whole[one]) for one in FOUND))]
        lines += [
            (name, *(_change(row[one] - whole[one]) for one in FOUND))
            for name, row in found.items()
            if name != "as it is" and not name.startswith("quotes")
        ]
        quoted = [
            (name, *(_short(found[name][one]) for one in QUOTED)) for name in ("quotes", "quotes without phrases")
        ]
        tables.append(f"Units of a {UNITS[unit]}:\n\n{table_text(('weight', *FOUND), lines)}")
        tables.append(table_text((f"questions with a phrase of a {UNITS[unit]}", *QUOTED), quoted))
    return "\n".join(tables)


def _results(name: str) -> Any:
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text("utf-8"))


def _short(value: float) -> str:
    """Three decimals without the zero before the point."""
    return f"{value:.3f}".removeprefix("0")


def _change(value: float) -> str:
    shown = f"{value:+.3f}".replace("0.", ".", 1)
    return "0" if shown in ("+.000", "-.000") else shown


def carry() -> str:
    """Recall on several corpora: the figures, and by how much each row differs."""
    tables = []
    for corpus, rows in _results("carry")["rows"].items():
        whole = rows["as it is"]
        lines = [
            (name, *(_short(row[figure][0]) if row is whole else _compared(row[figure]) for figure in whole))
            for name, row in rows.items()
        ]
        tables.append(f"{corpus}:\n\n{table_text(('', *whole), lines)}")
    return "\n".join(tables)


def leave_one_out() -> str:
    """Recall on each corpus by its own weights, and by weights of the others."""
    rows, labels = _results("leave_one_out")["rows"], ("recall", "learned on the others")
    lines = [(f"{name}, {label}", *map(_short, row[label].values())) for name, row in rows.items() for label in labels]
    return table_text(("", *rows["LoCoMo"]["recall"]), lines)


def _compared(cell: Sequence[float]) -> str:
    """A difference, with an asterisk when its interval does not hold 0."""
    return _change(cell[1]) + ("*" if cell[2] > 0 or cell[3] < 0 else "")


# Tables for the text between `<!-- NAME: make docs -->` and `<!-- end of NAME -->`.
TABLES: dict[str, Callable[[], str]] = {
    "key figures": key_figures,
    "figures": figures,
    "scale": partial(figures, "scale"),
    "growth": partial(figures, "growth"),
    "growth_recall": partial(figures, "growth_recall"),
    "quality": quality,
    "ablation": ablation,
    "misses": misses,
    "fitting": fitting,
    "optional": optional,
    "calibration": lambda: calibration(_results("calibration")),
    "passing": lambda: passing(_results("calibration")["passes"]),
    "carry": carry,
    "leave one out": leave_one_out,
}
PAGES: dict[str, Callable[[], str]] = {
    "docs/settings.md": settings_page,
    "docs/cli.md": cli_page,
    "docs/hosts.md": hosts_page,
    "plugin/.mcp.json": plugin_server,
    "plugin/mcp.json": bundle_server,
    "plugin/hooks/hooks.json": plugin_hooks,
    "docs/benchmarks.md": partial(
        page_with, "docs/benchmarks.md", "figures", "scale", "quality", "fitting", "ablation", "optional"
    ),
    "README.md": partial(page_with, "README.md", "key figures"),
    "docs/recall.md": partial(
        page_with, "docs/recall.md", "misses", "calibration", "passing", "carry", "leave one out"
    ),
    "docs/reliability.svg": lambda: reliability_plot(_results("calibration")["bins"]),
    "docs/proof.md": partial(page_with, "docs/proof.md", "growth", "growth_recall"),
}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write what follows from tables.")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are current")
    check = parser.parse_args(argv).check
    stale = []
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if check and not (path.exists() and path.read_text("utf-8") == text):
            stale.append(name)
        elif not check:
            path.write_text(text, "utf-8")
    if stale:
        print(f"Not current: {', '.join(stale)}; run `make docs` and commit the result.")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
