"""Write docs/settings.md from the table of settings, so that it can't fall behind. --check only compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mnemesh_gateway.settings import FILE_NAME, PREFIX, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEADER = f"""# Settings

Generated from `gateway/mnemesh_gateway/settings.py` by `make docs`; do not edit.

A value comes from, strongest first: a flag of `mnemesh up`, an environment variable, a TOML file, the default. The
file is `{FILE_NAME}` in the data directory, or the one that `mnemesh up --config FILE` names. An unknown key, a value
of the wrong kind or out of its range stops the start with the name of the key and what it may be. `mnemesh doctor`
prints every value and where it came from.

| setting | flag | variable | default | unit | meaning |
|---|---|---|---|---|---|
"""
FOOTER = f"""
A file looks like this:

```toml
# {FILE_NAME}
http = "127.0.0.1:8434"
model_precision = "int8"
recall_timeout_s = 5.0
```

## Variables of the client

The command line, the Python client and `mnemesh mcp` read these; a node doesn't.

| variable | meaning |
|---|---|
| `MNEMESH_ENDPOINT` | HOST:PORT of a node's gRPC; without it the local node is found by its data directory |
| `MNEMESH_TOKEN` | token for that node; without it the local data directory's owner token |
| `MNEMESH_DATA_DIR` | data directory of the local node |
| `MNEMESH_AGENT` | name of the writing agent |
| `MNEMESH_SPACE` | space for calls that name none |
"""


def page() -> str:
    """The text of docs/settings.md."""
    rows = []
    for entry in table():
        flag = "--data" if entry.name == "data_dir" else "--" + entry.name.replace("_", "-")
        default = str(entry.default).lower() if isinstance(entry.default, bool) else str(entry.default)
        shown = f"`{default}`" if default else ""
        cells = (f"`{entry.name}`", f"`{flag}`", f"`{PREFIX}{entry.name.upper()}`", shown, entry.metadata["unit"])
        rows.append("| " + " | ".join((*cells, entry.metadata["help"])) + " |\n")
    return HEADER + "".join(rows) + FOOTER


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write docs/settings.md from the table of settings.")
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    if not parser.parse_args(argv).check:
        PAGE.write_text(page(), "utf-8")
        return 0
    current = PAGE.exists() and PAGE.read_text("utf-8") == page()
    if not current:
        print("docs/settings.md is not current; run `make docs` and commit the result.")
    return 0 if current else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
